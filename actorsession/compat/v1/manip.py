"""TensorFlow's ``tf.manip`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.ops.arrays.batch_blocks import batch_to_space_nd, space_to_batch_nd
from actorsession.ops.arrays.gather import gather_nd, scatter_nd
from actorsession.ops.arrays.layout import tile
from actorsession.ops.arrays.reversal import reverse, roll
from actorsession.ops.arrays.shape import reshape

__all__ = ["batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd", "space_to_batch_nd", "tile"]

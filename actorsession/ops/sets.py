"""TensorFlow's ``tf.sets`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.ops.sparse_tensors.sets import (
    set_difference,
    set_intersection,
    set_size,
    set_union,
)

__all__ = [
    "difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size",
    "union",
]  # fmt: skip

difference = set_difference
intersection = set_intersection
size = set_size
union = set_union

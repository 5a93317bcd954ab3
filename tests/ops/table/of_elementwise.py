"""Rows of functions of one tensor, element by element."""

from __future__ import annotations

import numpy as np

from actorsession import ops
from tests.ops.table.row import Row

__all__ = ["ROWS"]

ANY = np.array([-2.5, -1.0, -0.5, 0.0, 0.5, 1.5, np.nan, np.inf, -np.inf], np.float32)
SMOOTH = np.array([[-2.5, -0.7], [0.4, 1.3]])
EMPTY = np.zeros([0, 3], np.float32)

ROWS = [
    Row(
        op="Exp",
        build=ops.exp,
        numpy=np.exp,
        inputs=[(ANY,), (EMPTY,), (np.float32(0.5),), (np.array([1 + 2j], np.complex64),)],
        smooth=[(SMOOTH,)],
        exact=False,
    ),
    Row(
        op="Floor",
        build=ops.floor,
        numpy=np.floor,
        inputs=[(ANY,), (EMPTY,), (np.float32(0.5),)],
        no_gradient="piecewise constant; TensorFlow marks it so",
    ),
]

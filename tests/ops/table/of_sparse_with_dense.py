"""Rows of the op types between a sparse tensor and a dense one that broadcasts to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.table.row import Fault, Row

PLACES = np.array([[0, 1], [1, 0], [1, 2]])
VALUES = np.array([1.0, 2.0, -4.0], np.float32)
SHAPE = np.array([2, 3])
NONE = np.zeros([0, 2], np.int64), np.zeros([0], np.float32), SHAPE
DENSE = np.array([[2.0, -8.0, 1.0], [0.5, 4.0, 0.25]], np.float32)
SMOOTH = np.array([0.5, -1.5, 2.5])
SIDES = [np.float32(2), DENSE, DENSE[0], DENSE[:, :1], DENSE[:1]]


def _row(op: str, function: Callable[..., Any], smooth: bool = True) -> Row:
    def expected(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        return function(values, np.broadcast_to(dense, shape)[tuple(indices.T)])

    return Row(op, {}, expected).on(
        [
            *((PLACES, VALUES, SHAPE, d) for d in SIDES),
            (*NONE, DENSE),
            (PLACES, VALUES, SHAPE, np.array([np.inf, np.nan, -np.inf], np.float32)),
            (PLACES, np.array([4, -8, 12]), SHAPE, np.array([1, 2, 4])),
            (PLACES, np.array([1j, 2, 1]), SHAPE, np.array(2 + 1j)),
            (np.array([[1]]), VALUES[:1], SHAPE[:1], DENSE[0, :2]),
        ],
        [(PLACES, SMOOTH, SHAPE, np.asarray(d, np.float64)) for d in SIDES if smooth],
        [
            Fault((PLACES, VALUES, SHAPE, DENSE[:, :2]), "broadcasts to the sparse one"),
            Fault((PLACES, VALUES, SHAPE, DENSE[None]), "broadcasts to the sparse one", "of rank 2; got rank 3"),
            Fault((PLACES + 2, VALUES, SHAPE, DENSE), "out of bounds"),
        ],
        rtol=1e-5,
    )


def _quotient(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return x // y if x.dtype.kind == "i" else x / y


ROWS = [
    _row("SparseDenseCwiseAdd", np.add, smooth=False),
    _row("SparseDenseCwiseMul", np.multiply),
    _row("SparseDenseCwiseDiv", _quotient),
]

"""Rows of division towards zero, and of products and quotients that are 0 where a factor is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import math, ops
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

X = np.array([0, 1, -2.5, np.nan, np.inf, -np.inf, 3, 0], np.float32)
Y = np.array([0, 0, 4, 0, 0, 2, np.nan, 5], np.float32)
COLUMN, LINE = np.array([[1], [-2], [0]], np.float32), np.array([0, 3], np.float32)
COMPLEX = np.array([1 + 2j, 0, 3j], np.complex64)
INTS = np.array([7, -7, 7, -7, 0], np.int32)
DIVISORS = np.array([2, 2, -2, -2, 3], np.int32)
POSITIVE = np.array([[0.5, 1.5], [2.5, 3.0]])
MIXED = np.array([[-0.5, 1.5], [2.5, -3.0]])


def _guarded(op: str, build: Callable[..., Any], numpy: Callable[..., Any], at: str) -> Row:
    """A function that is 0 where argument ``at`` is, by ``numpy`` elsewhere."""

    def guarded(x: Any, y: Any) -> Any:
        x, y = np.broadcast_arrays(x, y)
        zero = (x if at == "x" else y) == 0
        return np.where(zero, np.zeros((), x.dtype), numpy(x, y)).astype(x.dtype)

    return Row(op, build, guarded).on(
        [
            (X, Y),
            (COLUMN, LINE),
            (EMPTY, np.float32(0)),
            (np.float64(2), np.float64(0)),
            (np.array([0, 1, 0, np.nan], np.float32), np.array([np.nan, np.nan, 0, 0], np.float32)),
            (COMPLEX, COMPLEX[::-1].copy()),
            (np.array([1, 0, 3], np.float16), np.array([0, 2, 2], np.float16)),
        ],
        [(MIXED, POSITIVE), (MIXED[0], POSITIVE), (MIXED, np.array(0.7))],
        rtol=1e-5,
    )


def _whole(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> Row:
    return Row(op, build, numpy).on(
        [
            (INTS, DIVISORS),
            (INTS.astype(np.int64), np.int64(-3)),
            (np.array([9, 250], np.uint8), np.array([[2], [7]], np.uint8)),
            (np.zeros([0], np.int32), np.int32(2)),
            (np.array([-7.5, 7.5, 1, np.nan], np.float32), np.array([3, -3, 0, 1], np.float32)),
            (np.float64(7), np.float64(2)),
        ],
        faults=[Fault((INTS, np.int32(0)), "Integer division by zero")],
    )


def _truncated(x: Any, y: Any) -> Any:
    if np.asarray(x).dtype.kind in "iu":
        return np.trunc(np.divide(x, y, dtype=np.float64)).astype(np.asarray(x).dtype)
    return np.trunc(np.divide(x, y))


ROWS = [
    _guarded("DivNoNan", ops.div_no_nan, np.divide, "y"),
    _guarded("MulNoNan", math.multiply_no_nan, np.multiply, "y"),
    _guarded("Xlogy", math.xlogy, lambda x, y: x * np.log(y), "x"),
    _guarded("Xlog1py", math.xlog1py, lambda x, y: x * np.log1p(y), "x"),
    _guarded("Xdivy", math.xdivy, np.divide, "x"),
    _whole("TruncateDiv", ops.truncatediv, _truncated),
    _whole("TruncateMod", ops.truncatemod, np.fmod),
]

"""Rows of ops on the bits of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import bitwise
from tests.ops.table.row import Row

INTS = np.array([[-128, -3, 0], [5, 77, 127]], np.int8)
ROW = np.array([7, -1, 64], np.int8)
WIDE = np.array([2**40, -5], np.int64)
EMPTY = np.zeros([0, 3], np.int32)


def _binary(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> Row:
    inputs = [
        (INTS, ROW),
        (WIDE, np.int64(3)),
        (EMPTY, np.int32(1)),
        (np.uint16(9), np.uint16(12)),
        (np.array([250, 3], np.uint8), np.array([[129], [7]], np.uint8)),
    ]
    return Row(op, build, numpy).on(inputs)


def _shift(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> Row:
    """Shifts below 0 and beyond the type count as the nearest that it has."""

    def shifted(x: Any, y: Any) -> Any:
        width = np.asarray(x).dtype.itemsize * 8
        return numpy(x, np.clip(y, 0, width - 1).astype(np.asarray(x).dtype))

    inputs = [
        (np.array([1, -8, 77], np.int32), np.array([3, 1, 0], np.int32)),
        (np.array([1, -8, 8], np.int32), np.array([40, 31, -3], np.int32)),
        (np.array([[200], [9]], np.uint8), np.array([1, 7, 8, 255], np.uint8)),
        (WIDE, np.int64(62)),
        (EMPTY, np.int32(1)),
        (np.int16(-9), np.int16(2)),
    ]
    return Row(op, build, shifted).on(inputs)


def _ones(x: Any) -> Any:
    mask = (1 << np.asarray(x).dtype.itemsize * 8) - 1
    return np.array([bin(int(v) & mask).count("1") for v in np.ravel(x)], np.uint8).reshape(np.shape(x))


ROWS = [
    _binary("BitwiseAnd", bitwise.bitwise_and, np.bitwise_and),
    _binary("BitwiseOr", bitwise.bitwise_or, np.bitwise_or),
    _binary("BitwiseXor", bitwise.bitwise_xor, np.bitwise_xor),
    _shift("LeftShift", bitwise.left_shift, np.left_shift),
    _shift("RightShift", bitwise.right_shift, np.right_shift),
    Row("Invert", bitwise.invert, np.invert).on([INTS, WIDE, EMPTY, np.uint32(7)]),
    Row("PopulationCount", bitwise.population_count, _ones).on([INTS, WIDE, EMPTY, np.uint32(7)]),
]

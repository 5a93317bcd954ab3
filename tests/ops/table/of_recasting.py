"""Rows of bits read as another type, of numbers that are near, of evenly spaced and clipped numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import math, ops
from actorsession.ops.elements.nearness import approximate_equal
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

ANY = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, np.nan, np.inf, -np.inf], np.float32)
SMOOTH = np.array([[-2.5, -0.7], [0.4, 1.3]])


def _bitcast(label: str, target: str, numpy: Any, inputs: Any, **more: Any) -> Row:
    return Row(f"Bitcast-{label}", lambda x: ops.bitcast(x, target), numpy).on(inputs, **more)


def _clip_by_value_op(t: Any, low: Any, high: Any) -> Any:
    return make_one("ClipByValue", [t, low, high])


def _close(x: Any, y: Any) -> Any:
    return np.abs(np.asarray(x, np.complex128) - y) < 1e-5


ROWS = [
    _bitcast(
        "same-width",
        "int32",
        lambda x: np.asarray(x).view(np.int32),
        [(ANY,), (EMPTY,), (np.float32(1),), (ANY.reshape(3, 3).T,)],
    ),
    _bitcast(
        "narrower",
        "int16",
        lambda x: np.asarray(x).reshape(*np.shape(x), 1).view(np.int16),
        [(np.array([1, -2], np.int32),), (np.zeros([0], np.int64),), (np.float64(1.5),)],
    ),
    _bitcast(
        "wider",
        "int64",
        lambda x: x.view(np.int64).reshape(x.shape[:-1]),
        [(np.array([[1, 2], [3, 4]], np.int32),), (np.array([1, 2], np.float32),), (np.zeros([0, 2], np.int32),)],
        faults=[
            Fault(np.array([1, 2, 3], np.int32), "last axis", "last axis"),
            Fault(np.int32(1), "last axis", "last axis"),
        ],
    ),
    Row("Rint", ops.rint, np.rint).on([ANY, EMPTY, np.float64(2.5), np.array([0.5], np.float16)]),
    Row("NextAfter", math.nextafter, np.nextafter).on(
        [
            (ANY, np.float32(1)),
            (np.array([[1], [2]], np.float64), np.array([0, 1, 3], np.float64)),
            (EMPTY, np.array([1, 2, 3], np.float32)),
            (np.float32(0), np.float32(-1)),
        ],
        [(SMOOTH, SMOOTH.T + 5), (SMOOTH, np.array(9.0)), (np.array(9.0), SMOOTH)],
    ),
    Row("ApproximateEqual", approximate_equal, _close).on(
        [
            (np.array([1, 1, np.inf, np.nan], np.float32), np.array([1.000001, 1.1, np.inf, np.nan], np.float32)),
            (np.array([1, 2], np.int32), np.array([1, 3], np.int32)),
            (np.array([1, 200], np.uint8), np.array([2, 200], np.uint8)),
            (np.array([1j], np.complex64), np.array([1j], np.complex64)),
            (np.float64(1), np.float64(1)),
            (EMPTY, EMPTY),
        ],
        faults=[Fault((np.array([1, 2], np.float32), np.float32(1)), "one shape", "one shape")],
    ),
    Row("LinSpace", {}, lambda start, stop, num: np.linspace(start, stop, num, dtype=np.asarray(start).dtype)).on(
        [
            (np.float32(1), np.float32(10), np.int32(4)),
            (np.float64(3), np.float64(-1), np.int64(9)),
            (np.float32(2), np.float32(7), np.int32(1)),
            (np.float16(0), np.float16(1), np.int32(3)),
        ],
        faults=[
            Fault((np.float32(1), np.float32(2), np.int32(0)), "at least 1 number", early=""),
            Fault((np.array([1], np.float32), np.float32(2), np.int32(2)), "three scalars", "rank 0"),
        ],
        rtol=1e-5,
    ),
    Row("ClipByValue", _clip_by_value_op, lambda t, low, high: np.maximum(np.minimum(t, high), low)).on(
        [
            (ANY, np.float32(-1), np.float32(1)),
            (np.array([[1, 5], [-7, 3]], np.int32), np.array([[2, 2], [2, 4]], np.int32), np.int32(4)),
            (np.array([1, 9], np.uint8), np.uint8(3), np.uint8(2)),
            (EMPTY, np.float32(0), np.float32(1)),
            (np.float64(5), np.float64(0), np.float64(1)),
        ],
        [
            (SMOOTH, np.array(-1.0), np.array(1.0)),
            (SMOOTH, np.array([[-1.0, -3.0], [-1.0, 0.0]]), np.array(1.0)),
            (np.array(5.0), np.array(0.0), np.array(1.0)),
        ],
        [
            Fault(
                (np.array([[1, 2]], np.float32), np.array([1, 2], np.float32), np.float32(3)),
                "limits are scalars",
                "limits are scalars",
            )
        ],
    ),
]

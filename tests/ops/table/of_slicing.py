"""Rows of slices: boxes, and strided slices in TensorFlow's sparse form."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from actorsession import ops
from actorsession.ops.arrays.strided import MASKS
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY, ONE, M, X, ints, longs

KINDS = [
    M,
    np.array([[1, -2], [3, 4]], np.int8),
    np.array([[True, False], [False, True]]),
    np.array([[1 + 2j, 3], [0, -1j]], np.complex64),
    np.array([[1.5, -2.0], [0.0, 3.0]], ml_dtypes.bfloat16),
    np.array([[b"a", b"bc"], [b"", b"d\0"]], object),
]
SMOOTH = np.array([[0.5, 1.5, -1.0], [2.0, 3.0, 0.25]])


# -- boxes -----------------------------------------------------------------------------------------


def _box(x: Any, begin: Any, size: Any) -> Any:
    bounds = zip(x.shape, begin, size, strict=True)
    return x[tuple(slice(b, d if s == -1 else b + s) for d, b, s in bounds)]


OUTSIDE = "reach outside the shape"
SLICE = Row("Slice", ops.slice, _box).on(
    [
        (X, ints(0, 1, 2), ints(2, -1, 1)),
        (X, longs(0, 0, 0), longs(-1, -1, -1)),
        (X, ints(2, 0, 0), ints(0, -1, 4)),
        (EMPTY, ints(0, 1), ints(0, 2)),
        (ONE, ints(), ints()),
        *((x, ints(0, 1), ints(-1, 1)) for x in KINDS),
    ],
    [(SMOOTH, ints(0, 1), ints(2, 1)), (SMOOTH, longs(1, 0), longs(-1, -1)), (SMOOTH, ints(0, 3), ints(2, 0))],
    [
        Fault((X, ints(0, 0, 0), ints(3, -1, 4)), OUTSIDE, early="begin 0 and size 3 do not fit a dimension of 2"),
        Fault((X, ints(0, -1, 0), ints(2, 1, 4)), OUTSIDE, early="begin -1 is not in"),
        Fault((X, ints(3, 0, 0), ints(-1, -1, 4)), OUTSIDE, early="begin 3 is not in"),
        Fault((X, ints(0, 0, 0), ints(-2, -1, 4)), OUTSIDE, early="begin 0 and size -2 do not fit a dimension of 2"),
        Fault((X, ints(0, 1), ints(2, 1)), "one entry per axis", "one entry"),
    ],
)


# -- strided slices --------------------------------------------------------------------------------


def _index(begin: Any, end: Any, strides: Any, masks: dict[str, int]) -> tuple[Any, ...]:
    """The numpy index that TensorFlow's sparse form stands for, entry by entry."""

    def entry(i: int) -> Any:
        def has(mask: str) -> bool:
            return bool(masks.get(mask, 0) >> i & 1)

        if has("ellipsis_mask"):
            return Ellipsis
        if has("new_axis_mask"):
            return None
        if has("shrink_axis_mask"):
            return int(begin[i])
        lower = None if has("begin_mask") else begin[i]
        upper = None if has("end_mask") else end[i]
        return slice(lower, upper, strides[i])

    return tuple(entry(i) for i in range(len(begin)))


def _strided(label: str, cases: list[Any], smooth: list[Any], **masks: int) -> list[Row]:
    """The rows of a strided slice with these masks, and of its gradient as an op."""
    attrs = {**MASKS, **masks}

    def spread(shape: Any, begin: Any, end: Any, strides: Any, grad: Any) -> Any:
        out = np.zeros(shape, grad.dtype)
        out[_index(begin, end, strides, masks)] = grad
        return out

    def flowing(x: Any, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
        part = np.asarray(x[_index(begin, end, strides, masks)])
        return (np.array(x.shape, begin.dtype), begin, end, strides, part)

    numbers = [case for case in cases if case[0].dtype != object]
    return [
        Row(f"StridedSlice-{label}", attrs, lambda x, b, e, s: x[_index(b, e, s, masks)]).on(cases, smooth),
        Row(f"StridedSliceGrad-{label}", attrs, spread).on(
            [flowing(*case) for case in numbers], [flowing(*case) for case in smooth]
        ),
    ]


STEP = [(SMOOTH, ints(0, -1), ints(2, -4), ints(1, -2))]
STRIDED = [
    *_strided(
        "plain",
        [
            (X, ints(0, 1), ints(2, 3), ints(1, 1)),
            (X, ints(0, -1), ints(2, -4), ints(1, -1)),
            (X, longs(-9), longs(9), longs(2)),
            (X, ints(5), ints(9), ints(1)),
            (X, ints(1), ints(1), ints(1)),
            (EMPTY, ints(0), ints(5), ints(1)),
            (ONE, ints(), ints(), ints()),
            *((x, ints(1), ints(-3), ints(-1)) for x in KINDS),
        ],
        STEP,
    ),
    *_strided(
        "open_ends",
        [(X, ints(7, 0, 1), ints(0, 9, 0), ints(1, 2, 1)), (EMPTY, ints(1), ints(0), ints(1))],
        [(SMOOTH, ints(9, 0), ints(0, 2), ints(1, 1))],
        begin_mask=1,
        end_mask=0b101,
    ),
    *_strided(
        "dropped_axis",
        [
            (X, ints(1), ints(0), ints(1)),
            (X, ints(-2, 1), ints(0, 3), ints(1, 1)),
            *((x, ints(1), ints(0), ints(1)) for x in KINDS),
        ],
        [(SMOOTH, ints(-1), ints(0), ints(1))],
        shrink_axis_mask=1,
    ),
    *_strided(
        "a_scalar",
        [(X, ints(0, 1, -1), ints(0, 0, 0), ints(1, 1, 1))],
        [(SMOOTH[None], ints(0, 1, 2), ints(0, 0, 0), ints(1, 1, 1))],
        shrink_axis_mask=0b111,
    ),
    *_strided(
        "new_axis",
        [(X, ints(0, 0), ints(0, 1), ints(1, 1)), (X, ints(0), ints(0), ints(1))],
        [(SMOOTH, ints(0, 1), ints(0, 2), ints(1, 1))],
        new_axis_mask=1,
    ),
    *_strided(
        "ellipsis",
        [(X, ints(0, 1), ints(0, 3), ints(1, 2)), (X[0, 0], ints(0, 1), ints(0, 3), ints(1, 1))],
        [(SMOOTH, ints(0, 0), ints(0, 2), ints(1, 1))],
        ellipsis_mask=1,
    ),
]
FAULTS = [
    Fault((X, ints(0), ints(1), ints(0)), "strides must not be 0", early=""),
    Fault((X, ints(0, 0), ints(1), ints(1, 1)), "have one length", "have one length"),
    Fault((X, ints(0, 0, 0, 0), ints(1, 1, 1, 1), ints(1, 1, 1, 1)), "too many indices", "too many"),
]
REFUSED = [
    Row("StridedSlice-refused", ops.strided_slice, lambda x, b, e, s: x[_index(b, e, s, {})]).on([], faults=FAULTS),
    Row(
        "StridedSlice-position_refused",
        lambda x, b, e, s: ops.strided_slice(x, b, e, s, shrink_axis_mask=1),
        lambda x, b, e, s: x[int(b[0])],
    ).on(
        [],
        faults=[
            Fault((X, ints(2), ints(3), ints(1)), "out of bounds", early=""),
            Fault((X, ints(-3), ints(3), ints(1)), "out of bounds", early=""),
            Fault((X, ints(0), ints(1), ints(-1)), "positive stride", early=""),
            Fault((ONE, ints(0), ints(1), ints(1)), "too many", "too many"),
        ],
    ),
    Row("StridedSliceGrad-refused", {}, lambda *operands: operands).on(
        [], faults=[Fault((ints(2, 3), ints(0), ints(1), ints(1), np.ones([2, 3], np.float32)), "a gradient of shape")]
    ),
]

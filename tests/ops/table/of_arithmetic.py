"""Rows of arithmetic of two tensors and of many, of conversions and of the way back from a broadcast."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from actorsession import ops
from actorsession.ops.broadcasting import broadcast_gradient_args
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

X = np.array([[-2.5, 0.0, 1.5], [np.nan, np.inf, 6.0]], np.float32)
Y = np.array([[2.0, -4.0, 0.5], [1.0, np.inf, -0.0]], np.float32)
ROW = np.array([3.0, -1.0, 0.5], np.float32)
COLUMN = np.array([[2.0], [-3.0]], np.float32)
WHOLE = np.array([7, -7, 100, -128], np.int8)
DIVISOR = np.array([2, 2, -7, 3], np.int8)
UNSIGNED = np.array([0, 1, 200], np.uint8)
MANY = np.array([3, 255, 7], np.uint8)
COMPLEX = np.array([1 + 2j, -1.5 + 0.5j, 3, -2 - 1j], np.complex64)
OTHER = np.array([2j, 1 - 1j, 1, -3], np.complex64)
HALF = np.array([-2.5, 0.5, 3.0], np.float16)
BRAIN = np.array([-2.5, 0.5, 3.0], ml_dtypes.bfloat16)
SMOOTH = (np.array([[0.7, 1.3, 2.1], [1.9, 0.4, 3.3]]), np.array([[1.2], [0.6]]))
SCALARS = (np.float64(1.7), np.float64(0.6))

REAL = [
    (X, Y),
    (X, ROW),
    (COLUMN, ROW),
    (np.float32(2.5), X),
    (EMPTY, ROW),
    (EMPTY, np.float32(1.0)),
    (np.float32(0.5), np.float32(-2.0)),
    (np.float32(np.nan), np.float32(1.0)),
    (np.float32(1.0), np.float32(np.nan)),
    (X.astype(np.float64), COLUMN.astype(np.float64)),
]
LOW = [(HALF, HALF[::-1].copy()), (BRAIN, BRAIN[1]), (BRAIN[0], BRAIN[2])]
FIELD = [(COMPLEX, OTHER), (COMPLEX[0], OTHER[1])]
INTEGERS = [
    (WHOLE, DIVISOR),
    (UNSIGNED, MANY),
    (np.int32(7), np.int32(-2)),
    (np.array([[2**40], [-5]]), np.array([3, -3])),
    (np.zeros([0, 2], np.int32), np.array([3, 0], np.int32)),
    (np.zeros(0, np.int32), np.int32(0)),
]


def _of_two(
    name: str,
    build: Any,
    numpy: Callable[..., Any],
    inputs: Sequence[tuple[Any, ...]],
    smooth: Sequence[tuple[Any, ...]] = (SMOOTH, SCALARS, (SCALARS[0], SMOOTH[1])),
    **more: Any,
) -> Row:
    return Row(name, build, numpy).on(inputs, smooth, **more)


def _joined(x: Any, y: Any) -> Any:
    out: Any = np.asarray(x, object) + np.asarray(y, object)
    return out


def _difference_squared(x: Any, y: Any) -> Any:
    return np.conjugate(x - y) * (x - y)


def _towards_zero(x: Any, y: Any) -> Any:
    return np.trunc(x.astype(np.float64) / y).astype(x.dtype)


def _floored(x: Any, y: Any) -> Any:
    # Of floats the quotient is rounded before the floor is taken: 1 // 0.1 is 10.
    return np.floor(x / y) if x.dtype.kind == "f" else x // y


def _remainder(x: Any, y: Any) -> Any:
    return x % y


BY_ZERO = [
    Fault((np.array([1, 2], np.int32), np.array([1, 0], np.int32)), "Integer division by zero"),
    Fault((np.int64(1), np.int64(0)), "Integer division by zero"),
]
WORDS = np.array([b"a", b"", b"long\0"], object)

SUMS = [
    _of_two("AddV2", ops.add, operator.add, [*REAL, *LOW, *FIELD, *INTEGERS]),
    _of_two("Add", {}, operator.add, [*REAL, *LOW, *FIELD, *INTEGERS[:1]]),
    Row("Add-strings", ops.add, _joined).on(
        [(WORDS, WORDS[::-1].copy()), (WORDS, np.array(b"!", object)), (WORDS[:0], WORDS[:1])]
    ),
    _of_two("Sub", ops.subtract, operator.sub, [*REAL, *LOW, *FIELD, *INTEGERS]),
    _of_two("Mul", ops.multiply, operator.mul, [*REAL, *LOW, *FIELD, *INTEGERS], rtol=1e-5),
    _of_two(
        "SquaredDifference", ops.squared_difference, _difference_squared, [*REAL, *LOW, *FIELD, INTEGERS[3]], rtol=1e-5
    ),
]
QUOTIENTS = [
    _of_two("RealDiv", ops.realdiv, operator.truediv, [*REAL, *LOW, *FIELD], rtol=1e-5),
    _of_two("Div", {}, operator.truediv, [*REAL, *LOW, *FIELD], rtol=1e-5),
    _of_two("Div-integers", {}, _towards_zero, INTEGERS[:3], (), faults=BY_ZERO),
    _of_two(
        "FloorDiv",
        ops.floordiv,
        _floored,
        [*REAL, LOW[0], *INTEGERS, (np.float32(1.0), np.float32(0.1))],
        (),
        faults=BY_ZERO,
    ),
    _of_two(
        "FloorMod",
        ops.floormod,
        _remainder,
        [*REAL, LOW[0], *INTEGERS],
        ((SMOOTH[0], np.array([0.9, 0.5, 0.8])),),
        faults=BY_ZERO,
    ),
]
POWERS = [
    _of_two("Pow", ops.pow, operator.pow, [*REAL, *FIELD], rtol=1e-5),
    _of_two(
        "Pow-integers",
        ops.pow,
        operator.pow,
        [(WHOLE, np.array([0, 1, 2, 3], np.int8)), (np.int32(-3), np.array([3, 0], np.int32))],
        (),
        faults=[
            Fault((np.array([2, 1], np.int32), np.array([-1, 2], np.int32)), "negative integer powers are not allowed")
        ],
    ),
    *(
        Row(f"Pow-constant_{number}", lambda x, n=number: ops.pow(x, n), lambda x, n=number: x ** x.dtype.type(n)).on(
            [X, EMPTY, np.float32(2.5), HALF], [SMOOTH[0]], rtol=1e-3 if number == -1 else 1e-5
        )
        for number in (-1.0, 0.5, 1.0, 2.0, 3.0, 4.0)
    ),
]
EXTREMES = [
    _of_two("Maximum", ops.maximum, np.maximum, [*REAL, *LOW, *INTEGERS]),
    _of_two("Minimum", ops.minimum, np.minimum, [*REAL, *LOW, *INTEGERS]),
]


# -- many ------------------------------------------------------------------------------------------


def _all_of(*xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


MANY_ROWS = [
    Row("AddN", lambda *xs: ops.add_n(xs), _all_of).on(
        [
            (X, Y, X),
            X,
            (WHOLE, DIVISOR),
            (COMPLEX, OTHER, OTHER),
            (EMPTY, EMPTY),
            (np.float32(1.5), np.float32(2.0), np.float32(3.0)),
            (BRAIN, BRAIN),
        ],
        [(SMOOTH[0], SMOOTH[0] * 2, -SMOOTH[0]), SCALARS],
        [Fault((X, ROW), "inputs of one shape", "inputs of one shape")],
    )
]


# -- conversions -----------------------------------------------------------------------------------


def _cast_to(name: str, inputs: Sequence[Any], smooth: bool = False) -> Row:
    made = np.dtype(getattr(ml_dtypes, name, name))

    def converted(x: Any) -> Any:
        if x.dtype.kind == "c" and made.kind != "c":
            x = x.real
        return x.astype(made)

    return Row(f"Cast-{name}", {"DstT": name}, converted).on(inputs, [(SMOOTH[0],)] if smooth else ())


FINITE = np.array([-2.5, -0.0, 0.75, 100.0], np.float32)
CASTS = [
    _cast_to("float32", [WHOLE, UNSIGNED, X > 0, COMPLEX, HALF, BRAIN, FINITE.astype(np.float64), X]),
    _cast_to("float64", [X, WHOLE, np.int64(2**53), EMPTY, np.float32(0.1)], smooth=True),
    _cast_to("float16", [FINITE, WHOLE, np.float32(0.1), BRAIN]),
    _cast_to("bfloat16", [FINITE, WHOLE, np.float32(0.1), HALF]),
    _cast_to("int32", [FINITE, COMPLEX, UNSIGNED, np.float32(2.7), np.array([2**40 + 5]), BRAIN]),
    _cast_to("int8", [FINITE, np.array([300, -300], np.int32), np.float32(-2.7), X > 0]),
    _cast_to("uint8", [np.abs(FINITE), WHOLE, EMPTY]),
    _cast_to("int64", [FINITE, np.uint32(2**32 - 1), COMPLEX]),
    _cast_to("bool", [X, WHOLE, COMPLEX, np.array([2j, 1, 0]), np.float32(0.0), EMPTY, HALF]),
    _cast_to("complex64", [X, WHOLE, X > 0, COMPLEX.astype(np.complex128), np.float32(1.5)]),
    _cast_to("complex128", [COMPLEX, X, np.float64(0.1)]),
]


def _upper_half(x: Any) -> Any:
    bits = x.view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(ml_dtypes.bfloat16)


TRUNCATED = Row("Cast-truncated", {"DstT": "bfloat16", "Truncate": True}, _upper_half).on(
    [np.array([1.1, 1.00390625, -1.1, 3e38, np.inf], np.float32), FINITE[:0]]
)


# -- the way back from a broadcast -----------------------------------------------------------------


def _summed_axes(first: Any, second: Any) -> list[Any]:
    """Axes of the result that one shape lacks, or that it has with length 1."""
    if first.tolist() == second.tolist():
        return [first[:0], first[:0]]
    rank = max(len(first), len(second))

    def axes(dims: Any) -> Any:
        lacks = rank - len(dims)
        return np.array([i for i in range(rank) if i < lacks or dims[i - lacks] == 1], dims.dtype)

    return [axes(first), axes(second)]


def _dims(*values: int) -> Any:
    return np.array(values, np.int32)


BACK = Row("BroadcastGradientArgs", lambda s0, s1: list(broadcast_gradient_args(s0, s1)), _summed_axes).on(
    [
        (_dims(2, 3), _dims(2, 3)),
        (_dims(2, 1), _dims(1, 3)),
        (_dims(), _dims(2, 3)),
        (_dims(2, 3), _dims(3)),
        (_dims(3, 1), _dims(2, 1, 5)),
        (_dims(2, 1, 3), _dims(2, 1, 1)),
        (_dims(1, 1), _dims(1)),
        (_dims(0, 3), _dims(1, 3)),
        (np.array([2, 1]), np.array([3])),
    ],
    faults=[Fault((_dims(2, 3), _dims(4)), "cannot be broadcast")],
)

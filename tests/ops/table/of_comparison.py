"""Rows of comparisons, logic, predicates, and of the choices that are made by them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from actorsession import ops
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

X = np.array([[-2.5, 0.0, np.nan], [np.inf, 1.5, -np.inf]], np.float32)
Y = np.array([[-2.5, -0.0, np.nan], [np.inf, 2.5, 0.0]], np.float32)
ROW = np.array([1.5, -2.5, 0.0], np.float32)
WHOLE = np.array([-128, 0, 127], np.int8)
UNSIGNED = np.array([0, 200, 255], np.uint8)
BRAIN = np.array([-2.5, 0.5], ml_dtypes.bfloat16)
HALF = np.array([0.5, -2.5], np.float16)
COMPLEX = np.array([1 + 2j, 3, 0], np.complex64)
TRUTH = np.array([[True], [False]])
CHOICE = np.array([True, False, True])
WORDS = np.array([b"a", b"b\0", b""], object)

ORDERED = [
    (X, Y),
    (X, ROW),
    (np.float32(1.5), X),
    (EMPTY, ROW),
    (np.float32(1.0), np.float32(2.0)),
    (np.float32(np.nan), np.float32(np.nan)),
    (X.astype(np.float64), Y.astype(np.float64)),
    (WHOLE, WHOLE[::-1].copy()),
    (UNSIGNED, np.uint8(200)),
    (np.array([2**40, -1]), np.array([[2**40], [0]])),
    (BRAIN, BRAIN[::-1].copy()),
    (HALF, HALF[0]),
]
ANY = [*ORDERED, (COMPLEX, COMPLEX[::-1].copy()), (TRUTH, CHOICE), (COMPLEX[0], COMPLEX[1])]


def _of_two(op: str, build: Callable[..., Any], numpy: Callable[..., Any], inputs: Sequence[tuple[Any, ...]]) -> Row:
    return Row(op, build, numpy).on(inputs)


def _strings(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> Row:
    return Row(f"{op}-strings", build, lambda x, y: np.asarray(numpy(np.asarray(x), np.asarray(y)), bool)).on(
        [
            (WORDS, WORDS[::-1].copy()),
            (WORDS, np.array(b"b", object)),
            (np.array(b"a", object), np.array(b"a", object)),
            (WORDS[:0], WORDS[:1]),
        ]
    )


COMPARISONS = [
    _of_two("Equal", ops.equal, operator.eq, ANY),
    _of_two("NotEqual", ops.not_equal, operator.ne, ANY),
    _of_two("Less", ops.less, operator.lt, ORDERED),
    _of_two("LessEqual", ops.less_equal, operator.le, ORDERED),
    _of_two("Greater", ops.greater, operator.gt, ORDERED),
    _of_two("GreaterEqual", ops.greater_equal, operator.ge, ORDERED),
    _strings("Equal", ops.equal, operator.eq),
    _strings("NotEqual", ops.not_equal, operator.ne),
]

LOGIC_CASES = [
    (TRUTH, CHOICE),
    (CHOICE, CHOICE[::-1].copy()),
    (np.bool_(True), np.bool_(False)),
    (np.zeros([0, 1], bool), CHOICE),
]
LOGIC = [
    _of_two("LogicalAnd", ops.logical_and, np.logical_and, LOGIC_CASES),
    _of_two("LogicalOr", ops.logical_or, np.logical_or, LOGIC_CASES),
    Row("LogicalNot", ops.logical_not, np.logical_not).on([TRUTH, np.bool_(True), np.zeros([0], bool)]),
]

PREDICATES = [
    Row(op, build, numpy).on([X, X.astype(np.float64), EMPTY, np.float32(np.nan), HALF, BRAIN])
    for op, build, numpy in (
        ("IsNan", ops.is_nan, np.isnan),
        ("IsInf", ops.is_inf, np.isinf),
        ("IsFinite", ops.is_finite, np.isfinite),
    )
]


# -- choices ---------------------------------------------------------------------------------------


def _rows_chosen(condition: Any, x: Any, y: Any) -> Any:
    """TensorFlow 1's rule: a vector chooses whole rows."""
    chosen = np.asarray(condition)
    if chosen.ndim == 1 and np.ndim(x) > 1:
        chosen = chosen.reshape(-1, *[1] * (np.ndim(x) - 1))
    return np.where(chosen, x, y)


LONG = np.arange(3000, dtype=np.float32)
SMOOTH = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])
UNLIKE = "x and y of one shape"

CHOICES = [
    Row("Select", {}, _rows_chosen).on(
        [
            (np.array([True, False]), X, Y),
            (np.isnan(X), X, Y),
            (np.bool_(False), X, Y),
            (CHOICE, WHOLE, -WHOLE),
            (np.zeros([0], bool), EMPTY, EMPTY),
            (np.bool_(True), np.float32(1.0), np.float32(2.0)),
            (np.array([True, False]), COMPLEX[:2], COMPLEX[1:]),
            (np.array([True, False]), BRAIN, -BRAIN),
            (CHOICE, WORDS, WORDS[::-1].copy()),
            (np.bool_(True), np.array(b"one", object), np.array(b"two", object)),
        ],
        [(np.array([True, False]), SMOOTH, -SMOOTH), (SMOOTH > 1, SMOOTH, -SMOOTH)],
        [Fault((CHOICE, X, X), UNLIKE, UNLIKE), Fault((np.array([True, False]), X, ROW), UNLIKE, UNLIKE)],
    ),
    Row("SelectV2", ops.where_v2, np.where).on(
        [
            (CHOICE, X, Y),
            (TRUTH, X, np.float32(0.0)),
            (CHOICE, np.float32(1.0), X),
            (np.bool_(True), X, ROW),
            (np.zeros([0, 1], bool), np.float32(1.0), ROW),
            (np.bool_(False), np.float32(1.0), np.float32(np.nan)),
            (LONG % 3 == 0, LONG, -LONG),
            (LONG % 2 == 0, LONG.astype(np.int8), np.int8(3)),
            (CHOICE, WHOLE, -WHOLE),
            (TRUTH, COMPLEX, COMPLEX[0]),
            (CHOICE, WORDS, np.array(b"z", object)),
            (np.array([True, False]), BRAIN, -BRAIN),
        ],
        [
            (CHOICE, SMOOTH, np.array([[1.0], [2.0]])),
            (TRUTH, np.float64(2.0), SMOOTH),
            (np.bool_(True), np.float64(2.0), np.float64(3.0)),
        ],
    ),
    Row("Where", ops.where, lambda x: np.argwhere(x).astype(np.int64)).on(
        [CHOICE, X, WHOLE, COMPLEX, np.zeros([2, 0, 3], bool), np.zeros([2, 3], bool), np.ones([2, 1, 2], bool)]
    ),
]

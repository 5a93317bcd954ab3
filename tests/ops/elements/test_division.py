from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, constant
from actorsession.ops.elements import division
from tests.nodes import make_one
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

X = [7, -7, 7, -7, 6, 0]
Y = [2, 2, -2, -2, 3, -5]


def truncated(x: Any, y: Any) -> Any:
    return np.trunc(x / y).astype(x.dtype)


@for_each("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_integer_divisions_round_as_their_ops_say(dtype: Any) -> None:
    x, y = np.array(X, dtype), np.array(Y, dtype)
    a, b = source(as_dtype(dtype), [6]), source(as_dtype(dtype), [6])
    ops = [a // b, a % b, make_one("Div", [a, b]), division.div(a, b)]
    found = evaluate(ops, {a: x, b: y})
    for value, expected in zip(found, [x // y, x % y, truncated(x, y), x // y], strict=True):
        np.testing.assert_array_equal(value, expected, strict=True)


@for_each(
    "dtype, quotient",
    [
        (np.int8, np.float32),
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.uint16, np.float32),
        (np.int32, np.float64),
        (np.int64, np.float64),
        (np.uint32, np.float64),
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.complex64, np.complex64),
    ],
)
def test_true_division_makes_integers_floating(dtype: Any, quotient: Any) -> None:
    x, y = constant(np.array([7, 6], dtype)), constant(np.array([2, 3], dtype))
    found = evaluate([x / y, division.divide(x, y), division.truediv(x, y)])
    for value in found:
        np.testing.assert_array_equal(value, np.array([3.5, 2.0], quotient), strict=True)


def test_true_division_takes_plain_values_on_either_side() -> None:
    assert evaluate([3 / constant(2), constant(3) / 2, 3 / constant(2.0)]) == [1.5, 1.5, 1.5]


def test_true_division_of_two_dtypes_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="float32 and int32"):
        constant(1.0) / constant(1)


def test_bools_cannot_be_divided() -> None:
    with pytest.raises(TypeError, match="bool"):
        constant(True) / constant(True)

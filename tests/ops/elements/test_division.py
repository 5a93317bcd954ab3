from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, float32, int32
from actorsession.ops.build import constant, make_one
from actorsession.ops.elements import division
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

X = [7, -7, 7, -7, 6, 0]
Y = [2, 2, -2, -2, 3, -5]

integer_divisions = for_each(
    "op",
    [division.floordiv, division.floormod, lambda x, y: make_one("Div", [x, y])],
    ids=["FloorDiv", "FloorMod", "Div"],
)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


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


@pytest.mark.parametrize("constant_divisor", [True, False])
def test_integer_divisions_of_scalars_agree_with_those_of_arrays(constant_divisor: bool) -> None:
    for x, y in zip(X, Y, strict=True):
        a, b = source(int32, ()), constant(y) if constant_divisor else source(int32, ())
        feeds = {a: x} if constant_divisor else {a: x, b: y}
        assert evaluate([a // b, a % b], feeds) == [x // y, x % y]


@integer_divisions
@for_each("shape", [(), (2,), (2, 2)], ids=str)
@for_each("constant_divisor", [True, False])
def test_an_integer_divided_by_zero_is_an_error(
    op: Callable[..., Any], shape: Any, constant_divisor: bool
) -> None:
    zeros = np.zeros(shape, np.int32)
    x = source(int32, shape)
    y = constant(zeros) if constant_divisor else source(int32, None)
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        evaluate([op(x, y)], {x: zeros + 1} | ({} if constant_divisor else {y: zeros}))


@pytest.mark.parametrize("shape", [(), (6,)], ids=str)
def test_floats_divided_by_zero_are_infinite_or_nan(shape: Any) -> None:
    x, y = source(float32, shape), source(float32, shape)
    one, zero = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    [above, neither] = evaluate([x / y, y / y], {x: one, y: zero})
    assert np.all(np.isposinf(above))
    assert np.all(np.isnan(neither))


def test_a_floored_quotient_of_floats_is_the_floor_of_the_rounded_quotient() -> None:
    """TensorFlow's rule; Python's exact one gives 9.0 for the first."""
    x, y = np.array([1.0, -7.0, 7.5]), np.array([0.1, 2.0, -2.0])
    [found] = evaluate([constant(x) // constant(y)])
    np.testing.assert_array_equal(found, [10.0, -4.0, -4.0])


def test_the_remainder_of_floats_has_the_sign_of_the_divisor() -> None:
    x, y = np.array([5.5, -5.5, 5.5, -5.5]), np.array([2.0, 2.0, -2.0, -2.0])
    [found] = evaluate([constant(x) % constant(y)])
    np.testing.assert_array_equal(found, [1.5, 0.5, -0.5, -1.5])


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


def test_real_division_takes_no_integers() -> None:
    with pytest.raises(TypeError, match="int32"):
        division.realdiv(constant(1), constant(1))


@for_each("shapes", [((3,), (3,)), ((), (3,)), ((2, 3), (2, 1))], ids=str)
@for_each("op", [division.truediv, division.floormod, lambda x, y: make_one("Div", [x, y])])
def test_gradients_are_those_of_finite_differences(op: Any, shapes: Any) -> None:
    x, y = (np.linspace(1.1, 2.9, int(np.prod(s))).reshape(s) for s in shapes)
    check_gradient(op, x * 3.3, -y)

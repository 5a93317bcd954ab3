from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.graph import Graph
from actorsession.graph.dtypes import bfloat16, bool_, float32, int32, string
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.elements import comparison
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

COMPARISONS: dict[Op, Op] = {
    comparison.equal: np.equal,
    comparison.not_equal: np.not_equal,
    comparison.less: np.less,
    comparison.less_equal: np.less_equal,
    comparison.greater: np.greater,
    comparison.greater_equal: np.greater_equal,
}
ORDERS = [op for op in COMPARISONS if op.__name__.removeprefix("not_") != "equal"]
LOGIC: dict[Op, Op] = {
    comparison.logical_and: np.logical_and,
    comparison.logical_or: np.logical_or,
    comparison.logical_xor: np.logical_xor,
}

all_comparisons = for_each("op", COMPARISONS, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@all_comparisons
@for_each(
    "dtype", [np.float16, bfloat16.np_dtype, np.float32, np.float64, np.int8, np.int64, np.uint8]
)
@for_each("shapes", [((), ()), ((3,), (3,)), ((2, 3), ()), ((2, 1), (3,)), ((0,), (1,))], ids=str)
def test_a_comparison_broadcasts_as_numpy_does(op: Op, dtype: Any, shapes: Any) -> None:
    x, y = (
        np.resize([1, 2, 3], shapes[0]).astype(dtype),
        np.resize([2, 1, 3], shapes[1]).astype(dtype),
    )
    [found] = evaluate([op(constant(x), constant(y))])
    np.testing.assert_array_equal(found, COMPARISONS[op](x, y))
    assert found.dtype == np.bool_


@all_comparisons
def test_nan_is_neither_equal_nor_in_any_order(op: Op) -> None:
    for shape in ((), (1,)):
        nan = constant(np.full(shape, np.nan))
        assert evaluate([op(nan, nan)])[0] == (op is comparison.not_equal)


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
def test_strings_bools_and_complex_numbers_are_equal_or_not(shape: Any) -> None:
    words = source(string, ())
    pairs = [
        (constant(True, shape=shape), constant(True)),
        (constant(1 + 2j, shape=shape), constant(1 + 2j)),
        (constant("a", shape=shape), words),
    ]
    ops = [op(x, y) for x, y in pairs for op in (comparison.equal, comparison.not_equal)]
    found = evaluate(ops, {words: b"a"})
    for value, expected in zip(found, [True, False] * 3, strict=True):
        np.testing.assert_array_equal(value, np.full(shape, expected))


def test_strings_that_differ_in_a_trailing_zero_are_not_equal() -> None:
    x, y = source(string, ()), source(string, ())
    assert not evaluate([comparison.equal(x, y)], {x: b"a", y: b"a\0"})[0]


@for_each("op", ORDERS, ids=lambda op: op.__name__)
@for_each("dtype", [bool_, string], ids=lambda d: d.name)
def test_bools_and_strings_have_no_order(op: Op, dtype: Any) -> None:
    with pytest.raises(TypeError, match=f"got {dtype.name}"):
        op(source(dtype, ()), source(dtype, ()))


@for_each("op", LOGIC, ids=lambda op: op.__name__)
@for_each("shape", [(), (2, 2)], ids=str)
def test_logic_is_numpys(op: Op, shape: Any) -> None:
    for first in (True, False):
        for second in (True, False):
            x, y = constant(first, shape=shape), constant(second)
            [found] = evaluate([op(x, y)])
            np.testing.assert_array_equal(found, np.full(shape, LOGIC[op](first, second)))


@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_logical_not_turns_every_element(shape: Any) -> None:
    [found] = evaluate([comparison.logical_not(constant(True, shape=shape))])
    np.testing.assert_array_equal(found, np.zeros(shape, np.bool_))


@for_each("op", [*LOGIC, comparison.logical_not], ids=lambda op: op.__name__)
def test_logic_takes_bools_only(op: Op) -> None:
    operands = 1 if op is comparison.logical_not else 2
    with pytest.raises(TypeError, match="int32"):
        op(*[source(int32, ())] * operands)


def test_operators_on_tensors_build_comparisons_and_logic() -> None:
    x, y = source(float32, (2,)), source(float32, (2,))
    p, q = x < y, x > y
    results = [p, q, x <= y, x >= y, 1.0 < x, p & q, p | q, p ^ q, ~p]  # noqa: SIM300
    a, b = np.array([1.0, 3.0]), np.array([1.0, 2.0])
    none, second, both = [False, False], [False, True], [True, True]
    expected = [a < b, a > b, a <= b, a >= b, a > 1, none, second, second, both]
    for value, right in zip(evaluate(results, {x: a, y: b}), expected, strict=True):
        np.testing.assert_array_equal(value, right)


def test_equality_of_tensors_is_identity() -> None:
    x, y = constant(1), constant(1)
    assert x != y
    assert operator.eq(x, x) is True


@for_each(
    "op, expected",
    [
        (comparison.is_nan, [False, False, False, True]),
        (comparison.is_inf, [False, True, True, False]),
        (comparison.is_finite, [True, False, False, False]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
@for_each("dtype", [np.float16, bfloat16.np_dtype, np.float32, np.float64])
def test_predicates_tell_numbers_from_infinities_and_nan(
    op: Op, expected: list[bool], dtype: Any
) -> None:
    given = np.array([1, np.inf, -np.inf, np.nan]).astype(dtype)
    found = evaluate([op(constant(given)), *(op(constant(g)) for g in given)])
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1:], expected)


def test_predicates_take_floats_only() -> None:
    with pytest.raises(TypeError, match="int32"):
        comparison.is_nan(constant(1))


def test_nothing_flows_back_through_a_comparison() -> None:
    x = source(float32, ())
    assert gradients(constant(1.0) * 2, x) == [None]
    with_mask = comparison.where(x > 0, constant(1.0), constant(2.0))
    assert gradients(with_mask, x) == [None]


def test_the_static_shape_is_the_broadcast_one() -> None:
    assert (source(float32, [None, 3]) < source(float32, [3])).shape == [None, 3]
    assert (source(float32) < 1.0).shape.rank is None
    with pytest.raises(
        ValueError, match=r"are 2 and 3: Less cannot broadcast shapes \(2,\), \(3,\)"
    ):
        comparison.less(source(float32, [2]), source(float32, [3]))

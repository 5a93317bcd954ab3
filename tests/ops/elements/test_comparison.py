from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import constant, float32, int32
from actorsession.ops.elements import comparison
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

LOGIC: dict[Op, Op] = {
    comparison.logical_and: np.logical_and,
    comparison.logical_or: np.logical_or,
    comparison.logical_xor: np.logical_xor,
}


@for_each("op", LOGIC, ids=lambda op: op.__name__)
@for_each("shape", [(), (2, 2)], ids=str)
def test_logic_is_numpys(op: Op, shape: Any) -> None:
    for first in (True, False):
        for second in (True, False):
            x, y = constant(first, shape=shape), constant(second)
            [found] = evaluate([op(x, y)])
            np.testing.assert_array_equal(found, np.full(shape, LOGIC[op](first, second)))


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


@for_each("op", [*LOGIC, comparison.logical_not], ids=lambda op: op.__name__)
def test_logic_takes_bools_only(op: Op) -> None:
    operands = 1 if op is comparison.logical_not else 2
    with pytest.raises(TypeError, match="int32"):
        op(*[source(int32, ())] * operands)

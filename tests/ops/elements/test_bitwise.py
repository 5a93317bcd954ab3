from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from tests.ops.interpreter import evaluate


def test_operators_on_integers_work_on_their_bits() -> None:
    x = ops.constant([5, -2])
    made = [x & 3, 3 & x, x | 8, 8 | x, x ^ 1, 1 ^ x, ~x]
    wanted = [[1, 2], [1, 2], [13, -2], [13, -2], [4, -1], [4, -1], [-6, 1]]
    assert [value.tolist() for value in evaluate(made)] == wanted


def test_operators_on_bools_are_logical() -> None:
    x = ops.constant([True, False])
    made = [x & True, True | x, x ^ True, ~x]
    wanted = [[True, False], [True, True], [False, True], [False, True]]
    assert [value.tolist() for value in evaluate(made)] == wanted
    assert {t.op.type for t in made}.isdisjoint({"BitwiseAnd", "BitwiseOr", "Invert"})


@pytest.mark.parametrize("value", [[1.0], ["a"], [1j]])
def test_operators_refuse_what_has_no_bits(value: list[Any]) -> None:
    x = ops.constant(value)
    for operation in (operator.and_, operator.or_, operator.xor):
        with pytest.raises(TypeError, match="integers"):
            operation(x, x)
    with pytest.raises(TypeError, match="integers"):
        operator.invert(x)


def test_integers_of_two_types_are_not_promoted() -> None:
    with pytest.raises(TypeError, match="one dtype"):
        ops.constant([1]) & ops.constant(np.array([1], np.int64))


def test_a_variable_has_the_operators_too(graph: Graph) -> None:
    variable = ops.Variable([6, 3])
    assert (variable & 2).op.type == "BitwiseAnd"


def test_operators_name_their_nodes_as_in_tensorflow() -> None:
    whole, truth = ops.constant([1, 2]), ops.constant([True, False])
    made = [whole & 1, truth & True, ~whole, ~truth, whole ^ 3]
    names = [tensor.name for tensor in made]
    assert names == ["and/BitwiseAnd:0", "and_1:0", "Invert:0", "LogicalNot:0", "xor/BitwiseXor:0"]

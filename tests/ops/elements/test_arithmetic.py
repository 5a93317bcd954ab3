from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, bool_, constant
from actorsession.ops.elements import arithmetic
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]


BINARY: dict[Op, Op] = {
    arithmetic.add: np.add,
    arithmetic.subtract: np.subtract,
    arithmetic.multiply: np.multiply,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
    arithmetic.squared_difference: lambda x, y: (x - y) ** 2,
}

all_ops = for_each("op", BINARY, ids=lambda op: op.__name__)


@all_ops
def test_shapes_that_cannot_be_broadcast_are_a_value_error_naming_both(op: Op) -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        op(constant([1.0, 2.0]), constant([1.0, 2.0, 3.0]))


# -- powers --------------------------------------------------------------------------------------


def test_a_square_has_a_gradient_at_zero_and_below() -> None:
    check_gradient(lambda x: x**2, np.array([0.0, -1.0, 2.0]))


# -- sums of many --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [[], constant([1.0], graph=Graph())], ids=["nothing", "tensor"])
def test_add_n_takes_a_list_of_one_or_more(given: Any) -> None:
    with pytest.raises(ValueError, match="one or more"):
        arithmetic.add_n(given)


def test_the_product_of_bools_is_whether_both_are_true_for_the_operator_only() -> None:
    x = source(bool_, [2])
    products = [x * constant([True, True]), x * True, False * x]
    assert [p.op.name for p in products] == ["mul/Cast_2", "mul_1/Cast_2", "mul_2/Cast_2"]
    found = evaluate(products, {x: np.array([True, False])})
    assert [f.tolist() for f in found] == [[True, False], [True, False], [False, False]]
    with pytest.raises(TypeError, match="got bool"):
        arithmetic.multiply(x, x)

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, constant, float32, float64, string
from actorsession.ops.elements import arithmetic
from tests.ops.interpreter import evaluate, source


def test_a_plain_value_takes_the_dtype_of_the_tensor_beside_it() -> None:
    x = source(float64, ())
    for result, expected in ((x + 1, 3.5), (1 + x, 3.5), (x - 1, 1.5), (2 - x, -0.5), (2 * x, 5)):
        assert result.dtype is float64
        assert evaluate([result], {x: 2.5}) == [expected]


def test_a_fraction_beside_an_integer_tensor_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="int32"):
        constant(1) + 0.5


def test_numpy_operands_on_the_left_give_way_to_tensors() -> None:
    [found] = evaluate([np.array([1, 2], np.float32) * constant([3.0, 4.0])])
    np.testing.assert_array_equal(found, np.array([3, 8], np.float32), strict=True)


def test_nodes_and_their_constants_have_tensorflows_names() -> None:
    x = source(float32, ())
    result = x + 1
    assert result.name == "add:0"
    assert result.op.type == "AddV2"
    assert [t.op.name for t in result.op.inputs] == [x.op.name, "add/y"]
    assert (x + 1).op.name == "add_1"
    assert arithmetic.multiply(2, x, name="twice").op.name == "twice"
    assert (x / 2).op.name == "truediv"
    assert arithmetic.multiply(x, x).op.name == "Mul"


def test_constants_are_built_in_the_graph_of_the_tensor_beside_them(graph: Graph) -> None:
    other = Graph()
    x = source(float32, (), other)
    assert (x + 1).graph is other
    assert arithmetic.multiply(2, x).graph is other
    assert not graph.get_operations()


def test_two_plain_values_make_a_tensor_in_the_default_graph(graph: Graph) -> None:
    result = arithmetic.add(1, 2)
    assert result.graph is graph
    assert evaluate([result]) == [3]


def test_a_dtype_that_the_op_does_not_take_is_named_with_those_it_does() -> None:
    with pytest.raises(TypeError, match=r"Sub takes signed .* complex types as x; got string"):
        arithmetic.subtract(source(string, ()), source(string, ()))

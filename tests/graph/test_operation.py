"""Tensors and operations as users hold them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    Graph,
    Tensor,
    TensorShape,
    float32,
    int8,
    int32,
    nn,
    ops,  # defines the operators
)
from actorsession.errors import OperatorNotAllowedInGraphError
from tests.graph.kit import join, leaf, op, pair
from tests.rows import for_each

# -- what a tensor knows ---------------------------------------------------------------------------


def test_a_tensor_knows_where_it_comes_from(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        scalar, vector = pair(graph, "p")
    assert (scalar.name, vector.name) == ("p:0", "p:1")
    assert (scalar.value_index, vector.value_index) == (0, 1)
    assert scalar.op is vector.op
    assert vector.op.outputs == (scalar, vector)
    assert vector.graph is graph
    assert vector.device == "/device:CPU:1"
    assert vector.dtype.name == "float32"
    assert vector.shape == vector.get_shape() == [2]
    assert (scalar.ndim, vector.ndim) == (0, 1)
    assert vector.spec.shape is vector.shape
    t = leaf(graph, "x", shape=[None, 2])
    assert repr(t) == "<Tensor 'x:0' shape=(None, 2) dtype=float32>"
    assert repr(t.op) == "<Operation 'x' type=KitLeaf>"


def test_tensors_are_equal_to_themselves_alone(graph: Graph) -> None:
    a, b = leaf(graph), leaf(graph)
    assert a == a
    assert a != b
    assert a != None  # noqa: E711
    assert a in [b, a]
    assert {a: 1, b: 2}[a] == 1


def test_consumers_are_listed_in_order_once_for_each_input(graph: Graph) -> None:
    a = leaf(graph, "a")
    assert a.consumers() == []
    b, c = join(graph, a, a, name="b").op, join(graph, leaf(graph), a, name="c").op
    assert a.consumers() == [b, b, c]
    d = join(graph, a, name="d").op
    assert graph.nodes.consumers(a) == [b, c, d], "what was built since is seen"


def test_set_shape_adds_to_what_is_known(graph: Graph) -> None:
    t = leaf(graph, shape=[None, 3])
    t.set_shape([2, None])
    assert t.shape == [2, 3]
    t.set_shape(None)
    assert t.shape == [2, 3]
    assert t.op.plain.outputs[0].shape == [2, 3]
    # Only a refinement makes the graph another version.
    t = leaf(graph, shape=[None])
    before = graph.version
    t.set_shape([None])
    assert graph.version == before
    t.set_shape([4])
    assert graph.version == before + 1
    # A shape may be refined after the graph is finalized.
    t = leaf(graph, shape=[None, 3])
    graph.finalize()
    t.set_shape([2, 3])
    assert t.shape == [2, 3]


@pytest.mark.parametrize("wrong", [[3, 3], [2, 3, 1], []])
def test_set_shape_refuses_a_contradiction_and_changes_nothing(graph: Graph, wrong: Any) -> None:
    t = leaf(graph, shape=[None, 3])
    t.set_shape([2, None])
    version = graph.version
    with pytest.raises(ValueError, match="are not compatible"):
        t.set_shape(wrong)
    assert t.shape == [2, 3]
    assert graph.version == version


# -- attributes of operations ----------------------------------------------------------------------


def test_attributes_are_read_by_name(graph: Graph) -> None:
    node = leaf(graph, dtype="int8").op
    assert node.get_attr("dtype") is int8
    with pytest.raises(ValueError, match=r"no attr named 'axis': .* it has \['dtype', 'shape'\]"):
        node.get_attr("axis")
    with pytest.raises(ValueError, match="it has none"):
        op(graph).get_attr("axis")


def test_attributes_are_given_as_in_tensorflow() -> None:
    """Bytes for text, lists for tuples, types as ``DType``, messages for shapes and tensors."""
    with Graph().as_default():
        image, kernel = ops.zeros([1, 4, 4, 1]), ops.placeholder("float32", [2, None, 1, 1])
        found = nn.conv2d(image, kernel, strides=[1, 1, 2, 1], padding="SAME").op
        queue = ops.FIFOQueue(3, ["float32", "int32"], [[], [2]]).queue_ref.op
    assert found.get_attr("padding") == b"SAME"
    assert found.get_attr("strides") == [1, 1, 2, 1]
    assert queue.get_attr("component_types") == [float32, int32]
    assert [len(shape.dim) for shape in queue.get_attr("shapes")] == [0, 1]
    assert kernel.op.get_attr("shape") == TensorShape([2, None, 1, 1]).as_proto()
    assert TensorShape(kernel.op.get_attr("shape")) == [2, None, 1, 1]
    assert acts.io.make_ndarray(ops.constant([1, 2]).op.get_attr("value")).tolist() == [1, 2]
    # What follows from the inputs is an attribute too.
    with Graph().as_default():
        x = ops.placeholder("float32", [2, 2])
        assert ops.constant([1.0]).op.get_attr("dtype") is float32
        assert ops.matmul(x, x).op.get_attr("T") is float32
        assert ops.stack([x, x, x]).op.get_attr("N") == 3
        made = ops.cast(x, "int32").op
    assert (made.get_attr("SrcT"), made.get_attr("DstT")) == (float32, int32)
    # A placeholder of any shape has an unknown one as attribute.
    with Graph().as_default():
        assert ops.placeholder("int8").op.get_attr("shape").unknown_rank


def test_an_operation_tells_its_node_as_tensorflow_does(graph: Graph) -> None:
    with Graph().as_default():
        x = ops.placeholder("float32", [2, 2], name="x")
        node = ops.matmul(x, ops.ones([2, 2], name="o"), transpose_a=True, name="y").op.node_def
    assert (node.name, node.op, list(node.input)) == ("y", "MatMul", ["x", "o"])
    assert node.attr["transpose_a"].b
    assert node.attr["T"].type == float32.as_datatype_enum
    # The outputs of an operation are its values.
    node = leaf(graph).op
    assert node.values() == node.outputs


def test_an_operation_is_in_its_own_group_unless_it_was_put_with_another() -> None:
    with Graph().as_default() as graph:
        a = ops.constant(1, name="a")
        with graph.colocate_with(a.op):
            b = ops.constant(2, name="b")
    assert a.op.colocation_groups() == b.op.colocation_groups() == [b"loc:@a"]
    assert (a.op.groups(), b.op.groups()) == ((), ("loc:@a",))
    assert b.op.get_attr("_class") == [b"loc:@a"]


# -- operators -------------------------------------------------------------------------------------

BOTH_SIDES: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("AddV2", operator.add),
    ("Sub", operator.sub),
    ("Mul", operator.mul),
    ("RealDiv", operator.truediv),
    ("FloorDiv", operator.floordiv),
    ("FloorMod", operator.mod),
    ("Pow", operator.pow),
    ("LogicalAnd", operator.and_),
    ("LogicalOr", operator.or_),
]


OPERANDS: dict[str, Any] = {"float32": (2.0, np.float32(2), [1.0, 2.0], np.ones(2, np.float32)), "bool": (True,)}


@for_each("op_type, function", BOTH_SIDES)
def test_arithmetic_works_from_both_sides(graph: Graph, op_type: str, function: Callable[[Any, Any], Any]) -> None:
    t = leaf(graph, shape=[2], dtype="bool" if op_type.startswith("Logical") else "float32")
    assert function(t, t).op.type == op_type
    for value in OPERANDS[t.dtype.name]:
        right, left = function(t, value), function(value, t)
        assert isinstance(left, Tensor), "numpy gives way"
        assert (right.op.inputs[0], left.op.inputs[1]) == (t, t)
        assert right.op.type == left.op.type == op_type


@for_each(
    "op_type, function",
    [
        ("Neg", operator.neg),
        ("Abs", abs),
        ("StridedSlice", lambda t: t[0]),
        ("Less", lambda t: t < 1),
        ("LessEqual", lambda t: t <= 1),
        ("Greater", lambda t: t > 1),
        ("GreaterEqual", lambda t: t >= 1),
    ],
)
def test_other_operators_build_their_op(graph: Graph, op_type: str, function: Callable[[Any], Any]) -> None:
    t = leaf(graph, shape=[2])
    result = function(t).op
    assert (result.type, result.inputs[0]) == (op_type, t)


@for_each("call, swapped", [(lambda a: a @ [[1.0], [2.0]], False), (lambda a: [[1.0, 2.0]] @ a, True)])
def test_a_product_has_its_factors_in_order(graph: Graph, call: Callable[[Any], Any], swapped: bool) -> None:
    a = leaf(graph, shape=[2, 2])
    assert [tensor is a for tensor in call(a).op.inputs].index(True) == swapped


# -- a tensor is no value --------------------------------------------------------------------------


@for_each("use", [bool, operator.not_, lambda t: t and 1, lambda t: 1 if t else 2, list, tuple, iter, lambda t: [*t]])
def test_a_tensor_has_no_truth_value_and_cannot_be_iterated(graph: Graph, use: Callable[[Tensor], Any]) -> None:
    with pytest.raises(OperatorNotAllowedInGraphError, match=r"'x:0'.*while the graph is built"):
        use(leaf(graph, "x", shape=[3]))


@for_each("value", [3, 2.0, "a", [1.0], np.float32(1), np.ones(2)])
def test_a_comparison_with_a_value_says_which_node_compares(graph: Graph, value: Any) -> None:
    with pytest.warns(UserWarning, match=r"'x:0'.* is False: .*equal\(tensor, value\)"):
        assert not (leaf(graph, "x") == value)  # noqa: SIM201


@for_each("use", [float, int, len, range, lambda t: 1 in t])
def test_a_tensor_is_not_taken_for_a_number(graph: Graph, use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(leaf(graph, shape=[3]))


@for_each("use", [np.asarray, np.array, np.sin, np.sum])
def test_a_tensor_is_not_taken_for_an_array(graph: Graph, use: Callable[[Any], Any]) -> None:
    with pytest.raises(NotImplementedError, match="is symbolic: run it in a session"):
        use(leaf(graph, "x", shape=[3]))

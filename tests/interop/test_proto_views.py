"""Operations, shapes, variables and queue runners as TensorFlow's messages, and read back from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, TensorShape, float32, import_graph_def, int32, name_scope, ops, string, train
from actorsession.extend import registered_ops
from actorsession.graph.registry import lookup
from actorsession.interop import graph_def_of

pytestmark = pytest.mark.usefixtures("graph")


def test_a_node_alone_is_as_it_is_in_its_graph(graph: Graph) -> None:
    x = ops.placeholder("float32", [2], name="x")
    with graph.device("/cpu:1"), graph.control_dependencies([ops.no_op(name="first")]):
        ops.negative(x, name="y")
    whole = {node.name: node for node in graph_def_of(graph).node}
    for op in graph.get_operations():
        assert op.node_def == whole[op.name]
    assert list(whole["y"].input) == ["x", "^first"]
    made = ops.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    (loop,) = [op for op in made.graph.get_operations() if op.type == "While"]
    assert loop.node_def.attr["body"].func.name == f"{loop.name}_body"
    assert loop.get_attr("T") == [int32]
    made = ops.constant(["a", "b"]).op
    assert made.get_attr("dtype") is string
    assert acts.io.make_ndarray(made.get_attr("value")).tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ("text", b"text"),
        ((1, 2), [1, 2]),
        (("a", b"b"), [b"a", b"b"]),
        (np.int64(3), 3),
        (True, True),
        (0.5, 0.5),
        (float32, float32),
        ((), []),
    ],
    ids=str,
)
def test_attributes_that_only_this_library_has_are_given_likewise(value: Any, given: Any, graph: Graph) -> None:
    found = graph.create_op("NoOp", attrs={"_own": value}).get_attr("_own")
    assert (found, type(found)) == (given, type(given))


@pytest.mark.parametrize("shape", [None, [], [2, None]], ids=str)
def test_shapes_are_messages_and_are_made_of_them(shape: Any) -> None:
    proto = TensorShape(shape).as_proto()
    assert proto.unknown_rank is (shape is None)
    assert [dim.size for dim in proto.dim] == [-1 if d is None else d for d in shape or ()]
    assert TensorShape(proto) == TensorShape(shape)


def test_a_type_says_its_inputs_outputs_and_attributes() -> None:
    product = ops.matmul([[1.0]], [[2.0]]).op.op_def
    assert [(arg.name, arg.type_attr) for arg in product.input_arg] == [("a", "T"), ("b", "T")]
    assert [arg.name for arg in product.output_arg] == ["product"]
    attrs = {attr.name: attr for attr in product.attr}
    assert (attrs["transpose_a"].type, attrs["transpose_a"].default_value.b) == ("bool", False)
    assert not attrs["T"].HasField("default_value")
    (inputs,) = ops.add_n([1.0, 2.0]).op.op_def.input_arg
    assert (inputs.type_attr, inputs.number_attr) == ("T", "N")
    queue = ops.FIFOQueue(3, [float32]).enqueue([1.0]).op_def
    assert (queue.name, queue.is_stateful) == ("QueueEnqueueV2", True)
    assert [(a.name, a.type, a.type_list_attr) for a in queue.input_arg] == [
        ("handle", 20, ""),
        ("components", 0, "Tcomponents"),
    ]
    for name in registered_ops():
        op_def = lookup(name)
        assert all(arg.name for arg in [*op_def.input_arg, *op_def.output_arg]), name
        assert len({attr.name for attr in op_def.attr}) == len(op_def.attr), name


# -- variables and queue runners -----------------------------------------------------------------


def test_what_was_written_as_a_message_is_found_again() -> None:
    with name_scope("outer"):
        v = ops.Variable(3.0, name="v", trainable=False)
    message = v.to_proto()
    assert (message.variable_name, message.is_resource, message.trainable) == ("outer/v:0", True, False)
    assert ops.Variable.from_proto(message) is v
    with pytest.raises(KeyError):
        with Graph().as_default():
            ops.Variable.from_proto(message)
    v = ops.Variable(3.0, name="v")
    message, stored = v.to_proto(), graph_def_of(v.graph)
    with Graph().as_default():
        import_graph_def(stored, name="copy")
        copy = ops.Variable.from_proto(message, import_scope="copy")
        with Session() as sess:
            sess.run(copy.initializer)
            assert sess.run(copy) == 3.0
        assert copy.to_proto("copy") == message
    v = ops.Variable(3.0, name="v")
    queue = ops.FIFOQueue(3, float32)
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    assert (v.to_proto("other"), runner.to_proto("other")) == (None, None)
    queue = ops.FIFOQueue(3, float32, name="q")
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    message = runner.to_proto()
    assert (message.queue_name, list(message.enqueue_op_name)) == ("q", ["q_enqueue"])
    assert train.QueueRunner.from_proto(message).enqueue_ops == runner.enqueue_ops

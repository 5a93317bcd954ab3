"""Calls of functions in TensorFlow's form: out, in, and those whose type is the function's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import import_graph_def
from actorsession.errors import ResourceExhaustedError
from actorsession.interop import GraphDef, graph_def_of
from actorsession.ops.flow.functional import remote_call
from tests.interop.kit import run_imported

NAMES = ["out:0", "grad:0", "remote:0"]


def a_graph() -> acts.Graph:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [2], name="x")
        c = acts.constant(3.0, name="c")
        inner = acts.flow.Defun(acts.float32, func_name="Inner")(lambda v: v * c)
        outer = acts.flow.Defun(acts.float32, func_name="Outer")(lambda v: (inner(v) + 1.0, v))
        total = outer(outer(x)[0])[0]
        acts.identity(total, name="out")
        acts.identity(acts.gradients(total, x)[0], name="grad")
        found = remote_call("/cpu:0", [x], [acts.float32, acts.float32], outer)
        acts.identity(found[0], name="remote")
    return graph


@pytest.fixture
def message() -> GraphDef:
    return GraphDef.FromString(graph_def_of(a_graph(), add_shapes=True).SerializeToString())


def test_calls_compute_the_same_elsewhere(message: GraphDef) -> None:
    found = run_imported(message, NAMES, {"x:0": [1.0, 2.0]})
    np.testing.assert_array_equal(found, [[13.0, 22.0], [9.0, 9.0], [4.0, 7.0]])
    names = [function.signature.name for function in message.library.function]
    assert len(set(names)) == len(names)
    assert {"Inner", "Outer"} <= set(names)
    called = [n.attr["f"].func.name for n in message.node if n.op == "PartitionedCall"]
    assert called == ["Outer", "Outer"]
    assert {n.op for n in message.node if "Call" in n.op} == {
        "PartitionedCall",
        "StatefulPartitionedCall",
        "RemoteCall",
    }
    # A node whose type is a function calls it.
    found = run_imported(by_name(message), NAMES, {"x:0": [1.0, 2.0]})
    np.testing.assert_array_equal(found, [[13.0, 22.0], [9.0, 9.0], [4.0, 7.0]])


def by_name(message: GraphDef) -> GraphDef:
    """The graph with calls as TensorFlow 1 writes them."""
    functions = {f.signature.name: f for f in message.library.function}
    for function in message.library.function:
        for node in function.node_def:
            called = functions.get(node.attr["f"].func.name) if "f" in node.attr else None
            if called is None:
                continue
            output = called.signature.output_arg[0].name
            for other in function.node_def:
                other.input[:] = [
                    text.replace(f"{node.name}:output:0", f"{node.name}:{output}:0") for text in other.input
                ]
    for node in [*message.node, *[n for f in functions.values() for n in f.node_def]]:
        if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
            node.op = node.attr["f"].func.name
            for name in list(node.attr):
                del node.attr[name]
    return message


def test_what_a_function_without_results_does_is_done() -> None:
    with acts.Graph().as_default() as graph:
        v = acts.Variable(1.0, name="v")
        done = acts.flow.Defun(acts.float32, func_name="Add")(lambda x: [v.assign_add(x), None][1])(2.0)
        acts.group(done, name="go")
        made = graph_def_of(graph)
    (function,) = made.library.function
    function.signature.ClearField("output_arg")
    function.ret.clear()
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        import_graph_def(made, name="")
        session.run("v/Assign")
        session.run("go")
        assert session.run("v/Read/ReadVariableOp:0") == 3.0


def _without_library(message: GraphDef) -> None:
    message.ClearField("library")


def _with_too_few(message: GraphDef) -> None:
    for function in message.library.function:
        if function.signature.name == "Outer":
            del function.signature.input_arg[-1]


def _recursive(message: GraphDef) -> None:
    for function in message.library.function:
        for node in function.node_def:
            if "f" in node.attr:
                node.attr["f"].func.name = function.signature.name


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_without_library, "is not in the graph's library"),
        (_with_too_few, "function"),
        (_recursive, "functions cannot be recursive"),
    ],
    ids=["library", "few", "recursive"],
)
def test_calls_of_what_is_no_function_are_refused(message: GraphDef, spoil: Any, words: str) -> None:
    spoil(message)
    with acts.Graph().as_default() as graph:
        with pytest.raises(ValueError, match=words):
            import_graph_def(message)
        assert graph.get_operations() == []


def test_a_small_file_of_functions_that_call_each_other_is_refused_before_it_is_built() -> None:
    """Each calls the one before twice, so that 60 of them would be 2**60 nodes."""
    file = GraphDef()
    for k in range(60):
        function = file.library.function.add()
        function.signature.name = f"f{k}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        for name, read in (("first", "x"), ("second", "first:output:0" if k else "first:y:0")):
            node = function.node_def.add(name=name, op=f"f{k - 1}" if k else "Identity", input=[read])
            if not k:
                node.attr["T"].type = 1
                node.input[:] = ["x"]
        function.ret["y"] = "second:y:0" if k else "second:output:0"
    file.node.add(name="a", op="Placeholder").attr["dtype"].type = 1
    file.node.add(name="call", op="f59", input=["a"])
    with acts.Graph().as_default(), pytest.raises(ResourceExhaustedError, match=r"function 'f\d+' has"):
        import_graph_def(file)


def scaled(factor: float) -> GraphDef:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [], name="x")
        acts.identity(acts.flow.Defun(acts.float32, func_name="Scaled")(lambda v: v * factor)(x), name="y")
    return graph_def_of(graph)


def test_functions_of_one_name_in_two_files_stay_two() -> None:
    """The second file has another constant in its function, and the first is imported once more."""
    with acts.Graph().as_default() as graph:
        for factor, name in ((2.0, "a"), (3.0, "b"), (2.0, "c")):
            import_graph_def(scaled(factor), name=name)
        written = GraphDef.FromString(graph_def_of(graph, add_shapes=True).SerializeToString())
    names = [function.signature.name for function in written.library.function]
    assert names == ["Scaled", "Scaled_1"]
    called = [node.attr["f"].func.name for node in written.node if "Call" in node.op]
    assert called == ["Scaled", "Scaled_1", "Scaled"]
    feeds = {f"{name}/x:0": 5.0 for name in "abc"}
    assert run_imported(written, [f"{name}/y:0" for name in "abc"], feeds) == [10.0, 15.0, 10.0]

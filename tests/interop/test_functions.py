"""Loops, branches and gradients in TensorFlow's form: functions go out, come in, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, import_graph_def, ops
from actorsession.errors import ResourceExhaustedError
from actorsession.interop import GraphDef, graph_def_of
from actorsession.ops.flow.functional import remote_call
from tests.interop.kit import run_imported, stored

pytestmark = pytest.mark.usefixtures("graph")


def a_graph() -> acts.Graph:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [2], name="x")
        factor, start = acts.constant(3.0, name="factor"), acts.constant(0, name="start")

        def turn(i: Any, total: Any) -> list[Any]:
            step = acts.cond(i > 1, lambda: total * factor, lambda: total + x)
            return [i + 1, step]

        _, total = acts.while_loop(lambda i, _: i < 4, turn, [start, x], name="loop")
        acts.identity(total, name="out")
        parts = acts.cond(factor > 1.0, lambda: acts.split(x, 2), lambda: [x[1:], x[:1]], name="c")
        acts.identity(parts[1], name="second")
    return graph


@pytest.fixture
def message() -> GraphDef:
    return GraphDef.FromString(graph_def_of(a_graph(), add_shapes=True).SerializeToString())


def test_a_loop_with_a_branch_in_it_computes_the_same_elsewhere(graph: acts.Graph, message: GraphDef) -> None:
    found = run_imported(message, ["out:0", "second:0"], {"x:0": [1.0, 2.0]})
    np.testing.assert_array_equal(found[0], [27.0, 54.0])  # (x + x + x) * 3 * 3
    np.testing.assert_array_equal(found[1], [2.0])
    # Functions stand in the library under names of their own.
    names = [function.signature.name for function in message.library.function]
    assert len(set(names)) == len(names) == 6
    (loop,) = [node for node in message.node if node.op == "While"]
    assert {loop.attr["cond"].func.name, loop.attr["body"].func.name} <= set(names)
    body = next(f for f in message.library.function if f.signature.name == loop.attr["body"].func.name)
    takes, gives = body.signature.input_arg, body.signature.output_arg
    assert [arg.type for arg in takes] == [arg.type for arg in gives] == list(loop.attr["T"].list.type)
    # What never changes in a loop is read from outside.
    import_graph_def(message, name="")
    loop = graph.get_operation_by_name("loop")
    assert (len(loop.outputs), loop.attrs["body"].captures != ()) == (2, True)


def test_outputs_of_a_loop_that_never_change_are_what_went_in() -> None:
    message, _, _ = stored("control_flow")
    (node,) = [n for n in message.node if n.op == "StatelessWhile"]
    last = len(node.input) - 1
    with acts.Graph().as_default():
        found = import_graph_def(message, return_elements=[f"loop:{last}", node.input[last] + ":0"])
    assert found is not None
    assert found[0] is found[1]
    # The librarys own form of a loop is taken too.
    with acts.Graph().as_default() as graph:
        import_graph_def(a_graph().as_graph_def())
        with acts.Session(graph=graph) as session:
            found = session.run("import/out:0", {"import/x:0": [1.0, 2.0]})
    np.testing.assert_array_equal(found, [27.0, 54.0])


def test_what_a_branch_must_run_is_run_whatever_its_results_need(message: GraphDef) -> None:
    with acts.Graph().as_default() as graph:
        v = acts.Variable(1.0, name="v")
        ready = acts.placeholder(acts.bool_, [], name="ready")

        def change() -> Any:
            with acts.control_dependencies([v.assign_add(2.0).op]):
                return acts.constant(5.0)

        acts.identity(acts.cond(ready, change, lambda: acts.constant(6.0)), name="out")
        made = graph_def_of(graph)
    then = next(f for f in made.library.function if f.signature.name.endswith("then_branch"))
    update = next(n for n in then.node_def if n.op == "AssignAddVariableOp")
    for node in then.node_def:  # nothing asks for it but the function itself
        node.input[:] = [text for text in node.input if not text.startswith("^")]
    then.control_ret["update"] = update.name
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        import_graph_def(made, name="")
        session.run("v/Assign")
        assert session.run("out:0", {"ready:0": True}) == 5.0
        assert session.run("v/Read/ReadVariableOp:0") == 3.0
        assert session.run("out:0", {"ready:0": False}) == 6.0
        assert session.run("v/Read/ReadVariableOp:0") == 3.0


def _without_library(message: GraphDef) -> None:
    message.ClearField("library")


def _without_result(message: GraphDef) -> None:
    for function in message.library.function:
        function.ret.clear()


def _with_nonsense(message: GraphDef) -> None:
    for function in message.library.function:
        for key in function.ret:
            function.ret[key] = "nothing:out:0"


def _with_too_few(message: GraphDef) -> None:
    for function in message.library.function:
        del function.signature.input_arg[-1]


def _with_wrong_output(message: GraphDef) -> None:
    for function in message.library.function:
        for key, value in function.ret.items():
            function.ret[key] = value.replace(":output:", ":spam:").replace(":z:", ":spam:")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_without_library, "is not in the graph's library"),
        (_without_result, "has no entry in ret for its result"),
        (_with_nonsense, "is neither an argument nor of the form 'node:output:index'"),
        (_with_too_few, "function"),
        (_with_wrong_output, "has no output 'spam:0'"),
    ],
    ids=["library", "result", "nonsense", "few", "output"],
)
def test_functions_that_are_none_are_refused_and_leave_nothing(
    graph: acts.Graph, message: GraphDef, spoil: Any, words: str
) -> None:
    spoil(message)
    with pytest.raises(ValueError, match=words):
        import_graph_def(message)
    assert graph.get_operations() == []


def nested(x: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        inner = ops.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * ops.sin(a)), [0, a])[1]
        return i + 1, ops.cond(a > 0.5, lambda: ops.sin(inner), lambda: inner * x)

    return ops.while_loop(lambda i, a: i < 3, body, [0, x])[1]


def test_gradients_of_loops_are_written_out_with_first_values_for_every_variable(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    grad = ops.identity(ops.gradients(nested(x), x)[0], name="grad")
    with Session() as session:
        wanted = session.run(grad, {x: 0.7})
    written = graph_def_of(graph)
    loops = [node for node in written.node if node.op == "While"]
    assert loops
    for node in loops:
        assert len([name for name in node.input if name[0] != "^"]) == len(node.attr["T"].list.type)
    with Graph().as_default():
        import_graph_def(written, name="")
        with Session() as session:
            assert session.run("grad:0", {"x:0": 0.7}) == wanted


def test_gradients_go_through_loops_that_were_read_in(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = ops.identity(nested(x), name="y")
    with Session() as session:
        wanted = session.run(ops.gradients(y, x)[0], {x: 0.7})
    written = graph_def_of(graph)
    with Graph().as_default():
        found = import_graph_def(written, name="", return_elements=["x:0", "y:0"])
        assert found is not None
        x, y = found
        with Session() as session:
            assert session.run(ops.gradients(y, x)[0], {x: 0.7}) == pytest.approx(wanted)


NAMES = ["out:0", "grad:0", "remote:0"]


def calling_graph() -> acts.Graph:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [2], name="x")
        c = acts.constant(3.0, name="c")
        inner = acts.flow.Defun(acts.float32, func_name="Inner")(lambda v: v * c)
        outer = acts.flow.Defun(acts.float32, func_name="Outer")(lambda v: (inner(v) + 1.0, v))
        total = outer(outer(x)[0])[0]
        acts.identity(total, name="out")
        acts.identity(acts.gradients(total, x)[0], name="grad")
        acts.identity(remote_call("/cpu:0", [x], [acts.float32, acts.float32], outer)[0], name="remote")
    return graph


@pytest.fixture
def calling() -> GraphDef:
    return GraphDef.FromString(graph_def_of(calling_graph(), add_shapes=True).SerializeToString())


def test_calls_compute_the_same_elsewhere(calling: GraphDef) -> None:
    found = run_imported(calling, NAMES, {"x:0": [1.0, 2.0]})
    np.testing.assert_array_equal(found, [[13.0, 22.0], [9.0, 9.0], [4.0, 7.0]])
    names = [function.signature.name for function in calling.library.function]
    assert len(set(names)) == len(names)
    assert {"Inner", "Outer"} <= set(names)
    assert [n.attr["f"].func.name for n in calling.node if n.op == "PartitionedCall"] == ["Outer", "Outer"]
    assert {n.op for n in calling.node if "Call" in n.op} == {
        "PartitionedCall",
        "StatefulPartitionedCall",
        "RemoteCall",
    }
    # A node whose type is a function calls it.
    found = run_imported(by_name(calling), NAMES, {"x:0": [1.0, 2.0]})
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


def _called_with_too_few(message: GraphDef) -> None:
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
        (_called_with_too_few, "function"),
        (_recursive, "functions cannot be recursive"),
    ],
    ids=["library", "few", "recursive"],
)
def test_calls_of_what_is_no_function_are_refused(graph: acts.Graph, calling: GraphDef, spoil: Any, words: str) -> None:
    spoil(calling)
    with pytest.raises(ValueError, match=words):
        import_graph_def(calling)
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


def test_functions_of_one_name_in_two_files_stay_two(graph: acts.Graph) -> None:
    """The second file has another constant in its function, and the first is imported once more."""
    for factor, name in ((2.0, "a"), (3.0, "b"), (2.0, "c")):
        import_graph_def(scaled(factor), name=name)
    written = GraphDef.FromString(graph_def_of(graph, add_shapes=True).SerializeToString())
    assert [function.signature.name for function in written.library.function] == ["Scaled", "Scaled_1"]
    assert [node.attr["f"].func.name for node in written.node if "Call" in node.op] == ["Scaled", "Scaled_1", "Scaled"]
    feeds = {f"{name}/x:0": 5.0 for name in "abc"}
    assert run_imported(written, [f"{name}/y:0" for name in "abc"], feeds) == [10.0, 15.0, 10.0]

"""Loops, branches, gradients and references in TensorFlow's form: out, in, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, import_graph_def, ops
from actorsession.errors import ResourceExhaustedError
from actorsession.graph.op_signatures import tensorflow_signature
from actorsession.interop import GraphDef, export_meta_graph, graph_def_of, import_meta_graph
from actorsession.ops.flow.functional import remote_call
from tests.interop.kit import graph_def, run_imported, stored

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


@pytest.mark.parametrize("within", [False, True], ids=["nodes", "functions"])
def test_calls_with_the_settings_that_tensorflow_2_writes_compute_the_same(calling: GraphDef, within: bool) -> None:
    functions = calling.library.function
    settings = {"config": b"", "config_proto": b"\n\x07\n\x03CPU\x10\x01", "executor_type": b""}
    nodes = [node for function in functions for node in function.node_def] if within else calling.node
    calls = [node for node in nodes if node.op in ("PartitionedCall", "StatefulPartitionedCall")]
    assert calls != []
    for node in calls:
        for name, value in settings.items():
            node.attr[name].s = value
    found = run_imported(calling, NAMES, {"x:0": [1.0, 2.0]})
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


def types_in(message: GraphDef) -> set[str]:
    inside = [node for function in message.library.function for node in function.node_def]
    return {node.op for node in (*message.node, *inside)}


def variable(value: Any, name: str) -> acts.Variable:
    return acts.Variable(value, use_resource=False, name=name)


def then(done: Any, *values: Callable[[], Any]) -> list[Any]:
    """What is read after the ends of a loop or branch."""
    with acts.control_dependencies(list(done) if isinstance(done, (list, tuple)) else [done]):
        return [acts.identity(value()) for value in values]


def repeat(count: int, change: Callable[[Any], Any]) -> Any:
    """A loop that makes a change in each iteration."""

    def body(i: Any) -> Any:
        with acts.control_dependencies([change(i)]):
            return i + 1

    return acts.while_loop(lambda i: i < count, body, [0])


def assigns() -> list[Any]:
    v = variable(1.0, "v")
    return then(repeat(3, lambda i: v.assign(v * 2.0)), v.read_value)


def assigns_a_constant_in_no_iteration() -> list[Any]:
    v = variable(1.0, "v")
    return then(repeat(0, lambda i: v.assign(5.0)), v.read_value)


def adds_constants() -> list[Any]:
    v = variable([1.0, 2.0], "v")

    def body(i: Any, x: Any) -> Any:
        return i + 1, x + acts.reduce_sum(v.assign_add([1.0, 10.0]))

    done = acts.while_loop(lambda i, _: i < 4, body, [0, 0.0])
    return [*then(done, v.read_value), done[1]]


def nests_loops() -> list[Any]:
    v, w = variable(1.0, "v"), variable(0, "w")

    def inner(j: Any, y: Any) -> Any:
        with acts.control_dependencies([v.assign_add(1.0), w.assign_add(j)]):
            return j + 1, y * 1.5

    def body(i: Any, x: Any) -> Any:
        j, y = acts.while_loop(lambda j, _: j < i, inner, [0, x])
        with acts.control_dependencies([j, y]):
            return i + 1, y + v.read_value()

    done = acts.while_loop(lambda i, _: i < 4, body, [0, 1.0])
    return [*then(done, v.read_value, w.read_value), done[1]]


def branches_in_a_loop() -> list[Any]:
    v, w = variable(1.0, "v"), variable(10.0, "w")

    def body(i: Any, x: Any) -> Any:
        y = acts.cond(acts.equal(i % 2, 0), lambda: v.assign_add(1.0) + 0.0, lambda: w.assign_sub(x) * 2.0)
        return i + 1, x + y

    done = acts.while_loop(lambda i, _: i < 5, body, [0, 1.0])
    return [*then(done, v.read_value, w.read_value), done[1]]


def branches_by_what_no_iteration_changes() -> list[Any]:
    v = variable(1.0, "v")
    which = acts.placeholder_with_default(True, [])
    done = repeat(3, lambda i: acts.cond(which, lambda: v.assign_add(1.0) + 0.0, lambda: v.assign(0.0) + 0.0))
    return then(done, v.read_value)


def branches_outside_of_loops() -> list[Any]:
    v = variable(1.0, "v")
    which = acts.placeholder_with_default(True, [])
    one = acts.cond(which, lambda: v.assign_add(4.0) + 0.0, lambda: acts.constant(7.0))
    with acts.control_dependencies([one]):
        other = acts.cond(acts.logical_not(which), lambda: v.assign_add(4.0) + 0.0, lambda: v.read_value() + 0.5)
    return [*then(other, v.read_value), one, other]


def changes_in_the_condition() -> list[Any]:
    v = variable(0.0, "v")
    done = acts.while_loop(lambda i: v.assign_add(1.0) < 4.0, lambda i: i + 1, [0])
    return [*then(done, v.read_value), done]


def scatters_and_gathers() -> list[Any]:
    v = variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "v")

    def body(i: Any, s: Any) -> Any:
        ones = acts.IndexedSlices(acts.constant([[1.0, 1.0]]), acts.stack([i]))
        with acts.control_dependencies([v.scatter_add(ones)]):
            rows = acts.gather(v, [i, 0])
        with acts.control_dependencies([rows]):
            columns = acts.gather(v, [[0], [1], [0]], batch_dims=1)
        with acts.control_dependencies([columns]):
            update = v.scatter_nd_update([[0, 1]], [acts.cast(i, acts.float32)])
        with acts.control_dependencies([update]):
            return i + 1, s + acts.reduce_sum(rows) + 100 * acts.reduce_sum(columns)

    done = acts.while_loop(lambda i, _: i < 3, body, [0, 0.0])
    return [*then(done, v.read_value), done[1]]


def reads_in_a_loop_between_loops_that_change() -> list[Any]:
    v = variable(1.0, "v")
    with acts.control_dependencies([repeat(3, lambda i: v.assign(v * 2.0))]):
        total = acts.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + v.read_value()), [0, 0.0])[1]
    with acts.control_dependencies([total]):
        return [*then(repeat(2, lambda i: v.assign_sub(1.0)), v.read_value), total]


def reads_after_nested_loops() -> list[Any]:
    v = variable(1.0, "v")
    with acts.control_dependencies([repeat(2, lambda i: repeat(3, lambda j: v.assign_add(1.0)))]):
        total = acts.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + v.read_value()), [0, 0.0])[1]
    return [total]


def grows_a_value() -> list[Any]:
    v = variable(1.0, "v")

    def body(i: Any, x: Any) -> Any:
        with acts.control_dependencies([v.assign_add(acts.reduce_sum(x))]):
            return i + 1, acts.concat([x, x[:1]], 0)

    shapes = [acts.TensorShape([]), acts.TensorShape([None])]
    done = acts.while_loop(lambda i, _: i < 3, body, [0, acts.constant([1.0, 2.0])], shape_invariants=shapes)
    return [*then(done, v.read_value), done[1]]


def calls_a_function() -> list[Any]:
    v = variable(1.0, "v")

    @acts.flow.Defun(acts.float32)
    def add(x: Any) -> Any:
        with acts.control_dependencies([v.assign_add(x)]):
            return v.read_value() + x

    with acts.control_dependencies([repeat(3, lambda i: add(2.0))]):
        last = add(3.0)
    return [*then(last, v.read_value), last]


def differentiates_what_does_not_depend_on_it() -> list[Any]:
    v, x = variable(1.0, "v"), acts.placeholder_with_default(0.7, [])

    def body(i: Any, a: Any) -> Any:
        inner = acts.while_loop(lambda j, _: j < i, lambda j, b: (j + 1, b * acts.sin(a)), [0, a])[1]
        with acts.control_dependencies([v.assign_add(1.0)]):
            return i + 1, acts.cond(a > 0.5, lambda: acts.sin(inner), lambda: inner * x)

    end = acts.while_loop(lambda i, _: i < 3, body, [0, x])[1]
    slope = acts.gradients(end, x)[0]
    return [*then(slope, v.read_value), end, slope]


def trains() -> list[Any]:
    w = variable([1.0, 2.0], "w")
    train = acts.train.GradientDescentOptimizer(0.1)
    return then(
        repeat(3, lambda i: train.apply_gradients([(acts.gradients(acts.reduce_sum(w * w), w)[0], w)])), w.read_value
    )


PROGRAMS: dict[Callable[[], list[Any]], list[Any]] = {
    assigns: [8.0],
    assigns_a_constant_in_no_iteration: [1.0],
    adds_constants: [[5.0, 42.0], 122.0],
    nests_loops: [7.0, 4, 58.46875],
    branches_in_a_loop: [4.0, -13.0, -2.0],
    branches_by_what_no_iteration_changes: [4.0],
    branches_outside_of_loops: [5.0, 5.0, 5.5],
    changes_in_the_condition: [4.0, 3],
    scatters_and_gathers: [[[2.0, 2.0], [4.0, 5.0], [6.0, 7.0]], 3637.0],
    reads_in_a_loop_between_loops_that_change: [6.0, 24.0],
    reads_after_nested_loops: [21.0],
    grows_a_value: [13.0, [1.0, 2.0, 1.0, 1.0, 1.0]],
    calls_a_function: [10.0, 13.0],
    differentiates_what_does_not_depend_on_it: [4.0, 0.03585222, 0.26928315],
    trains: [[0.512, 1.024]],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_changes_of_references_are_exported_as_primitives(program: Callable[[], list[Any]], tmp_path: Path) -> None:
    with acts.Graph().as_default() as graph:
        fetches = [tensor.name for tensor in program()]
        start = acts.global_variables_initializer().name
        written = graph_def_of(graph, add_shapes=True)
        export_meta_graph(tmp_path / "graph.meta")
    assert not [op for op in types_in(written) if tensorflow_signature(op) is None]
    messages: list[Callable[[], Any]] = [
        lambda: acts.import_graph_def(GraphDef.FromString(written.SerializeToString()), name=""),
        lambda: import_meta_graph(tmp_path / "graph.meta"),
        lambda: acts.import_graph_def(graph.as_graph_def(), name=""),
    ]
    for build in messages:
        with acts.Graph().as_default() as again:
            build()
            with acts.Session(graph=again) as session:
                for _ in range(2):
                    session.run(start)
                    for found, wanted in zip(session.run(fetches), PROGRAMS[program], strict=True):
                        np.testing.assert_allclose(found, wanted, rtol=1e-6)
            assert not [op for op in types_in(graph_def_of(again)) if tensorflow_signature(op) is None]


def test_an_operation_that_tensorflow_has_for_resources_alone_is_refused() -> None:
    with acts.Graph().as_default() as graph:
        v, m = variable([1.0], "v"), variable([0.0], "m")
        numbers = [acts.constant(value) for value in (0.1, [1.0], 0.9)]
        v.add_update("ResourceApplyKerasMomentum", [m.op.outputs[0], *numbers], "up")
        with pytest.raises(ValueError, match=r"'up' \(ResourceApplyKerasMomentum\) cannot be exported.*use_resource"):
            graph_def_of(graph)


def test_a_reference_that_loops_and_branches_read_is_written_as_its_value() -> None:
    with acts.Graph().as_default() as graph:
        v = acts.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=False, name="v")
        total = acts.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, a + acts.cond(a > 1.0, lambda: acts.reduce_sum(v) * v[0, 1], lambda: v[1, 0] + a)),
            [0, 0.0],
        )[1]
        row = acts.cond(total > 1.0, lambda: acts.gather(v, [1]), lambda: v[:1])
        acts.identity(total, name="total")
        acts.identity(row, name="row")
        acts.identity(acts.gradients([total, row], v)[0], name="slope")
        written = graph_def_of(graph, add_shapes=True)
        with acts.Session(graph=graph) as session:
            session.run(v.initializer)
            wanted = session.run(["total:0", "row:0", "slope:0"])
    assert not [op for op in types_in(written) if tensorflow_signature(op) is None]
    assert not {"ReadVariableOp", "ResourceGather"} & types_in(written)
    with acts.Graph().as_default() as graph:
        acts.import_graph_def(GraphDef.FromString(written.SerializeToString()), name="")
        with acts.Session(graph=graph) as session:
            session.run("v/Assign")
            found = session.run(["total:0", "row:0", "slope:0"])
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


FLOAT = "attr { key: 'T' value { type: DT_FLOAT } }"


DTYPE = "attr { key: 'dtype' value { type: DT_FLOAT } }"


VARIABLE = f"node {{ name: 'v' op: 'VariableV2' {DTYPE} attr {{ key: 'shape' value {{ shape {{ }} }} }} }}"


def const(name: str, value: float) -> str:
    tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {value} }}"
    return f"node {{ name: '{name}' op: 'Const' {DTYPE} attr {{ key: 'value' value {{ {tensor} }} }} }}"


def node(name: str, op: str, *inputs: str, attrs: str = FLOAT) -> str:
    listed = " ".join(f"input: '{i}'" for i in inputs)
    return f"node {{ name: '{name}' op: '{op}' {listed} {attrs} }}"


BASE = VARIABLE + const("one", 1) + const("ten", 10) + node("init", "Assign", "v", "one")


@pytest.fixture
def session() -> Any:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as made:
        yield made


def test_a_reference_variable_is_assigned_and_read(session: acts.Session) -> None:
    import_graph_def(graph_def(BASE + node("read", "Identity", "v")), name="")
    session.run("init")
    assert session.run("read:0") == 1
    types = {op.name: op.type for op in session.graph.get_operations()}
    assert (types["v"], types["init"]) == ("VariableV2", "Assign")


def test_whether_it_has_a_value_can_be_asked(session: acts.Session) -> None:
    import_graph_def(graph_def(BASE + node("has", "IsVariableInitialized", "v", attrs=DTYPE)), name="")
    assert session.run("has:0") == False  # noqa: E712 - a numpy bool
    session.run("init")
    assert session.run("has:0") == True  # noqa: E712


def test_an_update_of_what_an_update_returns_runs_after_it(session: acts.Session) -> None:
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("take", "AssignSub", "add", "one")
    import_graph_def(graph_def(text + node("end", "Identity", "take")), name="")
    session.run("init")
    assert session.run("end:0") == 10


def test_what_an_update_returns_is_the_value_after_it(session: acts.Session) -> None:
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("twice", "Add", "add", "add")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("twice:0") == 22


def test_a_value_is_read_after_what_its_reader_waits_for(session: acts.Session) -> None:
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("after", "Identity", "v", "^add")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("after:0") == 11


def test_an_output_that_is_a_reference_can_be_returned(session: acts.Session) -> None:
    found = import_graph_def(graph_def(BASE), return_elements=["v:0", "init:0", "init"], name="")
    assert found is not None
    value, first, update = found
    assert session.run(first) == 1
    assert session.run(value) == 1
    assert update.name == "init"
    # A reference to no variable is refused.
    text = BASE + node("bad", "AssignAdd", "one", "ten")
    with pytest.raises(ValueError, match="requires that input 0 be a mutable tensor"):
        import_graph_def(graph_def(text))


def test_optimisers_steps_take_the_reference(session: acts.Session) -> None:
    text = BASE + node("step", "ApplyGradientDescent", "v", "one", "ten") + node("r", "Identity", "v", "^step")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("r:0") == -9

"""``Defun``: named functions of a graph, their calls and the gradients of calls."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import actorsession as acts
from actorsession.graph.function import FunctionDef, function_fault
from actorsession.ops.flow.functions import DefinedFunction
from tests.nodes import make_one
from tests.rows import refused, refusing


def run(fetches: Any, feeds: Any = None, init: Any = ()) -> Any:
    with acts.Session(graph=acts.get_default_graph()) as session:
        session.run(list(init)) if init else None
        return session.run(fetches, feeds)


def two() -> DefinedFunction:
    @acts.flow.Defun(acts.float32, acts.float32, func_name="Foo")
    def foo(x: Any, y: Any) -> Any:
        return x * y + 1.0, x - y

    made: DefinedFunction = foo
    return made


# -- calls ---------------------------------------------------------------------------------------


def test_a_call_is_a_node_named_after_the_function_and_gives_its_results() -> None:
    a = acts.placeholder(acts.float32, [2])
    first, second = two()(a, 3.0)
    assert (first.name, second.name, first.op.type) == ("Foo:0", "Foo:1", "PartitionedCall")
    assert first.shape.as_list() == [2]
    found = run([first, second], {a: [1.0, 2.0]})
    np.testing.assert_array_equal(found, [[4.0, 7.0], [-2.0, -1.0]])


def test_the_python_function_is_called_once_however_often_it_is_used(graph: acts.Graph) -> None:
    calls = []

    @acts.flow.Defun(acts.float32)
    def double(x: Any) -> Any:
        calls.append(x)
        return x + x

    results = [double(1.0), double([1.0, 2.0]), double(double(3.0), name="outer")]
    assert (len(calls), [r.op.name for r in results]) == (1, ["double", "double_1", "outer"])
    assert ([r.shape.rank for r in results], run(results)[2], graph.library.names()) == ([0, 1, 0], 12.0, ("double",))


def test_each_graph_has_a_definition_of_its_own() -> None:
    double = acts.flow.Defun(acts.float32)(lambda x: x + x)
    double(1.0)
    with acts.Graph().as_default() as other:
        result = double(2.0)
        assert result.graph is other
        assert run(result) == 4.0


def test_without_dtypes_a_function_is_defined_for_those_of_each_call(graph: acts.Graph) -> None:
    double = acts.flow.Defun()(lambda x: x + x)
    assert (run([double(1.5), double(np.int64(2))]), graph.library.names()) == ([3.0, 4], ("lambda", "lambda_1"))
    named = acts.flow.Defun(func_name="Twice")(lambda x: x + x)
    assert [named(1.5).op.name, named(np.int64(2)).op.name] == ["Twice_float32", "Twice_int64"]


def test_what_is_used_from_outside_is_captured_and_can_be_fed() -> None:
    c = acts.placeholder(acts.float32, [], name="c")
    scaled = acts.flow.Defun(acts.float32)(lambda x: x * c)
    result = scaled(2.0)
    assert (scaled.captured_inputs, [t.name for t in result.op.inputs][1:]) == ([c], ["c:0"])
    assert run(result, {c: 5.0}) == 10.0


def test_a_function_defined_inside_a_branch_captures_what_is_there() -> None:
    a = acts.placeholder(acts.float32, [])

    def inside() -> Any:
        doubled = a * 2.0
        return acts.flow.Defun(acts.float32)(lambda x: x + doubled)(1.0)

    result = acts.cond(a > 0.0, inside, lambda: a)
    assert (run(result, {a: 3.0}), run(result, {a: -3.0})) == (7.0, -3.0)


def test_calls_stand_inside_loops_and_other_functions() -> None:
    inner = acts.flow.Defun(acts.float32)(lambda x: x * 2.0)
    outer = acts.flow.Defun(acts.float32)(lambda x: inner(x) + inner(inner(x)))
    _, total = acts.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, outer(x)), [0, 1.0])
    assert run(total) == 216.0


def test_only_what_a_fetch_needs_is_computed_of_a_call() -> None:
    def fail(x: Any) -> Any:
        raise AssertionError("nobody asked for it")

    @acts.flow.Defun(acts.float32)
    def both(x: Any) -> Any:
        return x + 1.0, acts.py_func(fail, [x], acts.float32, stateful=False)

    assert run(both(1.0)[0]) == 2.0


# -- state ---------------------------------------------------------------------------------------


def test_changes_of_state_run_whatever_is_asked_of_the_results() -> None:
    v = acts.Variable(1.0)

    @acts.flow.Defun(acts.float32)
    def add_to(x: Any) -> Any:
        v.assign_add(x)
        return x * 2.0

    result = add_to(3.0)
    assert result.op.type == "StatefulPartitionedCall"
    with acts.Session() as session:
        session.run(v.initializer)
        assert (session.run(result), session.run(v)) == (6.0, 4.0)


def test_a_call_waits_for_what_its_body_waits_for_outside() -> None:
    v = acts.Variable(1.0)
    change = v.assign(5.0)

    @acts.flow.Defun(acts.float32)
    def plus(x: Any) -> Any:
        with acts.control_dependencies([change]):
            return x + v.read_value()

    assert run(plus(1.0), init=[v.initializer]) == 6.0


def test_a_call_goes_where_its_body_is_tied_to() -> None:
    """To a reading that asks for no device itself, and is where its variable is."""
    with acts.device("/cpu:1"):
        v = acts.Variable(2.0)
    reading = make_one("ReadVariableOp", [v.handle], {"dtype": v.dtype})

    @acts.flow.Defun(acts.float32)
    def double(x: Any) -> Any:
        with acts.colocate_with(reading):
            return x * 2.0

    result = double(acts.placeholder_with_default(4.0, []))
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(result) == 8.0
        assert session.placement()["double"].device.endswith("CPU:1")


def test_a_function_without_results_gives_the_operation() -> None:
    v = acts.Variable(1.0)

    @acts.flow.Defun(acts.float32)
    def set_to(x: Any) -> None:
        v.assign(x)

    done = set_to(5.0)
    assert isinstance(done, acts.Operation)
    with acts.Session() as session:
        session.run(v.initializer)
        session.run(done)
        assert session.run(v) == 5.0


def test_what_was_computed_of_state_is_not_remembered_between_calls() -> None:
    v = acts.Variable(1.0)
    read = acts.flow.Defun(acts.float32)(lambda x: v + x)
    first = read(0.0)
    with acts.control_dependencies([first]), acts.control_dependencies([v.assign(10.0)]):
        second = read(0.0)
    assert run([first, second], init=[v.initializer])[1] == 10.0


def test_a_placeholder_inside_is_refused_when_the_call_runs() -> None:
    inside = acts.flow.Defun(acts.float32)(lambda x: x + acts.placeholder(acts.float32, [], name="hole"))
    refused(lambda: run(inside(1.0)), acts.errors.InvalidArgumentError, r"feed a value .*hole")


# -- gradients -----------------------------------------------------------------------------------


def test_the_gradient_of_a_call_is_that_of_the_body() -> None:
    a, c = acts.constant(2.0), acts.constant(3.0)
    v = acts.Variable(4.0)
    f = acts.flow.Defun(acts.float32, acts.float32)(lambda x, y: (x * y * c * v, x + y))
    found = acts.gradients(f(a, a)[0], [a, c, v])
    assert found[0].op.type == "AddN"  # passed twice: a part from each
    np.testing.assert_allclose(run(found, init=[v.initializer]), [48.0, 16.0, 12.0])


def test_gradients_of_gradients_go_through_calls() -> None:
    x = acts.constant(2.0)
    cube = acts.flow.Defun(acts.float32)(lambda x: x * x * x)
    (first,) = acts.gradients(cube(x), x)
    (second,) = acts.gradients(first, x)
    (third,) = acts.gradients(second, x)
    assert first.op.type == "SymbolicGradient"
    np.testing.assert_allclose(run([first, second, third]), [12.0, 12.0, 6.0])


def test_gradients_go_through_loops_and_branches_inside() -> None:
    w, a = acts.constant(2.0), acts.constant(3.0)

    @acts.flow.Defun(acts.float32)
    def cubed(x: Any) -> Any:  # (x * w) ** 3, and its gradient
        x.set_shape([])
        turn = lambda i, y: (i + 1, y * x * w)  # noqa: E731
        y = acts.while_loop(lambda i, _: i < 3, turn, [0, 1.0])[1]
        return y, acts.gradients(y, x)[0]

    value, grad = cubed(a)
    found = run([value, grad, *acts.gradients(value, [a, w]), *acts.gradients(grad, [a, w])])
    np.testing.assert_allclose(found, [216.0, 216.0, 216.0, 324.0, 144.0, 324.0])


def test_gradients_go_through_calls_inside_loops_and_branches() -> None:
    w, a = acts.constant(2.0), acts.constant(3.0)

    @acts.flow.Defun(acts.float32, shape_func=lambda op: [[]])
    def squared(v: Any) -> Any:
        return acts.cond(v > 0.0, lambda: v * v * w, lambda: v)

    total = acts.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, squared(x)), [0, a])[1]
    chosen = acts.cond(w > 0.0, lambda: squared(a) + squared(squared(a)), lambda: a)
    np.testing.assert_allclose(run(acts.gradients(total, [a, w])), [864.0, 972.0])
    np.testing.assert_allclose(run(acts.gradients(chosen, [a, w])), [876.0, 981.0])


def test_what_no_result_depends_on_has_no_gradient() -> None:
    a, b = acts.constant(2.0), acts.constant(3.0)
    first = acts.flow.Defun(acts.float32, acts.float32)(lambda x, y: x * 2.0)
    assert acts.gradients(first(a, b), [a, b])[1] is None
    assert acts.gradients(acts.flow.Defun(acts.float32)(lambda x: acts.stop_gradient(x))(a), a) == [None]


def test_a_python_gradient_and_a_gradient_function_are_used_in_place_of_the_bodys() -> None:
    a = acts.constant(2.0)
    seven = acts.flow.Defun(acts.float32, python_grad_func=lambda op, dy: dy * 7.0)(lambda x: x * x)
    by_function = acts.flow.Defun(acts.float32, acts.float32)(lambda x, dy: x * dy * 100.0)
    hundred = acts.flow.Defun(acts.float32, grad_func=by_function)(lambda x: x * x)
    found = acts.gradients([seven(a)], a) + acts.gradients([hundred(a)], a)
    assert (run(found), hundred.grad_func_name) == ([7.0, 200.0], by_function.name)
    refused(lambda: hundred.set_grad_func(seven), ValueError, "has a gradient function already")


def test_an_operation_without_gradient_in_the_body_is_named() -> None:
    a = acts.constant(2.0)
    f = acts.flow.Defun(acts.float32)(lambda x: acts.math.truncatemod(x, 2.0))
    refused(lambda: acts.gradients(f(a), a), LookupError, "no gradient is defined")


# -- refusals ------------------------------------------------------------------------------------


def test_functions_that_call_themselves_or_each_other_are_refused() -> None:
    @acts.flow.Defun(acts.float32)
    def first(x: Any) -> Any:
        return second(x)

    @acts.flow.Defun(acts.float32)
    def second(x: Any) -> Any:
        return first(x)

    refused(lambda: first(3.0), RecursionError, "'first' calls itself")

    @acts.flow.Defun(acts.float32)
    def once_more(x: Any) -> Any:
        return once_more(x - 1.0)

    refused(lambda: once_more(3.0), RecursionError, "'once_more' calls itself")


def test_a_failing_function_leaves_nothing_in_the_graph(graph: acts.Graph) -> None:
    @acts.flow.Defun(acts.float32)
    def fail(x: Any) -> Any:
        acts.identity(x, name="inside")
        raise OSError("no")

    refused(lambda: fail(acts.constant(1.0)), OSError, "no")
    assert graph.library.names() == ()
    refused(lambda: graph.get_operation_by_name("fail/inside"), KeyError)


def test_tensors_of_a_body_cannot_be_used_outside() -> None:
    leaked = []
    f = acts.flow.Defun(acts.float32)(lambda x: leaked.append(x * 2.0) or x)  # type: ignore[func-returns-value]
    f(1.0)
    refused(lambda: acts.identity(leaked[0]), acts.errors.InaccessibleTensorError, "inside 'lambda'")


def test_shapes_that_the_program_says_are_believed() -> None:
    f = acts.flow.Defun(acts.float32, shape_func=lambda op: [[3]])(lambda x: x)
    assert f(acts.placeholder(acts.float32)).shape.as_list() == [3]


test_wrong_arguments_and_functions_of_other_forms_are_refused = refusing(
    (lambda: two()(1.0), ValueError, "expected 2 arguments, got 1"),
    (lambda: two()(1.0, acts.constant(1)), ValueError, "argument 1 of 'Foo' is of float32"),
    (lambda: two()([1.0, 2.0], [1.0] * 3), ValueError, "'Foo' cannot take arguments of these shapes"),
    (lambda: two()(1.0, 2.0, spam=3), ValueError, "unknown keyword arguments"),
    (lambda: acts.flow.Defun(acts.float32)(cast("Any", 3)), ValueError, "must be callable"),
    (lambda: acts.flow.Defun(acts.float32)(lambda x=1: x), ValueError, "defaults or keyword"),
    (
        lambda: acts.flow.Defun(acts.float32, acts.float32)(lambda x: x),
        ValueError,
        "takes 1 arguments; 2 dtypes are given",
    ),
    (
        lambda: acts.flow.Defun(acts.float32)(lambda x: [x, None])(1.0),
        ValueError,
        "cannot return None among its results",
    ),
)


# -- elsewhere -----------------------------------------------------------------------------------


def test_a_call_survives_the_wire(graph: acts.Graph) -> None:
    two()(1.0, 2.0)
    node = graph.get_operation_by_name("Foo").plain
    assert isinstance(node.attrs["f"], FunctionDef)
    assert type(node).from_wire(node.to_wire()).attrs["f"].outputs == node.attrs["f"].outputs


def test_a_call_whose_function_does_not_fit_it_is_refused_by_planners() -> None:
    from dataclasses import replace

    two()(1.0, 2.0)
    node = acts.get_default_graph().get_operation_by_name("Foo").plain
    assert function_fault(node) is None
    assert "passes 1 arguments to a function that takes 2" in str(function_fault(replace(node, inputs=node.inputs[:1])))
    assert "outputs whose dtypes differ" in str(function_fault(replace(node, outputs=node.outputs[:1])))
    assert "no function" in str(function_fault(replace(node, attrs={})))


def test_an_error_inside_a_call_names_the_node_of_the_body() -> None:
    f = acts.flow.Defun(acts.float32)(
        lambda x: acts.debugging.Print(acts.debugging.check_numerics(x, "bad", name="look"), [])
    )
    a = acts.placeholder(acts.float32, [])
    refused(lambda: run(f(a), {a: np.nan}), acts.errors.InvalidArgumentError, "lambda/look")

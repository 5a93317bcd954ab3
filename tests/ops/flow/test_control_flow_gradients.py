"""Gradients through ``cond`` and ``while_loop``, against finite differences and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.extend import OpDef
from actorsession.extend import register_op as register
from tests.nodes import make_one
from tests.ops.cases import run_initialised as run
from tests.plan.kit import Made
from tests.rows import for_each, refused

STEP = 1e-5
Build = Callable[..., Any]


def check(build: Build, *values: Any, rtol: float = 1e-5) -> list[Any]:
    """Compares the gradients of what ``build`` makes of placeholders with finite differences."""
    arrays = [np.asarray(v, np.float64) for v in values]
    xs = [ops.placeholder("float64", a.shape) for a in arrays]
    y = ops.reduce_sum(build(*xs))
    grads = [ops.convert_to_tensor(g) for g in ops.gradients(y, xs, unconnected_gradients="zero")]
    with acts.Session() as session:
        session.run(ops.global_variables_initializer())
        fed = dict(zip(xs, arrays, strict=True))
        found = session.run(grads, fed)
        for x, array, grad in zip(xs, arrays, found, strict=True):
            for index in np.ndindex(array.shape):
                step = np.zeros_like(array)
                step[index] = STEP
                up, down = (session.run(y, {**fed, x: array + d}) for d in (step, -step))
                np.testing.assert_allclose(grad[index], (up - down) / (2 * STEP), rtol, 1e-7)
    return list(found)


def loop(body: Build, first: Any, times: Any = 3, **options: Any) -> Any:
    """A loop over a counter and one value."""
    return ops.while_loop(lambda i, a: i < times, lambda i, a: (i + 1, body(i, a)), [0, first], **options)[1]


VECTOR = np.array([0.5, -1.25, 2.0])
MATRIX = np.array([[0.3, -0.1, 0.2], [0.0, 0.5, 0.1], [0.2, 0.1, -0.4]])


# -- cond ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [2.0, 0.5])
def test_the_gradient_of_a_cond_is_that_of_the_branch_taken(x: float) -> None:
    check(lambda x, y: ops.cond(x > 1.0, lambda: ops.sin(x) * y, lambda: ops.exp(x) + x), x, 3.0)


def test_a_branch_that_does_not_use_a_tensor_gives_zeros_of_its_shape() -> None:
    first, second = check(lambda x, y: ops.cond(ops.reduce_sum(y) > 0.0, lambda: x * 2.0, lambda: y), VECTOR, VECTOR)
    assert (first.tolist(), second.tolist()) == ([2.0] * 3, [0.0] * 3)


def test_a_tensor_that_no_branch_uses_has_no_gradient() -> None:
    x = ops.constant(2.0)
    found = ops.cond(x > 1.0, lambda: ops.constant(1.0), lambda: ops.stop_gradient(x))
    assert ops.gradients(found, x) == [None]


def test_only_the_branch_taken_runs_on_the_way_back() -> None:
    """The other branch, and its gradient, would fail."""
    x = ops.placeholder("float64", [None])
    found = ops.cond(ops.size(x) > 0, lambda: ops.gather(x, 0) * x[0], lambda: ops.constant(0.0, "float64"))
    grad = ops.convert_to_tensor(ops.gradients(found, x)[0])
    assert (run(grad, {x: [3.0, 1.0]}).tolist(), run(grad, {x: []}).tolist()) == ([6.0, 0.0], [])


def test_conds_in_conds_pass_gradients() -> None:
    def build(x: Any, y: Any) -> Any:
        def inner() -> Any:
            return ops.cond(y > 1.0, lambda: ops.sin(x * y), lambda: x * y * y)

        return ops.cond(x > 0.0, lambda: inner() * x, lambda: ops.exp(y))

    for x, y in ((0.5, 2.0), (0.5, 0.5), (-0.5, 2.0)):
        check(build, x, y)


def test_several_results_and_lookups_in_a_branch_pass_gradients() -> None:
    def build(x: Any, y: Any) -> Any:
        a, b = ops.cond(y[0] > 0.0, lambda: (ops.gather(x, [0, 2, 0]), y * 2.0), lambda: (y * x, ops.sin(y)))
        return ops.reduce_sum(a * b)

    check(build, VECTOR, VECTOR)
    check(build, VECTOR, -VECTOR)


def test_lookups_alone_give_slices() -> None:
    v = ops.Variable(np.arange(6.0).reshape(3, 2))
    on = ops.placeholder("bool", [])
    found = ops.cond(on, lambda: ops.gather(v, [2, 0]) * 2.0, lambda: ops.zeros([2, 2], "float64"))
    (grad,) = ops.gradients(found, v)
    assert isinstance(grad, ops.IndexedSlices)
    taken, other = run(grad, {on: True}), run(grad, {on: False})
    assert (taken.indices.tolist(), taken.values.tolist(), other.values.shape) == ([2, 0], [[2, 2], [2, 2]], (0, 2))
    assert run(ops.convert_to_tensor(grad), {on: False}).tolist() == [[0, 0]] * 3


# -- while_loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [0, 1, 4])
def test_the_gradient_of_a_loop_goes_back_through_each_iteration(times: int) -> None:
    check(lambda x, y: loop(lambda i, a: ops.sin(a) * y + x * a, x, times), 0.5, 3.0)


def test_a_loop_that_makes_no_iteration_passes_gradients_and_gives_zeros_for_what_it_captures() -> None:
    first, captured = check(lambda x, y: loop(lambda i, a: a * y, x, 0), VECTOR, VECTOR)
    assert (first.tolist(), captured.tolist()) == ([1.0] * 3, [0.0] * 3)


def test_a_recurrent_network_learns_its_weights() -> None:
    def build(h: Any, w: Any, x: Any) -> Any:
        return loop(lambda i, a: ops.tanh(ops.matmul(a, w) + x[i]), h)

    check(build, np.ones([2, 3]) * 0.1, MATRIX, np.linspace(-1, 1, 18).reshape(3, 2, 3))


def test_loops_in_loops_and_conds_pass_gradients() -> None:
    def body(x: Any, y: Any, i: Any, a: Any) -> Any:
        inner = ops.while_loop(
            lambda j, b: j < i,
            lambda j, b: (j + 1, ops.cond(ops.equal(j, 1), lambda: ops.sin(b) * y, lambda: b * x + a)),
            [0, a],
        )
        return inner[1] * a

    def build(x: Any, y: Any) -> Any:
        return ops.cond(y > 0.0, lambda: loop(lambda i, a: body(x, y, i, a), x, 4), lambda: ops.square(x))

    check(build, 0.7, 1.1)
    check(build, 0.7, -1.1)


def test_several_variables_pass_gradients_to_each_other() -> None:
    def build(x: Any, y: Any) -> Any:
        found = ops.while_loop(
            lambda i, a, b, c: i < 3, lambda i, a, b, c: (i + 1, b * x, ops.sin(a), c + a * b), [0, x, y, y]
        )
        return found[1] + found[3]

    check(build, 0.4, 1.3)


def test_variables_that_are_swapped_or_never_change_pass_gradients() -> None:
    def build(x: Any, y: Any) -> Any:
        found = ops.while_loop(lambda i, a, b, c: i < 3, lambda i, a, b, c: (i + 1, b * c, a, c), [0, x, y, x])
        return found[1] * found[2] + found[3]

    check(build, 0.4, 1.3)


def test_maximum_iterations_ends_the_way_back_as_well() -> None:
    most = ops.placeholder_with_default(np.int32(2), [])
    (found,) = check(lambda x: loop(lambda i, a: a * x, x, 9, maximum_iterations=most), 1.5)
    assert found == pytest.approx(3 * 1.5**2)


def test_no_gradients_go_back_through_a_loop_that_asks_for_none() -> None:
    x = ops.constant(2.0)
    lists = ops.TensorArray("float32", size=3)
    _, last, written = ops.while_loop(
        lambda i, *_: i < 3, lambda i, a, t: (i + 1, a * x, t.write(i, a)), (0, x, lists), back_prop=False
    )
    assert ops.gradients([last, written.stack()], x) == [None]
    assert (run([last, written.stack()])[1].tolist(), last.name) == ([2.0, 4.0, 8.0], "while/Exit_1:0")


def test_a_loop_over_a_shape_that_grows_passes_gradients() -> None:
    def build(x: Any) -> Any:
        return ops.while_loop(
            lambda a: ops.size(a) < 10,
            lambda a: ops.concat([a * 1.5, ops.sin(a)], 0),
            [x],
            shape_invariants=[acts.TensorShape([None])],
        )

    check(build, VECTOR)


def test_lookups_in_a_loop_give_the_slices_of_all_iterations() -> None:
    v = ops.Variable(np.arange(8.0).reshape(4, 2))
    found = loop(lambda i, a: a + ops.reduce_sum(ops.gather(v, [i, 0])), np.float64(0))
    (grad,) = ops.gradients(found, v)
    assert isinstance(grad, ops.IndexedSlices)
    assert sorted(run(grad).indices.tolist()) == [0, 0, 0, 0, 1, 2]
    assert run(ops.convert_to_tensor(grad)).tolist() == [[4, 4], [1, 1], [1, 1], [0, 0]]


def test_a_variable_that_a_loop_reads_gets_the_sum_over_iterations() -> None:
    v = ops.Variable(3.0)
    (grad,) = ops.gradients(loop(lambda i, a: a * v, np.float32(2)), v)
    assert run(grad) == 2 * 3 * 3.0**2


def test_counters_and_stopped_values_have_no_gradient() -> None:
    n, x = ops.constant(3), ops.constant(2.0)
    found = loop(lambda i, a: ops.stop_gradient(a) * 2.0, x, n)
    assert (ops.gradients(found, [n]), run(ops.gradients(found, x, unconnected_gradients="zero"))) == ([None], [0.0])


def test_a_body_with_state_runs_once_however_many_gradients_are_taken() -> None:
    """What it gave is kept: random numbers, the user's code and counts are not asked for again."""
    calls: list[float] = []
    count = ops.Variable(0)

    def noted(a: Any) -> Any:
        calls.append(float(a))
        return np.float64(len(calls))

    def body(i: Any, a: Any) -> Any:
        with acts.control_dependencies([count.assign_add(1)]):
            drawn = ops.random_uniform([], dtype="float64")
        asked = ops.stop_gradient(ops.py_func(noted, [a], "float64"))
        asked.set_shape([])
        return a * drawn * asked

    x = ops.constant(1.0, "float64")
    y = loop(body, x)
    first, second = ops.gradients(y, x)[0], ops.gradients(y * 2.0, x)[0]
    with acts.Session() as session:
        session.run(count.initializer)
        value, one, two = session.run([y, first, second])
        assert session.run(count) == 3
    assert len(calls) == 3
    assert one == pytest.approx(value)
    assert two == pytest.approx(2 * value)


def test_second_derivatives_go_through_loops_and_conds() -> None:
    def build(x: Any, y: Any) -> Any:
        inner = ops.cond(x > 0.0, lambda: ops.sin(x) * y * x, lambda: ops.exp(x))
        found = loop(lambda i, a: ops.sin(a) * y + inner, x)
        return ops.gradients(found, x)[0]

    check(build, 0.4, 0.8)
    check(build, -0.4, 0.8)


def test_gradients_go_back_through_ten_thousand_iterations() -> None:
    x = ops.placeholder("float64", [])
    n = ops.placeholder("int32", [])
    (grad,) = ops.gradients(loop(lambda i, a: a * 1.001, x, n), x)
    assert run(grad, {x: 1.0, n: 10_000}) == pytest.approx(1.001**10_000)


# -- what was built before -------------------------------------------------------------------------


def test_a_session_that_ran_a_loop_takes_gradients_that_were_built_later() -> None:
    x = ops.placeholder("float64", [])
    y = ops.cond(x > 0.0, lambda: loop(lambda i, a: a * ops.sin(a), x), lambda: x)
    with acts.Session() as session:
        before = session.run(y, {x: 0.7})
        names = [t.name for t in y.op.inputs]
        (grad,) = ops.gradients(y, x)
        assert session.run(y, {x: 0.7}) == before
        value, slope = session.run([y, grad], {x: 0.7})
        assert value == before
        ahead = session.run(y, {x: 0.7 + STEP})
        assert slope == pytest.approx((ahead - before) / STEP, rel=1e-3)
        (again,) = ops.gradients(y, x)
        assert session.run(again, {x: 0.7}) == slope
    assert names == [t.name for t in y.op.inputs]


def test_what_is_the_same_in_each_iteration_is_not_kept(graph: acts.Graph) -> None:
    """Both factors that change are, and neither what was captured nor what is handed on unchanged."""
    x, same = ops.placeholder("float64", []), ops.placeholder("float64", [])
    *_, last = ops.while_loop(lambda i, s, a: i < 5, lambda i, s, a: (i + 1, s, a * x * s), [0, same, x])
    found = ops.gradients(last, [x, same])
    loop = graph.get_operation_by_name("while")
    kept = [t for t in loop.outputs if t.dtype.name == "variant"]
    assert len(kept) == 2  # of a, and of a * x
    assert run(found, {x: 1.0, same: 2.0}) == [6 * 32.0, 5 * 16.0]


def test_a_loop_pays_nothing_for_gradients_that_are_not_fetched(graph: acts.Graph) -> None:
    """The lists are made only where something reads them."""
    x = ops.placeholder("float64", [], name="x")
    y = loop(lambda i, a: ops.sin(a), x)
    before = Made(graph, [y], [x]).source()
    (grad,) = ops.gradients(y, x)
    after, back = (Made(graph, [t], [x]).source() for t in (y, grad))
    assert len(after) == len(before)
    assert "NO_ITEMS" not in " ".join(after)
    assert "NO_ITEMS" in " ".join(back)


def test_a_graph_with_gradients_travels_as_plain_data(graph: acts.Graph) -> None:
    y = ops.cond(ops.constant(1) < 2, lambda: loop(lambda i, a: ops.sin(a), 0.5), lambda: 0.5)
    ops.gradients(y, [y.op.inputs[0]])
    x = ops.constant(0.5)
    ops.gradients(loop(lambda i, a: ops.sin(a) * a, x), x)
    data = graph.as_graph_def().to_bytes()
    assert acts.GraphDef.from_bytes(data).to_bytes() == data


def test_gradients_of_a_graph_that_came_as_data_go_through_its_loops(graph: acts.Graph) -> None:
    """Only the functions are at hand then, and are built again."""
    x = ops.placeholder("float64", [])
    y = loop(lambda i, a: ops.cond(a > 0.5, lambda: ops.sin(a), lambda: a * x), x)
    wanted = run(ops.gradients(y, x)[0], {x: 0.7})
    graph.constructs.clear()
    assert run(ops.gradients(y, x)[0], {x: 0.7}) == wanted


def test_an_op_without_gradient_in_a_body_is_named() -> None:
    x = ops.constant(0.5)
    y = loop(lambda i, a: make_one("TestOpaque", [a]), x)
    refused(lambda: ops.gradients(y, x), LookupError, "no gradient is defined for operation 'while/")


register(OpDef(name="TestOpaque", infer=lambda ctx: [ctx.inputs[0]], kernel=lambda ctx: lambda a: a, aliases=True))


@for_each("colocate", [False, True])
@for_each("gate", [False, True])
def test_options_change_no_value(colocate: bool, gate: bool) -> None:
    x = ops.placeholder("float64", [])
    with acts.device("/cpu:1"):
        y = loop(lambda i, a: ops.cond(a > 0.5, lambda: ops.sin(a), lambda: a * x), x)
    (grad,) = ops.gradients(
        y,
        x,
        colocate_gradients_with_ops=colocate,
        gate_gradients=gate,
        grad_ys=[2.0],
        aggregation_method=ops.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    )
    (plain,) = ops.gradients(y, x)
    one, other = run([grad, plain], {x: 0.7}, devices=3)
    assert one == pytest.approx(2 * other)


def test_gradients_taken_inside_a_body_have_gradients_themselves() -> None:
    """The inner ones add to a branch while the loop around it is still being built."""

    def body(x: Any, i: Any, a: Any) -> Any:
        branch = ops.cond(a > 0.0, lambda: ops.sin(a) * x, lambda: ops.exp(a))
        inner = loop(lambda j, b: b * ops.sin(a), x, 2)
        return a + 0.1 * ops.gradients(branch + inner, a)[0]

    check(lambda x, y: loop(lambda i, a: body(x, i, a), y), 0.4, 0.8)


def test_gradients_of_functions_go_through_loops_in_them() -> None:
    @ops.Defun("float64", "float64")
    def powered(x: Any, y: Any) -> Any:
        return loop(lambda i, a: ops.cond(a > 0.5, lambda: a * x, lambda: ops.sin(a)), y)

    check(lambda x, y: powered(x, y) * x, 0.9, 0.8)

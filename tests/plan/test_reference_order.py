"""Reads and writes of variables that nothing orders have one order, as TensorFlow comes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ops
from actorsession.extend import StepGraph
from actorsession.ops import raw
from actorsession.plan import execution_state
from actorsession.plan.reference_order import order_references
from tests.cluster.kit import PS0, W0, in_process, soon
from tests.plan.reference_programs import RECORDED, Program, Rows, X, same


@pytest.fixture
def session() -> Iterator[acts.Session]:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as made:
        yield made


@pytest.fixture
def x(session: acts.Session) -> acts.Tensor:
    return acts.placeholder("float32", [2], name="x")


def variable(value: float, name: str = "w") -> Any:
    return ops.Variable([value, value], name=name, use_resource=False)


def run(session: acts.Session, fetches: list[Any], *variables: Any) -> list[Any]:
    """The first elements of what a run fetches, in either order, and of its variables afterwards."""
    found = []
    for step in (1, -1):
        session.run(ops.global_variables_initializer())
        results = session.run(fetches[::step], {"x:0": X})[::step]
        values = [*results, *session.run(list(variables))]
        found.append([None if v is None else round(float(np.ravel(v)[0]), 4) for v in values])
    assert found[0] == found[1]
    return found[0]


def wasserstein(w: Any, x: acts.Tensor) -> acts.Tensor:
    return ops.reduce_mean(ops.square(ops.tanh(w * x) - 1.0))


@pytest.mark.parametrize(
    ("values", "statements", "wanted", "ends"), RECORDED, ids=[" ; ".join(row[1]) for row in RECORDED]
)
def test_programs_give_what_tensorflow_does(values: Rows, statements: list[str], wanted: list[Any], ends: Rows) -> None:
    program = Program(values, statements)
    with acts.Session(graph=program.graph) as session:
        for step in (1, -1):
            session.run(program.start)
            assert same(session.run(program.fetches[::step], {program.x: X})[::step], wanted)
            assert same(session.run(program.ends), ends)


@pytest.mark.parametrize(("value", "wanted"), [(0.5, 0.5412), (1.5, 0.9059)])
def test_a_training_step_and_a_clip_do_both(session: acts.Session, x: acts.Tensor, value: float, wanted: float) -> None:
    w = variable(value)
    step = acts.train.GradientDescentOptimizer(0.1).minimize(wasserstein(w, x))
    assert run(session, [step, w.assign(ops.clip_by_value(w, -0.9, 0.9)).op], w) == [None, None, wanted]


def test_the_shallow_writer_comes_before_the_deep(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    assert run(session, [w.assign(w * 0.5).op, w.assign_add([1.0, 1.0]).op], w) == [None, None, 1.25]


def test_an_assignment_reads_its_own_variable_when_it_writes(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    assert run(session, [w.assign(w * 0.5).op, w.assign(w * 3.0).op], w) == [None, None, 2.25]


def test_the_part_of_a_variable_that_is_assigned_is_read_when_written(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    assert run(session, [w.assign(w * 0.5).op, w[0].assign(w[0] * 3.0).op], w) == [None, None, 2.25]


def test_what_others_need_as_well_is_read_once(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    t = ops.tanh(w)
    assert run(session, [w.assign(t * 2.0).op, w.assign_add(t).op], w) == [None, None, 1.8103]


def test_variables_that_exchange_their_values_read_what_was_there(session: acts.Session, x: acts.Tensor) -> None:
    a, b = variable(1.0, "a"), variable(2.0, "b")
    assert run(session, [a.assign(b * 1.5).op, b.assign(a * 1.5).op], a, b) == [None, None, 3.0, 1.5]


def test_variables_that_are_assigned_to_each_other_are_equal(session: acts.Session, x: acts.Tensor) -> None:
    a, b = variable(1.0, "a"), variable(2.0, "b")
    assert run(session, [a.assign(b).op, b.assign(a).op], a, b) == [None, None, 2.0, 2.0]


def test_an_average_takes_what_was_there_before_a_deeper_step(session: acts.Session, x: acts.Tensor) -> None:
    w, m = variable(0.5), variable(0.0, "m")
    step = acts.train.GradientDescentOptimizer(0.1).minimize(wasserstein(w, x), var_list=[w])
    assert run(session, [step, m.assign(m * 0.9 + w * 0.1).op], w, m) == [None, None, 0.5412, 0.05]


def test_a_decay_and_a_step_do_both(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    step = acts.train.MomentumOptimizer(0.1, 0.9).minimize(wasserstein(w, x))
    assert run(session, [step, w.assign(w * 0.99).op], w) == [None, None, 1.4909]


def test_what_is_computed_beside_an_update_goes_by_its_depth(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(0.5)
    add = w.assign_add(ops.sin(ops.sin(x)))
    deep = w * ops.tanh(ops.tanh(ops.tanh(ops.tanh(x))))
    assert run(session, [w * 2.0, deep, add.op], w) == [1.0, 0.5026, None, 1.1006]


def test_what_shares_memory_with_a_variable_is_read_last_when_fetched(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    views = [
        w.value(),
        ops.identity(w),
        ops.reshape(w, [-1]),
        ops.expand_dims(w, 0),
        ops.stop_gradient(w),
        ops.identity(ops.reshape(w, [1, 2])),
        w.read_value(),
    ]
    add = w.assign_add(ops.sin(x))
    assert run(session, [*views, add, add.op], w) == [*[2.1442] * 8, None, 2.1442]


def test_a_copy_is_no_snapshot_also_after_control_inputs(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    with session.graph.control_dependencies([w.assign_add(x)]):
        copy, snapshot = ops.identity(w), w + 0.0
    with session.graph.control_dependencies([copy, snapshot]):
        update = w.assign_add([1.0, 1.0])
    with session.graph.control_dependencies([update]):
        later, kept = copy * 1.0, snapshot * 1.0
    assert run(session, [later, kept, copy, update.op], w) == [3.2, 2.2, 3.2, None, 3.2]


def test_whether_there_is_a_value_goes_by_depth_as_well(session: acts.Session) -> None:
    w = variable(1.5)
    value = acts.constant([3.0, 3.0])
    asked, started = (ops.is_variable_initialized(w), w.assign(ops.py_func(np.sin, [value], "float32")))
    assert session.run([started.op, asked])[1] == np.False_


def test_a_loop_and_a_branch_are_one_access_each(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    branch = ops.cond(x[0] > 0.0, lambda: w * 2.0, lambda: w * 3.0)
    loop = ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + w), [0, x])[1]
    assert run(session, [branch, loop, w.assign_add([1.0, 1.0]).op], w) == [5.0, 8.2, None, 2.5]


def test_what_a_queue_is_waited_for_comes_last(session: acts.Session, x: acts.Tensor) -> None:
    w = variable(1.5)
    queue = ops.FIFOQueue(1, ["float32"], [[2]])
    change = w.assign(queue.dequeue())
    assert run(session, [change.op, queue.enqueue([w * ops.tanh(ops.tanh(ops.tanh(x)))])], w) == [None, None, 0.7397]


@pytest.mark.parametrize("name", ["Adam", "Momentum", "GradientDescent", "RMSProp"])
def test_a_plain_training_step_is_left_as_it_is(
    session: acts.Session, x: acts.Tensor, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    w, b, number = variable(0.5), variable(0.5, "b"), acts.train.get_or_create_global_step()
    layers = ops.tanh(ops.tanh(w * x) * w + b) * b
    args = [0.1, 0.9] if name == "Momentum" else [0.1]
    loss = ops.reduce_sum(layers)
    step = getattr(acts.train, f"{name}Optimizer")(*args).minimize(loss, number)
    session.run(ops.global_variables_initializer())
    changed: list[bool] = []

    def watched(graph: StepGraph) -> StepGraph:
        made = order_references(graph)
        changed.append(made is not graph)
        return made

    monkeypatch.setattr(execution_state, "order_references", watched)
    session.run([step, loss, number], {x: X})
    assert changed == [False]


async def test_the_order_is_the_same_over_tasks(graph: acts.Graph) -> None:
    x = acts.placeholder("float32", [2])
    with acts.device(PS0):
        w = variable(1.5)
    with acts.device(W0):
        step = acts.train.MomentumOptimizer(0.1, 0.9).minimize(wasserstein(w, x))
        clipped = ops.clip_by_value(w, -0.9, 0.9)
    clip = w.assign(clipped)
    start = ops.global_variables_initializer()
    async with in_process({"ps": 1, "worker": 1}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        for fetches in ([step, clip.op, w], [w, clip.op, step]):
            await soon(session.run(start))
            found = dict(zip(fetches, await soon(session.run(fetches, {x: X})), strict=True))
            assert found[w][0] == pytest.approx(0.9059, abs=1e-4)


def test_what_a_step_computes_with_is_read_before_its_writes(session: acts.Session) -> None:
    v = acts.Variable(0.0)
    more = v.assign_add(3.0, read_value=False)
    root = acts.sqrt(v + 1.0)
    session.run(v.initializer)
    assert [session.run([root, more])[0] for _ in range(3)] == [1.0, 2.0, pytest.approx(7**0.5)]
    assert session.run([v.assign(5.0).op, v * 2.0])[1] == 18.0
    assert session.run([v.assign_add(1.0).op, v * v * 1.0, v]) == [None, 25.0, 6.0]


def test_what_one_step_initialises_may_be_computed_of_each_other(session: acts.Session) -> None:
    v = acts.Variable(3.0)
    w = acts.Variable(v * 2.0)
    session.run([v.initializer, w.initializer])
    assert session.run([v, w]) == [3.0, 6.0]


def test_a_read_that_the_program_puts_behind_a_write_stays_there(session: acts.Session) -> None:
    v = acts.Variable(0.0)
    more = v.assign_add(3.0, read_value=False)
    with acts.control_dependencies([more]):
        after = v.read_value() * 2.0
    before = v * 2.0
    session.run(v.initializer)
    assert session.run([after, before, more]) == [6.0, 0.0, None]


pytestmark = pytest.mark.usefixtures("graph")


def test_the_global_step_that_is_fetched_beside_a_training_step_counts_it(session: acts.Session) -> None:
    step, weight = acts.train.get_or_create_global_step(), acts.Variable(5.0)
    train = acts.train.GradientDescentOptimizer(0.1).minimize(weight * weight, step)
    session.run(acts.global_variables_initializer())
    found = [session.run([train, step, weight])[1:] for _ in range(3)]
    assert found == [[1, pytest.approx(4.0)], [2, pytest.approx(3.2)], [3, pytest.approx(2.56)]]


def test_the_order_of_building_does_not_matter(session: acts.Session) -> None:
    first = acts.Variable(1.0)
    double = first.assign(acts.Variable(2.0, name="last") * 2.0)
    last = acts.global_variables()[1]
    more = last.assign_add(10.0, read_value=False)
    session.run(acts.global_variables_initializer())
    assert session.run({"last": last, "first": first, "ops": [more, double.op]})["last"] == 12.0


def test_updates_in_loops_and_branches_come_before(session: acts.Session) -> None:
    v, p = acts.Variable(0.0), acts.placeholder("bool", [])

    def body(i: acts.Tensor) -> acts.Tensor:
        with acts.control_dependencies([v.assign_add(1.0, read_value=False)]):
            return i + 1

    loop = acts.while_loop(lambda i: i < 5, body, [0])
    branch = acts.cond(p, lambda: v.assign_add(100.0), lambda: acts.constant(0.0))
    session.run(v.initializer)
    assert session.run([v, loop]) == [5.0, 5]
    assert session.run([v, branch], {p: True})[0] == 105.0
    assert session.run([v, branch], {p: False})[0] == 105.0


def test_a_read_that_the_step_computes_with_is_the_one_that_it_has_used(session: acts.Session) -> None:
    v = acts.Variable(3.0)
    read = v.read_value()
    update = v.assign(read * 2.0)
    session.run(v.initializer)
    assert session.run([read, update.op, v]) == [3.0, None, 6.0]


def test_an_update_that_may_be_dead_is_not_waited_for(session: acts.Session) -> None:
    v, p = acts.Variable(1.0), acts.placeholder("bool", [])
    no, yes = raw.Switch(acts.constant(5.0), p)
    merged, _ = raw.Merge([raw.Identity(no), raw.Identity(yes)])
    with acts.control_dependencies([yes]):
        update = raw.AssignAddVariableOp(v.handle, acts.constant(10.0))
    session.run(v.initializer)
    assert session.run([merged, update, v], {p: False})[2] == 1.0


async def test_the_fetches_of_a_partial_run_are_values_of_their_call(graph: acts.Graph) -> None:
    v, x = acts.Variable(1.0), acts.placeholder("float32", [])
    update = v.assign_add(x)
    async with AsyncSession(graph=graph) as session:
        await session.run(v.initializer)
        handle = await session.partial_run_setup([v, update], [x])
        assert await soon(session.partial_run(handle, v)) == 1.0
        assert await soon(session.partial_run(handle, update, {x: 2.0})) == 3.0


async def test_over_tasks_too(graph: acts.Graph) -> None:
    with acts.device(PS0):
        step, weight = acts.train.get_or_create_global_step(), acts.Variable(5.0)
    with acts.device(W0):
        loss = weight * weight
    train = acts.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    async with in_process({"ps": 1, "worker": 1}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(acts.global_variables_initializer()))
        for count in range(1, 4):
            _, found = await soon(session.run([train, step]))
            assert found == count

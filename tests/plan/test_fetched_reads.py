"""A variable that is fetched as itself is read after the step's updates of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import actorsession as acts
from actorsession import AsyncSession
from actorsession.ops import raw
from tests.cluster.kit import PS0, W0, in_process, soon

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def session(graph: acts.Graph) -> Iterator[acts.Session]:
    with acts.Session(graph=graph) as made:
        yield made


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

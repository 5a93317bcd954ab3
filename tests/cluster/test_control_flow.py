"""Loops and branches over remote sessions: they travel, run on the worker that they ask for, and end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, ops
from actorsession.errors import DeadlineExceededError, InternalError, InvalidArgumentError
from actorsession.ops.flow import dataflow
from tests.cluster.kit import W0, W1, InProcess, on, soon
from tests.ops.raw_control import raw_cond, raw_while
from tests.session.test_lifted_programs import MODULUS, VARIABLES, built, interpreted, random_block


@pytest.mark.usefixtures("way")
async def test_loops_run_where_they_ask_and_read_what_is_elsewhere(cluster: InProcess, graph: acts.Graph) -> None:
    n = ops.placeholder("int32", [])
    with on(W1):
        total = ops.Variable(0, name="total")
        doubled = n * 2
    with on(W0):
        loop = ops.while_loop(lambda i: i < doubled, lambda i: i + 1, [0])
        branch = ops.cond(loop > 5, lambda: loop * doubled, lambda: -loop)

    def body(i: Any) -> Any:
        with acts.control_dependencies([total.assign_add(i)]):
            return i + 1

    summed = ops.while_loop(lambda i: i < loop, body, [0], name="summed")
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(total.initializer))
        assert await soon(session.run([loop, branch, summed], {n: 4})) == [8, 64, 8]
        assert await soon(session.run(branch, {n: 1})) == -2
        assert await soon(session.run(total)) == 28
    await cluster.until_idle()


async def test_an_error_in_a_body_names_node_and_device(cluster: InProcess, way: str, graph: acts.Graph) -> None:
    n = ops.placeholder("int32", [])
    loop = on(W1, lambda: ops.while_loop(lambda i: i < 5, lambda i: i + 10 // (n - i), [0]))
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        with pytest.raises(InvalidArgumentError) as info:
            await soon(session.run(loop, {n: 0}))
    assert info.value.node == "while/floordiv"
    assert W1 in str(info.value.device)
    assert "test_control_flow.py:" in str(info.value.source)


async def test_a_loop_that_was_short_on_a_worker_ends_at_its_deadline_when_it_is_endless(
    cluster: InProcess, graph: acts.Graph
) -> None:
    """What a worker measured of it must not let it run where the worker hears of its end."""
    n = ops.placeholder("int32", [])
    loop = on(W1, lambda: ops.while_loop(lambda i: ops.not_equal(i, n), lambda i: (i + 1) % 100, [0]))
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        for _ in range(5):
            assert await soon(session.run(loop, {n: 3})) == 3
        with pytest.raises(DeadlineExceededError):
            await soon(session.run(loop, {n: -1}, options=acts.RunOptions(timeout_in_ms=100)))
        assert await soon(session.run(loop, {n: 7})) == 7
        await cluster.until_idle()


def looped(x: Any, w: Any) -> Any:
    return ops.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, ops.cond(a > 0.1, lambda: ops.sin(a) * w, lambda: a * a)), [0, x]
    )[1]


async def test_lists_of_a_loop_on_one_worker_are_read_on_another(cluster: InProcess, way: str, graph: Graph) -> None:
    x = ops.placeholder("float64", [])
    w = ops.placeholder("float64", [])
    y = on(W0, lambda: looped(x, w))
    grads = on(W1, lambda: ops.gradients(y, [x, w]))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        value, *found = await soon(session.run([y, *grads], {x: 0.7, w: 1.3}))
        by_x = await soon(session.run(y, {x: 0.7 + 1e-6, w: 1.3}))
        by_w = await soon(session.run(y, {x: 0.7, w: 1.3 + 1e-6}))
    assert found == pytest.approx([(by_x - value) / 1e-6, (by_w - value) / 1e-6], rel=1e-3)
    await cluster.until_idle()


async def test_gradients_that_are_built_after_a_run_go_through_what_the_master_knows(
    cluster: InProcess, way: str, graph: Graph
) -> None:
    x = ops.placeholder("float64", [])
    y = on(W1, lambda: looped(x, x))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        before = await soon(session.run(y, {x: 0.7}))
        (grad,) = ops.gradients(y, x)
        value, slope = await soon(session.run([y, grad], {x: 0.7}))
        ahead = await soon(session.run(y, {x: 0.7 + 1e-6}))
        assert value == before
        assert slope == pytest.approx((ahead - before) / 1e-6, rel=1e-3)
    await cluster.until_idle()


async def test_slices_that_a_loop_gathers_are_summed_elsewhere(cluster: InProcess, way: str, graph: Graph) -> None:
    """The lists that they are gathered in are empty at first, and are no constants of a plan."""
    rows = ops.placeholder("float64", [4, 2])
    with on(W0):
        _, y = ops.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, a + ops.reduce_sum(ops.gather(rows, [i, 0]))),
            [0, ops.constant(0.0, "float64")],
        )
    grad = on(W1, lambda: ops.convert_to_tensor(ops.gradients(y, rows)[0]))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        found = await soon(session.run(grad, {rows: [[1.0, 2.0]] * 4}))
    assert found.tolist() == [[4, 4], [1, 1], [1, 1], [0, 0]]
    await cluster.until_idle()


Values = Sequence[acts.Tensor]


async def test_a_loop_runs_on_both_tasks_as_its_predicate_says(cluster: InProcess, way: str, graph: acts.Graph) -> None:
    n = ops.placeholder("int32", [])

    def body(values: Values, _: Values) -> list[acts.Tensor]:
        doubled = on(W1, lambda: values[1] * 2 + 1)
        (kept,) = on(W0, lambda: raw_cond(doubled % 3 < 1, lambda v: [v[0] + 1], lambda v: [v[0]], [doubled]))
        return [values[0] + 1, kept]

    with on(W0):
        start = [acts.constant(0), acts.constant(1)]
        count, value = raw_while(lambda v, c: v[0] < c[0], body, start, [n])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        expected = 1
        for rounds in range(6):
            assert await soon(session.run([count, value], {n: rounds})) == [rounds, expected]
            expected = expected * 2 + 1
            expected += expected % 3 == 0
    await cluster.until_idle()


@pytest.mark.usefixtures("way")
async def test_a_loop_on_one_task_has_result_and_gradient_in_one_step(cluster: InProcess, graph: acts.Graph) -> None:
    x, w = ops.placeholder("float32", []), ops.placeholder("float32", [])
    with on(W1):
        start = [acts.constant(0), x]
        _, y = raw_while(lambda v, _: v[0] < 3, lambda v, c: [v[0] + 1, v[1] * c[0]], start, [w])
        slopes = ops.gradients(y, [x, w])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        assert await soon(session.run([y, *slopes], {x: 3.0, w: 2.0})) == [24.0, 8.0, 36.0]
    await cluster.until_idle()


@pytest.mark.parametrize("seed", [3, 11, 17])
async def test_a_random_program_gives_what_python_gives(cluster: InProcess, graph: acts.Graph, seed: int) -> None:
    draw = random.Random(seed)
    block = random_block(draw, 3, [0])
    with acts.device(lambda op: f"{draw.choice([W0, W1])}/cpu:0"):
        fed = [acts.placeholder(acts.int32, [], name=f"v{k}") for k in range(VARIABLES)]
        results = [acts.identity(value) for value in built(block, fed)]
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        for _ in range(3):
            given = [draw.randrange(MODULUS) for _ in range(VARIABLES)]
            found = await soon(session.run(results, dict(zip(fed, given, strict=True))))
            assert [int(v) for v in found] == interpreted(block, given)
    await cluster.until_idle()


async def test_fetching_what_is_dead_is_an_internal_error_and_targeting_it_is_fine(
    cluster: InProcess, way: str, graph: acts.Graph
) -> None:
    taken = ops.placeholder("bool", [])
    ways = on(W0, lambda: dataflow.switch(acts.constant(5), taken))
    dead = on(W1, lambda: ways.output_true + 1)
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        assert await soon(session.run(dead, {taken: True})) == 6
        called = session.make_callable(dead, [taken])
        for run in (session.run(dead, {taken: False}), called(False)):
            with pytest.raises(InternalError, match="dead") as info:
                await soon(run)
            assert info.value.task == W1
        assert await soon(session.run(dead.op, {taken: False})) is None
    await cluster.until_idle()


async def test_fetching_what_is_dead_in_a_partial_run_is_an_invalid_argument(
    cluster: InProcess, way: str, graph: acts.Graph
) -> None:
    taken = ops.placeholder("bool", [])
    ways = on(W0, lambda: dataflow.switch(acts.constant(5), taken))
    dead = on(W1, lambda: ways.output_true + 1)
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        for way_taken in (True, False):
            handle = await soon(session.partial_run_setup([dead], [taken]))
            run = session.partial_run(handle, dead, {taken: way_taken})
            if way_taken:
                assert await soon(run) == 6
            else:
                with pytest.raises(InvalidArgumentError, match="not taken"):
                    await soon(run)
    await cluster.until_idle()


async def test_an_error_in_a_loop_names_its_node_and_ends_the_step(cluster: InProcess, graph: acts.Graph) -> None:
    n = ops.placeholder("int32", [])

    def body(values: Values, given: Values) -> list[acts.Tensor]:
        return on(W1, lambda: [values[0] + 1, 10 // (given[0] - values[0])])

    with on(W0):
        start = [acts.constant(0), acts.constant(0)]
        results = raw_while(lambda v, c: v[0] < 5, body, start, [n])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        with pytest.raises(InvalidArgumentError) as info:
            await soon(session.run(results, {n: 3}))
        assert W1 in str(info.value.device)
        assert "test_control_flow.py:" in str(info.value.source)
    await cluster.until_idle()


async def test_an_endless_loop_over_two_tasks_ends_at_its_deadline(cluster: InProcess, graph: acts.Graph) -> None:
    def body(values: Values, _: Values) -> list[acts.Tensor]:
        return on(W1, lambda: [values[0] * 1])

    (endless,) = on(W0, lambda: raw_while(lambda v, _: v[0] < 1, body, [acts.constant(0)]))
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            await soon(session.run(endless, options=acts.RunOptions(timeout_in_ms=100)))
        await cluster.until_idle()

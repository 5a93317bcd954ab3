"""Loops and conditionals of single operations over the tasks of a cluster."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import DeadlineExceededError, InternalError, InvalidArgumentError
from actorsession.ops.flow import dataflow
from tests.cluster.kit import W0, W1, InProcess, on, soon
from tests.ops.raw_control import raw_cond, raw_while
from tests.session.test_raw_programs import MODULUS, VARIABLES, built, interpreted, random_block

Values = Sequence[acts.Tensor]


async def test_a_loop_goes_round_on_both_tasks_as_often_as_its_predicate_says(
    cluster: InProcess, way: str, graph: acts.Graph
) -> None:
    n = ops.placeholder("int32", [])

    def body(values: Values, _: Values) -> list[acts.Tensor]:
        with on(W1):
            doubled = values[1] * 2 + 1
        with on(W0):
            (kept,) = raw_cond(doubled % 3 < 1, lambda v: [v[0] + 1], lambda v: [v[0]], [doubled])
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


async def test_a_loop_on_one_task_has_result_and_gradient_in_one_step(
    cluster: InProcess, way: str, graph: acts.Graph
) -> None:
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
    block = random_block(draw, 3)
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
    with on(W0):
        ways = dataflow.switch(acts.constant(5), taken)
    with on(W1):
        dead = ways.output_true + 1
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
    with on(W0):
        ways = dataflow.switch(acts.constant(5), taken)
    with on(W1):
        dead = ways.output_true + 1
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


async def test_an_error_in_a_loop_names_the_node_and_ends_the_step_everywhere(
    cluster: InProcess, graph: acts.Graph
) -> None:
    n = ops.placeholder("int32", [])

    def body(values: Values, given: Values) -> list[acts.Tensor]:
        with on(W1):
            return [values[0] + 1, 10 // (given[0] - values[0])]

    with on(W0):
        start = [acts.constant(0), acts.constant(0)]
        results = raw_while(lambda v, c: v[0] < 5, body, start, [n])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        with pytest.raises(InvalidArgumentError) as info:
            await soon(session.run(results, {n: 3}))
        assert W1 in str(info.value.device)
        assert "test_raw_control_flow.py:" in str(info.value.source)
    await cluster.until_idle()


async def test_an_endless_loop_over_two_tasks_ends_at_its_deadline(cluster: InProcess, graph: acts.Graph) -> None:
    def body(values: Values, _: Values) -> list[acts.Tensor]:
        with on(W1):
            return [values[0] * 1]

    with on(W0):
        (endless,) = raw_while(lambda v, _: v[0] < 1, body, [acts.constant(0)])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            await soon(session.run(endless, options=acts.RunOptions(timeout_in_ms=100)))
        await cluster.until_idle()

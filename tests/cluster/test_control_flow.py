"""Loops and branches over remote sessions: they travel, run on the worker that they ask for, and end."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from tests.cluster.kit import W0, W1, InProcess, on, soon


async def test_loops_run_where_they_ask_and_read_what_is_elsewhere(
    cluster: InProcess, way: str, graph: acts.Graph
) -> None:
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
    with on(W1):
        loop = ops.while_loop(lambda i: i < 5, lambda i: i + 10 // (n - i), [0])
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
    with on(W1):
        loop = ops.while_loop(lambda i: ops.not_equal(i, n), lambda i: (i + 1) % 100, [0])
    async with acts.AsyncSession(cluster.target(), graph=graph) as session:
        for _ in range(5):
            assert await soon(session.run(loop, {n: 3})) == 3
        with pytest.raises(DeadlineExceededError):
            await soon(session.run(loop, {n: -1}, options=acts.RunOptions(timeout_in_ms=100)))
        assert await soon(session.run(loop, {n: 7})) == 7
        await cluster.until_idle()

"""What happens when a process is killed, stopped or comes back, while steps are under way; in a simulation."""

from __future__ import annotations

import asyncio

import pytest

from actorsession import Graph, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, UnavailableError
from actorsession.testing import SimulatedCluster, on_host
from tests.cluster.kit import PS0, W0, W1, is_empty, is_idle, on, simulated, until


class Model:
    """A part on W1 that waits for an element, whose value W0 waits for, and a short part on W0 and the ps."""

    def __init__(self) -> None:
        queue = on(W1, lambda: ops.FIFOQueue(1, "float32", [[]]))
        self.give = queue.enqueue(1.0)
        given = on(W1, queue.dequeue)
        self.waits = on(W0, lambda: given + 1.0)
        self.v = on(PS0, lambda: ops.Variable(2.0, name="v"))
        self.short = on(W0, lambda: self.v * 3.0)


@simulated(seeds=5)
async def test_a_worker_killed_in_a_step_fails_it_at_once_and_no_other(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    process = cluster.task("worker", 1)
    async with cluster.session() as session:
        await session.run(model.v.initializer)
        runs = [asyncio.create_task(session.run(model.waits)) for _ in range(2)]
        await until(cluster, lambda seen: seen.steps == 2, W1)
        process.crash()
        for run in runs:
            with pytest.raises(UnavailableError) as info:
                await run
            assert info.value.task == W1
            assert W1 in info.value.message
            assert process.address in info.value.message
        # What does not need it runs on; what does fails at once.
        assert await session.run(model.short) == 6.0
        with pytest.raises(UnavailableError) as info:
            await session.run(model.waits)
        assert info.value.task == W1
        await until(cluster, is_idle, PS0, W0)
    # A new session needs it no more than the old one did; a step that does waits for it.
    async with cluster.session() as new:
        assert await new.run(model.short) == 6.0
    config = ConfigProto(operation_timeout_in_ms=4_000)
    async with cluster.session(config=config) as new:
        with pytest.raises(DeadlineExceededError) as late:
            await new.run(model.waits)
    assert f"1 of 3 tasks did not answer in time: {W1} at " in late.value.message
    assert " last: " in late.value.message
    await until(cluster, is_empty, PS0, W0)
    assert process.fate.startswith("killed by SIGKILL")
    assert sorted(await cluster.statistics()) == [PS0, W0]


@simulated(seeds=5)
async def test_a_killed_master_is_named_and_other_tasks_drop_its_sessions(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    model = Model()
    async with cluster.session() as session:
        await session.run(model.v.initializer)
        run = asyncio.create_task(session.run(model.waits))
        await until(cluster, lambda seen: seen.steps == 1, W1)
        cluster.task("worker", 0).crash()
        with pytest.raises(UnavailableError) as info:
            await run
        assert info.value.task == W0
        with pytest.raises(UnavailableError):
            await session.run(model.short)
    await until(cluster, is_empty, PS0, W1)


@simulated(seeds=5)
async def test_a_worker_that_is_stopped_delays_nobody_beyond_the_limits_in_time(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """A stopped host answers nothing and hangs nothing up; it goes on later as if nothing were."""
    model = Model()
    stopped = cluster.task("worker", 1)
    async with cluster.session() as session:
        await session.run(model.v.initializer)
        run = asyncio.create_task(session.run(model.waits))
        await until(cluster, lambda seen: seen.steps == 1, W1)
        stopped.stall()
        start = cluster.loop.now
        with pytest.raises(DeadlineExceededError, match=f"still at work on it: .*{W1}"):
            await session.run(model.waits, options=RunOptions(timeout_in_ms=300))
        assert 0.3 <= cluster.loop.now - start < 3.0
        assert await session.run(model.short) == 6.0
        run.cancel()
        await asyncio.wait([run])
        assert run.cancelled()
    await until(cluster, is_empty, PS0, W0)
    stopped.go_on()
    await until(cluster, is_empty, W1)
    async with cluster.session() as session:
        await session.run(model.give)
        assert await session.run(model.waits) == 2.0


@simulated(seeds=5)
async def test_the_sessions_of_a_client_that_is_killed_are_collected(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    host = cluster.client_host("other")

    async def client() -> None:
        async with cluster.session() as session:
            await session.run(model.waits)

    with on_host(host):
        running = asyncio.create_task(client())
    await until(cluster, lambda seen: (seen.worker_sessions, seen.steps) == (1, 1), W0, W1)
    host.crash()
    cluster.network.crashed(host)
    await until(cluster, is_empty, PS0, W0, W1)
    assert not running.done()

"""A network that fails without a word: cut, cut one way, slow, or with half of a connection gone.

Every fault here takes a lease to be noticed, or to prove that it is none; in a simulation that is no time. No run
has a limit in time that a user has set. What a step waits for is an element of a queue, which comes when the test
says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from actorsession import Graph, Operation, Tensor, ops
from actorsession.cluster import update_cluster
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError, WorkerRestartedError
from actorsession.rpc import LEASE_SECONDS
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import PS0, W0, W1, W2, on, simulated, until

JOBS = {"ps": 1, "worker": 3}
NAMES = ("client", "ps-0", "worker-0", "worker-1", "worker-2")
# A transfer that takes longer than silence may last: 4 bytes for each of these numbers.
NUMBERS = 500_000
SLOW_SECONDS = 1.5 * LEASE_SECONDS


@dataclass(frozen=True)
class Fault:
    """A fault of the second worker, and what ends it."""

    befalls: Callable[[SimulatedCluster], None]
    ends: Callable[[SimulatedCluster], Awaitable[None]]


async def heals(cluster: SimulatedCluster) -> None:
    cluster.network.heal()


async def goes_on(cluster: SimulatedCluster) -> None:
    cluster.task("worker", 1).go_on()


async def comes_back(cluster: SimulatedCluster) -> None:
    await cluster.restart("worker", 1)


def cut(cluster: SimulatedCluster, *, there: bool = True, back: bool = True) -> None:
    """Nothing goes between the second worker and all others."""
    for other in NAMES:
        for source, target, is_cut in ((other, "worker-1", there), ("worker-1", other, back)):
            if is_cut and other != "worker-1":
                cluster.network.part(source, target, one_way=True)


FAULTS = {
    "cut both ways": Fault(cut, heals),
    "nothing reaches it": Fault(lambda c: cut(c, back=False), heals),
    "nothing comes from it": Fault(lambda c: cut(c, there=False), heals),
    "stopped": Fault(lambda c: c.task("worker", 1).stall(), goes_on),
    "its host is lost": Fault(lambda c: c.task("worker", 1).power_off(), comes_back),
}
CUT = list(FAULTS)[:3]


def waiting() -> tuple[Tensor, Operation]:
    """A value that a step waits for, and what gives it, which is 8; one step gets it."""
    queue = ops.FIFOQueue(1, "float32", [[]], name="awaited")
    return queue.dequeue(), queue.enqueue(8.0)


async def run_into(
    cluster: SimulatedCluster, run: Coroutine[Any, Any, Any], index: int, fault: Callable[[], Awaitable[None] | None]
) -> tuple[OpError, float]:
    """The error of a step that a fault befalls when a worker is at work on it, and after how many seconds it comes."""
    step = asyncio.create_task(run)
    await until(cluster, lambda seen: seen.steps == 1, cluster.task("worker", index).task)
    start = cluster.loop.now
    befallen = fault()
    if befallen is not None:
        await befallen
    with pytest.raises(OpError) as failed:
        await step
    return failed.value, cluster.loop.now - start


async def after_lost_links(run: Callable[[], Awaitable[Any]]) -> Any:
    """The answer of a run, after one that finds that a link from before the fault has ended."""
    with contextlib.suppress(UnavailableError):
        return await run()
    return await run()


@simulated(JOBS)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_that_says_nothing_is_noticed_within_two_leases_and_the_session_goes_on(
    cluster: SimulatedCluster, graph: Graph, name: str
) -> None:
    """The worker had dropped its side of the session; it is opened there again by the next step."""
    fault = FAULTS[name]
    awaited, give = on(PS0, waiting)
    with on(W1):
        there = awaited + 1.0
        v = ops.Variable(3.0, name="v")
    end = on(W0, lambda: ops.reduce_sum(there))
    async with cluster.session(graph, "worker") as session:
        await session.run(give)
        await session.run([end, v.initializer])
        error, seconds = await run_into(cluster, session.run(end), 1, lambda: fault.befalls(cluster))
        assert isinstance(error, UnavailableError)
        # Where two tasks lose each other, the one that is heard first names the other.
        named = PS0 if error.task == PS0 and name in CUT else W1
        assert error.task == named
        assert named in error.message
        assert seconds < 2 * LEASE_SECONDS
        await fault.ends(cluster)
        if name != "its host is lost":
            await session.run(give)
            assert await after_lost_links(lambda: session.run([end, v])) == [9.0, 3.0]
            return
        # The old connection had stayed open at the master alone.
        with pytest.raises(WorkerRestartedError, match="Variables lost: v"):
            await session.run([give, v])


@simulated(JOBS)
async def test_a_cut_between_two_workers_fails_the_step_that_crosses_it(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """The master hears both of them, so only they can know."""
    awaited, give = on(PS0, waiting)
    given = on(W1, lambda: awaited + 1.0)
    end = on(W2, lambda: ops.reduce_sum(given))
    async with cluster.session(graph, "worker") as session:
        await session.run(give)
        await session.run(end)
        part = cluster.network.part
        error, seconds = await run_into(cluster, session.run(end), 2, lambda: part("worker-1", "worker-2"))
        assert isinstance(error, UnavailableError)
        assert f"waits for values of {W1}: " in error.message
        assert seconds < 2 * LEASE_SECONDS
        cluster.network.heal()
        await session.run(give)
        assert await session.run(end) == 9.0


@simulated(JOBS)
async def test_a_value_that_was_lost_with_a_link_is_not_waited_for(cluster: SimulatedCluster, graph: Graph) -> None:
    """1. The link between two workers holds what is sent. 2. One gets what it has waited for and pushes a value to the
    other, and its part of the step ends well. 3. The link is reset, and there is another one."""
    given, give = on(W1, waiting)
    end = on(W2, lambda: ops.reduce_sum(given + 1.0))
    async with cluster.session(graph, "worker") as session:
        await session.run(give)
        await session.run(end)

        async def befall() -> None:
            cluster.network.part("worker-1", "worker-2")
            await session.run(give)
            await until(cluster, lambda seen: seen.runs == 4 and not seen.steps, W1)
            cluster.network.cut("worker-1", "worker-2")
            cluster.network.heal()

        error, _ = await run_into(cluster, session.run(end), 2, befall)
        assert isinstance(error, UnavailableError)
        assert f"values of {W1} for step " in error.message
        assert "were lost on their way" in error.message
        # Nobody has got what was taken and lost on its way: it is there again.
        assert await session.run(end) == 9.0


@simulated(JOBS)
async def test_a_slow_link_only_takes_longer(cluster: SimulatedCluster, graph: Graph) -> None:
    """Beats are not starved by a transfer that is longer than a lease."""
    x = ops.placeholder("float32", [])
    many = on(W1, lambda: ops.fill([NUMBERS], x + 1.0))
    end = on(W0, lambda: ops.reduce_sum(many))
    async with cluster.session(graph, "worker") as session:
        await session.run(x + 1.0, {x: 1.0})
        for other in NAMES:
            if other != "worker-1":
                cluster.network.slow("worker-1", other, 0.0, bandwidth=4 * NUMBERS / SLOW_SECONDS)
        start = cluster.loop.now
        assert await session.run(end, {x: 1.0}) == 2.0 * NUMBERS
        assert cluster.loop.now - start > LEASE_SECONDS
        assert await session.run(x * 2.0, {x: 1.0}) == 2.0


@simulated(JOBS)
async def test_a_session_whose_cluster_does_not_come_together_says_which_tasks_are_missing(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """Nobody is at the address of one task, and another is silent. Within 30 s by default: each with its address, the
    number of attempts and the last error."""
    cluster.client_host("silent")
    cluster.network.part("worker-0", "silent")
    target = cluster.target("worker")
    refused, silent = "tcp://client:9", "tcp://silent:9"
    await update_cluster(target, {W0: target, W1: refused, W2: silent})
    start = cluster.loop.now
    session = cluster.session(Graph(), "worker", config=ConfigProto(wait_for_all_tasks=True))
    with pytest.raises(DeadlineExceededError) as failed:
        await session.list_devices()
    await session.close()
    assert cluster.loop.now - start < CONNECT_TIMEOUT + 1.0
    said = failed.value.message
    assert "2 of 3 tasks did not answer in time: " in said
    assert f"{W1} at {refused} (" in said
    assert "ECONNREFUSED" in said
    assert f"{W2} at {silent} (" in said
    assert said.count(" attempts, last: ") == 2

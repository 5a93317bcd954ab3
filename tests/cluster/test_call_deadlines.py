"""One limit in time holds for the whole of a call, in whichever of its phases somebody falls silent."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from actorsession import ClusterSpec, Graph, LocalCluster, Session, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.testing import Schedule, SimulatedCluster, on_host
from actorsession.testing.faults import Proxy
from tests.cluster.kit import W0, W1, W2, eventually, in_process, is_empty, on, simulated, until

# Seconds that a call may take, less than any default or lease, and those for the word of whoever was late.
LIMIT, LATE = 1.0, 0.5
LIMIT_IN_MS = int(1000 * LIMIT)
WITHIN = RunOptions(timeout_in_ms=LIMIT_IN_MS)
# What a task has not done for a session that begins, or goes on with its next process.
PHASES = {
    "begins": ["a connection to", "GetStatus", "CreateWorkerSession"],
    "goes on": ["a connection to", "GetStatus", "CreateWorkerSession", "AskVariables"],
}


@contextmanager
def stopped(cluster: SimulatedCluster, index: int) -> Iterator[None]:
    """A worker answers nothing while the block lasts, and hangs nothing up."""
    cluster.task("worker", index).stall()
    try:
        yield
    finally:
        cluster.task("worker", index).go_on()


@contextmanager
def ends_at_its_limit(
    cluster: SimulatedCluster, says: str, kind: type[OpError] = DeadlineExceededError
) -> Iterator[None]:
    """The block ends in an error at its limit, and not after a lease or a default."""
    start = cluster.loop.now
    with pytest.raises(kind, match=says):
        yield
    assert LIMIT / 2 < cluster.loop.now - start < LIMIT + LATE


@pytest.mark.parametrize(
    ("index", "kind", "says"),
    [
        (0, UnavailableError, "no master answers at tcp://worker-0:"),
        (1, DeadlineExceededError, f"1 of 3 tasks did not answer in time: {W1} at "),
    ],
    ids=["connecting", "creating"],
)
@simulated()
async def test_the_limit_holds_while_a_session_begins(
    cluster: SimulatedCluster, index: int, kind: type[OpError], says: str, graph: Graph
) -> None:
    """The master is stopped, so nobody answers the client; or a worker, so the cluster is not complete."""
    session = cluster.session(graph, config=ConfigProto(operation_timeout_in_ms=LIMIT_IN_MS, wait_for_all_tasks=True))
    with stopped(cluster, index), ends_at_its_limit(cluster, says, kind):
        await session.list_devices()
    await session.close()
    async with cluster.session(graph) as another:
        assert len(await another.list_devices()) == 3


@pytest.mark.parametrize("call", ["begins", "goes on"])
def test_tasks_that_fall_silent_at_any_time_are_named_before_their_session_gives_up(
    call: str, whole: bool, graph: Graph
) -> None:
    """1. A session begins at all tasks, or ``reattach`` waits for two that were started again. 2. These stand still
    from some moment on: before they were reached, asked, or had begun the session, or said which variables they have.
    3. The session waits for its master until its limit, by when the master has said for whom it waits."""
    initialize = ops.group(*[on(task, lambda: ops.Variable(1.0)).initializer for task in (W1, W2)])

    async def silenced(cluster: SimulatedCluster, after: int) -> str:
        config = ConfigProto(operation_timeout_in_ms=LIMIT_IN_MS, wait_for_all_tasks=True)
        async with cluster:
            session = cluster.session(graph, config=config)
            if call == "goes on":
                await session.run(initialize)
                for task in (1, 2):
                    await cluster.restart("worker", task)
            cluster.begin(Schedule.parse("".join(f"0 stall worker-{task} for 9 after {after}\n" for task in (1, 2))))
            start = cluster.loop.now
            try:
                await (session.reattach if call == "goes on" else session.list_devices)()
            except DeadlineExceededError as error:
                assert LIMIT / 2 < cluster.loop.now - start < LIMIT
                return error.message
            finally:
                await session.close()
            return ""

    moments = range(0, 160, 1 if whole else 7)
    said = [SimulatedCluster(0, {"worker": 3}).run(partial(silenced, after=moment)) for moment in moments]
    for phase in PHASES[call]:
        assert any(words.startswith("2 of 3 tasks did not answer in time: ") and phase in words for words in said), (
            phase
        )
    assert [words for words in said if words and W1 not in words and W2 not in words] == []


@simulated()
async def test_a_task_that_nobody_needs_does_not_use_up_the_limit_of_a_session_that_begins(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """It is waited for through a part of the limit; what fails at the end of the limit would not be its fault."""
    three = on(W0, lambda: ops.constant(1.0) + 2.0)
    with stopped(cluster, 1):
        start = cluster.loop.now
        async with cluster.session(graph, config=ConfigProto(operation_timeout_in_ms=LIMIT_IN_MS)) as session:
            assert cluster.loop.now - start < LIMIT
            assert [device.incarnation != 0 for device in await session.list_devices()] == [True, True, False]
            assert await session.run(three) == 3.0
            assert cluster.loop.now - start < 3 * LIMIT


@simulated()
async def test_the_limit_holds_while_graphs_are_registered(cluster: SimulatedCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    end = on(W1, lambda: x + 1.0)
    async with cluster.session(graph) as session:
        await session.list_devices()
        with stopped(cluster, 1), ends_at_its_limit(cluster, W1):
            await session.run(end, {x: 1.0}, WITHIN)
        assert await session.run(end, {x: 1.0}) == 2.0


@simulated()
async def test_the_limit_holds_while_a_step_runs(cluster: SimulatedCluster, graph: Graph) -> None:
    queue = on(W1, lambda: ops.FIFOQueue(1, "float32", [[]]))
    give, taken = queue.enqueue(1.0), on(W1, queue.dequeue)
    end = on(W0, lambda: taken + 1.0)
    async with cluster.session(graph) as session:
        await session.run(give)
        await session.run(end)
        with ends_at_its_limit(cluster, f"still at work on it: .*{W1}"):
            run = asyncio.create_task(session.run(end, options=WITHIN))
            await until(cluster, lambda seen: seen.steps == 1, W1)
            with stopped(cluster, 1):
                await run
        await session.run(give)
        assert await session.run(end) == 2.0


@simulated()
async def test_the_limit_holds_while_values_are_fetched(cluster: SimulatedCluster, graph: Graph) -> None:
    """The step ends well, and its answer never arrives."""
    x = ops.placeholder("float32", [])
    with on(W1):
        v = ops.Variable(0.0, name="fetched")
        end = v.assign_add(x)
    async with cluster.session(graph) as session:
        await session.run(v.initializer)
        cluster.network.part("worker-0", "client", one_way=True)
        with ends_at_its_limit(cluster, W0):
            await session.run(end, {x: 1.0}, WITHIN)
        cluster.network.heal()
    async with cluster.session(graph) as session:
        assert await session.run(v) == 1.0
    await until(cluster, is_empty, *cluster.processes)


# A session gives its workers 2 s to drop it, its master 5 s to answer, and its connection 2 s to end.
WORKER_STOPPED, MASTER_STOPPED = 2.0 + 2.0 + 2.0, 5.0 + 2.0 + 2.0


@pytest.mark.parametrize(("index", "grace"), [(1, WORKER_STOPPED), (0, MASTER_STOPPED)])
@simulated()
async def test_close_ends_within_its_grace_beside_a_stopped_process(
    cluster: SimulatedCluster, index: int, grace: float, graph: Graph
) -> None:
    """A worker that takes part in the session, or its master; and closing again is fine."""
    there = on(W1, lambda: ops.placeholder("float32", [], name="x") + 1.0)
    end = on(W0, lambda: there * 2.0)
    session = cluster.session(graph)
    assert await session.run(end, {"x:0": 1.0}) == 4.0
    with stopped(cluster, index):
        start = cluster.loop.now
        await session.close()
        assert cluster.loop.now - start < grace
        await session.close()
    await until(cluster, is_empty, *cluster.processes)


@pytest.mark.parametrize(("silent", "grace"), [(W1, WORKER_STOPPED), (W0, MASTER_STOPPED)])
async def test_a_synchronous_close_ends_within_its_grace_beside_a_silent_task(
    silent: str, grace: float, graph: Graph
) -> None:
    there = on(W1, lambda: ops.placeholder("float32", [], name="x") + 1.0)
    end = on(W0, lambda: there * 2.0)
    async with in_process() as cluster, Proxy(cluster.target(silent)) as proxy:
        addresses = {**cluster.spec.tasks(), silent: proxy.address}
        for server in cluster.servers:
            server.learn_peers(ClusterSpec.of_tasks(addresses))
        session = Session(addresses[W0], graph)
        assert await asyncio.to_thread(session.run, end, {"x:0": 1.0}) == 4.0
        proxy.hold()
        start = time.monotonic()
        for _ in range(2):
            await asyncio.to_thread(session.close)
        assert time.monotonic() - start < grace
        proxy.heal()
        await eventually(lambda: all(map(is_empty, cluster.statistics().values())))


@pytest.mark.process
def test_a_cluster_with_a_stopped_process_stops_within_its_grace() -> None:
    with LocalCluster({"worker": 2}) as cluster:
        cluster.process("worker", 1).send_signal(signal.SIGSTOP)
        start = time.monotonic()
        cluster.do(cluster.stop(grace=0.5))
        assert time.monotonic() - start < 0.5 + 5.0
        assert cluster.process("worker", 1).fate.startswith("killed by SIGKILL, by the program ")


@simulated()
async def test_what_a_killed_client_had_for_itself_is_freed_on_workers(cluster: SimulatedCluster, graph: Graph) -> None:
    """Its session is isolated, holds a large variable on a worker, and is in the middle of a step."""
    with on(W1):
        state = ops.Variable(ops.fill([64, 2**10], 1.0))
        queue = ops.FIFOQueue(1, "float32", [[]])
        taken = queue.dequeue()
    end = on(W0, lambda: taken + 1.0)

    async def client() -> None:
        async with cluster.session(graph, config=ConfigProto(isolate_session_state=True)) as session:
            await session.run(state.initializer)
            await session.run(end)

    host = cluster.client_host("other")
    with on_host(host):
        running = asyncio.create_task(client())
    await until(cluster, lambda seen: seen.steps == 1 and seen.runs >= 2, W1)
    server: Any = cluster.task("worker", 1).server
    assert server.statistics().variable_bytes == 4 * 64 * 2**10
    sessions = server.actors.worker._sessions
    devices = [device for _, devices, _ in sessions.held_state() for device in devices]
    (value,) = [weakref.ref(v.value) for device in devices for *_, v in device.resources.variables()]
    host.crash()
    cluster.network.crashed(host)
    await until(cluster, is_empty, *cluster.processes)
    assert not running.done()
    assert server.statistics().variable_bytes == 0
    gc.collect()
    assert value() is None

"""One limit in time holds for the whole of a call, in whichever of its phases somebody falls silent."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.testing.faults import Proxy, Way
from tests.cluster.kit import PATIENCE, W0, W1, is_empty, long_product, on, until_all
from tests.cluster.process_cluster import FACES, ProcessCluster, process_cluster
from tests.cluster.script import script
from tests.cluster.soak import resident
from tests.loops import run_to_end

pytestmark = pytest.mark.process

# Seconds that a call may take, and those by which a machine that is shared may be late: less than any
# default, which is 30 s or more; the leases of the processes are longer still.
LIMIT, LATE = 1.0, 25.0
WITHIN = RunOptions(timeout_in_ms=int(1000 * LIMIT))


@contextmanager
def stopped(cluster: LocalCluster, index: int) -> Iterator[None]:
    """A worker answers nothing while the block lasts, and hangs nothing up."""
    process = cluster.process("worker", index)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def ends_at_its_limit(*kinds: type[OpError]) -> Iterator[None]:
    """The block ends in an error at its limit, and not after a lease or a default."""
    start = time.monotonic()
    with pytest.raises(kinds or DeadlineExceededError):
        yield
    assert LIMIT / 2 < time.monotonic() - start < LIMIT + LATE


@pytest.mark.parametrize("index", [0, 1], ids=["connecting", "creating"])
def test_the_limit_holds_while_a_session_begins(index: int, processes: LocalCluster, graph: Graph) -> None:
    """The master is stopped, so nobody answers the client; or a worker, so the cluster is not complete."""
    config = ConfigProto(operation_timeout_in_ms=int(1000 * LIMIT))

    async def main() -> None:
        session = AsyncSession(processes.target("worker"), graph=graph, config=config)
        with stopped(processes, index), ends_at_its_limit(UnavailableError, DeadlineExceededError):
            await session.list_devices()
        await session.close()
        async with AsyncSession(processes.target("worker"), graph=graph) as another:
            assert len(await another.list_devices()) == 3

    run_to_end(main())


def test_the_limit_holds_while_graphs_are_registered(processes: LocalCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    end = on(W1, lambda: x + 1.0)

    async def main() -> None:
        async with AsyncSession(processes.target("worker"), graph=graph) as session:
            await session.list_devices()
            with stopped(processes, 1), ends_at_its_limit():
                await session.run(end, {x: 1.0}, WITHIN)
            assert await session.run(end, {x: 1.0}) == 2.0

    run_to_end(main())


def test_the_limit_holds_while_a_step_runs(processes: LocalCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [None, None])
    long = on(W1, lambda: long_product(x, 2000))
    end = on(W0, lambda: ops.reduce_sum(long))
    large, small = np.full([500, 500], 0.01, np.float32), np.zeros([2, 2], np.float32)

    async def main() -> None:
        async with AsyncSession(processes.target("worker"), graph=graph) as session:
            await session.run(end, {x: small})
            with ends_at_its_limit():
                run = asyncio.create_task(session.run(end, {x: large}, WITHIN))
                await until_all([processes.target("worker", 1)], lambda seen: seen.steps == 1)
                with stopped(processes, 1):
                    await run
            assert await session.run(end, {x: small}) == 0.0

    run_to_end(main())


def test_the_limit_holds_while_values_are_fetched(processes: LocalCluster, graph: Graph) -> None:
    """The step ends well, and its answer never arrives."""
    x = ops.placeholder("float32", [])
    with on(W1):
        v = ops.Variable(0.0, name="fetched")
        end = v.assign_add(x)

    async def main() -> None:
        async with Proxy(processes.target("worker")) as proxy:
            async with AsyncSession(proxy.address, graph=graph) as session:
                await session.run(v.initializer)
                proxy.swallow(Way.BACK)
                with ends_at_its_limit():
                    await session.run(end, {x: 1.0}, WITHIN)
                proxy.heal()
            async with AsyncSession(processes.target("worker"), graph=graph) as session:
                assert await session.run(v) == 1.0
        await until_all(processes.spec.tasks().values(), is_empty)

    run_to_end(main())


# A session gives its workers 2 s to drop it, its master 5 s to answer, and its connection 2 s to end.
WORKER_STOPPED, MASTER_STOPPED = 2.0 + 2.0 + 2.0, 5.0 + 2.0 + 2.0
# What a killed client's session had on a worker, and what may be left of that: pages of the interpreter.
STATE, LEFT = 256 * 2**20, 64 * 2**20


@pytest.fixture
def three(mortal: ProcessCluster) -> ProcessCluster:
    """One ps and two workers."""
    return mortal


@pytest.mark.parametrize(("job", "index", "grace"), [("worker", 1, WORKER_STOPPED), ("worker", 0, MASTER_STOPPED)])
def test_close_ends_within_its_grace_beside_a_stopped_process(
    job: str, index: int, grace: float, three: ProcessCluster, graph: Graph
) -> None:
    """A worker that takes part in the session, or its master; and closing again is fine."""
    there = on(W1, lambda: ops.placeholder("float32", [], name="x") + 1.0)
    end = on(W0, lambda: there * 2.0)
    sessions = [three.session(face, three.target("worker"), graph=graph) for face in FACES]
    for session in sessions:
        assert session.run(end, {"x:0": 1.0}) == 4.0
    process = three.cluster.process(job, index)
    process.send_signal(signal.SIGSTOP)
    try:
        for session in sessions:
            start = time.monotonic()
            session.close()
            assert time.monotonic() - start < grace
            session.close()
    finally:
        process.send_signal(signal.SIGCONT)
    three.until_empty()


def test_a_cluster_with_a_stopped_process_stops_within_its_grace() -> None:
    with process_cluster({"worker": 2}) as held:
        held.cluster.process("worker", 1).send_signal(signal.SIGSTOP)
        start = time.monotonic()
        held.do(held.cluster.stop(grace=0.5))
        assert time.monotonic() - start < 0.5 + 5.0
        assert held.cluster.process("worker", 1).fate.startswith("killed by SIGKILL, by the program ")


CLIENT = """
    import asyncio, sys
    import numpy as np
    import actorsession as acts
    from actorsession import ops

    async def main():
        graph = acts.Graph()
        with graph.as_default():
            x = y = ops.placeholder("float32", [None, None])
            with graph.device("/job:worker/task:1"):
                state = acts.Variable(ops.fill([64, 2**20], 1.0))
                for _ in range(2000):
                    y = ops.matmul(y, x) * 0.01
            with graph.device("/job:worker/task:0"):
                y = y + 1.0
        config = acts.ConfigProto(isolate_session_state=True)
        target = sys.stdin.readline().strip()
        async with acts.AsyncSession(target, graph=graph, config=config) as session:
            await session.run(state.initializer)
            print("begins", flush=True)
            await session.run(y, {x: np.full([500, 500], 0.01)})

    asyncio.run(main())
"""


def test_what_a_killed_client_had_for_itself_is_freed_on_workers(three: ProcessCluster, tmp_path: Path) -> None:
    """Its session is isolated, holds a large variable on a worker, and is in the middle of a step."""
    pid = three.cluster.process("worker", 1).pid
    before, runs = resident(pid), three.do(three.cluster.statistics())[W1].runs
    with script(tmp_path, CLIENT) as client:
        assert client.stdin is not None
        client.stdin.write(three.target("worker") + "\n")
        client.stdin.flush()
        three.do(until_all([three.target("worker", 1)], lambda s: s.steps == 1 and s.runs >= runs + 2))
        # Of another process nothing but its memory shows that the variable is there, and is gone.
        assert resident(pid) > before + STATE - LEFT
        client.kill()
        client.wait(PATIENCE)
    three.do(until_all(three.cluster.spec.tasks().values(), is_empty))
    limit = time.monotonic() + PATIENCE
    while resident(pid) > before + LEFT:
        assert time.monotonic() < limit, f"{resident(pid) >> 20} MiB, was {before >> 20}"
        time.sleep(0.02)

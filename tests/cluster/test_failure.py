"""What happens when a process is killed, stopped or comes back, while steps are under way."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, UnavailableError
from tests.cluster.kit import PATIENCE, PS0, W0, W1, is_empty, is_idle, long_product, on, soon, until_all
from tests.cluster.process_cluster import ProcessCluster
from tests.cluster.script import script
from tests.loops import run_to_end

pytestmark = pytest.mark.process

# Products of this take seconds in the kernel pool, in steps of milliseconds.
LARGE = np.full([800, 800], 0.01, np.float32)


class Model:
    """A long part on W1 whose value W0 waits for, and a short part on W0 and the ps."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [None, None], name="x")
        long = on(W1, lambda: long_product(self.x, 1000))
        self.long = on(W0, lambda: long + 1.0)
        self.v = on(PS0, lambda: ops.Variable(2.0, name="v"))
        self.short = on(W0, lambda: self.v * 3.0)

    def begin(self, session: AsyncSession) -> asyncio.Task[Any]:
        return asyncio.create_task(session.run(self.long, {self.x: LARGE}))


async def at_work(cluster: LocalCluster, job: str, index: int) -> None:
    """Waits until a step runs at a task."""
    await until_all([cluster.target(job, index)], lambda seen: seen.steps == 1)


async def test_a_worker_killed_in_a_step_fails_it_at_once_and_no_other(mortal: ProcessCluster, graph: Graph) -> None:
    model = Model()
    cluster = mortal.cluster
    living = [cluster.target("ps"), cluster.target("worker", 0)]
    async with AsyncSession(living[1], graph=graph) as session:
        await session.run(model.v.initializer)
        runs = [model.begin(session), model.begin(session)]
        await until_all([cluster.target("worker", 1)], lambda seen: seen.steps == 2)
        cluster.process("worker", 1).send_signal(signal.SIGKILL)
        for run in runs:
            with pytest.raises(UnavailableError) as info:
                await soon(run)
            assert info.value.task == W1
            assert W1 in info.value.message
            assert cluster.target("worker", 1) in info.value.message
        # What does not need it runs on; what does fails at once.
        assert await session.run(model.short) == 6.0
        with pytest.raises(UnavailableError, match="ECONNREFUSED") as info:
            await soon(model.begin(session))
        assert info.value.task == W1
        await until_all(living, is_idle)
    # A new session needs it no more than the old one did; a step that does waits for it.
    async with AsyncSession(living[1], graph=graph) as new:
        assert await soon(new.run(model.short)) == 6.0
    config, feeds = ConfigProto(operation_timeout_in_ms=4_000), {model.x: LARGE}
    async with AsyncSession(living[1], graph=graph, config=config) as new:
        with pytest.raises(DeadlineExceededError) as late:
            await new.run(model.long, feeds)
    assert f"1 of 3 tasks did not answer in time: {W1} at " in late.value.message
    assert "attempts, last: cannot reach" in late.value.message
    await until_all(living, is_empty)
    assert cluster.process("worker", 1).fate.startswith("killed by SIGKILL; it held ")
    assert sorted(await cluster.statistics()) == [PS0, W0]


async def test_a_killed_master_is_named_and_other_tasks_drop_its_sessions(mortal: ProcessCluster, graph: Graph) -> None:
    model = Model()
    cluster = mortal.cluster
    others = [cluster.target("ps"), cluster.target("worker", 1)]
    async with AsyncSession(cluster.target("worker", 0), graph=graph) as session:
        await session.run(model.v.initializer)
        run = model.begin(session)
        await at_work(cluster, "worker", 1)
        cluster.process("worker", 0).send_signal(signal.SIGKILL)
        with pytest.raises(UnavailableError, match="closed by the peer") as info:
            await soon(run)
        assert info.value.task == W0
        with pytest.raises(UnavailableError):
            await soon(session.run(model.short))
    await until_all(others, is_empty)


@pytest.mark.usefixtures("patient_clients")
def test_a_worker_that_is_stopped_delays_nobody_beyond_the_limits_in_time(mortal: ProcessCluster, graph: Graph) -> None:
    """A stopped host answers nothing and hangs nothing up; it goes on later as if nothing were."""
    model = Model()
    cluster = mortal.cluster

    async def main() -> None:
        stopped = cluster.process("worker", 1)
        async with AsyncSession(cluster.target("worker", 0), graph=graph) as session:
            await session.run(model.v.initializer)
            run = model.begin(session)
            await at_work(cluster, "worker", 1)
            stopped.send_signal(signal.SIGSTOP)
            start = time.perf_counter()
            limited = RunOptions(timeout_in_ms=300)
            with pytest.raises(DeadlineExceededError, match=f"still at work on it: .*{W1}"):
                await soon(session.run(model.long, {model.x: LARGE}, limited))
            assert time.perf_counter() - start >= 0.3
            assert await session.run(model.short) == 6.0
            run.cancel()
            await asyncio.wait([run], timeout=PATIENCE)
            assert run.cancelled()
            await soon(session.close())
        living = [cluster.target("ps"), cluster.target("worker", 0)]
        await until_all(living, is_empty)
        stopped.send_signal(signal.SIGCONT)
        await until_all([cluster.target("worker", 1)], is_empty)
        async with AsyncSession(cluster.target("worker", 0), graph=graph) as session:
            got = await session.run(model.long, {model.x: np.zeros([3, 3])})
            np.testing.assert_array_equal(got, np.ones([3, 3]))

    run_to_end(main())


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
                for _ in range(2000):
                    y = ops.matmul(y, x) * 0.01
            with graph.device("/job:worker/task:0"):
                y = y + 1.0
        async with acts.AsyncSession(sys.stdin.readline().strip(), graph=graph) as session:
            print("begins", flush=True)
            await session.run(y, {x: np.full([500, 500], 0.01)})

    asyncio.run(main())
"""


def test_the_sessions_of_a_client_that_is_killed_are_collected(processes: LocalCluster, tmp_path: Path) -> None:
    targets = list(processes.spec.tasks().values())
    with script(tmp_path, CLIENT) as client:
        assert client.stdin is not None
        client.stdin.write(processes.target("worker", 0) + "\n")
        client.stdin.flush()
        run_to_end(
            until_all(
                [processes.target("worker", 1), processes.target("worker", 0)],
                lambda seen: (seen.worker_sessions, seen.steps) == (1, 1),
            )
        )
        client.kill()
        client.wait(PATIENCE)
    run_to_end(until_all(targets, is_empty))

"""What comes back after a loss: tasks restarted at their address, as processes with both faces and in a simulation."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, errors, ops
from actorsession.cluster.server.snapshots import SnapshotStore
from actorsession.config import ConfigProto
from actorsession.testing import SimulatedCluster, on_host
from actorsession.train import GradientDescentOptimizer
from tests.cluster.kit import PS0, W0, W1, eventually, on
from tests.cluster.process_cluster import FACES, ProcessCluster


@pytest.fixture
def three(mortal: ProcessCluster) -> ProcessCluster:
    """One ps and two workers."""
    return mortal


class Regression:
    """Fits ``w * x`` to ``3 * x``, with the weight on the ps and the gradient on worker 1."""

    RATE = 0.1

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [4], name="x")
        with on(PS0):
            self.w = ops.Variable(0.0, name="w")
            self.other = ops.Variable([1.0, 2.0], name="other")
            self.new = ops.placeholder("float32", [])
            self.restore = self.w.assign(self.new).op
        loss = on(W1, lambda: ops.reduce_mean(ops.square(self.w * self.x - 3.0 * self.x)))
        self.step = GradientDescentOptimizer(self.RATE).minimize(loss)
        self.initial = ops.group(self.w.initializer, self.other.initializer)

    def batch(self, number: int) -> np.ndarray[Any, Any]:
        return np.arange(number % 3, number % 3 + 4, dtype=np.float32) / 4

    def expected(self, steps: int) -> float:
        w = np.float32(0)
        for number in range(steps):
            x = self.batch(number)
            w -= np.float32(self.RATE) * np.mean(2 * (w * x - 3 * x) * x, dtype=np.float32)
        return float(w)


@pytest.mark.process
def test_training_goes_on_with_the_right_values_after_a_restart_of_the_ps(three: ProcessCluster, graph: Graph) -> None:
    """1. Ten steps. 2. The ps is killed and started again. 3. The error lists what is lost. 4. The weight is
    restored from what the program had saved. 5. Ten more steps, and the weight is that of twenty."""
    model = Regression()
    for face in FACES:
        session = three.session(face, three.target("worker"), graph=graph)
        session.run(model.initial)
        for number in range(10):
            session.run(model.step, {model.x: model.batch(number)})
        saved = session.run(model.w)
        three.do(three.cluster.restart("ps"))
        for _ in range(2):
            with pytest.raises(errors.WorkerRestartedError) as info:
                session.run(model.step, {model.x: model.batch(10)})
            assert isinstance(info.value, errors.AbortedError)
            assert info.value.task == PS0
            assert "Variables lost: w, other" in info.value.message
        found = session.reattach(restore=restorer(face, model, saved))
        assert (found.restarted, found.lost, found.restored) == ((PS0,), ("w", "other"), ())
        with pytest.raises(errors.FailedPreconditionError, match="other"):
            session.run(model.other)
        for number in range(10, 20):
            session.run(model.step, {model.x: model.batch(number)})
        assert session.run(model.w) == pytest.approx(model.expected(20), rel=1e-5)
        session.close()
        three.until_empty()


def restorer(face: str, model: Regression, saved: Any) -> Any:
    """What ``reattach`` calls: a coroutine function for the one face, a plain one for the other."""
    if face == "sync":
        return lambda session: session.run(model.restore, {model.new: saved})

    async def restore(session: Any) -> None:
        await session.run(model.restore, {model.new: saved})

    return restore


@pytest.mark.process
def test_what_was_lost_is_said_by_the_reattach_that_succeeds(three: ProcessCluster, graph: Graph) -> None:
    """1. The master and the ps are lost. 2. The master is back, and a first attempt fails, because the ps is
    not. 3. The ps is back, too: the second attempt names what the session has lost."""
    kept = on(PS0, lambda: ops.Variable(5.0, name="kept"))
    hasty = ConfigProto(operation_timeout_in_ms=2000)
    session = three.session("sync", three.target("worker"), graph=graph, config=hasty)
    session.run(kept.initializer)
    three.cluster.process("ps").send_signal(signal.SIGKILL)
    three.do(three.cluster.restart("worker", 0))
    with pytest.raises(errors.UnavailableError):
        session.run(kept)
    with pytest.raises(errors.DeadlineExceededError, match=PS0):
        session.reattach()
    three.do(three.cluster.restart("ps"))
    assert session.reattach().lost == ("kept",)
    session.run(kept.initializer)
    assert session.run(kept) == 5.0
    session.close()


def simulated(main: Callable[[SimulatedCluster], Coroutine[Any, Any, None]], workers: int, **options: Any) -> None:
    """Runs a test on simulated workers that have started."""

    async def whole(cluster: SimulatedCluster) -> None:
        async with cluster:
            await main(cluster)

    for seed in range(3):
        SimulatedCluster(seed, {"worker": workers}, **options).run(whole)


def test_variables_of_a_killed_process_come_back_from_its_last_snapshot() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph:
            with on(W1):
                v = ops.Variable(0.0, name="v")
                add = v.assign_add(1.0).op
            seen = on(W0, lambda: v + 0.0)
        process = cluster.task("worker", 1)
        async with cluster.session(graph) as session:
            await session.run(v.initializer)
            for _ in range(5):
                await session.run(add)
            with on_host(process.machine.host):
                store = SnapshotStore("/snapshots", W1)
                await eventually(lambda: (taken := store.latest()) is not None and taken.steps >= 6)
            process.crash()
            await process.wait_ended()
            await cluster.restart("worker", 1)
            with pytest.raises(errors.WorkerRestartedError, match="Variables lost: none") as info:
                await session.run(add)
            assert "back from the snapshot after 6 steps: v" in info.value.message
            found = await session.reattach()
            assert (found.restarted, found.lost, found.restored) == ((W1,), (), ("v",))
            assert await session.run(seen) == 5.0
            await session.run(add)
            assert await session.run(seen) == 6.0

    simulated(main, 2, snapshot_every=0.05)


@pytest.mark.parametrize("error", [errors.WorkerRestartedError("2 has restarted"), errors.AbortedError("was dropped")])
def test_what_reattach_hears_ends_other_runs_only_with_their_session(
    error: errors.OpError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A run waits at the master. 2. ``reattach`` hears once that another task has restarted, and asks again; or that
    the master has dropped the session, and begins one anew. 3. The run has its value; or it is lost, not cancelled."""

    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph, on(W0):
            queue = ops.FIFOQueue(1, "float32", shapes=[[]], shared_name="queue")
            put, take = queue.enqueue(3.0), queue.dequeue()
        async with cluster.session(graph) as session:
            connection: Any = session._session.connection  # type: ignore[attr-defined]
            waiting = asyncio.create_task(session.run(take))
            await eventually(lambda: connection.over_link and connection.master.link.steps.pending)
            handle, untold = connection.handle, [error]

            ask = type(connection.recovery)._ask

            async def told(*args: Any, **more: Any) -> Any:
                if untold:
                    raise untold.pop()
                return await ask(*args, **more)

            with monkeypatch.context() as patch:
                patch.setattr(type(connection.recovery), "_ask", told)
                await session.reattach()
            goes_on = isinstance(error, errors.WorkerRestartedError)
            assert (connection.handle == handle) is goes_on
            if goes_on:
                await session.run(put)
                assert await waiting == 3.0
            else:
                with pytest.raises(errors.UnavailableError, match=r"given up: was dropped"):
                    await waiting

    simulated(main, 1)


def test_no_run_is_sent_while_reattach_makes_the_session_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """1. The master was started again, and ``reattach`` has reached it. 2. A run of a known plan, before there is a
    session, is told of the loss. 3. The next one runs in the new session."""

    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph, on(W0):
            x = ops.placeholder("float32", [])
            y = x + 1.0
        async with cluster.session(graph) as session:
            connection: Any = session._session.connection  # type: ignore[attr-defined]
            assert await session.run(y, {x: 1.0}) == 2.0
            await cluster.restart("worker", 0)
            reached, goes_on = asyncio.Event(), asyncio.Event()

            described = type(connection.sent).described

            async def held(*args: Any) -> Any:
                reached.set()
                await goes_on.wait()
                return await described(*args)

            with monkeypatch.context() as patch:
                patch.setattr(type(connection.sent), "described", held)
                reattaching = asyncio.create_task(session.reattach())
                await reached.wait()
                assert connection.over_link
                with pytest.raises(errors.UnavailableError, match="killed by SIGKILL"):
                    await session.run(y, {x: 1.0})
                goes_on.set()
                await reattaching
            assert await session.run(y, {x: 1.0}) == 2.0

    simulated(main, 1)


def test_the_last_task_of_a_cluster_is_not_removed() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with pytest.raises(ValueError, match="is the last task; stop the cluster instead"):
            await cluster.remove("worker")
        assert cluster.process("worker").alive

    simulated(main, 1)

"""What comes back after a loss, on tasks that are restarted at their address."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, errors, ops
from actorsession.cluster.server.snapshots import SnapshotStore
from actorsession.config import ConfigProto
from actorsession.testing import SimulatedCluster, on_host
from actorsession.train import GradientDescentOptimizer
from tests.cluster.kit import PS0, W0, W1, crashed, eventually, is_empty, on, simulated, until


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


@simulated()
async def test_training_goes_on_with_the_right_values_after_a_restart_of_the_ps(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. Ten steps. 2. The ps is killed and started again. 3. The error lists what is lost. 4. The weight is
    restored from what the program had saved. 5. Ten more steps, and the weight is that of twenty."""
    model = Regression()
    async with cluster.session(graph) as session:

        async def train(numbers: Iterable[int]) -> None:
            for number in numbers:
                await session.run(model.step, {model.x: model.batch(number)})

        await session.run(model.initial)
        await train(range(10))
        saved = await session.run(model.w)
        await crashed(cluster, "ps")
        await cluster.restart("ps")
        for _ in range(2):
            with pytest.raises(errors.WorkerRestartedError) as info:
                await train([10])
            assert isinstance(info.value, errors.AbortedError)
            assert info.value.task == PS0
            assert "Variables lost: w, other" in info.value.message

        async def restore(session: AsyncSession) -> None:
            await session.run(model.restore, {model.new: saved})

        found = await session.reattach(restore=restore)
        assert (found.restarted, found.lost, found.restored) == ((PS0,), ("w", "other"), ())
        with pytest.raises(errors.FailedPreconditionError, match="other"):
            await session.run(model.other)
        await train(range(10, 20))
        assert await session.run(model.w) == pytest.approx(model.expected(20), rel=1e-5)
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_what_was_lost_is_said_by_the_reattach_that_succeeds(cluster: SimulatedCluster, graph: Graph) -> None:
    """1. The master and the ps are lost. 2. The master is back, and a first attempt fails, because the ps is
    not. 3. The ps is back, too: the second attempt names what the session has lost."""
    kept = on(PS0, lambda: ops.Variable(5.0, name="kept"))
    async with cluster.session(graph, config=ConfigProto(operation_timeout_in_ms=2000)) as session:
        await session.run(kept.initializer)
        await crashed(cluster, "ps")
        await crashed(cluster, "worker")
        await cluster.restart("worker")
        with pytest.raises(errors.UnavailableError):
            await session.run(kept)
        with pytest.raises(errors.DeadlineExceededError, match=PS0):
            await session.reattach()
        await cluster.restart("ps")
        assert (await session.reattach()).lost == ("kept",)
        await session.run(kept.initializer)
        assert await session.run(kept) == 5.0


@simulated(snapshot_every=0.05)
async def test_variables_of_a_killed_process_come_back_from_its_last_snapshot(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    with on(W1):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(1.0).op
    seen = on(W0, lambda: v + 0.0)
    async with cluster.session(graph) as session:
        await session.run(v.initializer)
        for _ in range(5):
            await session.run(add)
        with on_host(cluster.task("worker", 1).machine.host):
            store = SnapshotStore("/snapshots", W1)
            await eventually(lambda: (taken := store.latest()) is not None and taken.steps >= 6)
        await crashed(cluster, "worker", 1)
        await cluster.restart("worker", 1)
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: none") as info:
            await session.run(add)
        assert "back from the snapshot after 6 steps: v" in info.value.message
        found = await session.reattach()
        assert (found.restarted, found.lost, found.restored) == ((W1,), (), ("v",))
        assert await session.run(seen) == 5.0
        await session.run(add)
        assert await session.run(seen) == 6.0


@pytest.mark.parametrize("error", [errors.WorkerRestartedError("2 has restarted"), errors.AbortedError("was dropped")])
@simulated({"worker": 1})
async def test_what_reattach_hears_ends_other_runs_only_with_their_session(
    cluster: SimulatedCluster, graph: Graph, error: errors.OpError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A run waits at the master. 2. ``reattach`` hears once that another task has restarted, and asks again; or that
    the master has dropped the session, and begins one anew. 3. The run has its value; or it is lost, not cancelled."""
    with on(W0):
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


@simulated({"worker": 1})
async def test_no_run_is_sent_while_reattach_makes_the_session_anew(
    cluster: SimulatedCluster, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. The master was started again, and ``reattach`` has reached it. 2. A run of a known plan, before there is a
    session, is told of the loss. 3. The next one runs in the new session."""
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

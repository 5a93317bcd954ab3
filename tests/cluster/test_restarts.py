"""Tasks that are started again because their processes have died, and the sessions that go on with them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ServerSettings, errors, ops
from actorsession.config import ConfigProto
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import PATIENCE, PS0, W0, W1, crashed, eventually, on, simulated, soon, until
from tests.loops import cancelled

# More deaths than the tests of this file bring about.
OFTEN = 1000
# A program that waits for tasks to come back, which nobody starts again but the test.
WAITING = ServerSettings(restart_wait=PATIENCE)


# -- workers ---------------------------------------------------------------------------------------
@simulated(restart=OFTEN)
async def test_a_session_uses_a_worker_that_died_between_steps_without_an_error(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """The step waits for the new process, at the same address, and has begun nothing before."""
    x = ops.placeholder("float32", [3])
    here = on(W0, lambda: x + 1.0)
    there = on(W1, lambda: here * 2.0)
    values = np.arange(3, dtype=np.float32)
    async with cluster.session(graph) as session:
        np.testing.assert_array_equal(await session.run(there, {x: values}), (values + 1) * 2)
        former = await crashed(cluster, "worker", 1)
        np.testing.assert_array_equal(await session.run(there, {x: values}), (values + 1) * 2)
        await eventually(lambda: cluster.task("worker", 1) is not former)  # the program may hear of it last
        assert cluster.target("worker", 1) == former.address
        assert cluster.restarts == {PS0: 0, W0: 0, W1: 1}


@simulated(restart=OFTEN)
async def test_a_step_during_which_a_worker_dies_says_how_and_the_next_one_runs(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    queue = on(PS0, lambda: ops.FIFOQueue(1, "float32", [[]]))
    awaited, give = on(PS0, queue.dequeue), queue.enqueue(8.0)
    there = on(W1, lambda: awaited + 1.0)
    y = on(W0, lambda: there * 2.0)
    async with cluster.session(graph) as session:
        running = asyncio.create_task(session.run(y))
        await until(cluster, lambda seen: seen.steps > 0, W1)
        cluster.task("worker", 1).crash()
        with pytest.raises(errors.UnavailableError) as info:
            await running
        assert info.value.task == W1
        assert f"{W1} (on worker-1) was killed by SIGKILL; it " in info.value.message
        await session.run(give)
        assert await session.run(y) == 18.0


@simulated(restart=OFTEN)
async def test_what_a_ps_without_snapshots_lost_is_an_error_until_restored(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    w = on(PS0, lambda: ops.Variable([1.0, 2.0], name="w"))
    add = on(W1, lambda: w.assign_add([1.0, 1.0]))
    async with cluster.session(graph) as session:
        await session.run(w.initializer)
        np.testing.assert_array_equal(await session.run(add), [2.0, 3.0])
        await crashed(cluster, "ps")
        for _ in range(2):
            with pytest.raises(errors.WorkerRestartedError, match="Variables lost: w"):
                await session.run(add)
        assert (await session.reattach(restore=w.initializer)).lost == ("w",)
        np.testing.assert_array_equal(await session.run(add), [2.0, 3.0])


@simulated(settings=WAITING)
async def test_a_step_waits_no_longer_than_its_limit(cluster: SimulatedCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: x + 1.0)
    async with cluster.session(graph) as session:
        assert await session.run(y, {x: 1.0}) == 2.0
        await crashed(cluster, "worker", 1)
        began = cluster.loop.now
        with pytest.raises((errors.UnavailableError, errors.DeadlineExceededError)):
            await session.run(y, {x: 1.0}, timeout=0.05)
        assert cluster.loop.now - began < 0.2
        await cluster.restart("worker", 1)
        assert await session.run(y, {x: 1.0}) == 2.0


# -- masters ---------------------------------------------------------------------------------------
@simulated(restart=OFTEN)
async def test_a_ps_that_died_with_the_master_is_not_used_as_if_it_had_not(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    v = on(PS0, lambda: ops.Variable(5.0, name="v"))
    session: Any = cluster.session(graph)
    async with session:
        await session.run(v.initializer)
        for job in ("ps", "worker"):
            cluster.task(job).crash()
        await eventually(lambda: session._session.connection.lost_master)
        with pytest.raises(errors.WorkerRestartedError, match=f"has lost what it kept on {PS0}"):
            await session.run(v)
        assert (await session.reattach(restore=v.initializer)).lost == ("v",)
        assert await session.run(v) == 5.0


@simulated(restart=OFTEN)
async def test_state_of_the_session_alone_ends_with_its_master(cluster: SimulatedCluster, graph: Graph) -> None:
    v = on(PS0, lambda: ops.Variable(5.0, name="v"))
    async with cluster.session(graph, config=ConfigProto(isolate_session_state=True)) as session:
        await session.run(v.initializer)
        await crashed(cluster, "worker")
        with pytest.raises(errors.WorkerRestartedError, match=f"has lost what it kept on {PS0}"):
            await session.run(v)
        assert (await session.reattach(restore=v.initializer)).lost == ("v",)
        assert await session.run(v) == 5.0


# -- sessions that wait ------------------------------------------------------------------------------
async def cancelled_while_it_hangs_up(session: Any, run: Coroutine[Any, Any, Any], monkeypatch: Any) -> None:
    """Cancels a run that goes on after a loss, at the moment at which the lost connection is closed."""
    master, closed, never = session._session.connection.master, asyncio.Event(), asyncio.Event()
    hang_up = master.hang_up

    async def held(grace: float) -> None:
        await hang_up(grace)
        closed.set()
        await never.wait()

    with monkeypatch.context() as patch:
        patch.setattr(master, "hang_up", held)
        running = asyncio.create_task(run)
        await soon(closed.wait())
        await cancelled(running)


@simulated(settings=WAITING)
async def test_a_session_that_is_closed_while_it_waits_for_its_master_ends_its_runs(
    cluster: SimulatedCluster, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    session: Any = cluster.session(graph)
    assert await session.run(y, {x: 1.0}) == 2.0
    await crashed(cluster, "worker")
    await eventually(lambda: session._session.connection.lost_master)
    await cancelled_while_it_hangs_up(session, session.run(y, {x: 1.0}), monkeypatch)
    waiting = [asyncio.create_task(session.run(y, {x: 1.0})) for _ in range(3)]
    await eventually(lambda: session._session.connection.recovery._resuming.locked())
    await cancelled(waiting[0])
    with pytest.raises(errors.DeadlineExceededError, match="to be started again"):
        await session.run(y, {x: 1.0}, timeout=0.05)
    await soon(session.close())
    for run in waiting[1:]:
        with pytest.raises(errors.CancelledError, match="closed"):
            await soon(run)


@simulated(settings=WAITING)
async def test_runs_that_wait_together_for_a_task_that_stays_away_end_together(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. A session loses its master, and a task with state. 2. Its runs wait: one asks the new master for that task,
    the others wait for what comes of that. 3. They have the same error, none after another wait of its own."""
    kept = on(PS0, lambda: ops.Variable(5.0, name="kept"))
    session: Any = cluster.session(graph)
    await session.run(kept.initializer)
    await crashed(cluster, "ps")
    await crashed(cluster, "worker")
    await eventually(lambda: session._session.connection.lost_master)
    began = cluster.loop.now
    running = [asyncio.create_task(session.run(kept)) for _ in range(5)]
    await cluster.restart("worker")
    for run in running:
        with pytest.raises(errors.UnavailableError, match=f"{PS0} cannot be reached from there now") as info:
            await run
        assert info.value.task == PS0
    assert PATIENCE < cluster.loop.now - began < 2 * PATIENCE
    await cluster.restart("ps")
    with pytest.raises(errors.WorkerRestartedError, match="what it kept on"):
        await session.run(kept)
    await session.close()


# -- what new tasks are told -----------------------------------------------------------------------
@simulated({"worker": 2}, restart=1)
async def test_a_new_task_hears_which_tasks_are_given_up(cluster: SimulatedCluster) -> None:
    """Else its steps would wait for them."""
    former = await crashed(cluster, "worker", 1)
    await eventually(lambda: cluster.task("worker", 1) is not former)
    await crashed(cluster, "worker", 1)
    await eventually(lambda: cluster._restarts.given_up == {W1})
    added = await soon(cluster.add("worker"))
    assert added.server is not None
    assert added.server._cluster_view.given_up == {W1}

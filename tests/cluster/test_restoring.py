"""Recovery leaves healthy state alone: ``reattach`` restores what is lost, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, OpError, WorkerRestartedError
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import PS0, W0, W1, crashed, on, simulated


async def another_life(cluster: SimulatedCluster, job: str, index: int = 0) -> None:
    """Ends a task in order and starts it again at its address."""
    await cluster.task(job, index).stop(10.0)
    await cluster.restart(job, index)


class Model:
    """Variables on the ps and on worker 1, and a sum that needs both tasks."""

    def __init__(self) -> None:
        with on(PS0):
            self.v = ops.Variable(0.0, name="v")
            self.w = ops.Variable(0.0, name="w")
        with on(W1):
            self.u = ops.Variable(5.0, name="u")
            self.sum = self.v + self.w
            self.nothing = ops.constant(1.0) + 1.0
        self.train = ops.group(self.v.assign(1000.0), self.w.assign(2000.0), self.u.assign(3000.0))
        self.all = [self.v, self.w, self.u]
        self.initialize = ops.global_variables_initializer()


@simulated(seeds=1)
async def test_after_the_restart_of_a_worker_that_held_nothing_nothing_is_restored(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """As README and docs have taught it."""
    v = on(PS0, lambda: ops.Variable(0.0, name="v"))
    seen = on(W1, lambda: v + 0.0)
    called: list[Any] = []
    async with cluster.session(graph) as session:
        await session.run(v.assign(1000.0))
        for restore in (v.initializer, ops.global_variables_initializer(), called.append):
            await another_life(cluster, "worker", 1)
            found = await session.reattach(restore=restore)
            assert (found.restarted, found.lost, found.restored) == ((W1,), (), ())
            assert await session.run(seen) == 1000.0
            await another_life(cluster, "worker", 1)
            assert await session.run(seen) == 1000.0  # without any word of it
    assert not called


@simulated(seeds=1, snapshot_every=60.0)
async def test_what_came_back_from_a_snapshot_is_not_initialized_over(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    async with cluster.session(graph) as session:
        await session.run(model.v.assign(1000.0))
        await another_life(cluster, "ps")
        await session.run(model.nothing)
        with pytest.raises(WorkerRestartedError, match=r"lost: w; back .*: v"):
            await session.run(model.sum)
        found = await session.reattach(restore=model.initialize)
        assert (found.lost, found.restored) == (("w",), ("v",))
        assert await session.run(model.sum) == 1000.0


@simulated(seeds=1)
async def test_of_all_initializers_those_run_whose_variables_are_lost(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    async with cluster.session(graph) as session:
        await session.run(model.train)
        await another_life(cluster, "worker", 1)
        found = await session.reattach(restore=model.initialize)
        assert found.lost == ("u",)
        assert await session.run(model.all) == [1000.0, 2000.0, 5.0]


@simulated(seeds=1)
async def test_a_function_gets_the_names_of_what_is_lost(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    by_name = {v.op.name: v.initializer for v in model.all}
    seen: list[Any] = []

    async def restore(session: AsyncSession, lost: tuple[str, ...]) -> None:
        seen.append(lost)
        await session.run([by_name[name] for name in lost])

    async with cluster.session(graph) as session:
        await session.run(model.train)
        await another_life(cluster, "ps")
        await session.reattach(restore=restore)
        assert seen == [("v", "w")]
        assert await session.run(model.all) == [0.0, 0.0, 3000.0]


@simulated(seeds=1)
async def test_what_is_lost_is_told_though_a_reattach_was_given_up_at_any_time(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """Also while the master tells the other tasks of a task that has left, when it knows of the loss already."""
    model = Model()
    by_name = {v.op.name: v.initializer for v in model.all}

    async def restore(session: AsyncSession, lost: tuple[str, ...]) -> None:
        await session.run([by_name[name] for name in lost])

    async with cluster.session(graph) as session:
        ends = set()
        for number in range(24):
            await cluster.add("worker")
            await session.run(model.train)
            assert (await session.reattach()).lost == ()  # nothing of the last time is kept
            await cluster.remove("worker", 2)
            await another_life(cluster, "ps")
            attempt = asyncio.create_task(session.reattach(restore=restore))
            await asyncio.wait([attempt], timeout=0.0005 * number)
            attempt.cancel()
            await asyncio.wait([attempt])
            ends.add(attempt.cancelled())
            await session.reattach(restore=restore)
            assert await session.run(model.all) == [0.0, 0.0, 3000.0]
    assert ends == {True, False}


@simulated(seeds=1)
async def test_what_would_overwrite_healthy_state_is_refused_and_another_way_can_be_tried(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """What failed to be restored is lost still, and told again."""
    model = Model()
    with graph.control_dependencies([model.v.initializer]):
        tied = model.u.assign(7.0).op
    async with cluster.session(graph) as session:
        await session.run(model.train)
        await another_life(cluster, "worker", 1)
        with pytest.raises(FailedPreconditionError, match=r"u, lost, .*also writes v,"):
            await session.reattach(restore=tied)
        found = await session.reattach(restore=model.u.initializer)
        assert (found.restarted, found.lost) == ((), ("u",))
        assert await session.run(model.all) == [1000.0, 2000.0, 5.0]
        assert (await session.reattach()).lost == ()


@simulated(seeds=1)
async def test_what_another_session_has_restored_by_now_is_left_as_it_is(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    model = Model()
    async with cluster.session(graph) as first:
        await first.run(model.train)
        await another_life(cluster, "ps")
        async with cluster.session(graph) as second:
            await second.run([model.v.initializer, model.w.initializer])
            await second.run(model.v.assign(11.0))
        found = await first.reattach(restore=model.initialize)
        assert (found.restarted, found.lost) == ((PS0,), ())
        assert await first.run(model.all) == [11.0, 0.0, 3000.0]


@simulated(seeds=1)
async def test_after_the_loss_of_the_master_what_has_no_value_is_lost(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    own = on(W0, lambda: ops.Variable(3.0, name="own"))
    async with cluster.session(graph) as session:
        await session.run([model.train, own.initializer])
        await another_life(cluster, "worker")
        with pytest.raises(OpError):
            await session.run(own.read_value())
        found = await session.reattach(restore=ops.global_variables_initializer())
        assert found.lost == ("own",)
        assert await session.run([*model.all, own]) == [1000.0, 2000.0, 3000.0, 3.0]


@simulated(seeds=1)
async def test_a_restore_that_names_nothing_in_the_graph_is_refused(cluster: SimulatedCluster, graph: Graph) -> None:
    model = Model()
    async with cluster.session(graph) as session:
        await session.run(model.train)
        await another_life(cluster, "worker", 1)
        with pytest.raises(ValueError, match="nobody"):
            await session.reattach(restore="nobody")
        with pytest.raises((TypeError, InvalidArgumentError)):
            await session.reattach(restore=3)


@simulated(seeds=1, snapshot_every=60.0)
async def test_recovery_leaves_a_thousand_steps_alone(cluster: SimulatedCluster, graph: Graph) -> None:
    """1. A variable of the ps is worth a thousand steps. 2. A worker that holds nothing is killed; then the ps is
    stopped in order, and comes back by its snapshot. 3. The program restores as it was taught to."""
    v = on(PS0, lambda: ops.Variable(0.0, name="v"))
    seen = on(W1, lambda: v + 0.0)
    async with cluster.session(graph) as first, cluster.session(graph) as second:
        await first.run(v.initializer)
        await first.run(v.assign_add(1000.0))
        assert [await session.run(seen) for session in (first, second)] == [1000.0, 1000.0]
        await crashed(cluster, "worker", 1)
        await cluster.restart("worker", 1)
        for session in (first, second):
            await session.reattach(restore=v.initializer)
            assert await session.run(seen) == 1000.0
        await another_life(cluster, "ps")
        for session in (first, second):
            with pytest.raises(WorkerRestartedError, match="back from the snapshot after"):
                await session.run(seen)
            assert (await session.reattach(restore=ops.group(v.initializer))).restored == ("v",)
            assert await session.run(seen) == 1000.0

"""Recovery leaves healthy state alone: ``reattach`` restores what is lost, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, ClusterSpec, Graph, Server, ServerSettings, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, OpError, WorkerRestartedError
from tests.cluster.kit import PS0, W0, W1, on, soon
from tests.cluster.process_cluster import FACES, process_cluster

JOBS = {"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0", "127.0.0.1:0"]}
TASKS = {PS0: ("ps", 0), W0: ("worker", 0), W1: ("worker", 1)}


class Cluster:
    """A ps and two workers in this process, of which each may get another life at its address."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.servers: dict[str, Server] = {}

    async def start(self) -> None:
        for task, (job, index) in TASKS.items():
            self.servers[task] = Server(JOBS, job, index, settings=ServerSettings(**self._options))
            await self.servers[task].start()
        self._tell()

    def _tell(self) -> None:
        spec = ClusterSpec.of_tasks({t: s.target for t, s in self.servers.items()})
        for server in self.servers.values():
            server.learn_peers(spec)

    async def restart(self, task: str) -> None:
        job, index = TASKS[task]
        address = self.servers[task].target
        await self.servers[task].stop()
        spec = {t: s.target if t != task else address for t, s in self.servers.items()}
        self.servers[task] = Server(ClusterSpec.of_tasks(spec), job, index, settings=ServerSettings(**self._options))
        await self.servers[task].start()


@asynccontextmanager
async def clustered(**options: Any) -> AsyncIterator[Cluster]:
    cluster = Cluster(**options)
    await cluster.start()
    try:
        yield cluster
    finally:
        for server in cluster.servers.values():
            await server.stop()


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


async def test_after_the_restart_of_a_worker_that_held_nothing_nothing_is_restored(graph: Graph) -> None:
    """As README and docs have taught it."""
    v = on(PS0, lambda: ops.Variable(0.0, name="v"))
    seen = on(W1, lambda: v + 0.0)
    called: list[Any] = []
    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run(v.assign(1000.0)))
        for restore in (v.initializer, ops.global_variables_initializer(), called.append):
            await cluster.restart(W1)
            found = await soon(session.reattach(restore=restore))
            assert (found.restarted, found.lost, found.restored) == ((W1,), (), ())
            assert await soon(session.run(seen)) == 1000.0
            await cluster.restart(W1)
            assert await soon(session.run(seen)) == 1000.0  # without any word of it
    assert not called


async def test_what_came_back_from_a_snapshot_is_not_initialized_over(tmp_path: Path, graph: Graph) -> None:
    model = Model()
    async with clustered(snapshot_dir=tmp_path) as cluster:
        async with AsyncSession(cluster.servers[W0].target, graph=graph) as session:
            await soon(session.run(model.v.assign(1000.0)))
            await cluster.restart(PS0)
            await soon(session.run(model.nothing))
            with pytest.raises(WorkerRestartedError, match=r"lost: w; back .*: v"):
                await soon(session.run(model.sum))
            found = await soon(session.reattach(restore=model.initialize))
            assert (found.lost, found.restored) == (("w",), ("v",))
            assert await soon(session.run(model.sum)) == 1000.0


async def test_of_all_initializers_those_run_whose_variables_are_lost(graph: Graph) -> None:
    model = Model()
    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run(model.train))
        await cluster.restart(W1)
        found = await soon(session.reattach(restore=model.initialize))
        assert found.lost == ("u",)
        assert await soon(session.run(model.all)) == [1000.0, 2000.0, 5.0]


async def test_a_function_gets_the_names_of_what_is_lost(graph: Graph) -> None:
    model = Model()
    by_name = {v.op.name: v.initializer for v in model.all}
    seen: list[Any] = []

    async def restore(session: AsyncSession, lost: tuple[str, ...]) -> None:
        seen.append(lost)
        await session.run([by_name[name] for name in lost])

    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run(model.train))
        await cluster.restart(PS0)
        await soon(session.reattach(restore=restore))
        assert seen == [("v", "w")]
        assert await soon(session.run(model.all)) == [0.0, 0.0, 3000.0]


async def test_what_would_overwrite_healthy_state_is_refused_and_another_way_can_be_tried(graph: Graph) -> None:
    """What failed to be restored is lost still, and told again."""
    model = Model()
    with graph.control_dependencies([model.v.initializer]):
        tied = model.u.assign(7.0).op
    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run(model.train))
        await cluster.restart(W1)
        with pytest.raises(FailedPreconditionError, match=r"u, lost, .*also writes v,"):
            await soon(session.reattach(restore=tied))
        found = await soon(session.reattach(restore=model.u.initializer))
        assert (found.restarted, found.lost) == ((), ("u",))
        assert await soon(session.run(model.all)) == [1000.0, 2000.0, 5.0]
        assert (await soon(session.reattach())).lost == ()


async def test_what_another_session_has_restored_by_now_is_left_as_it_is(graph: Graph) -> None:
    model = Model()
    async with clustered() as cluster:
        target = cluster.servers[W0].target
        async with AsyncSession(target, graph=graph) as first:
            await soon(first.run(model.train))
            await cluster.restart(PS0)
            async with AsyncSession(target, graph=graph) as second:
                await soon(second.run([model.v.initializer, model.w.initializer]))
                await soon(second.run(model.v.assign(11.0)))
            found = await soon(first.reattach(restore=model.initialize))
            assert (found.restarted, found.lost) == ((PS0,), ())
            assert await soon(first.run(model.all)) == [11.0, 0.0, 3000.0]


async def test_after_the_loss_of_the_master_what_has_no_value_is_lost(graph: Graph) -> None:
    model = Model()
    own = on(W0, lambda: ops.Variable(3.0, name="own"))
    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run([model.train, own.initializer]))
        await cluster.restart(W0)
        with pytest.raises(OpError):
            await soon(session.run(own.read_value()))
        found = await soon(session.reattach(restore=ops.global_variables_initializer()))
        assert found.lost == ("own",)
        assert await soon(session.run([*model.all, own])) == [1000.0, 2000.0, 3000.0, 3.0]


async def test_a_restore_that_names_nothing_in_the_graph_is_refused(graph: Graph) -> None:
    model = Model()
    async with clustered() as cluster, AsyncSession(cluster.servers[W0].target, graph=graph) as session:
        await soon(session.run(model.train))
        await cluster.restart(W1)
        with pytest.raises(ValueError, match="nobody"):
            await soon(session.reattach(restore="nobody"))
        with pytest.raises((TypeError, InvalidArgumentError)):
            await soon(session.reattach(restore=3))


@pytest.mark.process
def test_recovery_of_processes_leaves_a_thousand_steps_alone(tmp_path: Path, graph: Graph) -> None:
    """1. A variable of the ps is worth a thousand steps. 2. A worker that holds nothing is killed; then the ps is
    stopped in order, and comes back by its snapshot. 3. The program restores as it was taught to."""
    v = on(PS0, lambda: ops.Variable(0.0, name="v"))
    seen = on(W1, lambda: v + 0.0)
    add = v.assign_add(1000.0).op
    with process_cluster({"ps": 1, "worker": 2}, snapshot_dir=tmp_path) as held:
        sessions = [held.session(face, held.target("worker"), graph=graph) for face in FACES]
        sessions[0].run(v.initializer)
        sessions[0].run(add)
        assert [session.run(seen) for session in sessions] == [1000.0, 1000.0]
        held.do(held.cluster.restart("worker", 1))
        for session in sessions:
            session.reattach(restore=v.initializer)
            assert session.run(seen) == 1000.0
        held.do(held.cluster.process("ps").stop(10.0))
        held.do(held.cluster.restart("ps"))
        for session in sessions:
            with pytest.raises(WorkerRestartedError, match="back from the snapshot after"):
                session.run(seen)
            assert session.reattach(restore=ops.group(v.initializer)).restored == ("v",)
            assert session.run(seen) == 1000.0
            session.close()

"""A cluster whose tasks come and go while sessions live: joining, leaving, moving, coming back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from actorsession import AsyncSession, ClusterSpec, Graph, Server, Tensor, ops
from actorsession.actors import Deadline
from actorsession.config import RunOptions
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError, WorkerRestartedError
from actorsession.messages.worker import WORKER, UpdateCluster
from tests.cluster.kit import PATIENCE, W0, W1, W2, InProcess, eventually, in_process, on, soon
from tests.ports import HoldPorts

ONE, TWO = {"worker": 1}, {"worker": 2}


@asynccontextmanager
async def joined(cluster: InProcess, index: int, port: int = 0) -> AsyncIterator[Server]:
    """One more server beside those of a cluster, which they are told of."""
    spec = {**cluster.spec.tasks(), f"/job:worker/replica:0/task:{index}": f"127.0.0.1:{port}"}
    async with Server(ClusterSpec.of_tasks(spec), "worker", index) as server:
        tell(cluster, {**spec, server.task: server.target}, server)
        yield server
    tell(cluster, cluster.spec.tasks())


def tell(cluster: InProcess, tasks: dict[str, str], *more: Server) -> None:
    for server in (*cluster.servers, *more):
        server.learn_peers(ClusterSpec.of_tasks(tasks))


def doubled_on(task: str, x: Tensor) -> Tensor:
    return on(task, lambda: x * 2.0)


async def devices(session: AsyncSession) -> list[str]:
    return [d.name.partition("/device")[0] for d in await session.list_devices()]


async def test_devices_of_a_task_that_joins_can_be_used_by_the_next_plan(way: str, graph: Graph) -> None:
    """1. A session over one task. 2. Another joins. 3. The same session runs nodes on both, and a plan
    that it had before runs on."""
    x = ops.placeholder("float32", [])
    first = doubled_on(W0, x)
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        assert await soon(session.run(first, {x: 1.0})) == 2.0
        async with joined(cluster, 1):
            assert await devices(session) == [W0, W1]
            second = doubled_on(W1, first)
            assert await soon(session.run(first, {x: 2.0})) == 4.0
            assert await soon(session.run([second, first], {x: 1.0})) == [4.0, 2.0]
            assert await devices(session) == [W0, W1]


async def test_a_program_waits_for_a_task_that_joins(way: str, graph: Graph) -> None:
    """The second call looks at the cluster after the first one has begun, and does not see the task."""
    ops.constant(1.0)
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        waiting = asyncio.create_task(session.wait_for("/job:worker", 2, timeout=PATIENCE))
        assert await soon(session.wait_for("/job:worker")) == [W0]
        assert not waiting.done()
        async with joined(cluster, 1):
            assert await soon(waiting) == [W0, W1]


async def test_a_task_that_leaves_fails_what_needs_it_and_nothing_else(way: str, graph: Graph) -> None:
    """The error names the node, the device and what there is; bringing the task back heals it."""
    x = ops.placeholder("float32", [])
    stays = doubled_on(W0, x)
    async with in_process(ONE) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            async with joined(cluster, 1):
                leaves = doubled_on(W1, x)
                assert await soon(session.run([stays, leaves], {x: 1.0})) == [2.0, 2.0]
            for _ in range(2):
                with pytest.raises(InvalidArgumentError, match="has left the cluster") as info:
                    await soon(session.run(leaves, {x: 1.0}))
                assert (info.value.node or "").startswith(leaves.op.name)
                assert f"{W1}/device:CPU:0" in info.value.message
                assert f"the devices are: {W0}/device:CPU:0. Start the task again" in info.value.message
            assert await soon(session.run(stays, {x: 2.0})) == 4.0
            assert await devices(session) == [W0]
            async with joined(cluster, 1):
                assert await soon(session.run(leaves, {x: 3.0})) == 6.0
        assert all(s.idle for s in cluster.statistics().values())


async def test_what_is_tied_to_a_departed_device_cannot_be_built_on(graph: Graph) -> None:
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        async with joined(cluster, 1):
            v = on(W1, lambda: ops.Variable(1.0))
            await soon(session.run(v.initializer))
        with pytest.raises(InvalidArgumentError, match="has left the cluster"):
            await soon(session.run(v.assign_add(1.0)))


async def test_a_session_is_told_of_variables_that_have_left_and_came_back_anew(way: str, graph: Graph) -> None:
    """1. A task with a variable leaves. 2. A run elsewhere sees that. 3. Another life of the task joins, where a
    program gives the variable a value: the session must not go on with it as if it were its own."""
    x = ops.placeholder("float32", [])
    stays = doubled_on(W0, x)
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        async with joined(cluster, 1):
            v = on(W1, lambda: ops.Variable(1.0, name="v"))
            await soon(session.run(v.initializer))
        assert await soon(session.run(stays, {x: 1.0})) == 2.0
        async with joined(cluster, 1):
            async with AsyncSession(cluster.target(), graph=graph) as other:
                await soon(other.run(v.initializer))
            for _ in range(2):
                with pytest.raises(WorkerRestartedError, match="v"):
                    await soon(session.run(v))
            assert await soon(session.run(stays, {x: 1.0})) == 2.0
            found = await soon(session.reattach())
            assert (found.restarted, found.lost) == ((W1,), ())
            assert await soon(session.run(v)) == 1.0


async def test_a_step_under_way_on_a_task_that_leaves_is_lost_with_it(graph: Graph) -> None:
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        async with joined(cluster, 1) as server:
            queue = on(W1, lambda: ops.FIFOQueue(1, "float32", shapes=[[]]))
            element = on(W1, queue.dequeue)
            assert await soon(session.run(on(W1, queue.size))) == 0
            run = asyncio.create_task(session.run(element))
            await eventually(lambda: server.statistics().steps == 1)
            tell(cluster, cluster.spec.tasks())
            with pytest.raises(UnavailableError, match=f"{W1} has left the cluster") as info:
                await soon(run)
            assert info.value.task == W1


async def test_a_task_that_leaves_drops_its_side_of_the_session(graph: Graph) -> None:
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        x = ops.placeholder("float32", [])
        async with joined(cluster, 1) as server:
            await soon(session.run(doubled_on(W1, x), {x: 1.0}))
            assert server.statistics().worker_sessions == 1
            tell(cluster, cluster.spec.tasks())
            z = doubled_on(W0, x)
            assert await soon(session.run(z, {x: 1.0})) == 2.0
            assert server.statistics().worker_sessions == 0


async def test_a_task_that_has_joined_and_does_not_answer_is_left_out_until_it_does(
    graph: Graph, caplog: pytest.LogCaptureFixture, hold_ports: HoldPorts
) -> None:
    """What does not need it runs; what does says what was tried, and runs once it is there."""
    x = ops.placeholder("float32", [])
    stays = doubled_on(W0, x)
    (port,) = hold_ports(1)
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        tell(cluster, {**cluster.spec.tasks(), W1: f"tcp://127.0.0.1:{port}"})
        with caplog.at_level(logging.WARNING, "actorsession.cluster"):
            assert await soon(session.run(stays, {x: 1.0})) == 2.0
            needs = doubled_on(W1, x)
            with pytest.raises(DeadlineExceededError, match="1 of 2 tasks did not") as info:
                await soon(session.run([stays, needs], {x: 1.0}, RunOptions(timeout_in_ms=600)))
        assert f"{W1} at tcp://127.0.0.1:{port}" in info.value.message
        assert f"goes on without {W1}" in caplog.text
        async with joined(cluster, 1, port):
            assert await soon(session.run([stays, needs], {x: 1.0})) == [2.0, 2.0]


async def test_a_task_that_moves_keeps_its_state_if_it_is_the_same_life(graph: Graph) -> None:
    """A server may be reached by another address; nothing is lost then."""
    v = on(W1, lambda: ops.Variable(5.0))
    async with in_process(TWO) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(v.initializer))
        elsewhere = cluster.target(W1).replace("127.0.0.1", "localhost")
        tell(cluster, {**cluster.spec.tasks(), W1: elsewhere})
        assert await soon(session.run(v.read_value())) == 5.0
        assert cluster.server(W1).statistics().worker_sessions == 1


async def test_another_life_at_another_address_is_told_and_not_used_unasked(graph: Graph) -> None:
    """Its variables are gone, so a step that goes on as if nothing had happened would be wrong."""
    with on(W1):
        v = ops.Variable(5.0, name="v")
        y = v.read_value() * 1.0
    other = on(W0, lambda: ops.constant(1.0) + 1.0)
    async with in_process(ONE) as cluster, joined(cluster, 1) as server:
        session = AsyncSession(cluster.target(), graph=graph)
        await soon(session.run(v.initializer))
        await server.stop()
        spec = ClusterSpec.of_tasks({**cluster.spec.tasks(), W1: "127.0.0.1:0"})
        async with Server(spec, "worker", 1) as again:
            tell(cluster, {**cluster.spec.tasks(), W1: again.target}, again)
            for _ in range(2):
                with pytest.raises(WorkerRestartedError) as info:
                    await soon(session.run(y))
                assert info.value.task == W1
                assert "Variables lost: v" in info.value.message
            assert await soon(session.run(other)) == 2.0
            found = await soon(session.reattach(restore=v.initializer))
            assert (found.restarted, found.lost) == ((W1,), ("v",))
            assert await soon(session.run(y)) == 5.0
            await session.close()


async def test_a_server_can_be_told_over_the_wire(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        spec = {**cluster.spec.tasks(), W1: "127.0.0.1:0"}
        async with Server(ClusterSpec.of_tasks(spec), "worker", 1) as server:
            tasks = {**spec, W1: server.target}
            worker = cluster.servers[0]._serves[WORKER]
            await worker.ask(UpdateCluster(cluster=tasks), Deadline.after(10))
            server.learn_peers(ClusterSpec.of_tasks(tasks))
            assert await soon(session.run(doubled_on(W1, x), {x: 4.0})) == 8.0


@pytest.mark.parametrize("tasks", [{W1: "tcp://h:1"}, {"worker0": "tcp://h:1"}, {}])
async def test_a_cluster_without_the_server_itself_is_refused_and_changes_nothing(tasks: dict[str, str]) -> None:
    async with in_process(TWO) as cluster:
        server = cluster.servers[0]
        before = dict(server._cluster_view.tasks())
        with pytest.raises(InvalidArgumentError):
            await server._serves[WORKER].ask(UpdateCluster(cluster=tasks), Deadline.after(10))
        assert dict(server._cluster_view.tasks()) == before


async def test_pushes_find_tasks_that_have_joined(way: str, graph: Graph) -> None:
    """A value goes over two tasks that both joined after the session began."""
    x = ops.placeholder("float32", [3])
    async with in_process(ONE) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(x, {x: np.ones(3, np.float32)}))
        async with joined(cluster, 1) as second:
            spec = {**cluster.spec.tasks(), W1: second.target, W2: "127.0.0.1:0"}
            async with Server(ClusterSpec.of_tasks(spec), "worker", 2) as third:
                tell(cluster, {**spec, W2: third.target}, second, third)
                y = doubled_on(W0, doubled_on(W2, doubled_on(W1, x)))
                value = await soon(session.run(y, {x: np.ones(3, np.float32)}))
    np.testing.assert_array_equal(value, np.full(3, 8.0))

"""``Session.reset`` of a master: its sessions end, and the containers of all tasks are cleared."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, Session, ops
from actorsession.config import ConfigProto
from actorsession.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    NotFoundError,
    UnavailableError,
)
from tests.cluster.kit import PS0, W0, W1, InProcess, eventually, on, soon
from tests.cluster.master_access import Way, way
from tests.cluster.process_cluster import ProcessCluster

__all__ = ["way"]


class Variables:
    """A variable on each task, and a count of those that have a value."""

    def __init__(self, tasks: tuple[str, ...] = (PS0, W0, W1)) -> None:
        self.all: list[Any] = []
        for task in tasks:
            with on(task):
                self.all.append(ops.Variable(1.0, name=f"v{len(self.all)}"))
        self.init = ops.group(*[v.initializer for v in self.all])


async def test_reset_clears_variables_on_all_tasks_and_ends_the_sessions(way: Way, graph: Graph) -> None:
    variables = Variables()
    sessions = [AsyncSession(way.target, graph=graph, config=way.config()) for _ in range(2)]
    for session in sessions:
        await session.run(variables.init)
    await AsyncSession.reset(way.target, config=way.config())
    for session in sessions:
        for _ in range(2):
            with pytest.raises(AbortedError, match="is not known to the master"):
                await session.run(variables.all[0])
        with pytest.raises(AbortedError):
            await session.list_devices()
        await session.close()
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        for variable in variables.all:
            with pytest.raises(FailedPreconditionError):
                await session.run(variable)


async def test_the_face_without_await_resets_too(way: Way, graph: Graph) -> None:
    variables = Variables()

    def use() -> None:
        with Session(way.target, graph=graph, config=way.config()) as session:
            session.run(variables.init)
            Session.reset(way.target, config=way.config())
            with pytest.raises(AbortedError):
                session.run(variables.init)

    await soon(asyncio.to_thread(use))


async def test_only_the_containers_that_are_named_are_cleared(cluster: InProcess, graph: Graph) -> None:
    with on(W1), graph.container("kept"):
        kept = ops.Variable(1.0, name="kept")
    with on(W1), graph.container("other"):
        other = ops.Variable(2.0, name="other")
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(ops.group(kept.initializer, other.initializer))
    await AsyncSession.reset(cluster.target(), ["other"])
    async with AsyncSession(cluster.target(), graph=graph) as session:
        assert await session.run(kept) == 1.0
        with pytest.raises(FailedPreconditionError):
            await session.run(other)


async def test_sessions_of_other_masters_live_on_without_their_variables(cluster: InProcess, graph: Graph) -> None:
    variables = Variables((W0, W1))
    async with AsyncSession(cluster.target(W1), graph=graph) as session:
        await session.run(variables.init)
        await AsyncSession.reset(cluster.target(W0))
        with pytest.raises(FailedPreconditionError):
            await session.run(variables.all[0])
        await session.run(variables.init)
        assert await session.run(variables.all) == [1.0, 1.0]


async def test_a_target_at_which_nobody_is_or_that_nobody_serves_is_an_error() -> None:
    config = ConfigProto(operation_timeout_in_ms=200)
    with pytest.raises(DeadlineExceededError, match=r"no master answers at tcp://127\.0\.0\.1:1"):
        await AsyncSession.reset("tcp://127.0.0.1:1", config=config)
    with pytest.raises(NotFoundError):
        await AsyncSession.reset("nowhere")


@pytest.mark.parametrize("scheme", ["unix", "inproc"])
async def test_masters_at_other_kinds_of_addresses_are_reset_too(scheme: str, graph: Graph, tmp_path: Any) -> None:
    address = f"unix://{tmp_path}/s" if scheme == "unix" else "inproc://a-master-to-reset"
    v = ops.Variable(1.0, name="v")
    async with Server({"worker": [address]}, "worker") as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await session.run(v.initializer)
            await AsyncSession.reset(server.target)
            with pytest.raises(AbortedError):
                await session.run(v)
        await eventually(lambda: server.statistics().idle)


@pytest.mark.process
async def test_a_stopped_worker_is_named_within_the_limit_and_the_others_are_cleared(
    mortal: ProcessCluster, graph: Graph
) -> None:
    """1. Worker 1 is stopped: it neither answers nor hangs up. 2. The reset ends within its limit and says
    so, and nothing of the process that worker 0 had before. 3. The session is closed all the same, and the
    variable of worker 0 gone."""
    await asyncio.wrap_future(mortal.begin(mortal.cluster.restart("worker", 0)))
    variables = Variables((W0, W1))
    config = ConfigProto(operation_timeout_in_ms=4000)
    target = mortal.target("worker")
    session = AsyncSession(target, graph=graph)
    await session.run(variables.init)
    mortal.cluster.process("worker", 1).send_signal(signal.SIGSTOP)
    with pytest.raises(UnavailableError) as caught:
        await soon(AsyncSession.reset(target, config=config))
    assert f"the sessions of {W0} are closed, but containers were not cleared on {W1}: " in (caught.value.message)
    assert "/task:0:" not in caught.value.message
    assert "killed" not in caught.value.message
    with pytest.raises(AbortedError):
        await session.run(variables.all[0])
    await session.close()
    mortal.cluster.process("worker", 1).send_signal(signal.SIGCONT)
    only_0 = ConfigProto(device_filters=[W0])
    small = Graph()
    with small.as_default(), on(W0):
        v = ops.Variable(1.0, name="v0")
    async with AsyncSession(target, graph=small, config=only_0) as session:
        with pytest.raises(FailedPreconditionError):
            await session.run(v)

"""``Session.reset`` of a master: its sessions end, and the containers of all tasks are cleared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, Session, errors, ops
from actorsession.actors import Deadline
from actorsession.cluster import read_statistics
from actorsession.config import ConfigProto, RunOptions
from actorsession.messages import GetStatus
from actorsession.testing import SimulatedCluster
from actorsession.testing.faults import Proxy
from tests.cluster.kit import PS0, W0, W1, InProcess, eventually, in_process, on, reach_over_links, simulated, soon
from tests.cluster.master_access import Way, made_ways
from tests.cluster.test_worker_cache import Task, push, tasks
from transports import Connection, Hello, WrongPeer, connect, listen
from transports.frame import WIRE_VERSION


class Variables:
    """A variable on each task, and a count of those that have a value."""

    def __init__(self, tasks: tuple[str, ...] = (PS0, W0, W1)) -> None:
        self.all: list[Any] = []
        for task in tasks:
            with on(task):
                self.all.append(ops.Variable(1.0, name=f"v{len(self.all)}"))
        self.init = ops.group(*[v.initializer for v in self.all])


@pytest.fixture(params=["inproc", "wire", "link"])
async def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Way]:
    if request.param == "link":
        reach_over_links(monkeypatch)
    async for made in made_ways(request.param):
        yield made


async def test_reset_clears_variables_on_all_tasks_and_ends_the_sessions(way: Way, graph: Graph) -> None:
    variables = Variables()
    sessions = [AsyncSession(way.target, graph=graph, config=way.config()) for _ in range(2)]
    for session in sessions:
        await session.run(variables.init)
    await AsyncSession.reset(way.target, config=way.config())
    for session in sessions:
        for _ in range(2):
            with pytest.raises(errors.AbortedError, match="is not known to the master"):
                await session.run(variables.all[0])
        with pytest.raises(errors.AbortedError):
            await session.list_devices()
        await session.close()
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        for variable in variables.all:
            with pytest.raises(errors.FailedPreconditionError):
                await session.run(variable)


async def test_the_face_without_await_resets_too(way: Way, graph: Graph) -> None:
    variables = Variables()

    def use() -> None:
        with Session(way.target, graph=graph, config=way.config()) as session:
            session.run(variables.init)
            Session.reset(way.target, config=way.config())
            with pytest.raises(errors.AbortedError):
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
        with pytest.raises(errors.FailedPreconditionError):
            await session.run(other)


async def test_sessions_of_other_masters_live_on_without_their_variables(cluster: InProcess, graph: Graph) -> None:
    variables = Variables((W0, W1))
    async with AsyncSession(cluster.target(W1), graph=graph) as session:
        await session.run(variables.init)
        await AsyncSession.reset(cluster.target(W0))
        with pytest.raises(errors.FailedPreconditionError):
            await session.run(variables.all[0])
        await session.run(variables.init)
        assert await session.run(variables.all) == [1.0, 1.0]


async def test_a_target_at_which_nobody_is_or_that_nobody_serves_is_an_error() -> None:
    config = ConfigProto(operation_timeout_in_ms=200)
    with pytest.raises(errors.DeadlineExceededError, match=r"no master answers at tcp://127\.0\.0\.1:1"):
        await AsyncSession.reset("tcp://127.0.0.1:1", config=config)
    with pytest.raises(errors.NotFoundError):
        await AsyncSession.reset("nowhere")


@pytest.mark.parametrize("scheme", ["unix", "inproc"])
async def test_masters_at_other_kinds_of_addresses_are_reset_too(scheme: str, graph: Graph, tmp_path: Any) -> None:
    address = f"unix://{tmp_path}/s" if scheme == "unix" else "inproc://a-master-to-reset"
    v = ops.Variable(1.0, name="v")
    async with Server({"worker": [address]}, "worker") as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await session.run(v.initializer)
            await AsyncSession.reset(server.target)
            with pytest.raises(errors.AbortedError):
                await session.run(v)
        await eventually(lambda: server.statistics().idle)


@simulated()
async def test_a_stopped_worker_is_named_in_time_and_others_are_cleared(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. Worker 1 is stopped: it neither answers nor hangs up. 2. The reset ends within its limit and says
    so, and nothing of the process that worker 0 had before. 3. The session is closed all the same, and the
    variable of worker 0 gone."""
    await cluster.restart("worker")
    variables = Variables((W0, W1))
    target = cluster.target("worker")
    session = cluster.session(graph)
    await session.run(variables.init)
    cluster.task("worker", 1).stall()
    began = cluster.loop.now
    with pytest.raises(errors.UnavailableError) as caught:
        await AsyncSession.reset(target, config=ConfigProto(operation_timeout_in_ms=4000))
    assert cluster.loop.now - began < 5.0
    assert f"the sessions of {W0} are closed, but containers were not cleared on {W1}: " in caught.value.message
    assert "/task:0:" not in caught.value.message
    assert "killed" not in caught.value.message
    with pytest.raises(errors.AbortedError):
        await session.run(variables.all[0])
    await session.close()
    cluster.task("worker", 1).go_on()
    with Graph().as_default() as small, on(W0):
        v = ops.Variable(1.0, name="v0")
    async with cluster.session(small, config=ConfigProto(device_filters=[W0])) as session:
        with pytest.raises(errors.FailedPreconditionError):
            await session.run(v)


# How many connections a proxy resets before it lets the next one through.
RESETS = 3


async def cut(proxy: Proxy, cluster: InProcess) -> None:
    """Resets all connections to worker 1, and waits until the master knows of it."""
    proxy.cut()
    links = cluster.server(W0)._cache.links
    await eventually(lambda: links.in_use.get(W1) is None)


async def past(proxy: Proxy, work: Awaitable[Any]) -> Any:
    """What comes of work whose first connections through a proxy are reset in their hello."""
    proxy.cut()
    before = proxy.connections
    begun = asyncio.ensure_future(work)
    await eventually(lambda: proxy.connections >= before + RESETS)
    assert not begun.done()
    proxy.heal()
    return await soon(begun)


async def test_a_client_reaches_its_master(over_links: None, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    async with in_process({"worker": 1}) as cluster, Proxy(cluster.target()) as proxy, asyncio.timeout(30):
        session = AsyncSession(proxy.address, graph=graph)
        assert await past(proxy, session.run(x + 1.0, {x: 1.0})) == 2.0
        await session.close()


async def test_a_master_reaches_a_worker_in_the_step_that_needs_it(graph: Graph) -> None:
    """1. A session has run on both. 2. The link to the worker is reset, and those after it in their hello.
    3. The next step needs the worker."""
    v = on(W1, lambda: ops.Variable(3.0))
    async with in_process() as cluster, Proxy(cluster.target(W1)) as proxy:
        for server in cluster.servers:
            server.learn_peers({"worker": [cluster.target(W0), proxy.address]})
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await soon(session.run(v.initializer))
            add = v.assign_add(1.0)
            await cut(proxy, cluster)
            assert await past(proxy, session.run(add)) == 4.0


async def test_a_worker_reaches_another_to_push_to_it() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b), Proxy(b.address) as proxy:
        a.cache.learn({W1: proxy.address})

        async def pushed() -> None:
            a.cache.push(W1, push(1))
            await eventually(lambda: len(b.post.pushed) == 1)

        await past(proxy, pushed())
        assert a.lost == []


async def test_whoever_asks_a_server_for_its_counters_reaches_it() -> None:
    async with in_process({"worker": 1}) as cluster, Proxy(cluster.target()) as proxy:
        assert (await past(proxy, read_statistics(proxy.address))).task == W0


async def test_the_limit_of_a_step_holds_and_its_error_says_what_the_attempts_ended_with(graph: Graph) -> None:
    v = on(W1, lambda: ops.Variable(3.0))
    async with in_process() as cluster, Proxy(cluster.target(W1)) as proxy:
        for server in cluster.servers:
            server.learn_peers({"worker": [cluster.target(W0), proxy.address]})
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await soon(session.run(v.initializer))
            await cut(proxy, cluster)
            with pytest.raises(errors.DeadlineExceededError, match=f"{W1}") as info:
                await soon(session.run(v.value(), options=RunOptions(timeout_in_ms=500)))
            assert "the registration of " in info.value.message
            proxy.heal()
            assert await soon(session.run(v.value())) == 3.0


async def test_who_gives_up_waiting_for_a_link_is_told_what_the_attempts_ended_with() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b), Proxy(b.address) as proxy:
        a.cache.learn({W1: proxy.address})
        proxy.cut()
        with pytest.raises(errors.DeadlineExceededError, match=r"phase hello, errno \d+ ECONNRESET") as info:
            await soon(a.cache.worker(W1).ask(GetStatus(), Deadline.after(0.5)))
        assert info.value.task == W1
        assert proxy.address in info.value.message


# -- of another version ----------------------------------------------------------------------------
OLDER = WIRE_VERSION - 1


def older(task: str) -> Hello:
    """The hello of a release whose steps have other frames."""
    return Hello(cluster_id="", task=task, incarnation=1, pid=1, wire_versions=(OLDER,))


async def test_a_client_of_another_version_is_refused_with_both_versions() -> None:
    async with in_process({"worker": 1}) as cluster:
        with pytest.raises(WrongPeer) as info:
            await soon(connect(cluster.target(), older("client")))
    assert f"no common wire version: the listener {W0} supports [{WIRE_VERSION}]" in str(info.value)
    assert f"client supports [{OLDER}]; both must run the same version of the library" in str(info.value)


async def test_a_session_is_told_at_once_that_its_master_has_another_version(graph: Graph) -> None:
    async def never(connection: Connection) -> None:
        raise AssertionError("a peer of another version is served")

    async with await listen("tcp://127.0.0.1:0", older(W0), never) as listener:
        session = AsyncSession(listener.address, graph=graph)
        with pytest.raises(errors.UnavailableError) as info:
            await soon(session.list_devices())
        await session.close()
    assert f"no master of ours is at {listener.address}: refused by the listener: no common wire version: " in (
        info.value.message
    )
    assert f"the listener {W0} supports [{OLDER}]" in info.value.message
    assert f"client supports [{WIRE_VERSION}]; both must run the same version of the library" in info.value.message

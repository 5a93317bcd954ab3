"""Hellos that fail: a reset one is sent again within the limit of who needs it, one of another version is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.actors import Deadline
from actorsession.cluster import read_statistics
from actorsession.config import RunOptions
from actorsession.errors import DeadlineExceededError, UnavailableError
from actorsession.messages import GetStatus
from tests.cluster.kit import W0, W1, InProcess, eventually, in_process, on, soon
from tests.cluster.proxy import Proxy
from tests.cluster.test_worker_cache import Task, push, tasks
from transports import Connection, Hello, WrongPeer, connect, listen
from transports.frame import WIRE_VERSION

# How many connections a proxy resets before it lets the next one through.
RESETS = 3


@asynccontextmanager
async def proxied(target: str) -> AsyncIterator[Proxy]:
    async with Proxy(target) as proxy:
        yield proxy


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
    async with in_process({"worker": 1}) as cluster, proxied(cluster.target()) as proxy, asyncio.timeout(30):
        session = AsyncSession(proxy.address, graph=graph)
        assert await past(proxy, session.run(x + 1.0, {x: 1.0})) == 2.0
        await session.close()


async def test_a_master_reaches_a_worker_in_the_step_that_needs_it(graph: Graph) -> None:
    """1. A session has run on both. 2. The link to the worker is reset, and those after it in their hello.
    3. The next step needs the worker."""
    with on(W1):
        v = ops.Variable(3.0)
    async with in_process() as cluster, proxied(cluster.target(W1)) as proxy:
        for server in cluster.servers:
            server.learn_peers({"worker": [cluster.target(W0), proxy.address]})
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await soon(session.run(v.initializer))
            add = v.assign_add(1.0)
            await cut(proxy, cluster)
            assert await past(proxy, session.run(add)) == 4.0


async def test_a_worker_reaches_another_to_push_to_it() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b), proxied(b.address) as proxy:
        a.cache.learn({W1: proxy.address})

        async def pushed() -> None:
            a.cache.push(W1, push(1))
            await eventually(lambda: len(b.post.pushed) == 1)

        await past(proxy, pushed())
        assert a.lost == []


async def test_whoever_asks_a_server_for_its_counters_reaches_it() -> None:
    async with in_process({"worker": 1}) as cluster, proxied(cluster.target()) as proxy:
        assert (await past(proxy, read_statistics(proxy.address))).task == W0


async def test_the_limit_of_a_step_holds_and_its_error_says_what_the_attempts_ended_with(graph: Graph) -> None:
    with on(W1):
        v = ops.Variable(3.0)
    async with in_process() as cluster, proxied(cluster.target(W1)) as proxy:
        for server in cluster.servers:
            server.learn_peers({"worker": [cluster.target(W0), proxy.address]})
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await soon(session.run(v.initializer))
            await cut(proxy, cluster)
            with pytest.raises(DeadlineExceededError, match=f"{W1}") as info:
                await soon(session.run(v.value(), options=RunOptions(timeout_in_ms=500)))
            assert "the registration of " in info.value.message
            proxy.heal()
            assert await soon(session.run(v.value())) == 3.0


async def test_who_gives_up_waiting_for_a_link_is_told_what_the_attempts_ended_with() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b), proxied(b.address) as proxy:
        a.cache.learn({W1: proxy.address})
        proxy.cut()
        with pytest.raises(DeadlineExceededError, match=r"phase hello, errno \d+ ECONNRESET") as info:
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
        with pytest.raises(UnavailableError) as info:
            await soon(session.list_devices())
        await session.close()
    assert f"no master of ours is at {listener.address}: refused by the listener: no common wire version: " in (
        info.value.message
    )
    assert f"the listener {W0} supports [{OLDER}]" in info.value.message
    assert f"client supports [{WIRE_VERSION}]; both must run the same version of the library" in info.value.message

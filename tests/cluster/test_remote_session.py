"""The client's side of a session: connecting, giving up, closing, threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, Session, errors, ops
from actorsession.config import ConfigProto
from tests.cluster.kit import W0, W1, Gate, InProcess, eventually, in_process, on, silent_address, soon
from tests.loops import cancelled
from transports import Connection, Hello, listen, parse_address


def quick(milliseconds: int = 300) -> ConfigProto:
    return ConfigProto(operation_timeout_in_ms=milliseconds)


# -- connecting ------------------------------------------------------------------------------------
async def test_a_target_where_nobody_is_is_unavailable_within_the_limit(graph: Graph) -> None:
    session = AsyncSession("tcp://127.0.0.1:1", graph=graph, config=quick())
    with pytest.raises(errors.UnavailableError, match=r"no master answers at tcp://127.0.0.1:1 after ") as info:
        await soon(session.run(ops.constant(1.0)))
    assert "attempts; last: cannot connect" in info.value.message
    assert "ECONNREFUSED" in info.value.message
    await session.close()


@asynccontextmanager
async def a_server_that(serve: Callable[..., Awaitable[None]]) -> AsyncIterator[str]:
    """A tcp server that does something else than we expect."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def test_a_target_that_never_answers_is_unavailable_within_the_limit(graph: Graph) -> None:
    with silent_address() as target:
        session = AsyncSession(target, graph=graph, config=quick())
        with pytest.raises(errors.UnavailableError, match=target):
            await soon(session.list_devices())
        await session.close()


async def test_a_target_that_is_no_master_is_found_out_at_once(graph: Graph) -> None:
    async def speak_another_language(reader: Any, writer: Any) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async with a_server_that(speak_another_language) as target:
        session = AsyncSession(target, graph=graph, config=quick(60_000))
        with pytest.raises(errors.UnavailableError, match=f"no master of ours is at {target}"):
            await soon(session.list_devices())
        await session.close()


async def test_a_master_that_comes_late_is_waited_for(over_links: Any, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    async with in_process({"worker": 1}) as cluster:
        target = cluster.target()
    tried = asyncio.Event()

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tried.set()
        writer.close()

    address = parse_address(target)
    session = AsyncSession(target, graph=graph)
    async with await asyncio.start_server(hang_up, address.host, address.port):
        run = asyncio.create_task(session.run(a + 1.0, {a: 1.0}))
        await soon(tried.wait())
    async with Server({"worker": [target]}, "worker"):
        assert await soon(run) == 2.0
        await session.close()


async def test_a_master_that_stops_answering_ends_the_run_within_the_limit(graph: Graph) -> None:
    """Accepts, and then neither answers nor hangs up."""
    over = asyncio.Event()

    async def hold(connection: Connection) -> None:
        await over.wait()

    hello = Hello(cluster_id="", task=W0, incarnation=1, pid=1)
    async with await listen("tcp://127.0.0.1:0", hello, hold) as listener:
        session = AsyncSession(listener.address, graph=graph, config=quick())
        with pytest.raises(errors.DeadlineExceededError, match=f"{W0} at .* did not answer CreateSession"):
            await soon(session.list_devices())
        await soon(session.close())
        over.set()


@pytest.mark.usefixtures("hasty_masters")
async def test_entering_a_session_that_cannot_connect_leaves_nothing_open(graph: Graph) -> None:
    async with in_process() as cluster:
        await cluster.server(W1).stop()
        waits = ConfigProto(wait_for_all_tasks=True)
        with pytest.raises(errors.DeadlineExceededError, match=W1):
            async with AsyncSession(cluster.target(), graph=graph, config=waits):
                raise AssertionError("not reached")
        assert cluster.server(W0).statistics().links == ()


async def test_cancelling_the_creation_of_a_session_leaves_nothing_at_the_master(
    over_links: Any, cluster: InProcess, graph: Graph
) -> None:
    for turns in range(0, 40, 3):
        session = AsyncSession(cluster.target(), graph=graph)
        connecting = asyncio.create_task(session.list_devices())
        for _ in range(turns):
            await asyncio.sleep(0)
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)
        assert len(await soon(session.list_devices())) == 2
        await soon(session.close())
        await eventually(lambda: not any(s.worker_sessions for s in cluster.statistics().values()))
        assert cluster.server(W0).statistics().sessions == 0


# -- running ---------------------------------------------------------------------------------------
# -- closing ---------------------------------------------------------------------------------------
async def test_closing_does_not_wait_for_a_master_that_is_gone(over_links: Any, graph: Graph) -> None:
    async with in_process() as cluster:
        session = AsyncSession(cluster.target(), graph=graph)
        await session.list_devices()
        await cluster.server(W0).stop()
        async with asyncio.timeout(4):
            await session.close()
            await session.close()


async def test_a_session_that_was_never_used_closes_without_connecting(graph: Graph) -> None:
    session = AsyncSession("tcp://127.0.0.1:1", graph=graph)
    await soon(session.close())
    with pytest.raises(errors.CancelledError, match="Session has been closed"):
        await session.list_devices()


async def test_a_session_that_is_closed_while_it_connects_does_not_stay_open(over_links: Any, graph: Graph) -> None:
    spec = {"worker": ["127.0.0.1:0", "127.0.0.1:1"]}
    async with Server(spec, "worker", 0) as server:
        session = AsyncSession(server.target, graph=graph, config=quick(60_000))
        connecting = asyncio.create_task(session.list_devices())
        await eventually(lambda: len(server.statistics().links) == 1)
        await soon(session.close())
        with pytest.raises(errors.CancelledError):
            await soon(connecting)
        await eventually(lambda: server.statistics().links == ())


# -- the synchronous face --------------------------------------------------------------------------
@pytest.mark.usefixtures("way")
async def test_a_session_in_another_thread_than_its_server_works_too(cluster: InProcess, graph: Graph) -> None:
    v = on(W1, lambda: ops.Variable(ops.zeros([5]), name="v"))
    a = ops.placeholder("float32", [5])
    add = v.assign_add(a)

    def use() -> list[Any]:
        with Session(cluster.target(), graph=graph) as session:
            session.run(v.initializer)
            values = []
            for _ in range(5):
                session.run(add.op, {a: np.ones(5)})
                values.append(session.run(v))
            for value in values:
                value += 0.0  # the caller's own
            return values

    def use_too_long() -> None:
        with (
            Session(cluster.target(), graph=graph, config=quick(100)) as session,
            pytest.raises(errors.DeadlineExceededError),
        ):
            session.run(gated, {a: np.ones(5)})

    gate = Gate(f"another thread {threading.get_ident()}")
    gated = gate(a)
    values = await soon(asyncio.to_thread(use))
    await soon(asyncio.to_thread(use_too_long))
    np.testing.assert_array_equal(values, [np.full(5, 1.0 + i) for i in range(5)])
    gate.open()
    await cluster.until_idle()


DEAD = "tcp://127.0.0.1:1"  # nobody listens there
QUICK = ConfigProto(operation_timeout_in_ms=300)


async def test_the_master_that_answers_is_taken_wherever_it_stands(way: str, cluster: InProcess, graph: Graph) -> None:
    total = ops.constant(1.0) + 1.0
    alive = cluster.target(W1)
    with silent_address() as silent:
        for target in (f"{alive},{DEAD}", f"{DEAD},{alive}", f"{silent}, {DEAD}, {alive}"):
            async with AsyncSession(target, graph=graph) as session:
                assert await soon(session.run(total)) == 2.0
                assert session.target == target
                assert cluster.server(W1).statistics().sessions == 1
                first = (await session.list_devices())[0]
                assert first.name.startswith(W1)
    assert cluster.server(W0).statistics().sessions == 0


async def test_addresses_without_a_scheme_are_tcp(over_links: Any, cluster: InProcess, graph: Graph) -> None:
    bare = cluster.target(W1).removeprefix("tcp://")
    for target in (bare, f"127.0.0.1:1,{bare}", f"grpc://127.0.0.1:1,grpc://{bare}"):
        async with AsyncSession(target, graph=graph) as session:
            assert await soon(session.run(ops.constant(3.0))) == 3.0


async def test_of_two_masters_one_runs_the_session_and_the_other_keeps_nothing(
    over_links: Any, cluster: InProcess, graph: Graph
) -> None:
    target = f"{cluster.target(W0)},{cluster.target(W1)}"
    async with AsyncSession(target, graph=graph) as session:
        assert await soon(session.run(ops.constant(3.0))) == 3.0
        assert sum(seen.sessions for seen in cluster.statistics().values()) == 1
    await eventually(lambda: not any(seen.sessions for seen in cluster.statistics().values()))


async def test_where_nobody_answers_each_address_is_named_with_its_reason(graph: Graph) -> None:
    with silent_address() as silent:
        session = AsyncSession(f"{DEAD},{silent}", graph=graph, config=QUICK)
        with pytest.raises(errors.UnavailableError, match=r"^none of 2 masters can be used: ") as raised:
            await soon(session.run(ops.constant(1.0)))
        assert f"(1) no master answers at {DEAD} after " in raised.value.message
        assert "ECONNREFUSED" in raised.value.message
        assert f"(2) no master answers at {silent} after " in raised.value.message
        # The time limit is the caller's own.
        with pytest.raises(errors.DeadlineExceededError, match="none of 2 masters"):
            await soon(AsyncSession.reset(f"{DEAD},{silent}", config=QUICK))
        await session.close()


@pytest.mark.usefixtures("over_links")
async def test_a_master_that_refuses_us_is_named_beside_one_that_is_not_there(graph: Graph) -> None:
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(token="x" * 40)) as server:
        refused = AsyncSession(f"{server.target},{DEAD}", graph=graph, config=QUICK)
        with pytest.raises(errors.UnavailableError) as raised:
            await soon(refused.list_devices())
        assert f"(1) the master at {server.target}: " in raised.value.message
        assert f"(2) no master answers at {DEAD}" in raised.value.message
        alone = AsyncSession(server.target, graph=graph, config=QUICK)
        with pytest.raises(errors.UnauthenticatedError):
            await soon(alone.list_devices())
        await refused.close()
        await alone.close()


async def test_a_session_goes_on_at_another_master_once_its_own_is_gone(over_links: Any, graph: Graph) -> None:
    total = ops.constant(1.0) + 1.0
    async with in_process({"worker": 1}) as first, in_process({"worker": 1}) as second:
        async with AsyncSession(f"{first.target()},{DEAD}", graph=graph) as session:
            assert await soon(session.run(total)) == 2.0
        target = f"{first.target()},{second.target()}"
        await first.server(W0).stop()
        async with AsyncSession(target, graph=graph) as session:
            assert await soon(session.run(total)) == 2.0
            assert second.server(W0).statistics().sessions == 1


async def test_reattach_finds_the_other_master(processes: LocalCluster, graph: Graph) -> None:
    total = ops.constant(1.0) + 1.0
    async with in_process({"worker": 1}) as own:
        target = f"{own.target()},{processes.target('worker')}"
        async with AsyncSession(target, graph=graph) as session:
            assert await soon(session.run(total)) == 2.0
            assert own.server(W0).statistics().sessions == 1  # called directly, so it is the first
            await own.server(W0).stop()
            with pytest.raises((errors.UnavailableError, errors.AbortedError)):
                await soon(session.run(total))
            await soon(session.reattach())
            assert await soon(session.run(total)) == 2.0


@pytest.mark.usefixtures("over_links")
async def test_a_session_that_brings_its_cluster_is_the_task_at_the_address_that_was_taken(graph: Graph) -> None:
    async with in_process({"worker": 1}) as cluster:
        config = ConfigProto(cluster_def={"chief": [cluster.target()]})
        async with AsyncSession(f"{DEAD},{cluster.target()}", graph=graph, config=config) as session:
            assert (await soon(session.list_devices()))[0].name.startswith("/job:chief/")


async def test_without_await_the_first_master_that_answers_is_taken_too(processes: LocalCluster, graph: Graph) -> None:
    total = ops.constant(1.0) + 1.0
    target = f"{DEAD},{processes.target('worker')}"

    def use() -> None:
        with Session(target, graph=graph) as session:
            assert session.run(total) == 2.0
        Session.reset(target)

    await soon(asyncio.to_thread(use))


async def test_closing_ends_the_search_for_a_master(graph: Graph) -> None:
    with silent_address() as one, silent_address() as other:
        session = AsyncSession(f"{one},{other}", graph=graph)
        run = asyncio.create_task(session.run(ops.constant(1.0)))
        dialling = f"dial {other}"
        await eventually(lambda: dialling in {task.get_name() for task in asyncio.all_tasks()})
        await cancelled(run)
        assert dialling not in {task.get_name() for task in asyncio.all_tasks()}
        await soon(session.close())

"""Targets of several addresses: the first master that answers is taken, and the error names all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, Session, ops
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, DeadlineExceededError, UnauthenticatedError, UnavailableError
from tests.cluster.kit import W0, W1, InProcess, eventually, in_process, silent_address, soon

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
        with pytest.raises(UnavailableError, match=r"^none of 2 masters can be used: ") as raised:
            await soon(session.run(ops.constant(1.0)))
        assert f"(1) no master answers at {DEAD} after " in raised.value.message
        assert "ECONNREFUSED" in raised.value.message
        assert f"(2) no master answers at {silent} after " in raised.value.message
        # The time limit is the caller's own.
        with pytest.raises(DeadlineExceededError, match="none of 2 masters"):
            await soon(AsyncSession.reset(f"{DEAD},{silent}", config=QUICK))
        await session.close()


async def test_a_master_that_refuses_us_is_named_beside_one_that_is_not_there(
    over_links: Any, monkeypatch: pytest.MonkeyPatch, graph: Graph
) -> None:
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(token="x" * 40)) as server:
        refused = AsyncSession(f"{server.target},{DEAD}", graph=graph, config=QUICK)
        with pytest.raises(UnavailableError) as raised:
            await soon(refused.list_devices())
        assert f"(1) the master at {server.target}: " in raised.value.message
        assert f"(2) no master answers at {DEAD}" in raised.value.message
        alone = AsyncSession(server.target, graph=graph, config=QUICK)
        with pytest.raises(UnauthenticatedError):
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
            with pytest.raises((UnavailableError, AbortedError)):
                await soon(session.run(total))
            await soon(session.reattach())
            assert await soon(session.run(total)) == 2.0


async def test_a_session_that_brings_its_cluster_is_the_task_at_the_address_that_was_taken(
    over_links: Any, graph: Graph
) -> None:
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
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(run)
        assert dialling not in {task.get_name() for task in asyncio.all_tasks()}
        await soon(session.close())

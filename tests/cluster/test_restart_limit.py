"""How often a task may be started again, by a clock that the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, ops
from actorsession.cluster import update_cluster
from actorsession.cluster.launch.restart_limit import WINDOW, RestartLimit
from actorsession.errors import InvalidArgumentError, UnavailableError, WorkerRestartedError
from actorsession.rpc import exit_reports
from tests.cluster.kit import PATIENCE, W0, W1, eventually, on, soon
from tests.ports import HoldPorts


def attempts_at_once(most: int) -> list[float]:
    """The times of the attempts for a task that ends at the moment at which it is started."""
    limit, now = RestartLimit(most), 100.0
    times = []
    while (pause := limit.pause(now)) is not None:
        now += pause
        limit.record(now)
        times.append(now)
        assert len(times) <= most
    return times


@pytest.mark.parametrize("most", [1, 2, 3, 10, 100, 1000])
def test_a_task_that_ends_at_once_reaches_the_limit_within_the_window(most: int) -> None:
    times = attempts_at_once(most)
    assert len(times) == most
    assert times[-1] - 100.0 <= WINDOW / 2 + 1e-9


def test_the_pauses_grow_fourfold() -> None:
    np.testing.assert_allclose(np.diff([100.0, *attempts_at_once(4)]), [0.1, 0.4, 1.6, 6.4])


def test_the_pauses_stop_growing_where_they_would_fill_half_of_the_window() -> None:
    pauses = np.diff([100.0, *attempts_at_once(10)])
    assert pauses.max() == pytest.approx(3.0)


def test_an_attempt_counts_for_a_window_and_no_longer() -> None:
    limit = RestartLimit(2)
    for now in (0.0, 10.0):
        limit.record(now)
    assert limit.pause(WINDOW - 0.01) is None
    assert limit.pause(WINDOW) == pytest.approx(0.4)
    assert limit.counted == 1
    assert limit.pause(10.0 + WINDOW) == pytest.approx(0.1)


def test_without_restarts_there_is_no_attempt() -> None:
    assert RestartLimit(0).pause(0.0) is None


@pytest.mark.parametrize(
    ("restart", "kind"), [(True, TypeError), (1.0, TypeError), ("3", TypeError), (-1, ValueError), (10**18, ValueError)]
)
def test_a_number_of_restarts_is_an_integer_from_0(restart: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"started again within 60 s, 0 or more; got "):
        LocalCluster({"worker": 1}, restart=restart)


def test_a_number_of_restarts_may_be_one_of_numpy() -> None:
    assert LocalCluster({"worker": 1}, restart=np.int64(2)).restarts == {}  # type: ignore[arg-type]


NewServer = Callable[[int], Server]


@pytest.fixture
def new_server(hold_ports: HoldPorts) -> NewServer:
    """Makes servers of the two tasks of a cluster, each at the address of its task."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]}
    return lambda index: Server(cluster, "worker", index, settings=ServerSettings(restart_wait=PATIENCE))


def searches(master: Server) -> bool:
    """Whether the only session of a master looks for a task."""
    (session,) = master.actors.master._sessions.values()
    return bool(session.plans.membership._absent._pursuits)


async def test_a_step_waits_until_the_task_is_there_again(graph: Graph, new_server: NewServer) -> None:
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: x + 1.0)
    async with new_server(0) as master:
        async with new_server(1):
            session = AsyncSession(master.target, graph=graph)
            assert await soon(session.run(y, {x: 1.0})) == 2.0
        running = [asyncio.create_task(session.run(y, {x: float(n)})) for n in range(3)]
        await eventually(lambda: searches(master), *running)
        async with new_server(1):
            assert await soon(asyncio.gather(*running)) == [1.0, 2.0, 3.0]
            await session.close()


async def test_a_step_does_not_wait_any_longer_for_a_task_that_is_given_up(graph: Graph, new_server: NewServer) -> None:
    """Nor does a later one, until the task is not given up any more."""
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: x + 1.0)
    async with new_server(0) as master:
        async with new_server(1) as worker:
            tasks = {W0: master.target, W1: worker.target}
            session = AsyncSession(master.target, graph=graph)
            assert await soon(session.run(y, {x: 1.0})) == 2.0
        running = asyncio.create_task(session.run(y, {x: 1.0}))
        await eventually(lambda: searches(master))
        await update_cluster(master.target, tasks, given_up=[W1])
        for run in (running, session.run(y, {x: 1.0})):
            async with asyncio.timeout(PATIENCE / 2):
                with pytest.raises(UnavailableError) as info:
                    await run
            assert info.value.task == W1
        await update_cluster(master.target, tasks)
        running = asyncio.create_task(session.run(y, {x: 1.0}))
        await eventually(lambda: searches(master))
        async with new_server(1):
            assert await soon(running) == 2.0
            await session.close()


async def test_a_client_waits_for_its_master_and_keeps_the_state_of_other_tasks(
    graph: Graph, new_server: NewServer, over_links: None
) -> None:
    """Also if its address was that of a task of a cluster that had ended."""
    kept = on(W1, lambda: ops.Variable(5.0, name="kept"))
    y = on(W0, lambda: kept * 2.0)
    async with new_server(1):
        async with new_server(0) as master:
            exit_reports.retire(master.target, "its cluster was stopped")
            session: Any = AsyncSession(master.target, graph=graph)
            await session.run(kept.initializer)
            assert await soon(session.run(y)) == 10.0
        await eventually(lambda: session._session.connection.lost_master)
        running = [asyncio.create_task(session.run(y)) for _ in range(3)]
        await eventually(lambda: session._session.connection.recovery._resuming.locked(), *running)
        async with new_server(0) as again:
            assert await soon(asyncio.gather(*running)) == [10.0] * 3
            assert again.statistics().sessions == 1
            await session.close()


async def test_a_client_whose_state_was_lost_with_the_master_goes_on_after_reattach(
    graph: Graph, new_server: NewServer, over_links: None
) -> None:
    gone = on(W0, lambda: ops.Variable(7.0, name="gone"))
    async with new_server(1):
        async with new_server(0) as master:
            session: Any = AsyncSession(master.target, graph=graph)
            await session.run(gone.initializer)
        await eventually(lambda: session._session.connection.lost_master)
        async with new_server(0):
            for _ in range(2):
                with pytest.raises(WorkerRestartedError, match=f"what it kept on {W0}"):
                    await soon(session.run(gone))
            assert (await session.reattach(restore=gone.initializer)).lost == ("gone",)
            assert await soon(session.run(gone)) == 7.0
            await session.close()


def test_a_wait_is_0_seconds_or_more() -> None:
    with pytest.raises(InvalidArgumentError, match="restart_wait is 0 seconds or more, got -1"):
        Server({"worker": ["127.0.0.1:0"]}, settings=ServerSettings(restart_wait=-1.0))

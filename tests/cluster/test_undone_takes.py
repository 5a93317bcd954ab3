"""What a step has taken on another task whose caller does not get it: it is handed out, or is there again.

From the moment a parameter server hands an element out it is on its way over the master to the client.
Whoever gives the step up on that way, by a limit, by cancelling, or by dying, leaves the element.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Session, int32, ops
from actorsession.cluster.master.unconfirmed_values import UnconfirmedValues
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError
from actorsession.testing import SimulatedCluster, on_host
from tests.cluster.kit import PS0, is_idle, simulated, soon, until, until_all
from tests.cluster.master_access import Way, way
from tests.session.inner import remote_session

__all__ = ["way"]


class Shared:
    """A queue on the parameter server, which all sessions see."""

    def __init__(self, name: str = "shared", capacity: int = 1000) -> None:
        with Graph().as_default() as self.graph:
            with self.graph.device("/job:ps/task:0"):
                queue = ops.FIFOQueue(capacity, int32, shapes=[], shared_name=name)
                self.x = ops.placeholder(int32, [])
                self.put, self.take, self.size = (queue.enqueue(self.x), queue.dequeue(), queue.size())
            with self.graph.device("/job:worker/task:1"):
                self.far = self.take + 0  # the value goes by another worker


@pytest.fixture
def shared() -> Shared:
    return Shared()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def drained(way: Way, session: AsyncSession, shared: Shared) -> list[int]:
    """What is in the queue, taken out."""
    found = []
    while await session.run(shared.size):
        found.append(int(await session.run(shared.take)))
    return found


async def until_idle(way: Way) -> None:
    if isinstance(way.cluster, LocalCluster):
        await until_all(way.cluster.spec.tasks().values(), is_idle)
    else:
        await way.cluster.until_idle()


@pytest.mark.parametrize("fetch", ["take", "far"])
async def test_at_every_turn_of_the_loop_an_element_is_handed_out_or_is_there(
    way: Way, shared: Shared, fetch: str
) -> None:
    """All of the way is in this process, or from the client on."""
    take = getattr(shared, fetch)
    async with AsyncSession(way.target, graph=shared.graph, config=way.config()) as session:
        await session.run(shared.put, {shared.x: 0})
        await session.run(take)
        outcomes = set()
        sent = handed_out = 0
        for turn in itertools.count(0, 1 if way.is_direct else 3):
            step = asyncio.ensure_future(session.run(take))
            await turns(20)
            put = asyncio.ensure_future(session.run(shared.put, {shared.x: sent}))
            sent += 1
            await turns(turn)
            in_time = not step.done()
            step.cancel()
            await soon(asyncio.wait([step]))
            await soon(put)
            outcomes.add(step.cancelled())
            handed_out += not step.cancelled()
            if not in_time or (turn > 400 and len(outcomes) == 2):
                break
        await until_idle(way)
        assert len(await drained(way, session, shared)) == sent - handed_out
        await until_idle(way)


@pytest.mark.parametrize("fetch", ["take", "far"])
async def test_consumers_with_short_limits_lose_nothing(way: Way, shared: Shared, fetch: str) -> None:
    """Whoever decides the limit of a step, what it has taken is the caller's or is there."""
    out: list[int] = []
    take = getattr(shared, fetch)
    limits = itertools.cycle(range(1, 12))
    async with AsyncSession(way.target, graph=shared.graph, config=way.config()) as session:
        await session.run(shared.size)

        async def consume() -> None:
            for _ in range(30):
                options = RunOptions(timeout_in_ms=next(limits))
                with contextlib.suppress(DeadlineExceededError):
                    out.append(int(await session.run(take, options=options)))

        async def time_out() -> None:
            for _ in range(30):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(next(limits) / 1000):
                        out.append(int(await session.run(take)))

        async with asyncio.timeout(50), asyncio.TaskGroup() as group:
            for work in (consume, consume, time_out, time_out):
                _ = group.create_task(work())
            for i in range(40):
                await session.run(shared.put, {shared.x: i})
        await until_idle(way)
        assert sorted(out + await drained(way, session, shared)) == list(range(40))


async def test_an_element_that_was_put_elsewhere_is_not_there_twice(way: Way) -> None:
    """The step has run on all tasks when its caller gives it up; only what it stored nowhere goes back."""
    with Graph().as_default() as graph:
        with graph.device("/job:ps/task:0"):
            one, kept = (ops.FIFOQueue(9, int32, shapes=[], shared_name=n) for n in ("one", "kept"))
            puts = [one.enqueue(1), kept.enqueue(2)]
            element, other = one.dequeue(), kept.dequeue()
            sizes = [one.size(), kept.size()]
        with graph.device("/job:worker/task:1"):
            two = ops.FIFOQueue(9, int32, shapes=[], shared_name="two")
            moved = two.enqueue(element + 0)
            sizes.append(two.size())
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        await session.run(puts)
        channel: Any = remote_session(session).connection.master.channel
        calls = channel.steps
        told: list[bool] = []
        confirm = calls.confirm

        def not_received(call: int, *, received: bool) -> None:
            told.append(received)
            confirm(call, received=False)

        calls.confirm = not_received
        await session.run([moved, other])
        calls.confirm = confirm
        assert told == [True]
        await until_idle(way)
        assert await session.run(sizes) == [0, 1, 1]


async def test_calls_of_partial_runs_hand_an_element_out_or_leave_it(way: Way) -> None:
    with Graph().as_default() as graph, graph.device("/job:ps/task:0"):
        one, two = (ops.FIFOQueue(9, int32, shapes=[], shared_name=n) for n in ("p1", "p2"))
        puts, sizes = [one.enqueue(1), two.enqueue(2)], [one.size(), two.size()]
        first, second = one.dequeue(), two.dequeue()
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        outcomes = set()
        for turn in itertools.count(0, 1 if way.is_direct else 4):
            await session.run(puts[0])
            handle = await session.partial_run_setup([first, second], [])
            assert await soon(session.partial_run(handle, first)) == 1
            call = asyncio.ensure_future(session.partial_run(handle, second))
            await turns(20)
            put = asyncio.ensure_future(session.run(puts[1]))
            await turns(turn)
            in_time = not call.done()
            call.cancel()
            await soon(asyncio.wait([call, put]))
            await until_idle(way)
            left = list(await session.run(sizes))
            assert left == [0, int(call.cancelled())], f"at turn {turn}"
            outcomes.add(call.cancelled())
            if left[1]:
                await session.run(second)
            if not in_time or turn > 200:
                break
        assert True in outcomes
        # A run that nobody continues leaves all that it has taken.
        await session.run(puts)
        async with session.partial([first, second], []) as run:
            assert await soon(run.run(first)) == 1
        await until_idle(way)
        assert await session.run(sizes) == [0, 1]
        await session.run(second)


@pytest.mark.parametrize("first", ["take", "end"])
@pytest.mark.parametrize("end", ["close", "leave", "reset"])
async def test_what_is_on_its_way_to_a_run_that_its_client_or_master_ends_comes_out_once(
    way: Way, shared: Shared, end: str, first: str
) -> None:
    """A client closes its session or leaves a partial run, or the master is reset but for the queue.

    Either begins first, at last so long before that it is done; in between they meet at every turn.
    """
    outcomes = set()
    for turn in itertools.count(0, 2 if way.is_direct else 5):
        async with AsyncSession(way.target, graph=shared.graph, config=way.config()) as session:
            await session.run(shared.put, {shared.x: turn})
            if end == "leave":
                handle = await session.partial_run_setup([shared.take, shared.size], [])
                taking = session.partial_run(handle, shared.take)
                ending = remote_session(session).partial_runs.abort(handle, CancelledError("it is not needed"))
            else:
                await session.run(shared.size)
                taking = session.run(shared.take)
                ending = session.close() if end == "close" else AsyncSession.reset(way.target, ["another container"])
            begun = asyncio.ensure_future(taking if first == "take" else ending)
            await turns(turn)
            if turn > 300:
                await soon(asyncio.wait([begun]))
            in_time = not begun.done()
            then = asyncio.ensure_future(ending if first == "take" else taking)
            await soon(asyncio.wait([begun, then]))
            take, ended = (begun, then) if first == "take" else (then, begun)
            await ended
        if got := take.exception() is None:
            assert take.result() == turn
        await until_idle(way)
        async with AsyncSession(way.target, graph=shared.graph, config=way.config()) as session:
            assert await drained(way, session, shared) == ([] if got else [turn]), f"at turn {turn}"
        outcomes.add(got)
        if not in_time:
            break
    assert (first == "take") in outcomes


def test_threads_that_take_while_another_closes_their_session_lose_nothing(processes: LocalCluster) -> None:
    shared, target = Shared("threads"), processes.target("worker")
    out: list[int] = []

    def take(session: Session) -> None:
        with contextlib.suppress(CancelledError, RuntimeError):  # the latter is of a session that was closed before
            while True:
                out.append(int(session.run(shared.take)))

    for first in range(0, 200, 20):
        with Session(target, graph=shared.graph) as session:
            threads = [threading.Thread(target=take, args=(session,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for number in range(first, first + 20):
                session.run(shared.put, {shared.x: number})
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    with Session(target, graph=shared.graph) as session:
        left = [int(session.run(shared.take)) for _ in range(session.run(shared.size))]
    assert sorted(out + left) == list(range(200))


# -- clients that die ------------------------------------------------------------------------------
@simulated()
async def test_an_element_on_its_way_to_a_client_that_is_killed_is_there_again(cluster: SimulatedCluster) -> None:
    """1. The client waits. 2. It is stopped. 3. It is served, and does not read. 4. It is killed."""
    shared = Shared("orphaned")
    host = cluster.client_host("other")

    async def client() -> None:
        async with cluster.session(shared.graph) as session:
            await session.run(shared.take)

    with on_host(host):
        taking = asyncio.create_task(client())
    await until(cluster, lambda seen: seen.steps == 1, PS0)
    host.stall()
    async with cluster.session(shared.graph, "worker", 1) as session:
        await session.run(shared.put, {shared.x: 7})
        await until(cluster, lambda seen: seen.unsettled == 1, PS0)
        assert await session.run(shared.size) == 0
        host.crash()
        cluster.network.crashed(host)
        await until(cluster, lambda seen: seen.unsettled == 0, PS0)
        assert await session.run(shared.take) == 7
    assert not taking.done()


# -- what a master remembers -----------------------------------------------------------------------
def test_an_answer_is_settled_once_by_the_clients_word() -> None:
    deliveries = UnconfirmedValues()
    seen: list[Any] = []
    first = deliveries.add(lambda received: seen.append(("a", received)))
    second = deliveries.add(lambda received: seen.append(("b", received)))
    second(False)
    second(True)
    assert seen == [("b", False)]
    deliveries.close()
    assert seen == [("b", False), ("a", False)]
    first(True)
    assert len(deliveries) == 0

"""How partial runs end that nobody completes: with their session, their block, or after an idle limit."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session
from actorsession.errors import CancelledError, InvalidArgumentError
from tests.session.inner import direct_session
from tests.session.partial_kit import LARGE, Clock, Dear, Stages, collect, offloaded, run_of, set_clock
from tests.session.test_concurrency import in_threads


def timer_of(runs: Any) -> Any:
    """The timer that collects idle runs on a loop, if there is one."""
    return runs._timer


def collector_of(runs: Any) -> Any:
    """The thread that collects idle runs of a session without a loop, if there is one."""
    return runs._collector


# -- sessions that close ---------------------------------------------------------------------------


async def test_closing_ends_what_waits_with_cancelled_and_later_calls_are_runtime_errors(
    graph: Graph, dear: Dear
) -> None:
    session = AsyncSession(graph=graph)
    idle = await session.partial_run_setup([dear.short], [dear.s])
    handle = await session.partial_run_setup([dear.product, dear.short], [dear.x, dear.s])
    call = asyncio.create_task(session.partial_run(handle, dear.product, {dear.x: LARGE}))
    await offloaded(session)
    await session.close()
    with pytest.raises(CancelledError, match="closed"):
        await call
    assert session.statistics().partial_runs == session.statistics().steps == 0
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.partial_run(idle, dear.short, {dear.s: 1})
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.partial_run_setup(dear.short, dear.s)


def test_closing_from_another_thread_ends_a_synchronous_call(graph: Graph, dear: Dear) -> None:
    session = Session(graph=graph)
    handle = session.partial_run_setup([dear.product], [dear.x])
    run = run_of(session, handle)
    errors: list[BaseException] = []

    def call() -> None:
        try:
            session.partial_run(handle, dear.product, {dear.x: LARGE})
        except CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not run._lock.locked():  # until the call is in the step
        threading.Event().wait(0.001)
    session.close()
    thread.join()
    assert "closed" in str(errors[0])
    with pytest.raises(RuntimeError, match="closed Session"):
        session.partial_run(handle, [], {})


async def test_a_session_that_closes_while_calls_begin_says_that_it_is_closed(graph: Graph, stages: Stages) -> None:
    """1. A call lets others have the loop before it goes on. 2. The session closes. 3. The call goes on."""
    session = AsyncSession(graph=graph)
    handle = await session.partial_run_setup(stages.fetches, stages.feeds)
    runs = direct_session(session).partial_runs
    runs._turn_ends = 0.0
    call = asyncio.create_task(session.partial_run(handle, [], {stages.a: 1}))
    await asyncio.sleep(0)
    assert not call.done()
    await session.close()
    with pytest.raises(CancelledError, match=r"^Session has been closed\.$"):
        await call


def test_a_thread_whose_turn_comes_after_the_end_says_that_the_session_is_closed(graph: Graph, stages: Stages) -> None:
    """1. A call has found its run, which another thread is in. 2. The session closes. 3. It is its turn."""
    session = Session(graph=graph)
    handle = session.partial_run_setup(stages.fetches, stages.feeds)
    runs: Any = session._session.partial_runs
    run = run_of(session, handle)
    session.close()
    runs.thread_runs._runs[handle] = run
    with pytest.raises(CancelledError, match=r"^Session has been closed\.$"):
        runs.call_here(handle, ("a:0",), [1], (), None)


def runs_until_the_end(session: Session, stages: Stages, end: Callable[[], None]) -> list[str]:
    """Ends a session while four threads make partial runs in it; what they are told."""
    begun, told = threading.Barrier(5), []

    def work(index: int) -> None:
        begun.wait(20)
        if not index:
            end()
            return
        try:
            while True:
                handle = session.partial_run_setup(stages.fetches, stages.feeds)
                session.partial_run(handle, stages.first, {stages.a: index, stages.b: 1})
        except (CancelledError, RuntimeError) as error:
            told.append(str(error))

    in_threads(5, work)
    return told


@pytest.mark.parametrize("how", ["close", "reset"])
def test_nothing_is_left_when_a_session_ends_while_threads_run_it(how: str) -> None:
    graph = Graph()
    with graph.as_default():
        stages = Stages()
    for _ in range(10):
        session = Session(graph=graph)
        end = session.close if how == "close" else lambda: Session.reset("")
        told = runs_until_the_end(session, stages, end)
        assert len(told) == 4
        assert all("closed" in text or "reset" in text for text in told)
        statistics = session.statistics()
        assert (statistics.partial_runs, statistics.steps, statistics.pending) == (0, 0, 0)
        session.close()


def test_a_reset_ends_the_runs_of_a_session_whose_loop_is_gone(graph: Graph, stages: Stages) -> None:
    async def leave_open() -> AsyncSession:
        session = AsyncSession(graph=graph)
        for _ in range(3):
            await session.partial_run_setup(stages.fetches, stages.feeds)
        return session

    session = asyncio.run(leave_open())
    assert session.statistics().partial_runs == 3
    Session.reset("")
    statistics = session.statistics()
    assert (statistics.partial_runs, statistics.steps, statistics.pending) == (0, 0, 0)
    asyncio.run(session.close())


async def test_a_reset_from_another_thread_ends_however_many_runs(graph: Graph, stages: Stages) -> None:
    session = AsyncSession(graph=graph)
    for _ in range(11_000):  # more than a mailbox takes
        await session.partial_run_setup(stages.first, stages.feeds)
    await asyncio.to_thread(Session.reset, "")
    while session.statistics().partial_runs:  # noqa: ASYNC110 - told from another thread
        await asyncio.sleep(0)
    assert (session.statistics().steps, session.statistics().pending) == (0, 0)
    await session.close()


async def test_reset_gives_partial_runs_up(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    await session.reset("")
    assert session.counts()[0] == 0
    with pytest.raises(CancelledError, match=r"closed|reset"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})


# -- the end of runs that nobody ends --------------------------------------------------------------


async def test_a_block_gives_an_incomplete_run_up(session: Any, stages: Stages) -> None:
    async with session.partial(stages.fetches, stages.feeds) as p:
        assert await p.run(stages.first, {stages.a: 1, stages.b: 2}) == 3
        assert session.counts()[0] == 1
        handle = p.handle
    assert session.counts() == (0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.second, {stages.c: 1})


async def test_a_block_may_complete_its_run_or_end_with_an_error(session: Any, stages: Stages) -> None:
    async with session.partial(stages.first, stages.feeds[:2]) as p:
        assert await p.run(stages.first, {stages.a: 1, stages.b: 2}) == 3
    with pytest.raises(ZeroDivisionError):
        async with session.partial(stages.first, stages.feeds):
            raise ZeroDivisionError
    assert session.counts() == (0, 0, 0)


async def test_leaving_a_block_ends_the_calls_in_it_and_waits_for_their_kernels(graph: Graph, dear: Dear) -> None:
    async with AsyncSession(graph=graph) as session:
        async with session.partial([dear.product, dear.short], [dear.x, dear.s]) as p:
            step = run_of(session, p.handle).step
            call = asyncio.create_task(p.run(dear.product, {dear.x: LARGE}))
            await offloaded(session)
        assert step.done
        with pytest.raises(CancelledError, match=r"block .* was left"):
            await call
        assert session.statistics().partial_runs == 0


def test_a_block_is_entered_once_and_has_a_handle_inside(graph: Graph, stages: Stages) -> None:
    with Session(graph=graph) as session:
        p = session.partial(stages.first, stages.feeds)
        assert repr(p) == "<PartialRun not entered>"
        with pytest.raises(RuntimeError, match="has not begun"):
            p.run(stages.first)
        with p:
            assert p.handle in repr(p)
            with pytest.raises(RuntimeError, match="entered once"):
                p.__enter__()


async def test_a_dropped_object_gives_its_run_up(session: Any, stages: Stages) -> None:
    p = session.partial(stages.fetches, stages.feeds)
    await p.__aenter__()
    assert session.counts()[:2] == (1, 1)
    del p
    gc.collect()
    while session.counts()[0]:  # noqa: ASYNC110 - the thread that entered it may hold it a moment longer
        await asyncio.sleep(0.001)
    assert session.counts() == (0, 0, 0)


async def test_a_run_that_nobody_continues_is_collected_after_its_idle_limit(make_session: Any, stages: Stages) -> None:
    face = make_session(ConfigProto(partial_run_idle_limit_in_ms=5000))
    clock = Clock()
    set_clock(face.session, clock)
    old, used = await stages.setup(face), await stages.setup(face)
    clock.time = 4.0
    await face.partial_run(used, [], {stages.a: 1})
    collect(face.session)
    assert face.counts()[0] == 2
    clock.time = 5.0
    collect(face.session)
    assert face.counts()[:2] == (1, 1)
    with pytest.raises(InvalidArgumentError, match="given up"):
        await face.partial_run(old, [], {stages.a: 1})
    clock.time = 9.0
    collect(face.session)
    assert face.counts() == (0, 0, 0)


async def test_the_default_idle_limit_is_ten_minutes(session: Any, stages: Stages) -> None:
    """A wrong call does not keep a run alive."""
    clock = Clock()
    set_clock(session.session, clock)
    handle = await stages.setup(session)
    clock.time = 599.9
    collect(session.session)
    with pytest.raises(InvalidArgumentError):
        await session.partial_run(handle, stages.first)
    assert session.counts()[0] == 1
    clock.time = 600.0
    collect(session.session)
    assert session.counts() == (0, 0, 0)


def test_a_run_that_a_thread_is_in_is_not_collected(graph: Graph, stages: Stages) -> None:
    with Session(graph=graph) as session:
        clock = Clock()
        set_clock(session, clock)
        handle = session.partial_run_setup(stages.fetches, stages.feeds)
        clock.time = 600.0
        run = run_of(session, handle)
        run.enter()  # as a call does
        collect(session)
        run.leave()
        assert session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2
        collect(session)
        assert session.statistics().partial_runs == 1


async def test_on_a_loop_a_timer_collects_and_exists_while_runs_are_open(graph: Graph, stages: Stages) -> None:
    async with AsyncSession(graph=graph) as session:
        runs, clock = direct_session(session).partial_runs.actor.runs, Clock()
        runs.clock = clock
        assert timer_of(runs) is None
        await session.partial_run_setup(stages.fetches, stages.feeds)
        clock.time = 300.0
        handle = await session.partial_run_setup(stages.fetches, stages.feeds)
        clock.time = 600.0
        timer_of(runs).cancel()
        runs._on_timer()  # as the loop would
        assert len(runs) == 1
        assert timer_of(runs).when() > 0
        await session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 1})
        assert timer_of(runs) is None


def test_without_a_loop_one_thread_collects_and_ends_once_no_run_is_open(graph: Graph, stages: Stages) -> None:
    """1. Two runs begin: one thread looks after them. 2. They are complete. 3. At its next look it ends.
    4. The next run has one again. 5. Closing ends it."""
    with Session(graph=graph) as session:
        runs = direct_session(session).partial_runs.thread_runs
        assert collector_of(runs) is None
        handles = [session.partial_run_setup(stages.fetches, stages.feeds) for _ in range(2)]
        collector = collector_of(runs)
        assert collector._thread.is_alive()
        for handle in handles:
            session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 1})
        assert not runs.keeps(collector)
        collector.end()
        session.partial_run_setup(stages.fetches, stages.feeds)
        second = collector_of(runs)
        assert second is not collector
        assert runs.keeps(second)
    assert not second._thread.is_alive()


async def test_closing_the_session_collects_its_runs_with_their_rendezvous(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    await session.partial_run(handle, [], {stages.a: 1, stages.b: 1})
    assert session.counts() == (1, 1, 2)  # a receiver for c, and the first stage, which nobody took
    await session.close()
    assert session.counts() == (0, 0, 0)

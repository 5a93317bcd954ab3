"""Admission: limits that make runs wait, in order, and by turns."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from actorsession.actors import Deadline
from actorsession.actors.deadline import NEVER
from actorsession.errors import CancelledError, DeadlineExceededError
from actorsession.runtime.admission import Admission, Share
from tests.rows import for_each


async def turns() -> None:
    """Lets children that have something to do come to their next await."""
    for _ in range(5):
        await asyncio.sleep(0)


class Run:
    """A child that enters a share and says so in a list."""

    def __init__(self, share: Share, name: str, entered: list[str], nbytes: int = 0) -> None:
        self.share, self.name, self.entered, self.nbytes = share, name, entered, nbytes
        self.child = asyncio.create_task(self._enter())

    async def _enter(self) -> None:
        await self.share.enter(NEVER, self.nbytes)
        self.entered.append(self.name)

    def leave(self) -> None:
        self.share.leave(self.nbytes)


async def test_runs_over_the_limit_wait_and_are_let_in_in_order() -> None:
    share, entered = Admission(10).share(2, 100), list[str]()
    runs = [Run(share, name, entered) for name in "abcd"]
    await turns()
    assert entered == ["a", "b"]
    assert share.statistics().waiting == 2
    for run in runs:
        run.leave()
        await turns()
    assert entered == ["a", "b", "c", "d"]
    assert (share.in_flight, share.statistics().waiting, share.statistics().waited) == (0, 0, 2)


async def test_bytes_are_limited_and_a_run_larger_than_the_limit_goes_alone() -> None:
    share, entered = Admission(10).share(10, 100), list[str]()
    small, large = Run(share, "small", entered, 60), Run(share, "large", entered, 500)
    after = Run(share, "after", entered, 10)
    await turns()
    assert entered == ["small"]
    small.leave()
    await turns()
    assert entered == ["small", "large"]
    assert share.statistics().nbytes == 500
    large.leave()
    await turns()
    assert entered == ["small", "large", "after"]
    after.leave()
    assert share.nbytes == 0


async def test_a_run_that_brings_no_bytes_is_not_held_back_by_those_of_others() -> None:
    share = Admission(10).share(10, 100)
    assert share.enter_nowait(200)
    assert share.enter_nowait()
    assert not share.enter_nowait(1)


async def test_nobody_overtakes_those_who_wait() -> None:
    share, entered = Admission(10).share(10, 100), list[str]()
    assert share.enter_nowait(80)
    Run(share, "first", entered, 50)
    await turns()
    assert not share.enter_nowait(1)
    share.leave(80)
    await turns()
    assert entered == ["first"]


async def test_cancelling_one_who_waits_leaves_the_queue_to_the_next() -> None:
    share, entered = Admission(10).share(10, 100), list[str]()
    assert share.enter_nowait(80)
    large, small = Run(share, "large", entered, 90), Run(share, "small", entered, 20)
    await turns()
    assert entered == []
    large.child.cancel()
    await turns()
    assert entered == ["small"]
    assert share.statistics().waiting == 0
    small.leave()


@for_each("order", ["leave, then cancel", "cancel, then leave"])
async def test_a_place_is_not_lost_when_who_gets_it_gives_up_in_that_moment(order: str) -> None:
    share, entered = Admission(1).share(1, 100), list[str]()
    assert share.enter_nowait()
    gone, next_one = Run(share, "gone", entered, 60), Run(share, "next", entered, 60)
    await turns()
    for word in order.split(", then "):
        share.leave() if word == "leave" else gone.child.cancel()
    await turns()
    assert entered == ["next"]
    next_one.leave()
    assert (share.in_flight, share.nbytes) == (0, 0)
    assert gone.child.cancelled()


async def test_a_deadline_counts_while_waiting_and_says_what_was_waited_for() -> None:
    share = Admission(1).share(1, 100)
    assert share.enter_nowait()
    with pytest.raises(DeadlineExceededError, match="its turn: 1 steps are in flight"):
        await share.enter(Deadline.after(0.01))
    assert share.statistics().waiting == 0
    share.leave()
    await share.enter(NEVER)


async def test_closing_sends_everybody_away_who_waits_or_would_have_to() -> None:
    share, entered = Admission(1).share(1, 100), list[str]()
    assert share.enter_nowait()
    runs = [Run(share, name, entered) for name in "ab"]
    await turns()
    share.close(CancelledError("closed"))
    for run in runs:
        with pytest.raises(CancelledError, match="closed"):
            await run.child
    with pytest.raises(CancelledError, match="closed"):
        await share.enter(NEVER)
    share.leave()
    assert share.statistics().in_flight == 0


async def test_shares_that_wait_for_the_total_take_turns() -> None:
    """One share floods; another that comes later gets every second place from then on."""
    admission = Admission(2)
    flood, other, entered = admission.share(100, 0), admission.share(100, 0), list[str]()
    flooding = [Run(flood, "f", entered) for _ in range(6)]
    await turns()
    assert entered == ["f", "f"]
    others = [Run(other, "o", entered) for _ in range(3)]
    await turns()
    for run in [*flooding[:2], *flooding[2:4]]:
        run.leave()
        await turns()
    assert entered == ["f", "f", "f", "o", "f", "o"]
    assert admission.in_flight == 2
    for child in [*flooding, *others]:
        child.child.cancel()
    await turns()


async def test_a_share_that_is_full_keeps_nobody_else_out() -> None:
    admission = Admission(10)
    full, other, entered = admission.share(1, 0), admission.share(1, 0), list[str]()
    runs = [Run(full, "a", entered), Run(full, "b", entered), Run(other, "c", entered)]
    await turns()
    assert entered == ["a", "c"]
    runs[1].child.cancel()
    await turns()


async def test_thousands_who_wait_and_give_up_leave_nothing() -> None:
    share, entered = Admission(1).share(1, 0), list[str]()
    assert share.enter_nowait()
    runs = [Run(share, "x", entered) for _ in range(2_000)]
    await turns()
    assert share.statistics().waiting == 2_000
    for run in runs:
        run.child.cancel()
    await turns()
    assert share.statistics().waiting == 0


class ThreadRun:
    """A run that another thread begins."""

    def __init__(self, nbytes: int = 0) -> None:
        self.nbytes = nbytes
        self.admitted = False


async def test_a_run_of_a_thread_knows_whether_it_was_admitted() -> None:
    share = Admission(10).share(1, 100)
    first, second = ThreadRun(50), ThreadRun()
    assert share.enter_run(first)
    assert not share.enter_run(second)
    assert (first.admitted, second.admitted) == (True, False)
    assert (share.in_flight, share.nbytes) == (1, 50)
    assert first.admitted
    share.leave(first.nbytes)
    assert (share.in_flight, share.nbytes) == (0, 0)
    assert share.enter_run(second)


async def test_a_run_of_another_thread_does_not_overtake_those_that_wait() -> None:
    share, entered = Admission(10).share(1, 100), list[str]()
    runs = [Run(share, name, entered) for name in "ab"]
    await turns()
    late = ThreadRun()
    assert not share.enter_run(late)
    runs[0].leave()
    assert not share.enter_run(late)
    await turns()
    assert entered == ["a", "b"]
    runs[1].leave()
    assert share.enter_run(late)


async def test_threads_and_the_loop_never_pass_the_limit() -> None:
    share = Admission(100).share(2, 100)
    counted, inside, most = threading.Lock(), 0, 0
    left = threading.Event()

    def leave(nbytes: int = 0) -> None:
        share.leave(nbytes)
        left.set()

    def note(change: int) -> None:
        nonlocal inside, most
        with counted:
            inside += change
            most = max(most, inside)

    def work() -> int:
        done = 0
        while done < 300:
            run = ThreadRun()
            left.clear()
            if share.enter_run(run):
                note(1)
                note(-1)
                loop.call_soon_threadsafe(leave, run.nbytes)
                done += 1
            else:
                left.wait()
        return done

    async def child() -> int:
        for _ in range(300):
            await share.enter(Deadline.after(60))
            note(1)
            await asyncio.sleep(0)
            note(-1)
            leave()
        return 300

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(3) as threads:
        begun = [loop.run_in_executor(threads, work) for _ in range(3)]
        done = await asyncio.gather(*begun, *(child() for _ in range(3)))
    await turns()
    assert sum(done) == 1800
    assert most <= 2
    assert (share.in_flight, share.nbytes) == (0, 0)

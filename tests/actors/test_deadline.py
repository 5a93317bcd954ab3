from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.errors import DeadlineExceededError
from actorsession.testing import StillClock
from tests.actors.kit import soon
from tests.loops import cancelled
from transports.host import Host, on_host


def test_a_deadline_is_seconds_from_now_on_its_clock() -> None:
    with on_host(Host(clock=(clock := StillClock()))):
        deadline = Deadline.after(2.0)
        assert (deadline.at, deadline.remaining(), deadline.expired) == (2.0, 2.0, False)
        clock.advance(3.0)
        assert (deadline.remaining(), deadline.time_left, deadline.expired) == (-1.0, 0.0, True)


def test_it_has_expired_at_the_very_moment() -> None:
    with on_host(Host(clock=StillClock())):
        assert Deadline.after(0.0).expired


@pytest.mark.parametrize("never", [Deadline.never(), Deadline.after(None)])
def test_no_limit_never_expires_and_leaves_no_time(never: Deadline) -> None:
    assert (never.remaining(), never.time_left, never.expired) == (None, None, False)


def test_the_earliest_of_two_is_the_one_that_comes_first_in_either_order() -> None:
    soon_, late, never = Deadline(1.0), Deadline(2.0), Deadline.never()
    for first, second, earliest in [(soon_, late, soon_), (late, never, late), (never, never, never)]:
        assert first.earliest(second) is earliest
        assert second.earliest(first) is earliest


def test_within_some_seconds_it_ends_then_unless_it_ended_before() -> None:
    deadline = Deadline(2.0)
    with on_host(Host(clock=StillClock())):
        assert deadline.within(3.0) is deadline
        assert deadline.within(1.0) == Deadline.never().within(1.0) == Deadline(1.0)


async def _value() -> str:
    return "value"


async def _fails() -> str:
    raise KeyError("mine")


def run_without_a_loop(coroutine: Any) -> Any:
    """Drives a coroutine that does not suspend."""
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    return stop.value.value


@pytest.mark.parametrize("deadline", [Deadline.after(10), Deadline.after(0), Deadline.never()])
def test_what_is_there_needs_no_loop_no_timer_and_no_time(deadline: Deadline) -> None:
    assert run_without_a_loop(deadline.wait(_value(), what="it")) == "value"


async def test_a_future_that_is_done_is_returned_even_after_the_deadline() -> None:
    future = asyncio.get_running_loop().create_future()
    future.set_result(3)
    assert await Deadline.after(0).wait(future, what="it") == 3


async def test_what_comes_in_time_is_returned() -> None:
    async def slow() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "slow"

    assert await Deadline.after(10).wait(slow(), what="it") == "slow"


@pytest.mark.parametrize("seconds", [10, None])
async def test_an_error_of_what_is_awaited_passes(seconds: float | None) -> None:
    deadline = Deadline.after(seconds)  # from now, not from when the tests were collected

    async def slow() -> None:
        await asyncio.sleep(0)
        raise KeyError("late")

    with pytest.raises(KeyError, match="mine"):
        await deadline.wait(_fails(), what="it")
    with pytest.raises(KeyError, match="late"):
        await deadline.wait(slow(), what="it")


async def test_the_error_says_what_was_awaited_and_for_how_long() -> None:
    started = time.monotonic()
    with pytest.raises(DeadlineExceededError, match=r"waited 0\.0\d* s for the moon; it did not come"):
        await Deadline.after(0.02).wait(asyncio.Event().wait(), what="the moon")
    assert 0.015 < time.monotonic() - started < 5


async def test_the_one_that_is_late_is_cancelled_and_may_clean_up() -> None:
    cleaned = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    with pytest.raises(DeadlineExceededError):
        await Deadline.after(0.01).wait(tidy(), what="it")
    assert cleaned == ["up"]


async def test_a_deadline_that_is_over_still_takes_the_first_step_and_no_more() -> None:
    steps = []

    async def work() -> None:
        steps.append(1)
        await asyncio.Event().wait()
        steps.append(2)

    with pytest.raises(DeadlineExceededError):
        await Deadline.after(-1).wait(work(), what="it")
    assert steps == [1]


async def test_cancelling_the_waiter_cancels_what_is_awaited_and_is_no_deadline() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    child = asyncio.create_task(Deadline.after(10).wait(future, what="it"))
    await asyncio.sleep(0)
    await cancelled(child)
    assert future.cancelled()


async def test_a_cancellation_at_the_moment_of_the_deadline_is_not_swallowed() -> None:
    """1. The deadline's timer and a cancellation come in the same turn of the loop. 2. The waiter must end as
    cancelled: its canceller counts on that."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    # The alarm cancels the future, and its first callback cancels the waiter before that wakes up.
    future.add_done_callback(lambda _: child.cancel())
    child = asyncio.create_task(Deadline.after(0.01).wait(future, what="it"))
    with pytest.raises(asyncio.CancelledError):
        await soon(child)
    assert child.cancelled()


async def test_deadlines_inside_each_other_keep_their_errors_apart() -> None:
    async def inner() -> str:
        with pytest.raises(DeadlineExceededError, match="inner"):
            await Deadline.after(0.01).wait(asyncio.Event().wait(), what="inner")
        return "went on"

    assert await Deadline.after(10).wait(inner(), what="outer") == "went on"


async def test_it_goes_together_with_asyncio_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Deadline.after(10).wait(asyncio.Event().wait(), what="it")
    task: Any = asyncio.current_task()
    assert task.cancelling() == 0


async def test_after_a_deadline_the_task_counts_no_cancellation() -> None:
    with pytest.raises(DeadlineExceededError):
        await Deadline.after(0.01).wait(asyncio.Event().wait(), what="it")
    task: Any = asyncio.current_task()
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_the_value_sent_and_errors_thrown_reach_the_one_who_waits_inside() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "answered after all"
        raise AssertionError

    assert await Deadline.after(0.01).wait(stubborn(), what="it") == "answered after all"

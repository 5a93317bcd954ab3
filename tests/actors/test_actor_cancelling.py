"""Asks that end before their answer: by their asker, by a deadline, or by both at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.errors import AbortedError, DeadlineExceededError
from tests.actors.kit import Desk, Hold, Mule, Said, Say, soon, turns


async def test_cancelling_the_asker_cancels_the_handler() -> None:
    desk = Desk()
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    asker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asker
    await desk.until("a cancelled")
    await turns()
    assert len(desk.children) == 0


async def test_a_deadline_names_actor_message_and_time_and_cancels_the_handler() -> None:
    desk = Desk()
    expected = r"Hold to actor 'desk' was not answered within 0\.0\d* s; it was working on it"
    with pytest.raises(DeadlineExceededError, match=expected):
        await soon(desk.ref.ask(Hold(name="a"), Deadline.after(0.02)))
    await desk.until("a cancelled")


async def test_a_deadline_that_is_over_calls_no_handler() -> None:
    desk = Desk()
    with pytest.raises(DeadlineExceededError, match="Say was not sent to actor 'desk'"):
        await desk.ref.ask(Say(text=""), Deadline.after(0))
    assert desk.seen == []


async def test_a_handler_that_ignores_its_cancellation_does_not_hold_up_the_asker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mule = Mule()
    started = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        await mule.ref.ask(Say(text=""), Deadline.after(0.01))
    await mule.stop(grace=0.01)
    assert time.monotonic() - started < 5
    assert "did not end within 0.01 s of being cancelled: mule: Say" in caplog.text
    mule.release.set()
    await turns()
    assert len(mule.children) == 0


Event = Callable[[Desk, "asyncio.Task[Any]"], Any]
ENDINGS: dict[str, tuple[Event, type[BaseException] | None]] = {
    "answer": (lambda desk, asker: desk.let_go("a"), None),
    "cancel": (lambda desk, asker: asker.cancel(), asyncio.CancelledError),
    "stop": (lambda desk, asker: desk._shut("test"), AbortedError),
}


@pytest.mark.parametrize("second", ENDINGS)
@pytest.mark.parametrize("first", ENDINGS)
async def test_an_ask_ends_once_whatever_comes_first(first: str, second: str) -> None:
    """Two of answer, cancellation and stop come in the same turn of the loop, in both orders.

    A handler needs a turn to answer, so an answer that was let go first still comes second.
    """
    desk = Desk()
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    for name in (first, second):
        ENDINGS[name][0](desk, asker)
    outcomes = await soon(asyncio.gather(asker, return_exceptions=True))
    kinds = {first, second} - {"answer"}
    if "cancel" in kinds:
        assert isinstance(outcomes[0], asyncio.CancelledError)
    elif "stop" in kinds:
        assert isinstance(outcomes[0], AbortedError)
    else:
        assert outcomes == [Said(text="a")]
    await desk.stop()
    statistics = desk.statistics()
    assert (statistics.in_flight, statistics.queued, statistics.waiting) == (0, 0, 0)


@pytest.mark.parametrize("answer_first", [True, False])
async def test_an_answer_and_a_deadline_in_one_turn_end_the_ask_once(answer_first: bool) -> None:
    """
    1. A handler's gate opens and the loop is held until after the asker's deadline, or the reverse.
    2. Both are due when the loop looks again.
    """
    desk = Desk()
    deadline = Deadline.after(0.5)
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a"), deadline))
    await desk.until("a began")
    if answer_first:
        desk.let_go("a")
    time.sleep(max(0, deadline.remaining() or 0) + 0.01)  # noqa: ASYNC251 - the loop is to be held
    if not answer_first:
        await asyncio.sleep(0)
        desk.let_go("a")
    (outcome,) = await soon(asyncio.gather(asker, return_exceptions=True))
    assert outcome == Said(text="a") or isinstance(outcome, DeadlineExceededError)
    await turns()
    assert desk.statistics().in_flight == 0
    await desk.stop()

"""The end of an actor: everybody who waits is answered, and nothing is taken any more."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from actorsession.actors import CallContext, handles
from actorsession.errors import AbortedError
from tests.actors.kit import Desk, Hold, Loopback, Mule, Note, Said, Say, Stranger, full_desk, soon, turns


async def test_stop_answers_everyone_who_waits_with_aborted_and_cancels_the_handlers() -> None:
    desk, holders = await full_desk()
    waiter = asyncio.create_task(desk.ref.ask(Say(text="waits for room")))
    await turns()
    await desk.stop("the test is over")
    outcomes = await soon(asyncio.gather(*holders, waiter, return_exceptions=True))
    assert [type(outcome) for outcome in outcomes] == [AbortedError] * 3
    assert str(outcomes[0]) == ("actor 'desk' was stopped (the test is over); Hold has no answer")
    assert (desk.has("h0 cancelled"), desk.has("h1 cancelled")) == (True, True)
    assert desk.statistics().stopped == "the test is over"


async def test_a_stopped_actor_takes_no_message() -> None:
    desk = Desk()
    await desk.stop("done")
    with pytest.raises(AbortedError, match=r"stopped \(done\); Say has no answer"):
        await desk.ref.ask(Say(text=""))
    with pytest.raises(AbortedError, match=r"stopped \(done\); Note has no answer"):
        desk.ref.tell(Note(number=1))
    assert desk.seen == []


async def test_stop_may_be_called_again_and_keeps_the_first_reason() -> None:
    desk, holders = await full_desk()
    await soon(asyncio.gather(desk.stop("first"), desk.stop("second")))
    await desk.stop("third")
    assert desk.statistics().stopped == "first"
    await soon(asyncio.gather(*holders, return_exceptions=True))


async def test_queued_tells_of_a_stopped_actor_are_dropped() -> None:
    actor = Loopback()
    await actor.ref.ask(Say(text="outer"))
    await actor.stop()
    await turns()
    assert actor.seen == ["outer begins", "outer ends"]


async def test_a_handler_may_stop_its_own_actor_and_still_answer() -> None:
    class Mortal(Desk):
        @handles(Stranger)
        async def on_stranger(self, message: Stranger, call: CallContext) -> Said:
            await self.stop("as asked")
            return Said(text="goodbye")

    mortal = Mortal("mortal")
    held = asyncio.create_task(mortal.ref.ask(Hold(name="a")))
    await mortal.until("a began")
    assert await soon(mortal.ref.ask(Stranger())) == Said(text="goodbye")
    with pytest.raises(AbortedError, match="as asked"):
        await soon(held)
    await turns()
    assert len(mortal.children) == 0


async def test_stop_is_bounded_and_logs_who_is_stubborn(caplog: pytest.LogCaptureFixture) -> None:
    mule = Mule()
    asker = asyncio.create_task(mule.ref.ask(Say(text="")))
    await turns()
    started = time.monotonic()
    await mule.stop(grace=0.01)
    assert time.monotonic() - started < 5
    with pytest.raises(AbortedError):
        await soon(asker)
    assert [r.levelno for r in caplog.records if "mule: Say" in r.getMessage()] == [logging.ERROR]
    mule.release.set()
    await turns()

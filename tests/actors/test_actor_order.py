"""In which order an actor takes messages, and who waits when its mailbox is full."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from actorsession.actors import CallContext, Deadline, handles
from actorsession.errors import DeadlineExceededError, ResourceExhaustedError
from tests.actors.kit import Hold, Loopback, Note, Said, Say, Stranger, full_desk, soon, turns

# -- order and reentrancy --------------------------------------------------------------------------


ATOMIC = ["outer begins", "outer ends", "inner begins", "inner ends"]


async def test_a_message_to_itself_is_handled_after_the_handler_not_inside_it() -> None:
    actor = Loopback()
    await actor.ref.ask(Say(text="outer"))
    await turns()
    assert actor.seen == ATOMIC


def test_without_a_loop_a_message_to_itself_is_handled_after_the_handler_too() -> None:
    actor = Loopback()
    actor.ref.tell(Say(text="outer"))
    assert actor.seen == ATOMIC


async def test_a_message_of_its_own_child_is_handled_at_the_childs_next_await() -> None:
    actor = Loopback()
    await soon(actor.ref.ask(Hold(name="")))
    await turns()
    assert actor.seen == ["child begins", "child goes on", "from child begins", "from child ends"]


async def test_an_actor_that_tells_itself_for_ever_lets_others_in() -> None:
    actor = Loopback()
    actor.ref.tell(Note(number=0))
    await turns(10)
    await soon(actor.ref.ask(Say(text="other")))
    await actor.stop()
    assert "other ends" in actor.seen
    count = len(actor.seen)
    await turns(10)
    assert len(actor.seen) == count


async def test_a_message_does_not_overtake_one_that_is_queued() -> None:
    class Relay(Loopback):
        @handles(Stranger)
        def on_stranger(self, message: Stranger, call: CallContext) -> None:
            self.ref.tell(Say(text="first"))

    actor = Relay()
    await actor.ref.ask(Stranger())
    await soon(actor.ref.ask(Say(text="second")))
    assert actor.seen == ["first begins", "first ends", "second begins", "second ends"]


# -- the bounded mailbox ---------------------------------------------------------------------------


async def test_over_the_limit_asks_wait_for_room_first_come_first_served() -> None:
    desk, holders = await full_desk()
    waiters = [asyncio.create_task(desk.ref.ask(Hold(name=f"w{i}"))) for i in range(3)]
    await turns()
    assert (desk.statistics().in_flight, desk.statistics().waiting) == (2, 3)
    for i, name in enumerate(["h0", "h1", "w0"]):
        desk.let_go(name)
        await desk.until(f"w{i} began")
        assert desk.statistics().in_flight == 2
    for name in ("w1", "w2"):
        desk.let_go(name)
    await soon(asyncio.gather(*holders, *waiters))
    began = [mark for mark in desk.seen if mark.endswith("began")]
    assert began == ["h0 began", "h1 began", "w0 began", "w1 began", "w2 began"]


async def test_a_plain_ask_waits_for_room_too_and_does_not_overtake() -> None:
    desk, holders = await full_desk()
    first = asyncio.create_task(desk.ref.ask(Hold(name="w")))
    await turns()
    second = asyncio.create_task(desk.ref.ask(Say(text="said")))
    await turns()
    desk.let_go("h0")
    await desk.until("w began")
    assert "said" not in desk.seen
    desk.let_go("h1")
    assert await soon(second) == Said(text="said")
    desk.let_go("w")
    await soon(asyncio.gather(*holders, first))


async def test_over_the_limit_a_tell_is_refused() -> None:
    desk, holders = await full_desk()
    expected = r"the mailbox of actor 'desk' is full \(2 messages\); Note was not accepted"
    with pytest.raises(ResourceExhaustedError, match=expected):
        desk.ref.tell(Note(number=1))
    desk.let_go("h0")
    await soon(holders[0])
    desk.ref.tell(Note(number=2))
    assert 1 not in desk.seen
    assert 2 in desk.seen
    desk.let_go("h1")
    await soon(holders[1])


async def test_waiting_for_room_ends_at_the_deadline_which_says_so() -> None:
    desk, holders = await full_desk()
    expected = r"Say to actor 'desk' was not answered within .* it waited for space in its mailbox"
    with pytest.raises(DeadlineExceededError, match=expected):
        await soon(desk.ref.ask(Say(text="never"), Deadline.after(0.02)))
    await turns()
    assert desk.statistics().waiting == 0
    for name in ("h0", "h1"):
        desk.let_go(name)
    await soon(asyncio.gather(*holders))
    assert "never" not in desk.seen


async def test_a_queued_message_that_was_handled_makes_room_too() -> None:
    """
    1. An asker is about to run.
    2. The actor tells itself something, which fills its mailbox until the loop's next turn.
    3. The asker finds no room, and has to wait.
    """
    actor = Loopback(limit=1)
    asker = asyncio.create_task(actor.ref.ask(Say(text="waiter")))
    actor.ref.tell(Say(text="outer"))
    assert actor.statistics().queued == 1
    await soon(asker)
    assert actor.seen == [*ATOMIC, "waiter begins", "waiter ends"]


@pytest.mark.parametrize("release_first", [True, False])
async def test_room_that_comes_as_a_waiter_gives_up_goes_to_the_next(release_first: bool) -> None:
    """
    1. The mailbox is full; A and B wait for room.
    2. A is cancelled and a handler ends, in both orders in one turn.
    3. B gets the room, A's message is never handled.
    """
    desk, holders = await full_desk()
    a = asyncio.create_task(desk.ref.ask(Say(text="A")))
    await turns()
    b = asyncio.create_task(desk.ref.ask(Say(text="B")))
    await turns()
    steps: list[Callable[[], Any]] = [lambda: desk.let_go("h0"), a.cancel]
    for step in steps if release_first else reversed(steps):
        step()
    assert await soon(b) == Said(text="B")
    assert "A" not in desk.seen
    desk.let_go("h1")
    await soon(asyncio.gather(*holders))
    assert desk.statistics().in_flight == 0

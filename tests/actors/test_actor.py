"""Actors: messages find their handlers, errors their hearers, and statistics tell what is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import metrics
from actorsession.actors import Actor, CallContext, Deadline, answers, handles
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from tests.actors.kit import Break, Desk, Hold, Loopback, Mule, Note, Said, Say, Stranger, full_desk, soon, turns
from tests.loops import cancelled


# -- handlers --------------------------------------------------------------------------------------
def test_a_plain_answer_needs_no_suspension_and_no_loop() -> None:
    coroutine = Desk().ref.ask(Say(text="hi"))
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    assert stop.value.value == Said(text="hi")


async def test_a_plain_answer_makes_no_task() -> None:
    desk = Desk()
    before = asyncio.all_tasks()
    coroutine = desk.ref.ask(Say(text="hi"))
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert asyncio.all_tasks() == before
    assert desk.statistics().in_flight == 0


async def test_the_answer_of_an_awaitable_is_awaited_in_a_child_of_the_actor() -> None:
    desk = Desk()
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    assert len(desk.children) == 1
    desk.let_go("a")
    assert await soon(asker) == Said(text="a")
    assert len(desk.children) == 0


async def test_a_handler_may_return_a_future() -> None:
    class Lazy(Actor):
        @handles(Say)
        def on_say(self, message: Say, call: CallContext) -> asyncio.Future[str]:
            future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(future.set_result, message.text)
            return future

    assert await soon(Lazy("lazy").ref.ask(Say(text="later"))) == "later"


async def test_a_handler_may_do_part_of_the_work_at_once_and_return_the_rest() -> None:
    class Halves(Actor):
        done = ""

        @handles(Say)
        def on_say(self, message: Say, call: CallContext) -> Any:
            self.done += "first "
            return self._rest()

        async def _rest(self) -> str:
            self.done += "second"
            return self.done

    halves = Halves("halves")
    asker = asyncio.create_task(halves.ref.ask(Say(text="")))
    await asyncio.sleep(0)
    assert halves.done == "first "
    assert await soon(asker) == "first second"


async def test_children_interleave_with_other_messages_at_their_awaits() -> None:
    desk = Desk()
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    await desk.ref.ask(Say(text="between"))
    desk.let_go("a")
    await soon(asker)
    assert desk.seen == ["a began", "between", "a ended"]


async def test_an_unknown_message_is_unimplemented_and_the_error_lists_the_known_ones() -> None:
    expected = "actor 'desk' does not handle Stranger; it handles Break, Hold, Note, Say"
    desk = Desk()
    with pytest.raises(UnimplementedError, match=expected):
        await desk.ref.ask(Stranger())
    with pytest.raises(UnimplementedError, match=expected):
        desk.ref.tell(Stranger())
    assert await desk.ref.ask(Say(text="still there")) == Said(text="still there")


async def test_handlers_are_inherited_and_may_be_overridden_by_name_or_by_message() -> None:
    class Loud(Desk):
        def on_say(self, message: Say, call: CallContext) -> Said:
            return Said(text=message.text.upper())

        @handles(Note)
        def on_other(self, message: Note, call: CallContext) -> None:
            self.seen.append("other")

    loud = Loud()
    assert await loud.ref.ask(Say(text="hi")) == Said(text="HI")
    loud.ref.tell(Note(number=1))
    assert loud.seen == ["other"]


def test_two_handlers_of_one_class_for_the_same_message_are_refused() -> None:
    with pytest.raises(TypeError, match="Torn handles Say in two and in one"):

        class Torn(Actor):
            @handles(Say)
            def one(self, message: Say, call: CallContext) -> None: ...

            @handles(Say)
            def two(self, message: Say, call: CallContext) -> None: ...


async def test_one_handler_may_take_several_messages() -> None:
    class Both(Actor):
        @handles(Say, Stranger)
        def on_either(self, message: Say | Stranger, call: CallContext) -> str:
            return type(message).__name__

    both = Both("both").ref
    assert [await both.ask(Say(text="")), await both.ask(Stranger())] == ["Say", "Stranger"]


async def test_the_context_of_a_local_call_is_local_and_has_a_finite_deadline() -> None:
    desk = Desk()
    await desk.ref.ask(Say(text=""))
    await desk.ref.ask(Say(text=""), Deadline.after(5))
    desk.ref.tell(Note(number=1))
    default, given, told = desk.contexts
    assert (default.peer, default.address) == ("local", "local")
    assert 25 < (default.deadline.remaining() or 0) <= 30
    assert 3 < (given.deadline.remaining() or 0) <= 5
    assert told.deadline.remaining() is None
    gone: list[int] = []
    default.on_gone(lambda: gone.append(1))()
    assert gone == []


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("late", [False, True], ids=["at once", "in a child"])
@pytest.mark.parametrize(("kind", "error"), [("ours", FailedPreconditionError), ("foreign", InvalidArgumentError)])
async def test_a_failing_ask_fails_only_its_caller(kind: str, error: type[OpError], late: bool) -> None:
    desk = Desk()
    with pytest.raises(error, match="broken") as caught:
        await desk.ref.ask(Break(kind=kind, late=late))
    assert kind == "ours" or isinstance(caught.value.__cause__, ZeroDivisionError)
    assert await desk.ref.ask(Say(text="next")) == Said(text="next")
    assert len(desk.children) == 0


@pytest.mark.parametrize("late", [False, True], ids=["at once", "in a child"])
async def test_a_failing_tell_fails_the_actor_and_its_supervisor_hears_of_it(late: bool) -> None:
    heard: list[tuple[Actor, OpError]] = []
    desk = Desk(on_failure=lambda actor, error: heard.append((actor, error)))
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    desk.ref.tell(Break(kind="ours", late=late))
    with pytest.raises(AbortedError, match=r"actor 'desk' was stopped \(Break .*broken.*\); Hold"):
        await soon(asker)
    ((actor, error),) = heard
    assert (actor, type(error)) == (desk, FailedPreconditionError)
    with pytest.raises(AbortedError, match="was stopped"):
        await desk.ref.ask(Say(text="too late"))
    await desk.stop()
    assert desk.has("a cancelled")


@pytest.mark.parametrize("late", [False, True], ids=["at once", "in a child"])
async def test_a_tell_that_fails_for_lack_of_memory_fails_alone(late: bool, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[OpError] = []
    desk = Desk(on_failure=lambda _, error: heard.append(error))
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    desk.ref.tell(Break(kind="memory", late=late))
    assert await soon(desk.ref.ask(Say(text="next"))) == Said(text="next")
    desk.let_go("a")
    assert await soon(asker) == Said(text="a")
    assert not heard
    assert "actor 'desk': Break to actor 'desk' failed" in caplog.text
    await desk.stop()


async def test_without_a_supervisor_a_failing_tell_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    desk.ref.tell(Break(kind="foreign", late=False))
    assert "actor 'desk' has failed: Break to actor 'desk' failed" in caplog.text
    await desk.stop()


async def test_a_supervisor_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def supervisor(actor: Actor, error: OpError) -> None:
        raise RuntimeError("supervisor")

    desk = Desk(on_failure=supervisor)
    desk.ref.tell(Break(kind="ours", late=False))
    assert "the supervisor of actor 'desk' has failed" in caplog.text
    await desk.stop()


async def test_a_failing_child_of_the_actor_itself_fails_the_actor() -> None:
    heard: list[OpError] = []
    desk = Desk(on_failure=lambda _, error: heard.append(error))

    async def background() -> None:
        raise FailedPreconditionError("in the background")

    _ = desk.children.start(background(), name="background")
    await turns()
    assert [str(error) for error in heard] == ["in the background"]
    await desk.stop()


async def test_a_failed_actor_cancels_its_children_without_waiting_for_stop() -> None:
    desk = Desk(on_failure=lambda _, error: None)
    background = desk.children.start(asyncio.Event().wait(), name="background")
    await turns()
    desk.ref.tell(Break(kind="ours", late=False))
    await turns()
    assert background.cancelled()


async def test_a_handler_that_is_cancelled_from_inside_is_an_error_for_the_asker() -> None:
    class Odd(Actor):
        @handles(Say)
        async def on_say(self, message: Say, call: CallContext) -> None:
            raise asyncio.CancelledError

    with pytest.raises(CancelledError, match="Say to actor 'odd' was cancelled before"):
        await soon(Odd("odd").ref.ask(Say(text="")))


# -- statistics ------------------------------------------------------------------------------------
async def test_statistics_count_what_came_and_what_is_there() -> None:
    desk, holders = await full_desk()
    waiter = asyncio.create_task(desk.ref.ask(Say(text="")))
    await turns()
    seen = desk.statistics()
    assert (seen.asks, seen.tells, seen.in_flight, seen.queued, seen.waiting) == (3, 0, 2, 0, 1)
    assert seen.stopped is None
    desk.let_go("h0")
    await soon(waiter)
    desk.ref.tell(Note(number=1))
    assert desk.statistics().tells == 1
    with pytest.raises(AttributeError):
        seen.asks = 0  # type: ignore[misc]
    desk.let_go("h1")
    await soon(asyncio.gather(*holders))


async def test_an_actor_tells_who_it_is() -> None:
    desk = Desk()
    assert repr(desk) == "<Desk 'desk' running, 0 in flight>"
    assert repr(desk.ref) == f"<LocalRef to {desk!r}>"
    await desk.stop("done")
    assert repr(desk) == "<Desk 'desk' stopped (done), 0 in flight>"


def test_a_handler_that_has_to_wait_says_that_there_is_no_loop() -> None:
    coroutine = Desk().ref.ask(Hold(name="a"))
    with pytest.raises(FailedPreconditionError, match="has to wait, and no event loop is running"):
        coroutine.send(None)


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


async def test_cancelling_the_asker_cancels_the_handler() -> None:
    desk = Desk()
    asker = asyncio.create_task(desk.ref.ask(Hold(name="a")))
    await desk.until("a began")
    await cancelled(asker)
    await desk.until("a cancelled")
    await turns()
    assert len(desk.children) == 0


def asked_briefly(actor: Actor, message: Any) -> Any:
    """Asks with a deadline that comes after the message has arrived, however busy the machine is.

    ``Ref.ask`` sends nothing once the deadline is over.
    """
    return actor.submit(message, CallContext(Deadline.after(0.01)))


async def test_a_deadline_names_actor_message_and_time_and_cancels_the_handler() -> None:
    desk = Desk()
    expected = r"Hold to actor 'desk' was not answered within 0(\.0\d*)? s; it was working on it"
    with pytest.raises(DeadlineExceededError, match=expected):
        await soon(asked_briefly(desk, Hold(name="a")))
    await desk.until("a cancelled")


class Janitor(Desk):
    """Completes what it was asked for, though nobody waits for it."""

    @answers(Hold, completes=True)
    async def on_hold(self, message: Hold, call: CallContext) -> Said:
        return await super().on_hold(message, call)

    @handles(Say)
    def on_say(self, message: Say, call: CallContext) -> Said:
        """Asks for something in the midst of a handler, so that it is queued, and gives up at once."""
        self.submit(Hold(name=message.text), call).cancel()
        return Said(text=message.text)


@pytest.mark.parametrize("queued", [False, True])
async def test_a_handler_that_completes_runs_though_its_cancellation_comes_before_it_has_begun(queued: bool) -> None:
    janitor = Janitor()
    if queued:
        await janitor.ref.ask(Say(text="a"))
    else:
        janitor.submit(Hold(name="a"), CallContext(Deadline.never())).cancel()
    await janitor.until("a began")
    janitor.let_go("a")
    await janitor.until("a ended")
    await turns()
    assert (janitor.seen, janitor.statistics().in_flight) == (["a began", "a ended"], 0)


async def test_a_handler_that_completes_outlives_the_deadline_and_ends_with_its_actor() -> None:
    janitor = Janitor()
    for name in ("a", "b"):
        with pytest.raises(DeadlineExceededError):
            await soon(asked_briefly(janitor, Hold(name=name)))
    janitor.let_go("a")
    await janitor.until("a ended")
    await janitor.stop()
    assert janitor.seen == ["a began", "b began", "a ended", "b cancelled"]


async def test_a_deadline_that_is_over_calls_no_handler() -> None:
    desk = Desk()
    with pytest.raises(DeadlineExceededError, match="Say was not sent to actor 'desk'"):
        await desk.ref.ask(Say(text=""), Deadline.after(0))
    assert desk.seen == []


async def test_a_handler_that_ignores_cancellation_does_not_hold_up_the_asker(caplog: pytest.LogCaptureFixture) -> None:
    mule = Mule()
    started = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        await asked_briefly(mule, Say(text=""))
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
    """Two of answer, cancellation and stop come in the same turn of the loop, in both orders. A handler needs a turn to
    answer, so an answer that was let go first still comes second."""
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
    """1. A handler's gate opens and the loop is held until after the asker's deadline, or the reverse. 2. Both are due
    when the loop looks again."""
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


async def test_the_time_in_a_mailbox_is_counted_of_messages_that_are_queued() -> None:
    before = metrics.mailbox_waits()
    actor = Loopback()
    await soon(actor.ref.ask(Say(text="handled at once")))
    assert metrics.mailbox_waits() == before

    class Relay(Loopback):
        @handles(Stranger)
        def on_stranger(self, message: Stranger, call: CallContext) -> None:
            self.ref.tell(Say(text="queued"))

    relay = Relay()
    await relay.ref.ask(Stranger())
    await soon(relay.ref.ask(Say(text="queued behind it")))
    waited = metrics.mailbox_waits() - before
    assert waited.total == 2
    assert 0 < waited.sum < 10


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
        await soon(asked_briefly(desk, Say(text="never")))
    await turns()
    assert desk.statistics().waiting == 0
    for name in ("h0", "h1"):
        desk.let_go(name)
    await soon(asyncio.gather(*holders))
    assert "never" not in desk.seen


async def test_a_queued_message_that_was_handled_makes_room_too() -> None:
    """1. An asker is about to run. 2. The actor tells itself something, which fills its mailbox until the loop's next
    turn. 3. The asker finds no room, and has to wait."""
    actor = Loopback(limit=1)
    asker = asyncio.create_task(actor.ref.ask(Say(text="waiter")))
    actor.ref.tell(Say(text="outer"))
    assert actor.statistics().queued == 1
    await soon(asker)
    assert actor.seen == [*ATOMIC, "waiter begins", "waiter ends"]


@pytest.mark.parametrize("release_first", [True, False])
async def test_room_that_comes_as_a_waiter_gives_up_goes_to_the_next(release_first: bool) -> None:
    """1. The mailbox is full; A and B wait for room. 2. A is cancelled and a handler ends, in both orders in one turn.
    3. B gets the room, A's message is never handled."""
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

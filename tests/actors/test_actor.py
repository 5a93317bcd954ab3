"""Actors: messages find their handlers, errors their hearers, and statistics tell what is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import Actor, CallContext, Deadline, handles
from actorsession.errors import (
    AbortedError,
    CancelledError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
)
from tests.actors.kit import Break, Desk, Hold, Note, Said, Say, Stranger, full_desk, soon, turns

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

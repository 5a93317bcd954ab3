from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from actorsession import errors
from actorsession.actors import Actor, CallContext, Children, Ref, handles
from actorsession.messages import Call, Cancel, Done, Envelope, Failure, Reply, Tell, UnreadableMessage
from actorsession.rpc.service import Service
from tests.actors.kit import Break, Desk, Hold, Note, Said, Say, Stranger, turns
from tests.rows import for_each

PEER, ADDRESS = "client", "tcp://127.0.0.1:7000"


class Wire:
    """What was sent, and a service that sends there."""

    def __init__(self, serves: Mapping[str, Ref]) -> None:
        self.sent: list[Any] = []
        self.refuse: Callable[[Envelope], errors.OpError | None] = lambda _: None
        self.watched: list[Callable[[], None]] = []
        self.children = Children("test")
        self.service = Service(
            serves, peer=PEER, address=ADDRESS, send=self._send, watch=self._watch, children=self.children
        )

    def _send(self, envelope: Envelope) -> None:
        error = self.refuse(envelope)
        if error is not None:
            raise error
        self.sent.append(envelope)

    def _watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.watched.append(callback)
        return lambda: self.watched.remove(callback)

    def call(self, message: Any, call_id: int = 0, time_left: float | None = 10.0) -> None:
        self.service.call(Call(call_id, "desk", time_left, message))

    @property
    def error(self) -> errors.OpError:
        """The error that the only envelope sent carries."""
        (failure,) = self.sent
        assert isinstance(failure, Failure)
        return failure.error


def desk_and_wire(**options: Any) -> tuple[Desk, Wire]:
    desk = Desk(**options)
    return desk, Wire({"desk": desk.ref})


async def test_a_plain_answer_is_sent_within_the_call_and_without_a_task() -> None:
    _, wire = desk_and_wire()
    before = asyncio.all_tasks()
    wire.call(Say(text="hi"), 5)
    assert wire.sent == [Reply(5, Said(text="hi"))]
    assert asyncio.all_tasks() == before


async def test_a_handler_that_awaits_answers_when_it_is_through() -> None:
    desk, wire = desk_and_wire()
    wire.call(Hold(name="a"), 5)
    await desk.until("a began")
    assert (wire.sent, len(wire.service)) == ([], 1)
    desk.let_go("a")
    await desk.until("a ended")
    await turns()
    assert (wire.sent, len(wire.service)) == ([Reply(5, Said(text="a"))], 0)


async def test_answers_go_out_in_the_order_in_which_handlers_are_through() -> None:
    desk, wire = desk_and_wire()
    for call_id, name in enumerate("ab"):
        wire.call(Hold(name=name), call_id)
        await desk.until(f"{name} began")
    wire.call(Say(text="c"), 2)
    for name in "ba":
        desk.let_go(name)
        await desk.until(f"{name} ended")
    await turns()
    assert [reply.call_id for reply in wire.sent] == [2, 1, 0]


async def test_the_handler_sees_peer_address_and_the_time_left() -> None:
    desk, wire = desk_and_wire()
    wire.call(Say(text=""), time_left=5.0)
    wire.call(Say(text=""), time_left=None)
    wire.service.tell(Tell("desk", Note(number=1)))
    limited, unlimited, told = desk.contexts
    assert {(c.peer, c.address) for c in desk.contexts} == {(PEER, ADDRESS)}
    assert 4.0 < (limited.deadline.remaining() or 0) <= 5.0
    assert unlimited.deadline.remaining() is None
    assert told.deadline.remaining() is None
    unregister = limited.on_gone(wire.children.cancel)
    assert wire.watched == [wire.children.cancel]
    unregister()
    assert wire.watched == []


async def test_the_time_left_becomes_the_handlers_deadline() -> None:
    desk, wire = desk_and_wire()
    wire.call(Hold(name="a"), time_left=0.02)
    await desk.until("a cancelled")
    await turns()
    assert isinstance(wire.error, errors.DeadlineExceededError)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("kind", "error"), [("ours", errors.FailedPreconditionError), ("foreign", errors.InvalidArgumentError)]
)
async def test_an_error_becomes_a_failure(kind: str, error: type[errors.OpError], late: bool) -> None:
    _, wire = desk_and_wire()
    wire.call(Break(kind=kind, late=late))
    await turns()
    assert type(wire.error) is error
    wire.call(Say(text="next"))
    assert wire.sent[1:] == [Reply(0, Said(text="next"))]


async def test_an_unknown_target_is_not_found_and_the_known_ones_are_named() -> None:
    wire = Wire({"master": Desk().ref, "worker": Desk().ref})
    wire.call(Say(text=""))
    assert isinstance(wire.error, errors.NotFoundError)
    assert str(wire.error) == "there is no actor 'desk' here; there are: master, worker"


async def test_a_target_that_is_served_later_is_found() -> None:
    serves: dict[str, Ref] = {}
    wire = Wire(serves)
    serves["desk"] = Desk().ref
    wire.call(Say(text="hi"))
    assert wire.sent == [Reply(0, Said(text="hi"))]


@pytest.mark.parametrize(
    ("message", "words"),
    [(Stranger(), "does not handle Stranger"), (Note(number=1), "Note has no reply")],
    ids=["no handler", "no reply"],
)
async def test_a_message_that_cannot_be_asked_is_unimplemented(message: Any, words: str) -> None:
    desk, wire = desk_and_wire()
    wire.call(message)
    assert isinstance(wire.error, errors.UnimplementedError)
    assert words in str(wire.error)
    assert desk.seen == []


async def test_an_answer_that_the_vocabulary_does_not_know_is_our_own_error() -> None:
    class Wrong(Actor):
        @handles(Say)
        def on_say(self, message: Say, call: CallContext) -> Done:
            return Done()

    wire = Wire({"desk": Wrong("wrong").ref})
    wire.call(Say(text=""))
    assert isinstance(wire.error, errors.InternalError)
    assert "actor 'desk' answered Say with Done; the vocabulary says Said" in str(wire.error)


async def test_an_answer_that_does_not_travel_becomes_a_failure() -> None:
    _, wire = desk_and_wire()
    wire.refuse = lambda e: errors.InvalidArgumentError("too large") if isinstance(e, Reply) else None
    wire.call(Say(text=""))
    assert str(wire.error) == "too large"


async def test_an_answer_after_the_end_of_the_link_is_dropped() -> None:
    _, wire = desk_and_wire()
    wire.refuse = lambda _: errors.UnavailableError("over")
    wire.call(Say(text=""))
    wire.call(Stranger())
    assert wire.sent == []


async def test_an_unreadable_call_is_answered_with_a_protocol_error() -> None:
    _, wire = desk_and_wire()
    wire.service.unreadable(UnreadableMessage("unknown message tag", call_id=9, answer=False))
    assert type(wire.error) is errors.ProtocolError
    assert (wire.sent[0].call_id, wire.error.message) == (9, "unknown message tag")


async def test_a_call_id_that_is_in_use_is_a_protocol_error() -> None:
    desk, wire = desk_and_wire()
    wire.call(Hold(name="a"), 5)
    with pytest.raises(errors.ProtocolError, match="call id 5 is used twice"):
        wire.call(Say(text=""), 5)
    wire.service.cancel_all()
    await desk.stop()


# --- tells ---------------------------------------------------------------------------------------
async def test_tells_are_handled_at_once_and_in_order() -> None:
    desk, wire = desk_and_wire()
    for number in range(3):
        wire.service.tell(Tell("desk", Note(number=number)))
    assert [n for n in desk.seen if isinstance(n, int)] == [0, 1, 2]
    assert (wire.service.tells, wire.sent) == (3, [])


@pytest.mark.parametrize(
    ("target", "message", "words"),
    [("nobody", Note(number=1), "no actor 'nobody'"), ("desk", Stranger(), "does not handle")],
)
async def test_a_tell_that_nobody_takes_is_logged(target: str, message: Any, words: str, caplog: Any) -> None:
    _, wire = desk_and_wire()
    wire.service.tell(Tell(target, message))
    assert f"a tell of {PEER} at {ADDRESS} is lost: " in caplog.text
    assert words in caplog.text


async def test_a_tell_to_a_stopped_actor_is_no_ones_fault(caplog: pytest.LogCaptureFixture) -> None:
    desk, wire = desk_and_wire()
    await desk.stop()
    wire.service.tell(Tell("desk", Note(number=1)))
    assert [record.levelname for record in caplog.records if record.levelno > 20] == []
    assert desk.seen == []


async def test_a_tell_without_room_is_raised_for_the_link_to_end() -> None:
    desk, wire = desk_and_wire(limit=1)
    wire.call(Hold(name="a"))
    with pytest.raises(errors.ResourceExhaustedError, match="Note was not accepted"):
        wire.service.tell(Tell("desk", Note(number=1)))
    await desk.stop()


# --- passing on ----------------------------------------------------------------------------------
class Elsewhere:
    """A ref that is neither local nor remote."""

    name = "elsewhere"

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def ask(self, message: Any, deadline: Any = None) -> Any:
        return await self.answer

    def submit(self, message: Any, context: CallContext) -> asyncio.Future[Any]:
        return self.answer

    def tell(self, message: Any) -> None:
        self.told.append(message)


async def test_calls_and_tells_to_an_actor_elsewhere_are_passed_on() -> None:
    elsewhere = Elsewhere()
    wire = Wire({"desk": elsewhere})
    wire.call(Say(text=""), 3)
    wire.service.tell(Tell("desk", Note(number=1)))
    assert elsewhere.told == [Note(number=1)]
    elsewhere.answer.set_result(Said(text="from afar"))
    await turns()
    assert wire.sent == [Reply(3, Said(text="from afar"))]


async def test_cancelling_a_call_that_was_passed_on_cancels_it_there() -> None:
    elsewhere = Elsewhere()
    wire = Wire({"desk": elsewhere})
    wire.call(Say(text=""))
    await turns()
    wire.service.cancel(Cancel(0))
    await turns()
    assert elsewhere.answer.cancelled()
    assert (wire.sent, len(wire.service)) == ([], 0)


async def test_a_call_that_was_cancelled_elsewhere_is_a_failure() -> None:
    elsewhere = Elsewhere()
    wire = Wire({"desk": elsewhere})
    wire.call(Say(text=""))
    await turns()
    elsewhere.answer.cancel()
    await turns()
    assert type(wire.error) is errors.CancelledError


# --- races ---------------------------------------------------------------------------------------
Event = Callable[[Desk, Wire], Any]

ENDINGS: dict[str, Event] = {
    "answer": lambda desk, _: desk.let_go("a"),
    "cancel": lambda _, wire: wire.service.cancel(Cancel(0)),
    "link loss": lambda _, wire: wire.service.cancel_all(),
    "actor stop": lambda desk, _: desk._shut("test"),
}


@for_each("second", ENDINGS)
@for_each("first", ENDINGS)
async def test_a_call_is_answered_once_or_cancelled(first: str, second: str) -> None:
    """Each pair of endings in both orders, before the handler has a chance to run."""
    desk, wire = desk_and_wire()
    wire.call(Hold(name="a"))
    await desk.until("a began")
    for name in (first, second):
        ENDINGS[name](desk, wire)
    await turns()
    happened = {first, second}
    if happened & {"cancel", "link loss"}:
        assert wire.sent == []
    elif "actor stop" in happened:
        assert isinstance(wire.error, errors.AbortedError)
    else:
        assert wire.sent == [Reply(0, Said(text="a"))]
    assert len(wire.service) == 0
    await desk.stop()
    assert desk.has("a cancelled") or desk.has("a ended")


@pytest.mark.parametrize("when", ["after its answer", "twice"])
async def test_a_cancel_at_the_wrong_time_is_harmless(when: str) -> None:
    desk, wire = desk_and_wire()
    wire.call(Hold(name="a"))
    await desk.until("a began")
    if when == "twice":
        wire.service.cancel(Cancel(0))
        wire.service.cancel(Cancel(0))
        await desk.until("a cancelled")
    else:
        desk.let_go("a")
        await desk.until("a ended")
        await turns()
        assert wire.sent == [Reply(0, Said(text="a"))]
    if when == "after its answer":
        wire.service.cancel(Cancel(0))
    await turns()
    wire.call(Say(text="next"), 1)
    assert wire.sent[-1] == Reply(1, Said(text="next"))

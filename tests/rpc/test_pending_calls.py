from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import errors
from actorsession.actors import Deadline
from actorsession.messages import Call, Cancel, Done, Envelope, Failure, Reply, UnreadableMessage
from actorsession.rpc.pending_calls import PendingCalls
from tests.actors.kit import Note, Said, Say, soon, turns
from tests.loops import cancelled
from tests.rows import for_each

PEER, ADDRESS = "/job:ps/task:0", "tcp://127.0.0.1:7000"


class Wire:
    """What was sent, and a table of calls that sends there."""

    def __init__(self) -> None:
        self.sent: list[Envelope] = []
        self.broken: errors.OpError | None = None
        self.calls = PendingCalls(PEER, ADDRESS, self._send)

    def _send(self, envelope: Envelope) -> None:
        if self.broken is not None:
            raise self.broken
        self.sent.append(envelope)

    def ask(self, seconds: float | None = 10.0) -> asyncio.Task[Any]:
        return asyncio.create_task(self._ask(Deadline.after(seconds)))

    async def _ask(self, deadline: Deadline) -> Any:
        return await self.calls.submit("desk", Say(text="hi"), deadline)


async def test_a_call_carries_target_message_and_time_left() -> None:
    wire = Wire()
    asker = wire.ask(5.0)
    await turns()
    (call,) = wire.sent
    assert isinstance(call, Call)
    assert (call.call_id, call.target, call.message) == (0, "desk", Say(text="hi"))
    assert call.time_left is not None
    assert 4.0 < call.time_left <= 5.0
    wire.calls.replied(Reply(0, Said(text="hi")))
    assert await soon(asker) == Said(text="hi")


async def test_without_a_limit_no_time_left_is_sent() -> None:
    wire = Wire()
    asker = wire.ask(None)
    await turns()
    assert wire.sent == [Call(0, "desk", None, Say(text="hi"))]
    wire.calls.replied(Reply(0, Said(text="")))
    await soon(asker)


async def test_answers_find_their_calls_in_any_order() -> None:
    wire = Wire()
    askers = [wire.ask() for _ in range(3)]
    await turns()
    for call_id in (2, 0, 1):
        wire.calls.replied(Reply(call_id, Said(text=str(call_id))))
    answers = await soon(asyncio.gather(*askers))
    assert [answer.text for answer in answers] == ["0", "1", "2"]
    assert (len(wire.calls), wire.calls.sent) == (0, 3)


async def test_an_error_of_the_peer_names_its_task_unless_it_names_another() -> None:
    wire = Wire()
    for task, shown in [(None, PEER), ("/job:other", "/job:other")]:
        asker = wire.ask()
        await turns()
        call_id = wire.calls.sent - 1
        wire.calls.failed(Failure(call_id, errors.FailedPreconditionError("no", task=task)))
        with pytest.raises(errors.FailedPreconditionError, match="no") as caught:
            await soon(asker)
        assert caught.value.task == shown


async def test_an_answer_of_the_wrong_class_is_a_protocol_error() -> None:
    wire = Wire()
    asker = wire.ask()
    await turns()
    wire.calls.replied(Reply(0, Done()))
    with pytest.raises(errors.ProtocolError, match="Say to 'desk': expected Said, found Done") as caught:
        await soon(asker)
    assert caught.value.task == PEER


async def test_an_unreadable_answer_is_a_protocol_error_for_its_caller() -> None:
    wire = Wire()
    asker = wire.ask()
    await turns()
    wire.calls.unreadable(UnreadableMessage("field 'text' is missing", call_id=0, answer=True))
    with pytest.raises(errors.ProtocolError, match="the answer to Say to 'desk': field 'text'"):
        await soon(asker)


async def test_answers_to_unknown_calls_are_dropped() -> None:
    calls = Wire().calls
    calls.replied(Reply(7, Said(text="")))
    calls.failed(Failure(7, errors.NotFoundError("")))
    calls.unreadable(UnreadableMessage("", call_id=7, answer=True))
    calls.expired(7, 1.0)
    assert len(calls) == 0


async def test_a_message_without_a_reply_cannot_be_asked() -> None:
    wire = Wire()
    with pytest.raises(errors.InvalidArgumentError, match="Note has no reply; it can only be told"):
        await wire.calls.submit("desk", Note(number=1), Deadline.never())
    assert wire.sent == []


async def test_a_call_that_cannot_be_sent_is_not_pending() -> None:
    wire = Wire()
    wire.broken = errors.UnavailableError("no way")
    with pytest.raises(errors.UnavailableError, match="no way"):
        await wire.calls.submit("desk", Say(text=""), Deadline.after(10))
    assert (len(wire.calls), wire.calls.sent) == (0, 0)


async def test_a_call_whose_sending_ends_the_link_fails_once() -> None:
    """1. One call is pending. 2. Sending another finds that the connection is gone, and fails all that is pending.
    3. The second caller has its error from the sending alone; nobody forgets to look at one."""
    wire = Wire()
    first = wire.ask()
    await turns()

    def send(envelope: Envelope) -> None:
        wire.calls.fail_all(errors.UnavailableError)
        raise errors.UnavailableError("gone")

    wire.calls._send = send
    with pytest.raises(errors.UnavailableError, match="gone"):
        await wire.calls.submit("desk", Say(text=""), Deadline.after(10))
    with pytest.raises(errors.UnavailableError, match="Say to 'desk'"):
        await soon(first)


async def test_a_cancelled_call_sends_a_cancel_even_if_that_fails() -> None:
    wire = Wire()
    asker = wire.ask()
    await turns()
    wire.broken = errors.UnavailableError("no way")
    await cancelled(asker)
    assert len(wire.calls) == 0


async def test_the_deadline_names_peer_address_actor_message_and_time() -> None:
    wire = Wire()
    expected = rf"{PEER} at {ADDRESS} did not answer Say to 'desk' within 0\.0\d* s"
    with pytest.raises(errors.DeadlineExceededError, match=expected):
        await soon(wire.ask(0.02))
    assert wire.sent[1:] == [Cancel(0)]


# --- races ---------------------------------------------------------------------------------------
Event = Callable[[Wire, "asyncio.Task[Any]"], Any]

# What can end a call, and what its caller then sees.
ENDINGS: dict[str, tuple[Event, Any]] = {
    "reply": (lambda wire, _: wire.calls.replied(Reply(0, Said(text="hi"))), Said),
    "failure": (
        lambda wire, _: wire.calls.failed(Failure(0, errors.FailedPreconditionError("no"))),
        errors.FailedPreconditionError,
    ),
    "deadline": (lambda wire, _: wire.calls.expired(0, 1.0), errors.DeadlineExceededError),
    "loss": (lambda wire, _: wire.calls.fail_all(errors.UnavailableError), errors.UnavailableError),
    "close": (lambda wire, _: wire.calls.fail_all(errors.CancelledError), errors.CancelledError),
    "cancel": (lambda _, asker: asker.cancel(), asyncio.CancelledError),
}


@for_each("second", ENDINGS)
@for_each("first", ENDINGS)
async def test_of_two_endings_in_one_turn_the_first_counts(first: str, second: str) -> None:
    """Each pair of endings in both orders, before the caller has a chance to run. A cancellation of the caller always
    ends it as cancelled, for its canceller counts on that. The peer is told to cancel if, and only if, neither an
    answer nor the link's end came first."""
    wire = Wire()
    asker = wire.ask()
    await turns()
    for name in (first, second):
        ENDINGS[name][0](wire, asker)
    (outcome,) = await soon(asyncio.gather(asker, return_exceptions=True))
    expected = ENDINGS["cancel" if "cancel" in (first, second) else first][1]
    assert type(outcome) is expected
    assert len(wire.calls) == 0
    told = wire.sent[1:]
    if first == "deadline" or {first, second} == {"cancel"}:
        assert told == [Cancel(0)]
    elif first == "cancel":
        # The caller looks at the table when it wakes up; what came second has emptied it.
        assert told == ([Cancel(0)] if second in ("deadline",) else [])
    else:
        assert told == []

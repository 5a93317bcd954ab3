"""The asks of this end of a link that are not answered yet.

``Link`` is the only user of ``PendingCalls``: it passes in the function that sends an envelope, and passes
on the answers that arrive. The module imports the envelopes and the deadline.

Invariants: a call is in the table from the moment it is sent until it has ended. It ends once: by its
answer, its deadline, its caller or the end of the link. An answer to a call that is not in the table came
too late, and is dropped. The peer is notified of each call that ended before its answer came, unless the
link has ended.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, OpError, ProtocolError, UnavailableError
from actorsession.messages import VOCABULARY, Call, Cancel, Envelope, Failure, Reply, UnreadableMessage
from actorsession.records import dataclass
from transports.event import Event

__all__ = ["MAX_PENDING", "PendingCalls"]

MAX_PENDING = 10_000
"""Asks of one link that may wait for an answer; further ones wait. It is below the limit of the other end."""


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """One ask: its target, message class and reply class, and the future that its caller awaits."""

    target: str
    message: str
    reply: type[Any]
    answer: asyncio.Future[Any]

    def fail(self, error: OpError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def __str__(self) -> str:
        return f"{self.message} to {self.target!r}"


class PendingCalls:
    """The table of pending asks of one link.

    Args:
        peer: cluster task of the other end.
        address: address of the other end.
        send: sends an envelope; raises ``UnavailableError`` once the link is lost.
    """

    __slots__ = ("_address", "_calls", "_ids", "_peer", "_send", "_space", "sent")

    def __init__(self, peer: str, address: str, send: Callable[[Envelope], None]) -> None:
        self._peer = peer
        self._address = address
        self._send = send
        self._ids = itertools.count()
        self._calls: dict[int, _PendingCall] = {}
        self._space = Event()
        self.sent = 0

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def full(self) -> bool:
        """Whether one more ask has to wait."""
        return len(self._calls) >= MAX_PENDING

    async def wait_for_space(self) -> None:
        """Wait until an ask may be made, or the link has ended."""
        while self.full:
            self._space.clear()
            await self._space.wait()

    def submit(self, target: str, message: Any, deadline: Deadline) -> asyncio.Future[Any]:
        """Send a call and return a future of its answer; cancelling it cancels the handler at the peer.

        The future ends with ``DeadlineExceededError`` if the deadline comes first, with ``ProtocolError`` if
        the answer is unreadable or not of the class in the vocabulary, and otherwise with the answer, the
        error that the handler raised, or the reason why the link has ended.

        Raises:
            InvalidArgumentError: the message class has no reply, or the message cannot be encoded; nothing
                was sent.
            OpError: the reason why the link has ended.
        """
        name = type(message).__name__
        reply = VOCABULARY.reply_of(type(message))
        if reply is None:
            raise InvalidArgumentError(f"{name} has no reply; it can only be told")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        call_id = next(self._ids)
        seconds = deadline.time_left
        # Sent first, because sending may detect the end of the link, which fails all calls in the table. No
        # answer can arrive before the next iteration of the event loop.
        self._send(Call(call_id, target, seconds, message))
        self.sent += 1
        self._calls[call_id] = _PendingCall(target, name, reply, answer)
        timer = None
        if seconds is not None:
            timer = loop.call_later(seconds, self.expired, call_id, seconds)
        answer.add_done_callback(partial(self._ended, call_id, timer))
        return answer

    def _ended(self, call_id: int, timer: asyncio.TimerHandle | None, answer: asyncio.Future[Any]) -> None:
        if timer is not None:
            timer.cancel()
        if self._calls.pop(call_id, None) is not None and answer.cancelled():
            self._send_cancel(call_id)
        self._space.set()

    def replied(self, reply: Reply) -> None:
        """Complete a call with its answer."""
        call = self._calls.pop(reply.call_id, None)
        if call is None or call.answer.done():
            return
        if type(reply.message) is call.reply:
            call.answer.set_result(reply.message)
            return
        expected, actual = call.reply.__name__, type(reply.message).__name__
        call.fail(ProtocolError(f"{call}: expected {expected}, found {actual}", task=self._peer))

    def failed(self, failure: Failure) -> None:
        """Complete a call with the error that its handler at the peer raised."""
        call = self._calls.pop(failure.call_id, None)
        if call is not None:
            call.fail(failure.error.locate(task=self._peer))

    def unreadable(self, error: UnreadableMessage) -> None:
        """Fail a call whose answer could not be decoded, or had no memory."""
        call = self._calls.pop(error.call_id, None)
        if call is not None:
            call.fail(error.kind(f"the answer to {call}: {error.message}", task=self._peer))

    def expired(self, call_id: int, seconds: float) -> None:
        """Fail a call whose deadline has come; called by its timer.

        Args:
            call_id: the id of the call.
            seconds: how long the call has waited.
        """
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        where = f"{self._peer} at {self._address}"
        call.fail(DeadlineExceededError(f"{where} did not answer {call} within {seconds:.3g} s"))
        self._send_cancel(call_id)

    def fail_all(self, make_error: Callable[[str], OpError]) -> None:
        """Fail all calls.

        Args:
            make_error: makes the error for a call from its description.
        """
        calls, self._calls = self._calls, {}
        self._space.set()
        for call in calls.values():
            call.fail(make_error(str(call)))

    def _send_cancel(self, call_id: int) -> None:
        with suppress(UnavailableError):  # then the end of the link cancels the call
            self._send(Cancel(call_id))

"""The asks that this end of a link has made and that are not answered yet.

Owns ``PendingCalls``. ``Link`` is its only caller: it passes in what sends an envelope, and hands
over the answers that come in. It imports the envelopes and the deadline.

Invariants: a call is in the table from the moment it is sent until it has ended, and it ends once:
by its answer, its deadline, its caller or the end of the link. An answer to a call that is not in
the table came too late, and is dropped. The peer is told of each call that ended before its answer
came, unless the link is over.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    UnavailableError,
)
from actorsession.messages import (
    VOCABULARY,
    Call,
    Cancel,
    Envelope,
    Failure,
    Reply,
    UnreadableMessage,
)
from actorsession.records import dataclass

__all__ = ["MAX_PENDING", "PendingCalls"]

MAX_PENDING = 10_000
"""Asks of one link that may wait for an answer; more wait for room. Below what the other end takes."""


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """One ask: to whom, what, which class answers it, and the future that its caller awaits."""

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
        address: where it is.
        send: sends an envelope; raises ``UnavailableError`` once the link is over.
    """

    def __init__(self, peer: str, address: str, send: Callable[[Envelope], None]) -> None:
        self._peer = peer
        self._address = address
        self._send = send
        self._ids = itertools.count()
        self._calls: dict[int, _PendingCall] = {}
        self._room = asyncio.Event()
        self.sent = 0

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def full(self) -> bool:
        """Whether one more ask has to wait."""
        return len(self._calls) >= MAX_PENDING

    async def wait_for_room(self) -> None:
        """Wait until an ask may be made, or the link is over."""
        while self.full:
            self._room.clear()
            await self._room.wait()

    async def ask(self, target: str, message: Any, deadline: Deadline) -> Any:
        """Send a call and awaits its answer; cancelling it cancels the handler at the peer.

        Raises:
            DeadlineExceededError: the deadline came first.
            InvalidArgumentError: the message can only be told, or does not travel; nothing was
                sent.
            ProtocolError: the answer is not of the class that the vocabulary says, or unreadable.
            OpError: what the handler has raised, or why the link is over.
        """
        name = type(message).__name__
        reply = VOCABULARY.reply_of(type(message))
        if reply is None:
            raise InvalidArgumentError(f"{name} has no reply; it can only be told")
        loop = asyncio.get_running_loop()
        call = _PendingCall(target, name, reply, loop.create_future())
        call_id = next(self._ids)
        seconds = deadline.time_left
        timer = None
        # Sent first, for sending may find that the link is over, which fails all that is in the table.
        # No answer can come before the loop's next turn.
        self._send(Call(call_id, target, seconds, message))
        self.sent += 1
        self._calls[call_id] = call
        try:
            if seconds is not None:
                timer = loop.call_later(seconds, self.expired, call_id, seconds)
            return await call.answer
        except asyncio.CancelledError:
            if call_id in self._calls:
                self._send_cancel(call_id)
            raise
        finally:
            self._calls.pop(call_id, None)
            self._room.set()
            if timer is not None:
                timer.cancel()

    def replied(self, reply: Reply) -> None:
        """Take an answer."""
        call = self._calls.pop(reply.call_id, None)
        if call is None or call.answer.done():
            return
        if type(reply.message) is call.reply:
            call.answer.set_result(reply.message)
            return
        expected, found = call.reply.__name__, type(reply.message).__name__
        call.fail(ProtocolError(f"{call}: expected {expected}, found {found}", task=self._peer))

    def failed(self, failure: Failure) -> None:
        """Take the error that a handler at the peer has raised."""
        call = self._calls.pop(failure.call_id, None)
        if call is not None:
            call.fail(failure.error.locate(task=self._peer))

    def unreadable(self, error: UnreadableMessage) -> None:
        """Take an answer that could not be decoded."""
        call = self._calls.pop(error.call_id, None)
        if call is not None:
            call.fail(ProtocolError(f"the answer to {call}: {error.message}", task=self._peer))

    def expired(self, call_id: int, seconds: float) -> None:
        """End a call whose deadline has come; its timer calls this.

        Args:
            call_id: the call's.
            seconds: how long it was waited for.
        """
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        where = f"{self._peer} at {self._address}"
        call.fail(DeadlineExceededError(f"{where} did not answer {call} within {seconds:.3g} s"))
        self._send_cancel(call_id)

    def fail_all(self, make_error: Callable[[str], OpError]) -> None:
        """End all calls.

        Args:
            make_error: makes the error for a call, of what was asked.
        """
        calls, self._calls = self._calls, {}
        self._room.set()
        for call in calls.values():
            call.fail(make_error(str(call)))

    def _send_cancel(self, call_id: int) -> None:
        with suppress(UnavailableError):  # then the link's end cancels it
            self._send(Cancel(call_id))

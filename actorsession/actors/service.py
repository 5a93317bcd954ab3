"""What one end of a link does for the other: finds the actor, passes the message on, answers.

Owns ``Service``. ``Link`` is its only caller: it passes in what sends an envelope, and hands over
calls, tells and cancellations as they come. It imports refs and envelopes.

Invariants: each call is answered once, by a reply or a failure, unless the peer has cancelled it or
    the
link is over. What a peer does wrong harms that peer's link at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from actorsession.actors.clock import Clock
from actorsession.actors.context import CallContext, Watch
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.supervision import Children
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    from_exception,
)
from actorsession.messages import (
    VOCABULARY,
    Call,
    Cancel,
    Envelope,
    Failure,
    Reply,
    Tell,
    UnreadableMessage,
)

__all__ = ["Service"]

logger = logging.getLogger("actorsession.actors")


class Service:
    """The calls of one peer.

    Args:
        serves: target name to actor; looked at for each call.
        peer: cluster task of the peer.
        address: where it is.
        send: sends an envelope; raises ``UnavailableError`` once the link is over.
        watch: registers a callback for the end of the link.
        children: own the calls that are passed on to actors elsewhere.
        clock: of the deadlines that handlers see.
    """

    def __init__(
        self,
        serves: Mapping[str, Ref],
        *,
        peer: str,
        address: str,
        send: Callable[[Envelope], None],
        watch: Watch,
        children: Children,
        clock: Clock,
    ) -> None:
        self._serves = serves
        self._peer = peer
        self._address = address
        self._send = send
        self._watch = watch
        self._children = children
        self._clock = clock
        self._working: dict[int, asyncio.Future[Any]] = {}
        self._tell_context = CallContext(NEVER, peer, address, watch)
        self.calls = self.tells = 0

    def __len__(self) -> int:
        return len(self._working)

    def call(self, call: Call) -> None:
        """Takes a call; answers now if the handler needs no child.

        Raises:
            ProtocolError: if the peer uses the id of a call that is not answered yet.
        """
        if call.call_id in self._working:
            raise ProtocolError(f"call id {call.call_id} is used twice at the same time")
        self.calls += 1
        try:
            answer = self._submit(call)
        except Exception as exc:
            self._send_answer(Failure(call.call_id, from_exception(exc)))
            return
        if isinstance(answer, asyncio.Future):
            self._working[call.call_id] = answer
            answer.add_done_callback(lambda done: self._answered(call, done))
        else:
            self._reply(call, answer)

    def tell(self, tell: Tell) -> None:
        """Takes a tell.

        Raises:
            ResourceExhaustedError: the actor's mailbox is full. The peer believes that the message
                has arrived, so the link has to end.
        """
        self.tells += 1
        try:
            ref = self._target(tell.target)
            if isinstance(ref, LocalRef) and ref.is_here():
                ref.deliver(tell.message, self._tell_context)
            else:
                ref.tell(tell.message)
        except ResourceExhaustedError:
            raise
        except AbortedError as exc:  # its sender could not know yet
            logger.info("a tell of %s at %s came too late: %s", self._peer, self._address, exc)
        except OpError as exc:
            logger.warning("a tell of %s at %s is lost: %s", self._peer, self._address, exc)

    def cancel(self, cancel: Cancel) -> None:
        """Cancels a call's handler; nothing if it has ended or never was."""
        answer = self._working.pop(cancel.call_id, None)
        if answer is not None:
            answer.cancel()

    def cancel_all(self) -> None:
        """Cancels all handlers, because nobody can be answered any more."""
        working, self._working = self._working, {}
        for answer in working.values():
            answer.cancel()

    def unreadable(self, error: UnreadableMessage) -> None:
        """Answers a call that could not be decoded."""
        logger.warning("a call of %s at %s: %s", self._peer, self._address, error)
        self._send_answer(Failure(error.call_id, ProtocolError(error.message)))

    def _submit(self, call: Call) -> Any:
        ref = self._target(call.target)
        if VOCABULARY.reply_of(type(call.message)) is None:
            name = type(call.message).__name__
            raise UnimplementedError(f"{name} has no reply; it can only be told")
        deadline = Deadline.after(call.time_left, self._clock)
        if isinstance(ref, LocalRef) and ref.is_here():
            context = CallContext(deadline, self._peer, self._address, self._watch)
            return ref.submit(call.message, context)
        name = f"pass {type(call.message).__name__} of {self._peer} on to {ref.name}"
        return self._children.start(ref.ask(call.message, deadline), name=name, awaited=True)

    def _target(self, name: str) -> Ref:
        ref = self._serves.get(name)
        if ref is None:
            served = ", ".join(sorted(self._serves)) or "none"
            raise NotFoundError(f"there is no actor {name!r} here; there are: {served}")
        return ref

    def _answered(self, call: Call, answer: asyncio.Future[Any]) -> None:
        if answer.cancelled():
            error: BaseException | None = CancelledError(
                f"{type(call.message).__name__} was cancelled"
            )
        else:
            error = answer.exception()
        if self._working.get(call.call_id) is not answer:
            return  # cancelled by the peer, or the link is over
        del self._working[call.call_id]
        if error is None:
            self._reply(call, answer.result())
        else:
            self._send_answer(Failure(call.call_id, from_exception(error)))

    def _reply(self, call: Call, message: Any) -> None:
        expected = VOCABULARY.reply_of(type(call.message))
        if type(message) is expected:
            self._send_answer(Reply(call.call_id, message))
            return
        error = InternalError(
            f"actor {call.target!r} answered {type(call.message).__name__} with "
            f"{type(message).__name__}; the vocabulary says {getattr(expected, '__name__', None)}"
        )
        logger.error("%s", error)
        self._send_answer(Failure(call.call_id, error))

    def _send_answer(self, answer: Reply | Failure) -> None:
        with suppress(UnavailableError):  # the link is over: nobody waits
            try:
                self._send(answer)
            except InvalidArgumentError as exc:  # the answer does not travel
                self._send(Failure(answer.call_id, exc))

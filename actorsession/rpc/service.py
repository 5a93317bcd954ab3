"""What one end of a link does for the other: finds the actor, passes the message on, answers.

Owns ``Service``. ``Link`` is its only caller: it passes in what sends an envelope, and hands over
calls, tells and cancellations as they come. It imports refs and envelopes.

A peer that does not read the answers it was given gets no more work done: calls of steps are held back until
it does, in order. Only these are, so a session can be closed and a task asked how it fares all the same.

Invariants: each call is answered once, by a reply or a failure, unless the peer has cancelled it or
the link is over. What a peer does wrong harms that peer's link at most. Of the calls of one peer only so
many are under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
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

__all__ = ["MAX_SERVING", "Service"]

MAX_SERVING = 20_000
"""Calls of one peer that may be under way. No peer of ours comes near it (a master asks for 10,000 steps at
once, see ``Server``); it bounds what one that does not keep to that can make us hold, some 60 MB."""

# Cancellations that are remembered because they came before their calls, which large arrays hold up.
_EARLY = 1024

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
        congested: whether the peer has much to read yet.
        drain: waits until it has not, or the link is over.
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
        congested: Callable[[], bool] = lambda: False,
        drain: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._serves = serves
        self._peer = peer
        self._address = address
        self._send = send
        self._watch = watch
        self._children = children
        self._clock = clock
        self._working: dict[int, asyncio.Future[Any]] = {}
        self._congested = congested
        self._drain = drain
        self._held: OrderedDict[int, tuple[Call, Deadline]] = OrderedDict()
        self._early: OrderedDict[int, None] = OrderedDict()
        self._tell_context = CallContext(NEVER, peer, address, watch)
        self.calls = self.tells = 0

    def __len__(self) -> int:
        return len(self._working) + len(self._held)

    @property
    def held(self) -> int:
        """How many calls are held back."""
        return len(self._held)

    def call(self, call: Call) -> None:
        """Take a call; answer now if the handler needs no child.

        Raises:
            ProtocolError: if the peer uses the id of a call that is not answered yet.
        """
        if call.call_id in self._working or call.call_id in self._held:
            raise ProtocolError(f"call id {call.call_id} is used twice at the same time")
        self.calls += 1
        if self._early and call.call_id in self._early:
            del self._early[call.call_id]
            return
        deadline = Deadline.after(call.time_left, self._clock)
        if len(self) >= MAX_SERVING:
            error = ResourceExhaustedError(
                f"{self._peer} has {len(self)} calls under way here, and no more are taken"
            )
            self._send_answer(Failure(call.call_id, error))
        elif (self._held or self._congested()) and self._may_hold(call):
            self._hold(call, deadline)
        else:
            self._begin(call, deadline)

    def _may_hold(self, call: Call) -> bool:
        return self._drain is not None and VOCABULARY.spec_of(type(call.message)).patient

    def _hold(self, call: Call, deadline: Deadline) -> None:
        """Keep a call until the peer reads on."""
        self._held[call.call_id] = call, deadline
        if len(self._held) == 1:
            _ = self._children.start(self._begin_held(), name=f"held calls of {self._peer}")

    async def _begin_held(self) -> None:
        assert self._drain is not None
        while self._held:
            await self._drain()
            while self._held and not self._congested():
                _, (call, deadline) = self._held.popitem(last=False)
                self._begin(call, deadline)

    def _begin(self, call: Call, deadline: Deadline) -> None:
        """Pass a call on; answer now if the handler needs no child."""
        try:
            answer = self._submit(call, deadline)
        except Exception as exc:
            self._send_answer(Failure(call.call_id, from_exception(exc)))
            return
        if isinstance(answer, asyncio.Future):
            self._working[call.call_id] = answer
            answer.add_done_callback(lambda done: self._answered(call, done))
        else:
            self._reply(call, answer)

    def tell(self, tell: Tell) -> None:
        """Take a tell.

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
        """Cancel a call's handler; one that has not come yet is not begun when it does."""
        answer = self._working.pop(cancel.call_id, None)
        if answer is not None:
            answer.cancel()
        elif self._held.pop(cancel.call_id, None) is None:
            self._early[cancel.call_id] = None
            if len(self._early) > _EARLY:
                self._early.popitem(last=False)

    def cancel_all(self) -> None:
        """Cancel all handlers, because nobody can be answered any more."""
        self._held.clear()
        working, self._working = self._working, {}
        for answer in working.values():
            answer.cancel()

    def unreadable(self, error: UnreadableMessage) -> None:
        """Answer a call that could not be decoded."""
        logger.warning("a call of %s at %s: %s", self._peer, self._address, error)
        self._send_answer(Failure(error.call_id, ProtocolError(error.message)))

    def _submit(self, call: Call, deadline: Deadline) -> Any:
        ref = self._target(call.target)
        if VOCABULARY.reply_of(type(call.message)) is None:
            name = type(call.message).__name__
            raise UnimplementedError(f"{name} has no reply; it can only be told")
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
        with suppress(UnavailableError, CancelledError):  # the link is over: nobody waits
            try:
                self._send(answer)
            except InvalidArgumentError as exc:  # the answer does not travel
                self._send(Failure(answer.call_id, exc))

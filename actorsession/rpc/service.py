"""The answering side of a link: finds the actor, delivers the message, sends the answer.

``Link`` is the only user of ``Service``: it passes in the function that sends an envelope, and passes on
calls, tells and cancellations as they arrive. The module imports refs and envelopes.

Calls are not held while a peer does not read its answers, as the runs of steps are: a session can still be
closed and the status of a task queried.

Invariants: each call is answered once, by a reply or a failure, unless the peer has cancelled it or the
link has ended. A peer's errors affect at most that peer's link. The number of calls of one peer in progress
is bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from actorsession.actors.context import CallContext, ProgramTable, Watch
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.supervision import Children
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InternalError,
    NotFoundError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    error_to_wire,
    from_exception,
)
from actorsession.graph.codec import not_encoded
from actorsession.messages import (
    MASTER,
    VOCABULARY,
    WORKER,
    Call,
    Cancel,
    CleanupGraph,
    Envelope,
    Failure,
    Reply,
    Tell,
    UnreadableMessage,
)
from actorsession.rpc.pushes import Pushes, PushTimes
from actorsession.rpc.served_runs import encode_apart

__all__ = ["MAX_SERVING", "Service"]

MAX_SERVING = 20_000
"""Calls of one peer that may be in progress.

A correct peer stays far below it (a master asks for 10,000 steps at once, see ``Server``). The limit bounds
the memory that an incorrect peer can occupy, to some 60 MB.
"""

# Cancellations kept because they arrived before their calls, which large arrays can delay.
_EARLY = 1024

logger = logging.getLogger("actorsession.actors")


@runtime_checkable
class PushReceiver(Protocol):
    """A worker on the loop of the link, which takes pushed values by a direct call instead of a message."""

    def take_push(
        self,
        peer: str,
        step_id: int,
        keys: Sequence[str],
        values: Sequence[Any],
        dead: Sequence[bool],
        times: PushTimes | None = None,
    ) -> None:
        """Put values into the rendezvous of a step; as many keys, values and marks of dead tensors.

        The times are those of a traced step, whose report includes them.
        """


@runtime_checkable
class PlanReceiver(Protocol):
    """A master on the loop of the link, which takes the plans of its clients by a direct call."""

    def on_plan(self, wire: list[Any], call: CallContext) -> Any:
        """Return the step program of a plan in wire form."""


class Service:
    """The calls of one peer.

    Args:
        serves: target name to actor; looked up for each call.
        peer: cluster task of the peer.
        address: address of the peer.
        send: sends an envelope; raises ``UnavailableError`` once the link is lost.
        watch: registers a callback for the end of the link.
        children: own the calls that are forwarded to actors elsewhere.
        programs: the table of the step programs that the peer may run.
    """

    __slots__ = (
        "_address", "_children", "_early", "_peer", "_programs", "_send", "_serves",
        "_tell_context", "_watch", "_working", "calls", "tells",
    )  # fmt: skip

    def __init__(
        self,
        serves: Mapping[str, Ref],
        *,
        peer: str,
        address: str,
        send: Callable[[Envelope], None],
        watch: Watch,
        children: Children,
        programs: ProgramTable | None = None,
    ) -> None:
        self._serves = serves
        self._peer = peer
        self._address = address
        self._send = send
        self._watch = watch
        self._children = children
        self._working: dict[int, asyncio.Future[Any]] = {}
        self._programs = programs
        self._early: dict[int, None] = {}
        self._tell_context = CallContext(NEVER, peer, address, watch)
        self.calls = self.tells = 0

    def __len__(self) -> int:
        return len(self._working)

    def call(self, call: Call) -> None:
        """Process a call, answering it now if the handler needs no child.

        Raises:
            ProtocolError: the peer uses the id of a call that is not answered yet.
        """
        if call.call_id in self._working:
            raise ProtocolError(f"call id {call.call_id} is used twice at the same time")
        self.calls += 1
        if self._early and call.call_id in self._early:
            del self._early[call.call_id]
            return
        deadline = Deadline.after(call.time_left)
        if len(self._working) >= MAX_SERVING:
            error = ResourceExhaustedError(f"{self._peer} has {len(self)} calls in progress here, which is the limit")
            self._send_answer(Failure(call.call_id, error))
            return
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
        """Deliver a tell.

        Raises:
            ResourceExhaustedError: the actor's mailbox is full. The sender assumes that the message has
                arrived, so the link has to end.
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
        except AbortedError as exc:  # its sender had not been notified yet
            logger.info("a tell of %s at %s came too late: %s", self._peer, self._address, exc)
        except OpError as exc:
            logger.warning("a tell of %s at %s is lost: %s", self._peer, self._address, exc)

    def pushed(
        self,
        pushes: Pushes,
        step_id: int,
        keys: Sequence[str],
        values: Sequence[Any],
        dead: Sequence[bool],
        times: PushTimes | None,
    ) -> None:
        """Deliver the first values that the peer has pushed; the worker takes the next ones by a direct call."""
        ref = self._serves.get(WORKER)
        if isinstance(ref, LocalRef) and ref.is_here() and isinstance(ref.actor, PushReceiver):
            pushes.on_push = partial(ref.actor.take_push, self._peer)
            pushes.on_push(step_id, keys, values, dead, times)
        else:
            logger.warning("values that %s has pushed are lost: no worker is here", self._peer)

    def plan(self, wire: list[Any]) -> Any:
        """Return the step program of a plan that the peer runs for the first time.

        Raises:
            OpError: there is no master here, or it refuses the plan.
        """
        ref = self._target(MASTER)
        if not (isinstance(ref, LocalRef) and ref.is_here() and isinstance(ref.actor, PlanReceiver)):
            raise UnimplementedError(f"{ref.name} runs no steps for {self._peer}")
        return ref.actor.on_plan(wire, CallContext(NEVER, self._peer, self._address, self._watch))

    def push_lost(self, step_id: int, error: OpError) -> None:
        """Fail a step of this task, for a pushed value of which there is no memory."""
        end = CleanupGraph(step_id=step_id, error=error_to_wire(error), settles=False)
        self.tell(Tell(WORKER, end))

    def cancel(self, cancel: Cancel) -> None:
        """Cancel a call's handler; a call that has not arrived yet is not started when it does."""
        answer = self._working.pop(cancel.call_id, None)
        if answer is not None:
            answer.cancel()
        else:
            self._early[cancel.call_id] = None
            if len(self._early) > _EARLY:
                del self._early[next(iter(self._early))]

    def cancel_all(self) -> None:
        """Cancel all handlers, because no answer can be sent any more."""
        working, self._working = self._working, {}
        for answer in working.values():
            answer.cancel()

    def unreadable(self, error: UnreadableMessage) -> None:
        """Answer a call that could not be decoded."""
        logger.warning("a call of %s at %s: %s", self._peer, self._address, error)
        self._send_answer(Failure(error.call_id, error.kind(error.message)))

    def _submit(self, call: Call, deadline: Deadline) -> Any:
        ref = self._target(call.target)
        if VOCABULARY.reply_of(type(call.message)) is None:
            name = type(call.message).__name__
            raise UnimplementedError(f"{name} has no reply; it can only be told")
        if isinstance(ref, LocalRef) and ref.is_here():
            context = CallContext(deadline, self._peer, self._address, self._watch, self._programs)
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
            error: BaseException | None = CancelledError(f"{type(call.message).__name__} was cancelled")
        else:
            error = answer.exception()
        if self._working.get(call.call_id) is not answer:
            return  # cancelled by the peer, or the link has ended
        del self._working[call.call_id]
        if error is None:
            try:
                self._reply(call, answer.result())
                return
            except Exception as exc:  # nobody else would answer the call
                error = exc
        self._send_answer(Failure(call.call_id, from_exception(error)))

    def _reply(self, call: Call, message: Any) -> None:
        expected = VOCABULARY.reply_of(type(call.message))
        if type(message) is expected:
            values = getattr(message, "values", None)
            if type(values) is not list or not encode_apart(
                values, lambda encoded: self._reply(call, replace(message, values=encoded))
            ):
                self._send_answer(Reply(call.call_id, message))
            return
        error = InternalError(
            f"actor {call.target!r} answered {type(call.message).__name__} with "
            f"{type(message).__name__}; the vocabulary says {getattr(expected, '__name__', None)}"
        )
        logger.error("%s", error)
        self._send_answer(Failure(call.call_id, error))

    def _send_answer(self, answer: Reply | Failure) -> None:
        with suppress(UnavailableError, CancelledError):  # the link has ended: there is no waiter
            try:
                self._send(answer)
            except (UnavailableError, CancelledError):
                raise
            except Exception as exc:  # the answer cannot be encoded
                self._send(Failure(answer.call_id, not_encoded(exc)))

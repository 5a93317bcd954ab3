"""One message in an actor: its waiter, its deadline, and the child that works on it.

``Delivery`` is the entry of mailboxes. A message that is handled at once and answered with a plain value
never becomes one. ``Actor`` is the only user.

Invariants: the answer is a future that is completed once: by the end of the child, by the deadline, by the
stop of the actor, or by cancellation by the caller. Whichever comes first ends the timer, and the child unless it
completes its work without a waiter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.errors import CancelledError, DeadlineExceededError, OpError, from_exception
from transports.host import current_host

__all__ = ["Delivery"]


class Delivery:
    """A message that could not be answered at once.

    Args:
        message: the message.
        context: its circumstances.
        actor: the name of the actor.
        completes: whether it is handled to the end although nobody waits for the answer any more.

    Attributes:
        message: the message.
        context: its circumstances, including the deadline.
        answer: the future that the caller awaits; ``None`` for a tell.
        child: the child that works on it, once it has started and if it needs one.
        since: when the actor got it, by the monotonic clock.
    """

    __slots__ = ("_actor", "_completes", "_on_abandoned", "_timer", "answer", "child", "context", "message", "since")

    def __init__(self, message: Any, context: CallContext, actor: str, *, completes: bool = False) -> None:
        self.message = message
        self.context = context
        self.answer: asyncio.Future[Any] | None = None
        self.child: asyncio.Task[Any] | None = None
        self.since = current_host().clock.monotonic()
        self._actor = actor
        self._completes = completes
        self._on_abandoned: Callable[[Delivery], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def abandoned(self) -> bool:
        """Whether it need not be handled, because the answer has no waiter any more."""
        return self.answer is not None and self.answer.done() and not self._completes

    def expect_answer(self, on_abandoned: Callable[[Delivery], None]) -> asyncio.Future[Any]:
        """Return a new future for the answer; cancelling it abandons the message.

        Args:
            on_abandoned: called if the answer is done before a child works on the message.
        """
        loop = asyncio.get_running_loop()
        self._on_abandoned = on_abandoned
        self.answer = loop.create_future()
        self.answer.add_done_callback(self._answered)
        seconds = self.context.deadline.time_left
        if seconds is not None:
            self._timer = loop.call_later(seconds, self._expire, seconds)
        return self.answer

    def succeed(self, value: Any) -> None:
        """Answer with a value, if there is still a waiter."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(value)

    def fail(self, error: OpError) -> None:
        """Answer with an error, if there is still a waiter."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def outcome(self, child: asyncio.Task[Any]) -> OpError | None:
        """Answer with the outcome of the child.

        Returns:
            The child's error, if it has failed or was cancelled.
        """
        if child.cancelled():
            error: OpError = CancelledError(f"{self} was cancelled before it had an answer")
        else:
            failure = child.exception()
            if failure is None:
                self.succeed(child.result())
                return None
            error = from_exception(failure)
        self.fail(error)
        return error

    def _expire(self, seconds: float) -> None:
        state = "waited for space in its mailbox" if self.child is None else "was working on it"
        self.fail(DeadlineExceededError(f"{self} was not answered within {seconds:.3g} s; it {state}"))

    def _answered(self, answer: asyncio.Future[Any]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._completes:
            return
        if self.child is not None:
            self.child.cancel()  # does nothing to a child that has ended
        elif self._on_abandoned is not None:
            self._on_abandoned(self)

    def __str__(self) -> str:
        return f"{type(self.message).__name__} to actor {self._actor!r}"

"""One message on its way through an actor: who waits for the answer, until when, and which child
works.

Owns ``Delivery``, the entry of mailboxes. A message that is handled at once and answered with a
plain value never becomes one. ``Actor`` is its only caller.

Invariants: the answer is a future that is completed once: by the child's end, by the deadline, by
    the
stop of the actor, or cancelled by whoever asked; whichever comes first ends the child and the
timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.errors import CancelledError, DeadlineExceededError, OpError, from_exception

__all__ = ["Delivery"]


class Delivery:
    """A message that could not be answered at once.

    Attributes:
        message: what was sent.
        context: by whom, and until when they wait.
        answer: what the asker waits for; ``None`` for a tell.
        child: works on it, once it has begun and if it needs one.
    """

    __slots__ = ("_actor", "_on_abandoned", "_timer", "answer", "child", "context", "message")

    def __init__(self, message: Any, context: CallContext, actor: str) -> None:
        self.message = message
        self.context = context
        self.answer: asyncio.Future[Any] | None = None
        self.child: asyncio.Task[Any] | None = None
        self._actor = actor
        self._on_abandoned: Callable[[Delivery], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def abandoned(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.answer is not None and self.answer.done()

    def expect_answer(self, on_abandoned: Callable[[Delivery], None]) -> asyncio.Future[Any]:
        """Make the future that the asker awaits; cancelling it abandons the message.

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
        """Answers, if somebody still waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(value)

    def fail(self, error: OpError) -> None:
        """Answer with an error, if somebody still waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def outcome(self, child: asyncio.Task[Any]) -> OpError | None:
        """Answer with what the child has come to.

        Returns:
            Its error, if it has failed or was cancelled.
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
        state = "waited for room in its mailbox" if self.child is None else "was working on it"
        self.fail(
            DeadlineExceededError(f"{self} was not answered within {seconds:.3g} s; it {state}")
        )

    def _answered(self, answer: asyncio.Future[Any]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.child is not None:
            self.child.cancel()  # does nothing to a child that has ended
        elif self._on_abandoned is not None:
            self._on_abandoned(self)

    def __str__(self) -> str:
        return f"{type(self.message).__name__} to actor {self._actor!r}"

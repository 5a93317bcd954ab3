"""Deadlines: until when somebody is ready to wait, as a value that travels with the request.

Owns ``Deadline``. Everybody who waits uses it; it imports the clock and the error classes. Inside a
process it is a moment on a clock; in messages it is the time left, because clocks of two machines
differ.

Invariant of ``wait``: it suspends only if what is awaited does, and without a suspension it needs
neither a timer nor a running loop. So a bounded wait for something that is there costs next to
nothing.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

from actorsession.actors.clock import SYSTEM_CLOCK, Clock
from actorsession.errors import DeadlineExceededError
from actorsession.records import dataclass

__all__ = ["DEFAULT_SECONDS", "NEVER", "Deadline"]

T = TypeVar("T")

# How long an ask without a deadline of its own waits. Long enough for a cold process to compile its
# first graph on a busy machine, short enough for a person to still be there when the error comes.
DEFAULT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which nobody waits any more.

    Attributes:
        at: the moment in seconds of the clock; ``None`` for no limit.
        clock: tells the time.
    """

    at: float | None
    clock: Clock = SYSTEM_CLOCK

    @classmethod
    def after(cls, seconds: float | None, clock: Clock = SYSTEM_CLOCK) -> Deadline:
        """Return the deadline that many seconds from now; ``None`` for no limit."""
        return cls(None if seconds is None else clock.now() + seconds, clock)

    @classmethod
    def never(cls) -> Deadline:
        """Return the deadline that does not come."""
        return NEVER

    @property
    def expired(self) -> bool:
        """Whether the moment has come."""
        return self.at is not None and self.clock.now() >= self.at

    @property
    def time_left(self) -> float | None:
        """Seconds left for a message to carry: at least 0; ``None`` for no limit."""
        return None if self.at is None else max(0.0, self.at - self.clock.now())

    def remaining(self) -> float | None:
        """Seconds left, negative once it is over; ``None`` for no limit."""
        return None if self.at is None else self.at - self.clock.now()

    def earliest(self, other: Deadline) -> Deadline:
        """Return the one of two deadlines of the same clock that comes first."""
        if self.at is None or (other.at is not None and other.at < self.at):
            return other
        return self

    async def wait(self, awaitable: Awaitable[T], *, what: str) -> T:
        """Await something until the deadline.

        What is there already is returned even after the deadline. If the deadline comes first, what
        is awaited is cancelled and given the time it takes to clean up. Cancelling the waiter
        cancels what is awaited, like a plain ``await``.

        Args:
            awaitable: what to wait for.
            what: what it is, for the error; such as ``the connection to ps0``.

        Returns:
            Its result.

        Raises:
            DeadlineExceededError: the deadline came first; the message says ``what`` was awaited.
        """
        if isinstance(awaitable, asyncio.Future) and awaitable.done():
            return awaitable.result()  # type: ignore[no-any-return]
        if self.at is None:
            return await awaitable
        return await _wait_until(self, awaitable, what)


NEVER = Deadline(None)


@types.coroutine
def _wait_until(deadline: Deadline, awaitable: Awaitable[T], what: str) -> Generator[Any, Any, T]:
    steps = awaitable.__await__()
    try:
        awaited = next(steps)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    # Only now is it known that somebody has to wait.
    alarm = _Alarm(deadline)
    try:
        return (yield from _continue(steps, awaited))
    except asyncio.CancelledError as exc:
        if alarm.caused_the_cancellation():
            raise alarm.error(what) from exc
        raise
    finally:
        alarm.end()


def _continue(steps: Generator[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Go on with an awaitable whose first step was taken; ``yield from`` would lose its yield."""
    try:
        while True:
            try:
                sent = yield awaited
            except BaseException as exc:  # whatever it is, it is for the one who waits inside
                awaited = steps.throw(exc)
            else:
                awaited = steps.send(sent)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


class _Alarm:
    """Cancels the child that waits when the deadline comes; told from other cancellations.

    The counting is that of ``asyncio.timeout``: a cancellation of ours is taken back, and becomes
    an error only if no one else has asked for one.
    """

    def __init__(self, deadline: Deadline) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Deadline.wait must be awaited inside a task")
        self._task = task
        self._cancelled_before = task.cancelling()
        self._seconds = deadline.time_left or 0.0
        self._rung = False
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._ring)

    def _ring(self) -> None:
        self._rung = True
        self._task.cancel()

    def caused_the_cancellation(self) -> bool:
        return self._rung and self._task.cancelling() <= self._cancelled_before + 1

    def error(self, what: str) -> DeadlineExceededError:
        return DeadlineExceededError(f"waited {self._seconds:.3g} s for {what}; it did not come")

    def end(self) -> None:
        self._timer.cancel()
        if self._rung:
            self._task.uncancel()

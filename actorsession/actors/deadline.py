"""Deadlines: the end of a wait, as a value that travels with a request.

All code that waits uses ``Deadline``. The module imports the host and the error classes. Inside a process
a deadline is a moment on the clock of its host; in messages it is the time left, because the clocks of two
machines differ.

Invariant of ``wait``: it suspends only if the awaitable does, and without a suspension it needs neither a
timer nor a running event loop. So a bounded wait for an available result costs almost nothing.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

from actorsession.durations import MOST_SECONDS, refuse_moment
from actorsession.errors import DeadlineExceededError
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["DEFAULT_SECONDS", "NEVER", "Deadline"]

T = TypeVar("T")

# How many seconds an ask without a deadline of its own waits: long enough for a cold process to compile its
# first graph on a busy machine, short enough for an interactive user to see the error.
DEFAULT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment at which waits end.

    Attributes:
        at: the moment in seconds of the host's monotonic clock; ``None`` for no limit.
        whose: whose limit it is and how long, as words for errors.
    """

    at: float | None
    whose: str = "its limit"

    @classmethod
    def after(cls, seconds: float | None, whose: str = "its limit") -> Deadline:
        """Return the deadline that many seconds from now; ``None`` for no limit.

        Raises:
            TypeError: for what is no number.
            InvalidArgumentError: for a number out of range; see ``durations``.
        """
        if seconds is not None and not (seconds.__class__ is float and -MOST_SECONDS <= seconds <= MOST_SECONDS):
            refuse_moment(seconds)
        return cls(None if seconds is None else current_host().clock.monotonic() + seconds, whose)

    @classmethod
    def never(cls) -> Deadline:
        """Return the deadline without a limit."""
        return NEVER

    @property
    def expired(self) -> bool:
        """Whether the moment has come."""
        return self.at is not None and current_host().clock.monotonic() >= self.at

    @property
    def time_left(self) -> float | None:
        """The seconds left, for a message: at least 0; ``None`` for no limit."""
        return None if self.at is None else max(0.0, self.at - current_host().clock.monotonic())

    def remaining(self) -> float | None:
        """Return the seconds left, negative after the deadline; ``None`` for no limit."""
        return None if self.at is None else self.at - current_host().clock.monotonic()

    def earliest(self, other: Deadline) -> Deadline:
        """Return the earlier of two deadlines."""
        if self.at is None or (other.at is not None and other.at < self.at):
            return other
        return self

    def within(self, seconds: float, whose: str = "its limit") -> Deadline:
        """Return this deadline, or the one that many seconds from now if that is earlier."""
        at = current_host().clock.monotonic() + seconds
        return self if self.at is not None and self.at <= at else Deadline(at, whose)

    async def wait(self, awaitable: Awaitable[T], *, what: str) -> T:
        """Await something until the deadline.

        An available result is returned even after the deadline. If the deadline comes first, the awaitable
        is cancelled, and its clean-up is awaited. Cancelling the waiter cancels the awaitable, like a plain
        ``await``.

        Args:
            awaitable: the awaitable to wait for.
            what: a description of it for the error, such as ``the connection to ps0``.

        Returns:
            The result of the awaitable.

        Raises:
            DeadlineExceededError: the deadline came first; the message contains ``what``.
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
    # The awaitable suspends, so from here on a timer is needed.
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
    """Continue an awaitable after its first step; ``yield from`` would lose the value it yielded."""
    try:
        while True:
            try:
                sent = yield awaited
            except BaseException as exc:  # every exception belongs to the inner awaitable
                awaited = steps.throw(exc)
            else:
                awaited = steps.send(sent)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


class _Alarm:
    """Cancels the waiting child at the deadline, distinguishably from other cancellations.

    The counting is that of ``asyncio.timeout``: a cancellation by the alarm is taken back, and becomes an
    error only if there was no other one.
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

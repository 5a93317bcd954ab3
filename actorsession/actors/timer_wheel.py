"""A timer wheel: many deadlines with one timer of the event loop.

Nearly all steps end long before their limit, so what counts is the price of a deadline that is never reached:
an entry in a dictionary here, where the event loop would make, sort and cancel a timer. The deadlines of one
interval share a bucket, and the loop has a timer for the earliest bucket alone. Short limits, for which an
interval would be late, get a timer of the loop of their own.

Invariant: a callback is called once, not before its time, and never after ``discard``. Everything belongs to
one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeAlias

from transports.host import current_host

__all__ = ["Alarm", "TimerWheel"]

logger = logging.getLogger("actorsession.actors")

Alarm: TypeAlias = "asyncio.TimerHandle | int"
"""What ``TimerWheel.add`` returns for ``discard``."""

# The width of a bucket in seconds, and the limit above which an entry goes into one: it is then late by at
# most a tenth of it.
_WIDTH = 0.5
_LONG = 5.0


class TimerWheel:
    """The deadlines of one owner, such as a session.

    Args:
        loop: the event loop; by default the one that is running when the first deadline is added.
    """

    __slots__ = ("_buckets", "_last", "_loop", "_now", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop
        self._now = current_host().clock.monotonic
        self._buckets: dict[int, dict[int, Callable[[], None]]] = {}
        self._last = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        """Call ``callback`` when that many seconds have passed; return what ``discard`` takes."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        if seconds < _LONG:
            return loop.call_later(seconds, callback)
        number = 1 + int((self._now() + seconds) / _WIDTH)
        bucket = self._buckets.get(number)
        if bucket is None:
            earliest = not self._buckets or number < min(self._buckets)
            bucket = self._buckets[number] = {}
            if earliest or self._timer is None:
                self._start()
        # The bucket is part of the key, so that an entry is found without a search.
        self._last += 1
        key = number << 64 | self._last & (1 << 64) - 1
        bucket[key] = callback
        return key

    def discard(self, alarm: Alarm) -> None:
        """Remove a deadline; one that has passed or was removed is not an error."""
        if isinstance(alarm, int):
            bucket = self._buckets.get(alarm >> 64)
            if bucket is not None:
                bucket.pop(alarm, None)
        else:
            alarm.cancel()

    def close(self) -> None:
        """Remove all deadlines that share buckets; no callback of theirs is called any more."""
        self._buckets.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        assert self._loop is not None
        self._timer = self._loop.call_later(min(self._buckets) * _WIDTH - self._now(), self._turn)

    def _turn(self) -> None:
        """Call what is due, and start the timer of the next bucket."""
        self._timer = None
        now = self._now() / _WIDTH  # before the next bucket, perhaps, because loops round their timers
        due = sorted(number for number in self._buckets if number <= now)
        for number in due:
            # It stays in the wheel meanwhile, because a callback may discard others.
            bucket = self._buckets.get(number, {})  # a callback may close the wheel, too
            while bucket:
                _, callback = bucket.popitem()
                try:
                    callback()
                except Exception:  # the other deadlines hold all the same
                    logger.exception("a callback for a deadline has failed")
            self._buckets.pop(number, None)
        if self._buckets and self._timer is None:
            self._start()

"""The clock of the package, which a test can replace.

``Clock`` has the one method by which all other modules read the time; the module imports nothing of this
project. A clock only reads the time. Waiting uses the timers of the event loop, because uvloop keeps its
timers in C and would not use another clock.
"""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock"]


class Clock(Protocol):
    """A source of the time since some fixed moment."""

    def now(self) -> float:
        """Return the time in seconds; it never decreases."""


class SystemClock:
    """The machine's monotonic clock."""

    now = staticmethod(time.monotonic)


SYSTEM_CLOCK: Clock = SystemClock()

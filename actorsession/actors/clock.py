"""Where the room takes the time from, so that a test can bring its own.

Owns the one method that everything else asks for the time; imports nothing of ours. A clock only
tells the time: what makes somebody wait is the loop's timer, because uvloop keeps its timers in C
and would not look at another clock.
"""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "SystemClock"]


class Clock(Protocol):
    """Tells the time that has passed since some fixed moment."""

    def now(self) -> float:
        """Seconds; never goes back."""


class SystemClock:
    """The machine's monotonic clock."""

    now = staticmethod(time.monotonic)


SYSTEM_CLOCK: Clock = SystemClock()

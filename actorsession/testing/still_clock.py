"""A clock that stands still until it is told to go on, for code that asks ``current_host()`` for the time."""

from __future__ import annotations

from typing import SupportsIndex

from transports.host import Clock

__all__ = ["StillClock"]


class StillClock(Clock):
    """A clock of a host that stands still: ``with on_host(Host(clock=clock)):``.

    Timers of event loops are not its own; a simulation has those too.

    Args:
        now: the time of day at which it stands, in seconds since 1970.
    """

    def __init__(self, now: float = 0.0) -> None:
        self._of_day = now
        self._elapsed = 0.0

    def advance(self, seconds: float) -> None:
        """Let the clock go on by some seconds, and stand still again.

        Raises:
            ValueError: for a number below 0, for time does not go back; ``set`` changes the time of day.
        """
        if seconds < 0:
            raise ValueError(f"a clock goes on by 0 seconds or more, got {seconds}")
        self._elapsed += seconds
        self._of_day += seconds

    def set(self, now: float) -> None:
        """Change the time of day, as the owner of a machine may; what ``monotonic`` says stays."""
        self._of_day = now

    def monotonic(self) -> float:
        """Return the seconds by which the clock was advanced."""
        return self._elapsed

    perf_counter = monotonic
    process_time = monotonic

    def perf_counter_ns(self) -> int:
        """Return the nanoseconds by which the clock was advanced."""
        return round(self._elapsed * 1e9)

    def time(self) -> float:
        """Return the time of day in seconds since 1970."""
        return self._of_day

    def time_ns(self) -> int:
        """Return the time of day in nanoseconds since 1970."""
        return round(self._of_day * 1e9)

    def sleep(self, seconds: SupportsIndex | float) -> None:
        """Return at once, as much later as is asked."""
        self.advance(float(seconds))

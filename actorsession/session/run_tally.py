"""How the runs of one session have ended, and how long those that succeeded took.

``BaseSession`` records each run, its callables' too. Recording a success is on the path of every run: it is the
append of a number to a list, which takes neither a call of ours nor a lock. Callable from any thread.
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from actorsession.metrics import Histogram, HistogramCounts
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["KEPT", "RunLatency", "RunTally"]

KEPT = 1000
"""The runs whose times are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLatency:
    """Quantiles of the times of the last thousand runs that succeeded, in seconds; 0 without any.

    Attributes:
        median: half of the runs took less.
        p90: nine of ten took less.
        p99: 99 of a hundred took less.
        most: the longest.
    """

    median: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    most: float = 0.0


class RunTally:
    """The counts of one session.

    Attributes:
        cancelled: runs that their callers have cancelled or interrupted.
        recent: the seconds of runs that have returned their values, until ``count`` counts them; runs append to it
            without a call, and whoever makes it ``KEPT`` long calls ``count``.
        now: reads the clock by which they are measured.
    """

    __slots__ = ("_durations", "_errors", "_last", "_lock", "_succeeded", "cancelled", "now", "recent")

    def __init__(self) -> None:
        self.recent: list[float] = []
        self._last: deque[float] = deque(maxlen=KEPT)
        self._succeeded = 0
        self._durations: Histogram | None = None  # until there is one
        self._errors: dict[str, int] = {}
        self._lock = threading.Lock()
        self.cancelled = 0
        self.now = current_host().clock.perf_counter

    def count(self) -> None:
        """Count the runs that have returned their values since the last call."""
        with self._lock:
            seconds = self.recent[:]
            del self.recent[: len(seconds)]  # others may have come meanwhile
            self._succeeded += len(seconds)
            self._last.extend(seconds)
            if seconds:
                durations = self._durations = self._durations or Histogram()
                for each in seconds:
                    durations.observe(each)

    def failure(self, error: BaseException) -> None:
        """Record a run that has raised an error, or that its caller has cancelled or interrupted."""
        with self._lock:
            if isinstance(error, Exception):
                name = type(error).__name__
                self._errors[name] = self._errors.get(name, 0) + 1
            else:
                self.cancelled += 1

    @property
    def succeeded(self) -> int:
        """The number of runs that have returned their values."""
        self.count()
        return self._succeeded

    @property
    def errors(self) -> dict[str, int]:
        """The number of runs that have failed, by the class of their error."""
        with self._lock:
            return dict(self._errors)

    def run_seconds(self) -> HistogramCounts:
        """Return how long the runs that succeeded took, by size."""
        self.count()
        return HistogramCounts() if self._durations is None else self._durations.snapshot()

    def latency(self) -> RunLatency:
        """Return the quantiles of the times of the last runs."""
        self.count()
        seconds = list(self._last)
        if not seconds:
            return RunLatency()
        median, p90, p99 = np.quantile(seconds, (0.5, 0.9, 0.99)).tolist()
        return RunLatency(median=median, p90=p90, p99=p99, most=max(seconds))

"""How the runs of one session have ended, and how long those that succeeded took.

``BaseSession`` records each run, its callables' too. Recording a success is on the path of every run, and
takes no lock. Callable from any thread.
"""

from __future__ import annotations

import itertools
import threading
from bisect import bisect_left

import numpy as np

from actorsession.metrics import BOUNDS, Histogram, HistogramCounts
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["RunLatency", "RunTally"]

# The runs whose times are kept.
_KEPT = 1000


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
        durations: how long those that succeeded took.
        now: reads the clock by which they are measured.
    """

    __slots__ = ("_errors", "_lock", "_seconds", "_successes", "cancelled", "durations", "now")

    def __init__(self) -> None:
        self._successes = itertools.count()
        self._seconds: list[float] = []  # the last ones, each in the place of that a thousand before
        self._errors: dict[str, int] = {}
        self._lock = threading.Lock()
        self.cancelled = 0
        self.now = current_host().clock.perf_counter
        self.durations: Histogram | None = None  # until there is one

    def success(self, seconds: float) -> None:
        """Record a run that has returned its values."""
        number, kept = next(self._successes), self._seconds
        if len(kept) < _KEPT:
            kept.append(seconds)
        else:
            kept[number % _KEPT] = seconds
        durations = self.durations
        if durations is None:
            durations = self.durations = Histogram()
        durations.counts[bisect_left(BOUNDS, seconds)] += 1  # without a call
        durations.sum += seconds

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
        # Threads that stored the numbers they got could do so in another order. This reads the next one.
        return int(repr(self._successes)[len("count(") : -1])

    @property
    def errors(self) -> dict[str, int]:
        """The number of runs that have failed, by the class of their error."""
        with self._lock:
            return dict(self._errors)

    def run_seconds(self) -> HistogramCounts:
        """Return how long the runs that succeeded took, by size."""
        return HistogramCounts() if self.durations is None else self.durations.snapshot()

    def latency(self) -> RunLatency:
        """Return the quantiles of the times of the last runs."""
        seconds = self._seconds.copy()
        if not seconds:
            return RunLatency()
        median, p90, p99 = np.quantile(seconds, (0.5, 0.9, 0.99)).tolist()
        return RunLatency(median=median, p90=p90, p99=p99, most=max(seconds))

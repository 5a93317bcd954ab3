"""One row on one side: its answer and the timing of its steps.

Both sides time their steps with the same loops. A sample is one step, because users wait for single steps and
the table shows the tail of their times; reading the clock adds some 50 ns.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Callers", "Case", "Effort", "FigureCase", "SyncCase", "collector_off", "how_many"]

clock = time.perf_counter


@dataclass(frozen=True)
class Effort:
    """The amount of work of one round.

    Attributes:
        seconds: the approximate total time of the timed steps of a round.
        least: the minimal number of steps.
        most: the maximal number of steps.
    """

    seconds: float
    least: int
    most: int = 5000


class Case(Protocol):
    """One row that is built and ready to run."""

    def answer(self) -> Sequence[Any]:
        """Return the values that ``Question.check`` compares."""
        ...

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        ...

    def close(self) -> None:
        """Release sessions and processes."""
        ...


@dataclass
class SyncCase:
    """A row whose steps block the calling thread.

    Attributes:
        step: runs one step.
        answers: returns the answer.
        closes: releases the row's resources.
        whole: as in ``rows.Row``.
        after: cleans up after a whole step; it is not timed.
        per: the number of the row's steps that one ``step`` makes.
    """

    step: Callable[[], Any]
    answers: Callable[[], Sequence[Any]]
    closes: Callable[[], object] = lambda: None
    whole: bool = False
    after: Callable[[], object] = lambda: None
    per: int = 1

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        return self.answers()

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        if self.whole:
            return [self._whole_step()]
        warm = [self._one() for _ in range(effort.least)]
        warm += [self._one() for _ in range(how_many(warm, effort) // 10)]
        count = how_many(warm, effort)
        with collector_off():
            return [self._one() for _ in range(count)]

    def close(self) -> None:
        """Release the row's resources."""
        self.closes()

    def _one(self) -> float:
        began = clock()
        self.step()
        return (clock() - began) / self.per

    def _whole_step(self) -> float:
        gc.collect()
        try:
            return self._one()
        finally:
            self.after()


@dataclass
class FigureCase:
    """A row whose figure is no time of a step.

    Attributes:
        figure: returns the figure of a round.
        answers: returns the answer.
        closes: releases the row's resources.
    """

    figure: Callable[[Effort], float]
    answers: Callable[[], Sequence[Any]]
    closes: Callable[[], object] = lambda: None

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        return self.answers()

    def times(self, effort: Effort) -> list[float]:
        """Return the figure of a round, as its only one."""
        return [self.figure(effort)]

    def close(self) -> None:
        """Release the row's resources."""
        self.closes()


class Callers:
    """Threads that each make a call over and over, all at the same time.

    Args:
        calls: the call of each thread.
        times: how often each makes it in one ``run``.
    """

    def __init__(self, calls: Sequence[Callable[[], Any]], times: int) -> None:
        self._calls = calls
        self._times = times
        self._threads = ThreadPoolExecutor(len(calls), "benchmark caller")

    @property
    def steps(self) -> int:
        """The number of calls of one ``run``."""
        return len(self._calls) * self._times

    def run(self) -> list[Any]:
        """Make all calls and return the last value of each thread."""
        running = [self._threads.submit(self._repeat, call) for call in self._calls]
        return [each.result() for each in running]

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _repeat(self, call: Callable[[], Any]) -> Any:
        for _ in range(self._times - 1):
            call()
        return call()


def how_many(warm: Sequence[float], effort: Effort) -> int:
    """Return the number of steps of a round, estimated from the fastest of some steps."""
    return max(effort.least, min(effort.most, int(effort.seconds / max(min(warm), 1e-9))))


@contextmanager
def collector_off() -> Iterator[None]:
    """Collect garbage, then disable the collector inside the block."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

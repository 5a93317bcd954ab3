"""One row on one side: its answer and the timing of its steps.

Both sides time their steps with the same loops. A sample is one step, because users wait for single steps and
the table shows the tail of their times; reading the clock adds some 50 ns.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Case", "Effort", "SyncCase", "collector_off", "how_many"]

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
    """

    step: Callable[[], Any]
    answers: Callable[[], Sequence[Any]]
    closes: Callable[[], object] = lambda: None
    whole: bool = False
    after: Callable[[], object] = lambda: None

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
        return clock() - began

    def _whole_step(self) -> float:
        gc.collect()
        try:
            return self._one()
        finally:
            self.after()


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

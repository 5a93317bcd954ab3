"""One row, built on one side: how its answer is had and how its steps are timed.

Both sides time their steps with the same loops. A sample is one step, because users wait for single steps
and the table shows their tail; reading the clock costs some 50 ns of it.
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
    """How much one round is.

    Attributes:
        seconds: about how long the timed steps of a round take together.
        least: steps, however long they take.
        most: steps, however short they are.
    """

    seconds: float
    least: int
    most: int = 5000


class Case(Protocol):
    """One row, built and ready."""

    def answer(self) -> Sequence[Any]:
        """Return what ``Question.check`` compares."""
        ...

    def times(self, effort: Effort) -> list[float]:
        """Seconds of each step of a round."""
        ...

    def close(self) -> None:
        """Release sessions and processes."""
        ...


@dataclass
class SyncCase:
    """A row whose steps block the thread that runs them.

    Attributes:
        step: one step.
        answers: gives the answer.
        closes: releases what the row holds.
        whole: as in ``rows.Row``.
        after: ends a whole step; it is not timed.
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
        """Seconds of each step of a round."""
        if self.whole:
            return [self._whole_step()]
        warm = [self._one() for _ in range(effort.least)]
        warm += [self._one() for _ in range(how_many(warm, effort) // 10)]
        count = how_many(warm, effort)
        with collector_off():
            return [self._one() for _ in range(count)]

    def close(self) -> None:
        """Release what the row holds."""
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
    """Return how many steps a round has, going by the fastest of some steps."""
    return max(effort.least, min(effort.most, int(effort.seconds / max(min(warm), 1e-9))))


@contextmanager
def collector_off() -> Iterator[None]:
    """Collect garbage, then keep the collector from running inside the block."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

"""An hour of rates of each task, in a ring of fixed size.

Plain code: the caller adds one sample of every task per round, with its time. A sample that is missing is
``nan``, and ``None`` in what is read.

Invariants: memory is bounded by the number of points times the largest number of tasks within one ring; a
task that has left gives its place away once no point of it is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["History", "Sample"]

# Numbers in one answer, which a browser reads in some tens of milliseconds.
_MOST_NUMBERS = 200_000


class Sample(NamedTuple):
    """What is kept of one task for one round; ``nan`` for what is unknown.

    Attributes:
        rate: steps per second.
        p50: the median time of steps, in seconds.
        p99: the time that 99 of 100 steps do not exceed.
        cpu: busy cores.
        memory: resident bytes.
        errors: errors per second.
        bytes: bytes per second to and from other tasks and clients.
    """

    rate: float
    p50: float
    p99: float
    cpu: float
    memory: float
    errors: float
    bytes: float


_WIDTH = len(Sample._fields)


class History:
    """The ring.

    Args:
        points: the number of rounds that it keeps.
    """

    def __init__(self, points: int) -> None:
        self._points = points
        self._times = np.full(points, np.nan)
        self._values = np.full((points, 0, _WIDTH), np.nan, np.float32)
        self._columns: dict[str, int] = {}
        self._next = 0

    @property
    def nbytes(self) -> int:
        """The bytes that the ring takes."""
        return int(self._times.nbytes + self._values.nbytes)

    def add(self, now: float, samples: Mapping[str, Sample]) -> None:
        """Add a round in place of the oldest one.

        Args:
            now: wall-clock seconds.
            samples: those of the tasks that have answered.
        """
        place, self._next = self._next, (self._next + 1) % self._points
        self._times[place] = now
        self._values[place] = np.nan
        self._make_room([task for task in samples if task not in self._columns])
        for task, sample in samples.items():
            self._values[place, self._columns[task]] = sample

    def _make_room(self, tasks: Collection[str]) -> None:
        """Give new tasks a column: one that holds no point any more, or one of those that are added."""
        if not tasks:
            return
        used = set(np.flatnonzero((~np.isnan(self._values)).any(axis=(0, 2))).tolist())
        self._columns = {task: column for task, column in self._columns.items() if column in used}
        free = sorted(set(range(self._values.shape[1])) - set(self._columns.values()))
        if len(free) < len(tasks):
            width = self._values.shape[1]
            more = np.full((self._points, max(len(tasks) - len(free), width // 2), _WIDTH), np.nan, np.float32)
            self._values = np.concatenate([self._values, more], axis=1)
            free += range(width, self._values.shape[1])
        self._columns.update(zip(tasks, free, strict=False))

    def read(self, since: float, tasks: Collection[str] | None = None, points: int = 300) -> dict[str, Any]:
        """Return the points since a time as plain values for JSON.

        Args:
            since: wall-clock seconds.
            tasks: the tasks; all if left out.
            points: the maximum number of points; neighbours are averaged into one. With many tasks there are
                fewer, so that an answer stays small.

        Returns:
            ``times``, and for each task of ``tasks`` a list for each field of ``Sample``.
        """
        columns = {task: column for task, column in self._columns.items() if tasks is None or task in tasks}
        order = np.roll(np.arange(self._points), -self._next)
        order = order[self._times[order] >= since]  # false for those that were never set
        points = max(2, min(points, _MOST_NUMBERS // (_WIDTH * max(1, len(columns)))))
        groups = np.array_split(order, min(points, len(order))) if len(order) else []
        values = np.stack([_mean(self._values[group]) for group in groups]) if groups else self._values[:0]
        return {
            "times": [round(float(self._times[group[-1]]), 3) for group in groups],
            "tasks": {
                task: {name: _plain(values[:, column, at]) for at, name in enumerate(Sample._fields)}
                for task, column in columns.items()
            },
        }


def _mean(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the mean over the first axis, of what is not ``nan``; ``nan`` where nothing else is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _plain(values: np.ndarray[Any, Any]) -> list[float | None]:
    return [None if value != value else float(f"{value:.6g}") for value in values.tolist()]

"""Gradients that wait to be taken together: the state behind accumulators.

A gradient counts only if its step is not older than the accumulator's, which goes up by one each time the
gradients are taken; so nobody trains on what was computed before the last update. Nothing here waits: who
takes gets a future, which is done as soon as there are enough gradients, in the thread that brings the last.
Gradients that a step has taken which ends early are put back: they are added to those that came since, and
the accumulator's step goes down by one again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.graph.take import Take
from actorsession.records import dataclass

__all__ = ["AccumulatorState", "DenseSum", "SparseSum"]


class Sum(Protocol):
    """Gradients added up."""

    def add(self, gradient: Any) -> None:
        """Add one."""

    def take(self, count: int, *, mean: bool) -> tuple[Any, Callable[[], None]]:
        """Return the sum, or the mean of so many, and begins anew; with what adds the sum again."""

    def clear(self) -> None:
        """Begin anew."""


class DenseSum:
    """The sum of arrays."""

    def __init__(self) -> None:
        self._total: Any = None

    def add(self, gradient: Any) -> None:
        """Add an array of the shape that the others have."""
        if self._total is None:
            self._total = np.array(gradient)
            return
        if self._total.shape != np.shape(gradient):
            raise InvalidArgumentError(
                f"the gradients so far have shape {list(self._total.shape)}, this one "
                f"{list(np.shape(gradient))}; the two must be the same"
            )
        self._total += gradient

    def take(self, count: int, *, mean: bool) -> tuple[Any, Callable[[], None]]:
        """Return the sum, or the mean of ``count`` gradients, and what adds the sum again."""
        total, self._total = self._total, None
        taken = total
        if mean:
            taken = (total / total.dtype.type(count)).astype(total.dtype, copy=False)
        elif np.ndim(total):
            taken = total.copy()  # the caller's own, and the sum may be needed again
        return taken if np.ndim(taken) else taken[()], lambda: self.add(total)

    def clear(self) -> None:
        """Begin anew."""
        self._total = None


class SparseSum:
    """The sum of rows at indices; each row's mean is over the gradients that have it, as in TensorFlow."""

    def __init__(self) -> None:
        self._rows: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        self._shape: list[int] = []  # of a row

    def add(self, gradient: Any) -> None:
        """Add (indices, rows); rows of one index within it are added up."""
        indices, rows = gradient
        shape = list(rows.shape[1:])
        if self._rows and shape != self._shape:
            raise InvalidArgumentError(
                f"the rows so far have shape {self._shape}, those of this gradient {shape}; the two must "
                "be the same"
            )
        self._shape = shape
        for i in set(indices.tolist()):
            self._counts[i] = self._counts.get(i, 0) + 1
        for i, row in zip(indices.tolist(), rows, strict=True):
            found = self._rows.get(i)
            self._rows[i] = np.array(row) if found is None else found + row

    def take(self, count: int, *, mean: bool) -> tuple[Any, Callable[[], None]]:
        """(indices, rows), indices going up, and what adds the rows again."""
        taken_rows, taken_counts = self._rows, self._counts

        def undo() -> None:
            for i, row in taken_rows.items():
                found = self._rows.get(i)
                self._rows[i] = row if found is None else found + row
                self._counts[i] = self._counts.get(i, 0) + taken_counts[i]

        order = sorted(self._rows)
        rows = np.stack([self._rows[i] for i in order])
        if mean:
            counts = np.array([self._counts[i] for i in order], rows.dtype)
            rows = rows / counts.reshape(-1, *[1] * (rows.ndim - 1))
        self.clear()
        return (np.array(order, np.int64), rows), undo

    def clear(self) -> None:
        """Begin anew."""
        self._rows, self._counts = {}, {}


@dataclass(slots=True, eq=False)
class _Taker:
    """Somebody who wants the gradients."""

    wanted: int
    shape: Callable[[Any], Any]
    future: Take = field(default_factory=Take)


# Who was served with what, and what puts it back.
_Served: TypeAlias = tuple[_Taker, Any, Callable[[int], None]]


class AccumulatorState:
    """One accumulator; callable from any thread.

    Args:
        label: what it is called in messages.
        total: the gradients so far, none yet.
        mean: whether their mean is taken, or their sum.
    """

    def __init__(self, label: str, total: Sum, *, mean: bool) -> None:
        self.label = label
        self._total = total
        self._mean = mean
        self._lock = threading.Lock()
        self._count = 0
        self._step = 0
        self._least_step = 0  # which was set, and stays when gradients are put back
        self._resets = 0
        self._takers: deque[_Taker] = deque()

    def apply(self, gradient: Any, step: int) -> None:
        """Add a gradient, unless it was computed at an older step.

        Raises:
            InvalidArgumentError: if its shape is not that of the others.
        """
        with self._lock:
            if step < self._step:
                return
            self._total.add(gradient)
            self._count += 1
            outcomes = self._serve()
        self._tell(outcomes)

    def take(self, wanted: int, shape: Callable[[Any], Any]) -> Take:
        """Take the gradients as soon as there are so many.

        Args:
            wanted: how many, at least 1.
            shape: makes the node's values of them.

        Raises:
            InvalidArgumentError: if ``wanted`` is less than 1.
        """
        if wanted < 1:
            raise InvalidArgumentError(f"{self.label}: num_required is at least 1, got {wanted}")
        taker = _Taker(wanted, shape)
        with self._lock:
            self._takers.append(taker)
            outcomes = self._serve()
        self._tell(outcomes)
        if not taker.future.done():
            taker.future.add_done_callback(lambda future: self._forget(taker))
        return taker.future

    @property
    def count(self) -> int:
        """How many gradients there are."""
        return self._count

    def set_step(self, step: int) -> None:
        """Set the step from which on gradients count; an earlier one than now is left alone."""
        with self._lock:
            self._least_step = max(self._least_step, step)
            self._step = max(self._step, step)

    def clear(self) -> None:
        """Leave it as if it were new; who waits for it gets a CancelledError."""
        with self._lock:
            takers, self._takers = list(self._takers), deque()
            self._total.clear()
            self._count = self._step = self._least_step = 0
            self._resets += 1
        error = CancelledError(f"{self.label} was reset")
        for taker in takers:
            if taker.future.set_running_or_notify_cancel():
                taker.future.set_exception(error)

    def _serve(self) -> list[_Served]:
        outcomes: list[_Served] = []
        while self._takers and self._count >= self._takers[0].wanted:
            taker = self._takers.popleft()
            if taker.future.set_running_or_notify_cancel():
                total, again = self._total.take(self._count, mean=self._mean)
                outcomes.append((taker, total, partial(self._put_back, again, self._count)))
                self._count = 0
                self._step += 1
        return outcomes

    def _forget(self, taker: _Taker) -> None:
        if not taker.future.cancelled():
            return
        with self._lock:
            if taker in self._takers:
                self._takers.remove(taker)
            outcomes = self._serve()
        self._tell(outcomes)

    def _tell(self, outcomes: list[_Served]) -> None:
        for taker, total, undo in outcomes:
            resets = self._resets
            taker.future.fulfil(partial(taker.shape, total), partial(undo, resets))

    def _put_back(self, again: Callable[[], None], count: int, resets: int) -> None:
        with self._lock:
            if resets != self._resets:
                return
            again()
            self._count += count
            self._step = max(self._step - 1, self._least_step)
            outcomes = self._serve()
        self._tell(outcomes)

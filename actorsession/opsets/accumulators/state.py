"""The state of accumulators: gradients that are summed until they are taken together.

A gradient counts only if its step is not older than the accumulator's. That step increases by one each time
the gradients are taken, so no update uses gradients that were computed before the previous update. No method
blocks: a take returns a completion, which is done as soon as there are enough gradients, in the thread that adds
the last one. If a step took gradients and ends early, they are put back: they are added to those that arrived
since, and the accumulator's step decreases by one again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.graph.completion import Completion
from actorsession.graph.held_arrays import total_bytes

__all__ = ["AccumulatorState", "DenseSum", "SparseSum"]


class Sum(Protocol):
    """A sum of gradients."""

    def add(self, gradient: Any) -> None:
        """Add a gradient."""

    def take(self, count: int, *, mean: bool) -> tuple[Any, Callable[[], None]]:
        """Return the sum or mean of ``count`` gradients and a function that undoes this; reset the sum."""

    @property
    def nbytes(self) -> int:
        """The bytes of the sum."""

    def clear(self) -> None:
        """Reset the sum."""


class DenseSum:
    """The sum of arrays."""

    def __init__(self) -> None:
        self._total: Any = None

    def add(self, gradient: Any) -> None:
        """Add an array, of the shape of the previous ones."""
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
        """Return the sum or mean of ``count`` gradients and a function that undoes this; reset the sum."""
        total, self._total = self._total, None
        taken = total
        if mean:
            taken = (total / total.dtype.type(count)).astype(total.dtype, copy=False)
        elif np.ndim(total):
            taken = total.copy()  # the caller owns the result, and the sum may be needed again
        return taken if np.ndim(taken) else taken[()], lambda: self.add(total)

    @property
    def nbytes(self) -> int:
        """The bytes of the sum."""
        return total_bytes([self._total])

    def clear(self) -> None:
        """Reset the sum."""
        self._total = None


class SparseSum:
    """The sum of rows at indices; a row's mean is over the gradients that contain it, as in TensorFlow."""

    def __init__(self) -> None:
        self._rows: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        self._shape: list[int] = []  # of a row

    def add(self, gradient: Any) -> None:
        """Add (indices, rows); rows with equal indices within a gradient are added up."""
        indices, rows = gradient
        shape = list(rows.shape[1:])
        if self._rows and len(shape) != len(self._shape):
            raise InvalidArgumentError(
                f"Shape mismatch: expected values rank {len(self._shape) + 1}, got {len(shape) + 1}: the "
                f"rows so far have shape {self._shape}, those of this gradient {shape}"
            )
        if self._rows and shape != self._shape:
            axis = next(i for i, size in enumerate(shape) if size != self._shape[i])
            raise InvalidArgumentError(
                f"Shape mismatch: expected values dim {axis + 1} to be {self._shape[axis]}, got "
                f"{shape[axis]}: the rows so far have shape {self._shape}, those of this gradient {shape}"
            )
        self._shape = shape
        for i in set(indices.tolist()):
            self._counts[i] = self._counts.get(i, 0) + 1
        for i, row in zip(indices.tolist(), rows, strict=True):
            total = self._rows.get(i)
            self._rows[i] = np.array(row) if total is None else total + row

    def take(self, count: int, *, mean: bool) -> tuple[Any, Callable[[], None]]:
        """Return ascending indices, rows and a function that adds the rows again, and reset the sum."""
        taken_rows, taken_counts = self._rows, self._counts

        def undo() -> None:
            for i, row in taken_rows.items():
                total = self._rows.get(i)
                self._rows[i] = row if total is None else total + row
                self._counts[i] = self._counts.get(i, 0) + taken_counts[i]

        order = sorted(self._rows)
        rows = np.stack([self._rows[i] for i in order])
        if mean:
            counts = np.array([self._counts[i] for i in order], rows.dtype)
            rows = rows / counts.reshape(-1, *[1] * (rows.ndim - 1))
        self.clear()
        return (np.array(order, np.int64), rows), undo

    @property
    def nbytes(self) -> int:
        """The bytes of the sum."""
        return total_bytes([self._rows])

    def clear(self) -> None:
        """Reset the sum."""
        self._rows, self._counts = {}, {}


# A pending take: the required number, and what makes the node's values of the gradients.
_Taker: TypeAlias = tuple[int, Callable[[Any], Any]]


class AccumulatorState:
    """The state of one accumulator; its methods are thread-safe.

    Args:
        label: name of the accumulator in messages.
        total: an empty sum.
        mean: whether a take returns the mean or the sum.
    """

    def __init__(self, label: str, total: Sum, *, mean: bool) -> None:
        self.label = label
        self._total = total
        self._mean = mean
        self._lock = threading.Lock()
        self._count = 0
        self._step = 0
        self._least_step = 0  # set by the program; kept when gradients are put back
        self._resets = 0
        self._takers: OrderedDict[Completion, _Taker] = OrderedDict()

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
        _tell(outcomes)

    def take(self, count: int, shape: Callable[[Any], Any]) -> Completion:
        """Take the gradients as soon as there are enough.

        Args:
            count: required number, at least 1.
            shape: a function of the gradients that returns the values of the node.

        Raises:
            InvalidArgumentError: if ``count`` is less than 1.
        """
        if count < 1:
            raise InvalidArgumentError(f"{self.label}: num_required is at least 1, got {count}")
        completion = Completion(self._forget)
        with self._lock:
            self._takers[completion] = count, shape
            outcomes = self._serve()
        _tell(outcomes)
        return completion

    @property
    def count(self) -> int:
        """The number of accumulated gradients."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes of the accumulated gradients."""
        with self._lock:
            return self._total.nbytes

    def set_step(self, step: int) -> None:
        """Set the minimum step of gradients that count; a step before the current one has no effect."""
        with self._lock:
            self._least_step = max(self._least_step, step)
            self._step = max(self._step, step)

    def clear(self) -> None:
        """Reset the accumulator; pending takes fail with CancelledError."""
        with self._lock:
            takers, self._takers = self._takers, OrderedDict()
            self._total.clear()
            self._count = self._step = self._least_step = 0
            self._resets += 1
        error = CancelledError(f"{self.label} was reset")
        for taker in takers:
            taker.fail(error)

    def _serve(self) -> list[_Served]:
        outcomes: list[_Served] = []
        while self._takers:
            completion, (required, shape) = next(iter(self._takers.items()))
            if self._count < required:
                break
            del self._takers[completion]
            total, again = self._total.take(self._count, mean=self._mean)
            undo = partial(self._put_back, again, self._count, self._resets)
            outcomes.append((completion, partial(shape, total), undo))
            self._count = 0
            self._step += 1
        return outcomes

    def _forget(self, completion: Completion) -> None:
        with self._lock:
            self._takers.pop(completion, None)
            outcomes = self._serve()
        _tell(outcomes)

    def _put_back(self, again: Callable[[], None], count: int, resets: int) -> None:
        with self._lock:
            if resets != self._resets:
                return
            again()
            self._count += count
            self._step = max(self._step - 1, self._least_step)
            outcomes = self._serve()
        _tell(outcomes)


# The completion of a take, what makes its values, and what puts the gradients back.
_Served: TypeAlias = tuple[Completion, Callable[[], Any], Callable[[], None]]


def _tell(outcomes: list[_Served]) -> None:
    for completion, make, undo in outcomes:
        completion.complete_by(make, undo)

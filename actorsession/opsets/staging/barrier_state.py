"""The state of barriers: elements that are assembled from components.

An element is identified by its key and complete once each of its components was inserted; complete elements
are taken in the order in which their keys were first inserted. No method blocks: a take returns a completion,
which is done in the thread that completes the last element. An insertion that fails has no effect at all. (In
TensorFlow the keys before the invalid one are inserted, and takes wait for ever at a barrier that no
insertion can reach any more; here they get the remaining elements, or OutOfRangeError.)
"""

from __future__ import annotations

import heapq
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from actorsession.graph.completion import Completion
from actorsession.graph.held_arrays import total_bytes
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Array
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass

__all__ = ["BarrierState"]

# The number of the insertion of the first new key, as in TensorFlow.
_FIRST = -(2**63)

# An element in order: number of the insertion, position in it, key, components.
_Element: TypeAlias = tuple[int, int, bytes, tuple[Any, ...]]
_Join: TypeAlias = Callable[[Sequence[tuple[Any, ...]]], Any]


@dataclass(slots=True)
class _Part:
    """An element that is not complete."""

    number: int
    place: int
    components: dict[int, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Taker:
    """A pending take."""

    requested: int
    small: bool
    join: _Join


_Outcome: TypeAlias = tuple[Completion, _Taker, list[_Element] | OutOfRangeError]


class BarrierState:
    """The state of one barrier; its methods are thread-safe.

    Args:
        label: name of the barrier in messages, such as ``Barrier 'b'``.
        specs: static types of an element's components.
    """

    def __init__(self, label: str, specs: Sequence[TensorSpec]) -> None:
        self.label = label
        self._specs = tuple(specs)
        self._lock = threading.Lock()
        self._resets = 0
        self._begin()

    def _begin(self) -> None:
        # Components of unknown shape get the shape of the first value, so that they can be stacked.
        self._shapes = [spec.shape for spec in self._specs]
        self._number = _FIRST
        self._places = 0
        self._parts: dict[bytes, _Part] = {}
        self._ready: list[_Element] = []  # a heap
        self._takers: OrderedDict[Completion, _Taker] = OrderedDict()
        self._closed = self._cancelled = False

    # -- methods for kernels -----------------------------------------------------------------------

    def insert(self, component: int, keys: Array, values: Array) -> None:
        """Insert one component of each of some elements.

        Args:
            component: index of the component.
            keys: keys of the elements, a vector.
            values: a row for each key; copied.

        Raises:
            CancelledError: if the barrier is closed and a key is new to it.
            InvalidArgumentError: if an element has the component already, or a value does not fit.
        """
        with self._lock:
            self._check_values(component, keys, values)
            self._check_keys(component, keys)
            if not len(keys):
                return
            self._shapes[component] = TensorShape(values.shape[1:])
            number = self._number
            for key, row in zip(keys.tolist(), values, strict=True):
                self._insert(number, key, component, row)
            outcomes = self._serve()
        self._tell(outcomes)

    def take(self, count: int, join: _Join, *, small: bool) -> Completion:
        """Take complete elements, as soon as there are enough.

        Args:
            count: required number.
            join: a function of the (number of the first insertion, key, components...) of each element that
                returns the values of the node.
            small: whether fewer elements, but at least one, suffice once the barrier is closed.

        Returns:
            A completion with the node's values; OutOfRangeError if the barrier is closed and there cannot be
            enough.

        Raises:
            InvalidArgumentError: if ``count`` is negative.
            OutOfRangeError: if it is certain at once that there cannot be enough.
        """
        if count < 0:
            raise InvalidArgumentError(f"{self.label}: num_elements is at least 0, got {count}")
        completion, taker = Completion(self._forget), _Taker(count, small, join)
        with self._lock:
            if self._closed:
                there = len(self._ready) + (0 if small else len(self._parts))
                taker.requested = min(count, there) if small else count
                if there < max(taker.requested, 1):
                    raise self._too_few(count, there)
            self._takers[completion] = taker
            outcomes = self._serve()
        self._tell(outcomes)
        return completion

    def close(self, *, cancel_pending: bool) -> None:
        """Refuse new keys from now on; incomplete elements may be completed.

        Args:
            cancel_pending: whether incomplete elements are dropped instead; possible in a later call as well.

        Raises:
            CancelledError: if the barrier is closed already and the call changes nothing.
        """
        with self._lock:
            if self._closed and (self._cancelled or not cancel_pending):
                raise CancelledError(f"{self.label} is already closed.")
            self._closed, self._cancelled = True, cancel_pending
            if cancel_pending:
                self._parts.clear()
            outcomes = self._serve()
        self._tell(outcomes)

    @property
    def ready_size(self) -> int:
        """The number of complete elements."""
        return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        """The number of incomplete elements."""
        return len(self._parts)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, complete or not."""
        with self._lock:
            return total_bytes([self._ready, *[part.components for part in self._parts.values()]])

    def clear(self) -> None:
        """Reset the barrier; pending takes fail with CancelledError."""
        with self._lock:
            takers = list(self._takers)
            self._resets += 1
            self._begin()
        error = CancelledError(f"{self.label} was reset")
        for taker in takers:
            taker.fail(error)

    # -- under the lock ----------------------------------------------------------------------------

    def _check_values(self, component: int, keys: Array, values: Array) -> None:
        if not 0 <= component < len(self._specs):
            raise InvalidArgumentError(
                f"{self.label}: the elements have components 0 to {len(self._specs) - 1}, there is no "
                f"component {component}"
            )
        dtype = self._specs[component].dtype
        if values.dtype != dtype.np_dtype:
            raise InvalidArgumentError(
                f"{self.label}: component {component} is {dtype.name}, got values of {values.dtype}"
            )
        if keys.ndim != 1 or not values.ndim or len(keys) != len(values):
            raise InvalidArgumentError(
                f"{self.label} takes a vector of keys and a row of values for each, got keys of shape "
                f"{list(keys.shape)} and values of shape {list(values.shape)}"
            )
        if not len(keys):
            return
        if not values.size:
            raise InvalidArgumentError(
                f"Tensors with no elements are not supported: {self.label} got values of shape {list(values.shape)}"
            )
        shape = self._shapes[component]
        if not shape.is_compatible_with(values.shape[1:]):
            raise InvalidArgumentError(
                f"{self.label}: component {component} has shape {shape}, got values of shape {list(values.shape[1:])}"
            )

    def _check_keys(self, component: int, keys: Array) -> None:
        if self._closed and (self._cancelled or (len(keys) and not self._parts)):
            raise CancelledError(
                f"{self.label} is closed. Pending enqueues cancelled: {self._cancelled}. Number of new "
                f"insertions: {len(keys)}. Number of incomplete keys: {len(self._parts)}."
            )
        seen: set[bytes] = set()
        for key in keys.tolist():
            part = self._parts.get(key)
            if part is None and self._closed:
                raise CancelledError(f"{self.label} is closed, but attempted to insert a brand new key: {_text(key)}")
            if key in seen or (part is not None and component in part.components):
                raise InvalidArgumentError(
                    f"Key {_text(key)} already has a value for component {component} in {self.label}"
                )
            seen.add(key)

    def _insert(self, number: int, key: bytes, component: int, row: Any) -> None:
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = _Part(number, self._places)
            self._places += 1
            self._number = number + 1
        # A copy: a row must not keep the whole array alive.
        part.components[component] = row.copy() if isinstance(row, np.ndarray) else row
        if len(part.components) == len(self._specs):
            del self._parts[key]
            components = tuple(part.components[i] for i in range(len(self._specs)))
            heapq.heappush(self._ready, (part.number, part.place, key, components))

    def _serve(self) -> list[_Outcome]:
        """Serve all possible takes, and return outcomes to deliver after the lock is released."""
        outcomes: list[_Outcome] = []
        while self._takers:
            completion, taker = next(iter(self._takers.items()))
            there = len(self._ready)
            if there < taker.requested and not (self._closed and not self._parts):
                break
            del self._takers[completion]
            if there < taker.requested and not (taker.small and there):
                outcomes.append((completion, taker, self._too_few(taker.requested, there)))
                continue
            count = min(there, taker.requested)
            outcomes.append((completion, taker, [heapq.heappop(self._ready) for _ in range(count)]))
        return outcomes

    def _tell(self, outcomes: Sequence[_Outcome]) -> None:
        for completion, taker, taken in outcomes:
            if isinstance(taken, OutOfRangeError):
                completion.fail(taken)
            else:
                elements = [(np.int64(n), key, *c) for n, _, key, c in taken]
                completion.complete_by(partial(taker.join, elements), partial(self._put_back, taken, self._resets))

    def _put_back(self, elements: Sequence[_Element], resets: int) -> None:
        with self._lock:
            if resets == self._resets:
                for element in elements:
                    heapq.heappush(self._ready, element)
            outcomes = self._serve()
        self._tell(outcomes)

    def _too_few(self, requested: int, there: int) -> OutOfRangeError:
        return OutOfRangeError(
            f"{self.label} is closed and has insufficient elements (requested {requested}, total size {there})"
        )

    def _forget(self, completion: Completion) -> None:
        with self._lock:
            self._takers.pop(completion, None)
            outcomes = self._serve()
        self._tell(outcomes)


def _text(key: bytes) -> str:
    return key.decode(errors="backslashreplace")

"""The state of staging areas: values that are kept between steps, in order or by key.

No method blocks: each attempt to put, take or read is a completion, done in whichever thread makes it possible.
Attempts are served in the order in which they were made, but one that cannot be served yet does not block
those after it. An attempt that was abandoned has no effect, and neither has one that fails. If a step
took values and ends early, they are put back in their place, even if the area is full by then.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, InvalidArgumentError, ResourceExhaustedError
from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import DType
from actorsession.records import dataclass

__all__ = ["Limits", "MapState", "StageState"]

Values: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an area; 0 stands for no bound.

    Attributes:
        capacity: maximum number of elements.
        memory: maximum number of bytes of their values.
    """

    capacity: int
    memory: int


@dataclass(slots=True, eq=False)
class _Attempt:
    """A pending operation: its condition, its action and the undo of that, all called under the lock."""

    ready: Callable[[], bool]
    act: Callable[[], Values]
    undo: Callable[[Values], None] | None = None


_Outcome: TypeAlias = tuple[Completion, _Attempt, Values, BaseException | None]


class _Area:
    """The base class of both kinds of areas: attempts, and the number of bytes."""

    def __init__(self, label: str, limits: Limits) -> None:
        self.label = label
        self._limits = limits
        self._lock = threading.Lock()
        self._bytes = 0
        self._attempts: dict[Completion, _Attempt] = {}
        self._drops = 0

    @property
    def nbytes(self) -> int:
        """The bytes of its values."""
        return self._bytes

    def clear(self) -> None:
        """Reset the area; pending attempts fail with CancelledError."""
        with self._lock:
            attempts, self._attempts = self._attempts, {}
            self._drop()
        error = CancelledError(f"{self.label} was reset")
        for attempt in attempts:
            attempt.fail(error)

    def empty(self) -> None:
        """Drop all elements; pending puts may then proceed."""
        with self._lock:
            self._drop()
            outcomes = self._serve()
        self._tell(outcomes)

    def _drop(self) -> None:
        self._bytes = 0
        self._drops += 1

    def _attempt(
        self, ready: Callable[[], bool], act: Callable[[], Values], undo: Callable[[Values], None] | None = None
    ) -> Completion:
        completion = Completion(self._forget)
        with self._lock:
            self._attempts[completion] = _Attempt(ready, act, undo)
            outcomes = self._serve()
        self._tell(outcomes)
        return completion

    def _serve(self) -> list[_Outcome]:
        """Serve all possible attempts under the lock, and return outcomes to deliver after its release."""
        outcomes: list[_Outcome] = []
        again = True
        while again:
            again = False
            for completion, attempt in tuple(self._attempts.items()):
                if attempt.ready():
                    again = True
                    del self._attempts[completion]
                    outcomes.append((completion, attempt, *_outcome(attempt)))
        return outcomes

    def _forget(self, completion: Completion) -> None:
        with self._lock:
            self._attempts.pop(completion, None)

    def _tell(self, outcomes: Sequence[_Outcome]) -> None:
        for completion, attempt, values, error in outcomes:
            undo = None if attempt.undo is None else partial(self._undo, attempt.undo, values, self._drops)
            completion.complete(values[0] if len(values) == 1 else values, undo, error=error)

    def _undo(self, undo: Callable[[Values], None], values: Values, drops: int) -> None:
        with self._lock:
            if drops != self._drops:
                return
            undo(values)
            outcomes = self._serve()
        self._tell(outcomes)

    def _check_size(self, size: int) -> None:
        if 0 < self._limits.memory < size:
            raise ResourceExhaustedError(
                f"Attempted to insert tensors with combined size of '{size}' bytes into {self.label} with "
                f"a memory limit of '{self._limits.memory}'."
            )

    def _has_memory(self, size: int) -> bool:
        return not self._limits.memory or self._bytes + size <= self._limits.memory

    def _has_room(self, count: int) -> bool:
        return not self._limits.capacity or count < self._limits.capacity


def _outcome(attempt: _Attempt) -> tuple[Values, BaseException | None]:
    try:
        return attempt.act(), None
    except Exception as error:
        return (), error


def _size_of(values: Sequence[Any]) -> int:
    """Return the number of bytes of values; for strings the number of characters."""
    return sum(_bytes_of(value) for value in values)


def _bytes_of(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if value.dtype == object:
        return sum(map(len, value.flat))
    return int(value.nbytes)


def _check_types(label: str, values: Sequence[Any], expected: Sequence[DType]) -> None:
    actual = [object if isinstance(value, bytes) else value.dtype for value in values]
    if len(actual) != len(expected):
        raise InvalidArgumentError(f"{label}: Mismatch stage/unstage: {len(actual)} vs. {len(expected)}")
    for i, (actual_type, want) in enumerate(zip(actual, expected, strict=True)):
        if actual_type != want.np_dtype:
            raise InvalidArgumentError(f"{label}: value {i} is {actual_type}, {want.name} was asked for")


def _copies(values: Sequence[Any]) -> Values:
    """Return copies of values that are only read: the area keeps the originals."""
    return tuple([v.copy() if isinstance(v, np.ndarray) else v for v in values])


class StageState(_Area):
    """Elements that are taken in the order in which they were put in.

    Args:
        label: name of the area in messages, such as ``StagingArea 'a'``.
        limits: limits of the area.
    """

    def __init__(self, label: str, limits: Limits) -> None:
        super().__init__(label, limits)
        self._elements: deque[Values] = deque()

    def put(self, values: Values) -> Completion:
        """Put an element in, as soon as the limits allow.

        Raises:
            ResourceExhaustedError: if the element exceeds the memory limit.
        """
        size = _size_of(values)
        self._check_size(size)

        def ready() -> bool:
            return self._has_room(len(self._elements)) and self._has_memory(size)

        def act() -> Values:
            self._elements.append(values)
            self._bytes += size
            return ()

        return self._attempt(ready, act)

    def get(self, dtypes: Sequence[DType]) -> Completion:
        """Take the next element, as soon as there is one; InvalidArgumentError if it has other types."""

        def act() -> Values:
            values = self._elements[0]
            _check_types(self.label, values, dtypes)
            self._elements.popleft()
            self._bytes -= _size_of(values)
            return values

        def undo(values: Values) -> None:
            self._elements.appendleft(values)
            self._bytes += _size_of(values)

        return self._attempt(lambda: bool(self._elements), act, undo)

    def peek(self, index: int, dtypes: Sequence[DType]) -> Completion:
        """Return a copy of an element, as soon as there are enough.

        Raises:
            InvalidArgumentError: if ``index`` is negative.
        """
        if index < 0:
            raise InvalidArgumentError(f"{self.label}: index is at least 0, got {index}")

        def act() -> Values:
            _check_types(self.label, self._elements[index], dtypes)
            return _copies(self._elements[index])

        return self._attempt(lambda: index < len(self._elements), act)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self._elements)

    def _drop(self) -> None:
        super()._drop()
        self._elements.clear()


class MapState(_Area):
    """Elements by key, whose values may be put in and taken one by one.

    Args:
        label: name of the area in messages, such as ``MapStagingArea 'a'``.
        limits: limits of the area; incomplete elements count for the memory only.
        ordered: whether ``get_any`` takes the element with the lowest key instead of the oldest.
    """

    def __init__(self, label: str, limits: Limits, *, ordered: bool) -> None:
        super().__init__(label, limits)
        self._ordered = ordered
        self._complete: dict[int, dict[int, Any]] = {}
        self._counts: dict[int, int] = {}  # values of each complete element, including taken ones
        self._begun: dict[int, dict[int, Any]] = {}

    def put(self, key: int, indices: Sequence[int], values: Values, count: int) -> Completion:
        """Put values of an element in; wait for memory and, for a whole element, for capacity.

        An element whose key exists already is dropped, as in TensorFlow.

        Args:
            key: key of the element.
            indices: ascending indices of the values.
            values: the values.
            count: number of values of an element.

        Raises:
            InvalidArgumentError: if ``indices`` do not fit.
            ResourceExhaustedError: if the values exceed the memory limit.
        """
        self._check_indices(key, indices, count)
        if len(indices) != len(values):
            raise InvalidArgumentError(f"{self.label}: {len(indices)} indices do not name {len(values)} values")
        size = _size_of(values)
        self._check_size(size)
        by_index = dict(zip(indices, values, strict=True))

        def ready() -> bool:
            whole = len(by_index) == count and key not in self._begun
            return self._has_memory(size) and (not whole or self._has_room(len(self._complete)))

        return self._attempt(ready, lambda: self._add(key, by_index, count))

    def _add(self, key: int, by_index: dict[int, Any], count: int) -> Values:
        begun = self._begun.get(key, {})
        for index in by_index:
            if index in begun:
                raise InvalidArgumentError(
                    f"The tensor for index '{index}' for key '{key}' was already initialized '{count}'."
                )
        element = begun | by_index
        self._bytes += _size_of(tuple(by_index.values()))
        if len(element) < count:
            self._begun[key] = element
            return ()
        self._begun.pop(key, None)
        if key in self._complete:
            self._bytes -= _size_of(tuple(element.values()))
            return ()
        self._complete[key], self._counts[key] = element, count
        return ()

    def get(self, key: int, indices: Sequence[int], dtypes: Sequence[DType]) -> Completion:
        """Take values of an element, as soon as it is complete; it is removed with its last value.

        Args:
            key: key of the element.
            indices: ascending indices of the values.
            dtypes: dtypes of the values.
        """
        self._check_indices(key, indices)
        return self._attempt_to_take(lambda: key in self._complete, lambda: key, indices, dtypes, with_key=False)

    def get_any(self, indices: Sequence[int], dtypes: Sequence[DType]) -> Completion:
        """Take (key, values...) of any element, as soon as there is one."""
        self._check_indices("any", indices)

        def first() -> int:
            return min(self._complete) if self._ordered else next(iter(self._complete))

        return self._attempt_to_take(lambda: bool(self._complete), first, indices, dtypes, with_key=True)

    def _attempt_to_take(
        self,
        ready: Callable[[], bool],
        choose: Callable[[], int],
        indices: Sequence[int],
        dtypes: Sequence[DType],
        *,
        with_key: bool,
    ) -> Completion:
        taken: list[tuple[int, int]] = []  # the key, and the number of values of its element

        def act() -> Values:
            key = choose()
            count = self._counts[key]
            values = self._take(key, indices, dtypes)
            taken.append((key, count))
            return (np.int64(key), *values) if with_key else values

        def undo(values: Values) -> None:
            self._put_back(*taken[0], dict(zip(indices, values[with_key:], strict=True)))

        return self._attempt(ready, act, undo)

    def peek(self, key: int, indices: Sequence[int], dtypes: Sequence[DType]) -> Completion:
        """Return a copy of values of an element, as soon as it is complete."""
        self._check_indices(key, indices)
        return self._attempt(lambda: key in self._complete, lambda: _copies(self._values(key, indices, dtypes)))

    @property
    def size(self) -> int:
        """The number of complete elements."""
        return len(self._complete)

    @property
    def incomplete_size(self) -> int:
        """The number of incomplete elements."""
        return len(self._begun)

    def _take(self, key: int, indices: Sequence[int], dtypes: Sequence[DType]) -> Values:
        values = self._values(key, indices, dtypes)
        element = self._complete[key]
        for index in indices:
            del element[index]
        self._bytes -= _size_of(values)
        if not element:
            del self._complete[key], self._counts[key]
        return values

    def _put_back(self, key: int, count: int, by_index: dict[int, Any]) -> None:
        element = self._complete.get(key)
        if element is None:
            # At the front, where it was: without an order the oldest element is taken first.
            element = {}
            self._complete = {key: element, **self._complete}
            self._counts[key] = count
        # Another element with this key may have been put in since; of two the first stays, as in ``_add``.
        dropped = tuple([element[index] for index in by_index if index in element])
        element.update(by_index)
        self._bytes += _size_of(tuple(by_index.values())) - _size_of(dropped)

    def _values(self, key: int, indices: Sequence[int], dtypes: Sequence[DType]) -> Values:
        element = self._complete[key]
        self._check_indices(key, indices, self._counts[key])
        for index in indices:
            if index not in element:
                raise InvalidArgumentError(f"Tensor at index '{index}' for key '{key}' has already been removed.")
        values = tuple([element[index] for index in indices])
        _check_types(self.label, values, dtypes)
        return values

    def _check_indices(self, key: int | str, indices: Sequence[int], count: int | None = None) -> None:
        if any(b <= a for a, b in itertools.pairwise(indices)):
            raise InvalidArgumentError(f"{self.label}: Indices are not strictly ordered: {list(indices)}")
        for index in indices:
            if index < 0 or (count is not None and index >= count):
                raise InvalidArgumentError(f"Index '{index}' for key '{key}' was out of bounds '{count}'.")

    def _drop(self) -> None:
        super()._drop()
        self._complete.clear()
        self._counts.clear()
        self._begun.clear()

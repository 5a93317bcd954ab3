"""The state of queues: their elements and the pending enqueues and dequeues.

Owns the state behind queue handles; ``kernels`` uses it. No method blocks: each attempt is a future, which is
completed in whichever thread makes it possible. Elements are tuples of components; the kind of queue
determines their order, and attempts are served in the order in which they were made.

Invariants: an attempt whose future was cancelled has no effect, except that the elements which an
``enqueue_many`` has already put in stay. A ``dequeue_many`` collects elements as they arrive, because it may
require more than the capacity of the queue. If it fails, the collected elements go back, and so do elements
that were taken by a step that ends early. (TensorFlow loses those elements.) Elements that go back are the
next to be taken, in the order in which they were taken before, even if the queue is full by then. Futures are
completed outside of the lock.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, OutOfRangeError
from actorsession.graph.node import TensorSpec
from actorsession.graph.take import AvailableTake, Take
from actorsession.records import dataclass

__all__ = ["Element", "FifoElements", "PriorityElements", "QueueState", "ShuffledElements"]

Element: TypeAlias = tuple[Any, ...]
# An element with the data that determines its position; the last item is the element.
Entry: TypeAlias = tuple[Any, ...]


class FifoElements:
    """Elements in the order in which they were put in."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()
        self._first = 0  # number of the element at the front; elements are numbered in order
        self._returned: list[Entry] = []  # a heap of (number, element), all before ``_first``

    def __len__(self) -> int:
        return len(self._elements) + len(self._returned)

    def add(self, element: Element) -> None:
        """Put an element in."""
        self._elements.append(element)

    def take(self) -> Entry:
        """Take the next element out."""
        if self._returned:
            return heapq.heappop(self._returned)
        self._first += 1
        return self._first, self._elements.popleft()

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put taken elements back in their old positions."""
        for entry in entries:
            heapq.heappush(self._returned, entry)

    def available(self, *, closed: bool) -> int:
        """Return the number of elements that may be taken."""
        return len(self._elements) + len(self._returned)

    def clear(self) -> None:
        """Drop all elements."""
        self._elements.clear()
        self._returned.clear()


class ShuffledElements:
    """Elements in random order.

    Args:
        least: number of elements that must stay while the queue is open, so that they mix.
        seed: seed of the choice; chosen by the system if both parts are 0.
    """

    def __init__(self, least: int, seed: tuple[int, int]) -> None:
        self._least = least
        self._elements: list[Element] = []
        self._random = np.random.Generator(np.random.Philox(seed if any(seed) else None))

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, element: Element) -> None:
        """Put an element in."""
        self._elements.append(element)

    def take(self) -> Entry:
        """Take a random element out."""
        elements = self._elements
        index = int(self._random.integers(len(elements)))
        elements[index], elements[-1] = elements[-1], elements[index]
        return (elements.pop(),)

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put taken elements back."""
        self._elements.extend([element for (element,) in entries])

    def available(self, *, closed: bool) -> int:
        """Return the number of elements that may be taken."""
        return len(self._elements) if closed else max(0, len(self._elements) - self._least)

    def clear(self) -> None:
        """Drop all elements."""
        self._elements.clear()


class PriorityElements:
    """Elements by ascending first component, and equal ones by age."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: Element) -> None:
        """Put an element in."""
        heapq.heappush(self._heap, (int(element[0]), next(self._numbers), element))

    def take(self) -> Entry:
        """Take the element with the lowest priority number out."""
        return heapq.heappop(self._heap)

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put taken elements back in their old positions."""
        for entry in entries:
            heapq.heappush(self._heap, entry)

    def available(self, *, closed: bool) -> int:
        """Return the number of elements that may be taken."""
        return len(self._heap)

    def clear(self) -> None:
        """Drop all elements."""
        self._heap.clear()


Elements: TypeAlias = FifoElements | ShuffledElements | PriorityElements
# The function from taken elements to the values of the node.
Join: TypeAlias = Callable[[Sequence[Element]], Any]


@dataclass(slots=True, eq=False)
class _Enqueue:
    """A pending enqueue."""

    left: deque[Element]
    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class _Dequeue:
    """A pending dequeue."""

    wanted: int
    join: Join
    up_to: bool
    taken: list[Entry] = field(default_factory=list)
    future: Take = field(default_factory=Take)


_ENQUEUED = AvailableTake(())

# A finished attempt and its error; ``None`` if it succeeded.
_Outcome: TypeAlias = tuple["_Enqueue | _Dequeue", BaseException | None]


class QueueState:
    """The state of one queue; its methods are thread-safe.

    Args:
        label: name of the queue in messages, such as ``FIFOQueue 'q'``.
        capacity: maximum number of elements; unbounded if less than 0.
        elements: an empty collection of the queue's kind.
        specs: static types of the components, for nodes that do not say them.
        pads: whether elements of different shapes are stacked, padded.
    """

    def __init__(
        self, label: str, capacity: int, elements: Elements, specs: Sequence[TensorSpec] = (), *, pads: bool = False
    ) -> None:
        self.label = label
        self.specs, self.pads = specs, pads
        self._capacity = capacity
        self._elements = elements
        self._closed = False
        self._resets = 0
        self._lock = threading.Lock()
        self._enqueues: deque[_Enqueue] = deque()
        self._dequeues: deque[_Dequeue] = deque()

    # -- methods for kernels -------------------------------------------------------------------

    def enqueue(self, elements: Sequence[Element]) -> Future[Any]:
        """Put elements in, in their order, as the capacity allows.

        Returns:
            A future, done when the last element is in; CancelledError if the queue is closed.
        """
        attempt = None
        with self._lock:
            if len(elements) == 1 and not (self._enqueues or self._closed) and self._has_room():
                self._elements.add(elements[0])  # most of them: nobody waits for room
                if not self._dequeues:
                    return _ENQUEUED
            else:
                attempt = _Enqueue(deque(elements))
                if self._closed:
                    attempt.future.set_exception(CancelledError(f"{self.label} is closed."))
                    return attempt.future
                self._enqueues.append(attempt)
            outcomes = self._serve()
        self._tell(outcomes)
        if attempt is None:
            return _ENQUEUED
        if not attempt.future.done():
            attempt.future.add_done_callback(lambda future: self._forget_enqueue(attempt))
        return attempt.future

    def dequeue(self, wanted: int, join: Join, *, up_to: bool = False) -> Take:
        """Take elements out, as soon as there are enough.

        Args:
            wanted: required number.
            join: a function of the elements that returns the values of the node.
            up_to: whether fewer elements, but at least one, suffice once the queue is closed.

        Returns:
            A future of the node's values; OutOfRangeError if the queue is closed and has too few elements.
        """
        with self._lock:
            elements = self._elements
            if not (self._enqueues or self._dequeues) and elements.available(closed=self._closed) >= wanted:
                taken, resets = [elements.take() for _ in range(wanted)], self._resets
                attempt = None
            else:
                attempt = _Dequeue(wanted, join, up_to)
                self._dequeues.append(attempt)
                outcomes = self._serve()
        if attempt is None:  # most of them: nobody waits, and there are enough
            undo = partial(self._put_back, taken, resets)
            try:
                return AvailableTake(join([entry[-1] for entry in taken]), undo)
            except BaseException:
                undo()
                raise
        self._tell(outcomes)
        if not attempt.future.done():
            attempt.future.add_done_callback(lambda future: self._forget_dequeue(attempt))
        return attempt.future

    def close(self, *, cancel_pending: bool) -> None:
        """Refuse new elements from now on.

        Args:
            cancel_pending: whether pending enqueues fail with CancelledError; possible in a later call as
                well.

        Raises:
            CancelledError: if the queue is closed already and ``cancel_pending`` is false.
        """
        outcomes: list[_Outcome] = []
        with self._lock:
            if self._closed and not cancel_pending:
                raise CancelledError(f"{self.label} is already closed.")
            self._closed = True
            if cancel_pending:
                error = f"Enqueue operation was cancelled: {self.label} is closed."
                outcomes = [(e, CancelledError(error)) for e in self._enqueues]
                self._enqueues.clear()
            outcomes += self._serve()
        self._tell(outcomes)

    @property
    def closed(self) -> bool:
        """Whether the queue refuses new elements."""
        return self._closed

    @property
    def size(self) -> int:
        """The number of elements."""
        with self._lock:
            return len(self._elements)

    def clear(self) -> None:
        """Reset the queue; pending attempts fail with CancelledError."""
        with self._lock:
            error = f"{self.label} was reset"
            attempts: list[_Enqueue | _Dequeue] = [*self._enqueues, *self._dequeues]
            outcomes = [(a, CancelledError(error)) for a in attempts]
            self._enqueues.clear()
            self._dequeues.clear()
            self._elements.clear()
            self._closed = False
            self._resets += 1
        self._tell(outcomes)

    # -- serving, under the lock -----------------------------------------------------------------

    def _serve(self) -> list[_Outcome]:
        """Serve all possible attempts, and return outcomes to deliver after the lock is released."""
        outcomes: list[_Outcome] = []
        while (self._enqueues and self._serve_enqueue(outcomes)) or (self._dequeues and self._serve_dequeue(outcomes)):
            pass
        return outcomes

    def _serve_enqueue(self, outcomes: list[_Outcome]) -> bool:
        """Advance the first pending enqueue, and return whether that changed anything."""
        attempt = self._enqueues[0]
        moved = False
        while len(attempt.left) > 1 and self._has_room() and not attempt.future.cancelled():
            self._elements.add(attempt.left.popleft())
            moved = True
        if attempt.left and not self._has_room() and not attempt.future.cancelled():
            return moved
        self._enqueues.popleft()
        if attempt.future.set_running_or_notify_cancel():
            if attempt.left:
                self._elements.add(attempt.left.popleft())
            outcomes.append((attempt, None))
        return True

    def _serve_dequeue(self, outcomes: list[_Outcome]) -> bool:
        """Advance the first pending dequeue, and return whether that changed anything."""
        attempt = self._dequeues[0]
        moved = False
        if not attempt.future.cancelled():
            while len(attempt.taken) < attempt.wanted and self._elements.available(closed=self._closed):
                attempt.taken.append(self._elements.take())
                moved = True
        error = None
        if len(attempt.taken) < attempt.wanted and not attempt.future.cancelled():
            if not self._closed or self._enqueues:
                return moved
            if not (attempt.up_to and attempt.taken):
                error = OutOfRangeError(
                    f"{self.label} is closed and has insufficient elements (requested "
                    f"{attempt.wanted}, current size {len(attempt.taken) + len(self._elements)})"
                )
        self._dequeues.popleft()
        if not attempt.future.set_running_or_notify_cancel() or error is not None:
            self._elements.put_back(attempt.taken)
            attempt.taken = []
        if not attempt.future.cancelled():
            outcomes.append((attempt, error))
        return True

    def _has_room(self) -> bool:
        return self._capacity < 0 or len(self._elements) < self._capacity

    # -- delivery of outcomes --------------------------------------------------------------------

    def _tell(self, outcomes: Sequence[_Outcome]) -> None:
        for attempt, error in outcomes:
            if error is not None:
                if attempt.future.running() or attempt.future.set_running_or_notify_cancel():
                    attempt.future.set_exception(error)
            elif isinstance(attempt, _Dequeue):
                self._hand_out(attempt)
            else:
                attempt.future.set_result(())

    def _hand_out(self, attempt: _Dequeue) -> None:
        taken, undo = attempt.taken, partial(self._put_back, attempt.taken, self._resets)
        attempt.future.fulfil(partial(attempt.join, [entry[-1] for entry in taken]), undo)

    def _put_back(self, taken: Sequence[Entry], resets: int) -> None:
        """Put elements back that were taken when the queue had been reset so many times."""
        with self._lock:
            if resets == self._resets:
                self._elements.put_back(taken)
            outcomes = self._serve()
        self._tell(outcomes)

    def _forget_enqueue(self, attempt: _Enqueue) -> None:
        if not attempt.future.cancelled():
            return
        with self._lock:
            if attempt in self._enqueues:
                self._enqueues.remove(attempt)
            outcomes = self._serve()
        self._tell(outcomes)

    def _forget_dequeue(self, attempt: _Dequeue) -> None:
        if not attempt.future.cancelled():
            return
        with self._lock:
            if attempt in self._dequeues:
                self._dequeues.remove(attempt)
                self._elements.put_back(attempt.taken)
                attempt.taken = []
            outcomes = self._serve()
        self._tell(outcomes)

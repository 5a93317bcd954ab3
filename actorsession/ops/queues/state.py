"""The state of queues: their elements and the pending enqueues and dequeues.

Owns the state behind queue handles; ``kernels`` uses it. No method blocks: each attempt is a completion, which is
completed in whichever thread makes it possible. Elements are tuples of components; the kind of queue
determines their order, and attempts are served in the order in which they were made.

Invariants: an attempt that was abandoned has no effect, except that the elements which an
``enqueue_many`` has already put in stay. A ``dequeue_many`` collects elements as they arrive, because it may
require more than the capacity of the queue. If it fails, the collected elements go back, and so do elements
that were taken by a step that ends early. (TensorFlow loses those elements.) Elements that go back are the
next to be taken, in the order in which they were taken before, even if the queue is full by then. Completions are
completed outside of the lock.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from actorsession.errors import CancelledError, OutOfRangeError
from actorsession.graph.completion import Completed, Completion
from actorsession.graph.held_arrays import total_bytes
from actorsession.graph.node import TensorSpec
from actorsession.ops.queues.batches import Element, join_one
from transports.host import current_host

__all__ = ["FifoElements", "PriorityElements", "QueueState", "ShuffledElements"]

# An element with what determines its position: at least a number that grows; the last item is the element.
Entry: TypeAlias = tuple[Any, ...]
_new = tuple.__new__


class FifoElements(deque[Entry]):
    """Elements in the order in which they were put in."""

    least = 0
    """The number of elements that stay while the queue is open."""

    # Methods of the base class, each by the name that all kinds have: an element is put in and taken without a call.
    add = deque[Entry].append
    take = deque[Entry].popleft

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put taken elements back in their old positions, before all that were never taken."""
        front, last = list(entries), max(entries, default=())
        while self and self[0] < last:
            front.append(self.popleft())
        self.extendleft(sorted(front, reverse=True))


class ShuffledElements(list[Entry]):
    """Elements in random order.

    Args:
        least: number of elements that must stay while the queue is open, so that they mix.
        seed: seed of the choice; chosen by the system if both parts are 0.
    """

    add = list[Entry].append
    put_back = list[Entry].extend

    def __init__(self, least: int, seed: tuple[int, int]) -> None:
        self.least = least
        self._random = np.random.Generator(
            np.random.Philox(seed if any(seed) else current_host().entropy.randbits(128))
        )

    def take(self) -> Entry:
        """Take a random element out."""
        index = int(self._random.integers(len(self)))
        self[index], self[-1] = self[-1], self[index]
        return self.pop()


class PriorityElements(list[Entry]):
    """Elements by ascending first component, and equal ones by age."""

    least = 0

    def add(self, entry: Entry) -> None:
        """Put an element in."""
        heappush(self, (int(entry[-1][0]), *entry))

    def take(self) -> Entry:
        """Take the element with the lowest priority number out."""
        return heappop(self)

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put taken elements back in their old positions."""
        for entry in entries:
            heappush(self, entry)


Elements: TypeAlias = FifoElements | ShuffledElements | PriorityElements
# The function from taken elements to the values of the node.
Join: TypeAlias = Callable[[Sequence[Element]], Any]


class _Dequeue(NamedTuple):
    """A pending dequeue."""

    number: int
    join: Join
    up_to: bool
    taken: list[Entry]


_ENQUEUED: Completion = Completed(())
_ELEMENT = itemgetter(-1)

# Completes an attempt that is over; called when the lock is released.
_Outcome: TypeAlias = Callable[[], None]


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
        self._numbers = itertools.count()
        self._closed = False
        self._resets = 0
        self._lock = threading.Lock()
        # The pending attempts in their order: the elements that are not in yet, or what is asked for and was taken.
        self._enqueues: OrderedDict[Completion, deque[Element]] = OrderedDict()
        self._dequeues: OrderedDict[Completion, _Dequeue] = OrderedDict()

    # -- methods for kernels -------------------------------------------------------------------

    def enqueue(self, elements: Sequence[Element]) -> Completion:
        """Put elements in, in their order, as the capacity allows.

        Returns:
            A completion without values, done when the last element is in.

        Raises:
            CancelledError: if the queue is closed.
        """
        completion: Completion = _ENQUEUED
        with self._lock:
            if self._closed:
                raise CancelledError(f"{self.label} is closed.")
            if len(elements) == 1 and not self._enqueues and not 0 <= self._capacity <= len(self._elements):
                self._elements.add((next(self._numbers), elements[0]))  # most of them: nobody waits for room
                if not self._dequeues:
                    return completion
            else:
                completion = Completion(self._forget)
                self._enqueues[completion] = deque(elements)
            outcomes = self._serve()
        for outcome in outcomes:
            outcome()
        return completion

    def dequeue(self, number: int = 1, join: Join = join_one, *, up_to: bool = False) -> Completion:
        """Take elements out, as soon as there are enough.

        Args:
            number: required number.
            join: a function of the elements that returns the values of the node.
            up_to: whether fewer elements, but at least one, suffice once the queue is closed.

        Returns:
            A completion with the node's values; OutOfRangeError if the queue is closed and has too few elements.
        """
        with self._lock:
            elements = self._elements
            # Most of them: nobody waits, and there are enough.
            if not self._enqueues and not self._dequeues and len(elements) >= number + elements.least:
                taken = [elements.take()] if number == 1 else [elements.take() for _ in range(number)]
                resets = self._resets
                completion = None
            else:
                completion = Completion(self._forget)
                self._dequeues[completion] = _new(_Dequeue, (number, join, up_to, []))
                # Most of these: there is nothing to take.
                outcomes = self._serve() if elements or self._enqueues or self._closed or not number else ()
        if completion is not None:
            for outcome in outcomes:
                outcome()
            return completion
        undo = partial(self._put_back, taken, resets)
        try:
            return Completed(join(list(map(_ELEMENT, taken))), undo)
        except BaseException:
            undo()
            raise

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
                outcomes = [partial(e.fail, CancelledError(error)) for e in self._enqueues]
                self._enqueues.clear()
            outcomes += self._serve()
        for outcome in outcomes:
            outcome()

    @property
    def closed(self) -> bool:
        """Whether the queue refuses new elements."""
        return self._closed

    @property
    def size(self) -> int:
        """The number of elements."""
        with self._lock:
            return len(self._elements)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, and of those that wait for room."""
        with self._lock:
            return total_bytes([self._elements, self._enqueues])

    def queue_counts(self) -> dict[str, int]:
        """Return the counters of the queue at one moment; see ``QueueRow``."""
        with self._lock:
            return {
                "size": len(self._elements),
                "capacity": self._capacity,
                "waiting_enqueues": len(self._enqueues),
                "waiting_dequeues": len(self._dequeues),
                "closed": self._closed,
            }

    def clear(self) -> None:
        """Reset the queue; pending attempts fail with CancelledError."""
        with self._lock:
            error = f"{self.label} was reset"
            attempts = [*self._enqueues, *self._dequeues]
            self._enqueues.clear()
            self._dequeues.clear()
            self._elements.clear()
            self._closed = False
            self._resets += 1
        for attempt in attempts:
            attempt.fail(CancelledError(error))

    # -- serving, under the lock -----------------------------------------------------------------

    def _serve(self) -> list[_Outcome]:
        """Serve all possible attempts, and return what completes them after the lock is released."""
        elements, enqueues, dequeues = self._elements, self._enqueues, self._dequeues
        outcomes: list[_Outcome] = []
        while True:
            if enqueues:
                completion, left = next(iter(enqueues.items()))
                room = len(left) if self._capacity < 0 else self._capacity - len(elements)
                if room > 0 or not left:
                    for _ in range(min(room, len(left))):
                        elements.add((next(self._numbers), left.popleft()))
                    if not left:
                        del enqueues[completion]
                        outcomes.append(partial(completion.complete, ()))
                    continue
            if not dequeues:
                return outcomes
            completion, attempt = next(iter(dequeues.items()))
            number, join, up_to, taken = attempt
            available = len(elements) - (0 if self._closed else elements.least)
            for _ in range(min(available, number - len(taken))):
                taken.append(elements.take())
            if len(taken) >= number or (self._closed and not enqueues and up_to and taken):
                del dequeues[completion]
                undo = partial(self._put_back, taken, self._resets)
                outcomes.append(partial(completion.complete_by, partial(join, list(map(_ELEMENT, taken))), undo))
            elif self._closed and not enqueues:
                del dequeues[completion]
                size = len(taken) + len(elements)
                elements.put_back(taken)
                error = OutOfRangeError(
                    f"{self.label} is closed and has insufficient elements (requested {number}, current size {size})"
                )
                outcomes.append(partial(completion.fail, error))
            elif available <= 0 or not enqueues:  # else there is room again
                return outcomes

    def _forget(self, completion: Completion) -> None:
        """Give an attempt up, unless it is over."""
        with self._lock:
            self._enqueues.pop(completion, None)
            attempt = self._dequeues.pop(completion, None)
            if attempt is not None:
                self._elements.put_back(attempt.taken)
            outcomes = self._serve()
        for outcome in outcomes:
            outcome()

    def _put_back(self, taken: Sequence[Entry], resets: int) -> None:
        """Put elements back that were taken when the queue had been reset so many times."""
        with self._lock:
            if resets == self._resets:
                self._elements.put_back(taken)
            outcomes = self._serve()
        for outcome in outcomes:
            outcome()

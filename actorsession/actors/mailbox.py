"""The mailbox: how many messages an actor may hold, and their order.

The module keeps the books of one actor's messages as plain data: messages in flight (a child works on
them), in the queue (accepted, to be handled when the actor is idle) and in the lobby (asks that wait for
space). ``Actor`` is the only user.

Invariants: messages in flight and in the queue together stay at or below the limit. The lobby holds
messages only while there is no space. Queue and lobby are first in, first out. Messages posted by other
threads reserve their space before they arrive; two threads that post at the same moment may exceed the
limit by one each.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Generic, TypeVar, cast

__all__ = ["MAILBOX_LIMIT", "Mailbox"]

E = TypeVar("E")

# Stands for a deque, which takes 760 bytes, while nothing is queued.
_EMPTY = cast("deque[Any]", ())

# A message in flight holds a task, a future, a timer and its arrays: some 3 KB without the arrays, so this
# is 30 MB. A thousand concurrent sessions with ten steps each fit; a caller that needs more is out of
# control.
MAILBOX_LIMIT = 10_000


class Mailbox(Generic[E]):
    """The messages of one actor.

    Attributes:
        limit: how many may be in flight and queued together.
        in_flight: how many have a child that works on them.
        queue: messages that are accepted and not started; ``push`` adds one.
    """

    __slots__ = ("_lobby", "_lock", "_posted", "in_flight", "limit", "queue")

    def __init__(self, limit: int = MAILBOX_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a mailbox holds at least 1 message, got a limit of {limit}")
        self.limit = limit
        self.in_flight = 0
        self.queue: deque[E] = _EMPTY
        self._lobby: dict[E, None] = {}  # an ordered set: abandoned entries leave from the middle
        self._posted = 0
        self._lock = threading.Lock()

    @property
    def full(self) -> bool:
        """Whether there is no space for one more message."""
        return self.in_flight + len(self.queue) + self._posted >= self.limit

    @property
    def waiting(self) -> int:
        """How many messages wait for space."""
        return len(self._lobby)

    def push(self, entry: E) -> None:
        """Append an entry to the queue."""
        if not self.queue:
            self.queue = deque()
        self.queue.append(entry)

    def wait_for_space(self, entry: E) -> None:
        """Append an entry to the lobby."""
        self._lobby[entry] = None

    def leave(self, entry: E) -> None:
        """Remove an entry from the lobby, if it is there."""
        self._lobby.pop(entry, None)

    def release(self) -> None:
        """Record that a message in flight has ended."""
        self.in_flight -= 1
        if self._lobby:
            self.admit()

    def admit(self) -> None:
        """Move entries from the lobby to the queue, oldest first, while there is space."""
        while self._lobby and not self.full:
            first = next(iter(self._lobby))
            del self._lobby[first]
            self.push(first)

    def reserve(self) -> bool:
        """Reserve space for a message of another thread; any thread may call it.

        Returns:
            Whether there was space.
        """
        with self._lock:
            if self.full:
                return False
            self._posted += 1
            return True

    def arrive(self) -> None:
        """Release a reservation, because the message has arrived or never will; any thread may call it."""
        with self._lock:
            self._posted -= 1

    def drain(self) -> list[E]:
        """Empty queue and lobby, and return their entries in order of arrival."""
        entries = [*self.queue, *self._lobby]
        self.queue = _EMPTY
        self._lobby.clear()
        return entries

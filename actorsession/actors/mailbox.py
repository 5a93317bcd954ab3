"""The mailbox: how many messages an actor may hold, and who goes first.

Owns the bookkeeping of one actor's messages as plain data: those in flight (a child works on them),
those queued (accepted, to be handled when the actor is idle) and those in the lobby (asks that wait
for room). ``Actor`` is its only caller.

Invariants: in flight and queued together stay at or below the limit; somebody is in the lobby only
    while
there is no room; both lines are first in, first out. Messages posted by other threads reserve their
room before they arrive; two threads that post at the same moment may overshoot by one another.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

__all__ = ["MAILBOX_LIMIT", "Mailbox"]

E = TypeVar("E")

# A message in flight holds a task, a future, a timer and its arrays: some 3 KB without the arrays,
# so this is 30 MB. A thousand concurrent sessions with ten steps each fit; more is a caller out of
# control.
MAILBOX_LIMIT = 10_000


class Mailbox(Generic[E]):
    """The messages of one actor.

    Attributes:
        limit: how many may be in flight and queued together.
        in_flight: how many have a child at work.
        queue: accepted, not begun.
    """

    __slots__ = ("_lobby", "_lock", "_posted", "in_flight", "limit", "queue")

    def __init__(self, limit: int = MAILBOX_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a mailbox holds at least 1 message, got a limit of {limit}")
        self.limit = limit
        self.in_flight = 0
        self.queue: deque[E] = deque()
        self._lobby: dict[E, None] = {}  # an ordered set: those who give up leave from the middle
        self._posted = 0
        self._lock = threading.Lock()

    @property
    def full(self) -> bool:
        """Whether there is no room for one more."""
        return self.in_flight + len(self.queue) + self._posted >= self.limit

    @property
    def waiting(self) -> int:
        """How many wait for room."""
        return len(self._lobby)

    def wait_for_room(self, entry: E) -> None:
        """Put an entry at the end of the lobby."""
        self._lobby[entry] = None

    def leave(self, entry: E) -> None:
        """Take an entry out of the lobby, if it is there."""
        self._lobby.pop(entry, None)

    def release(self) -> None:
        """Note that a message in flight has ended."""
        self.in_flight -= 1
        self.admit()

    def admit(self) -> None:
        """Let those who wait longest into the queue while there is room."""
        while self._lobby and not self.full:
            first = next(iter(self._lobby))
            del self._lobby[first]
            self.queue.append(first)

    def reserve(self) -> bool:
        """Reserve room for a message of another thread; any thread may call it.

        Returns:
            Whether there was room.
        """
        with self._lock:
            if self.full:
                return False
            self._posted += 1
            return True

    def arrive(self) -> None:
        """Give up a reservation, because the message is here (or never will be); any thread."""
        with self._lock:
            self._posted -= 1

    def drain(self) -> list[E]:
        """Empty queue and lobby and return who was there, first come first."""
        entries = [*self.queue, *self._lobby]
        self.queue.clear()
        self._lobby.clear()
        return entries

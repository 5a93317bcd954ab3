"""Threads of some state of a device, such as an iterator or a reader.

A ``Crew`` starts a thread when there is work and no idle thread, and lets it go after a second without work,
so state that nobody uses has no threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

__all__ = ["Crew"]

# Seconds that a thread waits for more work.
_LINGER = 1.0


class Crew:
    """Threads that do work in the order in which it comes; as many as there is work at a time."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._closed = False

    def submit(self, work: Callable[[], None]) -> None:
        """Have a function called in a thread, which must not raise; nothing is called after ``close``.

        Raises:
            RuntimeError: no thread can be started, and no other has taken the function meanwhile.
        """
        with self._changed:
            if self._closed:
                return
            self._work.append(work)
            if self._idle >= len(self._work):
                self._changed.notify()
                return
        try:
            threading.Thread(target=self._serve, name="actorsession-dataset", daemon=True).start()
        except RuntimeError:
            with self._changed:
                if work in self._work:
                    self._work.remove(work)
                    raise

    def close(self) -> None:
        """Let all threads go once they have done what they are doing."""
        with self._changed:
            self._closed = True
            self._work.clear()
            self._changed.notify_all()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._work or self._closed, _LINGER)
                self._idle -= 1
                if not self._work:
                    return
                work = self._work.popleft()
            work()
            del work

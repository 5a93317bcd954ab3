"""The delivery of a run's values to a caller in another thread.

A synchronous session runs what has to wait on an event loop, while its caller waits in another thread. There
Ctrl-C may end the wait at any moment, even when the values have arrived. Elements that the step has taken
from queues and the like are then put back. ``Session`` makes one delivery per run; the session on the loop
hands it the function that settles the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

__all__ = ["SettleTakes", "ValueDelivery"]


class SettleTakes(Protocol):
    """A function that settles what a step has taken."""

    def __call__(self, *, received: bool) -> None:
        """Leave the taken elements to the caller if the values were received, else put them back."""


class ValueDelivery:
    """The delivery of one run's values to its caller.

    Args:
        run_callback: runs a callback on the thread or loop where the session may be used.
    """

    __slots__ = ("_lock", "_received", "_run_callback", "_settle")

    def __init__(self, run_callback: Callable[[Callable[[], object]], None]) -> None:
        self._run_callback = run_callback
        self._lock = threading.Lock()
        self._settle: SettleTakes | None = None
        self._received: bool | None = None

    def hold(self, settle: SettleTakes) -> None:
        """Keep ``settle`` for ``end``, or call it if ``end`` came first; called on the event loop."""
        with self._lock:
            self._settle = settle
            received = self._received
        if received is not None:
            settle(received=received)

    def end(self, *, received: bool) -> None:
        """Settle the run; called in the caller's thread.

        Raises:
            CancelledError: if the session was closed meanwhile, whose end puts back what was taken.
        """
        with self._lock:
            self._received = received
            settle = self._settle
        if settle is not None:
            self._run_callback(lambda: settle(received=received))

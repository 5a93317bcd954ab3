"""Deliveries: whether the values of a run have reached its caller in another thread.

A synchronous session runs on an event loop what has to wait, and its caller waits in another thread, where
Ctrl-C may end the wait at any moment, also when the values are there. What the step has taken out of queues
and their like is then put back. Made by ``Session`` for a run; the session of the loop holds back what is
to be settled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["SettleTakes", "ValueDelivery"]


class SettleTakes(Protocol):
    """Settles what a step has taken."""

    def __call__(self, *, received: bool) -> None:
        """Leave it to the caller if the values were received, else put it back."""


class ValueDelivery:
    """The way of one run's values to its caller.

    Args:
        call_home: calls something where the session may be used.
    """

    __slots__ = ("_call_home", "_lock", "_received", "_settle")

    def __init__(self, call_home: Callable[[Callable[[], Any]], None]) -> None:
        self._call_home = call_home
        self._lock = threading.Lock()
        self._settle: SettleTakes | None = None
        self._received: bool | None = None

    def hold(self, settle: SettleTakes) -> None:
        """Keep what settles the run until ``end`` is called, which may have been; on the event loop."""
        with self._lock:
            self._settle = settle
            received = self._received
        if received is not None:
            settle(received=received)

    def end(self, *, received: bool) -> None:
        """Settle the run; in the caller's thread."""
        with self._lock:
            self._received = received
            settle = self._settle
        if settle is not None:
            self._call_home(lambda: settle(received=received))

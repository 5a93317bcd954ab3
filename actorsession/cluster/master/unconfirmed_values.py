"""Answers whose values were taken out of queues and the like, until the client confirms them.

A master answers such a step like any other, and remembers how to settle it. Either the client confirms that
its caller has the values, and what was taken is gone for good; or it reports that the caller was cancelled
while the answer was on its way, and the workers put back what was taken. A session that ends before the
confirmation assumes the second. Plain bookkeeping; owned by a ``MasterSession``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["SettleTakes", "UnconfirmedValues"]

SettleTakes: TypeAlias = Callable[[bool], None]
"""Settles a step; the argument is whether its values have reached the caller."""

# A client confirms each answer at once. The limit bounds the memory for a client that does not.
_MOST = 10_000


class UnconfirmedValues:
    """The answers of one session that the client has not confirmed.

    Args:
        most: the number of answers that are remembered; beyond it, the oldest counts as confirmed.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._unconfirmed: dict[str, SettleTakes] = {}
        # Requests that were cancelled before they were answered: a step may end while it is being cancelled.
        self._given_up: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._unconfirmed)

    def add(self, request_id: str, settle: SettleTakes) -> None:
        """Register an answer that is about to be sent; one without an id ("") is settled at once."""
        if not request_id:
            settle(True)
            return
        if request_id in self._given_up:
            del self._given_up[request_id]
            settle(False)
            return
        self._unconfirmed[request_id] = settle
        if len(self._unconfirmed) > self._most:
            self._unconfirmed.pop(next(iter(self._unconfirmed)))(True)

    def confirm(self, request_id: str, *, received: bool) -> None:
        """Settle an answer as the client reports; record a cancellation that comes before its answer."""
        settle = self._unconfirmed.pop(request_id, None)
        if settle is not None:
            settle(received)
        elif not received:
            self._given_up[request_id] = None
            if len(self._given_up) > self._most:
                del self._given_up[next(iter(self._given_up))]

    def close(self) -> None:
        """Settle all that are left as not received: no confirmation can come any more."""
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for settle in unconfirmed.values():
            settle(False)

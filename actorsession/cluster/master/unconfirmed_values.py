"""Answers whose values came out of queues and their like, until the client says that it has them.

A master answers such a step like any other, and remembers how to settle it. The client confirms that its
caller has the values, and what was taken is gone for good; or it says that nobody has them, because the
caller gave up while the answer was on its way, and the workers put back what was taken. A session that ends
before the word comes takes it for the second. Plain bookkeeping; owned by a MasterSession.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["SettleTakes", "UnconfirmedValues"]

SettleTakes: TypeAlias = Callable[[bool], None]
"""Settles a step; the argument is whether its values have reached the caller."""

# A client confirms each answer at once. One that does not must not make its master remember for ever.
_MOST = 10_000


class UnconfirmedValues:
    """The answers of one session that the client has not confirmed.

    Args:
        most: how many are remembered; beyond it the oldest counts as confirmed.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._unconfirmed: dict[str, SettleTakes] = {}
        # Requests that were given up before they were answered: a step may end while it is being cancelled.
        self._given_up: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._unconfirmed)

    def add(self, request_id: str, settle: SettleTakes) -> None:
        """Remember an answer that is about to be sent; one without an id ("") is settled at once."""
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
        """Settle an answer as the client says, or one that is unknown when it is about to be sent."""
        settle = self._unconfirmed.pop(request_id, None)
        if settle is not None:
            settle(received)
        elif not received:
            self._given_up[request_id] = None
            if len(self._given_up) > self._most:
                del self._given_up[next(iter(self._given_up))]

    def close(self) -> None:
        """Settle all that are left: nobody will say any more that they were received."""
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for settle in unconfirmed.values():
            settle(False)

"""Requests seen lately, so that one that comes twice does not run twice.

A client that sends a request again, because it did not hear the answer, must not have its step run a
second time. Plain synchronous code; masters and their sessions have one each.
"""

from __future__ import annotations

from collections import deque

from actorsession.errors import AbortedError

__all__ = ["RecentRequests"]

# A repeat comes within seconds of the first try; no client makes more requests of one session in that
# time. A hundred bytes each.
_KEPT = 8192


class RecentRequests:
    """The ids of the latest requests.

    Args:
        kept: how many are remembered.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._order: deque[str] = deque(maxlen=kept)
        self._seen: set[str] = set()

    def check(self, request_id: str) -> None:
        """Notes a request; one without an id ("") is never a repeat.

        Raises:
            AbortedError: if it was seen before.
        """
        if not request_id:
            return
        if request_id in self._seen:
            raise AbortedError(f"request {request_id!r} was seen before and is not run twice")
        if len(self._order) == self._order.maxlen:
            self._seen.discard(self._order[0])  # appending drops it
        self._order.append(request_id)
        self._seen.add(request_id)

"""Recently seen requests, so that a request that is received twice does not run twice.

A client that did not receive the answer sends its request again; that must not run its step a second time.
Plain code except for the futures of requests in progress. Each ``Actor`` has its own, for the handlers that
are declared with ``once``.

A repeat joins the first request while that is in progress. Once the first has ended, its answer is returned
to the repeat if it was kept, which is done for small answers. A repeated step is refused.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import Any

from actorsession.actors.futures import chain
from actorsession.errors import AbortedError

__all__ = ["RecentRequests"]

# A repeat comes within seconds of the first attempt, and no client makes more requests of one session in that
# time. An entry takes about a hundred bytes.
_KEPT = 8192


# Stands for a dictionary until there is a request; nothing is put into it.
_NONE: OrderedDict[str, Any] = OrderedDict()


class RecentRequests:
    """The latest requests.

    Args:
        kept: the number of requests that are remembered.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        # A future while in progress, a kept answer, or None.
        self._answers = _NONE

    def repeat(self, request_id: str) -> Any:
        """Record a request; one without an id ("") is never a repeat.

        Returns:
            ``None`` if it is new. Otherwise the answer to the repeat, or a future of it.

        Raises:
            AbortedError: if it was run and its answer was not kept.
        """
        if not request_id:
            return None
        if request_id in self._answers:
            return self._of_first(request_id)
        if len(self._answers) >= self._kept:
            self._answers.popitem(last=False)
        if not self._answers:
            self._answers = OrderedDict()
        self._answers[request_id] = None
        return None

    def _of_first(self, request_id: str) -> Any:
        first = self._answers[request_id]
        if first is None:
            raise AbortedError(f"request {request_id!r} was run already and is not run twice")
        if not isinstance(first, asyncio.Future):
            return first
        joined: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        chain(first, joined)
        return joined

    def answered(self, request_id: str, answer: Any, *, keep: bool) -> None:
        """Record the answer to a new request.

        Args:
            request_id: the id of the request.
            answer: the answer, or a future of it while the request is in progress.
            keep: whether to return the answer to repeats, too.
        """
        if not isinstance(answer, asyncio.Future):
            self._answers[request_id] = answer if keep else None
            return
        self._answers[request_id] = answer
        answer.add_done_callback(partial(self._ended, request_id, keep))

    def _ended(self, request_id: str, keep: bool, answer: asyncio.Future[Any]) -> None:
        good = not answer.cancelled() and answer.exception() is None
        if request_id in self._answers:  # not forgotten meanwhile
            self._answers[request_id] = answer.result() if good and keep else None

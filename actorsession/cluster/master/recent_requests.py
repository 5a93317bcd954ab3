"""Recently seen requests, so that a request that is received twice does not run twice.

A client that did not receive the answer sends its request again; that must not run its step a second time.
Plain code except for the futures of requests in progress; each master and each of its sessions has its own.

A repeat joins the first request while that is in progress. Once the first has ended, its answer is returned
to the repeat if it was kept, which is done for small answers. A repeated step is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.errors import AbortedError

__all__ = ["Creations", "RecentRequests"]

# A repeat comes within seconds of the first attempt, and no client makes more requests of one session in that
# time. An entry takes about a hundred bytes.
_KEPT = 8192


class RecentRequests:
    """The latest requests.

    Args:
        kept: the number of requests that are remembered.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._order: deque[str] = deque(maxlen=kept)
        self._answers: dict[str, Any] = {}  # a future while in progress, a kept answer, or None

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
        if len(self._order) == self._order.maxlen:
            self._answers.pop(self._order[0], None)  # appending drops it
        self._order.append(request_id)
        self._answers[request_id] = None
        return None

    def _of_first(self, request_id: str) -> Any:
        first = self._answers[request_id]
        if first is None:
            raise AbortedError(f"request {request_id!r} was run already and is not run twice")
        return _joined(first) if isinstance(first, asyncio.Future) else first

    def answered(self, request_id: str, answer: Any, *, keep: bool) -> None:
        """Record the answer to a new request.

        Args:
            request_id: the id of the request.
            answer: the answer, or a future of it while the request is in progress.
            keep: whether to return the answer to repeats, too.
        """
        if not isinstance(answer, asyncio.Future):
            self._store(request_id, answer if keep else None)
            return
        self._store(request_id, answer)

        def ended(answer: asyncio.Future[Any]) -> None:
            good = not answer.cancelled() and answer.exception() is None
            self._store(request_id, answer.result() if good and keep else None)

        answer.add_done_callback(ended)

    def _store(self, request_id: str, answer: Any) -> None:
        if request_id in self._answers:  # not forgotten meanwhile
            self._answers[request_id] = answer


def _joined(first: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Return a future that ends as ``first`` does, and whose cancellation does not cancel ``first``."""
    joined: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def ended(first: asyncio.Future[Any]) -> None:
        if joined.done():
            return
        if first.cancelled():
            joined.cancel()
        elif (error := first.exception()) is not None:
            joined.set_exception(error)
        else:
            joined.set_result(first.result())

    first.add_done_callback(ended)
    return joined


class Creations:
    """Creates what a request asks for exactly once, however often the request is repeated.

    A repeat waits for the first request to end. If that has created nothing, or what it created is gone, the
    repeat creates it anew: a result that was never returned cannot have been used.

    Args:
        exists: whether the object that an answer refers to still exists.
        kept: the number of requests that are remembered.
    """

    def __init__(self, exists: Callable[[Any], bool], kept: int = _KEPT) -> None:
        self._exists = exists
        self._kept = kept
        self._made: dict[str, asyncio.Future[Any]] = {}

    async def once(
        self, request_id: str, create: Callable[[], Awaitable[Any]], deadline: Deadline
    ) -> Any:
        """Return what ``create`` makes for a request, or has made for it before.

        Args:
            request_id: the id of the request; one without an id ("") is never a repeat.
            create: creates the object and returns the answer.
            deadline: limits how long a repeat waits for the first request.

        Raises:
            DeadlineExceededError: if the first request takes longer than the repeat may.
            Exception: what ``create`` raises.
        """
        if not request_id:
            return await create()
        while (first := self._made.get(request_id)) is not None:
            if not first.done():
                await deadline.wait(asyncio.wait([first]), what=f"the first try of {request_id!r}")
            if not first.cancelled() and self._exists(first.result()):
                return first.result()
            if self._made.get(request_id) is first:
                del self._made[request_id]
        return await self._create(request_id, create)

    async def _create(self, request_id: str, create: Callable[[], Awaitable[Any]]) -> Any:
        made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if len(self._made) >= self._kept:
            del self._made[next(iter(self._made))]
        self._made[request_id] = made
        try:
            answer = await create()
        except BaseException:
            made.cancel()
            raise
        made.set_result(answer)
        return answer

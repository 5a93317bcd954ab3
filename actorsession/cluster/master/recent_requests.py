"""Requests seen lately, so that one that comes twice does not run twice.

A client that sends a request again, because it did not hear the answer, must not have its step run a
second time. Plain code, but for the futures of what is under way; masters and their sessions have one each.

A repeat joins the first while that is under way. Once the first has ended, its answer is given again if it
was kept, which is done for small ones; a repeated step is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.errors import AbortedError

__all__ = ["Creations", "RecentRequests"]

# A repeat comes within seconds of the first try; no client makes more requests of one session in that
# time. A hundred bytes each.
_KEPT = 8192


class RecentRequests:
    """The latest requests.

    Args:
        kept: how many are remembered.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._order: deque[str] = deque(maxlen=kept)
        self._answers: dict[str, Any] = {}  # a future while it is under way, a kept answer, or None

    def repeat(self, request_id: str) -> Any:
        """Note a request; one without an id ("") is never a repeat.

        Returns:
            ``None`` if it is new. Else what answers the repeat: the answer, or a future of it.

        Raises:
            AbortedError: if it was run, and its answer was not kept.
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
        """Note how a new request is answered.

        Args:
            request_id: of the request.
            answer: the answer, or a future of it while the request is under way.
            keep: whether the answer is for repeats too.
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
    """A future that ends as another does, and whose cancellation leaves the other alone."""
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
    """Creates what a request asks for once, however often it comes.

    A repeat waits for the first to end. If that has made nothing, or what it made is gone, the repeat makes
    it anew: nobody can have used what nobody was told of.

    Args:
        exists: whether what an answer speaks of is still there.
        kept: how many requests are remembered.
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
            request_id: of the request; one without an id ("") is never a repeat.
            create: makes it, and the answer.
            deadline: how long a repeat waits for the first.

        Raises:
            DeadlineExceededError: if the first takes longer than the repeat may.
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

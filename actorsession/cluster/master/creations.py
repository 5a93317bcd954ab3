"""Objects that requests create, each once however often its request is repeated.

A client that did not receive the answer to a request sends it again. Used by a master for its sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from actorsession.actors.deadline import Deadline

__all__ = ["Creations"]

# Entries that are kept; an entry takes about a hundred bytes.
_KEPT = 8192


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

    async def once(self, request_id: str, create: Callable[[], Awaitable[Any]], deadline: Deadline) -> Any:
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
        created: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if len(self._made) >= self._kept:
            del self._made[next(iter(self._made))]
        self._made[request_id] = created
        try:
            answer = await create()
        except BaseException:
            created.cancel()
            raise
        created.set_result(answer)
        return answer

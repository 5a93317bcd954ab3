"""An event for connections and links, which have several that are hardly ever waited for.

``stream``, ``shm`` and the links of other packages use it. The module imports nothing of the package.

Invariant: as with ``asyncio.Event``, every call that waits when it is set returns, even if it is cleared
before that call goes on.
"""

from __future__ import annotations

import asyncio

__all__ = ["Event"]


class Event:
    """An ``asyncio.Event`` that takes 48 bytes instead of 750 until a call waits."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self) -> None:
        """Make an event that is not set."""
        self._is_set = False
        self._waiters: list[asyncio.Future[None]] | None = None

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it, and let the calls that wait return."""
        if not self._is_set:
            self._is_set = True
            for waiter in self._waiters or ():
                if not waiter.done():
                    waiter.set_result(None)

    def clear(self) -> None:
        """Make later calls of ``wait`` wait again."""
        self._is_set = False

    async def wait(self) -> None:
        """Wait until it is set."""
        if self._is_set:
            return
        waiters = self._waiters
        if waiters is None:
            waiters = self._waiters = []
        waiter = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        finally:
            waiters.remove(waiter)

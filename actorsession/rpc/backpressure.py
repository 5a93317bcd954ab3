"""Backpressure on a link: which asks wait because the peer reads slowly, and when there is a backlog.

``Link`` is the only user of ``Backpressure``; it checks before each ask whether the ask has to wait. The
module imports the table of pending calls and the connection.

Asks with arrays wait while more than the connection's high-water mark is unsent. They wait one after the
other, so that free space for one ask does not release all of them. Asks without arrays overtake them, as
long as there are not too many pending. Nothing else waits: tells come from code that cannot wait. The code
that causes many tells checks for a backlog instead, before it begins.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from actorsession.graph.held_arrays import bytes_held
from actorsession.rpc.pending_calls import PendingCalls
from transports import Connection, ConnectionClosed

__all__ = ["BACKLOG", "Backpressure"]

BACKLOG = 64 * 2**20
"""Unsent bytes above which their producers pause.

Producers are steps that send to the peer, and calls of the peer whose answers would add to the bytes. This
amount keeps a 10 Gbit link busy for 50 ms while the next step computes.
"""

# Bytes ahead of an urgent frame above which even asks without arrays wait: those that the bulk lane may
# have passed on, and as many of other asks.
_AHEAD = 4 * 2**20


class Backpressure:
    """The backpressure of one link.

    Args:
        connection: the connection of the link.
        pending: the unanswered asks, whose number is limited.

    Attributes:
        is_backlogged: returns whether so many bytes are unsent that their producers should pause.
        waiting: how many asks wait.
    """

    __slots__ = ("_connection", "_line", "_pending", "is_backlogged", "waiting")

    def __init__(self, connection: Connection, pending: PendingCalls) -> None:
        self._connection = connection
        self._pending = pending
        self.is_backlogged = partial(connection.unsent_exceeds, BACKLOG)  # each step asks
        self._line: asyncio.Lock | None = None  # made for the first ask that waits
        self.waiting = 0

    @property
    def is_congested(self) -> bool:
        """Whether asks with arrays wait now."""
        return self.waiting > 0 or self._connection.congested

    async def drain(self) -> bool:
        """Wait while there is a backlog; return whether the connection has not ended meanwhile.

        One that has ended may count as backlogged until the link is told of the end.
        """
        while self.is_backlogged():
            try:
                await self._connection.drain(BACKLOG)
            except ConnectionClosed:
                return False  # the link is told of the same error
            await asyncio.sleep(0)
        return True

    def must_wait(self, message: Any) -> bool:
        """Return whether an ask has to wait.

        It waits if too many asks are pending, or if it has arrays and the connection is congested.
        """
        if self._pending.full:
            return True
        if not self.is_congested:
            return False
        return self._connection.ahead > _AHEAD or _brings_arrays(message)

    async def wait(self) -> None:
        """Wait until one more ask may be written; the caller must write it before it awaits anything else.

        Raises:
            ConnectionClosed: the connection has ended.
        """
        self.waiting += 1
        line = self._line
        if line is None:
            line = self._line = asyncio.Lock()
        try:
            async with line:
                while self._connection.congested or self._pending.full:
                    await self._pending.wait_for_space()
                    await self._connection.drain()
        finally:
            self.waiting -= 1


def _brings_arrays(message: Any) -> bool:
    for name in type(message).__slots__:
        value = getattr(message, name)
        values = value.values() if isinstance(value, dict) else value
        if bytes_held(values if isinstance(value, (dict, list)) else (value,)):
            return True
    return False

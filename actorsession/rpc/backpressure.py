"""Room on a link: which asks wait because the peer reads slowly, and when there is a backlog.

Owns ``Backpressure``. ``Link`` is its only caller; it asks before each ask, and has those wait that must. It
imports the bookkeeping of pending calls, and the connection.

Asks that bring arrays wait while more than the connection's high-water mark is unsent, one after the other:
room for one does not let all of them in. Asks without arrays pass them, as long as there are not too many.
Nothing else waits: what is told comes from code that cannot. Who causes it looks for a backlog instead,
before it begins.
"""

from __future__ import annotations

import asyncio
from typing import Any

from actorsession.graph.codec import bytes_held
from actorsession.rpc.pending_calls import PendingCalls
from transports import Connection, ConnectionClosed

__all__ = ["BACKLOG", "Backpressure"]

BACKLOG = 64 * 2**20
"""Bytes that wait to be sent above which those who cause them hold back: steps that send to the peer, and
calls of the peer that make more answers. So much keeps a 10 Gbit link busy for 50 ms while the next step
computes."""

# Bytes ahead of what is urgent above which even asks without arrays wait: those that the bulk lane may have
# handed over, and as much of other asks.
_AHEAD = 4 * 2**20


class Backpressure:
    """The room on one link.

    Args:
        connection: carries it.
        pending: the asks that have no answer yet, of which there may be only so many.

    Attributes:
        waiting: how many asks wait.
    """

    def __init__(self, connection: Connection, pending: PendingCalls) -> None:
        self._connection = connection
        self._pending = pending
        self._line = asyncio.Lock()
        self.waiting = 0

    @property
    def backlogged(self) -> bool:
        """Whether so much waits to be sent that those who cause it should hold back."""
        return self._connection.unsent > BACKLOG

    async def drain(self) -> None:
        """Wait while there is a backlog; returns when the connection is over."""
        while self.backlogged:
            try:
                await self._connection.drain(BACKLOG)
            except ConnectionClosed:
                return  # the receive loop hears of it too
            await asyncio.sleep(0)

    def must_wait(self, message: Any) -> bool:
        """Return whether an ask waits: there is no room at all, or it brings arrays and there is none for
        those."""
        if self._pending.full:
            return True
        if not (self.waiting or self._connection.congested):
            return False
        return self._connection.ahead > _AHEAD or _brings_arrays(message)

    async def wait(self) -> None:
        """Wait until one more ask may be written, which the caller does before it awaits anything else.

        Raises:
            ConnectionClosed: the connection is over.
        """
        self.waiting += 1
        try:
            async with self._line:
                while self._connection.congested or self._pending.full:
                    await self._pending.wait_for_room()
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

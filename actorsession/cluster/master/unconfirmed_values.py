"""Answers whose values were taken out of queues and the like, until the client confirms them.

A master answers such a step like any other, and remembers how to settle it. Either the client confirms that
its caller has the values, and what was taken is gone for good; or it reports that the caller was cancelled
while the answer was on its way, and the workers put back what was taken. A session whose client has closed it
assumes the second before the confirmation: the client gives its caller no values that arrive after that. One
that the master ends waits for the client's word first. Plain bookkeeping; owned by a ``SessionSteps``.
"""

from __future__ import annotations

import asyncio
import itertools
from functools import partial

from actorsession.rpc.step_calls import Settle

__all__ = ["UnconfirmedValues"]


class UnconfirmedValues:
    """The answers of one session that the client has not confirmed; links bound their number."""

    def __init__(self) -> None:
        self._unconfirmed: dict[int, Settle] = {}
        self._numbers = itertools.count()
        self._settled: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._unconfirmed)

    def add(self, settle: Settle) -> Settle:
        """Register an answer that is about to be sent; return a function that settles it, once."""
        number = next(self._numbers)
        self._unconfirmed[number] = settle
        return partial(self._settle, number)

    def _settle(self, number: int, received: bool) -> None:
        settle = self._unconfirmed.pop(number, None)
        if settle is not None:
            settle(received)
        if self._settled is not None and not (self._unconfirmed or self._settled.done()):
            self._settled.set_result(None)

    async def wait_settled(self, seconds: float) -> None:
        """Wait until the client has said of each answer what became of it, or its link has ended."""
        if self._unconfirmed:
            self._settled = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._settled], timeout=seconds)

    def close(self) -> None:
        """Settle all that are left as not received: no confirmation can come any more."""
        for number in list(self._unconfirmed):
            self._settle(number, False)

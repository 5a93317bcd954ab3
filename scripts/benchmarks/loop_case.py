"""Rows whose steps are awaited, on an event loop that runs constantly in a thread of its own.

Links must send heartbeats while the driver works with the other sides. Steps are timed inside the loop, so no
step includes a switch of threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from actorsession.actors.loops import new_event_loop

from .case import Effort, clock, collector_off, how_many

__all__ = ["AsyncCase", "Loop"]

T = TypeVar("T")


class Loop:
    """An event loop in its own thread, started on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it."""
        if self._loop is None:
            self._loop = new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="benchmark loop")
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Stop the loop and its thread."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None


@dataclass
class AsyncCase:
    """A row whose steps are awaited.

    Attributes:
        loop: the event loop on which they run.
        step: runs one step.
        answers: returns the answer; it runs outside the loop.
        closes: releases the row's resources, outside the loop.
        per: the number of the row's steps that one ``step`` makes.
    """

    loop: Loop
    step: Callable[[], Awaitable[Any]]
    answers: Callable[[], Sequence[Any]]
    closes: Callable[[], object]
    per: int = 1

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        return self.answers()

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        return self.loop.run(self._times(effort))

    def close(self) -> None:
        """Release the row's resources."""
        self.closes()

    async def _times(self, effort: Effort) -> list[float]:
        warm = [await self._one() for _ in range(effort.least)]
        warm += [await self._one() for _ in range(how_many(warm, effort) // 10)]
        count = how_many(warm, effort)
        with collector_off():
            return [await self._one() for _ in range(count)]

    async def _one(self) -> float:
        began = clock()
        await self.step()
        return (clock() - began) / self.per

"""The threads of an iterator, and the context in which its functions run.

A ``Crew`` starts a thread when there is work and no idle thread, and lets it go after a second without work,
so an iterator that nobody reads has no threads. A ``Run`` is the time from one initialisation of an iterator
to the next: once it is closed, whatever waits within it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from actorsession.errors import CancelledError
from actorsession.graph.registry import ResourceHost
from actorsession.graph.take import Take
from actorsession.plan.codegen.segment_context import ControlFlowContext, PendingValues

__all__ = ["Crew", "Run"]

# Seconds that a thread waits for more work, and between two looks at whether a run is closed.
_LINGER = 1.0
_SLICE = 0.1
_FIRST_LOOK = 0.001


class Crew:
    """Threads that do work in the order in which it comes; as many as there is work at a time."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._closed = False

    def submit(self, work: Callable[[], None]) -> None:
        """Have a function called in a thread, which must not raise; nothing is called after ``close``."""
        with self._changed:
            if self._closed:
                return
            self._work.append(work)
            if self._idle >= len(self._work):
                self._changed.notify()
                return
        threading.Thread(target=self._serve, name="actorsession-dataset", daemon=True).start()

    def close(self) -> None:
        """Let all threads go once they have done what they are doing."""
        with self._changed:
            self._closed = True
            self._work.clear()
            self._changed.notify_all()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._work or self._closed, _LINGER)
                self._idle -= 1
                if not self._work:
                    return
                work = self._work.popleft()
            work()
            del work


class Run(ControlFlowContext):
    """What the stages of a pipeline share while an iterator runs through it.

    Args:
        host: the resources of the iterator's device.

    Attributes:
        crew: the threads.
        epochs: how often each stage that shuffles has begun, by the identity of the stage.
        caches: the elements of each stage that keeps them, by its identity.
    """

    __slots__ = ("__weakref__", "_closed", "caches", "crew", "epochs", "host")

    def __init__(self, host: ResourceHost) -> None:
        self.host = host
        self.crew = Crew()
        self.epochs: dict[int, int] = {}
        self.caches: dict[int, list[Any]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the run is over."""
        return self._closed

    def close(self) -> None:
        """End the run and whatever waits within it."""
        self._closed = True
        self.crew.close()

    def check(self) -> None:
        """Raise if the run is over.

        Raises:
            CancelledError: if it is.
        """
        if self._closed:
            raise CancelledError("the iterator was initialised again, or its session has ended")

    def wait(self, changed: threading.Condition) -> None:
        """Wait for a condition, whose lock is held, or for some time."""
        changed.wait(_SLICE)
        self.check()

    def wait_for(self, pending: PendingValues) -> Any:
        """See ``SegmentContext.wait_for``; the thread waits."""
        if not isinstance(pending, Future):
            return asyncio.run(self._checked(pending))
        pause = _FIRST_LOOK
        try:
            while not pending.done():
                with contextlib.suppress(TimeoutError):
                    pending.exception(pause)
                self.check()
                pause = min(2 * pause, _SLICE)
            return pending.result()
        except BaseException:
            if isinstance(pending, Take):
                pending.abandon()
            else:
                pending.cancel()
            raise

    async def _checked(self, pending: Coroutine[Any, Any, Any]) -> Any:
        """Await a coroutine, and cancel it when the run is over."""
        found: list[Any] = []

        async def complete() -> None:
            found.append(await pending)
            watch.cancel()

        async def look() -> None:
            while True:
                await asyncio.sleep(_SLICE)
                self.check()

        try:
            async with asyncio.TaskGroup() as tasks:
                watch = tasks.create_task(look())
                tasks.create_task(complete())
        except* Exception as group:
            raise group.exceptions[0] from None
        return found[0]

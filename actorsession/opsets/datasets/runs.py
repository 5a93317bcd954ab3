"""The runs of iterators: the context in which the functions of a dataset run.

A ``Run`` is the time from one initialisation of an iterator to the next. Once it is closed, whatever waits
within it ends, and its threads go.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from actorsession.errors import CancelledError
from actorsession.graph.completion import Completion
from actorsession.graph.registry import ResourceHost
from actorsession.opsets.crew import Crew
from actorsession.plan.codegen.segment_context import ControlFlowContext, PendingValues

__all__ = ["Run"]

# Seconds between two looks at whether a run is closed.
_SLICE = 0.1


class Run(ControlFlowContext):
    """What the stages of a pipeline share while an iterator runs through it.

    Args:
        host: the resources of the iterator's device.
        device: the full name of the device.

    Attributes:
        crew: the threads.
        epochs: how often each stage that shuffles has begun, while it exists.
        caches: the elements of each stage that keeps them, while it exists.
    """

    __slots__ = ("__weakref__", "_closed", "caches", "crew", "device", "epochs", "host")

    def __init__(self, host: ResourceHost, device: str) -> None:
        self.host = host
        self.device = device
        self.crew = Crew()
        self.epochs: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self.caches: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
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
        if isinstance(pending, Coroutine):
            return asyncio.run(self._checked(pending))
        return (pending if isinstance(pending, Completion) else Completion.of(pending)).wait(self.check)

    async def _checked(self, pending: Coroutine[Any, Any, Any]) -> Any:
        """Await a coroutine, and cancel it when the run is over."""
        results: list[Any] = []

        async def complete() -> None:
            results.append(await pending)
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
        return results[0]

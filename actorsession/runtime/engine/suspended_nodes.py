"""The suspended nodes of a step, which continues without them until their values arrive.

The kernel of such a node returns a future or a coroutine at once. ``SuspendedNodes`` waits for it and
delivers the values, or the exception, in the thread of the step. Owned by one ``Step``, which cancels the
rest when it fails. Everything belongs to the step's thread, except ``_hear``, which any thread may call.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.errors import CancelledError
from actorsession.graph.take import Take
from actorsession.runtime.interruptible import Begun, drop

if TYPE_CHECKING:
    from actorsession.plan.codegen.segment import Suspension
    from actorsession.runtime.engine.partition_run import PartitionRun

__all__ = ["Suspended", "SuspendedNodes"]


class Suspended(NamedTuple):
    """A suspended node.

    Attributes:
        run: the partition of the node.
        number: number of the node among those of its partition that suspend; for a node that runs several
            times, plus a multiple of their count.
        since: when it was begun, by the monotonic clock.
    """

    run: PartitionRun
    number: int
    since: float

    @property
    def suspension(self) -> Suspension:
        """The compiled description of the node."""
        suspensions = self.run.linked.compiled.suspensions
        return suspensions[self.number % len(suspensions)]


class SuspendedNodes:
    """The nodes of one step that were begun and have no values yet.

    Args:
        loop: the event loop of the step; needed unless values are available when a node is added.
    """

    __slots__ = ("_loop", "_nodes")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._nodes: dict[Future[Any], Suspended] = {}

    def now(self) -> tuple[Suspended, ...]:
        """Return the nodes that are suspended now; callable from any thread."""
        return tuple(self._nodes.values())

    def add(self, run: PartitionRun, number: int, begun: Begun) -> None:
        """Wait for the values of a node; arguments as for ``Step.suspend``."""
        if isinstance(begun, Future):
            future = begun
        else:
            assert self._loop is not None
            future = asyncio.run_coroutine_threadsafe(begun, self._loop)
        if future.done():
            self._take(run, number, future)
        else:
            self._nodes[future] = Suspended(run, number, time.monotonic())
            future.add_done_callback(self._hear)

    def cancel(self) -> None:
        """Cancel all of them; a node that has taken something in the meantime puts it back."""
        nodes, self._nodes = self._nodes, {}
        for future in nodes:
            drop(future)

    def _hear(self, future: Future[Any]) -> None:
        """Schedule ``_resume`` in the thread of the step; called in any thread."""
        assert self._loop is not None
        # The loop may be closed; then the result has no waiter.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._resume, future)

    def _resume(self, future: Future[Any]) -> None:
        found = self._nodes.pop(future, None)
        if found is not None:
            self._take(found.run, found.number, future)
            found.run.step.drain()

    def _take(self, run: PartitionRun, number: int, future: Future[Any]) -> None:
        error = (
            CancelledError("the node's wait was cancelled")
            if future.cancelled()
            else future.exception()
        )
        if error is not None:
            run.step.fail(run.located(number, error))
        else:
            if isinstance(future, Take):
                run.took(number, future)
            run.delivered(number, future.result())

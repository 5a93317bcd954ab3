"""The nodes that a step goes on without, until their values are there.

The kernel of such a node returns a future or a coroutine at once. ``SuspendedNodes`` waits for it and comes
back to the thread of the step with the values, or with what was raised. Owned by one ``Step``, which cancels
what is left when it fails; all of it belongs to the step's thread but ``_hear``, which any thread calls.
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
    """A node that a step goes on without.

    Attributes:
        run: its partition.
        number: the node's, among those of it that suspend; for a node that runs again and again, with a
            multiple of how many these are.
        since: when it was begun, by the monotonic clock.
    """

    run: PartitionRun
    number: int
    since: float

    @property
    def suspension(self) -> Suspension:
        """The node, as its partition knows it."""
        suspensions = self.run.linked.compiled.suspensions
        return suspensions[self.number % len(suspensions)]


class SuspendedNodes:
    """The nodes of one step that were begun and have no values yet.

    Args:
        loop: the event loop of the step; needed unless values are there when a node is added.
    """

    __slots__ = ("_loop", "_nodes")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._nodes: dict[Future[Any], Suspended] = {}

    def now(self) -> tuple[Suspended, ...]:
        """Return those of this moment; callable from any thread."""
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
        """Let go of all of them; one that was served meanwhile, and took something, puts it back."""
        nodes, self._nodes = self._nodes, {}
        for future in nodes:
            drop(future)

    def _hear(self, future: Future[Any]) -> None:
        """Come back to the thread of the step; called in any."""
        assert self._loop is not None
        # The loop may be closed already; then nobody waits for the result any more.
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

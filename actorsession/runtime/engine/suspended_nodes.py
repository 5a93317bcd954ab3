"""The suspended nodes of an engine, which continues without them until their values arrive.

The kernel of such a node returns a future or a coroutine at once. ``SuspendedNodes`` waits for it and
delivers the values, or the exception, in the thread of the step. The engine cancels the rest when the
step fails. Everything belongs to the step's thread, except ``now`` and ``_notify``, which any thread may
call.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.errors import CancelledError
from actorsession.graph.collective_call import CollectiveCall
from actorsession.graph.take import AvailableTake, Take
from actorsession.plan.codegen.segment_context import PendingValues
from actorsession.runtime.interruptible import cancel_pending

if TYPE_CHECKING:
    from actorsession.plan.codegen.segment import Suspension
    from actorsession.runtime.engine.engine import Engine

__all__ = ["Suspended", "SuspendedNodes", "deliver"]


class Suspended(NamedTuple):
    """A suspended node.

    Attributes:
        engine: the engine of its partition.
        number: number of the node among those of its partition that suspend; for a node that runs several
            times, plus a multiple of their count.
        since: when it was suspended, by the monotonic clock.
    """

    engine: Engine
    number: int
    since: float

    @property
    def suspension(self) -> Suspension:
        """The compiled description of the node."""
        suspensions = self.engine.bound.compiled.suspensions
        return suspensions[self.number % len(suspensions)]


class SuspendedNodes:
    """The nodes of one engine that are suspended and have no values yet.

    A future of the standard library keeps its callbacks after it is done, and the step keeps the futures of
    what it has taken. The callback therefore leads to the engine by way of ``_nodes`` only, or all of them
    would keep the step's values alive until a garbage collection.
    """

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[Future[Any], Suspended] = {}

    def now(self) -> tuple[Suspended, ...]:
        """Return the nodes that are suspended now; callable from any thread."""
        return tuple(self._nodes.values())

    def add(self, engine: Engine, number: int, pending: PendingValues) -> None:
        """Wait for the values of a node.

        Args:
            engine: the engine. Its step needs an event loop unless the values are available now.
            number: the number of the node; see ``Suspended``.
            pending: the result of its kernel; cancelled if the step has failed.
        """
        if engine.step.error is not None:
            cancel_pending(pending)
            return
        if isinstance(pending, CollectiveCall):
            engine.step.begin_collective(pending, engine.executor.device.attributes)
        if isinstance(pending, Future):
            future = pending
        else:
            loop = engine.step.loop
            assert loop is not None
            future = asyncio.run_coroutine_threadsafe(pending, loop)
        if future.done():
            deliver(engine, number, future)
        else:
            self._nodes[future] = Suspended(engine, number, time.monotonic())
            future.add_done_callback(self._notify)

    def cancel(self) -> None:
        """Cancel all of them; a node that has taken something in the meantime puts it back."""
        nodes, self._nodes = self._nodes, {}
        for future in nodes:
            cancel_pending(future)

    def _notify(self, future: Future[Any]) -> None:
        """Schedule ``_resume`` in the thread of the step; called in any thread."""
        node = self._nodes.get(future)
        if node is None:  # the step has cancelled it
            return
        loop, context = node.engine.step.loop, node.engine.step.context
        assert loop is not None
        inside = None if context is None else context.copy()
        if asyncio._get_running_loop() is loop:  # as in a collective: the loop need not be woken
            loop.call_soon(self._resume, future, context=inside)
            return
        # The loop may be closed; then the result has no waiter.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._resume, future, context=inside)

    def _resume(self, future: Future[Any]) -> None:
        node = self._nodes.pop(future, None)
        if node is not None:
            step = node.engine.step
            try:
                deliver(node.engine, node.number, future)
                step.drain()
            except Exception as exc:  # nobody else would end the step
                step.broke(exc)
                step.drain()


def deliver(engine: Engine, number: int, future: Future[Any]) -> None:
    """Give an engine the values of a node whose future is done, or fail its step with the error."""
    error: BaseException | None = None
    if type(future) is not AvailableTake:
        error = CancelledError("the node's wait was cancelled") if future.cancelled() else future.exception()
    if error is None:
        take = future if isinstance(future, Take) else None
        try:
            engine.delivered(number, future.result(), take)
        except Exception as exc:  # such as for another number of values than the node has outputs
            error = exc
    if error is not None:
        engine.step.fail(engine.located(number, error))

"""The suspended nodes of an engine, which continues without them until their values arrive.

The kernel of such a node returns a completion, a future or a coroutine at once. ``SuspendedNodes`` listens to it and
delivers the values, or the exception, in the thread of the step. The engine abandons the rest when the
step fails. Everything belongs to the step's thread, except ``_notify``, which any thread may call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from actorsession.graph.collective_call import CollectiveCall
from actorsession.graph.completion import Completion
from actorsession.plan.codegen.segment_context import PendingValues
from actorsession.runtime.interruptible import cancel_pending
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.segment import Suspension
    from actorsession.runtime.engine.engine import Engine

__all__ = ["Suspended", "SuspendedNodes"]

_log = logging.getLogger("actorsession.runtime")
_new = tuple.__new__


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


class SuspendedNodes(dict[Completion, Suspended]):
    """The nodes of one engine that are suspended and have no values yet, by their completions."""

    __slots__ = ()

    def add(self, engine: Engine, number: int, pending: PendingValues) -> None:
        """Wait for the values of a node.

        Args:
            engine: the engine. Its step needs an event loop unless the values are available now.
            number: the number of the node; see ``Suspended``.
            pending: the result of its kernel; cancelled if the step has failed.
        """
        step = engine.step
        if step.error is not None:
            cancel_pending(pending)
            return
        if isinstance(pending, CollectiveCall):
            step.begin_collective(pending, engine.executor.device.attributes)
        if isinstance(pending, Completion):
            completion = pending
        else:
            if not isinstance(pending, Future):
                assert step.loop is not None
                pending = asyncio.run_coroutine_threadsafe(pending, step.loop)
            completion = Completion.of(pending)
        if completion.done:
            engine.delivered(number, completion)
        else:
            self[completion] = _new(Suspended, (engine, number, current_host().clock.monotonic()))  # without a call
            completion.listen(self._notify)

    def abandon(self) -> None:
        """Abandon all of them; a node that has taken something in the meantime puts it back."""
        while self:
            completion, _ = self.popitem()
            try:
                completion.abandon()
            except Exception:  # of what forgets it, such as an extension: the others are to be abandoned, too
                _log.exception("what a step waited for cannot be abandoned")

    def _notify(self, completion: Completion) -> None:
        """Schedule ``_resume`` in the thread of the step; called in any thread."""
        node = self.get(completion)
        if node is None:  # the step has abandoned it
            return
        step = node.engine.step
        loop, context = step.loop, step.context
        assert loop is not None
        inside = None if context is None else context.copy()
        if asyncio._get_running_loop() is loop:  # as in a collective: the loop need not be woken
            loop.call_soon(self._resume, completion, context=inside)
            return
        # The loop may be closed; then the result has no waiter.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._resume, completion, context=inside)

    def _resume(self, completion: Completion) -> None:
        node = self.pop(completion, None)
        if node is not None:
            engine = node.engine
            try:
                engine.delivered(node.number, completion)
            except Exception as exc:  # nobody else would end the step
                engine.step.broke(exc)
            engine.step.drain()

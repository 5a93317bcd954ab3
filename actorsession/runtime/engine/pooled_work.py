"""What a step has in the kernel pool.

Everything belongs to the thread of the step, except what an ``OffloadedWork`` does in the pool.
"""

from __future__ import annotations

import contextlib
from typing import cast

from actorsession.errors import CancelledError, OpError, exhausted, from_exception
from actorsession.runtime.engine.engine import OffloadedWork
from actorsession.runtime.float_errors import FLOAT_ERRORS, IGNORED
from transports.host import current_host

__all__ = ["NO_WORK", "PooledWork", "TimedWork"]


class PooledWork(dict[OffloadedWork, None]):
    """The segments and nodes of one step that run in the kernel pool or wait for one of its threads.

    Attributes:
        seconds: how long there was any, where that is measured; see ``TimedWork``.
    """

    __slots__ = ()
    seconds: float = 0.0

    def add(self, work: OffloadedWork) -> None:
        """Add work."""
        self[work] = None

    def discard(self, work: OffloadedWork) -> None:
        """Remove work, if it is there."""
        self.pop(work, None)

    def submit(self, work: OffloadedWork, *, blocks: bool, first: object = None) -> None:
        """Run something in the kernel pool; see ``Step.offload``."""
        step = work.engine.step
        assert step.pool is not None
        self.add(work)
        try:
            # A context is entered once at a time, and threads may call several functions of a step.
            inside = [step.context.copy().run] if blocks and step.context is not None else []
            step.pool.submit(*inside, self._execute, work, blocks=blocks, first=first)
        except Exception as exc:
            self.discard(work)
            error = from_exception(exc)
            if isinstance(exc, RuntimeError) and not exhausted(exc):
                error = CancelledError(f"the step was cancelled: {exc}")
                error.__cause__ = exc
            step.fail(error)

    def _execute(self, work: OffloadedWork) -> None:
        """Execute work in a pool thread and return its results to the loop."""
        before = FLOAT_ERRORS.set(IGNORED)
        try:
            error = work.execute()
        except BaseException as exc:  # such as SystemExit: it would end in the thread, unseen
            error = from_exception(exc)
        finally:
            FLOAT_ERRORS.reset(before)
        loop = work.engine.step.loop
        assert loop is not None
        # The loop may be closed while a kernel runs; then the result has no waiter.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._returned, work, error)

    def _returned(self, work: OffloadedWork, error: OpError | None) -> None:
        step = work.engine.step
        self.discard(work)
        try:
            if error is None and step.error is None:
                work.complete()
            else:
                work.discard()
                if error is not None:
                    step.fail(error)
        except Exception as exc:
            step.broke(exc)
        if step.error is not None:
            step.settle_failed()
        step.drain()


class TimedWork(PooledWork):
    """The work of a step that is kept in a ``StepLog``, which measures how long there is any."""

    # Not slots: these are the first values, without an __init__ that each step would call.
    _since: float = 0.0

    def add(self, work: OffloadedWork) -> None:
        """Add work; the first begins a time."""
        if not self:
            self._since = current_host().clock.monotonic()
        super().add(work)

    def discard(self, work: OffloadedWork) -> None:
        """Remove work; the last ends the time."""
        super().discard(work)
        if not self:
            self.seconds += current_host().clock.monotonic() - self._since


NO_WORK = cast("PooledWork", frozenset())
"""Stands for the work of a step that has offloaded none, as most steps."""

"""Partial runs that the threads of their callers drive, without an event loop.

A synchronous session has no loop in its callers' threads, and a transfer to another thread would cost more
than the step. So each run has a lock: one thread at a time is in it and owns it. Other threads can
abort the run nevertheless. While runs are open, a thread of the session collects those that are idle.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    OpError,
    from_exception,
)
from actorsession.runtime.interruptible import acquire
from actorsession.runtime.partial.local_runs import LocalRun
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.partial.run_state import Call, Phase
from transports.host import current_host

__all__ = ["ThreadPartialRunMgr", "ThreadRun"]

# Most seconds between two checks for idle runs. The checking thread also ends within this time once no run is
# open, so it is not started and ended for each run.
_INTERVAL = 1.0


class ThreadRun(LocalRun):
    """A partial run that belongs to the thread that has entered it; the step has no kernel pool.

    ``abort`` and ``abort_if_idle`` may be called from any thread, ``start`` only by the one that has entered.
    The arguments are those of ``LocalRun``.
    """

    __slots__ = ("_abort_error", "_lock", "_owner")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._lock = threading.Lock()
        self._owner: int | None = None  # the thread that has entered
        # The error with which the next thread that can enter must abort the run.
        self._abort_error: OpError | None = None

    def call(
        self,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        now: float,
        deadline: Deadline = NEVER,
    ) -> Call:
        """Enter the run, send feeds and request fetches, and leave; see ``RunState.call``.

        An interruption (Ctrl-C) aborts the run.

        Returns:
            The call, which is done.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
            FailedPreconditionError: if the calling thread is in the run, through a function of its step.
            DeadlineExceededError: if the calls of other threads took too long.
        """
        if not self.enter_nowait():
            # Functions in steps of other threads may wait for this thread, so even this wait has a limit.
            self.enter(Deadline.after(DEFAULT_STEP_TIMEOUT) if deadline.at is None else deadline)
        try:
            call = super().call(feeds, values, fetches, now, deadline)
            if not call.done:
                keys = self.step.rendezvous.waiting_keys()
                self._abort(InternalError(f"{self!r} waits for {keys} with nobody to send it"))
            return call
        except OpError:
            raise
        except BaseException as exc:
            self.abort(CancelledError(f"the call was interrupted: {exc!r}"))
            raise
        finally:
            self.leave()

    def enter_nowait(self) -> bool:
        """Enter the run if no thread is in it; return whether that was possible."""
        if not self._lock.acquire(blocking=False):
            return False
        self._owner = threading.get_ident()
        return True

    def enter(self, deadline: Deadline = NEVER) -> None:
        """Wait until no other thread is in the run, and enter it.

        Raises:
            FailedPreconditionError: if the calling thread is in it, through a function of its step.
            DeadlineExceededError: if the other threads took too long.
        """
        here = threading.get_ident()
        if self._owner == here:
            raise FailedPreconditionError(
                f"a function inside partial run {self.handle!r} continues that very run, whose "
                "thread it holds: continue another run in it, or use AsyncSession, where functions have "
                "threads of their own"
            )
        left = deadline.time_left
        if not acquire(self._lock, left):
            raise DeadlineExceededError(f"waited {left:.3g} s for another thread's call of partial run {self.handle!r}")
        self._owner = here

    def leave(self) -> None:
        """Leave the run, so that the next thread may enter."""
        self._owner = None
        self._lock.release()
        if self._abort_error is not None:
            self._abort_as_requested()

    def abort(self, error: OpError) -> None:
        """Abort the run, from any thread; a thread in it ends it between two nodes."""
        self._abort_error = error
        self.step.cancel(error)
        self._abort_as_requested()

    def abort_if_idle(self, now: float, limit: float) -> None:
        """Abort the run, from any thread, if it is idle and no other thread is in it."""
        if self.enter_nowait():
            try:
                super().abort_if_idle(now, limit)
            finally:
                self.leave()

    def _abort_as_requested(self) -> None:
        # One thread leaves and then checks here; the other one sets the error and then tries to enter.
        # Whichever comes second finds what the first one did.
        while self._abort_error is not None and self.phase is not Phase.OVER and self._lock.acquire(blocking=False):
            try:
                self._abort(self._abort_error)
            finally:
                self._lock.release()


class ThreadPartialRunMgr(PartialRunMgr[ThreadRun]):
    """The open partial runs of one session that threads drive; callable from any thread."""

    def __init__(self, idle_limit: float) -> None:
        super().__init__(idle_limit)
        self._collector: IdleCollector | None = None
        self._lock = threading.Lock()

    def begin(self, run: ThreadRun) -> None:
        """Register a run and start its partitions; make sure that a thread collects it if it is idle."""
        self._runs[run.handle] = run
        run.start()
        if self._collector is None:
            collector = IdleCollector(self, min(self._idle_limit, _INTERVAL))
            if self._install(collector):
                try:
                    collector.start()
                except RuntimeError as exc:
                    self._collector = None
                    raise from_exception(exc) from exc

    def _install(self, collector: IdleCollector) -> bool:
        with self._lock:
            if self._collector is None:
                self._collector = collector
            return self._collector is collector

    def keeps(self, collector: IdleCollector) -> bool:
        """Return whether a collector is still needed; it asks after each check."""
        # First uninstalled, then checked: a run that begins in between finds none and starts one.
        self._collector = None
        return bool(self._runs) and self._install(collector)

    def stop_collector(self) -> None:
        """End the thread that collects idle runs; the next run starts another one."""
        with self._lock:
            collector, self._collector = self._collector, None
        if collector is not None:
            collector.end()


class IdleCollector:
    """A thread that collects the idle runs of a session while any are open.

    It does not keep the session alive.

    Args:
        runs: the runs.
        seconds: the time between two checks.
    """

    def __init__(self, runs: ThreadPartialRunMgr, seconds: float) -> None:
        self._runs = weakref.ref(runs)
        self._seconds = seconds
        self._is_over = False
        self._end: Callable[[], None] | None = None

    def start(self) -> None:
        """Start the thread."""
        self._end = current_host().processes.every(self._seconds, self._collect, "actorsession-partial-runs")

    def _collect(self) -> bool:
        """Collect idle runs; return whether to go on."""
        runs = self._runs()
        if runs is None or self._is_over:
            return False
        runs.collect()
        return runs.keeps(self)

    def end(self) -> None:
        """End the thread."""
        self._is_over = True
        if self._end is not None:
            self._end()

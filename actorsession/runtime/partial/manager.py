"""The partial runs of one session: their handles, idle limit and waits.

``PartialRunMgr`` is the same for every kind of session. A master session is an actor and owns one; in a
direct session the actor ``local_runs.PartialRunActor`` owns one for the runs on the event loop. Runs that the
threads of their callers drive are held by the variant in ``thread_runs``.

Invariants: Every open run is ended by its client, by an error, by the end of its session, or by the idle
limit if it is not continued. The timer of the idle limit exists only while runs are open.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.errors import OpError
from actorsession.runtime.partial.run_state import Call, RunState, no_such_run
from actorsession.runtime.wait_graph import PartialWaits
from transports.host import current_host

__all__ = ["PartialRunMgr"]

R = TypeVar("R", bound=RunState[Any])


def _run_numbers() -> Iterator[int]:
    return itertools.count()


class PartialRunMgr(Generic[R]):
    """The open partial runs of one session on an event loop.

    Args:
        idle_limit: seconds after which a run that is not continued is aborted.
        session: handle of the session, for reports.

    Attributes:
        clock: measures how long a run has been idle.
        numbers: those with which handles end, so that each is new in this process.
    """

    def __init__(self, idle_limit: float, session: str = "") -> None:
        self.clock = current_host().clock
        self.numbers = current_host().own(_run_numbers)
        self._idle_limit = idle_limit
        self._session = session
        self._runs: dict[str, R] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of open runs."""
        return len(self._runs)

    def __contains__(self, handle: str) -> bool:
        """Return whether a run is open; callable from any thread."""
        return handle in self._runs

    def begin(self, run: R) -> None:
        """Register a run and start its partitions; the run calls ``delete`` when it is over."""
        self._runs[run.handle] = run
        run.start()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._idle_limit, self._on_timer)

    def call(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        deadline: Deadline = NEVER,
    ) -> tuple[R, Call]:
        """Continue a run with feeds and fetches; see ``RunState.call``.

        Returns:
            The run, and the call, which may not be done yet.

        Raises:
            InvalidArgumentError: for an unknown handle or an invalid call, which has changed nothing.
        """
        run = self._runs.get(handle)
        if run is None:
            raise no_such_run(handle)
        return run, run.call(feeds, values, fetches, self.clock.monotonic(), deadline)

    def abort(self, handle: str, error: OpError) -> R | None:
        """Abort a run if it is open, and return it."""
        run = self._runs.get(handle)
        if run is not None:
            run.abort(error)
        return run

    def abort_all(self, error: OpError) -> None:
        """Abort every run."""
        for run in list(self._runs.values()):
            run.abort(error)

    def delete(self, run: R) -> None:
        """Forget a run that is over."""
        self._runs.pop(run.handle, None)
        if self._timer is not None and not self._runs:
            self._timer.cancel()
            self._timer = None

    def open_runs(self) -> list[R]:
        """Return the open runs, oldest first; callable from any thread."""
        return list(self._runs.values())

    def waits(self, most: int) -> list[PartialWaits]:
        """Return the open runs, oldest first, at most ``most``; callable from any thread."""
        now = self.clock.monotonic()
        return [
            PartialWaits(
                handle=run.handle,
                step_id=run.step.step_id,
                session=self._session,
                seconds=now - run.last_use,
                feeds=run.pending_inputs[:most],
                fetches=run.pending_outputs[:most],
                calls=run.calls,
                waiting=run.waiting,
                given=run.given,
                requested=run.requested,
            )
            for run in islice(list(self._runs.values()), most)
        ]

    # -- the idle limit ------------------------------------------------------------------------

    def collect(self) -> None:
        """Abort the runs that have not been continued for the idle limit."""
        now = self.clock.monotonic()
        for run in list(self._runs.values()):
            run.abort_if_idle(now, self._idle_limit)

    def stop_timer(self) -> None:
        """Stop the timer of the idle limit; the next run starts it again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        self.collect()
        if self._runs:
            # A copy, because a finaliser may end a run in the middle of this line.
            oldest = min(run.last_use for run in list(self._runs.values()))
            seconds = max(oldest + self._idle_limit - self.clock.monotonic(), 0.001)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

"""The partial runs of one session: their handles, idle limit and waits, and the actor that holds them.

``PartialRunMgr`` is the same for every kind of session. A master session is an actor and owns one; in a
direct session the actor ``PartialRunActor`` owns one for the runs on the event loop. Runs that the threads of
their callers drive are held by the variant in ``thread_runs``.

Invariants: Every open run is ended by its client, by an error, by the end of its session, or by the idle
limit if it is not continued. The timer of the idle limit exists only while runs are open.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from actorsession.actors.actor import Actor, handles
from actorsession.actors.clock import SYSTEM_CLOCK, Clock
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.supervision import STOP_GRACE
from actorsession.errors import CancelledError, DeadlineExceededError, OpError
from actorsession.plan.partial import PartialParts
from actorsession.records import dataclass
from actorsession.runtime.partial.driver import PartialRunDriver
from actorsession.runtime.partial.local_step import LocalPartialStep
from actorsession.runtime.partial.run_state import Call, RunState, no_such_run
from actorsession.runtime.wait_graph import PartialWaits

__all__ = ["AbortRuns", "BeginRun", "ContinueRun", "LocalRun", "PartialRunActor", "PartialRunMgr", "wait_for_answer"]

_NUMBERS = itertools.count()

D = TypeVar("D", bound=PartialRunDriver[Any])


class PartialRunMgr(Generic[D]):
    """The open partial runs of one session on an event loop.

    Args:
        idle_limit: seconds after which a run that is not continued is aborted.
        session: handle of the session, for reports.
        clock: measures how long a run has been idle.

    Attributes:
        clock: the argument ``clock``.
    """

    def __init__(self, idle_limit: float, session: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self._idle_limit = idle_limit
        self._session = session
        self._runs: dict[str, D] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of open runs."""
        return len(self._runs)

    def __contains__(self, handle: str) -> bool:
        """Return whether a run is open; callable from any thread."""
        return handle in self._runs

    def new_state(self, label: str, plan: PartialParts) -> RunState:
        """Return the state of a new run; its handle begins with a label and is new in this process."""
        return RunState(f"{label};{next(_NUMBERS)}", plan, self.clock.now())

    def begin(self, run: D) -> None:
        """Register a run and start its partitions; ``delete`` must be its ``on_delete``."""
        self._runs[run.state.handle] = run
        run.begin()
        self._watch()

    def call(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        deadline: Deadline = NEVER,
    ) -> tuple[D, Call]:
        """Continue a run with feeds and fetches; see ``PartialRunDriver.call``.

        Returns:
            The run, and the call, which may not be done yet.

        Raises:
            InvalidArgumentError: for an unknown handle or an invalid call, which has changed nothing.
        """
        run = self._runs.get(handle)
        if run is None:
            raise no_such_run(handle)
        return run, run.call(feeds, values, fetches, self.clock.now(), deadline)

    def abort(self, handle: str, error: OpError) -> D | None:
        """Abort a run if it is open, and return it."""
        run = self._runs.get(handle)
        if run is not None:
            run.abort(error)
        return run

    def abort_all(self, error: OpError) -> None:
        """Abort every run."""
        for run in list(self._runs.values()):
            run.abort(error)

    def delete(self, run: D) -> None:
        """Forget a run that is over."""
        self._runs.pop(run.state.handle, None)
        if self._timer is not None and not self._runs:
            self.stop_timer()

    def waits(self, most: int) -> list[PartialWaits]:
        """Return the open runs, oldest first, at most ``most``; callable from any thread."""
        now = self.clock.now()
        return [
            PartialWaits(
                handle=run.state.handle,
                step_id=run.step.step_id,
                session=self._session,
                seconds=now - run.state.last_use,
                feeds=run.state.pending_inputs[:most],
                fetches=run.state.pending_outputs[:most],
                calls=run.state.calls,
                waiting=run.state.waiting,
            )
            for run in islice(list(self._runs.values()), most)
        ]

    # -- the idle limit ------------------------------------------------------------------------

    def collect(self) -> None:
        """Abort the runs that have not been continued for the idle limit."""
        now = self.clock.now()
        for run in list(self._runs.values()):
            run.abort_if_idle(now, self._idle_limit)

    def _watch(self) -> None:
        """Make sure that idle runs are collected; called when a run has begun."""
        if self._timer is None:
            self._start_timer(self._idle_limit)

    def stop_timer(self) -> None:
        """Stop the timer of the idle limit; the next run starts it again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_timer(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.collect()
        if self._runs:
            # A copy, because a finaliser may end a run in the middle of this line.
            oldest = min(run.state.last_use for run in list(self._runs.values()))
            self._start_timer(max(oldest + self._idle_limit - self.clock.now(), 0.001))


async def wait_for_answer(run: PartialRunDriver[Any], call: Call, deadline: Deadline) -> None:
    """Wait until a call is done; abort its run if the deadline comes first or the wait is cancelled.

    A call that is done when the deadline comes counts: it has taken effect.

    Raises:
        DeadlineExceededError: naming the other tasks whose partitions have not ended.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    call.on_done = lambda: None if future.done() else future.set_result(None)
    handle = run.state.handle
    try:
        if not call.done:
            await deadline.wait(future, what=f"a call of partial run {handle!r}")
    except DeadlineExceededError as error:
        if call.done:
            return
        tasks = ", ".join(sorted(run.step.unfinished))
        text = f"{error.message}; parts that have not ended: {tasks}" if tasks else error.message
        late = DeadlineExceededError(text)
        run.abort(late)
        raise late from error
    except asyncio.CancelledError:
        run.abort(CancelledError(f"partial run {handle!r} was cancelled by its caller"))
        raise


# -- the actor of a direct session ---------------------------------------------------------------


LocalRun = PartialRunDriver[LocalPartialStep]
"""A partial run of this process."""


@dataclass(frozen=True, slots=True)
class BeginRun:
    """The request to begin a partial run; a message within one process, never sent.

    Attributes:
        run: the run.
    """

    run: LocalRun


@dataclass(frozen=True, slots=True)
class ContinueRun:
    """The request to continue a partial run; answered with the run and its ``Call``, maybe not done yet.

    Attributes:
        handle: handle of the run.
        feeds: names of the feeds.
        values: values of the feeds.
        fetches: names of the fetches.
        deadline: the time limit of work before the answer.
    """

    handle: str
    feeds: tuple[str, ...]
    values: Sequence[Any]
    fetches: tuple[str, ...]
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class AbortRuns:
    """The request to abort a partial run if it is open, or all; answered with the one run, if it was.

    Attributes:
        error: the error for waiting calls.
        handle: handle of the run; ``None`` for all runs of the session.
    """

    error: OpError
    handle: str | None = None


class PartialRunActor(Actor):
    """The actor that holds the partial runs of a direct session on an event loop; never waits.

    Args:
        idle_limit: see ``PartialRunMgr``.

    Attributes:
        runs: the runs; read from other threads, and changed only on the actor's loop.
    """

    def __init__(self, idle_limit: float) -> None:
        super().__init__("partial runs")
        # As an executor, it belongs to the loop that first sends it a message.
        self.loop = None
        self.runs: PartialRunMgr[LocalRun] = PartialRunMgr(idle_limit)

    @handles(BeginRun)
    def on_begin(self, message: BeginRun, call: CallContext) -> None:
        """Register a run and start its partitions."""
        self.runs.begin(message.run)

    @handles(ContinueRun)
    def on_continue(self, message: ContinueRun, call: CallContext) -> tuple[LocalRun, Call]:
        """Continue a run with feeds and fetches."""
        return self.runs.call(message.handle, message.feeds, message.values, message.fetches, message.deadline)

    @handles(AbortRuns)
    def on_abort(self, message: AbortRuns, call: CallContext) -> LocalRun | None:
        """Abort a run, or all."""
        if message.handle is not None:
            return self.runs.abort(message.handle, message.error)
        self.runs.abort_all(message.error)
        return None

    async def stop(self, reason: str | OpError = "stopped", grace: float = STOP_GRACE) -> None:
        """Stop the timer of the idle limit and the actor; see ``Actor.stop``."""
        self.runs.stop_timer()
        await super().stop(reason, grace)

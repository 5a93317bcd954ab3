"""Partial runs of this process, and the actor that holds those of a session on an event loop.

The coroutines of a session run on the loop of its actor and ask it without a mailbox: to begin or to continue a
run is one synchronous call, which nothing on the loop interrupts. What other threads and finalisers end, they
tell the actor, and it takes a turn. Runs that the threads of their callers drive are held in ``thread_runs``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from actorsession.actors.actor import Actor, answers, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import STOP_GRACE
from actorsession.errors import CancelledError, DeadlineExceededError, OpError
from actorsession.plan.partial import PartialParts
from actorsession.records import dataclass
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.partial.run_state import Call, RunState

__all__ = ["AbortRuns", "BeginRun", "ContinueRun", "LocalRun", "PartialRunActor", "wait_for_answer"]


class LocalRun(RunState[Step]):
    """A partial run of this process.

    Args:
        handle: see ``RunState``.
        plan: likewise.
        step: likewise.
        runs: likewise.
        now: likewise.
        graph: the loaded partitions of the plan.
        on_release: called with the step when the run is over.
    """

    __slots__ = ("_graph", "_on_release")

    shares_memory = True

    def __init__(
        self,
        handle: str,
        plan: PartialParts,
        step: Step,
        runs: PartialRunMgr[Any],
        now: float,
        graph: LoadedGraph,
        on_release: Callable[[Step], None],
    ) -> None:
        super().__init__(handle, plan, step, runs, now)
        self._graph = graph
        self._on_release = on_release

    def _start_step(self) -> None:
        self._graph.begin(self.step, ())
        self.step.on_done(self._step_ended)

    def _step_ended(self) -> None:
        self.ended(self.step.error)

    def _end_step(self, error: OpError) -> None:
        self.step.fail(error)
        # A step whose partitions have all ended may still hold values that were not fetched.
        self.step.rendezvous.abort(error)

    def _roll_back(self, error: OpError) -> None:
        self.step.give_back()

    def _release(self) -> None:
        self._on_release(self.step)


async def wait_for_answer(run: LocalRun, call: Call, deadline: Deadline) -> None:
    """Wait until a call is done; abort its run if the deadline comes first or the wait is cancelled.

    A call that is done when the deadline comes counts: it has taken effect.

    Raises:
        DeadlineExceededError: naming the run.
    """
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    call.on_done = lambda: None if future.done() else future.set_result(None)
    try:
        if not call.done:
            await deadline.wait(future, what=f"a call of partial run {run.handle!r}")
    except DeadlineExceededError as error:
        if not call.done:
            run.abort(error)
            raise
    except asyncio.CancelledError:
        run.abort(CancelledError(f"partial run {run.handle!r} was cancelled by its caller"))
        raise


class BeginRun(NamedTuple):
    """The request to begin a partial run; a message within one process, never sent.

    Attributes:
        run: the run.
    """

    run: LocalRun


class ContinueRun(NamedTuple):
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

    @answers(BeginRun, direct=True)
    def on_begin(self, message: BeginRun, call: CallContext) -> None:
        """Register a run and start its partitions."""
        self.runs.begin(message.run)

    @answers(ContinueRun, direct=True)
    def on_continue(self, message: ContinueRun, call: CallContext) -> tuple[LocalRun, Call]:
        """Continue a run with feeds and fetches."""
        return self.runs.call(*message)

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

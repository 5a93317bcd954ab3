"""Partial runs of a direct session: steps that are fed and fetched in several calls.

On an event loop the runs belong to a ``PartialRunActor``. Without one, each run is driven in the calling
thread, under a lock of its own. A ``Session`` uses an event loop for runs with nodes that wait without a
thread. The methods that users call are in ``partial.api``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.actors.context import LOCAL_TELL
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunOptions
from actorsession.durations import in_seconds
from actorsession.errors import AbortedError, CancelledError, DeadlineExceededError, OpError, from_exception
from actorsession.graph.held_arrays import large_arrays
from actorsession.plan.partial import PartialParts, check_signature
from actorsession.plan.plan_cache import PlanCache
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.kept_feeds import kept_feeds
from actorsession.runtime.partial.local_runs import (
    AbortRuns,
    BeginRun,
    ContinueRun,
    LocalRun,
    PartialRunActor,
    wait_for_answer,
)
from actorsession.runtime.partial.thread_runs import ThreadPartialRunMgr, ThreadRun
from actorsession.runtime.session_pools import SessionPools
from actorsession.runtime.wait_graph import PartialWaits
from actorsession.session.direct.planner import Planner
from actorsession.session.direct.planning import DirectPlanning
from actorsession.session.partial.partial_runs import PartialRuns
from actorsession.session.session_interface import TURN
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.session.direct.steps import DirectSteps

__all__ = ["DirectPartialRuns", "PartialPlan"]

_log = logging.getLogger("actorsession.session")
_running_loop = asyncio.events._get_running_loop
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """A loaded plan of partial runs.

    Attributes:
        signature: everything that such a run feeds, fetches and targets.
        parts: the partial-run data of the plan.
        graph: the loaded partitions.
        label: the signature as text, with which handles begin.
    """

    signature: RunSignature
    parts: PartialParts
    graph: LoadedGraph
    label: str


class DirectPartialRuns(PartialRuns[PartialPlan]):
    """The partial runs of one direct session.

    Args:
        planner: the session's planner.
        config: the session's settings.
        gate: refuses work once the session is closed.
        planning: the session's planning on an event loop.
        steps: makes and tracks the steps of the session.
        pools: the kernel pools of the session.

    Attributes:
        requests: cache of setups and calls for the session API; emptied when a plan is evicted.
        actor: holds the runs on the event loop.
        thread_runs: holds the runs that their callers' threads drive.
    """

    def __init__(
        self,
        planner: Planner,
        config: ConfigProto,
        gate: Gate,
        planning: DirectPlanning,
        steps: DirectSteps,
        pools: SessionPools,
    ) -> None:
        super().__init__()
        self._planner = planner
        # Apart from the plans of ordinary runs, which route feeds and fetches differently.
        self._plans: PlanCache[PartialPlan] = PlanCache(config.plan_cache_size, lambda plan: self.requests.clear())
        self._gate = gate
        self._planning = planning
        self._steps = steps
        self._pools = pools
        idle_limit = in_seconds(config.partial_run_idle_limit_in_ms)
        self.thread_runs = ThreadPartialRunMgr(idle_limit)
        self._idle_limit = idle_limit
        self._make_actor()
        self._turn_ends = 0.0

    def _make_actor(self) -> None:
        self.actor = PartialRunActor(self._idle_limit)
        self._ref = self.actor.ref

    def __len__(self) -> int:
        return len(self.actor.runs) + len(self.thread_runs)

    def waits(self, most: int) -> list[PartialWaits]:
        """Return the open runs, oldest first, at most ``most``; callable from any thread."""
        waits = [*self.actor.runs.waits(most), *self.thread_runs.waits(most)]
        return sorted(waits, key=lambda run: run.step_id)[:most]

    def plan(self, signature: RunSignature) -> PartialPlan:
        """Return the plan of a signature; build it if it is not cached. Thread-safe."""
        check_signature(signature)
        plan = self._plans.get(signature)
        if plan is None:
            with self._planner.locked(), self._planner.tally.planning():
                self._planner.extend()
                sorted_ = signature.sorted()
                parts = self._planner.partial_partitions(sorted_)
                graph = self._planner.load(parts.parts)
            plan = self._plans.put(signature, PartialPlan(sorted_, parts, graph, str(sorted_)))
        return plan

    async def prepare(self, signature: RunSignature) -> PartialPlan:
        """Return the plan of a signature; see ``DirectSession.prepare``."""
        make = partial(self.plan, signature)
        what = f"the plan of a partial run, {signature}"
        return await self._planning.share((PartialPlan, signature.sorted()), make, what)

    def needs_loop(self, plan: PartialPlan) -> bool:
        """Return whether a plan has nodes that wait without a thread, for example queue operations."""
        return plan.graph.suspends

    def is_on_loop(self, handle: str) -> bool:
        """Return whether an event loop drives a run, so that ``call`` continues it."""
        return handle in self.actor.runs

    # -- in the caller's thread ----------------------------------------------------------------

    def open_here(self, plan: PartialPlan, limit: float | None, options: RunOptions | None = None) -> str:
        """Start a run in the calling thread."""
        self._planner.tally.begin_partial_run()
        runs, (step, graph) = self.thread_runs, self._steps.new(plan, options, None, None)
        handle = f"{plan.label};{next(runs.numbers)}"
        run = ThreadRun(handle, plan.parts, step, runs, runs.clock.monotonic(), graph, self._steps.end)
        if limit is not None:
            step.limit(Deadline.after(limit))
        run.enter_nowait()  # nobody else knows it yet
        try:
            runs.begin(run)
            self._gate.check()  # closing in the meantime has missed this run
        except BaseException as exc:  # Ctrl-C too
            run.abort(CancelledError(f"the setup was interrupted: {exc!r}"))
            raise
        finally:
            run.leave()
        return handle

    def call_here(
        self, handle: str, feeds: tuple[str, ...], values: Sequence[Any], fetches: tuple[str, ...], limit: float | None
    ) -> Sequence[Any]:
        """Continue a run in the calling thread: give it feeds, and return fetches."""
        deadline = NEVER if limit is None else Deadline.after(limit)
        try:
            run, call = self.thread_runs.call(handle, feeds, values, fetches, deadline)
        except OpError:  # an invalid call
            self._gate.check()  # or a valid call after the session was closed
            raise
        return run.deliver(call)

    def abort_here(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open, from any thread, without waiting for its end."""
        if self.is_on_loop(handle):
            # Not at once, even on the loop: a finaliser calls this, perhaps in the middle of another call.
            self._tell(self.actor.post, AbortRuns(error, handle))
        else:
            self.thread_runs.abort(handle, error)

    # -- on an event loop ----------------------------------------------------------------------

    async def open(self, plan: PartialPlan, options: RunOptions | None = None) -> str:
        """Start a run on the running event loop; operations that need no feed run before this returns."""
        if current_host().clock.perf_counter() >= self._turn_ends:
            await self._yield_loop()
        if options is not None:
            await self._planning.prepare_debug(plan, options)
        loop = _running_loop()
        if self.actor.loop is not loop:
            if self.actor.loop is not None:
                # The session has another loop now; the runs of the former have ended with it.
                self.actor.runs.abort_all(CancelledError("the event loop of the partial run has ended"))
                self._make_actor()
            self.actor.loop = loop
        self._planner.tally.begin_partial_run()
        actor, (step, graph) = self.actor, self._steps.new(plan, options, self._pools.default, None)
        handle = f"{plan.label};{next(actor.runs.numbers)}"
        run = LocalRun(handle, plan.parts, step, actor.runs, actor.runs.clock.monotonic(), graph, self._steps.end)
        try:
            actor.submit(_new(BeginRun, (run,)), LOCAL_TELL)  # a message without a call
        except BaseException as exc:
            run.abort(CancelledError(f"the setup was cancelled: {exc!r}"))
            raise
        return handle

    async def call(
        self, handle: str, feeds: tuple[str, ...], values: Sequence[Any], fetches: tuple[str, ...], limit: float | None
    ) -> Sequence[Any]:
        """Continue a run on the running event loop; cancelling the call aborts it between two nodes."""
        # The work before the answer has no limit by default, as in an ordinary step.
        deadline = NEVER if limit is None else Deadline.after(limit)
        run: LocalRun | None = None
        try:
            if current_host().clock.perf_counter() >= self._turn_ends:
                await self._yield_loop()
            if large_arrays(values):
                values = await kept_feeds(values, self._pools.default)
            message = _new(ContinueRun, (handle, feeds, values, fetches, deadline))  # without a call
            if self.actor.loop is _running_loop():
                run, call = self.actor.submit(message, LOCAL_TELL)
            else:  # it has ended, or there was no run on a loop
                run, call = await self._ref.ask(message)
            if not call.done:
                wait_ends = Deadline.after(DEFAULT_STEP_TIMEOUT) if limit is None else deadline
                await wait_for_answer(run, call, wait_ends)
        except DeadlineExceededError:
            if run is not None:
                await run.step.settled()
            raise
        except asyncio.CancelledError:
            if run is None:
                cancelled = CancelledError(f"partial run {handle!r} was cancelled by its caller")
                await self.abort(handle, cancelled)
            raise
        except OpError:  # an invalid call
            self._gate.check()  # or a valid call after the session was closed
            raise
        except Exception as exc:  # no memory, for example
            raise from_exception(exc) from exc
        return run.deliver(call)

    async def abort(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open, and wait for its kernels, which end between two nodes."""
        with contextlib.suppress(OpError):  # the session is closed, which has ended it
            run: LocalRun | None = await self._ref.ask(AbortRuns(error, handle))
            if run is not None:
                await run.step.settled()

    async def _yield_loop(self) -> None:
        """Yield the loop, which calls that end at once would hold; see ``DirectSession.run``."""
        self._turn_ends = current_host().clock.perf_counter() + TURN
        await asyncio.sleep(0)

    # -- the end -------------------------------------------------------------------------------

    def _tell(self, tell: Callable[[AbortRuns], None], message: AbortRuns) -> None:
        """Send the actor a message that ends runs, from any thread."""
        try:
            tell(message)
        except AbortedError:
            # Its loop is closed, so these runs have no waiters and can never be continued.
            self.actor.runs.abort_all(message.error)
        except OpError as exc:
            _log.warning("partial runs are not ended: %s", exc)

    def close_here(self, error: OpError) -> None:
        """End every run; callable from any thread."""
        if self.actor.loop is not None:  # else it never had a run
            self._tell(self._ref.tell, AbortRuns(error))
        self.thread_runs.abort_all(error)
        self.requests.clear()
        self._plans.clear()
        self.thread_runs.stop_collector()

    async def close(self, reason: str) -> None:
        """End the actor, after ``close_here``."""
        await self.actor.stop(reason)

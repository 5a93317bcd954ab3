"""The steps of a direct session, admitted, made, awaited and ended; for runs that are no single call.

``DirectSteps`` tracks the steps under way, so that closing the session ends them and ``why`` finds them. A
time limit acts in two places: a timer of the event loop ends work in the kernel pool, and the step's own
deadline ends work that holds the loop or has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunOptions, whose_limit
from actorsession.config.environment import environment_switch
from actorsession.errors import CancelledError, DeadlineExceededError, OpError
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.held_arrays import bytes_held
from actorsession.runtime.admission import Admission
from actorsession.runtime.collective.groups import GroupTable
from actorsession.runtime.debug.debugger import LoadedDebugPlan, LocalDebugRun, SessionDebugger
from actorsession.runtime.engine.inline_run import Gate, TimedGate
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.hang_report import explain
from actorsession.runtime.kept_feeds import kept_feeds
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.wait_graph import MasterWaits, TaskWaits
from actorsession.session.direct.planner import DirectPlan
from actorsession.session.local_wait_graph import MOST, local_wait_graph
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.session.partial.direct_partial_runs import DirectPartialRuns, PartialPlan

__all__ = ["DirectSteps", "graph_of", "needs_step", "step_ids"]

# Whether a step that failed or was cancelled waits for its kernels that are still in the pool.
_SYNC_VARIABLES = ("ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH")


def step_ids() -> Iterator[int]:
    """Make the numbers of the steps of a process that no master has numbered; for ``Host.own``."""
    return itertools.count(1)


class DirectSteps:
    """The steps of one session in this process.

    Args:
        gate: refuses steps once the session is closed.
        debugger: the debugger of the session.
        config: the session's settings.

    Attributes:
        inflight: admits runs as the settings allow.
    """

    def __init__(self, gate: Gate, debugger: SessionDebugger[LoadedDebugPlan], config: ConfigProto) -> None:
        self._gate = gate
        self._ids = current_host().own(step_ids)
        self._limit_in_ms = config.operation_timeout_in_ms
        self.inflight = Admission(config.max_inflight_steps).share(config.max_inflight_steps, config.max_inflight_bytes)
        self._waiting_on: asyncio.AbstractEventLoop | None = None
        self._debugger = debugger
        self._steps: dict[Step, None] = {}
        self._groups = GroupTable("127.0.0.1")
        self._sync_on_finish = environment_switch(*_SYNC_VARIABLES, default=True)

    def now(self) -> list[Step]:
        """Return the steps under way; callable from any thread."""
        return list(self._steps)

    def new(
        self,
        plan: DirectPlan | PartialPlan,
        options: RunOptions | None,
        pool: KernelPool | None,
        limit: float | None,
        make: type[Step] = Step,
    ) -> tuple[Step, LoadedGraph]:
        """Make a step, which counts as under way until ``end``, with the graph that it runs.

        Args:
            plan: the plan to run.
            options: options of the run.
            pool: the pool for expensive segments; ``None`` to run everything in the caller's thread.
            limit: seconds; ``None`` for none.
            make: the class of the step.

        Raises:
            CancelledError: if the session is closed.
        """
        debug = None
        if options is not None and options.debug_options.active:
            self._gate.check()
            is_partial = not isinstance(plan, DirectPlan)
            asked = plan.signature, options.debug_options
            debug = LocalDebugRun(self._debugger.new_run(*asked, is_partial=is_partial))
            debug.begin()
        graph = plan.graph if debug is None else debug.graph
        step = make(
            next(self._ids),
            Rendezvous(),
            len(plan.signature.fetches),
            partitions=len(graph.parts),
            pool=pool,
            # Without a pool there may be no loop, but then the graph has no node that suspends.
            loop=asyncio.get_running_loop() if pool is not None or graph.suspends else None,
            trace=options is not None and options.traced,
            # See the module docstring for the two time limits.
            deadline=NEVER if limit is None else self._deadline(limit, options),
            sync_on_finish=self._sync_on_finish,
            debug=debug,
            groups=self._groups,
        )
        self._steps[step] = None
        if self._gate.error is not None:  # looked at here, because closing ends the steps that it finds
            step.fail(self._gate.error)
            self.end(step)
            self._gate.check()
        return step, graph

    def end(self, step: Step) -> None:
        """Stop tracking a step, and end its debugging."""
        self._steps.pop(step, None)
        if step.debug is not None:
            step.debug.end(step.error)

    def timed_gate(self, limit: float, options: RunOptions | None) -> TimedGate:
        """Return the gate of a run that is a single call with a limit in seconds."""
        return TimedGate(self._gate, self._deadline(limit, options))

    def _deadline(self, limit: float, options: RunOptions | None) -> Deadline:
        return Deadline.after(limit, whose=self._whose(options))

    def _whose(self, options: RunOptions | None) -> str:
        run_in_ms = 0 if options is None else options.timeout_in_ms
        return whose_limit(run_in_ms, self._limit_in_ms)

    async def run(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None,
        pool: KernelPool | None,
    ) -> Step:
        """Run a step on the running event loop, and return it when it has ended and settled.

        It fails if it is late or its caller is cancelled. A step that is done keeps its result when the limit
        expires. When the caller is cancelled, what the step has taken is put back, whether it is done or not.

        Args:
            plan: the plan to run.
            feeds: values in the plan's order; copied where the caller could change them.
            limit: seconds; ``None`` for the default.
            options: of the run.
            pool: as for ``new``.

        Raises:
            OpError: the step's first error.
        """
        nbytes = 0 if plan.graph.may_wait else bytes_held(feeds)
        since = 0.0  # when it has begun to wait
        if not self.inflight.enter_nowait(nbytes):
            since = current_host().clock.time()
            limit = await self._wait_for_turn(nbytes, limit)
        try:
            if feeds:
                feeds = await kept_feeds(feeds, pool)
            step, graph = self.new(plan, options, pool, limit)
            if since and step.collector is not None:
                step.collector.add_wait("admission", since)
            try:
                step.begin(graph.parts, feeds)
                if not step.done:
                    seconds = DEFAULT_STEP_TIMEOUT if limit is None else limit
                    loop = asyncio.get_running_loop()
                    timer = loop.call_later(seconds, self._expire, step, options)
                    try:
                        await step.wait()
                    except asyncio.CancelledError:
                        step.fail(CancelledError(f"step {step.step_id} was cancelled by its caller"))
                        step.give_back()
                        await step.settled()
                        raise
                    finally:
                        timer.cancel()
                if step.error is not None or step.cancelled is not None:
                    step.result()
            finally:
                self._steps.pop(step, None)
                if step.debug is not None:
                    self.end(step)
        finally:
            self.inflight.leave(nbytes)
        return step

    async def _wait_for_turn(self, nbytes: int, limit: float | None) -> float | None:
        """Wait until a run may be under way; return the seconds that it has left."""
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT if limit is None else limit)
        self._waiting_on = asyncio.get_running_loop()
        await self.inflight.enter(deadline, nbytes)
        return deadline.time_left

    def run_here(self, plan: DirectPlan, feeds: Sequence[Any], limit: float | None, options: RunOptions | None) -> Step:
        """Run a step in the calling thread, without an event loop, and return it.

        Raises:
            OpError: the step's first error.
        """
        step, graph = self.new(plan, options, None, limit)
        try:
            step.begin(graph.parts, feeds)
            step.result()
        except BaseException as exc:
            # Ctrl-C is not the error of a node, but listeners must not take the step for a success.
            step.fail(CancelledError(f"step {step.step_id} was interrupted: {exc!r}"))
            step.give_back()
            raise
        finally:
            self.end(step)
        return step

    def _expire(self, step: Step, options: RunOptions | None) -> None:
        cause = None
        with contextlib.suppress(Exception):  # the step ends, whether or not its reason is found
            cause = explain([local_wait_graph([step], LOCAL_TASK, self._gate)]).root
        why = "" if cause is None else f": {cause}"
        error = DeadlineExceededError(f"step {step.step_id} exceeded {self._whose(options)}{why}")
        if cause is not None and cause.node:
            error.locate(node=cause.node, source=cause.source)
        step.abort(error)

    def cancel(self, error: OpError) -> None:
        """Cancel every step under way; callable from any thread."""
        for step in self.now():
            step.cancel(error)

    def close(self, error: OpError) -> None:
        """Cancel every step, and end those that wait for their turn; callable from any thread."""
        self.cancel(error)
        self._groups.ends.close()
        if self._waiting_on is not None:  # of another thread perhaps, and perhaps closed already
            with contextlib.suppress(RuntimeError):
                self._waiting_on.call_soon_threadsafe(self.inflight.close, error)

    def waits(self, pools: Sequence[KernelPool], partial_runs: DirectPartialRuns) -> TaskWaits:
        """Return what the steps wait for; callable from any thread.

        Args:
            pools: the pools of the session.
            partial_runs: those of the session.
        """
        runs, total = partial_runs.waits(MOST), len(partial_runs)
        inflight = self.inflight.statistics()
        master = MasterWaits(
            session="",
            task=LOCAL_TASK,
            partial_runs=tuple(runs),
            left_out=total - len(runs),
            in_flight=inflight.in_flight,
            waiting=inflight.waiting,
        )
        waits = local_wait_graph(self.now(), LOCAL_TASK, self._gate, pools)
        return replace(waits, masters=(master,))


def needs_step(options: RunOptions) -> bool:
    """Return whether a run must observe single nodes, which an inline plan does not allow."""
    return options.traced or options.debug_options.active


def graph_of(plan: DirectPlan | PartialPlan, step: Step | None) -> LoadedGraph:
    """Return the graph that a step runs: the plan's, or the decorated one of a debugged step."""
    debug = None if step is None else step.debug
    return debug.graph if isinstance(debug, LocalDebugRun) else plan.graph

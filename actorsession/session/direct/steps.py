"""The steps of a direct session, made, awaited and ended; for runs that are no single call.

``DirectSteps`` tracks the steps under way, so that closing the session ends them and ``why`` finds them. A
time limit acts in two places: a timer of the event loop ends work in the kernel pool, and the step's own
deadline ends work that holds the loop or has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, RunOptions, whose_limit
from actorsession.config.environment import environment_switch
from actorsession.errors import CancelledError, DeadlineExceededError, OpError
from actorsession.graph.device import LOCAL_TASK
from actorsession.runtime.collective.groups import GroupTable
from actorsession.runtime.debug.debugger import LoadedDebugPlan, LocalDebugRun, SessionDebugger
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.hang_report import explain
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.session.direct.planner import DirectPlan
from actorsession.session.local_wait_graph import local_wait_graph

if TYPE_CHECKING:
    from actorsession.session.partial.direct_partial_runs import PartialPlan

__all__ = ["DirectSteps", "graph_of", "needs_step"]

_IDS = itertools.count(1)
# Whether a step that failed or was cancelled waits for its kernels that are still in the pool.
_SYNC_VARIABLES = ("ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH")


class DirectSteps:
    """The steps of one session in this process.

    Args:
        gate: refuses steps once the session is closed.
        debugger: the debugger of the session.
        limit_in_ms: the limit of a step without one of its own; 0 for the default.
    """

    def __init__(
        self, gate: Gate, debugger: SessionDebugger[LoadedDebugPlan], limit_in_ms: int = 0
    ) -> None:
        self._gate = gate
        self._limit_in_ms = limit_in_ms
        self._debugger = debugger
        self._steps: set[Step] = set()
        self._groups = GroupTable()
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
    ) -> Step:
        """Make a step, which counts as under way until ``end``.

        Args:
            plan: the plan to run.
            options: options of the run.
            pool: the pool for expensive segments; ``None`` to run everything in the caller's thread.
            limit: seconds; ``None`` for none.

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
        step = Step(
            next(_IDS),
            Rendezvous(),
            len(plan.signature.fetches),
            partitions=len(graph.parts),
            pool=pool,
            # Without a pool there may be no loop, but then the graph has no node that suspends.
            loop=asyncio.get_running_loop() if pool is not None or graph.suspends else None,
            trace=options is not None and options.traced,
            # See the module docstring for the two time limits.
            deadline=NEVER if limit is None else self.deadline(limit, options),
            sync_on_finish=self._sync_on_finish,
            debug=debug,
            groups=self._groups,
        )
        self._steps.add(step)
        try:
            self._gate.check()  # here, because closing ends the steps that it finds
        except OpError as error:
            step.fail(error)
            self.end(step)
            raise
        return step

    def end(self, step: Step) -> None:
        """Stop tracking a step, and end its debugging."""
        self._steps.discard(step)
        if step.debug is not None:
            step.debug.end(step.error)

    def deadline(self, limit: float | None, options: RunOptions | None) -> Deadline:
        """Return the deadline of a run.

        Args:
            limit: seconds that it has; ``None`` for the default.
            options: of the run.
        """
        seconds = DEFAULT_STEP_TIMEOUT if limit is None else limit
        return Deadline.after(seconds, whose=self._whose(options))

    def _whose(self, options: RunOptions | None) -> str:
        run_in_ms = 0 if options is None else options.timeout_in_ms
        return whose_limit(run_in_ms, self._limit_in_ms)

    async def wait(self, step: Step, limit: float | None, options: RunOptions | None) -> None:
        """Wait until a step has ended and settled; fail it if it is late or its caller is cancelled.

        A step that is done keeps its result when the limit expires. When the caller is cancelled, what the
        step has taken is put back, whether it is done or not.
        """
        seconds = DEFAULT_STEP_TIMEOUT if limit is None else limit
        timer = asyncio.get_running_loop().call_later(seconds, self._expire, step, options)
        try:
            await step.wait()
        except asyncio.CancelledError:
            step.fail(CancelledError(f"step {step.step_id} was cancelled by its caller"))
            step.give_back()
            await step.settled()
            raise
        finally:
            timer.cancel()

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


def needs_step(options: RunOptions) -> bool:
    """Return whether a run must observe single nodes, which an inline plan does not allow."""
    return options.traced or options.debug_options.active


def graph_of(plan: DirectPlan | PartialPlan, step: Step | None) -> LoadedGraph:
    """Return the graph that a step runs: the plan's, or the decorated one of a debugged step."""
    debug = None if step is None else step.debug
    return debug.graph if isinstance(debug, LocalDebugRun) else plan.graph

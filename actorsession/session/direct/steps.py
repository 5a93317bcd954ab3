"""The steps of a direct session: made, waited for and ended, for runs that are no single call.

``DirectSteps`` knows those that are under way, so that closing the session ends them and ``why`` finds them.
A step has a limit in two places: a timer of the event loop ends what is in the pool, the step's own deadline
what holds the loop or has none.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, RunOptions
from actorsession.config.environment import environment_switch
from actorsession.errors import CancelledError, DeadlineExceededError, InternalError, OpError
from actorsession.runtime.debug.debugger import SessionDebugger
from actorsession.runtime.engine.executor import Gate, LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.session.direct.planner import DirectPlan

__all__ = ["DirectSteps", "graph_of", "needs_step", "result_of"]

_IDS = itertools.count(1)
# Whether a step that failed or was given up waits for its kernels that are still in the pool.
_SYNC_VARIABLES = ("ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH")


class DirectSteps:
    """The steps of one session in this process.

    Args:
        gate: whether the session is open.
        debugger: of the session.
    """

    def __init__(self, gate: Gate, debugger: SessionDebugger) -> None:
        self._gate = gate
        self._debugger = debugger
        self._steps: set[Step] = set()
        self._sync_on_finish = environment_switch(*_SYNC_VARIABLES, default=True)

    def now(self) -> list[Step]:
        """Return those under way; callable from any thread."""
        return list(self._steps)

    def new(
        self,
        plan: DirectPlan,
        options: RunOptions | None,
        pool: KernelPool | None,
        limit: float | None,
    ) -> Step:
        """Make a step, which is under way until ``end``.

        Args:
            plan: what it runs.
            options: of the run.
            pool: where dear segments run, if anywhere but in the caller's thread.
            limit: seconds; ``None`` for none.

        Raises:
            CancelledError: if the session is closed.
        """
        self._gate.check()
        debug = None
        if options is not None and options.debug_options.active:
            debug = self._debugger.begin(plan.signature, options.debug_options)
        graph = plan.graph if debug is None else debug.graph
        step = Step(
            next(_IDS),
            Rendezvous(),
            len(plan.signature.fetches),
            partitions=len(graph.parts),
            pool=pool,
            # Whoever runs here without a pool, and so perhaps without a loop, has no node that suspends.
            loop=asyncio.get_running_loop() if pool is not None or graph.suspends else None,
            trace=options is not None and options.traced,
            # A timer of the event loop ends what is in the pool; this, what holds the loop or has none.
            deadline=NEVER if limit is None else Deadline.after(limit),
            sync_on_finish=self._sync_on_finish,
            debug=debug,
        )
        self._steps.add(step)
        try:
            self._gate.check()  # closed meanwhile, it has not seen this step
        except OpError as error:
            step.fail(error)
            self.end(step)
            raise
        return step

    def end(self, step: Step) -> None:
        """Forget a step."""
        self._steps.discard(step)
        if step.debug is not None:
            step.debug.end(step.error)

    async def wait(self, step: Step, plan: DirectPlan, limit: float | None) -> None:
        """Wait until a step is done; one that is late, or whose caller is cancelled, fails and settles.

        A step that is done keeps its outcome when the limit comes. When the caller is cancelled, what the
        step has taken is put back, whether it is done or not.
        """
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT if limit is None else limit)
        try:
            await deadline.wait(step.wait(), what=f"step {step.step_id} ({plan.signature})")
        except DeadlineExceededError as error:
            step.fail(error)
        except asyncio.CancelledError:
            step.fail(CancelledError(f"step {step.step_id} was cancelled by its caller"))
            step.give_back()
            await step.settled()
            raise
        await step.settled()

    def cancel(self, error: OpError) -> None:
        """Give up every step that runs; callable from any thread."""
        for step in self.now():
            step.give_up(error)


def needs_step(options: RunOptions) -> bool:
    """Return whether a run must see its nodes one by one, which a plan called inline does not show."""
    return options.traced or options.debug_options.active


def graph_of(plan: DirectPlan, step: Step | None) -> LoadedGraph:
    """Return what a step runs: the plan's graph, or the decorated one that it is debugged on."""
    return plan.graph if step is None or step.debug is None else step.debug.graph


def result_of(step: Step) -> Sequence[Any]:
    """Return the fetched values of a step that has ended, or its error."""
    if step.error is None and not step.done:  # of a failed one kernels may be left to themselves
        raise InternalError(
            f"step {step.step_id} waits for {step.waiting()} with nobody to send it"
        )
    return step.result()

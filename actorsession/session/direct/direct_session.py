"""The direct session: plans and runs a graph on devices of this process.

Holds the devices, one executor per device, the graph as planners see it, and the plan cache. A run with a
cached plan does not prune, place, partition or compile. A plan of one segment is a single call. Other plans
run as a step, on the event loop or, without one, in the caller's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.config import ConfigProto, RunMetadata, RunOptions
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, UnimplementedError
from actorsession.graph.device import LOCAL_TASK, DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.metrics import session_tally
from actorsession.ops.blas_threads import BlasThreads, hold_blas_threads
from actorsession.plan.cost_model import CostModel
from actorsession.plan.place import Placed
from actorsession.plan.placement_log import log_devices
from actorsession.plan.report import partition_graphs
from actorsession.plan.signature import RunSignature
from actorsession.runtime import hang_report
from actorsession.runtime.debug.debugger import LoadedDebugPlan, SessionDebugger
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.devices import device_set, make_devices
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.executor_statistics import statistics_by_device
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.step import Step
from actorsession.runtime.hang_report import HangReport, Looks
from actorsession.runtime.kept_feeds import aside
from actorsession.runtime.session_pools import SessionPools
from actorsession.runtime.step_log import StepLog
from actorsession.runtime.tensor_store import TensorStore, install_tensor_store
from actorsession.runtime.wait_graph import TaskWaits
from actorsession.session.direct.planner import DirectPlan, Planner, PlannerEnv
from actorsession.session.direct.planning import DirectPlanning
from actorsession.session.direct.steps import DirectSteps, graph_of, needs_step
from actorsession.session.partial.direct_partial_runs import DirectPartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.session_interface import SESSION_CLOSED, TURN, LocalSession, OnEvict
from actorsession.session.statistics import SessionStatistics
from actorsession.session.value_delivery import ValueDelivery
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["DirectSession"]


T = TypeVar("T")


class DirectSession(LocalSession[DirectPlan]):
    """A session that runs a graph in this process.

    Args:
        graph: it may grow; new nodes are registered when a run needs a plan.
        config: settings.
        on_evict: called with every evicted plan, from any thread.
        on_close: called once when the session closes, with the session.
        costs: what nodes were measured to cost, for sessions that measure.

    Attributes:
        handle: name of the session, unique; graph passes see it.
        debugger: runs with debug options, and their results.
        step_log: see ``LocalSession``.
        waits: returns what the steps under way wait for; callable from any thread.

    Raises:
        NotFoundError: if a requested device does not exist.
        InvalidArgumentError: for a device filter that is malformed, or a pool that exists with another
            size.
    """

    def __init__(
        self,
        graph: Graph,
        config: ConfigProto,
        *,
        on_evict: OnEvict | None = None,
        on_close: Callable[[DirectSession], None] | None = None,
        costs: CostModel | None = None,
    ) -> None:
        # As TensorFlow names its direct sessions; masters name theirs likewise, without the word.
        self.handle = f"direct{current_host().entropy.token_hex(8)}"
        self._config = config
        self._on_close = on_close
        filters = DeviceFilters(config.device_filters)
        self._devices = filters.of_session(make_devices(LOCAL_TASK, config.device_count, config))
        self._pools = SessionPools(config)
        self._executors = {d.name: Executor(d) for d in self._devices}
        self._device_set = device_set(self._devices)
        self._gate = Gate()
        self._tally = session_tally("direct", self)
        self.step_log = StepLog(LOCAL_TASK, config.kept_steps) if config.kept_steps else None
        self._planner_env = PlannerEnv(
            self.handle, config, self._device_set, self._executors, self._gate, self.step_log
        )
        self.planner = Planner(graph, self._planner_env, on_evict, costs, self._tally)
        self._tensors = install_tensor_store(self._devices)
        self.debugger = SessionDebugger(self.planner.debug_plan)
        self._planning = DirectPlanning(self.planner, self.debugger)
        self._steps = _steps_of(self._gate, self.debugger, config, self.handle, self.step_log)
        self.partial_runs: DirectPartialRuns = DirectPartialRuns(
            self.planner, config, self._gate, self._planning, self._steps, self._pools
        )
        self.waits: Callable[[], TaskWaits] = partial(self._steps.waits, self._pools.all, self.partial_runs)
        threads = config.intra_op_parallelism_threads
        self._blas: BlasThreads | None = hold_blas_threads(threads) if threads else None
        self._turn_ends = 0.0
        self._now = current_host().clock.perf_counter
        if config.log_device_placement:
            log_devices([d.attributes for d in self._devices])

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._gate.error is not None

    @property
    def tensors(self) -> TensorStore:
        """The values that tensor handles refer to."""
        return self._tensors

    @property
    def debug_store(self) -> DumpStore:
        """The results of debugged runs."""
        return self.debugger.store

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the session's devices, the client device first.

        Raises:
            CancelledError: if the session is closed.
        """
        self._gate.check()
        return [d.attributes for d in self._devices]

    async def prepare(self, signature: RunSignature) -> DirectPlan:
        """Return the plan of a signature, for ``AsyncSession``; a large graph is planned in a thread.

        Runs that need the same plan share one planning, which goes on for the others if one run is
        cancelled. As in TensorFlow, planning is not part of a step: the time limit of a step begins after it.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
            DeadlineExceededError: if the planning takes too long; it goes on for later runs.
            CancelledError: if the session is closed in the meantime.
        """
        return await self._planning.prepare(signature)

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a worker thread, if the session has any."""
        pool = self._pools.choose(None)
        return work() if pool is None else await aside(pool, work)

    def plan(self, signature: RunSignature) -> DirectPlan:
        """Return the plan of a signature; build it if it is not cached.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        return self.planner.plan(signature)

    def planner_for(self, graph: Graph) -> Callable[[RunSignature], DirectPlan]:
        """Return the function that plans runs of another graph on the session's devices."""
        return Planner(graph, self._planner_env).plan

    def placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason."""
        return self.planner.placement()

    async def find_placement(self) -> dict[str, Placed]:
        """Return ``placement()``, for ``AsyncSession``."""
        return await self._planning.share("placement", self.planner.placement, "the placement")

    def explain_here(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return the explanation of a step; see ``AsyncSession.explain``."""
        self._gate.check()
        return self.planner.explain(signature, feeds)

    async def explain(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return ``explain_here()``, for ``AsyncSession``."""
        self._gate.check()
        make = partial(self.planner.explain, signature, feeds)
        # It takes some times as long as the plan.
        more = signature.size + 3 * self.planner.size
        return await self._planning.share(object(), make, f"the explanation of a step, {signature}", more)

    # -- running -------------------------------------------------------------------------------

    @property
    def has_own_pools(self) -> bool:
        """Whether the settings request thread pools of the session's own, for every run."""
        return self._pools.explicit

    def runs_here(
        self, plan: DirectPlan, feeds: Sequence[Any], limit: float | None, options: RunOptions | None
    ) -> bool:
        """Return whether a run needs no event loop and may use the thread of its caller.

        Args:
            plan: a result of ``plan``.
            feeds: the values of its feeds.
            limit: seconds; ``None`` for the default.
            options: of this run.

        Raises:
            InvalidArgumentError: if the options name a pool that the session does not have.
        """
        pool = self._pools.choose(options)
        if plan.needs_loop:
            return False
        if pool is None or (plan.inline is not None and not plan.inline.is_expensive(feeds)):
            return True
        return limit is None and not self._pools.explicit

    def run_here(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        limit: float | None = None,
    ) -> Sequence[Any]:
        """Run a step in the calling thread, without an event loop.

        Args:
            plan: a result of ``plan``.
            feeds: values in the plan's order; borrowed until the call returns.
            options: of this run.
            metadata: filled with what ``options`` request.
            limit: seconds; ``None`` for no limit, because the run waits for nothing.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        plan.used = self._tally.runs = next(self.planner.uses)
        if plan.inline is not None and (options is None or not needs_step(options)):
            gate = self._gate if limit is None else self._steps.timed_gate(limit, options)
            values = plan.inline.run(feeds, gate)
            if metadata is not None:
                self._report(plan, None, options, metadata)
            return values
        step = self._steps.run_here(plan, feeds, limit, options)
        if metadata is not None:
            self._report(plan, step, options, metadata)
        return step.outputs

    async def run(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Sequence[Any]:
        """Run a step on the running event loop; wait first while the limit of steps under way is reached.

        Cancelling it aborts the step between two nodes; the session stays usable.

        Args:
            plan: a result of ``plan``.
            feeds: values in the plan's order; arrays that the caller could change while the step is
                suspended are copied.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` request.
            delivery: notified of what the step has taken, if the values go to a caller in another thread.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        # Steps that end at once never suspend by themselves: a program that makes one after the other
        # would starve the rest of the loop. The pause comes before the step, so that a cancellation during
        # it has no step to abort.
        now = self._now()
        if now >= self._turn_ends:
            self._turn_ends = now + TURN
            await asyncio.sleep(0)
        plan.used = self._tally.runs = next(self.planner.uses)
        whole = options is not None and needs_step(options)
        if options is not None and options.debug_options.active:
            await self._planning.prepare_debug(plan, options)
        pools = self._pools
        pool = pools.default if options is None else pools.choose(options)
        inline = None if whole else plan.inline
        if inline is not None and (pool is None or not inline.is_expensive(feeds)):
            gate = self._gate if limit is None else self._steps.timed_gate(limit, options)
            values = inline.run(feeds, gate)
            if metadata is not None:
                self._report(plan, None, options, metadata)
            return values
        step = await self._steps.run(plan, feeds, limit, options, pool)
        if metadata is not None:
            self._report(plan, step, options, metadata)
        if delivery is not None and step.takes:
            delivery.hold(step.settle)
        return step.outputs

    def _report(self, plan: DirectPlan, step: Step | None, options: RunOptions | None, metadata: RunMetadata) -> None:
        metadata.clear()
        metadata.session_metadata = self._config.experimental.session_metadata
        if step is not None:
            metadata.step_stats = step.stats
        if options is not None and options.output_partition_graphs:
            metadata.partition_graphs = partition_graphs(
                graph_of(plan, step).partitions,
                infer_shapes=self._config.graph_options.infer_shapes,
                client=self._device_set.client_device,
            )

    async def why(self, within: float) -> HangReport:
        """Return ``why_here()``, for ``AsyncSession``; the loop goes on between two looks."""
        looks = Looks(within)
        for pause in looks.pauses(self.waits, current_host().clock.monotonic):
            await asyncio.sleep(pause)
        return hang_report.explain(looks.waits)

    def why_here(self, within: float) -> HangReport:
        """Return what the session's steps wait for; callable from any thread while they run in others.

        Args:
            within: seconds in which to see which of them move.
        """
        looks = Looks(within)
        for pause in looks.pauses(self.waits, current_host().clock.monotonic):
            current_host().clock.sleep(pause)
        return hang_report.explain(looks.waits)

    async def reattach(self) -> Reattached:
        """Refuse: a session in this process has no tasks.

        Raises:
            UnimplementedError: always.
        """
        raise UnimplementedError(
            "a session in this process has no tasks that could restart: reattach() is for sessions with a target"
        )

    async def wait_for(self, tasks: str, count: int | None, limit: float) -> list[str]:
        """Return the one task that a session in this process has.

        Raises:
            InvalidArgumentError: for any other task, and for more than one.
        """
        if not DeviceFilters([tasks]).allows(LOCAL_TASK) or (count or 1) > 1:
            raise InvalidArgumentError(
                f"a session in this process has one task, {LOCAL_TASK}, and waits in vain for "
                f"{count or 'all'} of {tasks!r}; sessions with a target have others"
            )
        return [LOCAL_TASK]

    # -- end -----------------------------------------------------------------------------------

    def cancel_steps(self, error: OpError) -> None:
        """Cancel every step under way; callable from any thread."""
        self._steps.cancel(error)

    def reset_containers(self, containers: Sequence[str]) -> None:
        """Clear containers on every device; the default container if none is named."""
        for device in self._devices:
            device.resources.clear(containers)

    async def close(self) -> None:
        """Cancel running steps and release threads and executors; may be called twice."""
        self.close_here()
        await self.partial_runs.close(SESSION_CLOSED)
        for executor in self._executors.values():
            await executor.stop(SESSION_CLOSED)

    def close_here(self) -> None:
        """Close the session from any thread, without an event loop; may be called twice."""
        if not self._gate.close(CancelledError(SESSION_CLOSED)):
            return
        self._steps.close(CancelledError(SESSION_CLOSED))
        for executor in self._executors.values():
            executor.close(CancelledError(SESSION_CLOSED))
        self._planning.close(CancelledError(SESSION_CLOSED))
        self.partial_runs.close_here(CancelledError(SESSION_CLOSED))
        self.planner.release()
        self.debugger.forget_plans()
        self._pools.shutdown()
        self._blas = None
        if self._on_close is not None:
            self._on_close(self)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        resources = [d.resources.statistics() for d in self._devices]
        steps = self._steps.now()
        return SessionStatistics(
            cache=self.planner.statistics(),
            nodes=len(self.planner.known),
            steps=len(steps),
            waiting=self._steps.inflight.statistics().waiting,
            pending=sum(sum(step.rendezvous.pending) for step in steps),
            partial_runs=len(self.partial_runs),
            tensor_handles=len(self.tensors),
            variables=sum(r.variables for r in resources),
            variable_bytes=sum(r.nbytes for r in resources),
            offloaded=self._pools.submitted,
            devices=statistics_by_device(self._executors.values()),
            graph_passes=self.planner.pass_statistics(),
        )


def _steps_of(
    gate: Gate, debugger: SessionDebugger[LoadedDebugPlan], config: ConfigProto, handle: str, log: StepLog | None
) -> DirectSteps:
    """Return the steps of a session, which are recorded if it remembers them."""
    if log is None:
        return DirectSteps(gate, debugger, config)
    from actorsession.session.direct.logged_steps import LoggedSteps  # which most sessions do without

    return LoggedSteps(gate, debugger, config, handle, log)

"""The direct session: plans and runs a graph on devices of this process.

Holds the devices, one executor per device, the graph as planners see it, and the plan cache. A run with a
cached plan does not prune, place, partition or compile. A plan of one segment is a single call. Other plans
run as a step, on the event loop or, without one, in the caller's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import (
    DEFAULT_STEP_TIMEOUT,
    ConfigProto,
    RunMetadata,
    RunOptions,
    StepStats,
)
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, UnimplementedError
from actorsession.graph.codec import bytes_held
from actorsession.graph.device import LOCAL_TASK, DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.metrics import session_tally
from actorsession.ops.blas_threads import BlasThreads, hold_blas_threads
from actorsession.plan.cost_model import CostModel
from actorsession.plan.place import Placed
from actorsession.plan.placement_log import log_devices
from actorsession.plan.report import partition_graphs
from actorsession.plan.signature import RunSignature
from actorsession.runtime.admission import Admission
from actorsession.runtime.debug.debugger import SessionDebugger
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.devices import device_set, make_devices
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.executor_statistics import statistics_by_device
from actorsession.runtime.engine.inline_run import Gate, TimedGate
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.hang_report import HangReport, Looks, explain
from actorsession.runtime.kept_feeds import aside, kept_feeds
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.planning import Planning
from actorsession.runtime.session_pools import SessionPools
from actorsession.runtime.tensor_store import TensorStore, install_tensor_store
from actorsession.runtime.wait_graph import MasterWaits, TaskWaits
from actorsession.session.direct.planner import DirectPlan, Planner
from actorsession.session.direct.steps import DirectSteps, graph_of, needs_step
from actorsession.session.local_wait_graph import MOST, local_wait_graph
from actorsession.session.partial.direct_partial_runs import DirectPartialRuns, PartialPlan
from actorsession.session.reattach import Reattached
from actorsession.session.session_interface import SESSION_CLOSED, TURN, LocalSession, OnEvict
from actorsession.session.statistics import SessionStatistics
from actorsession.session.value_delivery import ValueDelivery

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
        self.handle = f"direct{secrets.token_hex(8)}"
        self._config = config
        self._on_close = on_close
        filters = DeviceFilters(config.device_filters)
        self._devices = filters.of_session(make_devices(LOCAL_TASK, config.device_count, config))
        self._pools = SessionPools(config)
        self._executors = {d.name: Executor(d) for d in self._devices}
        self._device_set = device_set(self._devices)
        self._gate = Gate()
        self._tally = session_tally("direct", self)
        self.planner = Planner(
            graph, config, self._device_set, self._executors, self._gate.check, on_evict, costs,
            self.handle,
            self._tally,
        )  # fmt: skip
        self._planning = Planning()
        self._tensors = install_tensor_store(self._devices)
        self.debugger = SessionDebugger(self.planner.debug_plan)
        self._steps = DirectSteps(self._gate, self.debugger, config.operation_timeout_in_ms)
        self._inflight = Admission(config.max_inflight_steps).share(
            config.max_inflight_steps, config.max_inflight_bytes
        )
        self._waiting_on: asyncio.AbstractEventLoop | None = None
        self._partial_runs = DirectPartialRuns(
            self.planner, config, self._gate, self._partial_step, self._steps.end,
            self._prepare_debug, lambda feeds: kept_feeds(feeds, self._pools.choose(None)),
            self._run_planning,
        )  # fmt: skip
        threads = config.intra_op_parallelism_threads
        self._blas: BlasThreads | None = hold_blas_threads(threads) if threads else None
        self._turn_ends = 0.0
        if config.log_device_placement:
            log_devices([d.attributes for d in self._devices])

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._gate.closed

    @property
    def partial_runs(self) -> DirectPartialRuns:
        """Steps that are fed and fetched in several calls."""
        return self._partial_runs

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

    async def connect(self) -> None:
        """Do nothing: the session is in this process."""

    async def devices(self) -> list[DeviceAttributes]:
        """Return ``list_devices()``, for ``AsyncSession``."""
        return self.list_devices()

    async def prepare(self, signature: RunSignature) -> DirectPlan:
        """Return the plan of a signature, for ``AsyncSession``; a large graph is planned in a thread.

        Runs that need the same plan share one planning, which goes on for the others if one run is
        cancelled. As in TensorFlow, planning is not part of a step: the time limit of a step begins after it.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
            DeadlineExceededError: if the planning takes too long; it goes on for later runs.
            CancelledError: if the session is closed in the meantime.
        """
        found = self.planner.kept(signature)
        if found is not None:
            return found
        make, what = partial(self.planner.make, signature), f"the plan of a step, {signature}"
        return await self._run_planning(signature.sorted(), make, what, signature.size)

    async def _run_planning(
        self, key: Hashable, work: Callable[[], T], what: str, names: int = 0
    ) -> T:
        """Do planning work; for a large graph in a thread, once for all callers with the same key."""
        if not self._planning.must_wait(self.planner.size + names):
            return work()
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT)
        return await deadline.wait(asyncio.shield(self._planning.shared(key, work)), what=what)

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
        return Planner(
            graph, self._config, self._device_set, self._executors, self._gate.check,
            handle=self.handle,
        ).plan  # fmt: skip

    def placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason."""
        return self.planner.placement()

    async def find_placement(self) -> dict[str, Placed]:
        """Return ``placement()``, for ``AsyncSession``."""
        return await self._run_planning("placement", self.planner.placement, "the placement")

    def timelines(self) -> list[StepStats]:
        """Return no steps: a session without a cost model traces none for ``timeline_step``."""
        return []

    # -- running -------------------------------------------------------------------------------

    @property
    def has_own_pools(self) -> bool:
        """Whether the settings request thread pools of the session's own, for every run."""
        return self._pools.explicit

    def runs_here(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None,
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
        self.planner.touch(plan)
        if plan.inline is not None and (options is None or not needs_step(options)):
            values = self._run_inline(plan, feeds, limit, options)
            if metadata is not None:
                self._report(plan, None, options, metadata)
            return values
        step = self._steps.new(plan, options, None, limit)
        try:
            graph_of(plan, step).begin(step, feeds)
            values = step.result()
        except BaseException as exc:
            # Ctrl-C is not the error of a node, but listeners must not take the step for a success.
            step.fail(CancelledError(f"step {step.step_id} was interrupted: {exc!r}"))
            step.give_back()
            raise
        finally:
            self._steps.end(step)
        if metadata is not None:
            self._report(plan, step, options, metadata)
        return values

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
        now = time.perf_counter()
        if now >= self._turn_ends:
            self._turn_ends = now + TURN
            await asyncio.sleep(0)
        self.planner.touch(plan)
        whole = options is not None and needs_step(options)
        if options is not None and options.debug_options.active:
            await self._prepare_debug(plan, options)
        pool = self._pools.choose(options)
        inline = None if whole else plan.inline
        if inline is not None and (pool is None or not inline.is_expensive(feeds)):
            values = self._run_inline(plan, feeds, limit, options)
            if metadata is not None:
                self._report(plan, None, options, metadata)
            return values
        step = await self._run_step(plan, feeds, limit, options, pool)
        if metadata is not None:
            self._report(plan, step, options, metadata)
        if delivery is not None and step.takes:
            delivery.hold(step.settle)
        return step.outputs

    async def _prepare_debug(self, plan: DirectPlan | PartialPlan, options: RunOptions) -> None:
        """Make the plan of a debugged run in a thread, if planning would hold the loop too long."""
        if self._planning.must_wait(self.planner.size):
            asked, is_partial = (
                (plan.signature, options.debug_options),
                isinstance(plan, PartialPlan),
            )
            make = partial(self.debugger.prepare, *asked, is_partial=is_partial)
            key, what = (*asked, is_partial), f"the plan of a debugged step, {plan.signature}"
            await self._run_planning(key, make, what)

    async def _run_step(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None,
        pool: KernelPool | None,
    ) -> Step:
        """Run a plan that is no single call as a step, and return the step."""
        nbytes = 0 if plan.graph.may_wait else bytes_held(feeds)
        if not self._inflight.enter_nowait(nbytes):
            limit = await self._wait_for_turn(nbytes, limit)
        try:
            kept = await kept_feeds(feeds, pool) if feeds else feeds
            step = self._steps.new(plan, options, pool, limit)
            try:
                graph_of(plan, step).begin(step, kept)
                if not step.done:
                    await self._steps.wait(step, limit, options)
                step.result()
            finally:
                self._steps.end(step)
        finally:
            self._inflight.leave(nbytes)
        return step

    async def _wait_for_turn(self, nbytes: int, limit: float | None) -> float | None:
        """Wait until a run may be under way; return the seconds that it has left."""
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT if limit is None else limit)
        self._waiting_on = asyncio.get_running_loop()
        await self._inflight.enter(deadline, nbytes)
        return deadline.time_left

    def _run_inline(
        self, plan: DirectPlan, feeds: Sequence[Any], limit: float | None,
        options: RunOptions | None,
    ) -> Sequence[Any]:  # fmt: skip
        assert plan.inline is not None
        if limit is None:
            return plan.inline.run(feeds, self._gate)
        return plan.inline.run(feeds, TimedGate(self._gate, self._steps.deadline(limit, options)))

    def _report(
        self,
        plan: DirectPlan,
        step: Step | None,
        options: RunOptions | None,
        metadata: RunMetadata,
    ) -> None:
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

    def _partial_step(
        self, plan: PartialPlan, on_loop: bool, options: RunOptions | None
    ) -> tuple[Step, LoadedGraph]:
        self._tally.begin_partial_run()
        pool = self._pools.choose(None) if on_loop else None
        step = self._steps.new(plan, options, pool, None)
        return step, graph_of(plan, step)

    async def why(self, within: float) -> HangReport:
        """Return ``why_here()``, for ``AsyncSession``; the loop goes on between two looks."""
        looks = Looks(within)
        for pause in looks.pauses(self._waits, time.monotonic):
            await asyncio.sleep(pause)
        return explain(looks.waits)

    def why_here(self, within: float) -> HangReport:
        """Return what the session's steps wait for; callable from any thread while they run in others.

        Args:
            within: seconds in which to see which of them move.
        """
        looks = Looks(within)
        for pause in looks.pauses(self._waits, time.monotonic):
            time.sleep(pause)
        return explain(looks.waits)

    def _waits(self) -> TaskWaits:
        runs, total = self.partial_runs.waits(MOST), len(self.partial_runs)
        inflight = self._inflight.statistics()
        master = MasterWaits(
            session="", task=LOCAL_TASK, partial_runs=tuple(runs), left_out=total - len(runs),
            in_flight=inflight.in_flight, waiting=inflight.waiting,
        )  # fmt: skip
        waits = local_wait_graph(self._steps.now(), LOCAL_TASK, self._gate, self._pools.all)
        return replace(waits, masters=(master,))

    async def reattach(self) -> Reattached:
        """Refuse: a session in this process has no tasks.

        Raises:
            UnimplementedError: always.
        """
        raise UnimplementedError(
            "a session in this process has no tasks that could restart: reattach() is for sessions "
            "with a target"
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
        self.cancel_steps(CancelledError(SESSION_CLOSED))
        for executor in self._executors.values():
            executor.close(CancelledError(SESSION_CLOSED))
        self._planning.close(CancelledError(SESSION_CLOSED))
        if self._waiting_on is not None:  # of another thread perhaps, and perhaps closed already
            with contextlib.suppress(RuntimeError):
                self._waiting_on.call_soon_threadsafe(
                    self._inflight.close, CancelledError(SESSION_CLOSED)
                )
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
            waiting=self._inflight.statistics().waiting,
            pending=sum(sum(step.rendezvous.pending) for step in steps),
            partial_runs=len(self.partial_runs),
            tensor_handles=len(self.tensors),
            variables=sum(r.variables for r in resources),
            variable_bytes=sum(r.nbytes for r in resources),
            offloaded=self._pools.submitted,
            devices=statistics_by_device(self._executors.values()),
            graph_passes=self.planner.pass_statistics(),
        )

"""The steps of one session at its master: those under way, what they share, and their limits.

A step is a ``MasterStep`` over the client graph of its run signature, or a partial run. Owned by a
``MasterSession``; the programs of plans run in it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Coroutine, Sequence
from functools import cached_property
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.supervision import Children
from actorsession.actors.timer_wheel import TimerWheel
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.debug_runs import DebugRuns
from actorsession.cluster.master.master_step import MasterProgram, MasterStep
from actorsession.cluster.master.partial_runs import MasterRun, PartialProgram
from actorsession.cluster.master.program import Program
from actorsession.cluster.master.session_plans import SessionPlans
from actorsession.cluster.master.step_answer import merged_stats, step_metadata
from actorsession.cluster.master.step_observer import Observation, StepObserver
from actorsession.cluster.master.step_parts import Measured, step_ids
from actorsession.cluster.master.task_clocks import TaskClocks
from actorsession.cluster.master.unconfirmed_values import UnconfirmedValues
from actorsession.cluster.worker.worker_session import BeginPart, BindPart
from actorsession.config import DEFAULT_STEP_TIMEOUT, RunOptions, StepStats, whose_limit
from actorsession.config.limits import check_run_size
from actorsession.config.step_record import StepKind
from actorsession.errors import OpError
from actorsession.messages.session import PrepareStep
from actorsession.messages.step_frames import StepRequest
from actorsession.metrics import BOUNDS, SessionTally
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import DebugSignature, RunSignature, Wiring
from actorsession.rpc.local_calls import ClientRun
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.admission import Admission
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.step_log import Whole, error_text
from actorsession.runtime.wait_graph import MasterWaits
from transports.host import current_host

__all__ = ["SessionSteps"]

_NO_OPTIONS = RunOptions()
_LOCAL_STEP = CallContext(NEVER)


class SessionSteps:
    """The steps of one session.

    Args:
        plans: the plans of the session.
        admission: the admission of the steps of all sessions of the master; the session gets a share of it.
        observer: the observations of the steps.
        children: the session's children, which own runs that cannot begin at once.
        tally: the counters of the session.

    Attributes:
        handle: the handle of the session.
        plans: the plans.
        tally: the counters of the session.
        workers: the worker of each task.
        wheel: the deadlines of the steps.
        observer: the observations of the steps.
        deliveries: the answers that the client has to confirm.
        debug_runs: the debugged steps whose values the client may take.
        partials: the open partial runs.
        preparing: how many runs wait for their plan or their turn.
        over: what runs are told once the session is closed.
        admission: the session's share of the master's admission.
        limit: the seconds that a step may take by default.
        step_log: keeps the last steps of the server; ``None`` if none are kept.
        errors: keeps its last errors.
        last_used: the time of the latest request by the monotonic clock.
        now: reads that clock.
        step_ids: the numbers of new steps.
    """

    def __init__(
        self, plans: SessionPlans, admission: Admission, observer: StepObserver, children: Children, tally: SessionTally
    ) -> None:
        config = plans.cluster.config
        self.handle = plans.cluster.handle
        self.plans = plans
        self.workers = plans.members.workers
        self.observer = observer
        self._children = children
        self.tally = tally
        self._infer_shapes = config.graph_options.infer_shapes
        self._metadata = config.experimental.session_metadata
        self.limit = config.operation_timeout or DEFAULT_STEP_TIMEOUT
        self._whose_limit = whose_limit(0, config.operation_timeout_in_ms)
        self._graphs = plans.graphs
        self._durations = plans.cluster.env.step_seconds
        self._running: dict[int, MasterStep] = {}
        self.wheel = TimerWheel()
        self.deliveries = UnconfirmedValues()
        self.debug_runs = DebugRuns(self.handle, self.workers)
        self.partials: PartialRunMgr[MasterRun] = PartialRunMgr(config.partial_run_idle_limit_in_ms / 1000, self.handle)
        self.admission = admission.share(config.max_inflight_steps, config.max_inflight_bytes)
        self.now = current_host().clock.monotonic
        self.step_ids = current_host().own(step_ids)
        self.last_used = self.now()
        self.step_log, self.errors = plans.cluster.env.step_log, plans.cluster.env.errors
        self.preparing = 0
        self.over: OpError | None = None

    @cached_property
    def clocks(self) -> TaskClocks:
        """The clocks of the tasks, which traced steps compare."""
        return TaskClocks(self.plans.cluster.task)

    # -- plans ---------------------------------------------------------------------------------

    def program(self, message: PrepareStep) -> Program:
        """Return the step program of a plan that a client runs for the first time.

        Raises:
            InvalidArgumentError: for a plan that can never be run.
            ResourceExhaustedError: if there are too many names.
        """
        signature = _signature(message)
        if message.partial:
            return PartialProgram(self, self.plans.partial_graphs, signature, self.partials)
        return MasterProgram(self, self._graphs, signature)

    @property
    def must_prepare(self) -> bool:
        """Whether a step has to wait for a change of the session's tasks; always once it is closed."""
        return self.over is not None or self.plans.membership.changed

    async def acquire(self, graphs: ClientGraphs, signature: RunSignature, deadline: Deadline) -> ClientGraph:
        """Return the registered client graph of a plan; the caller must release it.

        Raises:
            OpError: as ``SessionPlans.acquire`` does, or because the session is closed.
        """
        if self.over is not None:
            raise self.over
        return await self.plans.acquire(graphs, signature, deadline)

    async def prepare(self, message: PrepareStep, deadline: Deadline) -> None:
        """Plan a step and register its graphs, so that its first run begins at once.

        Raises:
            InvalidArgumentError: for a plan that can never be run.
            OpError: as ``acquire`` does.
        """
        signature = _signature(message)
        if message.partial:
            check_signature(signature)
        graphs = self.plans.partial_graphs if message.partial else self._graphs
        graphs.release(await self.acquire(graphs, signature, deadline))

    # -- what steps need -----------------------------------------------------------------------

    def step_calls(self, task: str) -> StepCalls | None:
        """Return the step frames of the link to another task."""
        return self.plans.members.step_calls(task)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a child of the session."""
        return self._children.start(work, name=name, awaited=True)

    def bind_part(self, task: str, graph_handle: str) -> BeginPart:
        """Return what begins partitions of the master's own task; see ``BindPart``.

        Raises:
            OpError: if the session or the partitions are gone there.
        """
        request = BindPart(self.handle, graph_handle)
        bound: BeginPart = self.workers[task].submit(request, _LOCAL_STEP)
        return bound

    def seconds_of(self, run: ClientRun) -> float:
        """Return the seconds that a run may take from now on."""
        limit, asked = run.seconds, run.asked
        seconds = self.limit if limit is None else limit
        return seconds if asked is None else max(seconds - getattr(asked, "waited", 0.0), 0.0)

    def deadline_of(self, run: ClientRun) -> Deadline:
        """Return the deadline of a run."""
        return Deadline.after(self.seconds_of(run), whose=self.whose_limit(run.seconds))

    def whose_limit(self, limit: float | None) -> str:
        """Return whose limit that of a run is, as words for errors."""
        return self._whose_limit if limit is None else whose_limit(round(limit * 1000), 0)

    # -- how they go ---------------------------------------------------------------------------

    def use(self) -> None:
        """Record that a client uses the session."""
        self.last_used = self.now()

    def began(self, step: MasterStep, graph: ClientGraph) -> None:
        """Record that a step has begun."""
        self.last_used = step.since
        self.tally.runs += 1
        graph.users += 1
        graph.last_used = step.since
        self._running[step.step_id] = step

    def ended(self, step: MasterStep, graph: ClientGraph, nbytes: int, error: OpError | None = None) -> None:
        """Record that a step has ended, and with which error."""
        del self._running[step.step_id]
        now, durations, log = self.now(), self._durations, self.step_log
        durations.counts[bisect_left(BOUNDS, now - step.since)] += 1  # without a call
        durations.sum += now - step.since
        if log is not None:
            text = "" if error is None else error_text(error)
            names = graph.signature
            feeds, fetches, targets, began = names.feeds, names.fetches, names.targets, step.since
            log.wholes.append(
                (step.step_id, self.handle, "run", feeds, fetches, targets, began, now, text, "", step.trace_id)
            )
            if len(log.wholes) >= log.full:
                log.trim()
        if error is not None:
            self.errors.note(error, session=self.handle, step_id=step.step_id)
        graph.users -= 1
        if graph.dropped and not graph.users:
            self._graphs.drop(graph)
        self.admission.leave(nbytes)

    def under_way(self) -> list[Whole]:
        """Return the steps and partial runs that have not ended, for the log of the last steps."""
        steps: list[tuple[int, StepKind, RunSignature, float]] = [
            (step.step_id, "run", step.signature, step.since) for step in list(self._running.values())
        ]
        steps += [(r.step.step_id, "partial", r.step.graph.signature, r.since) for r in self.partials.open_runs()]
        return [
            Whole(step_id, self.handle, kind, names.feeds, names.fetches, names.targets, since, 0.0, "")
            for step_id, kind, names, since in steps
        ]

    def is_over(self, step_id: int) -> bool:
        """Return whether a step has ended."""
        return step_id not in self._running

    def merged_stats(self, step: MasterStep, measured: Sequence[Measured], asked: StepRequest | None) -> StepStats:
        """Return what all tasks have measured of a traced step; see ``merged_stats`` of ``step_answer``."""
        began = current_host().clock.time() - (self.now() - step.since)
        return merged_stats(step.step_id, measured, self.clocks, asked, began)

    def metadata(
        self, graph: ClientGraph, stats: StepStats | None, options: RunOptions, observed: Observation | None
    ) -> dict[str, Any] | None:
        """Return the metadata of a step that has run; see ``step_metadata``."""
        return step_metadata(
            graph,
            stats,
            options,
            observed,
            self.observer,
            self._infer_shapes,
            self._metadata,
            self.plans.members.devices.client_device,
        )

    @property
    def busy(self) -> bool:
        """Whether a step is in flight or waits to begin, or a partial run is open."""
        return bool(self._running or self.preparing or len(self.partials))

    def waits(self, most: int) -> MasterWaits:
        """Return what the session waits for, as far as the master can see, with at most ``most`` steps."""
        steps = list(self._running.values())
        now, inflight = self.now(), self.admission.statistics()
        partial_runs = self.partials.waits(most)
        return MasterWaits(
            session=self.handle,
            task=self.plans.cluster.task,
            steps=tuple([(s.step_id, now - s.since, s.unfinished) for s in steps[:most]]),
            registering=self._graphs.registering[:most],
            in_flight=inflight.in_flight,
            waiting=inflight.waiting,
            partial_runs=tuple(partial_runs),
            left_out=max(0, len(steps) - most) + len(self.partials) - len(partial_runs),
        )

    def fail(self, why: OpError) -> None:
        """End all steps with an error; none begins any more, and partial runs take no more calls."""
        what = f"session {self.handle!r} is not known to the master {self.plans.cluster.task} any more"
        self.over = type(why)(f"{what}: {why.message}")
        for step in list(self._running.values()):
            step.fail(type(why)(f"session {self.handle!r} was closed: {why.message}"))
        self.wheel.close()
        self.admission.close(why)

    def close(self, why: OpError) -> None:
        """End the partial runs with an error, and settle what is left of the steps."""
        self.partials.abort_all(why)
        self.deliveries.close()
        self.observer.close()


def _signature(message: PrepareStep) -> RunSignature:
    """Return the signature of a plan; that of debugged runs is another than that of plain ones.

    Raises:
        InvalidArgumentError: for malformed options.
        ResourceExhaustedError: if there are too many names.
    """
    options = RunOptions.from_wire(message.options) if message.options else _NO_OPTIONS
    plain = RunSignature(
        tuple(message.feeds),
        tuple(message.fetches),
        tuple(message.targets),
        Wiring.from_wire(message.wiring),
        options.experimental.collective_graph_key,
    )
    check_run_size(plain.size)
    debug = options.debug_options
    if not debug.active:
        return plain
    return DebugSignature(
        plain.feeds, plain.fetches, plain.targets, plain.wiring, plain.collective_graph_key, debug_options=debug.of_plan
    )

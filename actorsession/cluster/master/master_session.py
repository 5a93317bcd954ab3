"""The MasterSession: the session of one client at its master.

An actor that belongs to its master. It extends a ``SessionGraph`` with the nodes of the client's graph and
runs steps. Each step is a ``MasterStep`` over the client graph of its run signature.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.timer_wheel import TimerWheel
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.client_run import ClientRun
from actorsession.cluster.master.debug_runs import DebugRuns
from actorsession.cluster.master.device_discovery import RETRY, sooner, too_few_answer
from actorsession.cluster.master.env import Changes, MasterEnv
from actorsession.cluster.master.master_program import MasterProgram, Program
from actorsession.cluster.master.master_step import MasterStep
from actorsession.cluster.master.partial_runs import PartialProgram
from actorsession.cluster.master.partial_step import MasterRun
from actorsession.cluster.master.restart_losses import place_of, restart_losses
from actorsession.cluster.master.session_graph import SessionGraph
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.cluster.master.step_answer import step_metadata
from actorsession.cluster.master.step_observer import Observation, StepObserver
from actorsession.cluster.master.unconfirmed_values import UnconfirmedValues
from actorsession.cluster.server.statistics import OpenSession
from actorsession.cluster.wait_graphs import collect_wait_graphs
from actorsession.cluster.worker.worker_session import BeginPart, BindPart
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunOptions, whose_limit
from actorsession.config.limits import check_run_size
from actorsession.durations import checked_milliseconds, in_seconds
from actorsession.errors import (
    AbortedError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    WorkerRestartedError,
    error_from_wire,
)
from actorsession.graph.device import device_task
from actorsession.graph.function import nodes_in, size_of
from actorsession.graph.kept_state import named
from actorsession.graph.node import GraphDef, NodeDef
from actorsession.messages.done import Done
from actorsession.messages.session import (
    AskSessionWhy,
    DeviceList,
    ExtendSession,
    FindPlacement,
    ListDevices,
    PartialRunDrop,
    PlacementFound,
    PrepareStep,
    ReattachSession,
    SessionExtended,
    SessionReattached,
    SessionWhy,
    StepValues,
    TakeStepValues,
    TasksPresent,
    WaitForTasks,
)  # fmt: skip
from actorsession.messages.worker import AskVariables
from actorsession.metrics import session_tally
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partial import check_signature
from actorsession.plan.placement_log import log_devices
from actorsession.plan.signature import DebugSignature, RunSignature, Wiring
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.admission import Admission, AdmissionStatistics
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.planning import Planning
from actorsession.runtime.wait_graph import MasterWaits

__all__ = ["MasterSession"]

T = TypeVar("T")
# The most seconds between two looks at whether tasks that a client waits for answer.
_LOOK = 0.5
_NO_OPTIONS = RunOptions()
_LOCAL_STEP = CallContext(NEVER)


class MasterSession(Actor):
    """One session of one client.

    Args:
        handle: the name of the session.
        config: the client's settings, merged over the server's.
        env: the environment of the master.
        target: the address that the client connected to, as the client wrote it.
        admission: the admission of the steps of all sessions of the master; the session gets a share of it.
        planning: runs large pieces of planning in a worker thread; owned by the session from now on.
        client: the client's id for its session; see ``CreateSession``.
        address: the address of the client.

    Attributes:
        client: the client's id for its session.
        wheel: the deadlines of the steps.
        observer: the observations of its steps.
        deliveries: the answers that the client has to confirm.
        debug_runs: the debugged steps whose values the client may take.
        partials: the open partial runs.
        preparing: how many runs wait for their plan or their turn.
        over: what runs are told once the session is closed.
        admission: the session's share of the master's admission.
        last_used: the time of the latest request by the monotonic clock; the master keeps it.

    Raises:
        InvalidArgumentError: as ``SessionMembers`` does.
    """

    def __init__(
        self, handle: str, config: ConfigProto, env: MasterEnv, target: str, admission: Admission,
        planning: Planning, client: str = "", address: str = "",
    ) -> None:  # fmt: skip
        super().__init__(f"master session {handle}")
        self.handle, self.client, self._address = handle, client, address
        self._config = config
        self.observer = StepObserver(handle, config, env.stats_publisher_factory)
        self._infer_shapes = config.graph_options.infer_shapes
        self._step_limit = config.operation_timeout or DEFAULT_STEP_TIMEOUT
        self._restart_wait = env.restart_wait
        self._whose_step_limit = whose_limit(0, config.operation_timeout_in_ms)
        members = self._members = SessionMembers(
            handle, config, env, target, self._forget_task, self._use_devices
        )
        self._workers = members.workers
        # The graph is accessed by one of these at a time: pieces of planning, or code on the event loop.
        self._planning = planning
        self._tally = session_tally("master", self)
        self._graph = SessionGraph(
            config, members, self._planning.check, handle, target, self._tally
        )
        self._graphs = ClientGraphs(
            handle, members.workers, self._graph.build, config.plan_cache_size, self.children,
            members.renew, members.bring_in, self._planning, lambda: self._graph.size,
            self.observer.forget, self.observer.costs,
            lambda: members.group_leader(config.experimental.collective_group_leader),
        )  # fmt: skip
        self._moves = 0  # moves of nodes after which the former client graphs were dropped
        self._lost: dict[str, None] = {}  # variables lost with a task that have had no value since
        self._running: dict[int, MasterStep] = {}
        self.wheel = TimerWheel()
        self.deliveries = UnconfirmedValues()
        self.debug_runs = DebugRuns(handle, members.workers)
        self._partial_graphs = ClientGraphs(
            handle, members.workers, self._graph.build_partial, config.plan_cache_size, self.children,
            members.renew, members.bring_in, self._planning, lambda: self._graph.size,
        )  # fmt: skip
        self.partials: PartialRunMgr[MasterRun] = PartialRunMgr(
            config.partial_run_idle_limit_in_ms / 1000, handle
        )
        self.admission = admission.share(config.max_inflight_steps, config.max_inflight_bytes)
        self.last_used = time.monotonic()
        self.preparing = 0
        self._closed = False
        self.over: OpError | None = None

    def limited(self, deadline: Deadline) -> Deadline:
        """Return the deadline of a call, within the session's ``operation_timeout_in_ms``.

        The client keeps its own limit. Here that of the server acts, where the client has none.
        """
        limit = self._config.operation_timeout
        return deadline if limit is None else deadline.within(limit)

    @property
    def closed(self) -> bool:
        """Whether the session was closed, or is being closed."""
        return self._closed

    def idle_for(self, now: float) -> float:
        """Return the seconds since the last request; 0 while a step is in flight or a partial run is open."""
        busy = self._running or self.preparing or self.statistics().in_flight or self.partial_runs
        return 0.0 if busy else now - self.last_used

    # -- graph ---------------------------------------------------------------------------------

    async def open(self, graph: GraphDef, deadline: Deadline) -> int:
        """Open the session at its tasks, and extend its empty graph; see ``SessionMembers.join``.

        Returns:
            The version of the graph.
        """
        await self._members.join(sooner(deadline))
        if self._config.log_device_placement:
            log_devices(self._members.devices.devices)
        return await self.extend(graph, deadline)

    async def extend(self, graph: GraphDef, deadline: Deadline) -> int:
        """Extend the graph with nodes, all or none, and return the new version; see ``SessionGraph.extend``.

        Absent tasks are asked again if the new nodes request devices about which nothing is known.
        """
        nodes = size_of(graph.nodes)
        unknown = await self._unknown(nodes, lambda: graph)
        if unknown:
            await self._members.retry_absent(deadline, unknown)
        return await self._plan(nodes, lambda: self._graph.extend(graph))

    async def _unknown(self, nodes: float, graph: Callable[[], GraphDef]) -> Collection[str]:
        """Return the tasks whose unknown devices the new nodes request; see ``SessionGraph.unknown``."""
        if not self._members.missing:
            return ()
        return await self._plan(nodes, lambda: self._graph.unknown(graph()))

    async def _plan(self, nodes: float, work: Callable[[], T]) -> T:
        """Do work on the graph, in a worker thread if it is large or other work is queued there."""
        return await self._planning.run(work) if self._planning.must_wait(nodes) else work()

    @answers(ExtendSession, once=True, keep_answer=True)
    def on_extend(
        self, message: ExtendSession, call: CallContext
    ) -> SessionExtended | Awaitable[SessionExtended]:
        """Extend the graph with nodes that the client added, if the client has the current version."""
        if self._members.changed or self._planning.must_wait(_nodes_of(message)):
            return self._extend_later(message, self.limited(call.deadline))
        try:
            return self._extend(message)
        except InvalidArgumentError:
            if not self._members.missing:
                raise
            return self._extend_anew(message, self.limited(call.deadline))

    async def _extend_later(self, message: ExtendSession, deadline: Deadline) -> SessionExtended:
        await self._follow(deadline)
        try:
            return await self._plan(_nodes_of(message), lambda: self._extend(message))
        except InvalidArgumentError:
            if not self._members.missing:
                raise
            return await self._extend_anew(message, deadline)

    async def _extend_anew(self, message: ExtendSession, deadline: Deadline) -> SessionExtended:
        """Ask the tasks that new nodes may need and that were absent or are new, then extend the graph."""
        await self._follow(deadline)
        nodes = _nodes_of(message)
        if self._members.missing:
            unknown = await self._unknown(nodes, lambda: GraphDef.from_wire(message.graph))
            await self._members.retry_absent(deadline, unknown)
        return await self._plan(nodes, lambda: self._extend(message))

    def _extend(self, message: ExtendSession) -> SessionExtended:
        if message.current_graph_version != self._graph.version:
            raise AbortedError(
                f"the session's graph has version {self._graph.version}, the extension was made for "
                f"{message.current_graph_version}"
            )
        return SessionExtended(graph_version=self._graph.extend(GraphDef.from_wire(message.graph)))

    @answers(ListDevices)
    def on_list_devices(
        self, message: ListDevices, call: CallContext
    ) -> DeviceList | Awaitable[DeviceList]:
        """Ask new and absent tasks, then return the session's devices, the client device first."""
        later = self._members.missing or self._members.changed
        return self._list_later(self.limited(call.deadline)) if later else self._list()

    async def _list_later(self, deadline: Deadline) -> DeviceList:
        await self._follow(deadline)
        await self._members.retry_absent(deadline)
        return self._list()

    def _list(self) -> DeviceList:
        first = self._members.devices.client_device
        ordered = sorted(self._members.devices.devices, key=lambda d: d.name != first)
        return DeviceList(devices=[d.to_wire() for d in ordered])

    @answers(FindPlacement)
    async def on_find_placement(self, message: FindPlacement, call: CallContext) -> PlacementFound:
        """Return the device of each node that is placed, with the reason."""
        await self._follow(call.deadline)
        placed = await self._plan(self._graph.size, self._graph.placement)
        return PlacementFound(
            devices={name: where.device for name, where in placed.items()},
            reasons={name: where.reason for name, where in placed.items()},
        )

    # -- steps ---------------------------------------------------------------------------------

    def program(self, message: PrepareStep) -> Program:
        """Return the step program of a plan that a client runs for the first time.

        Raises:
            InvalidArgumentError: for a plan that can never be run.
            ResourceExhaustedError: if there are too many names.
        """
        signature = _signature(message)
        if message.partial:
            return PartialProgram(self, self._partial_graphs, signature, self.partials)
        return MasterProgram(self, self._graphs, signature)

    @property
    def must_prepare(self) -> bool:
        """Whether a step has to wait for a change of the session's tasks; always once it is closed."""
        return self._closed or self._members.changed

    async def acquire(
        self, graphs: ClientGraphs, signature: RunSignature, deadline: Deadline
    ) -> ClientGraph:
        """Return the registered client graph of a plan; the caller must release it.

        Raises:
            WorkerRestartedError: naming the variables that were lost.
            OpError: as ``ClientGraphs.acquire`` does, or because the session is closed.
        """
        if self.over is not None:
            raise self.over
        try:
            return await self._acquire(lambda: graphs.acquire(signature, deadline), deadline)
        except WorkerRestartedError as error:
            raise await self._with_losses(error) from error

    def step_calls(self, task: str) -> StepCalls | None:
        """Return the step frames of the link to another task."""
        return self._members.step_calls(task)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a child of the session."""
        return self.children.start(work, name=name, awaited=True)

    def use(self) -> None:
        """Record that a client uses the session."""
        self.last_used = time.monotonic()

    def began(self, step: MasterStep, graph: ClientGraph) -> None:
        """Record that a step has begun."""
        self.last_used = step.since
        self._tally.runs += 1
        self._graphs.hold(graph)
        self._running[step.step_id] = step

    def ended(self, step: MasterStep, graph: ClientGraph, nbytes: int) -> None:
        """Record that a step has ended."""
        del self._running[step.step_id]
        self._graphs.release(graph)
        self.admission.leave(nbytes)

    def is_over(self, step_id: int) -> bool:
        """Return whether a step has ended."""
        return step_id not in self._running

    def set_up(self, run: ClientRun, opened: MasterRun) -> None:
        """Record that a partial run was set up."""
        self.use()
        self._tally.begin_partial_run()
        graph, handle = opened.step.graph, opened.state.handle
        if graph.survey is not None:
            self.debug_runs.add(
                handle, opened.step.step_id, graph, lambda: handle not in self.partials
            )

    def metadata(
        self, graph: ClientGraph, step_id: int, stats: Sequence[list[Any]], options: RunOptions,
        observed: Observation | None,
    ) -> dict[str, Any] | None:  # fmt: skip
        """Return the metadata of a step that has run; see ``step_metadata``."""
        return step_metadata(
            graph, step_id, stats, options, observed, self.observer, self._infer_shapes,
            self._config.experimental.session_metadata, self._members.devices.client_device,
        )  # fmt: skip

    def bind_part(self, task: str, graph_handle: str) -> BeginPart:
        """Return what begins partitions of the master's own task; see ``BindPart``.

        Raises:
            OpError: if the session or the partitions are gone there.
        """
        request = BindPart(self.handle, graph_handle)
        bound: BeginPart = self._workers[task].submit(request, _LOCAL_STEP)
        return bound

    @property
    def workers(self) -> Mapping[str, Ref]:
        """The worker of each task."""
        return self._workers

    @property
    def devices(self) -> DeviceSet:
        """The devices of the session."""
        return self._members.devices

    def seconds_of(self, run: ClientRun) -> float:
        """Return the seconds that a run may take from now on."""
        limit, asked = run.seconds, run.asked
        seconds = self._step_limit if limit is None else limit
        return seconds if asked is None else max(seconds - getattr(asked, "waited", 0.0), 0.0)

    def deadline_of(self, run: ClientRun) -> Deadline:
        """Return the deadline of a run."""
        return Deadline.after(self.seconds_of(run), whose=self.whose_limit(run.seconds))

    def whose_limit(self, limit: float | None) -> str:
        """Return whose limit that of a run is, as words for errors."""
        return self._whose_step_limit if limit is None else whose_limit(round(limit * 1000), 0)

    @answers(PrepareStep)
    async def on_prepare_step(self, message: PrepareStep, call: CallContext) -> Done:
        """Plan a step and register its graphs, so that its first run begins at once."""
        signature = _signature(message)
        if message.partial:
            check_signature(signature)
        graphs = self._partial_graphs if message.partial else self._graphs
        graph = await self.acquire(graphs, signature, self.limited(call.deadline))
        graphs.release(graph)
        return Done()

    def review(self, graph: ClientGraph) -> None:
        """Check the placement after a step, if that is due."""
        if self.observer.is_review_due(graph):
            self._start_review()

    def _start_review(self) -> None:
        """Check the placement when no planning is in progress; no step waits for that."""
        if self._planning.must_wait(self._graph.size):
            reviewed = self._planning.start(self._review_placement())
            reviewed.add_done_callback(lambda ended: self._reviewed())
        else:
            self._review_placement()()
            self._reviewed()

    def _review_placement(self) -> Callable[[], None]:
        """Return a function that checks the placement for the devices that the members have now."""
        review, members, graph = self.observer.review, self._members, self._graph
        assert review is not None
        devices, threads, home = members.devices, members.threads, members.task
        return lambda: review.check(graph.nodes, devices, threads, graph.move_nodes, home)

    def _reviewed(self) -> None:
        """Drop the client graphs of the former placement, if nodes were moved."""
        review = self.observer.review
        if review is not None and review.moves > self._moves:
            self._moves = review.moves
            self._graphs.forget(self._workers)

    @property
    def unconfirmed(self) -> int:
        """The number of answers that the client has not confirmed yet."""
        return len(self.deliveries)

    @answers(TakeStepValues)
    async def on_take_step_values(self, message: TakeStepValues, call: CallContext) -> StepValues:
        """Take what was watched in a debugged step, or in a partial run so far."""
        return await self.debug_runs.take(message)

    @answers(AskSessionWhy, direct=True)
    def on_why(self, message: AskSessionWhy, call: CallContext) -> asyncio.Task[SessionWhy]:
        """Collect from all tasks what the session's steps wait for.

        Direct, because the mailbox may be full of requests that hang.
        """
        return self.children.start(self._why(message), name="why", awaited=True)

    async def _why(self, message: AskSessionWhy) -> SessionWhy:
        asks = {task: worker.ask for task, worker in self._workers.items()}
        found = await collect_wait_graphs(
            asks, self.handle, Deadline.after(in_seconds(_checked(message)))
        )
        return SessionWhy(waits=[w.to_wire() for w in found.waits], silent=found.silent)

    def waits(self, most: int) -> MasterWaits:
        """Return what the session waits for, as far as the master can see, with at most ``most`` steps."""
        steps = list(self._running.values())
        now, inflight = time.monotonic(), self.inflight
        partial_runs = self.partials.waits(most)
        return MasterWaits(
            session=self.handle,
            task=self._members.task,
            steps=tuple([(s.step_id, now - s.since, s.unfinished) for s in steps[:most]]),
            registering=self._graphs.registering[:most],
            in_flight=inflight.in_flight,
            waiting=inflight.waiting,
            partial_runs=tuple(partial_runs),
            left_out=max(0, len(steps) - most) + self.partial_runs - len(partial_runs),
        )

    # -- partial runs --------------------------------------------------------------------------

    @answers(PartialRunDrop)
    def on_partial_run_drop(self, message: PartialRunDrop, call: CallContext) -> Done:
        """Cancel a partial run."""
        self.partials.abort(message.partial_run_handle, error_from_wire(message.error))
        return Done()

    @property
    def partial_runs(self) -> int:
        """The number of open partial runs."""
        return len(self.partials)

    def session_statistics(self) -> OpenSession:
        """Return the counters of the session, with its client's name for it and the client's address."""
        metadata, inflight = self._config.experimental.session_metadata, self.inflight
        return OpenSession(
            session_handle=self.handle, name="" if metadata is None else metadata.name,
            client=self._address, steps=inflight.in_flight, waiting=inflight.waiting,
            runs=self._tally.runs, partial_runs=self.partial_runs,
        )  # fmt: skip

    @property
    def inflight(self) -> AdmissionStatistics:
        """The numbers of steps that are in flight and that wait for admission."""
        return self.admission.statistics()

    # -- members -------------------------------------------------------------------------------

    async def _follow(self, deadline: Deadline) -> None:
        """Apply the changes of the cluster, if there are any."""
        if self._members.changed:
            await self._apply(await self._members.follow(deadline))

    async def _acquire(self, attempt: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Register a graph; retry if a task has restarted and the session has lost no state with it.

        Where lost tasks are started again, this waits for them. Nothing of the step has begun yet.
        """
        await self._follow(deadline)
        restarted, limit = "", sooner(deadline.within(self._restart_wait))
        while True:
            try:
                if restarted:
                    await self._members.rejoin(restarted, deadline)
                    self._forget_task(restarted)
                    restarted = ""
                return await attempt()
            except WorkerRestartedError as error:
                restarted = error.task or ""
                if deadline.expired or self._graph.keeps_state(restarted):
                    raise
            except UnavailableError as error:
                if not self._restart_wait or not error.task:
                    raise
                if not await self._members.comes_back(error.task, limit):
                    raise

    async def _apply(self, changes: Changes) -> None:
        if changes:
            self._forget(changes.stale)
            await self._plan(0, self._graph.device_update())
            # Plans that were built for the former devices in the meantime are cached by now.
            self._forget(changes.stale)

    def _forget(self, tasks: Collection[str]) -> None:
        self._graphs.forget(tasks)
        self._partial_graphs.forget(tasks)

    def _use_devices(self) -> None:
        """Plan for the current devices, as soon as the planning that is in progress has ended."""
        self._plan_soon(self._graph.device_update())

    def _plan_soon(self, work: Callable[[], None]) -> None:
        if self._planning.busy:
            _ = self._planning.start(work)
        else:
            work()

    def _forget_task(self, task: str) -> None:
        """Forget what was registered at a task, because the worker's side of the session is lost.

        A session must not need a task that it needs only because of its cost model.
        """
        self._forget({task})
        if self.observer.review is not None:
            self._plan_soon(lambda: self._graph.return_nodes(task))

    @answers(WaitForTasks)
    async def on_wait_for_tasks(self, message: WaitForTasks, call: CallContext) -> TasksPresent:
        """Wait until enough tasks of the cluster answer; those that join meanwhile count."""
        chosen, attempts = DeviceFilters([message.tasks]), dict[str, str]()
        deadline, pause = call.deadline.within(in_seconds(_checked(message))), RETRY
        while True:
            await self._members.refresh_addresses(deadline)
            await self._follow(deadline)
            present, absent = await self._members.present(chosen, deadline)
            needed = message.count or len(present) + len(absent)
            if present and len(present) >= needed:
                return TasksPresent(tasks=present)
            if not needed:
                raise InvalidArgumentError(
                    f"the session uses no task {message.tasks!r}; give a count to wait for tasks that join"
                )
            if deadline.expired:
                # That the last attempts were cut short is less informative than the errors before them.
                absent = {task: attempts.get(task, words) for task, words in absent.items()}
                raise too_few_answer(message.tasks, needed, present, absent)
            attempts.update(absent)
            await asyncio.sleep(min(pause, deadline.time_left or 0.0))
            pause = min(2 * pause, _LOOK)

    @answers(ReattachSession, once=True)
    async def on_reattach(self, message: ReattachSession, call: CallContext) -> SessionReattached:
        """Continue with the current tasks of the cluster; tasks that have restarted begin without state."""
        deadline = self.limited(call.deadline)
        changes = await self._members.reattach(self._graph.tasks(), deadline)
        await self._apply(changes)
        # A client that lost its session knows whether this process is another one; others hear it here.
        anew = [self._members.task] if message.anew else []
        restored = [
            name
            for task in dict.fromkeys([*changes.restarted, *anew])
            for name in restart_losses(
                self._graph.variables_of(task), self._members.restored(task)
            )[0]
        ]
        touched = [
            (node, device)
            for node, device in self._graph.variables()
            if message.anew or node.name in self._lost or device_task(device) in changes.restarted
        ]
        # Kept until they have a value, so that a client that fails to restore them can try again.
        self._lost = {node.name: None for node, _ in touched}
        self._lost = dict.fromkeys(await self._without_value(touched, deadline))
        return SessionReattached(
            added=list(changes.added), removed=list(changes.removed),
            restarted=list(changes.restarted), lost=list(self._lost),
            restored=[name for name in restored if name not in self._lost],
        )  # fmt: skip

    async def _without_value(
        self, variables: Sequence[tuple[NodeDef, str]], deadline: Deadline
    ) -> list[str]:
        """Return the names of the variables that have no value at their tasks."""
        by_task: dict[str, list[tuple[NodeDef, str]]] = {}
        for node, device in variables:
            by_task.setdefault(device_task(device), []).append((node, device))
        there = {task: held for task, held in by_task.items() if task in self._workers}
        asks = [
            self._workers[task].ask(
                AskVariables(
                    session_handle=self.handle,
                    variables=[[device, *place_of(node)] for node, device in held],
                ),
                deadline,
            )
            for task, held in there.items()
        ]
        answers = await asyncio.gather(*asks)
        valued = {
            node.name
            for held, answer in zip(there.values(), answers, strict=True)
            for (node, _), has_one in zip(held, answer.valued, strict=True)
            if has_one
        }
        return [node.name for node, _ in variables if node.name not in valued]

    async def _with_losses(self, error: WorkerRestartedError) -> WorkerRestartedError:
        """Return the error, extended with the variables lost with the worker and those that were restored."""
        task = error.task or ""
        restored = await self._members.ask_restored(task)
        back, lost = restart_losses(self._graph.variables_of(task), restored)
        words = [f"Variables lost: {named(lost)}"]
        if restored is not None:
            path = restored.get("path")  # which earlier versions do not send
            words.append(
                f"back from the snapshot after {restored.get('steps')} steps: {named(back)}"
                + (f" (from {path})" if path else "")
            )
        return WorkerRestartedError(f"{error.message}. {'; '.join(words)}", task=task)

    async def close(self, why: OpError) -> None:
        """End all steps with an error and drop the session at its workers; bounded in time, idempotent."""
        if self._closed:
            return
        self._closed = True
        what = f"session {self.handle!r} is not known to the master {self._members.task} any more"
        self.over = type(why)(f"{what}: {why.message}")
        self._planning.close(why)
        for step in list(self._running.values()):
            step.fail(type(why)(f"session {self.handle!r} was closed: {why.message}"))
        self.wheel.close()
        self.admission.close(why)
        self.partials.abort_all(why)
        await self.stop(why)
        self.deliveries.close()
        self.observer.close()
        await self._members.leave()


def _checked(message: AskSessionWhy | WaitForTasks) -> int:
    """Return the limit of a request in milliseconds.

    Raises:
        InvalidArgumentError: if it is out of range.
    """
    return checked_milliseconds("timeout_in_ms", message.timeout_in_ms)


def _signature(message: PrepareStep) -> RunSignature:
    """Return the signature of a plan; that of debugged runs is another than that of plain ones.

    Raises:
        InvalidArgumentError: for malformed options.
        ResourceExhaustedError: if there are too many names.
    """
    options = RunOptions.from_wire(message.options) if message.options else _NO_OPTIONS
    plain = RunSignature(
        tuple(message.feeds), tuple(message.fetches), tuple(message.targets),
        Wiring.from_wire(message.wiring), options.experimental.collective_graph_key,
    )  # fmt: skip
    check_run_size(plain.size)
    debug = options.debug_options
    if not debug.active:
        return plain
    return DebugSignature(
        plain.feeds, plain.fetches, plain.targets, plain.wiring, plain.collective_graph_key,
        debug_options=debug.of_plan,
    )  # fmt: skip


def _nodes_of(message: ExtendSession) -> float:
    """Return the number of nodes that a message carries, as far as it can be determined."""
    return nodes_in(message.graph[-1]) if message.graph else 0

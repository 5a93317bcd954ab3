"""The WorkerSession: the graphs and steps of one session at one worker.

An actor that belongs to its worker. Its devices are either the worker's own, whose variables all sessions
share, or private; the session manager decides. State of stateful kernels (random generators) always belongs
to the session.

A step that has to wait is not a child of the actor: whoever waits for it is called when it ends. A hop of a
step takes a few tens of microseconds, a child alone takes ten.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Protocol, TypeAlias

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import LOCAL, CallContext
from actorsession.cluster.unsent import unsent_fetch
from actorsession.cluster.worker.backpressure import HeldStep, StepGate
from actorsession.cluster.worker.collective_groups import LedGroups, TaskGroups, shared_scope
from actorsession.cluster.worker.debug_runs import TaskDebugRuns
from actorsession.cluster.worker.rpc_log import RpcLog
from actorsession.cluster.worker.worker_rendezvous import (
    RendezvousTable,
    SessionPeers,
    WorkerRendezvous,
)
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InvalidArgumentError,
    OpError,
    from_exception,
)  # fmt: skip
from actorsession.graph.device import DeviceAttributes, device_in_task
from actorsession.graph.function import nodes_in
from actorsession.messages.done import Done
from actorsession.messages.step_frames import GraphRequest, WireValues, extra_to_wire
from actorsession.messages.worker import (
    AskVariables,
    DeregisterGraph,
    GraphRegistered,
    RegisterGraph,
    TakeWatchedValues,
    VariablesFound,
    WatchedValues,
)  # fmt: skip
from actorsession.metrics import session_tally
from actorsession.plan.cost_model import CostModel, prime
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass
from actorsession.rpc.step_calls import ServedRun, encode_apart
from actorsession.runtime.collective.groups import GroupResolver, GroupTable
from actorsession.runtime.debug.task_debugger import TaskDebugPlan, TaskWatches
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.loaded_graph import LoadedGraph, tell_states
from actorsession.runtime.engine.step import Step
from actorsession.runtime.engine.takes import ended_from_outside
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.planning import Planning

__all__ = [
    "BeginPart", "BindPart", "OpenStepRendezvous", "PartWaiter", "WorkerCounters", "WorkerEnv",
    "WorkerSession",
]  # fmt: skip


@dataclass(slots=True)
class WorkerCounters:
    """The counters of a worker over all its sessions.

    Attributes:
        runs: steps started so far.
    """

    runs: int = 0


@dataclass(frozen=True, slots=True)
class WorkerEnv:
    """The environment that the sessions of one worker share.

    Attributes:
        task: the worker's task, by its name in the session.
        devices: the devices of the session.
        executors: one per device, by full name.
        rendezvous: the rendezvous of all steps.
        workers: the other tasks of the session; steps that send over a backlogged link to one of them are
            held.
        pool: threads for kernels.
        counters: the counters of all sessions together.
        log: the log of the messages of steps.
        groups: the groups of collectives at the task.
        peers: the tasks of the session; ``None`` if they are the tasks of the worker's cluster.
    """

    task: str
    devices: tuple[Device, ...]
    executors: Mapping[str, Executor]
    rendezvous: RendezvousTable
    workers: WorkerCacheInterface
    pool: KernelPool | None
    groups: TaskGroups
    counters: WorkerCounters = field(default_factory=WorkerCounters)
    log: RpcLog = field(default_factory=RpcLog)
    peers: SessionPeers | None = None


@dataclass(frozen=True, slots=True)
class OpenStepRendezvous:
    """A request for the rendezvous of a partial run, which exists until ``CleanupGraph`` or an error.

    Answered synchronously; sent by the master in the same process, never over a link.

    Attributes:
        session_handle: the session.
        step_id: the step.
    """

    session_handle: str
    step_id: int


_NO_VALUES = WireValues([])


class PartWaiter(Protocol):
    """Receives the outcome of the partitions of a step at this worker, in the same process."""

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """They have run, returned these values and pushed so many bytes; with statistics if asked for."""

    def part_failed(self, error: OpError) -> None:
        """They have failed."""


PartValues: TypeAlias = tuple[Sequence[Any], int, "list[Any] | None"]
"""What partitions have returned, how many bytes they have pushed, and their statistics in wire form."""
BeginPart: TypeAlias = Callable[
    [int, Sequence[Any], PartWaiter, GraphRequest | None], "PartValues | None"
]
"""Begins partitions for a step, with their feeds; returns what they do, or ``None`` if the waiter gets it."""


@dataclass(frozen=True, slots=True)
class BindPart:
    """A request for what begins partitions for a master in this process; see ``OpenStepRendezvous``.

    Answered with a ``BeginPart``, which raises once the session has ended.

    Attributes:
        session_handle: the session.
        graph_handle: the partitions.
    """

    session_handle: str
    graph_handle: str


@dataclass(slots=True)
class _Registered:
    """A graph with the number of feeds of its steps, its groups, what it sends to, and what is watched."""

    graph: LoadedGraph
    feeds: int
    group_scope: str
    groups: GroupResolver
    sends_to: tuple[str, ...] = ()
    debug: TaskDebugPlan | None = None
    drop_program: Callable[[], None] | None = None
    handle: str = ""
    released: bool = False

    def unsent(self, values: Sequence[Any], error: OpError) -> OpError:
        """Return the error of fetched values that cannot be sent, with the node of the first of them."""
        return unsent_fetch(self.graph.partitions, self.graph.fetches, values, error)


class _PartProgram:
    """The step program of registered partitions, for a master at another task; see ``rpc.step_calls``."""

    __slots__ = ("_registered", "_session")

    def __init__(self, session: WorkerSession, registered: _Registered) -> None:
        self._session = session
        self._registered = registered

    def begin(self, run: ServedRun) -> None:
        """Run the partitions for the step whose id is the number of the run."""
        session, registered = self._session, self._registered
        if registered.released:
            run.gone()
            return
        waiter = _RemoteWaiter(run, registered)
        feeds = run.values.read_all()
        answer = session.begin_part(registered, run.peer, run.call, feeds, waiter, run.asked)
        if answer is None:
            run.on_cancel = partial(session.cancel_part, run.call)
        else:
            waiter.part_done(*answer)


class _RemoteWaiter:
    """The master of a step, at another task."""

    __slots__ = ("_registered", "_run")

    def __init__(self, run: ServedRun, registered: _Registered) -> None:
        self._run = run
        self._registered = registered

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """See ``PartWaiter.part_done``."""
        if values and encode_apart(values, partial(self._write, pushed, stats)):
            return
        self._write(pushed, stats, values)

    def _write(self, pushed: int, stats: list[Any] | None, values: Sequence[Any]) -> None:
        try:
            wire = WireValues.of(values) if values else _NO_VALUES
            extra = (pushed or None) if stats is None else extra_to_wire(pushed, stats)
        except Exception as exc:
            self._run.fail(self._registered.unsent(values, from_exception(exc)))
        else:
            self._run.done(wire, extra)

    def part_failed(self, error: OpError) -> None:
        """See ``PartWaiter.part_failed``."""
        self._run.fail(error)


class WorkerSession(Actor):
    """One session at one worker.

    Args:
        handle: the master's handle for the session.
        env: the environment of the session, shared with other sessions.
        owns_devices: whether the state of the devices is private to the session and ends with it.
    """

    def __init__(self, handle: str, env: WorkerEnv, *, owns_devices: bool = False) -> None:
        super().__init__(f"worker session {handle} on {env.task}")
        self.handle = handle
        self._env = env
        self._owns_devices = owns_devices
        self._states: dict[str, dict[str, Any]] = {}
        self._graphs: dict[str, _Registered] = {}
        self._planning = Planning()
        self._steps: dict[int, Step] = {}
        # Steps that have run and taken something, until the master settles them.
        self._unsettled: dict[int, Step] = {}
        # A share of the session's own, so that sessions take turns in the pool.
        self._pool = None if env.pool is None else env.pool.share()
        self._cluster_devices: Mapping[str, DeviceAttributes] = {}
        self._held_steps = StepGate(env.workers, self.children)
        self._debug_runs = TaskDebugRuns()
        self._gate = Gate()  # never closed: inline steps run on the loop that would close it
        self._over: OpError | None = None
        # The legacy session is there without anybody creating it.
        self._tally = session_tally("worker", self, counts=bool(handle))

    # -- devices -------------------------------------------------------------------------------

    @property
    def cluster_devices(self) -> Mapping[str, DeviceAttributes]:
        """The devices of all tasks by name, if the session shares them with its workers; else none."""
        return self._cluster_devices

    def learn_devices(self, devices: Iterable[Any]) -> None:
        """Store the devices of the session that its master shares, in wire form; none changes nothing.

        Raises:
            ProtocolError: for a malformed device.
        """
        found = [DeviceAttributes.from_wire(device) for device in devices]
        if found:
            self._cluster_devices = {device.name: device for device in found}

    # -- graphs --------------------------------------------------------------------------------

    @answers(RegisterGraph)
    def on_register_graph(
        self, message: RegisterGraph, call: CallContext
    ) -> GraphRegistered | Awaitable[GraphRegistered]:
        """Compile partitions for this worker's devices; large ones in a worker thread."""
        nodes = sum(
            nodes_in(p[1]) for p in message.partitions if isinstance(p, list) and len(p) > 1
        )
        if self._planning.must_wait(nodes):
            return self._register_apart(message, call)
        return self._keep(self._load(message), call)

    async def _register_apart(self, message: RegisterGraph, call: CallContext) -> GraphRegistered:
        registered = await self._planning.run(lambda: self._load(message))
        self._planning.check()
        return self._keep(registered, call)

    def _load(self, message: RegisterGraph) -> _Registered:
        partitions = []
        for wire in message.partitions:
            partitions.append(Partition.from_wire(wire))
            self._planning.check()
        self._check_incarnations(partitions)
        self._check_cluster_devices(partitions)
        debug = None
        if message.debug_options:
            watches = TaskWatches.from_wire(message.debug_options)
            debug = TaskDebugPlan(watches, partitions, self._env.devices[0].resources.files)
        loaded = partitions if debug is None else debug.partitions
        with self._tally.planning():
            graph = LoadedGraph(loaded, self._env.executors, self._states, own_fetches=False)
            if message.costs:
                prime([part.bound for part in graph.parts], CostModel.of_seconds(message.costs))
        feeds = 1 + max((position for p in partitions for position in p.feeds), default=-1)
        groups = self._groups_of(message)
        consumers = self._consumers(partitions)
        return _Registered(graph, feeds, message.group_scope, groups, consumers, debug)

    def _groups_of(self, message: RegisterGraph) -> GroupResolver:
        """Return the groups of a graph: a table if this task alone leads their scope."""
        leader, env = message.group_leader, self._env
        if message.collective_graph_key:
            scope = shared_scope(message.collective_graph_key)
            return env.groups.resolver(
                scope, leader, self.handle, env.workers, env.peers, self.children
            )
        if leader in ("", env.task):
            return GroupTable()
        return LedGroups(message.group_scope, lambda: env.workers.worker(leader), self.children)

    def _keep(self, registered: _Registered, call: CallContext) -> GraphRegistered:
        handle = registered.handle = secrets.token_hex(8)
        self._graphs[handle] = registered
        program, programs = 0, call.programs
        if programs is not None:
            program = programs.register(_PartProgram(self, registered))
            registered.drop_program = partial(programs.drop, program)
        if isinstance(registered.groups, GroupTable):
            self._env.groups.lead(registered.group_scope, registered.groups)
        if not self.handle:
            # The legacy session has no master and never ends, so its graphs are released with the link of the
            # client that registered them.
            call.on_gone(lambda: self._release(handle))
        return GraphRegistered(graph_handle=handle, program=program)

    def _release(self, graph_handle: str) -> None:
        registered = self._graphs.pop(graph_handle, None)
        if registered is None:
            return
        registered.released = True
        if registered.drop_program is not None:
            registered.drop_program()
        if isinstance(registered.groups, GroupTable):
            self._env.groups.stop_leading(registered.group_scope)

    def _check_incarnations(self, partitions: list[Partition]) -> None:
        """Refuse partitions that were planned for an earlier incarnation of this worker."""
        alive = {d.name: d.attributes.incarnation for d in self._env.devices}
        for partition in partitions:
            for node in partition.nodes:
                if node.op == SEND:
                    key = parse_key(node.attrs["key"])
                    if alive.get(key.src_device) != key.src_incarnation:
                        raise AbortedError(
                            f"{key.src_device} was planned for with incarnation "
                            f"{key.src_incarnation:016x}; the worker has probably restarted",
                            task=self._env.task,
                        )

    def _check_cluster_devices(self, partitions: list[Partition]) -> None:
        """Refuse partitions that exchange values with a device that the session does not have.

        Without this check, which needs the devices of the whole cluster, a step would wait for such a value.
        """
        if not self._cluster_devices:
            return
        for node in [node for p in partitions for node in p.nodes if node.op in (SEND, RECV)]:
            key = parse_key(node.attrs["key"])
            other = key.dst_device if node.op == SEND else key.src_device
            if other not in self._cluster_devices:
                raise InvalidArgumentError(
                    f"{node.name!r} exchanges values with {other}, which is none of the session's devices: "
                    f"{', '.join(sorted(self._cluster_devices))}",
                    node=node.name, task=self._env.task,
                )  # fmt: skip

    def _consumers(self, partitions: list[Partition]) -> tuple[str, ...]:
        """Return the other tasks that partitions send to."""
        sends = [node for p in partitions for node in p.nodes if node.op == SEND]
        tasks = dict.fromkeys(parse_key(node.attrs["key"]).dst_task for node in sends)
        return tuple(task for task in tasks if task != self._env.task)

    @answers(DeregisterGraph)
    def on_deregister_graph(self, message: DeregisterGraph, call: CallContext) -> Done:
        """Release partitions; steps that run them are not affected."""
        self._release(message.graph_handle)
        return Done()

    @answers(AskVariables)
    def on_ask_variables(self, message: AskVariables, call: CallContext) -> VariablesFound:
        """Return which variables have a value."""
        local = {device_in_task(d.name): d.resources for d in self._env.devices}
        valued = []
        for device, container, name in message.variables:
            resources = local.get(device_in_task(device))
            valued.append(resources is not None and resources.has_value(container, name))
        return VariablesFound(valued=valued)

    # -- steps ---------------------------------------------------------------------------------

    @answers(BindPart, direct=True)
    def on_bind_part(self, message: BindPart, call: CallContext) -> BeginPart:
        """Return what runs this worker's partitions for steps of a master in this process."""
        return partial(self.begin_part, self._registered(message.graph_handle), LOCAL)

    def begin_part(
        self, registered: _Registered, peer: str, step_id: int, feeds: Sequence[Any],
        waiter: PartWaiter, asked: GraphRequest | None = None,
    ) -> PartValues | None:  # fmt: skip
        """Run partitions for one step of a peer; return their values or call the waiter with them later.

        Whatever can run without waiting has run when this returns. While a link that the step sends over is
        backlogged, the step is held.
        """
        if self._env.log.enabled:
            self._env.log.note(step_id, "RunGraph", peer, feeds)
        if self._over is not None or registered.released or len(feeds) != registered.feeds:
            raise self._refusal(registered, feeds)
        if registered.sends_to:
            link = self._held_steps.blocked(registered.sends_to)
            if link is not None:
                begin = partial(self._begin_held, registered, peer, step_id, feeds, waiter, asked)
                self._held_steps.hold(link, step_id, begin, waiter.part_failed)
                return None
        started = self._start(registered, step_id, feeds, asked)
        if isinstance(started, list):
            return started, 0, None
        if started.done:
            return self._finish(started)
        started.on_done(partial(self._report, started, waiter))
        return None

    def _begin_held(
        self, registered: _Registered, peer: str, step_id: int, feeds: Sequence[Any],
        waiter: PartWaiter, asked: GraphRequest | None,
    ) -> None:  # fmt: skip
        answer = self.begin_part(registered, peer, step_id, feeds, waiter, asked)
        if answer is not None:
            waiter.part_done(*answer)

    def _report(self, step: Step, waiter: PartWaiter) -> None:
        try:
            answer = self._finish(step)
        except Exception as exc:
            waiter.part_failed(from_exception(exc))
        else:
            waiter.part_done(*answer)

    def cancel_part(self, step_id: int) -> None:
        """Cancel partitions that ``begin_part`` has begun; their waiter is called as they end."""
        error = CancelledError(f"step {step_id} was cancelled", derived=True)
        self._held_steps.give_up(step_id, error)
        step = self._steps.get(step_id)
        if step is not None:
            step.fail(error)

    def _start(
        self,
        registered: _Registered,
        step_id: int,
        feeds: Sequence[Any],
        asked: GraphRequest | None,
    ) -> list[Any] | Step:
        """Begin partitions; return the step, or the values of a plan that is a single call."""
        graph, pool, env = registered.graph, self._pool, self._env
        trace, debug = asked is not None and asked.trace, None
        if registered.debug is not None:
            debug_run = None if asked is None else asked.debug_run
            debug = self._debug_runs.begin(registered.debug, step_id, debug_run)
        env.counters.runs += 1
        self._tally.runs += 1
        inline = None if trace or debug is not None else graph.inline
        if inline is not None and (pool is None or not inline.is_expensive(feeds)):
            return list(inline.run(feeds, self._gate))
        step = Step(
            step_id, env.rendezvous.begin(step_id, env.peers), len(graph.fetches),
            partitions=len(graph.parts), pool=pool, loop=asyncio.get_running_loop(),
            trace=trace, debug=debug, groups=registered.groups,
        )  # fmt: skip
        self._steps[step_id] = step
        graph.begin(step, feeds)
        return step

    @answers(OpenStepRendezvous, direct=True)
    def on_open_rendezvous(
        self, message: OpenStepRendezvous, call: CallContext
    ) -> WorkerRendezvous:
        """Return the rendezvous of a partial run, which is used in the same process."""
        if self._over is not None:
            raise self._over
        env = self._env
        return env.rendezvous.hold(message.step_id, env.peers)

    def _registered(self, graph_handle: str) -> _Registered:
        if self._over is not None:
            raise self._over
        registered = self._graphs.get(graph_handle)
        if registered is None:
            raise self._unknown_graph(graph_handle)
        return registered

    def _refusal(self, registered: _Registered, feeds: Sequence[Any]) -> OpError:
        """Return why partitions cannot be run with these feeds."""
        if self._over is not None:
            return self._over
        if registered.released:
            return self._unknown_graph(registered.handle)
        return InvalidArgumentError(
            f"graph {registered.handle!r} is fed {registered.feeds} values, got {len(feeds)}"
        )

    def _unknown_graph(self, graph_handle: str) -> OpError:
        return AbortedError(
            f"graph handle {graph_handle!r} is not registered: the worker has probably restarted",
            task=self._env.task,
        )

    def _finish(self, step: Step) -> PartValues:
        """Return what a step that is done answers.

        Raises:
            OpError: the step's first error.
        """
        self._end(step)
        values = step.result()
        if step.takes:
            self._unsettled[step.step_id] = step
        rendezvous = step.rendezvous
        assert isinstance(rendezvous, WorkerRendezvous)  # begin() has made it
        stats = None if step.collector is None else step.stats
        return values, rendezvous.pushed, None if stats is None else stats.to_wire()

    def _end(self, step: Step) -> None:
        self._steps.pop(step.step_id, None)
        if step.debug is not None:
            step.debug.end(step.error)
        self._env.rendezvous.end(step.step_id, step.error)

    @answers(TakeWatchedValues)
    def on_take_watched_values(
        self, message: TakeWatchedValues, call: CallContext
    ) -> WatchedValues:
        """Return what was watched in a step and not taken yet."""
        return self._debug_runs.take(message)

    def give_up(self, step_id: int, error: OpError, handed_out: Collection[int] = ()) -> None:
        """End a step that runs here with an error.

        Args:
            step_id: the step; an unknown one is not an error.
            error: the error.
            handed_out: positions of the fetches of a partial run whose values the caller has.
        """
        self._held_steps.give_up(step_id, error)
        step = self._steps.get(step_id)
        if step is not None:
            step.handed_out.update(handed_out)
            step.fail(error)

    def settle(
        self, step_id: int, error: OpError | None, *, ran: bool, handed_out: Collection[int]
    ) -> None:
        """Settle what a step has taken whose partitions here have run.

        Args:
            step_id: the step; it is not an error if it has taken nothing.
            error: the error with which the step has ended; ``None`` if its caller has the values.
            ran: whether the partitions of all tasks had run.
            handed_out: see ``give_up``.
        """
        step = self._unsettled.pop(step_id, None)
        if step is not None and error is not None and ended_from_outside(error):
            step.roll_back(ran=ran, handed_out=handed_out)

    # -- the end -------------------------------------------------------------------------------

    async def aclose(self, error: OpError) -> None:
        """End every step with an error, and release all graphs, resources and links of the session."""
        self._over = error
        self._planning.close(error)
        self._held_steps.close(error)
        for step in list(self._steps.values()):
            step.fail(error)
        for step_id in list(self._unsettled):
            self.settle(step_id, error, ran=True, handed_out=())
        for handle in list(self._graphs):
            self._release(handle)
        tell_states(self._states)
        self._env.groups.leave(self.handle)
        peers = self._env.peers
        if peers is not None:
            peers.workers.release()
        await self.stop(error.message)
        if self._owns_devices or peers is not None:
            for executor in self._env.executors.values():
                await executor.stop(error.message)
        if self._owns_devices:
            for device in self._env.devices:
                device.resources.clear_all()
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    # -- hang reports and statistics ----------------------------------------------------------

    @property
    def workers(self) -> WorkerCacheInterface:
        """The other tasks of the session."""
        return self._env.workers

    @property
    def peers(self) -> SessionPeers | None:
        """The tasks of the session; ``None`` if they are those of the worker's cluster."""
        return self._env.peers

    @property
    def task(self) -> str:
        """The worker's task, by its name in the session."""
        return self._env.task

    @property
    def executors(self) -> list[Executor]:
        """The executors of the session's devices; other sessions may share them."""
        return list(self._env.executors.values())

    @property
    def steps(self) -> list[Step]:
        """The steps that run here, in the order in which they started."""
        return list(self._steps.values())

    def step(self, step_id: int) -> Step | None:
        """Return a step that runs here."""
        return self._steps.get(step_id)

    @property
    def held_steps(self) -> Mapping[int, HeldStep]:
        """The steps that backpressure holds back, by step id."""
        return self._held_steps.steps

    def is_backlogged(self, task: str) -> bool:
        """Return whether the link to a task of the session is backlogged."""
        return self._env.workers.is_backlogged(task)

    @property
    def held(self) -> int:
        """The number of steps that are held back by backpressure of a task that they send to."""
        return len(self._held_steps)

    @property
    def running(self) -> int:
        """The number of running steps."""
        return len(self._steps)

    @property
    def unsettled(self) -> int:
        """The number of steps that have run and whose takes are not settled yet."""
        return len(self._unsettled)

    @property
    def graphs(self) -> int:
        """The number of registered graphs."""
        return len(self._graphs)

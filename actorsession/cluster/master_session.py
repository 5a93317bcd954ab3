"""The MasterSession: one client's session at its master.

An actor that belongs to its master. It holds the client's graph, places it on the session's devices, and
keeps one client graph per run signature, whose parts were registered once with the workers that own one
and with no other. A step is one RunGraph to each of those, all at once. The first real error wins, the
others' part is cancelled, and every worker that took part is told to drop the step.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import LocalRef, Ref
from actorsession.cluster.client_graph import ClientGraph, TaskPart, split_by_task
from actorsession.config import CONNECT_TIMEOUT, ConfigProto, RunOptions, StepStats
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    error_to_wire,
    first_error,
    from_exception,
)  # fmt: skip
from actorsession.graph.node import GraphDef
from actorsession.messages.done import Done
from actorsession.messages.session import (
    DeviceList,
    ExtendSession,
    ListDevices,
    RunStep,
    SessionExtended,
    StepDone,
)  # fmt: skip
from actorsession.messages.worker import (
    CleanupGraph,
    CreateWorkerSession,
    DeleteWorkerSession,
    DeregisterGraph,
    GraphDone,
    GraphRegistered,
    RegisterGraph,
    RunGraph,
)  # fmt: skip
from actorsession.plan.cache import PlanCache
from actorsession.plan.partition import partition
from actorsession.plan.place import DeviceSet, Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.signature import RunSignature

__all__ = ["MasterSession"]

_log = logging.getLogger("actorsession.cluster")
# Step numbers begin anywhere, so that those of two masters are different.
_STEP_IDS = itertools.count(secrets.randbits(61))
# Seconds for a worker to drop a session or graph; one that does not answer keeps it until its master's
# next life, so nothing waits longer.
_DROP = 2.0
_NO_OPTIONS = RunOptions()


class MasterSession(Actor):
    """One session of one client.

    Args:
        handle: its name.
        config: the client's settings.
        devices: what the session may use.
        workers: the worker of each task that has devices in it.
    """

    def __init__(
        self, handle: str, config: ConfigProto, devices: DeviceSet, workers: Mapping[str, Ref]
    ) -> None:
        super().__init__(f"master session {handle}")
        self.handle = handle
        self._config = config
        self._devices = devices
        self._workers = workers
        self._view = GraphView()
        self._placer = Placer(devices, allow_soft_placement=config.allow_soft_placement)
        self._version = 0
        self._graphs: PlanCache[asyncio.Task[ClientGraph]] = PlanCache(
            config.plan_cache_size, self._evicted
        )
        self._closed = False

    # -- graph ---------------------------------------------------------------------------------

    def extend(self, graph: GraphDef) -> int:
        """Takes in nodes, all or none, and returns the new version of the graph."""
        known = set(self._view)
        for node in graph.nodes:
            missing = [n for n, _ in node.inputs if n not in known]
            missing += [n for n in node.control_inputs if n not in known]
            if missing:
                raise InvalidArgumentError(
                    f"node {node.name!r} reads {missing[0]!r}, which the graph does not have",
                    node=node.name,
                    source=node.source,
                )
            known.add(node.name)
        clash = next((n.name for n in graph.nodes if n.name in self._view), None)
        if clash is not None:
            raise InvalidArgumentError(f"a node named {clash!r} exists in the session's graph")
        placed = self._placer.place(graph.nodes)
        self._view.extend(graph.nodes)
        self._version += 1
        if self._config.log_device_placement:
            for name, where in placed.items():
                _log.info("%s: %s (%s)", name, where.device, where.reason)
        return self._version

    @handles(ExtendSession)
    def on_extend(self, message: ExtendSession, call: CallContext) -> SessionExtended:
        """Takes in nodes that the client added, if it knew the present version."""
        self._check_open()
        if message.current_graph_version != self._version:
            raise AbortedError(
                f"the session's graph has version {self._version}, the extension was made for "
                f"{message.current_graph_version}"
            )
        return SessionExtended(graph_version=self.extend(GraphDef.from_wire(message.graph)))

    @handles(ListDevices)
    def on_list_devices(self, message: ListDevices, call: CallContext) -> DeviceList:
        """What the session may use, the client device first."""
        first = self._devices.client_device
        ordered = sorted(self._devices.devices, key=lambda d: d.name != first)
        return DeviceList(devices=[d.to_wire() for d in ordered])

    # -- client graphs -------------------------------------------------------------------------

    async def _client_graph(self, signature: RunSignature, deadline: Deadline) -> ClientGraph:
        """The registered client graph of a signature; concurrent first runs share one registration."""
        pending = self._graphs.get(signature)
        if pending is None:
            graph = self._build(signature.sorted())
            work = self.children.start(
                self._register(graph), name=f"register {signature}", awaited=True
            )
            pending = self._graphs.put(signature, work)
        try:
            return await deadline.wait(
                asyncio.shield(pending), what=f"the registration of {signature}"
            )
        except OpError:
            self._graphs.discard(signature)
            raise

    def _build(self, signature: RunSignature) -> ClientGraph:
        graph = prune(self._view, signature)
        placed, client = self._placer.placed, self._devices.client_device
        device_of = {n: placed[n].device if n in placed else client for n in graph.nodes}
        return split_by_task(signature, partition(graph, device_of, self._devices))

    async def _register(self, graph: ClientGraph) -> ClientGraph:
        async def one(part: TaskPart) -> None:
            answer = await self._workers[part.task].ask(
                RegisterGraph(
                    session_handle=self.handle, partitions=[p.to_wire() for p in part.partitions]
                ),
                Deadline.after(CONNECT_TIMEOUT),
            )
            part.graph_handle = _expect(answer, GraphRegistered).graph_handle

        for error in await _together([one(part) for part in graph.parts]):
            raise error
        return graph

    def _evicted(self, pending: asyncio.Task[ClientGraph]) -> None:
        _ = self.children.start(self._deregister(pending), name="deregister a client graph")

    async def _deregister(self, pending: asyncio.Task[ClientGraph]) -> None:
        try:
            graph = await pending
        except OpError:
            return
        for part in graph.parts:
            message = DeregisterGraph(session_handle=self.handle, graph_handle=part.graph_handle)
            await _politely(self._workers[part.task], message)

    # -- steps ---------------------------------------------------------------------------------

    @handles(RunStep)
    def on_run_step(self, message: RunStep, call: CallContext) -> StepDone | Awaitable[StepDone]:
        """Runs a step on the workers that own a part of it.

        A step that is wholly on this task, and ends without waiting, is answered at once.
        """
        self._check_open()
        signature = RunSignature(
            tuple(message.feeds), tuple(message.fetches), tuple(message.targets)
        )
        options = RunOptions.from_wire(message.options) if message.options else _NO_OPTIONS
        graph = self._registered(signature)
        if graph is None or len(graph.parts) != 1:
            return self._run_step(message, signature, options, graph, call)
        (part,) = graph.parts
        worker = self._workers[part.task]
        if not (isinstance(worker, LocalRef) and worker.is_here()):
            return self._run_step(message, signature, options, graph, call)
        feeds = [message.feeds[graph.signature.feeds[i]] for i in part.feeds]
        answer = worker.submit(
            self._run_graph(part, next(_STEP_IDS), feeds, options), CallContext(call.deadline)
        )
        if isinstance(answer, asyncio.Future):
            limit = _limited(call.deadline, options)
            return self._late(graph, part, signature, options, answer, limit)
        return self._done(graph, [_expect(answer, GraphDone)], signature, options)

    def _registered(self, signature: RunSignature) -> ClientGraph | None:
        """The client graph of a signature if its registration is over and went well."""
        pending = self._graphs.get(signature)
        if pending is None or not pending.done() or pending.cancelled() or pending.exception():
            return None
        return pending.result()

    async def _late(
        self, graph: ClientGraph, part: TaskPart, signature: RunSignature, options: RunOptions,
        answer: asyncio.Future[Any], deadline: Deadline,
    ) -> StepDone:  # fmt: skip
        try:
            done = await deadline.wait(answer, what=f"the part of {part.task}")
        except OpError as error:
            raise error.locate(task=part.task) from error.__cause__
        return self._done(graph, [_expect(done, GraphDone)], signature, options)

    async def _run_step(
        self, message: RunStep, signature: RunSignature, options: RunOptions,
        graph: ClientGraph | None, call: CallContext,
    ) -> StepDone:  # fmt: skip
        if graph is None:
            graph = await self._client_graph(signature, call.deadline)
        feeds = [message.feeds[name] for name in graph.signature.feeds]
        answers = await self._run(graph, feeds, options, _limited(call.deadline, options))
        return self._done(graph, answers, signature, options)

    def _done(
        self, graph: ClientGraph, answers: Sequence[GraphDone], signature: RunSignature,
        options: RunOptions,
    ) -> StepDone:  # fmt: skip
        """The answer to the client, with the values in the order that it asked for."""
        values: list[Any] = [None] * len(graph.signature.fetches)
        stats = StepStats() if options.traced else None
        for part, answer in zip(graph.parts, answers, strict=True):
            if len(answer.values) != len(part.fetches):
                raise InternalError(
                    f"{part.task} returned {len(answer.values)} values of {len(part.fetches)}"
                )
            for position, value in zip(part.fetches, answer.values, strict=True):
                values[position] = value
            if stats is not None and answer.stats is not None:
                stats.merge(StepStats.from_wire(answer.stats))
        if graph.signature.fetches != signature.fetches:
            by_name = dict(zip(graph.signature.fetches, values, strict=True))
            values = [by_name[name] for name in signature.fetches]
        return StepDone(values=values, metadata=_metadata(graph, stats, options))

    async def _run(
        self, graph: ClientGraph, feeds: Sequence[Any], options: RunOptions, deadline: Deadline
    ) -> list[GraphDone]:
        step_id = next(_STEP_IDS)
        calls = [
            self._run_part(part, step_id, [feeds[i] for i in part.feeds], options, deadline)
            for part in graph.parts
        ]
        try:
            if len(calls) == 1:
                return [await calls[0]]
            return await self._run_parts(graph, step_id, calls)
        except BaseException as exc:
            self._clean_up(graph, step_id, exc)
            raise

    def _run_graph(
        self, part: TaskPart, step_id: int, feeds: list[Any], options: RunOptions
    ) -> RunGraph:
        return RunGraph(
            session_handle=self.handle, graph_handle=part.graph_handle, step_id=step_id,
            feeds=feeds, trace=options.traced,
        )  # fmt: skip

    async def _run_part(
        self,
        part: TaskPart,
        step_id: int,
        feeds: list[Any],
        options: RunOptions,
        deadline: Deadline,
    ) -> GraphDone:
        try:
            answer = await self._workers[part.task].ask(
                self._run_graph(part, step_id, feeds, options), deadline
            )
        except OpError as error:
            raise error.locate(task=part.task) from error.__cause__
        done: GraphDone = _expect(answer, GraphDone)
        return done

    async def _run_parts(
        self, graph: ClientGraph, step_id: int, calls: Sequence[Any]
    ) -> list[GraphDone]:
        """All parts at once; the first failure cancels the others, the root cause is raised."""
        children = [
            self.children.start(call, name="a part of a step", awaited=True) for call in calls
        ]
        try:
            await asyncio.wait(children, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for child in children:
                child.cancel()
        outcomes = await asyncio.gather(*children, return_exceptions=True)
        errors = [from_exception(o) for o in outcomes if isinstance(o, Exception)]
        late = [
            part.task
            for part, outcome in zip(graph.parts, outcomes, strict=True)
            if isinstance(outcome, DeadlineExceededError)
        ]
        error = first_error(errors)
        if isinstance(error, DeadlineExceededError) and late:
            raise DeadlineExceededError(
                f"step {step_id} did not end within its limit; still at work on it: {', '.join(late)}"
            )
        if error is not None:
            raise error
        return [o for o in outcomes if isinstance(o, GraphDone)]

    def _clean_up(self, graph: ClientGraph, step_id: int, exc: BaseException) -> None:
        """Tells every worker of a failed step to drop it; none of them is waited for."""
        error = exc if isinstance(exc, OpError) else CancelledError("the step was cancelled")
        message = CleanupGraph(step_id=step_id, error=error_to_wire(error))
        for part in graph.parts:
            try:
                self._workers[part.task].tell(message)
            except OpError as failed:
                _log.debug("no clean-up of step %d at %s: %s", step_id, part.task, failed)

    # -- workers -------------------------------------------------------------------------------

    async def create_worker_sessions(
        self, master_task: str, incarnation: int, peers: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Opens the session at every worker."""
        message = CreateWorkerSession(
            session_handle=self.handle,
            master_task=master_task,
            master_incarnation=incarnation,
            isolate_session_state=self._config.isolate_session_state,
            peers=dict(peers),
        )
        asks = [worker.ask(message, deadline) for worker in self._workers.values()]
        for error in await _together(asks):
            raise error

    async def close(self, why: str) -> None:
        """Cancels what runs and drops the session at its workers; bounded, may be called twice."""
        if self._closed:
            return
        self._closed = True
        await self.stop(why)
        message = DeleteWorkerSession(session_handle=self.handle)
        async with asyncio.TaskGroup() as group:
            for worker in self._workers.values():
                group.create_task(_politely(worker, message), name=f"close at {worker.name}")

    def _check_open(self) -> None:
        if self._closed:
            raise FailedPreconditionError(f"session {self.handle} is closed")


def _limited(deadline: Deadline, options: RunOptions) -> Deadline:
    """The caller's deadline, or the limit of the run if that comes first."""
    if not options.timeout_in_ms:
        return deadline
    return Deadline.after(options.timeout_in_ms / 1000).earliest(deadline)


def _expect(answer: Any, kind: type[Any]) -> Any:
    if not isinstance(answer, kind):
        raise InternalError(f"a worker answered {type(answer).__name__}, not {kind.__name__}")
    return answer


async def _together(work: Sequence[Any]) -> list[OpError]:
    """Awaits everything and returns the errors, the root cause first."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    errors = [from_exception(o) for o in outcomes if isinstance(o, Exception)]
    return sorted(errors, key=lambda e: e.derived)


async def _politely(worker: Ref, message: Any) -> Done | None:
    """Asks a worker to drop something; one that does not answer is left to its own collection."""
    try:
        answer = await worker.ask(message, Deadline.after(_DROP))
    except OpError as error:
        _log.debug("%s did not take %s: %s", worker.name, type(message).__name__, error)
        return None
    return answer if isinstance(answer, Done) else None


def _metadata(
    graph: ClientGraph, stats: StepStats | None, options: RunOptions
) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    if stats is not None:
        out["step_stats"] = stats.to_wire()
    if options.output_partition_graphs:
        out["partition_graphs"] = {p.device: GraphDef(p.nodes).to_wire() for p in graph.partitions}
    return out or None

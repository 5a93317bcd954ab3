"""The MasterSession: one client's session at its master.

An actor that belongs to its master. It holds the client's graph, places it on the session's devices, and
runs steps: each is a ``MasterStep`` over the client graph of its run signature.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.client_graph import ClientGraph, split_by_task
from actorsession.cluster.client_graphs import ClientGraphs, ask_to_drop
from actorsession.cluster.master_step import MasterStep
from actorsession.cluster.recent_requests import RecentRequests
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunOptions, StepStats
from actorsession.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    first_error,
    from_exception,
)  # fmt: skip
from actorsession.graph.node import GraphDef
from actorsession.messages.session import (
    DeviceList,
    ExtendSession,
    ListDevices,
    RunStep,
    SessionExtended,
    StepDone,
)  # fmt: skip
from actorsession.messages.worker import CreateWorkerSession, DeleteWorkerSession
from actorsession.plan.optimise import optimise, optimiser_settings
from actorsession.plan.partition import partition
from actorsession.plan.place import DeviceSet, Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.report import partition_graphs
from actorsession.plan.signature import RunSignature
from actorsession.session.placement_log import log_placement

__all__ = ["MasterSession"]

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
        self._infer_shapes = config.graph_options.infer_shapes
        self._devices = devices
        self._workers = workers
        self._view = GraphView()
        self._placer = Placer(devices, allow_soft_placement=config.allow_soft_placement)
        self._version = 0
        self._graphs = ClientGraphs(
            handle, workers, self._build, config.plan_cache_size, self.children
        )
        self._requests = RecentRequests()
        self._closed = False

    # -- graph ---------------------------------------------------------------------------------

    def extend(self, graph: GraphDef) -> int:
        """Takes in nodes, all or none, and returns the new version of the graph.

        Raises:
            InvalidArgumentError: for a node that exists, that reads what does not, or that asks for a
                device that is not there.
        """
        known: set[str] = set()
        for node in graph.nodes:
            if node.name in known or node.name in self._view:
                raise InvalidArgumentError(
                    f"a node named {node.name!r} exists in the session's graph", node=node.name
                )
            inputs = (*(name for name, _ in node.inputs), *node.control_inputs)
            missing = next((n for n in inputs if n not in known and n not in self._view), None)
            if missing is not None:
                raise InvalidArgumentError(
                    f"node {node.name!r} reads {missing!r}, which the graph does not have before it",
                    node=node.name,
                    source=node.source,
                )
            known.add(node.name)
        placed = self._placer.place(graph.nodes)
        self._view.extend(graph.nodes)
        self._version += 1
        if self._config.log_device_placement:
            log_placement(graph.nodes, placed)
        return self._version

    @handles(ExtendSession)
    def on_extend(self, message: ExtendSession, call: CallContext) -> SessionExtended:
        """Takes in nodes that the client added, if it knew the present version."""
        self._check_open()
        self._requests.check(message.request_id)
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

    def _build(self, signature: RunSignature) -> ClientGraph:
        if not (signature.fetches or signature.targets):
            raise InvalidArgumentError("a step needs a fetch or a target, got neither")
        graph = prune(self._view, signature)
        placed, client = self._placer.placed, self._devices.client_device
        device_of = {n: placed[n].device if n in placed else client for n in graph.nodes}
        options = self._config.graph_options
        graph, device_of = optimise(graph, device_of, optimiser_settings(options.optimizer_options))
        narrow = options.enable_bfloat16_sendrecv
        parts = partition(graph, device_of, self._devices, bfloat16_transfers=narrow)
        return split_by_task(signature, parts, client.rpartition("/device:")[0])

    # -- steps ---------------------------------------------------------------------------------

    @handles(RunStep)
    def on_run_step(self, message: RunStep, call: CallContext) -> StepDone | Awaitable[StepDone]:
        """Runs a step on the workers that own a part of it.

        A step that is wholly on this task, and ends without waiting, is answered at once.
        """
        self._check_open()
        self._requests.check(message.request_id)
        signature = RunSignature(
            tuple(message.feeds), tuple(message.fetches), tuple(message.targets)
        )
        options = RunOptions.from_wire(message.options) if message.options else _NO_OPTIONS
        deadline = _limited(call.deadline, options)
        graph = self._graphs.ready(signature)
        if graph is None or graph.here is None or len(graph.parts) > 1:
            return self._run(graph, message, signature, options, deadline)
        step = self._step(graph, message, options, deadline)
        if step.begin():
            return _done(graph, step, signature, options, self._infer_shapes)
        return self._finish(step, graph, signature, options)

    def _step(
        self, graph: ClientGraph, message: RunStep, options: RunOptions, deadline: Deadline
    ) -> MasterStep:
        feeds = [message.feeds[name] for name in graph.signature.feeds]
        return MasterStep(
            graph, self._workers, self.handle, feeds, trace=options.traced, deadline=deadline
        )

    async def _run(
        self, graph: ClientGraph | None, message: RunStep, signature: RunSignature,
        options: RunOptions, deadline: Deadline,
    ) -> StepDone:  # fmt: skip
        """A step that other tasks take part in, or the first of its signature."""
        if graph is None:
            graph = await self._graphs.acquire(signature, deadline)
        else:
            self._graphs.hold(graph)
        try:
            step = self._step(graph, message, options, deadline)
            await step.run(self.children)
        finally:
            self._graphs.release(graph)
        return _done(graph, step, signature, options, self._infer_shapes)

    async def _finish(
        self, step: MasterStep, graph: ClientGraph, signature: RunSignature, options: RunOptions
    ) -> StepDone:
        await step.finish(self.children)
        return _done(graph, step, signature, options, self._infer_shapes)

    # -- workers -------------------------------------------------------------------------------

    async def create_worker_sessions(
        self, master_task: str, incarnation: int, peers: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Opens the session at every worker.

        Raises:
            OpError: why a worker refused, or could not be asked.
        """
        message = CreateWorkerSession(
            session_handle=self.handle,
            master_task=master_task,
            master_incarnation=incarnation,
            isolate_session_state=self._config.isolate_session_state,
            peers=dict(peers),
        )
        asks = [worker.ask(message, deadline) for worker in self._workers.values()]
        outcomes = await asyncio.gather(*asks, return_exceptions=True)
        error = first_error([from_exception(o) for o in outcomes if isinstance(o, Exception)])
        if error is not None:
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
                group.create_task(ask_to_drop(worker, message), name=f"close at {worker.name}")

    def _check_open(self) -> None:
        if self._closed:
            raise FailedPreconditionError(f"session {self.handle} is closed")


def _limited(deadline: Deadline, options: RunOptions) -> Deadline:
    """The caller's deadline, or the limit of the run if that comes first."""
    limit = options.timeout_in_ms / 1000 if options.timeout_in_ms else DEFAULT_STEP_TIMEOUT
    return Deadline.after(limit).earliest(deadline)


def _done(
    graph: ClientGraph,
    step: MasterStep,
    signature: RunSignature,
    options: RunOptions,
    infer_shapes: bool,
) -> StepDone:
    """The answer to the client, with the values in the order that it asked for."""
    values: list[Any] = [None] * len(graph.signature.fetches)
    stats = StepStats(step.step_id) if options.traced else None
    for part, answer in zip(graph.parts, step.answers, strict=True):
        assert answer is not None  # the step has ended well
        for position, value in zip(part.fetches, answer.values, strict=True):
            values[position] = value
        if stats is not None and answer.stats is not None:
            stats.merge(StepStats.from_wire(answer.stats))
    if graph.signature.fetches != signature.fetches:
        by_name = dict(zip(graph.signature.fetches, values, strict=True))
        values = [by_name[name] for name in signature.fetches]
    return StepDone(values=values, metadata=_metadata(graph, stats, options, infer_shapes))


def _metadata(
    graph: ClientGraph, stats: StepStats | None, options: RunOptions, infer_shapes: bool
) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    if stats is not None:
        out["step_stats"] = stats.to_wire()
    if options.output_partition_graphs:
        graphs = partition_graphs(graph.partitions, infer_shapes=infer_shapes)
        out["partition_graphs"] = [g.to_wire() for g in graphs]
    return out or None

"""The WorkerSession: one session's graphs and steps at one worker.

An actor that belongs to its worker. Variables are the worker's own and shared by all sessions, unless the
session is isolated: then it has devices of the same names with state of its own. State of stateful kernels
(random generators) is always the session's.

A step that has to wait is no child of the actor: its answer is a future that the step completes, and that
ends the step when it is cancelled. A hop of a step costs a few tens of microseconds; a child costs ten.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.cluster.worker_rendezvous import RendezvousTable
from actorsession.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from actorsession.messages.done import Done
from actorsession.messages.worker import (
    DeregisterGraph,
    GraphDone,
    GraphRegistered,
    RegisterGraph,
    RunGraph,
)  # fmt: skip
from actorsession.plan.keys import parse_key
from actorsession.plan.partition import SEND, Partition
from actorsession.runtime.devices import Device
from actorsession.runtime.executor import Executor, Gate, LoadedGraph
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step import Step

__all__ = ["WorkerCounters", "WorkerParts", "WorkerSession"]


@dataclass(slots=True)
class WorkerCounters:
    """What a worker counts over all its sessions.

    Attributes:
        runs: steps begun so far.
    """

    runs: int = 0


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What the sessions of one worker share.

    Attributes:
        task: the worker's task.
        devices: its devices.
        executors: one per device, by full name.
        rendezvous: of all steps.
        pool: threads for kernels.
        counters: of all sessions together.
    """

    task: str
    devices: tuple[Device, ...]
    executors: Mapping[str, Executor]
    rendezvous: RendezvousTable
    pool: KernelPool | None
    counters: WorkerCounters = field(default_factory=WorkerCounters)


@dataclass(frozen=True, slots=True)
class _Registered:
    """A graph with the number of feeds that its steps come with."""

    graph: LoadedGraph
    feeds: int


class WorkerSession(Actor):
    """One session at one worker.

    Args:
        handle: the master's name for the session.
        parts: what the worker's sessions share.
        isolated: whether the session has state of its own.
    """

    def __init__(self, handle: str, parts: WorkerParts, *, isolated: bool) -> None:
        super().__init__(f"worker session {handle} on {parts.task}")
        self.handle = handle
        self._parts = parts
        self._executors: Mapping[str, Executor] = parts.executors
        if isolated:
            self._executors = {d.name: Executor(Device(d.attributes)) for d in parts.devices}
        self._states: dict[str, dict[str, Any]] = {}
        self._graphs: dict[str, _Registered] = {}
        self._steps: dict[int, Step] = {}
        self._gate = Gate()  # never closed: what runs inline runs on the loop that would close it
        self._over: OpError | None = None

    def submit(self, message: Any, context: CallContext) -> Any:
        """Asks; a step goes past the mailbox, see the module."""
        if type(message) is RunGraph:
            return self._run_graph(message)
        return super().submit(message, context)

    # -- graphs --------------------------------------------------------------------------------

    @handles(RegisterGraph)
    def on_register_graph(self, message: RegisterGraph, call: CallContext) -> GraphRegistered:
        """Compiles partitions for this worker's devices."""
        partitions = [Partition.from_wire(p) for p in message.partitions]
        self._check_incarnations(partitions)
        graph = LoadedGraph(partitions, self._executors, self._states, own_fetches=False)
        handle = secrets.token_hex(8)
        feeds = 1 + max((position for p in partitions for position in p.feeds), default=-1)
        self._graphs[handle] = _Registered(graph, feeds)
        return GraphRegistered(graph_handle=handle)

    def _check_incarnations(self, partitions: list[Partition]) -> None:
        """A plan made for an earlier life of this worker must not run."""
        alive = {d.name: d.attributes.incarnation for d in self._parts.devices}
        for partition in partitions:
            for node in partition.nodes:
                if node.op == SEND:
                    key = parse_key(node.attrs["key"])
                    if alive.get(key.src_device) != key.src_incarnation:
                        raise AbortedError(
                            f"{key.src_device} was planned for with incarnation "
                            f"{key.src_incarnation:016x}; the worker has probably restarted",
                            task=self._parts.task,
                        )

    @handles(DeregisterGraph)
    def on_deregister_graph(self, message: DeregisterGraph, call: CallContext) -> Done:
        """Releases partitions; steps that run them end as they would."""
        self._graphs.pop(message.graph_handle, None)
        return Done()

    # -- steps ---------------------------------------------------------------------------------

    def _run_graph(self, message: RunGraph) -> GraphDone | asyncio.Future[GraphDone]:
        """Runs this worker's partitions for one step.

        What can run at once does so before this returns.
        """
        graph = self._graph_of(message)
        pool = self._parts.pool
        self._parts.counters.runs += 1
        if graph.inline is not None and not message.trace and (pool is None or graph.inline.cheap):
            return GraphDone(values=list(graph.inline.run(message.feeds, self._gate)), stats=None)
        rendezvous = self._parts.rendezvous.begin(message.step_id)
        step = Step(
            message.step_id, rendezvous, len(graph.fetches), partitions=len(graph.parts),
            pool=pool, loop=asyncio.get_running_loop() if pool is not None else None,
            trace=message.trace,
        )  # fmt: skip
        self._steps[message.step_id] = step
        graph.tell(step, message.feeds)
        return self._finish(step) if step.done else self._answer_later(step)

    def _graph_of(self, message: RunGraph) -> LoadedGraph:
        if self._over is not None:
            raise self._over
        registered = self._graphs.get(message.graph_handle)
        if registered is None:
            raise AbortedError(
                f"graph handle {message.graph_handle!r} is not registered: the worker has probably "
                f"restarted",
                task=self._parts.task,
            )
        if len(message.feeds) != registered.feeds:
            raise InvalidArgumentError(
                f"graph {message.graph_handle!r} is fed {registered.feeds} values, "
                f"got {len(message.feeds)}"
            )
        return registered.graph

    def _answer_later(self, step: Step) -> asyncio.Future[GraphDone]:
        answer: asyncio.Future[GraphDone] = asyncio.get_running_loop().create_future()

        def give() -> None:
            if answer.done():
                self._end(step)
                return
            try:
                answer.set_result(self._finish(step))
            except OpError as error:
                answer.set_exception(error)

        def cancelled(future: asyncio.Future[GraphDone]) -> None:
            if future.cancelled():
                step.fail(CancelledError(f"step {step.step_id} was cancelled", derived=True))

        step.on_done(give)
        answer.add_done_callback(cancelled)
        return answer

    def _finish(self, step: Step) -> GraphDone:
        self._end(step)
        values = step.result()
        return GraphDone(
            values=values, stats=step.stats.to_wire() if step.stats is not None else None
        )

    def _end(self, step: Step) -> None:
        self._steps.pop(step.step_id, None)
        self._parts.rendezvous.end(step.step_id, step.error)

    def give_up(self, step_id: int, error: OpError) -> None:
        """Ends a step that runs here with an error."""
        step = self._steps.get(step_id)
        if step is not None:
            step.fail(error)

    # -- the end -------------------------------------------------------------------------------

    async def aclose(self, error: OpError) -> None:
        """Ends every step with an error, and lets everything go."""
        self._over = error
        for step in list(self._steps.values()):
            step.fail(error)
        self._graphs.clear()
        await self.stop(error.message)

    @property
    def running(self) -> int:
        """How many steps run."""
        return len(self._steps)

    @property
    def graphs(self) -> int:
        """How many graphs are registered."""
        return len(self._graphs)

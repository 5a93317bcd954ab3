"""The WorkerSession: one session's graphs and steps at one worker.

An actor that belongs to its worker. Variables are the worker's own and shared by all sessions, unless the
session is isolated: then it has devices of the same names with state of its own. State of stateful kernels
(random generators) is always the session's.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.cluster.worker_rendezvous import RendezvousTable
from actorsession.errors import AbortedError, CancelledError, OpError
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
from actorsession.runtime.executor import Executor, LoadedGraph
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step import Step

__all__ = ["WorkerParts", "WorkerSession"]


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What the sessions of one worker share.

    Attributes:
        task: the worker's task.
        devices: its devices.
        executors: one per device, by full name.
        rendezvous: of all steps.
        pool: threads for kernels.
    """

    task: str
    devices: tuple[Device, ...]
    executors: Mapping[str, Executor]
    rendezvous: RendezvousTable
    pool: KernelPool | None


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
        self._graphs: dict[str, LoadedGraph] = {}
        self._steps: dict[int, Step] = {}

    @handles(RegisterGraph)
    def on_register_graph(self, message: RegisterGraph, call: CallContext) -> GraphRegistered:
        """Compiles partitions for this worker's devices."""
        partitions = [Partition.from_wire(p) for p in message.partitions]
        self._check_incarnations(partitions)
        graph = LoadedGraph(partitions, self._executors, self._states, own_fetches=False)
        handle = secrets.token_hex(8)
        self._graphs[handle] = graph
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

    @handles(RunGraph)
    def on_run_graph(
        self, message: RunGraph, call: CallContext
    ) -> GraphDone | Awaitable[GraphDone]:
        """Runs this worker's partitions for one step.

        What can run at once does so before this returns; a step that waits for nothing needs no child.
        """
        graph = self._graphs.get(message.graph_handle)
        if graph is None:
            raise AbortedError(
                f"graph handle {message.graph_handle!r} is not registered: the worker has probably "
                f"restarted",
                task=self._parts.task,
            )
        pool = self._parts.pool
        if graph.inline is not None and not message.trace and (pool is None or graph.inline.cheap):
            return GraphDone(values=list(graph.inline.run(message.feeds)), stats=None)
        rendezvous = self._parts.rendezvous.begin(message.step_id)
        step = Step(
            message.step_id, rendezvous, len(graph.fetches), partitions=len(graph.parts),
            pool=pool, loop=asyncio.get_running_loop() if pool is not None else None,
            trace=message.trace,
        )  # fmt: skip
        self._steps[message.step_id] = step
        graph.tell(step, message.feeds)
        if step.done:
            return self._finish(step)
        return self._wait(step)

    async def _wait(self, step: Step) -> GraphDone:
        try:
            await step.wait()
        except asyncio.CancelledError:
            step.fail(CancelledError(f"step {step.step_id} was cancelled", derived=True))
            self._end(step)
            raise
        return self._finish(step)

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

    def give_up_all(self, error: OpError) -> None:
        """Ends every step of the session."""
        for step in list(self._steps.values()):
            step.fail(error)

    @property
    def running(self) -> int:
        """How many steps run."""
        return len(self._steps)

"""The WorkerSession: one session at one worker.

An actor that belongs to its worker. Its devices are either the worker's own, whose variables all sessions
share, or private; the session manager decides. ``RegisteredGraphs`` holds what is registered for it,
``PartSteps`` runs that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import LOCAL, CallContext
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.part_steps import PartSteps, PartValues, PartWaiter
from actorsession.cluster.worker.registered_graphs import RegisteredGraphs
from actorsession.cluster.worker.worker_rendezvous import SessionPeers, WorkerRendezvous
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.errors import OpError
from actorsession.graph.device import device_in_task
from actorsession.messages.done import Done
from actorsession.messages.step_frames import GraphRequest
from actorsession.messages.worker import (
    AskVariables,
    DeregisterGraph,
    GraphRegistered,
    RegisterGraph,
    TakeWatchedValues,
    VariablesFound,
    WatchedValues,
)
from actorsession.metrics import session_tally
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor

__all__ = ["BeginPart", "BindPart", "BindRendezvous", "WorkerSession"]


@dataclass(frozen=True, slots=True)
class BindRendezvous:
    """A request for what opens the rendezvous of partial runs for a master in this process.

    Answered synchronously with a function of the step id, which raises once the session has ended. What it
    returns exists until ``CleanupGraph`` or an error.

    Attributes:
        session_handle: the session.
    """

    session_handle: str


BeginPart: TypeAlias = Callable[[int, Sequence[Any], PartWaiter, GraphRequest | None], "PartValues | None"]
"""Begins partitions for a step, with their feeds; returns what they do, or ``None`` if the waiter gets it."""


@dataclass(frozen=True, slots=True)
class BindPart:
    """A request for what begins partitions for a master in this process; see ``BindRendezvous``.

    Answered with a ``BeginPart``, which raises once the session has ended.

    Attributes:
        session_handle: the session.
        graph_handle: the partitions.
    """

    session_handle: str
    graph_handle: str


class WorkerSession(Actor):
    """One session at one worker.

    Args:
        handle: the master's handle for the session.
        env: the environment of the session, shared with other sessions.
        owns_devices: whether the state of the devices is private to the session and ends with it.

    Attributes:
        steps: the steps of the session here.
        graphs: the graphs that are registered for it.
    """

    def __init__(self, handle: str, env: WorkerEnv, *, owns_devices: bool = False) -> None:
        super().__init__(f"worker session {handle} on {env.task}")
        self.handle = handle
        self._env = env
        self._owns_devices = owns_devices
        # The legacy session is there without anybody creating it.
        self._tally = session_tally("worker", self, counts=bool(handle))
        self.steps = PartSteps(env, self._tally, self.children, handle)
        self.graphs = RegisteredGraphs(handle, env, self.steps, self._tally, self.children)

    @answers(RegisterGraph)
    def on_register_graph(
        self, message: RegisterGraph, call: CallContext
    ) -> GraphRegistered | Awaitable[GraphRegistered]:
        """Register partitions; see ``RegisteredGraphs.register``."""
        return self.graphs.register(message, call)

    @answers(DeregisterGraph, completes=True)
    def on_deregister_graph(self, message: DeregisterGraph, call: CallContext) -> Done:
        """Release partitions; steps that run them are not affected."""
        self.graphs.release(message.graph_handle)
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

    @answers(BindPart, direct=True)
    def on_bind_part(self, message: BindPart, call: CallContext) -> BeginPart:
        """Return what runs this worker's partitions for steps of a master in this process."""
        return partial(self.steps.begin, self.graphs.find(message.graph_handle), LOCAL)

    @answers(BindRendezvous, direct=True)
    def on_bind_rendezvous(self, message: BindRendezvous, call: CallContext) -> Callable[[int], WorkerRendezvous]:
        """Return what opens the rendezvous of a partial run, which is used in the same process."""
        return self.steps.hold

    @answers(TakeWatchedValues)
    def on_take_watched_values(self, message: TakeWatchedValues, call: CallContext) -> WatchedValues:
        """Return what was watched in a step and not taken yet."""
        return self.steps.debug_runs.take(message)

    async def aclose(self, error: OpError) -> None:
        """End every step with an error, and release all graphs, resources and links of the session."""
        self.steps.close(error)
        self.graphs.close(error)
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
        self.steps.release_pool()

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
    def own_devices(self) -> Sequence[Device]:
        """The devices whose state belongs to the session alone."""
        return self._env.devices if self._owns_devices else ()

    @property
    def executors(self) -> list[Executor]:
        """The executors of the session's devices; other sessions may share them."""
        return list(self._env.executors.values())

"""The graphs that are registered for one session at one worker.

``RegisteredGraphs`` is owned by a worker session. It checks partitions against the devices of the task and of
the session, compiles them, large ones in a worker thread, and lets their master run them by a number. State
of stateful kernels (random generators) belongs to the session, and is shared by its graphs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.actors.supervision import Children
from actorsession.cluster.worker.collective_groups import LedGroups, shared_scope
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.part_steps import PartProgram, PartSteps, Registered, unknown_graph
from actorsession.errors import AbortedError, InvalidArgumentError, OpError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.function import nodes_in
from actorsession.messages.worker import GraphRegistered, RegisterGraph
from actorsession.metrics import SessionTally
from actorsession.plan.cost_model import CostModel, prime
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass
from actorsession.runtime.collective.groups import GroupResolver, GroupTable
from actorsession.runtime.debug.task_debugger import TaskDebugPlan, TaskWatches
from actorsession.runtime.engine.loaded_graph import LoadedGraph, tell_states
from actorsession.runtime.planning import Planning
from transports.host import current_host

__all__ = ["RegisteredGraphs"]


@dataclass(slots=True, eq=False)
class RegisteredGraphs:
    """The registered graphs of one session at one worker.

    Attributes:
        cluster_devices: the devices of all tasks by name, if the session shares them with its workers; else
            none.
    """

    _handle: str  # the master's handle for the session
    _env: WorkerEnv
    _steps: PartSteps  # run the graphs
    _tally: SessionTally
    _children: Children  # own what waits for the members of groups
    cluster_devices: Mapping[str, DeviceAttributes] = field(default_factory=dict, init=False)
    _states: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)
    _graphs: dict[str, Registered] = field(default_factory=dict, init=False)
    _planning: Planning = field(default_factory=Planning, init=False)

    def __len__(self) -> int:
        """Return the number of registered graphs."""
        return len(self._graphs)

    @property
    def states(self) -> Mapping[str, Mapping[str, Any]]:
        """The states of stateful kernels, by device and node."""
        return self._states

    def learn_devices(self, devices: Iterable[Any]) -> None:
        """Store the devices of the session that its master shares, in wire form; none changes nothing.

        Raises:
            ProtocolError: for a malformed device.
        """
        attributes = [DeviceAttributes.from_wire(device) for device in devices]
        if attributes:
            self.cluster_devices = {device.name: device for device in attributes}

    def register(self, message: RegisterGraph, call: CallContext) -> GraphRegistered | Awaitable[GraphRegistered]:
        """Check and compile partitions for this worker's devices; large ones in a worker thread."""
        nodes = sum(nodes_in(p[1]) for p in message.partitions if isinstance(p, list) and len(p) > 1)
        if self._planning.must_wait(nodes):
            return self._register_apart(message, call)
        return self._keep(self._load(message), call)

    async def _register_apart(self, message: RegisterGraph, call: CallContext) -> GraphRegistered:
        registered = await self._planning.run(lambda: self._load(message))
        self._planning.check()
        return self._keep(registered, call)

    def _load(self, message: RegisterGraph) -> Registered:
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
        devices = tuple([partition.device for partition in partitions])
        return Registered(graph, feeds, message.group_scope, groups, consumers, debug, devices=devices)

    def _groups_of(self, message: RegisterGraph) -> GroupResolver:
        """Return the groups of a graph: a table if this task alone leads their scope."""
        leader, env = message.group_leader, self._env
        if message.collective_graph_key:
            scope = shared_scope(message.collective_graph_key)
            return env.groups.resolver(scope, leader, self._handle, env.workers, env.peers, self._children, env.host)
        if leader in ("", env.task):
            return GroupTable(env.host)
        return LedGroups(message.group_scope, lambda: env.workers.worker(leader), self._children, host=env.host)

    def _keep(self, registered: Registered, call: CallContext) -> GraphRegistered:
        handle = registered.handle = current_host().entropy.token_hex(8)
        self._graphs[handle] = registered
        program, programs = 0, call.programs
        if programs is not None:
            program = programs.register(PartProgram(self._steps, registered))
            registered.drop_program = partial(programs.drop, program)
        if isinstance(registered.groups, GroupTable):
            self._env.groups.lead(registered.group_scope, registered.groups)
        if not self._handle:
            # The legacy session has no master and never ends, so its graphs are released with the link of the
            # client that registered them.
            call.on_gone(lambda: self.release(handle))
        return GraphRegistered(graph_handle=handle, program=program)

    def release(self, graph_handle: str) -> None:
        """Release partitions; an unknown handle is not an error, and steps that run them are not affected."""
        registered = self._graphs.pop(graph_handle, None)
        if registered is None:
            return
        registered.released = True
        if registered.drop_program is not None:
            registered.drop_program()
        registered.groups.ends.close()
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
        if not self.cluster_devices:
            return
        for node in [node for p in partitions for node in p.nodes if node.op in (SEND, RECV)]:
            key = parse_key(node.attrs["key"])
            other = key.dst_device if node.op == SEND else key.src_device
            if other not in self.cluster_devices:
                raise InvalidArgumentError(
                    f"{node.name!r} exchanges values with {other}, which is none of the session's devices: "
                    f"{', '.join(sorted(self.cluster_devices))}",
                    node=node.name,
                    task=self._env.task,
                )

    def _consumers(self, partitions: list[Partition]) -> tuple[str, ...]:
        """Return the other tasks that partitions send to."""
        sends = [node for p in partitions for node in p.nodes if node.op == SEND]
        tasks = dict.fromkeys(parse_key(node.attrs["key"]).dst_task for node in sends)
        return tuple(task for task in tasks if task != self._env.task)

    def find(self, graph_handle: str) -> Registered:
        """Return registered partitions.

        Raises:
            OpError: they are not registered, or the session has ended.
        """
        if self._steps.over is not None:
            raise self._steps.over
        registered = self._graphs.get(graph_handle)
        if registered is None:
            raise unknown_graph(graph_handle, self._env.task)
        return registered

    def close(self, error: OpError) -> None:
        """Release all graphs; none is registered any more."""
        self._planning.close(error)
        for handle in list(self._graphs):
            self.release(handle)
        tell_states(self._states)
        self._env.groups.leave(self._handle)

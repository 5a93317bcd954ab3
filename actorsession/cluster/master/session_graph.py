"""The graph of one client's session, at its master: taken in node by node, placed, and cut into parts.

Owned by a ``SessionPlans``, which asks the tasks; plain code that sends nothing.

Invariants: nodes are taken in all or none, each under a new version; a node that was placed stays where it
is, even if its device is gone, and then no part can be cut that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from actorsession.cluster.master.client_graph import ClientGraph, split_by_task
from actorsession.cluster.master.membership import Membership
from actorsession.config.limits import check_graph_size
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec, device_task
from actorsession.graph.function import size_of
from actorsession.graph.kept_state import VARIABLES, holds_state
from actorsession.graph.node import GraphDef, NodeDef
from actorsession.graph.validation import check_received
from actorsession.metrics import SessionTally
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.place import Placed
from actorsession.plan.signature import DebugSignature, RunSignature
from actorsession.runtime.debug.task_debugger import survey
from actorsession.runtime.inspection import GraphShown
from actorsession.runtime.planning import Planning

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds, PlannedStep

__all__ = ["SessionGraph"]


class SessionGraph:
    """The graph of a session and the placement of its nodes on the session's devices.

    Args:
        membership: the session's tasks, whose devices may change.
        planning: ends the passes of a session that is closed.
        tally: the counters of the session.

    Attributes:
        version: how many times the graph was extended.
    """

    def __init__(self, membership: Membership, planning: Planning, tally: SessionTally) -> None:
        self._tally = tally
        self._membership = membership
        cluster = membership.cluster
        # A snapshot of the devices: planning in a worker thread must not see them change.
        self._state = GraphExecutionState(
            cluster.config, membership.members.devices, planning.check, handle=cluster.handle, target=cluster.target
        )
        self._absent = frozenset(membership.missing)
        self.version = 0

    def extend(self, graph: GraphDef) -> int:
        """Extend the graph with nodes, all or none, and return its new version.

        Raises:
            InvalidArgumentError: for a node that exists, that has an unknown input, that requests a device
                that does not exist, or that is none; see ``validation``.
            ResourceExhaustedError: if there would be more nodes than a graph of a cluster may have.
        """
        check_graph_size(self.size + size_of(graph.nodes))
        check_received(graph.nodes, self._state.view)
        try:
            self._state.extend(graph.nodes)
        except InvalidArgumentError as error:
            raise self._membership.explained(error) from error
        self.version += 1
        return self.version

    def device_update(self) -> Callable[[], None]:
        """Return a function that makes later planning use the devices that the members have now."""
        devices, absent = self._membership.members.devices, frozenset(self._membership.missing)

        def follow() -> None:
            self._absent = absent
            self._state.use_devices(devices)

        return follow

    def variables_of(self, task: str) -> list[NodeDef]:
        """Return the variables that the graph has on a task."""
        return [node for node, device in self.variables() if device.startswith(f"{task}/")]

    def variables(self) -> list[tuple[NodeDef, str]]:
        """Return the variables of the graph, each with its device."""
        return [
            (self._state.view[name], where.device)
            # A list: other nodes may be placed meanwhile, before the view has them.
            for name, where in list(self._state.placed.items())
            if name in self._state.view and self._state.view[name].op in VARIABLES
        ]

    def tasks(self) -> set[str]:
        """Return the tasks that the graph has nodes on."""
        devices = {where.device for where in list(self._state.placed.values())}
        return {device_task(device) for device in devices}

    def keeps_state(self, task: str) -> bool:
        """Return whether the graph has a node on a task that keeps state there between steps."""
        return any(
            where.device.startswith(f"{task}/") and name in self._state.view and holds_state(self._state.view[name])
            for name, where in list(self._state.placed.items())
        )

    def unknown(self, graph: GraphDef) -> Collection[str]:
        """Return the absent tasks from which new nodes request a device that is not known yet, in their order."""
        missing, devices = self._membership.missing, self._membership.members.devices
        if not missing:
            return ()
        tasks: dict[str, None] = {}
        for text in dict.fromkeys(node.device for node in graph.nodes):
            try:
                request = DeviceSpec.parse(text)
            except ValueError:
                continue  # placement reports it
            task = str(request.task_spec)
            if task in missing and not devices.matching(request):
                tasks[task] = None
        return tasks

    @property
    def nodes(self) -> Mapping[str, NodeDef]:
        """The nodes of the graph."""
        return self._state.view

    def placement(self) -> dict[str, Placed]:
        """Return the device of every node that is placed, with the reason."""
        return dict(self._state.placed)

    def shown(self) -> GraphShown:
        """Return the graph with its placement, to be looked at."""
        return GraphShown(self._state.view, self._state.placed)

    def planned(self, signature: RunSignature, feeds: Feeds) -> PlannedStep:
        """Return a step as it was planned to be explained; see ``plan_step``."""
        from actorsession.plan.explain.explain import plan_step

        return plan_step(self._state, signature, feeds)

    def move_nodes(self, moved: Mapping[str, Placed]) -> None:
        """Give nodes other devices in client graphs built from now on.

        Args:
            moved: nodes without state that nothing ties to a device, with their new devices.
        """
        self._state.place_anew(moved)

    def return_nodes(self, task: str) -> None:
        """Return the nodes that were moved to a task to their first devices."""
        self._state.return_nodes(task)

    @property
    def size(self) -> int:
        """The number of nodes, with those of functions."""
        return self._state.view.size

    def build(self, signature: RunSignature) -> ClientGraph:
        """Return the client graph of a signature.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        if not (signature.fetches or signature.targets):
            raise InvalidArgumentError("a step needs a fetch or a target, got neither")
        # A debugged run shows every node that was written.
        optimised = not isinstance(signature, DebugSignature)
        with self._tally.planning():
            _, parts = self._state.partitions(signature, optimised=optimised)
            return self._marked(split_by_task(signature, parts, self._membership.cluster.task))

    def build_partial(self, signature: RunSignature) -> ClientGraph:
        """Return the client graph of a signature of partial runs.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run, or cannot be run on this
                graph and these devices.
        """
        with self._tally.planning():
            parts = self._state.partial_partitions(signature)
            graph = split_by_task(signature, parts.parts, self._membership.cluster.task)
            graph.partial = parts
            return self._marked(graph)

    def _marked(self, graph: ClientGraph) -> ClientGraph:
        graph.absent = self._absent.intersection(part.task for part in graph.parts)
        if isinstance(graph.signature, DebugSignature):
            tasks = [(part.task, part.feeds) for part in graph.parts]
            graph.survey = survey(graph.signature, self._state.view, graph.partitions, tasks)
        return graph

"""The graph of a session as steps are planned from it: TensorFlow's ``GraphExecutionState``.

A ``GraphExecutionState`` is extended with the nodes of the client's graph, places them, and gives the
partitions of what a run needs: pruned, placed, optimised and cut. Direct sessions and master sessions have
one each. It is plain code without a lock: one thread extends it and plans from it at a time.

Invariants: an error changes nothing; a node that was placed stays where it is, unless it has no state and is
placed anew for a reason that the caller gives.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence

from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import NodeDef
from actorsession.plan.collectives import check_collectives
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partial import PartialParts, check_signature, make_partial
from actorsession.plan.partition import Partition, partition
from actorsession.plan.passes.optimise import optimiser_settings
from actorsession.plan.passes.registry import PassRunner, PassStatistics
from actorsession.plan.place import Placed, Placer
from actorsession.plan.placement_log import log_placement
from actorsession.plan.prune import PLACEHOLDERS, GraphView, StepGraph, prune
from actorsession.plan.pruned_placement import PrunedPlacement
from actorsession.plan.signature import RunSignature

__all__ = ["GraphExecutionState"]


class GraphExecutionState:
    """The nodes of one session's graph, their devices, and the partitions of runs.

    Args:
        config: the session's settings, of which ``allow_soft_placement``, ``log_device_placement`` and
            ``graph_options`` act here.
        devices: the session's devices.
        check: called between two passes; what it raises ends the planning.

    Attributes:
        view: the nodes, as planners read them.
        devices: the session's devices.
    """

    def __init__(self, config: ConfigProto, devices: DeviceSet, check: Callable[[], None]) -> None:
        self.view = GraphView()
        self.devices = devices
        self._check = check
        self._options = config.graph_options
        self._logs = config.log_device_placement
        kind = PrunedPlacement if self._options.place_pruned_graph else Placer
        self._placer = kind(devices, allow_soft_placement=config.allow_soft_placement)
        self._passes = PassRunner(optimiser_settings(self._options.optimizer_options))
        self._moved: dict[str, Placed] = {}

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.view)

    @property
    def placed(self) -> Mapping[str, Placed]:
        """The device of every node that is placed, with the reason."""
        placed = self._placer.placed
        return ChainMap(self._moved, dict(placed)) if self._moved else placed

    def extend(self, nodes: Sequence[NodeDef]) -> None:
        """Add nodes, all or none.

        Args:
            nodes: in the order of building; one whose name is there already takes the place of that one.

        Raises:
            InvalidArgumentError: for a node that reads what does not exist, or that asks for a device that
                does not exist.
        """
        checked = self.view.checked(self._passes.new_nodes(nodes, self.view, self.devices))
        self._check()
        new = self.view.new_in(checked)
        if not self._options.place_pruned_graph:
            self._place(new)
        self._resolve_colocation(new)
        self.view.add(checked)

    def _place(self, nodes: Collection[NodeDef]) -> None:
        placed = self._placer.place(nodes)
        if self._logs:
            log_placement(nodes, placed)

    def _resolve_colocation(self, nodes: Collection[NodeDef]) -> None:
        """Return nodes that were placed anew to their first device, if new ones are colocated with them."""
        if self._moved:
            for text in [text for node in nodes for text in node.attrs.get("_class", ())]:
                self._moved.pop(text.removeprefix("loc:@"), None)

    def place_anew(self, moved: Mapping[str, Placed]) -> None:
        """Give nodes other devices in what is planned from now on.

        Args:
            moved: nodes without state that nothing ties to a device, with their new devices.
        """
        self._moved.update(moved)
        if self._logs:
            log_placement([self.view[name] for name in moved], moved)

    def use_devices(self, devices: DeviceSet) -> None:
        """Continue with other devices; nodes that are placed keep theirs, even if those are gone."""
        self.devices = devices
        self._placer.use(devices)

    def partitions(
        self, signature: RunSignature, *, optimised: bool = True
    ) -> tuple[StepGraph, tuple[Partition, ...]]:
        """Return what a run needs: the pruned graph, and its partitions.

        Args:
            signature: what the run feeds, fetches and targets.
            optimised: whether nodes may be folded and merged; not for callers that look at every node.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        graph = prune(self.view, signature)
        self._check()
        self._placer.check_devices(graph.nodes.values())
        if self._options.place_pruned_graph:
            position = self.view.position
            names = sorted((n for n in graph.nodes if n in position), key=position.__getitem__)
            self._place([self.view[name] for name in names])
        placed, client = self.placed, self.devices.client_device
        device_of = {n: placed[n].device if n in placed else client for n in graph.nodes}
        graph, device_of = self._passes.placed(
            graph, device_of, self.view, self.devices, optimised=optimised
        )
        self._check()
        check_collectives(graph, device_of)
        parts = partition(
            graph,
            device_of,
            self.devices,
            bfloat16_transfers=self._options.enable_bfloat16_sendrecv,
        )
        parts = self._passes.partitions(parts, self.view, self.devices)
        self._check()
        return graph, parts

    def partial_partitions(self, signature: RunSignature) -> PartialParts:
        """Return the partitions of partial runs of a signature, or the failure of every such run.

        Raises:
            InvalidArgumentError: if the signature is none of a partial run, or cannot be run on this graph
                and these devices.
        """
        check_signature(signature)
        try:
            graph, parts = self.partitions(signature, optimised=False)
        except InvalidArgumentError as error:
            node = None if error.node is None else self.view.get(error.node)
            is_unfed = node is not None and node.op in PLACEHOLDERS
            if not is_unfed or f"{error.node}:0" in signature.feeds:
                raise
            return PartialParts(signature, failure=error)
        return make_partial(graph, parts, signature, self.devices)

    def pass_statistics(self) -> tuple[PassStatistics, ...]:
        """Return what each graph pass did so far."""
        return self._passes.statistics()

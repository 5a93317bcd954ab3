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
from dataclasses import replace
from typing import TYPE_CHECKING

from actorsession.config import ConfigProto, SessionOptions
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.device_kernels import tell_without_compiler
from actorsession.graph.node import NodeDef
from actorsession.plan.collectives import check_collectives
from actorsession.plan.control_flow.spreading import spread
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.early_reads import read_variables_first
from actorsession.plan.fetched_reads import read_variables_last
from actorsession.plan.partial import PartialParts, check_signature, make_partial
from actorsession.plan.partition import Partition, partition
from actorsession.plan.passes.optimise import optimiser_settings
from actorsession.plan.passes.registry import PassRunner, PassStatistics
from actorsession.plan.place import Placed, Placer
from actorsession.plan.placement_log import log_placement
from actorsession.plan.prune import ARG, PINNED, PLACEHOLDERS, GraphView, StepGraph, check_unique, prune
from actorsession.plan.pruned_placement import PrunedPlacement
from actorsession.plan.reference_order import order_references
from actorsession.plan.references import read_in_place, with_handles
from actorsession.plan.signature import RunSignature, Wiring
from actorsession.plan.wiring import check_devices

if TYPE_CHECKING:
    from actorsession.plan.explain.trail import PlanTrail

__all__ = ["GraphExecutionState"]

# Nodes that an error names at most.
_NAMED = 3


class GraphExecutionState:
    """The nodes of one session's graph, their devices, and the partitions of runs.

    Args:
        config: the session's settings, of which ``allow_soft_placement``, ``log_device_placement``,
            ``graph_options`` and ``experimental.optimize_for_static_graph`` act here.
        devices: the session's devices.
        check: called between two passes; what it raises ends the planning.
        handle: name of the session, for graph passes.
        target: of the session, for graph passes.

    Attributes:
        view: the nodes, as planners read them.
        devices: the session's devices.
    """

    def __init__(
        self, config: ConfigProto, devices: DeviceSet, check: Callable[[], None], *, handle: str = "", target: str = ""
    ) -> None:
        self.view = GraphView()
        self.devices = devices
        self._check = check
        self._options = config.graph_options
        self._logs = config.log_device_placement
        self._static = config.experimental.optimize_for_static_graph
        kind = PrunedPlacement if self._options.place_pruned_graph else Placer
        self._placer = kind(devices, allow_soft_placement=config.allow_soft_placement)
        self._passes = PassRunner(
            optimiser_settings(self._options.optimizer_options), handle, SessionOptions(target, config)
        )
        self._moved: dict[str, Placed] = {}
        if self._options.optimizer_options.compiles:
            tell_without_compiler(devices.by_name)

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
            InvalidArgumentError: for a node that reads what does not exist, that asks for a device that does
                not exist, or whose name another one of them has.
            FailedPreconditionError: if there are nodes already, and the settings say that the graph does not
                grow.
        """
        if self._static and len(self.view) and nodes:
            names = ", ".join(repr(node.name) for node in nodes[:_NAMED])
            more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
            raise FailedPreconditionError(
                f"the graph has grown since the session took it in, by {names}{more}, and the session was "
                "made with optimize_for_static_graph=True: build all nodes before the first run"
            )
        check_unique(nodes)
        added = self._passes.new_nodes(nodes, self.view, self.devices)
        by_name = {node.name: node for node in added}
        checked = self.view.checked(spread(by_name, self.view).values() if by_name else added)
        self._check()
        new = self.view.new_in(checked)
        if not self._options.place_pruned_graph:
            self._place(new)
        self._resolve_colocation(new)
        self.view.add(checked)

    def _place(self, nodes: Collection[NodeDef], *, keep: bool = True) -> Mapping[str, Placed]:
        placed = self._placer.place(nodes, keep=keep)
        if self._logs and keep:
            log_placement(nodes, placed)
        return placed

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

    def return_nodes(self, task: str) -> None:
        """Return the nodes that ``place_anew`` has moved to a task to their first devices."""
        self._moved = {n: p for n, p in self._moved.items() if not p.device.startswith(f"{task}/")}

    def use_devices(self, devices: DeviceSet) -> None:
        """Continue with other devices.

        Nodes that are placed keep theirs, even if those are gone. Only a node that ``place_anew`` gave a
        device that is gone returns to its first one.
        """
        self.devices = devices
        self._moved = {n: p for n, p in self._moved.items() if p.device in devices.by_name}
        self._placer.use(devices)

    def partitions(
        self, signature: RunSignature, *, optimised: bool = True, trail: PlanTrail | None = None
    ) -> tuple[StepGraph, tuple[Partition, ...]]:
        """Return what a run needs: the pruned graph, and its partitions.

        Args:
            signature: what the run feeds, fetches and targets.
            optimised: whether nodes may be folded and merged; not for callers that look at every node.
            trail: notes what each stage does. A planning with one changes nothing that later ones see: no device
                is kept, nothing is logged or counted, and placeholders that are not fed stay in the graph.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        step = read_variables_last(order_references(self._prune(signature, trail)))
        step = read_variables_first(step, self.view)
        return self._cut(step, signature, optimised, trail)

    def _prune(self, signature: RunSignature, trail: PlanTrail | None = None) -> StepGraph:
        self._check_wiring(signature.wiring)
        if trail is None:
            return with_handles(prune(self.view, signature))
        trail.placed = self.placed
        return with_handles(trail.reached("prune", prune(self.view, signature, trail.unfed)))

    def _cut(
        self, graph: StepGraph, signature: RunSignature, optimised: bool, trail: PlanTrail | None = None
    ) -> tuple[StepGraph, tuple[Partition, ...]]:
        """Place, rewrite and partition a pruned graph."""
        self._check()
        self._placer.check_devices(graph.nodes.values())
        placed = self.placed
        if self._options.place_pruned_graph:
            position = self.view.position
            names = sorted((n for n in graph.nodes if n in position), key=position.__getitem__)
            result = self._place([self.view[name] for name in names], keep=trail is None)
            placed = {**self._placer.placed, **result, **self._moved}
        device_of = self._device_of(graph, placed)
        graph = read_in_place(graph, device_of)
        if trail is not None:
            trail.placed, trail.device_of = placed, device_of
            trail.reached("variables", graph)
        graph, device_of = self._passes.placed(
            graph, device_of, self.view, self.devices, optimised=optimised, trail=trail
        )
        self._check()
        check_collectives(graph, device_of, alone=not signature.collective_graph_key)
        parts = partition(graph, device_of, self.devices, bfloat16_transfers=self._options.enable_bfloat16_sendrecv)
        parts = self._passes.partitions(parts, self.view, self.devices, trail)
        if self._options.optimizer_options.compiles:
            parts = tuple([replace(part, compiles=True) for part in parts])
        if trail is not None:
            trail.device_of, trail.partitions = device_of, parts
        self._check()
        return graph, parts

    def _check_wiring(self, wiring: Wiring) -> None:
        """Check that feeds can enter and fetches can leave a step at the devices that are named for them."""
        check_devices(wiring, self.devices.by_name)
        for tensor, device in wiring.fetch_devices:
            if self.devices.lacking(device, ("Identity",)):
                raise InvalidArgumentError(
                    f"fetch_devices names {device!r} for tensor {tensor!r}, which has no kernel for Identity "
                    "and so cannot hand it out"
                )

    def _device_of(self, graph: StepGraph, placed: Mapping[str, Placed]) -> dict[str, str]:
        """Return the device of each node of a step, also of those that are not in the whole graph.

        These are where they were requested, or where the value that they read is.
        """
        client = self.devices.client_device
        device_of: dict[str, str] = {}
        for name, node in graph.nodes.items():
            if name in placed:
                device_of[name] = placed[name].device
            elif node.op == ARG:
                device_of[name] = node.device if PINNED in node.attrs else client
            else:
                read = node.inputs[0][0] if node.inputs else ""
                device_of[name] = node.device or device_of.get(read, client)
        return device_of

    def partial_partitions(self, signature: RunSignature) -> PartialParts:
        """Return the partitions of partial runs of a signature, or the failure of every such run.

        Raises:
            InvalidArgumentError: if the signature is none of a partial run, or cannot be run on this graph
                and these devices.
        """
        check_signature(signature)
        try:
            graph, parts = self._cut(self._prune(signature), signature, optimised=False)
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

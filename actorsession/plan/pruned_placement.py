"""Placement of the nodes that a run needs and no others: ``graph_options.place_pruned_graph``.

Each run signature is placed by itself, as in TensorFlow, so that a node that the run does not need can
neither make it fail nor pull other nodes to its device. Stateful nodes stay where they were placed first; all
others are placed anew for each signature. The planner owns it and holds its lock during calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from actorsession.graph.node import NodeDef
from actorsession.graph.registry import lookup
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.place import Placed, Placer

__all__ = ["PrunedPlacement"]


class PrunedPlacement:
    """The devices of the nodes of pruned graphs.

    Args:
        devices: the session's devices.
        allow_soft_placement: as for a ``Placer``.

    Attributes:
        placed: the device that each node was last placed on, with the reason.
    """

    def __init__(self, devices: DeviceSet, *, allow_soft_placement: bool) -> None:
        self._devices = devices
        self._soft = allow_soft_placement
        self._stateful: dict[str, tuple[NodeDef, Placed]] = {}
        self.placed: dict[str, Placed] = {}

    def use(self, devices: DeviceSet) -> None:
        """Continue with other devices; nodes with state keep theirs, even if those are gone."""
        self._devices = devices

    def check_devices(self, nodes: Iterable[NodeDef]) -> None:
        """Check that the devices of nodes with state still exist.

        Raises:
            InvalidArgumentError: for the first node whose device is gone.
        """
        for node in nodes:
            if node.name in self._stateful:
                where = self._stateful[node.name][1]
                self._devices.spec_of_placed(where.device, node, node.name)

    def place(self, nodes: Iterable[NodeDef], *, keep: bool = True) -> Mapping[str, Placed]:
        """Return the placement of the nodes of a pruned graph; an error changes nothing.

        Args:
            nodes: the nodes of the user's graph that are in it, in the order of creation.
            keep: whether nodes with state stay where they are now.

        Raises:
            InvalidArgumentError: as ``Placer.place`` does.
        """
        batch = {node.name: node for node in nodes}
        tied = {name for node in batch.values() for name in _ties(node)}
        placer = Placer(self._devices, allow_soft_placement=self._soft)
        kept = [name for name in {**batch, **dict.fromkeys(tied)} if name in self._stateful]
        placer.place([_pinned(*self._stateful[name]) for name in kept], pinned=True)
        # Nodes colocated with a node that the run does not need must share a device with each other.
        absent = sorted(tied - batch.keys() - self._stateful.keys())
        placement = placer.place([*(NodeDef(name=n, op="NoOp") for n in absent), *batch.values()])
        result = {n: placement[n] if n in placement else self._stateful[n][1] for n in batch}
        for name, node in batch.items() if keep else ():
            if name not in self._stateful and lookup(node.op).stateful:
                self._stateful[name] = node, result[name]
        if keep:
            self.placed.update(result)
        return result


def _ties(node: NodeDef) -> list[str]:
    """Return the names in a node's ``loc:@`` groups."""
    return [text.removeprefix("loc:@") for text in node.attrs.get("_class", ())]


def _pinned(node: NodeDef, where: Placed) -> NodeDef:
    """Return a node that requests the device it has, and has no other constraint."""
    attrs = {key: value for key, value in node.attrs.items() if key != "_class"}
    return replace(node, device=where.device, inputs=(), control_inputs=(), attrs=attrs)

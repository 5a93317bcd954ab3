"""Control loops: they make it possible to run a primitive loop on several devices.

A partition needs the number of iterations of a loop before it can receive the values that others send in
each iteration. So every device that receives something inside a loop gets a small loop of its own, driven by
the loop's predicate. The Merge of this control loop triggers the receives of each iteration, as in TensorFlow
(core/graph/graph_partition.cc).

Before that, nodes that make a value in some iterations only are moved to their readers: an Enter makes its
value in the first iteration alone, a NextIteration in all but the first. Then every value that crosses
devices inside a loop is sent, alive or dead, exactly once in each iteration. ``partition`` calls this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from actorsession.errors import UnimplementedError
from actorsession.graph import dtypes
from actorsession.graph.control_flow_ops import ENTERS, LOOP_COND, NEXT_ITERATIONS, PRIMITIVES
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of
from actorsession.plan.prune import StepGraph
from actorsession.records import dataclass

__all__ = ["DistributedLoops", "has_primitives", "with_distributed_loops"]

_START = np.zeros((), np.uint8)
_TOKEN = TensorSpec(dtypes.uint8, TensorShape(()))
_INDEX = TensorSpec(dtypes.int32, TensorShape(()))


@dataclass(frozen=True, slots=True)
class DistributedLoops:
    """A step graph that is ready to be partitioned.

    Attributes:
        graph: the nodes, with the control loops among them.
        device_of: full device name of each.
        frames: the frame of each.
        triggers: by frame and device, the node that triggers the receives there.
    """

    graph: StepGraph
    device_of: Mapping[str, str]
    frames: Mapping[str, Frame]
    triggers: Mapping[tuple[Frame, str], str]


def has_primitives(graph: StepGraph) -> bool:
    """Return whether a step graph has primitive control flow."""
    return not PRIMITIVES.isdisjoint([node.op for node in graph.nodes.values()])


def with_distributed_loops(graph: StepGraph, device_of: Mapping[str, str], copied: set[str]) -> DistributedLoops:
    """Prepare a step graph with primitive control flow.

    Args:
        graph: the nodes that the run needs.
        device_of: full device name of each node.
        copied: names of the nodes that are copied to every partition that reads them.

    Raises:
        InvalidArgumentError: if a node reads from several frames.
        UnimplementedError: for a loop over several devices without one LoopCond.
    """
    frames_of(graph.nodes)  # raises errors about the graph as it was built
    mover = _Mover(graph, device_of, copied)
    nodes = mover.moved()
    devices = mover.device_of
    frames = frames_of(nodes)
    adder = _Adder(nodes, devices, frames)
    for frame, device in _received(nodes, devices, frames, copied):
        for outer in reversed(frame.outwards):
            adder.add(outer, device)
    frames.update(adder.frame_of)
    # The Merge of a control loop comes before all receives that it triggers, the Switch after its predicate.
    nodes = {**adder.first, **nodes, **adder.last}
    return DistributedLoops(replace(graph, nodes=nodes), devices, frames, adder.triggers)


def _received(
    nodes: Mapping[str, NodeDef], device_of: Mapping[str, str], frames: Mapping[str, Frame], copied: set[str]
) -> list[tuple[Frame, str]]:
    """Return the frames in which a device receives anything, each with that device."""
    values: dict[tuple[Frame, str], None] = {}
    for node in nodes.values():
        for name in (*[n for n, _ in node.inputs], *node.control_inputs):
            away = name not in copied and device_of[name] != device_of.get(node.name)
            if away and node.name not in copied and frames[name] != ROOT:
                values[frames[name], device_of[node.name]] = None
    return list(values)


class _Mover:
    """The move of Enter and NextIteration nodes to the devices of their readers."""

    def __init__(self, graph: StepGraph, device_of: Mapping[str, str], copied: set[str]) -> None:
        self._graph = graph
        self.device_of = dict(device_of)
        self._copied = copied
        self._kept = {name for name, _ in graph.fetches} | set(graph.targets)

    def moved(self) -> dict[str, NodeDef]:
        """Return the nodes with their inputs rewired."""
        graph = self._graph
        readers: dict[str, dict[str, None]] = {}  # devices by node that may move
        for node in graph.nodes.values():
            for name in (*[n for n, _ in node.inputs], *node.control_inputs):
                if graph.nodes[name].op in ENTERS | NEXT_ITERATIONS:
                    readers.setdefault(name, {})[self.device_of[node.name]] = None
        twins: dict[tuple[str, str], str] = {}
        nodes: dict[str, NodeDef] = {}
        for node in graph.nodes.values():
            devices = readers.get(node.name, {})
            here = self.device_of[node.name]
            if not devices or here in devices or node.name in self._kept:
                nodes[node.name] = node
            for device in devices:
                if device != here:
                    twin = replace(node, name=f"_moved/{len(twins)}/{node.name}", device=device)
                    twins[node.name, device] = twin.name
                    nodes[twin.name] = twin
                    self.device_of[twin.name] = device
        return {name: self._rewired(node, twins) for name, node in nodes.items()} if twins else nodes

    def _rewired(self, node: NodeDef, twins: Mapping[tuple[str, str], str]) -> NodeDef:
        device = self.device_of[node.name]
        inputs = tuple([(twins.get((name, device), name), i) for name, i in node.inputs])
        control = tuple([twins.get((name, device), name) for name in node.control_inputs])
        return replace(node, inputs=inputs, control_inputs=control)


class _Adder:
    """The control loops of a step graph; each is added once."""

    def __init__(self, nodes: Mapping[str, NodeDef], device_of: dict[str, str], frames: Mapping[str, Frame]) -> None:
        self._device_of = device_of
        self._conditions: dict[Frame, list[NodeDef]] = {}
        self._parallel: dict[Frame, int] = {}
        for node in nodes.values():
            frame = frames[node.name]
            if node.op == LOOP_COND:
                self._conditions.setdefault(frame, []).append(node)
            elif node.op in ENTERS:
                self._parallel[frame] = node.attrs["parallel_iterations"]
        self.first: dict[str, NodeDef] = {}
        self.last: dict[str, NodeDef] = {}
        self.frame_of: dict[str, Frame] = {}
        self.triggers: dict[tuple[Frame, str], str] = {}

    def add(self, frame: Frame, device: str) -> None:
        """Add a control loop for a frame to a device, which has one for the frame around it already."""
        if (frame, device) in self.triggers:
            return
        condition = self._condition(frame, device)
        assert frame.parent is not None
        number = len(self.triggers)
        start, enter, merge, switch, following = [
            f"_loop/{number}/{part}" for part in ("start", "enter", "merge", "switch", "next")
        ]
        source = condition.source
        outer = self.triggers.get((frame.parent, device))
        if outer is None:
            # It requests the device, so that it is not copied but placed with the loop.
            self._put(
                NodeDef(
                    name=start, op="Const", attrs={"value": _START}, device=device, outputs=(_TOKEN,), source=source
                ),
                device,
                frame.parent,
            )
            outer = start
        attrs = {"frame_name": frame.name, "is_constant": False, "parallel_iterations": self._parallel[frame]}
        for name, op, inputs, outputs, given in (
            (enter, "Enter", ((outer, 0),), (_TOKEN,), attrs),
            (merge, "Merge", ((enter, 0), (following, 0)), (_TOKEN, _INDEX), {}),
            (switch, "Switch", ((merge, 0), (condition.name, 0)), (_TOKEN, _TOKEN), {}),
            (following, "NextIteration", ((switch, 1),), (_TOKEN,), {}),
        ):
            node = NodeDef(name=name, op=op, inputs=inputs, outputs=outputs, attrs=given, device=device, source=source)
            self._put(node, device, frame)
        self.triggers[frame, device] = merge

    def _put(self, node: NodeDef, device: str, frame: Frame) -> None:
        (self.last if node.op in ("Switch", "NextIteration") else self.first)[node.name] = node
        self.frame_of[node.name] = frame
        self._device_of[node.name] = device

    def _condition(self, frame: Frame, device: str) -> NodeDef:
        conditions = self._conditions.get(frame, [])
        if len(conditions) != 1:
            names = ", ".join(repr(node.name) for node in conditions) or "none"
            raise UnimplementedError(
                f"loop {frame.name!r} has nodes on several devices, among them {device}; such "
                f"a loop must have exactly one LoopCond, but this one has {names}. Put the "
                "loop on one device"
            )
        return conditions[0]

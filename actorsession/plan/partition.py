"""Partitioning: cuts a placed step graph into one partition per device.

A data edge between devices becomes a ``_Send`` at its source and a ``_Recv`` at its destination under one
rendezvous key; one pair serves all consumers of a tensor at a destination. A control edge between devices
sends a small constant. A ``_Send`` stands directly behind its producer, so that a value is sent as soon as it
exists. Feeds (``_Arg``) and plain constants without a requested device are copied to every partition that
reads them, so they are never sent between partitions, except for feeds that are pinned to a device. On
request, float32 tensors are sent between tasks as bfloat16, with a Cast on either side.

Sessions and masters call this. Partitions are sent to workers, which check them in ``from_wire``.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from actorsession.config.limits import check_graph_size
from actorsession.errors import InternalError, InvalidArgumentError, ProtocolError
from actorsession.graph import dtypes
from actorsession.graph.codec import Packed
from actorsession.graph.control_flow_ops import PRIMITIVES, is_back_edge
from actorsession.graph.device import device_task
from actorsession.graph.function import function_fault
from actorsession.graph.node import NodeDef, TensorSpec, nodes_from_wire, nodes_to_wire
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.shape import TensorShape
from actorsession.graph.validation import attribute_fault, types_fault
from actorsession.plan.control_flow.distributed_loops import DistributedLoops, has_primitives, with_distributed_loops
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.prune import ARG, PINNED, StepGraph
from actorsession.plan.rendezvous_key import build_key, parse_key
from actorsession.plan.takes import mark_takes
from actorsession.records import dataclass

__all__ = ["CONTROL_TOKEN", "RECV", "SEND", "Partition", "is_copied", "partition", "validate"]

SEND, RECV = "_Send", "_Recv"
# Sent on a control edge: one byte whose value is never read.
CONTROL_TOKEN = np.zeros((), np.uint8)
_TOKEN_SPEC = TensorSpec(dtypes.uint8, TensorShape(()))


@dataclass(frozen=True, slots=True)
class Partition:
    """The nodes of a step that run on one device.

    Attributes:
        device: full name.
        nodes: producers before consumers, ``_Arg``, ``_Send`` and ``_Recv`` among them.
        fetches: (position in the signature's fetches, producing node, output index).
        compiles: whether the compiler of the device, if it brings one, may compile nodes.
    """

    device: str
    nodes: tuple[NodeDef, ...]
    fetches: tuple[tuple[int, str, int], ...]
    compiles: bool = False

    @property
    def feeds(self) -> tuple[int, ...]:
        """Positions, in the signature's feeds, of the feeds that this partition reads, in node order."""
        return tuple(node.attrs["index"] for node in self.nodes if node.op == ARG)

    @property
    def has_primitives(self) -> bool:
        """Whether a value of the partition may be dead or belong to an iteration of a loop."""
        return any(node.op in PRIMITIVES or (node.op == RECV and node.attrs.get("may_be_dead")) for node in self.nodes)

    @property
    def task(self) -> str:
        """The task that owns the device."""
        return device_task(self.device)

    def to_wire(self, *, pack: bool = False) -> list[Any]:
        """Return the partition as plain values; ``pack`` encodes its nodes immediately."""
        nodes = nodes_to_wire(self.nodes, pack=pack)
        return [self.device, nodes, [list(f) for f in self.fetches], *([True] if self.compiles else [])]

    @classmethod
    def from_wire(cls, value: Any) -> Partition:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form, or nodes that later stages could not rely on.
        """
        match value:
            case [str() as device, (list() | Packed()) as nodes, list() as fetches] | [
                str() as device,
                (list() | Packed()) as nodes,
                list() as fetches,
                True,
            ]:
                parts = []
                for fetch in fetches:
                    match fetch:
                        case [int() as position, str() as node, int() as index]:
                            parts.append((position, node, index))
                        case _:
                            raise ProtocolError(f"this is not the wire form of a fetch: {reprlib.repr(fetch)}")
                part = cls(device, nodes_from_wire(nodes, _check_size), tuple(parts), compiles=len(value) > 3)
                try:
                    _check_part(part)
                    _check_received(part)
                except (InternalError, InvalidArgumentError) as exc:
                    raise ProtocolError(f"this is not a partition: {exc.message}") from exc
                return part
        raise ProtocolError(f"this is not the wire form of a partition: {reprlib.repr(value)}")


def _check_size(nodes: int) -> None:
    # Each node may have a copy here, and values that are sent and received.
    check_graph_size(nodes, "a partition", times=4)


@dataclass(slots=True)
class _Part:
    nodes: dict[str, NodeDef] = field(default_factory=dict)
    sends: dict[str, list[NodeDef]] = field(default_factory=dict)  # by producer
    fetches: list[tuple[int, str, int]] = field(default_factory=list)

    def in_order(self) -> Iterator[NodeDef]:
        for node in self.nodes.values():
            yield node
            yield from self.sends.get(node.name, ())


class _Cutter:
    """The state of one cut: partitions by device, and the transfers made so far."""

    def __init__(
        self, graph: StepGraph, device_of: Mapping[str, str], devices: DeviceSet, bfloat16_transfers: bool
    ) -> None:
        self.graph = graph
        self.device_of = device_of
        self.devices = devices
        self.bfloat16_transfers = bfloat16_transfers
        self.parts: dict[str, _Part] = {}
        # (node, output, destination) -> name of the node that provides the value there
        self.received: dict[tuple[str, int, str], str] = {}
        self.edges = itertools.count()
        self.copied = {n.name for n in graph.nodes.values() if is_copied(n)}
        self.loops: DistributedLoops | None = None
        if has_primitives(graph):
            self.loops = with_distributed_loops(graph, device_of, self.copied)
            self.graph, self.device_of = self.loops.graph, self.loops.device_of

    def part(self, device: str) -> _Part:
        return self.parts.setdefault(device, _Part())

    def add(self, node: NodeDef) -> None:
        device = self.device_of[node.name]
        inputs = tuple([self.local(ref, device) for ref in node.inputs])
        control = tuple([self.local_control(name, device) for name in node.control_inputs])
        if inputs != node.inputs or control != node.control_inputs:
            node = replace(node, inputs=inputs, control_inputs=control)
        self.part(device).nodes[node.name] = node

    def local(self, ref: tuple[str, int], device: str) -> tuple[str, int]:
        """Return the reference by which a node on ``device`` reads a tensor made on any device."""
        name, index = ref
        if name in self.copied:
            self.part(device).nodes.setdefault(name, self.graph.nodes[name])
            return ref
        if self.device_of[name] == device:
            return ref
        spec = self.graph.nodes[name].outputs[index]
        return self.transfer(name, index, spec, device), 0

    def local_control(self, name: str, device: str) -> str:
        """Return the node on ``device`` that runs after a given node of any device."""
        if name in self.copied:
            self.part(device).nodes.setdefault(name, self.graph.nodes[name])
            return name
        if self.device_of[name] == device:
            return name
        return self.transfer(name, -1, _TOKEN_SPEC, device)

    def transfer(self, name: str, index: int, spec: TensorSpec, dst: str) -> str:
        """Return the name of the node at ``dst`` that provides a tensor, or with index -1 a control edge."""
        known = self.received.get((name, index, dst))
        if known is not None:
            return known
        src = self.device_of[name]
        if spec.dtype is dtypes.resource:
            raise InternalError(f"the resource of {name!r} would have to be sent from {src} to {dst}")
        tensor = f"{name}:{index}" if index >= 0 else f"^{name}"
        edge = f"edge_{next(self.edges)}_{tensor}"
        key = build_key(src, self.devices.by_name[src].incarnation, dst, edge)
        source = self.graph.nodes[name].source
        send = NodeDef(
            name=f"_send/{edge}",
            op=SEND,
            attrs={"key": key},
            source=source,
            inputs=((name, index),) if index >= 0 else (),
            control_inputs=() if index >= 0 else (name,),
        )
        recv = NodeDef(name=f"_recv/{edge}", op=RECV, attrs={"key": key}, outputs=(spec,), source=source)
        if self.loops is not None:
            trigger = self.loops.triggers.get((self.loops.frames[name], dst))
            recv = replace(
                recv, attrs={"key": key, "may_be_dead": True}, control_inputs=() if trigger is None else (trigger,)
            )
        leaving: tuple[NodeDef, ...] = (send,)
        arriving: tuple[NodeDef, ...] = (recv,)
        if self.bfloat16_transfers and spec.dtype is dtypes.float32 and device_task(src) != device_task(dst):
            leaving, arriving = _narrowed(send, recv, edge)
        self.part(src).sends.setdefault(name, []).extend(leaving)
        self.part(dst).nodes.update({node.name: node for node in arriving})
        self.received[name, index, dst] = arriving[-1].name
        return arriving[-1].name


def _narrowed(send: NodeDef, recv: NodeDef, edge: str) -> tuple[tuple[NodeDef, ...], tuple[NodeDef, ...]]:
    """Return the nodes at either end of a float32 transfer that needs half the bytes."""
    (spec,) = recv.outputs
    half = TensorSpec(dtypes.bfloat16, spec.shape)
    # Truncated as in TensorFlow, which does not round here; no finite value becomes infinite.
    narrow = NodeDef(
        name=f"_narrow/{edge}",
        op="Cast",
        inputs=send.inputs,
        outputs=(half,),
        source=send.source,
        attrs={"DstT": dtypes.bfloat16, "Truncate": True},
    )
    widen = NodeDef(
        name=f"_widen/{edge}",
        op="Cast",
        inputs=((recv.name, 0),),
        outputs=(spec,),
        attrs={"DstT": dtypes.float32, "Truncate": False},
        source=recv.source,
    )
    leaving = narrow, replace(send, inputs=((narrow.name, 0),))
    return leaving, (replace(recv, outputs=(half,)), widen)


def partition(
    graph: StepGraph, device_of: Mapping[str, str], devices: DeviceSet, *, bfloat16_transfers: bool = False
) -> tuple[Partition, ...]:
    """Cut a step graph.

    Args:
        graph: the nodes that the run needs.
        device_of: full device name of each node.
        devices: the session's devices, for their incarnations and the client device.
        bfloat16_transfers: whether float32 tensors are sent between tasks as bfloat16, at half the bytes and
            with 8 bits of precision.

    Returns:
        One partition per device that has any nodes, the client device's first.
    """
    cutter = _Cutter(mark_takes(graph), device_of, devices, bfloat16_transfers)
    graph, device_of = cutter.graph, cutter.device_of
    for node in graph.nodes.values():
        if node.name not in cutter.copied:
            cutter.add(node)
    client = devices.client_device
    for position, (name, index) in enumerate(graph.fetches):
        device = client if name in cutter.copied else device_of[name]
        if name in cutter.copied:
            cutter.local((name, index), device)
        cutter.part(device).fetches.append((position, name, index))
    for name in graph.targets:
        if name in cutter.copied:
            cutter.local((name, 0), client)
    parts = tuple(
        Partition(device, tuple(part.in_order()), tuple(part.fetches))
        for device, part in sorted(cutter.parts.items(), key=lambda item: item[0] != client)
    )
    validate(graph, parts)
    return parts


def is_copied(node: NodeDef) -> bool:
    """Return whether every partition that reads a node gets a copy of it, so that nothing is sent."""
    if node.op == ARG:
        return PINNED not in node.attrs
    definition = lookup(node.op)
    if not definition.once or definition.stateful:
        return False
    return not (node.device or node.attrs.get("_class") or node.control_inputs)


def validate(graph: StepGraph, parts: tuple[Partition, ...]) -> None:
    """Check the invariants on which every later stage relies.

    Raises:
        InternalError: naming the node that breaks a rule: each node in one partition (copies aside), every
            input made earlier in the same partition, every key sent once and received once, every fetch in
            one partition and made there.
    """
    sent: dict[str, str] = {}
    received: dict[str, str] = {}
    places: dict[str, str] = {}
    for part in parts:
        _check_part(part)
        for node in part.nodes:
            if node.op in (SEND, RECV):
                table = sent if node.op == SEND else received
                if table.setdefault(node.attrs["key"], node.name) != node.name:
                    raise InternalError(f"{node.name!r} repeats the key {node.attrs['key']!r}")
            elif places.setdefault(node.name, part.device) != part.device and not is_copied(node):
                raise InternalError(f"{node.name!r} is on {places[node.name]} and on {part.device}")
    if sent.keys() != received.keys():
        raise InternalError(f"sends and receives do not match: {sorted(sent.keys() ^ received.keys())}")
    fetched = sorted(position for part in parts for position, _, _ in part.fetches)
    if fetched != list(range(len(graph.fetches))):
        raise InternalError(f"the partitions have the fetches {fetched} of {len(graph.fetches)}")


# Attributes of the planner's own nodes; all other types come from the op registry.
_OWN_ATTRS: Mapping[str, tuple[str, type[Any]]] = {ARG: ("index", int), SEND: ("key", str), RECV: ("key", str)}


def _check_received(part: Partition) -> None:
    """Check what is written in the nodes of a partition from a peer, whose form and order are right."""
    outputs = {node.name: node.outputs for node in part.nodes}
    for node in part.nodes:
        if node.op in (SEND, RECV):
            parse_key(node.attrs["key"])
        fault = (
            attribute_fault(node)
            or types_fault(node, outputs.__getitem__)
            or function_fault(node, check=attribute_fault)
        )
        if fault is not None:
            raise InvalidArgumentError(f"{node.name!r} {fault}", node=node.name)


def _check_part(part: Partition) -> None:
    """Check one partition by itself, so that one from a peer cannot fail later in a less clear way."""
    counts: dict[str, int] = {}  # number of outputs by node
    later = {n.name: n for n in part.nodes} if part.has_primitives else {}
    for node in part.nodes:
        for name, index in node.inputs:
            if name in later and is_back_edge(node.op, later[name].op) and not index:
                continue
            if not 0 <= index < counts.get(name, 0):
                raise InternalError(
                    f"{node.name!r} on {part.device} reads '{name}:{index}', which is not computed there before it"
                )
        for name in node.control_inputs:
            if name not in counts:
                raise InternalError(
                    f"{node.name!r} on {part.device} runs after {name!r}, which is not computed there before it"
                )
        if node.name in counts:
            raise InternalError(f"{node.name!r} occurs twice on {part.device}")
        counts[node.name] = len(node.outputs)
        if node.op in _OWN_ATTRS:
            _check_own(node)
        elif not is_registered(node.op):
            raise InternalError(f"{node.name!r} is of type {node.op!r}, which is not registered")
        fault = function_fault(node)
        if fault is not None:
            raise InternalError(f"{node.name!r} {fault}")
    for _, name, index in part.fetches:
        if not 0 <= index < counts.get(name, 0):
            raise InternalError(f"'{name}:{index}' is fetched on {part.device} but not computed there")


def _check_own(node: NodeDef) -> None:
    attr, kind = _OWN_ATTRS[node.op]
    outputs = 0 if node.op == SEND else 1
    inputs = 1 if node.op == SEND and not node.control_inputs else 0
    if not isinstance(node.attrs.get(attr), kind) or len(node.outputs) != outputs or len(node.inputs) != inputs:
        raise InternalError(f"{node.name!r} is not a valid {node.op} of a plan")

"""Placement: every node gets one device and the reason for that choice.

Nodes joined by ``loc:@name`` or by a resource edge form a group that gets one device. A group's request is
the merge of its members' requests: first of those that make resources, then of those tied by name, last of
those that use a resource. The last go where the state is, whatever they request. A node that is colocated
with one of these and carries the same request follows it too.
A node without a request goes to a default: the client device (or a preferred one, such as an accelerator),
the device of its only consumer, the device of its input if it does not read the data, or that of the
variable if it reads a reference.
A device gets only operations that it supports.
Placement is incremental: nodes placed before keep their device, and an error leaves everything as it was.
Sessions and masters call it as their graph grows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.graph.dtypes import resource
from actorsession.graph.function import CONSTRUCTS, function_fault, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import lookup
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.references import HANDLE_OF, PASSES
from actorsession.records import dataclass

__all__ = ["Placed", "Placer", "refused"]


@dataclass(frozen=True, slots=True)
class Placed:
    """The device of a node.

    Attributes:
        device: full name.
        reason: the rule that chose it, in words.
    """

    device: str
    reason: str


_ANYWHERE = DeviceSpec()
_NO_OPS: frozenset[str] = frozenset()
# These read no data of their input, only its static properties. Elsewhere, the data would be sent for
# nothing.
_METADATA_OPS = frozenset({"Rank", "Shape", "Size"})


def _op_types(node: NodeDef) -> frozenset[str]:
    """Return the operation types that a device must support to run a node, nested ones included."""
    return frozenset([node.op, *[inner.op for inner, _ in nodes_inside(node)]])


@dataclass(slots=True)
class _Group:
    """Nodes that must share a device.

    Attributes:
        members: those to be placed now, in the order they were built.
        request: their merged request.
        asked_by: the first member with a request.
        anchors: names of members placed before.
        placed: the device of the group, once that is settled.
    """

    members: list[NodeDef] = field(default_factory=list)
    request: DeviceSpec = _ANYWHERE
    asked_by: NodeDef | None = None
    anchors: list[str] = field(default_factory=list)
    placed: Placed | None = None


class Placer:
    """The placement of one session's graph, which may grow.

    Args:
        devices: the session's devices.
        allow_soft_placement: whether a request for a device type or number that does not exist may go
            elsewhere in the same task.
    """

    def __init__(self, devices: DeviceSet, *, allow_soft_placement: bool = False) -> None:
        self._devices = devices
        self._soft = allow_soft_placement
        self._placed: dict[str, Placed] = {}
        self._requests: dict[str, DeviceSpec] = {}  # device strings repeat; parse each once
        self._candidates: dict[DeviceSpec | tuple[DeviceSpec, frozenset[str]], Placed] = {}
        self._resources: set[tuple[str, int]] = set()  # outputs that are resource handles
        self._references: set[str] = set()  # nodes whose output refers to a variable
        # Requests of nodes that go where state is, by name: of the node, its colocated nodes and its
        # resources.
        self._requested: dict[str, set[str]] = {}

    @property
    def placed(self) -> Mapping[str, Placed]:
        """The device of every node placed so far, with the reason."""
        return self._placed

    def use(self, devices: DeviceSet) -> None:
        """Replace the devices; placed nodes keep theirs, even if it no longer exists."""
        self._devices = devices
        self._candidates.clear()

    def check_devices(self, nodes: Iterable[NodeDef]) -> None:
        """Check that the devices of placed nodes still exist.

        Raises:
            InvalidArgumentError: for the first node whose device no longer exists.
        """
        for node in nodes:
            placed = self._placed.get(node.name)
            if placed is not None:
                self._devices.spec_of_placed(placed.device, node, node.name)

    def place(self, nodes: Iterable[NodeDef], *, pinned: bool = False, keep: bool = True) -> Mapping[str, Placed]:
        """Place new nodes; nodes that they are tied to may have been placed before.

        Args:
            nodes: the nodes.
            pinned: whether they stand for nodes that were placed before, without the inputs of those.
            keep: whether they count as placed from now on.

        Returns:
            The new nodes' devices.

        Raises:
            InvalidArgumentError: if a request is malformed, contradicts another in its group, or names a
                device that does not exist, or if no device that it allows runs the operation.
        """
        batch = {node.name: node for node in nodes if node.name not in self._placed}
        if not pinned:
            _check_functions(batch.values())
        handles = {(n.name, i) for n in batch.values() for i, s in enumerate(n.outputs) if s.dtype is resource}
        known = self._resources | handles if handles else self._resources
        references = {n.name for n in batch.values() if _gives_reference(n)}
        self._references |= references
        group_of, asked = self._group(batch, known)
        result: dict[str, Placed] = {}
        open_sources: list[NodeDef] = []
        run_all = self._devices.supports is None
        for node in batch.values():
            ops = _NO_OPS if run_all else _op_types(node)
            group = group_of.get(node.name)
            if group is not None:
                result[node.name] = self._in_group(group, node)
            elif not node.device and not node.inputs:
                open_sources.append(node)
                result[node.name] = self._choose(_ANYWHERE, node, ops)
            else:
                beside = self._place_with_input(node, result)
                result[node.name] = beside or self._choose(self._request(node), node, ops)
        self._move_to_consumers(open_sources, batch, result)
        for node in batch.values():
            self._check_inside(node, result[node.name])
        if keep:
            self._placed.update(result)
            self._resources |= handles
            for name, requests in asked.items():
                self._requested.setdefault(name, set()).update(requests)
        return result

    # -- groups --------------------------------------------------------------------------------

    def _group(
        self, batch: Mapping[str, NodeDef], handles: set[tuple[str, int]]
    ) -> tuple[dict[str, _Group], dict[str, set[str]]]:
        """Return the groups of more than one member, by node name, and the additions to ``_requested``."""
        parent: dict[str, str] = {}

        def find(name: str) -> str:
            while parent.setdefault(name, name) != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        users: set[str] = set()
        asked: dict[str, set[str]] = {}
        for node in batch.values():
            used = [producer for producer, index in node.inputs if (producer, index) in handles]
            if self._references:
                passes = node.op in PASSES or node.op == HANDLE_OF
                taken = node.inputs if passes else node.inputs[: lookup(node.op).references]
                used += [producer for producer, _ in taken if producer in self._references]
            beside = self._colocated(node, batch)
            if used or self._follows(node, beside, asked):
                users.add(node.name)
                for other in (node.name, *beside, *used) if node.device else ():
                    asked.setdefault(other, set()).add(node.device)
            for other in (*beside, *used):
                parent[find(other)] = find(node.name)
        groups: dict[str, _Group] = {}
        for node in batch.values():
            if node.name in parent:
                groups.setdefault(find(node.name), _Group()).members.append(node)
        for name in parent:
            if name in self._placed:
                groups[find(name)].anchors.append(name)
        for group in groups.values():
            self._merge_requests(group, users)
            for name in group.anchors:
                self._adopt(group, name, users)
        return {m.name: group for group in groups.values() for m in group.members}, asked

    def _follows(self, node: NodeDef, beside: Iterable[str], asked: Mapping[str, set[str]]) -> bool:
        """Return whether a node's request only repeats that of a colocated node that goes where state is."""
        none: set[str] = set()
        return any(node.device in devices.get(name, none) for name in beside for devices in (asked, self._requested))

    def _colocated(self, node: NodeDef, batch: Mapping[str, NodeDef]) -> list[str]:
        """Return the other nodes that a node's ``loc:@`` groups name."""
        tied = []
        for text in node.attrs.get("_class", ()):
            name = text.removeprefix("loc:@")
            if name not in batch and name not in self._placed:
                raise InvalidArgumentError(
                    f"the colocation group {text!r} of {node.name!r} does not name a node of the graph",
                    node=node.name,
                    source=node.source,
                )
            if name != node.name:
                tied.append(name)
        return tied

    def _merge_requests(self, group: _Group, users: Collection[str]) -> None:
        def weight(node: NodeDef) -> int:
            makes_resource = lookup(node.op).makes_reference or any(s.dtype is resource for s in node.outputs)
            return 0 if makes_resource else 2 if node.name in users else 1

        for node in sorted(group.members, key=weight):
            request = self._request(node)
            if request == _ANYWHERE:
                continue
            if group.request.compatible(request):
                group.request = group.request.merge(request)
                group.asked_by = group.asked_by or node
            elif not self._soft and node.name not in users:
                other = group.asked_by or node
                raise InvalidArgumentError(
                    f"nodes that must share a device request different ones: {other.name!r} "
                    f"(built at {other.source or '?'}) for {group.request}, {node.name!r} for "
                    f"{request}",
                    node=node.name,
                    source=node.source,
                )

    def _adopt(self, group: _Group, placed: str, users: Collection[str]) -> None:
        """Put a group on the device of a member that was placed before."""
        there = self._placed[placed]
        if group.placed is not None and group.placed.device != there.device:
            member = group.members[0]
            raise InvalidArgumentError(
                f"{member.name!r} must be colocated with {placed!r} on {there.device}, and "
                f"also be on {group.placed.device} ({group.placed.reason})",
                node=member.name,
                source=member.source,
            )
        for member in group.members:
            request = self._request(member)
            fits = request.compatible(self._devices.spec_of_placed(there.device, member, placed))
            if not (fits or self._soft or member.name in users):
                raise InvalidArgumentError(
                    f"{member.name!r} requests {request} but must be colocated with {placed!r} on {there.device}",
                    node=member.name,
                    source=member.source,
                )
            if self._devices.lacking(there.device, _op_types(member)):
                raise self._no_kernel(member, f"colocated with {placed!r} on {there.device}")
        group.placed = Placed(there.device, f"colocated with {placed!r}")

    def _in_group(self, group: _Group, node: NodeDef) -> Placed:
        leader = group.asked_by or group.members[0]
        if group.placed is None:
            run_all = self._devices.supports is None
            ops = _NO_OPS if run_all else frozenset().union(*map(_op_types, group.members))
            group.placed = self._choose(group.request, leader, ops)
        if node is leader and not group.anchors:
            return group.placed
        device, request = group.placed.device, self._request(node)
        reason = f"colocated with {(group.anchors or [leader.name])[-1]!r}"
        if not request.compatible(self._devices.specs[device]):
            reason = f"requested {request}, but is {reason}"
        return Placed(device, reason)

    # -- choice --------------------------------------------------------------------------------

    def _check_inside(self, construct: NodeDef, placed: Placed) -> None:
        """Refuse a functional control flow operation with a node inside that requests another device."""
        if self._soft:
            return
        spec = self._devices.specs[placed.device]
        for node in _requesting_inside(construct):
            request = self._request(node)
            if not request.compatible(spec):
                raise InvalidArgumentError(
                    f"{node.name!r} requests {request}, but is inside {construct.name!r}, which "
                    f"runs on a single device, {placed.device} ({placed.reason}); request that "
                    "device, or build the node outside",
                    node=node.name,
                    source=node.source,
                )

    def _together(self, construct: NodeDef) -> str:
        """Return the merged request of the nodes inside a loop, cond or call; empty if they disagree."""
        merged = _ANYWHERE
        for node in _requesting_inside(construct):
            request = self._request(node)
            if not merged.compatible(request):
                return ""
            merged = merged.merge(request)
        return str(merged)

    def _request(self, node: NodeDef) -> DeviceSpec:
        text = node.device
        if not text and node.op in CONSTRUCTS:
            text = self._together(node)
        if text not in self._requests:
            try:
                self._requests[text] = DeviceSpec.parse(text)
            except ValueError as exc:
                raise InvalidArgumentError(str(exc), node=node.name, source=node.source) from None
        return self._requests[text]

    def _place_with_input(self, node: NodeDef, result: Mapping[str, Placed]) -> Placed | None:
        """Return the device of the input beside which a node belongs, if it is settled and suits the node."""
        name = node.inputs[0][0] if node.inputs else ""
        if node.op in _METADATA_OPS:
            reason = "reads only static properties of"
        elif node.op == "Identity" and not node.device and name in self._references:
            reason = "reads the variable of"
        else:
            return None
        there = result.get(name) or self._placed.get(name)
        if there is None or self._devices.lacking(there.device, (node.op,)):
            return None
        if not self._request(node).matches(self._devices.spec_of_placed(there.device, node, name)):
            return None
        return Placed(there.device, f"{reason} {name!r}: placed with it")

    def _choose(self, request: DeviceSpec, node: NodeDef, ops: frozenset[str]) -> Placed:
        """Return a device for a request.

        Args:
            request: the request.
            node: the node, for error messages.
            ops: operation types that the device must support; empty if every device supports all.
        """
        key = (request, ops) if ops else request
        chosen = self._candidates.get(key)
        if chosen is None:
            chosen = self._candidates[key] = self._pick(request, node, ops)
        return chosen

    def _pick(self, request: DeviceSpec, node: NodeDef, ops: frozenset[str]) -> Placed:
        client = self._devices.client_device
        if request == _ANYWHERE and not ops and not self._devices.preferred:
            return Placed(client, "no device requested: the client device")
        matching = self._devices.matching(request)
        device = self._able(matching, ops)
        reason = f"requested {request}" if request != _ANYWHERE else "no device requested"
        if not device and self._soft:
            device = self._able(self._devices.matching(request.task_spec), ops)
            lack = "has no kernel for it" if matching else "does not exist"
            reason += f", which {lack}; soft placement"
        if device:
            return Placed(device[0], reason)
        if matching:
            raise self._no_kernel(node, f"requests {str(request) or 'no device'}", ops)
        raise InvalidArgumentError(
            f"{node.name!r} requests device {request}, which does not exist here; the "
            f"devices are: {', '.join(self._devices.by_name)}",
            node=node.name,
            source=node.source,
        )

    def _able(self, devices: Iterable[str], ops: frozenset[str]) -> list[str]:
        return [device for device in devices if self._devices.lacking(device, ops) is None]

    def _no_kernel(self, node: NodeDef, asks: str, ops: frozenset[str] = _NO_OPS) -> InvalidArgumentError:
        op_types = ops | _op_types(node)
        able = self._able(self._devices.by_name, op_types)
        return InvalidArgumentError(
            f"{node.name!r} {asks}, but there is no kernel for "
            f"{', '.join(sorted(op_types))}. Devices that have one: "
            f"{', '.join(able) or 'none'}. Request one of these, or set "
            "allow_soft_placement",
            node=node.name,
            source=node.source,
        )

    def _move_to_consumers(
        self, sources: Sequence[NodeDef], batch: Mapping[str, NodeDef], result: dict[str, Placed]
    ) -> None:
        """Move each source with one consumer to the consumer's device, so that its value is not sent."""
        if not sources:
            return
        consumers: dict[str, set[str]] = {node.name: set() for node in sources}
        for node in batch.values():
            for producer, _ in node.inputs:
                if producer in consumers:
                    consumers[producer].add(result[node.name].device)
        for node in sources:
            if len(consumers[node.name]) == 1:
                (device,) = consumers[node.name]
                here = result[node.name].device
                if device != here and not self._devices.lacking(device, (node.op,)):
                    result[node.name] = Placed(device, "no device requested: placed with its consumer")


def refused(node: NodeDef, placed: Placed, devices: DeviceSet) -> dict[str, list[str]]:
    """Return the devices that a node does not have, by the reason for which it does not.

    Args:
        node: the node.
        placed: its device.
        devices: all devices.
    """
    reasons: dict[str, list[str]] = {}
    request, op_types = DeviceSpec.parse(node.device), _op_types(node)
    for device, spec in devices.specs.items():
        if device == placed.device:
            continue
        lacking = devices.lacking(device, op_types)
        if not request.matches(spec):
            why = f"is not {request}, which was requested"
        elif lacking is not None:
            why = f"has no kernel for {lacking}"
        else:
            why = f"would do, but: {placed.reason}"
        reasons.setdefault(why, []).append(device)
    return reasons


def _gives_reference(node: NodeDef) -> bool:
    known = lookup(node.op)
    return known.makes_reference or known.gives_reference or node.op in PASSES


def _check_functions(nodes: Iterable[NodeDef]) -> None:
    """Refuse functional control flow operations whose functions cannot run.

    Raises:
        InvalidArgumentError: naming the node and the fault.
    """
    for node in nodes:
        fault = function_fault(node)
        if fault is not None:
            raise InvalidArgumentError(f"node {node.name!r} {fault}", node=node.name, source=node.source)


def _requesting_inside(construct: NodeDef) -> Iterator[NodeDef]:
    """Yield the nodes inside a functional control flow operation that request a device of their own.

    There are none for other nodes. A node that requests the device of the operation follows the operation,
    and one that takes a resource goes where that is, as outside. An operation without inputs represents
    one that was placed before.
    """
    if construct.op not in CONSTRUCTS or not construct.inputs:
        return
    for node, takes_resource in nodes_inside(construct):
        if node.device not in ("", construct.device) and not takes_resource:
            yield node

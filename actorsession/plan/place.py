"""Place: gives every node one device and remembers why.

Nodes joined by ``loc:@name`` or by a resource edge form a group that gets one device. A group's request
is the merge of its members' requests. What the user left open goes to a default: the client device, or
where the node's only consumer is. Placing is incremental: nodes placed before keep their device, and an
error leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceAttributes, DeviceSpec
from actorsession.graph.dtypes import resource
from actorsession.graph.node import NodeDef

__all__ = ["DeviceSet", "Placed", "Placer"]


class DeviceSet:
    """The devices that a session may use.

    Args:
        devices: all of them; order breaks ties.
        client_device: full name of the one through which feeds enter and fetches leave, by default
            the first.
    """

    def __init__(
        self, devices: Sequence[DeviceAttributes], client_device: str | None = None
    ) -> None:
        if not devices:
            raise InvalidArgumentError("a device set holds at least one device, got none")
        self.devices = tuple(devices)
        self.by_name: Mapping[str, DeviceAttributes] = {d.name: d for d in devices}
        self.client_device = client_device or devices[0].name
        self._specs = [(d.spec, d.name) for d in devices]

    def matching(self, request: DeviceSpec) -> list[str]:
        """The devices that a request allows, in order."""
        return [name for spec, name in self._specs if request.matches(spec)]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a node goes.

    Attributes:
        device: full name.
        reason: the rule that chose it, in words.
    """

    device: str
    reason: str


@dataclass(slots=True)
class _Group:
    """Nodes that must share a device: what is asked for, by whom, and whether it is settled."""

    members: list[NodeDef]
    request: DeviceSpec
    asked_by: str = ""
    placed: Placed | None = None


class Placer:
    """Places the nodes of one session's graph as it grows.

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
        self._candidates: dict[DeviceSpec, Placed] = {}
        self._resource_nodes: set[str] = set()

    @property
    def placed(self) -> Mapping[str, Placed]:
        """The device of every node placed so far, with the reason."""
        return self._placed

    def place(self, nodes: Iterable[NodeDef]) -> Mapping[str, Placed]:
        """Places new nodes; those they are tied to may have been placed before.

        Returns:
            The new nodes' devices.

        Raises:
            InvalidArgumentError: if a request is malformed, contradicts another in its group, or names
                a device that does not exist.
        """
        batch = {node.name: node for node in nodes if node.name not in self._placed}
        group_of = self._group(batch)
        result: dict[str, Placed] = {}
        open_sources: list[NodeDef] = []
        for node in batch.values():
            group = group_of.get(node.name)
            if group is not None:
                if group.placed is None:
                    group.placed = self._choose(group.request, group.members[0], group.asked_by)
                result[node.name] = group.placed
            elif not node.device and not node.inputs:
                open_sources.append(node)
                result[node.name] = self._choose(DeviceSpec(), node, "")
            else:
                result[node.name] = self._choose(self._request(node), node, node.name)
        self._move_to_consumers(open_sources, batch, result)
        self._placed.update(result)
        self._resource_nodes.update(
            n.name for n in batch.values() if any(s.dtype is resource for s in n.outputs)
        )
        return result

    # -- groups --------------------------------------------------------------------------------

    def _group(self, batch: Mapping[str, NodeDef]) -> dict[str, _Group]:
        """The groups of more than one member, by node name."""
        parent: dict[str, str] = {}

        def find(name: str) -> str:
            while parent.setdefault(name, name) != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        for node in batch.values():
            for other in self._tied_to(node, batch):
                parent[find(other)] = find(node.name)
        groups: dict[str, _Group] = {}
        for name in list(parent):
            group = groups.setdefault(find(name), _Group([], DeviceSpec()))
            if name in batch:
                group.members.append(batch[name])
                self._merge_request(group, batch[name])
        for name in parent:
            if name in self._placed:
                self._adopt(groups[find(name)], name)
        return {m.name: group for group in groups.values() for m in group.members}

    def _tied_to(self, node: NodeDef, batch: Mapping[str, NodeDef]) -> list[str]:
        tied = []
        for text in node.attrs.get("_class", ()):
            name = text.removeprefix("loc:@")
            if name not in batch and name not in self._placed:
                raise InvalidArgumentError(
                    f"colocation group {text!r} of {node.name!r} names no node of the graph",
                    node=node.name,
                    source=node.source,
                )
            if name != node.name:
                tied.append(name)
        for producer, index in node.inputs:
            made = batch.get(producer)
            if (made is not None and made.outputs[index].dtype is resource) or (made is None and producer in self._resource_nodes):
                tied.append(producer)
        return tied

    def _merge_request(self, group: _Group, node: NodeDef) -> None:
        request = self._request(node)
        if request == DeviceSpec():
            return
        if not group.request.compatible(request):
            if self._soft:
                return
            raise InvalidArgumentError(
                f"nodes that must share a device ask for different ones: {group.asked_by!r} for "
                f"{group.request}, {node.name!r} for {request}",
                node=node.name,
                source=node.source,
            )
        group.request = group.request.merge(request)
        group.asked_by = group.asked_by or node.name

    def _adopt(self, group: _Group, placed: str) -> None:
        there = self._placed[placed]
        spec = DeviceSpec.parse(there.device)
        clash = group.placed is not None and group.placed.device != there.device
        if (clash or not group.request.compatible(spec)) and not (self._soft and not clash):
            member = group.members[0]
            raise InvalidArgumentError(
                f"{group.asked_by or member.name!r} asks for {group.request or 'any device'} but must be "
                f"where {placed!r} is: {there.device}",
                node=member.name,
                source=member.source,
            )
        group.placed = Placed(there.device, f"shares the device of {placed!r}")

    # -- choice --------------------------------------------------------------------------------

    def _request(self, node: NodeDef) -> DeviceSpec:
        text = node.device
        if text not in self._requests:
            try:
                self._requests[text] = DeviceSpec.parse(text)
            except ValueError as exc:
                raise InvalidArgumentError(str(exc), node=node.name, source=node.source) from None
        return self._requests[text]

    def _choose(self, request: DeviceSpec, node: NodeDef, asked_by: str) -> Placed:
        if request not in self._candidates:
            self._candidates[request] = self._pick(request, node, asked_by)
        return self._candidates[request]

    def _pick(self, request: DeviceSpec, node: NodeDef, asked_by: str) -> Placed:
        client = self._devices.client_device
        if request == DeviceSpec():
            return Placed(client, "no device asked for: the client device")
        found = self._devices.matching(request)
        if found:
            device = client if client in found else found[0]
            return Placed(device, f"asked for {request}")
        if self._soft:
            found = self._devices.matching(request.task_spec)
            if found:
                return Placed(
                    found[0], f"asked for {request}, which does not exist; soft placement"
                )
        names = ", ".join(self._devices.by_name)
        raise InvalidArgumentError(
            f"{asked_by or node.name!r} asks for device {request}, which does not exist here; "
            f"there are: {names}",
            node=node.name,
            source=node.source,
        )

    def _move_to_consumers(
        self, sources: Sequence[NodeDef], batch: Mapping[str, NodeDef], result: dict[str, Placed]
    ) -> None:
        """A source with one consumer goes where that is: nothing need travel then."""
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
                if device != result[node.name].device:
                    result[node.name] = Placed(device, "no device asked for: where its consumer is")

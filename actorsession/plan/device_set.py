"""The devices that a session may use: their order of preference, and the operations that each supports.

A device set is immutable: a change of the devices makes a new set. Sessions and masters make it; every pass
of ``plan`` that depends on devices reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceAttributes, DeviceSpec
from actorsession.graph.node import NodeDef

__all__ = ["DeviceSet"]


class DeviceSet:
    """The devices that a session may use.

    Args:
        devices: all of them; order breaks ties.
        client_device: full name of the one through which feeds enter and fetches leave, by default the first.
        preferred: full names of devices that come before the client device for a node without a request, the
            best first.
        supports: whether a device, by full name, runs an operation type; left out where all run all.
    """

    def __init__(
        self,
        devices: Sequence[DeviceAttributes],
        client_device: str | None = None,
        *,
        preferred: Sequence[str] = (),
        supports: Callable[[str, str], bool] | None = None,
    ) -> None:
        if not devices:
            raise InvalidArgumentError("a device set needs at least one device, got none")
        self.devices = tuple(devices)
        self.by_name: Mapping[str, DeviceAttributes] = {d.name: d for d in devices}
        self.client_device = client_device or devices[0].name
        if self.client_device not in self.by_name:
            raise InvalidArgumentError(f"client device {self.client_device!r} is not one of {', '.join(self.by_name)}")
        self.specs: Mapping[str, DeviceSpec] = {d.name: d.spec for d in devices}
        self.preferred = tuple(preferred)
        self.supports = supports
        self._first = {n: i for i, n in enumerate((*self.preferred, self.client_device))}

    def matching(self, request: DeviceSpec) -> list[str]:
        """Return the devices that a request allows: preferred ones, the client device, the others."""
        names = [name for name, spec in self.specs.items() if request.matches(spec)]
        return sorted(names, key=lambda name: self._first.get(name, len(self._first)))

    def spec_of_placed(self, device: str, node: NodeDef, placed: str) -> DeviceSpec:
        """Return the parsed name of the device of the node ``placed``, which ``node`` needs.

        Raises:
            InvalidArgumentError: if the device is not there any more.
        """
        spec = self.specs.get(device)
        if spec is None:
            raise InvalidArgumentError(
                f"{placed!r} is on {device}, which has left the cluster; the devices are: "
                f"{', '.join(self.by_name)}. Start the task again, or build the graph for "
                "other devices",
                node=node.name,
                source=node.source,
            )
        return spec

    def lacking(self, device: str, ops: Iterable[str]) -> str | None:
        """Return the first operation type that a device does not run, if there is one."""
        if self.supports is None:
            return None
        return next((op for op in ops if not self.supports(device, op)), None)

"""Device filters: which devices and tasks a session sees.

``ConfigProto.device_filters`` are partial device names; a device is seen if at least one of them allows it.
A session always sees its client device. Direct sessions and masters ask here.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.runtime.devices import Device

__all__ = ["DeviceFilters"]


class DeviceFilters:
    """The filters of a session; without any, everything is seen.

    Args:
        texts: partial device names, such as ``/job:ps`` or ``/job:worker/task:1/device:CPU:0``.

    Raises:
        InvalidArgumentError: for one that is no device name.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._specs = tuple(_parsed(text) for text in texts)

    def allows(self, name: str) -> bool:
        """Return whether a filter has nothing against a device or a task, whose name is full or ends
        early."""
        if not self._specs:
            return True
        spec = DeviceSpec.parse(name)
        return any(wanted.compatible(spec) for wanted in self._specs)

    def of_session(self, devices: Sequence[Device]) -> tuple[Device, ...]:
        """Return the devices of this process that a session sees; the first, its client device, always."""
        return tuple(d for i, d in enumerate(devices) if not i or self.allows(d.name))


def _parsed(text: str) -> DeviceSpec:
    try:
        return DeviceSpec.parse(text)
    except ValueError as exc:
        raise InvalidArgumentError(f"invalid device filter: {exc}") from None

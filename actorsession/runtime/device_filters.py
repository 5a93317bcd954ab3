"""Device filters: the choice of the devices and tasks that a session uses.

``ConfigProto.device_filters`` are partial device names. A device is visible if at least one of them allows
it. A session's client device is always visible. Used by direct sessions and masters.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.runtime.devices import Device

__all__ = ["DeviceFilters"]


class DeviceFilters:
    """The filters of a session; without filters everything is visible.

    Args:
        texts: partial device names, such as ``/job:ps`` or ``/job:worker/task:1/device:CPU:0``.

    Raises:
        InvalidArgumentError: for a text that is no device name.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._specs = tuple(_parsed(text) for text in texts)

    def allows(self, name: str) -> bool:
        """Return whether the filters allow a device or task, given by a full or partial name."""
        if not self._specs:
            return True
        spec = DeviceSpec.parse(name)
        return any(pattern.compatible(spec) for pattern in self._specs)

    def of_session(self, devices: Sequence[Device]) -> tuple[Device, ...]:
        """Return the devices of this process that are visible to a session; the first, its client device,
        always is."""
        return tuple(d for i, d in enumerate(devices) if not i or self.allows(d.name))


def _parsed(text: str) -> DeviceSpec:
    try:
        return DeviceSpec.parse(text)
    except ValueError as exc:
        raise InvalidArgumentError(f"invalid device filter: {exc}") from None

"""Devices of one process: their attributes, state and the actor that runs partitions on each.

Owns the registry of device factories by type; ``CPU`` is registered here.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actorsession.errors import NotFoundError
from actorsession.graph.device import DeviceAttributes
from actorsession.runtime.resources import ResourceManager

__all__ = ["Device", "make_devices", "new_incarnation", "register_device_factory"]


def new_incarnation() -> int:
    """A random 64-bit number that is not zero."""
    return secrets.randbits(64) or 1


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device of this process.

    Attributes:
        attributes: name, type, incarnation and memory limit.
        resources: its state.
    """

    attributes: DeviceAttributes
    resources: ResourceManager = field(default_factory=ResourceManager)

    @property
    def name(self) -> str:
        """Full canonical name."""
        return self.attributes.name


_FACTORIES: dict[str, Callable[[str, int], Device]] = {}


def register_device_factory(device_type: str, make: Callable[[str, int], Device]) -> None:
    """Adds a device type.

    Args:
        device_type: in capitals.
        make: from full device name and memory limit in bytes to a device.

    Raises:
        KeyError: if the type is registered already.
    """
    if device_type in _FACTORIES:
        raise KeyError(f"device type {device_type!r} is registered already")
    _FACTORIES[device_type] = make


def _make_cpu(name: str, memory_limit: int) -> Device:
    return Device(
        DeviceAttributes(
            name=name, device_type="CPU", incarnation=new_incarnation(), memory_limit=memory_limit
        )
    )


register_device_factory("CPU", _make_cpu)


def make_devices(task: str, counts: Mapping[str, int]) -> tuple[Device, ...]:
    """Makes the devices of a task.

    Args:
        task: task name, the prefix of the devices' names.
        counts: how many of each type; one CPU where none is named.

    Returns:
        The devices, CPUs first: the first is the client device.

    Raises:
        NotFoundError: for an unknown type, or when no CPU is left.
    """
    wanted = {"CPU": 1, **{kind.upper(): count for kind, count in counts.items()}}
    unknown = sorted(set(wanted) - set(_FACTORIES))
    if unknown:
        raise NotFoundError(f"no device type {unknown} here; there are {sorted(_FACTORIES)}")
    if not wanted["CPU"]:
        raise NotFoundError("a session needs at least one CPU device: device_count gives CPU 0")
    return tuple(
        _FACTORIES[kind](f"{task}/device:{kind}:{index}", _memory_limit())
        for kind in sorted(wanted, key=lambda k: (k != "CPU", k))
        for index in range(wanted[kind])
    )


def _memory_limit() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

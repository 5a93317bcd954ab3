"""The devices of this process, and those that sessions without settings of their own use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from actorsession.compat.v1.graphs.graph import Graph
from actorsession.compat.v1.sessions.session import Session
from actorsession.config import ConfigProto, GPUOptions

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "default_settings",
    "get_memory_growth",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_visible_devices",
]


class PhysicalDevice(NamedTuple):
    """A processor or an accelerator of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as graphs name it."""

    name: str
    device_type: str


_visible: list[PhysicalDevice] | None = None
_growing: dict[PhysicalDevice, bool] = {}


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return what sessions can use: the processor, what is registered, and what is preferred to the processor.

    Args:
        device_type: type of those that are wanted; all by default.
    """
    with Session(graph=Graph(), config=ConfigProto()) as session:
        devices = [(d.name.rpartition("/device:")[2], d.device_type) for d in session.list_devices()]
    return _of_type([PhysicalDevice(f"/physical_device:{name}", kind) for name, kind in devices], device_type)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return what sessions without settings use; see ``set_visible_devices``."""
    return _of_type(list_physical_devices() if _visible is None else _visible, device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Set what sessions use that are made from now on without settings.

    Args:
        devices: a physical device, or a list of them.
        device_type: the only type that is changed; all by default.

    Raises:
        ValueError: for what is no physical device, or one of another type.
    """
    global _visible
    chosen = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        _check(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    others = [] if device_type is None else [d for d in get_visible_devices() if d.device_type != device_type]
    _visible = [*others, *chosen]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices of sessions without settings, by their names in graphs."""
    with Session(graph=Graph()) as session:
        devices = [LogicalDevice("/" + d.name.rpartition("/")[2], d.device_type) for d in session.list_devices()]
    return _of_type(devices, device_type)


def default_settings() -> ConfigProto | None:
    """Return the settings of sessions without any; ``None`` where no device was chosen."""
    if _visible is None:
        return None
    counts = Counter(device.device_type for device in _visible)
    gpus = ",".join(device.name.rpartition(":")[2] for device in _visible if device.device_type == "GPU")
    return ConfigProto(
        device_count={device.device_type: counts[device.device_type] for device in list_physical_devices()},
        gpu_options=GPUOptions(visible_device_list=gpus),
    )


def set_memory_growth(device: Any, enable: bool) -> None:
    """Accept that memory of a GPU is taken when it is needed, as it always is.

    Raises:
        ValueError: for what is no GPU of this process.
    """
    _check(device)
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    _growing[device] = bool(enable)


def get_memory_growth(device: Any) -> bool:
    """Return what ``set_memory_growth`` was told.

    Raises:
        ValueError: for what is no device of this process.
        KeyError: where it was told nothing.
    """
    _check(device)
    return _growing[device]


def _check(device: Any) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def _of_type(devices: Iterable[Any], device_type: str | None) -> list[Any]:
    return [device for device in devices if device_type in (None, device.device_type)]

"""Devices of one process: their attributes, their state, and the factories that make them.

Holds the registry of device factories by type. ``CPU`` is registered here, other types by programs or as
entry points of the group ``actorsession.device_factories``. Entry points are loaded when a type is requested
that is not registered, never at import time. Sessions and servers call ``make_devices``.

A type that the program registered exists in every session, with one device per physical device unless
``device_count`` gives another number. A type of an entry point exists only where ``device_count`` names it,
so that the devices of a session do not depend on what another session requested before.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from actorsession.config import ConfigProto
from actorsession.entry_points import entry_points, origin_of
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from actorsession.graph.device import DeviceAttributes, DeviceSpec, device_name
from actorsession.graph.device_kernels import DeviceKernels, register_device_kernels
from actorsession.plan.device_set import DeviceSet
from actorsession.records import dataclass
from actorsession.registrations import scoped
from actorsession.runtime.resources import ResourceManager
from transports.host import current_host

__all__ = [
    "CPU_PRIORITY",
    "ENTRY_POINTS",
    "CpuFactory",
    "Device",
    "DeviceFactory",
    "device_set",
    "has_device_type",
    "make_devices",
    "new_incarnation",
    "prefer_device_type",
    "register_device_factory",
    "registered_device_types",
]

ENTRY_POINTS = "actorsession.device_factories"
"""The entry-point group: each entry is a ``DeviceFactory`` class, its name is the device type."""

CPU_PRIORITY = 60
"""TensorFlow's priority of its CPU factory. Types above it get nodes without a requested device."""


def new_incarnation() -> int:
    """Return a random 64-bit number that is not zero."""
    return current_host().entropy.randbits(64) or 1


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device of this process.

    Attributes:
        attributes: name, type, incarnation and memory limit.
        resources: the state of the device.
    """

    attributes: DeviceAttributes
    resources: ResourceManager = field(default_factory=ResourceManager)

    @property
    def name(self) -> str:
        """The full canonical name."""
        return self.attributes.name

    @property
    def device_type(self) -> str:
        """The type in capitals, such as ``CPU``."""
        return self.attributes.device_type


class DeviceFactory:
    """A device type: a subclass is registered as an instance, or its class as an entry point.

    A factory defines the number of devices, their attributes, and the op types that they run. Kernels are those of
    the CPU and values are numpy arrays, unless it brings kernels of its own.

    Attributes:
        priority: types above ``CPU_PRIORITY`` get nodes without a requested device.
        kernels: those of its devices, with the arrays that they take; ``None`` for the kernels of the CPU.
    """

    priority: int = 50  # TensorFlow's default, below that of its CPU
    kernels: DeviceKernels | None = None

    def list_physical_devices(self) -> Sequence[str]:
        """Return a name for each physical device, such as ``/physical_device:TOY:0``."""
        raise NotImplementedError

    def count_devices(self, asked: int | None, config: ConfigProto) -> int:
        """Return how many devices a session or server gets; by default as many as are wanted.

        Args:
            asked: the number in its ``device_count``; ``None`` for one per physical device.
            config: settings of the session or server.
        """
        return len(self.list_physical_devices()) if asked is None else asked

    def create_devices(self, device_type: str, task: str, count: int, config: ConfigProto) -> Sequence[Device]:
        """Make the devices of a session or server.

        Args:
            device_type: the type for which the factory is registered.
            task: name of the task; device ``i`` is named ``{task}/device:{device_type}:{i}``.
            count: number of devices, as ``count_devices`` gave it.
            config: settings of the session or server.

        Raises:
            OpError: if it cannot make them; the session or server then gets no devices.
        """
        return [self.device(device_name(task, f"{device_type}:{i}"), device_type) for i in range(count)]

    def device(self, name: str, device_type: str, incarnation: int | None = None) -> Device:
        """Make one device.

        Args:
            name: its full name.
            device_type: the type for which the factory is registered.
            incarnation: its incarnation; a new one if left out.
        """
        return Device(
            DeviceAttributes(
                name=name,
                device_type=device_type,
                incarnation=new_incarnation() if incarnation is None else incarnation,
                memory_limit=self.memory_limit(),
            ),
            self.resources(name),
        )

    def resources(self, device: str) -> ResourceManager:
        """Return what keeps the state of a new device, by its name; its variables are numpy arrays by default."""
        return ResourceManager()

    def memory_limit(self) -> int:
        """Return the bytes of memory that a device reports; 0 by default, for no limit."""
        return 0

    def supports(self, op_type: str) -> bool:
        """Return whether devices of this type run operations of a type; all of them by default."""
        return True


class CpuFactory(DeviceFactory):
    """``CPU``: the processor, with numpy's kernels."""

    priority = CPU_PRIORITY

    def list_physical_devices(self) -> Sequence[str]:
        """Return the one processor."""
        return ("/physical_device:CPU:0",)

    def memory_limit(self) -> int:
        """Return the bytes of memory of the machine."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# -- registry ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Registered:
    """A registered device type.

    Attributes:
        factory: makes its devices.
        priority: decides which type is preferred for nodes without a requested device.
        everywhere: whether sessions have it without requesting it.
        origin: who registered it, as text.
    """

    factory: DeviceFactory
    priority: int
    everywhere: bool
    origin: str


_FACTORIES: dict[str, _Registered] = scoped({})
_LOCK = threading.Lock()


def register_device_factory(device_type: str, factory: DeviceFactory, *, priority: int | None = None) -> None:
    """Add a device type for every session and server that is made from now on.

    Args:
        device_type: the type in capitals, such as ``TOY``.
        factory: makes its devices.
        priority: above ``CPU_PRIORITY`` for a type that should get nodes without a requested device; the
            factory's own if left out.

    Raises:
        KeyError: if the type is registered already; the registered factory stays.
        ValueError: if the type is not in capitals or is not a valid type name.
        TypeError: if ``factory`` is not a ``DeviceFactory``.
    """
    _register(device_type, factory, priority, everywhere=True, origin="the program")


def _register(device_type: str, factory: DeviceFactory, priority: int | None, *, everywhere: bool, origin: str) -> None:
    if not isinstance(factory, DeviceFactory):
        raise TypeError(f"device type {device_type!r} needs an instance of DeviceFactory, got {factory!r:.100}")
    if DeviceSpec.parse(f"/device:{device_type}:0").device_type != device_type:
        raise ValueError(f"device types are written in capitals, got {device_type!r}")
    if priority is None:
        priority = factory.priority
    with _LOCK:
        if device_type in _FACTORIES:
            raise KeyError(f"device type {device_type!r} is registered already, by {_FACTORIES[device_type].origin}")
        _FACTORIES[device_type] = _Registered(factory, priority, everywhere, origin)
        if factory.kernels is not None:
            register_device_kernels(device_type, factory.kernels)


def prefer_device_type(device_type: str) -> None:
    """Give every session and server that is made from now on a type, and what asks for no device to it.

    Args:
        device_type: a registered type, or one of an entry point.

    Raises:
        NotFoundError: if there is none of that name.
        FailedPreconditionError: if its plug-in is broken, or several distributions provide it, or it finds no device.
    """
    if device_type not in registered_device_types():
        _load(device_type)
    if not _FACTORIES[device_type].factory.list_physical_devices():
        raise FailedPreconditionError(f"there is no {device_type} here that could be preferred")
    with _LOCK:
        _FACTORIES[device_type] = replace(_FACTORIES[device_type], priority=CPU_PRIORITY + 1, everywhere=True)


def registered_device_types() -> tuple[str, ...]:
    """Return the registered types, sorted, without those of entry points that were not loaded."""
    with _LOCK:
        return tuple(sorted(_FACTORIES))


def has_device_type(device_type: str) -> bool:
    """Return whether a type is registered, or another distribution provides it and finds a device.

    The type is not registered for it. A plug-in that is broken has its type, so that who asks for a device hears why
    there is none; not so one that comes with this library and needs a package that is not installed.
    """
    kind = device_type.upper()
    if kind in registered_device_types():
        return True
    for entry in entry_points(ENTRY_POINTS):
        if entry.name.upper() == kind:
            try:
                return bool(entry.load()().list_physical_devices())
            except Exception as exc:  # a plug-in may raise anything
                return not (isinstance(exc, ImportError) and entry.value.startswith("actorsession."))
    return False


def _load(device_type: str) -> None:
    """Register a type of another distribution.

    Raises:
        NotFoundError: if no distribution provides it.
        FailedPreconditionError: if its plug-in is broken, or several distributions provide it.
    """
    installed = {origin_of(entry): entry for entry in entry_points(ENTRY_POINTS)}
    matching = {o: entry for o, entry in installed.items() if entry.name.upper() == device_type}
    if not matching:
        there = sorted({*registered_device_types(), *[e.name.upper() for e in installed.values()]})
        raise NotFoundError(
            f"no device type {device_type!r} here; there are: {', '.join(there)}. Others come with a "
            f"distribution that has an entry point in the group {ENTRY_POINTS!r}"
        )
    if len(matching) > 1:
        raise FailedPreconditionError(
            f"device type {device_type!r} comes from several plug-ins: {'; '.join(sorted(matching))}. "
            "Uninstall all but one"
        )
    [(origin, entry)] = matching.items()
    try:
        factory = entry.load()()
        if not isinstance(factory, DeviceFactory):
            raise TypeError(f"it makes a {type(factory).__name__}, which is no DeviceFactory")
    except Exception as exc:
        # A plug-in may raise anything while it is imported or made; the error must name the plug-in.
        raise FailedPreconditionError(
            f"device type {device_type!r} cannot be had: {origin} is broken: {type(exc).__name__}: {exc}"
        ) from exc
    # Another thread may have registered the same one in the meantime.
    with contextlib.suppress(KeyError):
        _register(device_type, factory, None, everywhere=False, origin=origin)


# -- making --------------------------------------------------------------------------------------


def make_devices(task: str, counts: Mapping[str, int], config: ConfigProto | None = None) -> tuple[Device, ...]:
    """Make the devices of a task.

    Args:
        task: name of the task, the prefix of the devices' names.
        counts: number of devices of each type; a type without an entry has one per physical device.
        config: settings, for the factories.

    Returns:
        The devices, CPUs first, then the other types by name. The first is the client device.

    Raises:
        NotFoundError: for an unknown type, or when no CPU is left.
        InvalidArgumentError: for a negative number of devices of another type.
        FailedPreconditionError: if a plug-in or a factory is broken.
        OpError: any such error of a factory.
    """
    counted = {kind.upper(): count for kind, count in counts.items()}
    if counted.get("CPU", 1) < 1:
        raise NotFoundError(f"a session needs at least one CPU device: device_count gives CPU {counted['CPU']}")
    for kind, count in counted.items():
        if count < 0:
            raise InvalidArgumentError(f"device_count gives {kind} {count}; it is 0 or more")
        # Zero devices of an unknown type are allowed: many programs request no GPUs that way.
        if count and kind not in registered_device_types():
            _load(kind)
    with _LOCK:
        registered = dict(_FACTORIES)
    devices: list[Device] = []
    for kind in sorted(registered, key=lambda k: (k != "CPU", k)):
        entry = registered[kind]
        try:
            devices += _made(entry, kind, task, counted.get(kind), config or ConfigProto())
        except OpError:
            raise
        except Exception as exc:
            raise FailedPreconditionError(
                f"the factory of {kind} devices from {entry.origin} has failed: {type(exc).__name__}: {exc}"
            ) from exc
    return tuple(devices)


def _made(entry: _Registered, kind: str, task: str, asked: int | None, config: ConfigProto) -> Sequence[Device]:
    """Return the devices of a type, of which a session may ask for a number."""
    if asked == 0 or (asked is None and not entry.everywhere):
        return ()
    count = entry.factory.count_devices(asked, config)
    if not count:
        return ()
    devices = tuple(entry.factory.create_devices(kind, task, count, config))
    return _checked(devices, kind, task, count, entry.origin)


def _checked(devices: Sequence[Device], kind: str, task: str, count: int, origin: str) -> Sequence[Device]:
    """Return the devices that a factory made, once they were checked against the request."""
    names = [device_name(task, f"{kind}:{index}") for index in range(count)]
    device_names = [device.name for device in devices]
    if device_names != names:
        problem = f"it was asked for {names} and made {device_names}"
    elif any(device.device_type != kind for device in devices):
        problem = f"its devices say that they are {sorted({d.device_type for d in devices})}"
    elif any(not 0 < device.attributes.incarnation < 2**64 for device in devices):
        problem = "an incarnation is no 64-bit number above 0 (see new_incarnation)"
    else:
        return devices
    raise FailedPreconditionError(f"the factory of {kind} devices from {origin} is broken: {problem}")


def device_set(devices: Sequence[Device]) -> DeviceSet:
    """Return the placer's view of the devices of this process, the first as client device."""
    with _LOCK:
        registered = dict(_FACTORIES)
    # Devices outlive the registration of their type in tests only; they are then treated like a CPU.
    cpu = registered["CPU"]
    entry_of = {d.name: registered.get(d.device_type, cpu) for d in devices}
    preferred = sorted(devices, key=lambda d: -entry_of[d.name].priority)

    def supports(device: str, op_type: str) -> bool:
        entry = entry_of[device]
        try:
            return entry.factory.supports(op_type)
        except Exception as exc:
            # A plug-in may raise anything; the error must name the plug-in.
            raise FailedPreconditionError(
                f"the factory of {device}, from {entry.origin}, cannot say whether it runs {op_type}: "
                f"{type(exc).__name__}: {exc}"
            ) from exc

    choosy = any(type(e.factory).supports is not DeviceFactory.supports for e in entry_of.values())
    return DeviceSet(
        [d.attributes for d in devices],
        preferred=[d.name for d in preferred if entry_of[d.name].priority > CPU_PRIORITY],
        supports=supports if choosy else None,
    )


register_device_factory("CPU", CpuFactory())

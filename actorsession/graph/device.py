"""Device names such as ``/job:worker/replica:0/task:1/device:CPU:0``, and the attributes of devices.

This module holds the grammar, merging and canonical form of device specifications, and ``DeviceAttributes``,
which describes a device for planners and masters, possibly one of another process. Scopes, planners and the
cluster use it; it imports errors alone.
"""

from __future__ import annotations

import functools
import re
import reprlib
from dataclasses import replace
from typing import Any

from actorsession.errors import ProtocolError
from actorsession.records import dataclass

__all__ = [
    "LOCAL_TASK",
    "DeviceAttributes",
    "DeviceSpec",
    "device_in_task",
    "device_name",
    "device_task",
    "short_device",
    "task_name",
]

# The task that a session without a cluster runs as; TensorFlow's name for it.
LOCAL_TASK = "/job:localhost/replica:0/task:0"

_JOB = re.compile(r"job:([A-Za-z][A-Za-z0-9_]*|\*)")
_REPLICA = re.compile(r"replica:([0-9]{1,18}|\*)")
_TASK = re.compile(r"task:([0-9]{1,18}|\*)")
_DEVICE = re.compile(r"device:([A-Za-z][A-Za-z0-9_]*|\*)(?::([0-9]{1,18}|\*))?")
# The spelling from before "device:", which TensorFlow keeps for the types of that time.
_SHORT = re.compile(r"(cpu|gpu|tpu)(?::([0-9]{1,18}|\*))?", re.IGNORECASE)


_PARTS = ("job", "replica", "task", "device_type", "device_index")
# How many names are kept with their parts: planners read those of the same devices again and again.
_KEPT = 1024


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device name of which any part may be left open.

    Attributes:
        job: job name, such as ``worker``.
        replica: replica number.
        task: task index in the job.
        device_type: type in capitals, such as ``CPU``.
        device_index: number of the device among those of its type in the task.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def __post_init__(self) -> None:
        if self.device_type is not None and not self.device_type.isupper():
            object.__setattr__(self, "device_type", self.device_type.upper())

    @classmethod
    def parse(cls, text: str) -> DeviceSpec:
        """Read a full or partial name; ``/cpu:0``, ``cpu:0`` and ``/device:CPU:0`` are the same.

        Raises:
            ValueError: if a part is malformed or given twice.
        """
        return cls(*_parsed(text))

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Read a name, as ``parse`` does; TensorFlow's spelling."""
        return cls.parse(spec)

    def to_string(self) -> str:
        """Return the name in canonical form, as ``str`` does."""
        return str(self)

    def merge(self, inner: DeviceSpec) -> DeviceSpec:
        """Return this spec with the parts that ``inner`` names in place of its own."""
        return self.__class__(*[getattr(self if getattr(inner, f) is None else inner, f) for f in _PARTS])

    def fill(self, outer: DeviceSpec) -> DeviceSpec:
        """Return this spec with its open parts taken from ``outer``."""
        return outer.merge(self)

    def matches(self, full: DeviceSpec) -> bool:
        """Return whether every part named here is the same in ``full``."""
        return all(mine is None or mine == getattr(full, f) for f in _PARTS if (mine := getattr(self, f)) is not None)

    def compatible(self, other: DeviceSpec) -> bool:
        """Return whether no part is named differently in the two."""
        return all(
            getattr(self, f) is None or getattr(other, f) is None or getattr(self, f) == getattr(other, f)
            for f in _PARTS
        )

    @property
    def is_full(self) -> bool:
        """Whether every part is named, so that one device is meant."""
        return all(getattr(self, f) is not None for f in _PARTS)

    @property
    def task_spec(self) -> DeviceSpec:
        """Job, replica and task alone."""
        return DeviceSpec(self.job, self.replica, self.task)

    def __str__(self) -> str:
        out = ""
        if self.job is not None:
            out += f"/job:{self.job}"
        if self.replica is not None:
            out += f"/replica:{self.replica}"
        if self.task is not None:
            out += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            out += f"/device:{self.device_type}:{index}"
        elif self.device_index is not None:
            out += f"/device:*:{self.device_index}"
        return out


@functools.lru_cache(maxsize=_KEPT)
def _parsed(text: str) -> tuple[Any, ...]:
    """Return the parts of a name, in the order of ``_PARTS``."""
    parts: dict[str, Any] = {}
    for part in text.strip("/").split("/") if text.strip("/") else []:
        for key, value in _parse_part(part, text):
            if key in parts:
                raise ValueError(f"device name {text!r} gives its {key} twice")
            parts[key] = value
    return tuple([None if parts.get(key) == "*" else parts.get(key) for key in _PARTS])


def _parse_part(part: str, whole: str) -> list[tuple[str, Any]]:
    if match := _JOB.fullmatch(part):
        return [("job", match[1])]
    if match := _REPLICA.fullmatch(part):
        return [("replica", _number(match[1]))]
    if match := _TASK.fullmatch(part):
        return [("task", _number(match[1]))]
    if match := _DEVICE.fullmatch(part) or _SHORT.fullmatch(part):
        kind = match[1].upper()
        return [("device_type", kind), ("device_index", _number(match[2] or "*"))]
    raise ValueError(
        f"malformed device name {whole!r}: cannot read {part!r}; "
        "a full name is /job:NAME/replica:N/task:N/device:TYPE:N, and parts may be left out"
    )


def _number(text: str) -> int | str:
    return text if text == "*" else int(text)


def device_task(device: str) -> str:
    """Return the task of a full device name: ``/job:worker/replica:0/task:1``."""
    return device.rpartition("/device:")[0]


def short_device(device: str) -> str:
    """Return the full name of a device without what is the same for most, for readers: ``/job:ps/task:0/CPU:0``."""
    return device.replace("/replica:0", "").replace("/device:", "/")


def device_in_task(device: str) -> str:
    """Return the part of a full device name that tells the devices of a task apart: ``CPU:0``."""
    return device.rpartition("/device:")[2]


def device_name(task: str, device: str) -> str:
    """Return the full name of a device, such as ``CPU:0``, of a task."""
    return f"{task}/device:{device}"


def task_name(job: str, index: int) -> str:
    """Return the name of a cluster task: ``/job:worker/replica:0/task:1``."""
    return f"/job:{job}/replica:0/task:{index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceAttributes:
    """The description of a device anywhere in the cluster.

    Attributes:
        name: full canonical name.
        device_type: such as ``CPU``.
        incarnation: random non-zero 64-bit number, fixed for the lifetime of the device; 0 while its task has
            not answered.
        memory_limit: bytes that it may use.
    """

    name: str
    device_type: str
    incarnation: int
    memory_limit: int = 0

    @property
    def spec(self) -> DeviceSpec:
        """The name in parts."""
        return DeviceSpec.parse(self.name)

    @property
    def memory_limit_bytes(self) -> int:
        """``memory_limit`` under the name in TensorFlow's ``list_devices``."""
        return self.memory_limit

    @property
    def task(self) -> str:
        """The task that owns the device."""
        return device_task(self.name)

    def renamed(self, task: str) -> DeviceAttributes:
        """Return the same device under the name of another task."""
        return replace(self, name=device_name(task, device_in_task(self.name)))

    def to_wire(self) -> list[Any]:
        """Return the attributes as plain values."""
        return [self.name, self.device_type, self.incarnation, self.memory_limit]

    @classmethod
    def from_wire(cls, value: Any) -> DeviceAttributes:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [str() as name, str() as kind, int() as incarnation, int() as limit]:
                return cls(name=name, device_type=kind, incarnation=incarnation, memory_limit=limit)
        raise ProtocolError(f"device attributes are [name, type, incarnation, limit], got {reprlib.repr(value)}")

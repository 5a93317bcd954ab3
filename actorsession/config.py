"""Settings of sessions and runs, with TensorFlow's names, and what a run reports back.

Settings are frozen values; ``to_wire``/``from_wire`` carry them to a master. A field that is not
here is refused by Python itself, so nothing is accepted that has no effect. Imports errors alone;
sessions, servers and the runtime read it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.errors import InvalidArgumentError

__all__ = [
    "CONNECT_TIMEOUT", "DEFAULT_STEP_TIMEOUT", "ConfigProto", "NodeStats", "RunMetadata",
    "RunOptions", "StepStats", "TraceLevel", "TransferStats",
]  # fmt: skip

# Seconds to reach a master or create a session when the caller sets no limit: long enough for a
# cluster whose processes are still being started, short enough that a person waits for the answer.
CONNECT_TIMEOUT = 30.0
# Seconds for one step when the caller sets no limit. A lost peer is noticed in seconds by its link;
# this bounds what no link can notice.
DEFAULT_STEP_TIMEOUT = 600.0

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    S = TypeVar("S", bound=DataclassInstance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProto:
    """How a session is set up.

    Attributes:
        device_count: number of devices per type in this process, for instance ``{"CPU": 3}``; a
            server's own configuration counts for remote sessions.
        inter_op_parallelism_threads: threads of the kernel pool; 0 for one per processor, negative
            to run every kernel in the caller's thread.
        allow_soft_placement: put an op elsewhere when its device type or number does not exist.
        log_device_placement: log the device of each node and the reason for it.
        operation_timeout_in_ms: limit for each call; 0 for the default limits.
        isolate_session_state: private variables for this session on every task.
        plan_cache_size: number of run signatures whose plans are kept.
    """

    device_count: Mapping[str, int] = field(default_factory=dict)
    inter_op_parallelism_threads: int = 0
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    operation_timeout_in_ms: int = 0
    isolate_session_state: bool = False
    plan_cache_size: int = 256

    def __post_init__(self) -> None:
        for kind, count in self.device_count.items():
            _at_least(0, f"device_count[{kind!r}]", count)
        _at_least(0, "operation_timeout_in_ms", self.operation_timeout_in_ms)
        _at_least(1, "plan_cache_size", self.plan_cache_size)

    @property
    def operation_timeout(self) -> float | None:
        """The limit for each call in seconds; ``None`` when the defaults count."""
        return self.operation_timeout_in_ms / 1000 or None

    def to_wire(self) -> dict[str, Any]:
        """The settings as plain values."""
        return _to_wire(self) | {"device_count": dict(self.device_count)}

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ConfigProto:
        """Reads what ``to_wire`` made.

        Raises:
            InvalidArgumentError: for another form, an unknown field or a value that is not allowed.
        """
        return _from_wire(cls, value)


class TraceLevel(enum.IntEnum):
    """How much a run records about itself."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How one run is made.

    Attributes:
        trace_level: above ``NO_TRACE`` the run's metadata gets step statistics.
        timeout_in_ms: limit for this run; 0 for the session's.
        output_partition_graphs: whether the metadata gets the graph of each device.
    """

    trace_level: TraceLevel = TraceLevel.NO_TRACE
    timeout_in_ms: int = 0
    output_partition_graphs: bool = False

    def __post_init__(self) -> None:
        _at_least(0, "timeout_in_ms", self.timeout_in_ms)

    @property
    def traced(self) -> bool:
        """Whether step statistics are wanted."""
        return self.trace_level > TraceLevel.NO_TRACE

    def to_wire(self) -> dict[str, Any]:
        """The options as plain values."""
        return _to_wire(self) | {"trace_level": int(self.trace_level)}

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> RunOptions:
        """Reads what ``to_wire`` made.

        Raises:
            InvalidArgumentError: for another form, an unknown field or a value that is not allowed.
        """
        options = _from_wire(cls, value)
        try:
            return replace(options, trace_level=TraceLevel(options.trace_level))
        except ValueError as exc:
            raise InvalidArgumentError(f"bad RunOptions: {exc}") from exc


def _at_least(least: int, name: str, value: int) -> None:
    if value < least:
        raise InvalidArgumentError(f"{name} is at least {least}, got {value}")


def _to_wire(settings: DataclassInstance) -> dict[str, Any]:
    return {f.name: getattr(settings, f.name) for f in fields(settings)}


def _from_wire(cls: type[S], value: Any) -> S:
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"the wire form of {cls.__name__} is a map, got {value!r:.100}")
    known = {f.name for f in fields(cls)}
    unknown = sorted(str(name) for name in value if name not in known)
    if unknown:
        raise InvalidArgumentError(f"{cls.__name__} has no field {unknown}; it has {sorted(known)}")
    try:
        return cls(**value)
    except (TypeError, ValueError, AttributeError) as exc:
        raise InvalidArgumentError(f"bad {cls.__name__}: {exc}") from exc


@dataclass(frozen=True, slots=True)
class NodeStats:
    """When one node ran.

    Attributes:
        device: full name of its device.
        node: its name.
        op: its operation type.
        start: wall-clock seconds at its start.
        end: wall-clock seconds at its end.
        thread: name of the thread that ran it.
        nbytes: bytes of its outputs.
    """

    device: str
    node: str
    op: str
    start: float
    end: float
    thread: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class TransferStats:
    """One end of a tensor's way between two devices.

    Attributes:
        kind: ``send`` or ``recv``.
        key: rendezvous key; the two ends of one transfer have the same.
        device: full name of the device at this end.
        time: wall-clock seconds.
        nbytes: bytes of the tensor.
    """

    kind: str
    key: str
    device: str
    time: float
    nbytes: int


@dataclass(slots=True)
class StepStats:
    """What one step did, over all devices.

    Attributes:
        step_id: number of the step.
        nodes: one entry per node that ran.
        transfers: one entry per end of each transfer.
    """

    step_id: int = 0
    nodes: list[NodeStats] = field(default_factory=list)
    transfers: list[TransferStats] = field(default_factory=list)

    def merge(self, other: StepStats) -> None:
        """Adds what another process recorded of the same step."""
        self.nodes.extend(other.nodes)
        self.transfers.extend(other.transfers)

    def to_wire(self) -> list[Any]:
        """The statistics as plain values."""
        nodes = [[n.device, n.node, n.op, n.start, n.end, n.thread, n.nbytes] for n in self.nodes]
        transfers = [[t.kind, t.key, t.device, t.time, t.nbytes] for t in self.transfers]
        return [self.step_id, nodes, transfers]

    @classmethod
    def from_wire(cls, value: Any) -> StepStats:
        """Reads what ``to_wire`` made."""
        try:
            step_id, nodes, transfers = value
            return cls(
                step_id, [NodeStats(*n) for n in nodes], [TransferStats(*t) for t in transfers]
            )
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"bad step statistics: {value!r:.100}") from exc


@dataclass(slots=True)
class RunMetadata:
    """What one run reports; the object is overwritten by each run it is given to.

    Attributes:
        step_stats: filled when ``RunOptions.trace_level`` asks for it.
        partition_graphs: GraphDef per device, when ``output_partition_graphs`` asks for it.
    """

    step_stats: StepStats | None = None
    partition_graphs: dict[str, Any] = field(default_factory=dict)

    def clear(self) -> None:
        """Drops what an earlier run left."""
        self.step_stats = None
        self.partition_graphs = {}

"""What a run reports about itself: when nodes ran, what travelled, and the graphs of its parts.

Filled by the runtime, merged over processes by the master, read by users and by ``observe``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from actorsession.errors import InvalidArgumentError

__all__ = ["NodeStats", "RunMetadata", "StepStats", "TransferStats"]


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

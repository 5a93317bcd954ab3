"""The report of a run: the times of its nodes, its transfers, and its partition graphs.

The runtime fills it, the master merges it over processes, and users and ``observe`` read it. It is recorded
as two flat lists; ``dev_stats`` returns the same data in TensorFlow's shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from actorsession.config.cost_graph import CostGraphDef
from actorsession.config.exec_stats import DeviceStepStats, NodeExecStats
from actorsession.config.session import SessionMetadata
from actorsession.drawing.shown import ShownValue
from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["NodeStats", "RunMetadata", "StepStats", "TransferStats"]

# The nodes that move tensors between devices were not written by a user. ``dev_stats`` leaves them out, as
# TensorFlow does; ``transfers`` describes them better.
_TRANSFERS = frozenset({"_Send", "_Recv"})


@dataclass(frozen=True, slots=True)
class NodeStats:
    """The execution of one node.

    Attributes:
        device: full name of its device.
        node: its name.
        op: its operation type.
        start: wall-clock seconds at its start.
        end: wall-clock seconds at its end.
        thread: name of the thread that ran it.
        nbytes: bytes of its outputs.
        detail: all recorded data in TensorFlow's shape; derived from the other fields where absent.
    """

    device: str
    node: str
    op: str
    start: float
    end: float
    thread: str
    nbytes: int
    detail: NodeExecStats | None = None

    def exec_stats(self, thread_id: int) -> NodeExecStats:
        """Return the entry of ``dev_stats`` for this node."""
        if self.detail is not None:
            return replace(self.detail, thread_id=thread_id)
        start = round(self.start * 1e9)
        taken = max(0, round(self.end * 1e9) - start)
        return NodeExecStats(
            node_name=self.node,
            all_start_nanos=start,
            op_end_rel_nanos=taken,
            all_end_rel_nanos=taken,
            scheduled_nanos=start,
            timeline_label=f"{self.node} = {self.op}()",
            thread_id=thread_id,
        )

    def to_wire(self) -> list[Any]:
        """Return the statistics as plain values."""
        detail = self.detail.to_wire() if self.detail is not None else None
        return [self.device, self.node, self.op, self.start, self.end, self.thread, self.nbytes, detail]

    @classmethod
    def from_wire(cls, value: Any) -> NodeStats:
        """Read the result of ``to_wire``.

        Raises:
            TypeError: the value has another form.
            ValueError: likewise.
        """
        device, node, op, start, end, thread, nbytes, wire = value
        detail = None if wire is None else NodeExecStats.from_wire(wire)
        return cls(device, node, op, start, end, thread, nbytes, detail)


@dataclass(frozen=True, slots=True)
class TransferStats:
    """One end of the transfer of a tensor between two devices.

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


@dataclass(slots=True, repr=False)
class StepStats(ShownValue):
    """The statistics of one step, over all devices.

    Attributes:
        step_id: number of the step.
        nodes: one entry per node that ran.
        transfers: one entry per end of each transfer.
        left_out: number of nodes that ran after the limit of recorded nodes was reached.
    """

    step_id: int = 0
    nodes: list[NodeStats] = field(default_factory=list)
    transfers: list[TransferStats] = field(default_factory=list)
    left_out: int = 0

    @property
    def dev_stats(self) -> list[DeviceStepStats]:
        """The nodes in TensorFlow's shape, by device, then by start; computed at each access."""
        by_device: dict[str, list[NodeStats]] = {}
        for node in self.nodes:
            if node.op not in _TRANSFERS:
                by_device.setdefault(node.device, []).append(node)
        return [_device_stats(device, by_device[device]) for device in sorted(by_device)]

    def merge(self, other: StepStats) -> None:
        """Add the statistics that another process recorded of the same step."""
        self.nodes.extend(other.nodes)
        self.transfers.extend(other.transfers)
        self.left_out += other.left_out

    def _sheet(self) -> Sheet:
        from actorsession.config.stats_sheet import step_sheet

        return step_sheet(self)

    def to_wire(self) -> list[Any]:
        """Return the statistics as plain values."""
        transfers = [[t.kind, t.key, t.device, t.time, t.nbytes] for t in self.transfers]
        return [self.step_id, [n.to_wire() for n in self.nodes], transfers, self.left_out]

    @classmethod
    def from_wire(cls, value: Any) -> StepStats:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            step_id, nodes, transfers, left_out = value
            return cls(
                step_id, [NodeStats.from_wire(n) for n in nodes], [TransferStats(*t) for t in transfers], left_out
            )
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"invalid step statistics: {value!r:.100}") from exc


def _device_stats(device: str, nodes: Iterable[NodeStats]) -> DeviceStepStats:
    threads: dict[str, int] = {}
    entries = [n.exec_stats(threads.setdefault(n.thread, len(threads))) for n in nodes]
    entries.sort(key=lambda entry: entry.all_start_nanos)
    return DeviceStepStats(device, tuple(entries), {i: name for name, i in threads.items()})


@dataclass(slots=True, repr=False)
class RunMetadata(ShownValue):
    """The report of one run; each run that gets the object overwrites it.

    Attributes:
        step_stats: filled when ``RunOptions.trace_level`` requests it, or when the step was added to the
            session's cost model.
        partition_graphs: a GraphDef per device, the client device's first, when ``output_partition_graphs``
            requests it; each node has its device.
        cost_graph: filled when the step was added to the session's cost model.
        session_metadata: the name and version of the session, if it has any.
    """

    step_stats: StepStats | None = None
    partition_graphs: list[Any] = field(default_factory=list)
    cost_graph: CostGraphDef = field(default_factory=CostGraphDef)
    session_metadata: SessionMetadata | None = None

    def _sheet(self) -> Sheet:
        from actorsession.config.stats_sheet import metadata_sheet

        return metadata_sheet(self)

    def clear(self) -> None:
        """Remove the report of an earlier run."""
        self.step_stats = None
        self.partition_graphs = []
        self.cost_graph = CostGraphDef()
        self.session_metadata = None

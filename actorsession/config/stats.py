"""The report of a run: the times of its nodes, its transfers, its frames, and its partition graphs.

The runtime fills it, the master merges it over processes, and users and ``observe`` read it. It is recorded
as flat lists; ``dev_stats`` returns the nodes in TensorFlow's shape.

Each process records the times of its own clock. A receiver of a report knows how far that clock is from its
own, and adds the difference as it reads; ``clocks`` says how much was added, and how exact that is.
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

__all__ = ["ClockStats", "FrameStats", "NodeStats", "PhaseStats", "RunMetadata", "StepStats", "TransferStats"]

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
        waited: whether it was suspended between start and end: it waited for something, such as an element of
            a queue, and held no thread.
    """

    device: str
    node: str
    op: str
    start: float
    end: float
    thread: str
    nbytes: int
    detail: NodeExecStats | None = None
    waited: bool = False

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
        return [self.device, self.node, self.op, self.start, self.end, self.thread, self.nbytes, detail, self.waited]

    @classmethod
    def from_wire(cls, value: Any, offset: float = 0.0, nanos: int = 0) -> NodeStats:
        """Read the result of ``to_wire``.

        Args:
            value: the result.
            offset: seconds that are added to all times.
            nanos: the same in nanoseconds.

        Raises:
            TypeError: the value has another form.
            ValueError: likewise.
        """
        device, node, op, start, end, thread, nbytes, wire, waited = value
        detail = None if wire is None else NodeExecStats.from_wire(wire, nanos)
        return cls(device, node, op, start + offset, end + offset, thread, nbytes, detail, waited)


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


@dataclass(frozen=True, slots=True)
class FrameStats:
    """A message of the step from one process to another, without its values.

    Attributes:
        kind: ``RunStep`` from a client to its master, ``RunGraph`` from a master to a worker, ``push`` from
            worker to worker, ``done`` for the answer to a run.
        source: the task that has sent it; ``client`` for the client.
        target: the task that has received it.
        keys: the rendezvous keys of its values, of a push.
        nbytes: its size, header included.
        sent: wall-clock seconds at which it was passed to the link.
        arrived: wall-clock seconds at which its receiver has read it.
        queued: bytes that were unsent on the link before it.
    """

    kind: str
    source: str
    target: str
    keys: tuple[str, ...]
    nbytes: int
    sent: float
    arrived: float
    queued: int = 0

    def told(self, source: str, offset: float) -> FrameStats:
        """Return the frame as that of a task whose clock was so many seconds behind when it was sent."""
        sent, queued = self.sent + offset, self.queued
        return FrameStats(self.kind, source, self.target, self.keys, self.nbytes, sent, self.arrived, queued)


@dataclass(frozen=True, slots=True)
class PhaseStats:
    """A part of the step at one task that is no node.

    Attributes:
        kind: ``run`` from request to answer at the client, ``step`` likewise at the master, ``part`` at a
            worker; ``admission`` for the wait for a plan, a turn and the clocks of tasks, ``backpressure``
            for that for a link over which the part sends.
        task: the task; ``client`` for the client.
        began: wall-clock seconds.
        ended: wall-clock seconds.
        what: what it waited for, if that has a name.
    """

    kind: str
    task: str
    began: float
    ended: float
    what: str = ""


@dataclass(frozen=True, slots=True)
class ClockStats:
    """The clock of one task, compared with that of the times of a report.

    Attributes:
        task: the task; ``client`` for the client.
        offset: seconds that were added to its times.
        error: by how many seconds that may be wrong, in either direction.
    """

    task: str
    offset: float
    error: float


@dataclass(slots=True, repr=False)
class StepStats(ShownValue):
    """The statistics of one step, over all devices.

    Times are those of the clock of whoever has made the report: of the client where it is linked to its master.

    Attributes:
        step_id: number of the step.
        nodes: one entry per node that ran.
        transfers: one entry per end of each transfer.
        left_out: number of nodes that ran after the limit of recorded nodes was reached.
        frames: the messages between processes, for the step.
        phases: what tasks did or waited for beside their nodes.
        clocks: the clocks of the tasks in other processes.
    """

    step_id: int = 0
    nodes: list[NodeStats] = field(default_factory=list)
    transfers: list[TransferStats] = field(default_factory=list)
    left_out: int = 0
    frames: list[FrameStats] = field(default_factory=list)
    phases: list[PhaseStats] = field(default_factory=list)
    clocks: list[ClockStats] = field(default_factory=list)

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
        self.frames.extend(other.frames)
        self.phases.extend(other.phases)
        self.clocks.extend(other.clocks)

    def _sheet(self) -> Sheet:
        from actorsession.config.stats_sheet import step_sheet

        return step_sheet(self)

    def to_wire(self) -> list[Any]:
        """Return the statistics as plain values."""
        return [
            self.step_id,
            [n.to_wire() for n in self.nodes],
            [[t.kind, t.key, t.device, t.time, t.nbytes] for t in self.transfers],
            self.left_out,
            [[f.kind, f.source, f.target, list(f.keys), f.nbytes, f.sent, f.arrived, f.queued] for f in self.frames],
            [[p.kind, p.task, p.began, p.ended, p.what] for p in self.phases],
            [[c.task, c.offset, c.error] for c in self.clocks],
        ]

    @classmethod
    def outline_from_wire(cls, value: Any) -> StepStats:
        """Read frames and phases alone from the result of ``to_wire``, by which clocks are compared.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        if type(value) is not list or len(value) != 7:
            raise InvalidArgumentError(f"invalid step statistics: {value!r:.100}")
        return cls.from_wire([0, [], [], 0, *value[4:6], []])

    @classmethod
    def from_wire(cls, value: Any, offset: float = 0.0, error: float = 0.0) -> StepStats:
        """Read the result of ``to_wire``.

        Args:
            value: the result.
            offset: seconds that are added to all times, because they are those of another clock.
            error: by how many seconds that may be wrong.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            step_id, nodes, transfers, left_out, frames, phases, clocks = value
            nanos = round(offset * 1e9)
            return cls(
                step_id,
                [NodeStats.from_wire(n, offset, nanos) for n in nodes],
                [TransferStats(kind, key, device, at + offset, size) for kind, key, device, at, size in transfers],
                left_out,
                [
                    FrameStats(kind, source, target, tuple(keys), size, sent + offset, arrived + offset, queued)
                    for kind, source, target, keys, size, sent, arrived, queued in frames
                ],
                [
                    PhaseStats(kind, task, began + offset, ended + offset, what)
                    for kind, task, began, ended, what in phases
                ],
                [ClockStats(task, other + offset, wrong + error) for task, other, wrong in clocks],
            )
        except (TypeError, ValueError, OverflowError) as exc:
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

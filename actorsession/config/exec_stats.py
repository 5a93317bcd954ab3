"""The statistics of a traced node, in TensorFlow's shape: per device, per node, per output.

Plain values that the runtime makes once per node of a traced step and that ``StepStats.dev_stats`` returns.
Times are nanoseconds. The corresponding microseconds are truncated, never rounded, so that what did not
overlap in nanoseconds does not in microseconds. The module imports only ``records``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from actorsession.records import dataclass

__all__ = ["AllocatorMemoryUsed", "DeviceStepStats", "NodeExecStats", "NodeOutput", "TensorDescription"]


@dataclass(frozen=True, slots=True)
class TensorDescription:
    """The properties of a tensor when it was made.

    Attributes:
        dtype: its element type by name.
        shape: its dimensions.
        allocated_bytes: bytes of its elements.
        allocator_name: the allocator of its memory.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    allocated_bytes: int = 0
    allocator_name: str = "cpu"


@dataclass(frozen=True, slots=True)
class NodeOutput:
    """One output of a node.

    Attributes:
        slot: its index.
        tensor_description: the tensor.
    """

    slot: int
    tensor_description: TensorDescription


@dataclass(frozen=True, slots=True)
class AllocatorMemoryUsed:
    """Memory that a node allocated for its outputs.

    Attributes:
        allocator_name: the allocator.
        total_bytes: the sum of all allocations.
        peak_bytes: the most at a time.
        live_bytes: what was still allocated when the node ended.
    """

    allocator_name: str
    total_bytes: int
    peak_bytes: int
    live_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExecStats:
    """The times of one node and its outputs; ``*_micros`` are the same times as ``*_nanos``.

    Attributes:
        node_name: its name.
        all_start_nanos: wall-clock nanoseconds at its start; the three ``rel`` times count from here and do
            not decrease.
        op_start_rel_nanos: when its kernel was called.
        op_end_rel_nanos: when its kernel had returned.
        all_end_rel_nanos: when its outputs were passed on.
        scheduled_nanos: wall-clock nanoseconds at which its segment became ready.
        timeline_label: ``name = Op(inputs)``.
        output: one entry per output.
        memory: one entry per allocator that it allocated from.
        thread_id: key of its device's ``thread_names``.
    """

    node_name: str
    all_start_nanos: int
    op_start_rel_nanos: int = 0
    op_end_rel_nanos: int = 0
    all_end_rel_nanos: int = 0
    scheduled_nanos: int = 0
    timeline_label: str = ""
    output: tuple[NodeOutput, ...] = ()
    memory: tuple[AllocatorMemoryUsed, ...] = ()
    thread_id: int = 0

    @property
    def all_start_micros(self) -> int:
        """Wall-clock microseconds at its start."""
        return self.all_start_nanos // 1000

    @property
    def op_start_rel_micros(self) -> int:
        """Microseconds from its start until its kernel was called."""
        return self.op_start_rel_nanos // 1000

    @property
    def op_end_rel_micros(self) -> int:
        """Microseconds from its start until its kernel had returned."""
        return self.op_end_rel_nanos // 1000

    @property
    def all_end_rel_micros(self) -> int:
        """Microseconds from its start until its outputs were passed on."""
        return self.all_end_rel_nanos // 1000

    @property
    def scheduled_micros(self) -> int:
        """Wall-clock microseconds at which its segment became ready."""
        return self.scheduled_nanos // 1000

    def to_wire(self) -> list[Any]:
        """Return the statistics as plain values."""
        outputs = [
            [o.slot, d.dtype, list(d.shape), d.allocated_bytes, d.allocator_name]
            for o in self.output
            for d in (o.tensor_description,)
        ]
        memory = [[m.allocator_name, m.total_bytes, m.peak_bytes, m.live_bytes] for m in self.memory]
        return [
            self.node_name,
            self.all_start_nanos,
            self.op_start_rel_nanos,
            self.op_end_rel_nanos,
            self.all_end_rel_nanos,
            self.scheduled_nanos,
            self.timeline_label,
            outputs,
            memory,
            self.thread_id,
        ]

    @classmethod
    def from_wire(cls, value: Any, offset: int = 0) -> NodeExecStats:
        """Read the result of ``to_wire``.

        Args:
            value: the result.
            offset: nanoseconds that are added to wall-clock times.

        Raises:
            TypeError: the value has another form.
            ValueError: likewise.
        """
        name, start, op_start, op_end, end, scheduled, label, outputs, memory, thread = value
        return cls(
            node_name=name,
            all_start_nanos=start + offset,
            op_start_rel_nanos=op_start,
            op_end_rel_nanos=op_end,
            all_end_rel_nanos=end,
            scheduled_nanos=scheduled + offset,
            timeline_label=label,
            thread_id=thread,
            output=tuple(
                NodeOutput(slot, TensorDescription(dtype, tuple(shape), nbytes, allocator))
                for slot, dtype, shape, nbytes, allocator in outputs
            ),
            memory=tuple(AllocatorMemoryUsed(*m) for m in memory),
        )


@dataclass(frozen=True, slots=True)
class DeviceStepStats:
    """The nodes that ran on one device in a step.

    Attributes:
        device: its full name.
        node_stats: one entry per node that ran, ordered by start.
        thread_names: the threads that ran them.
    """

    device: str
    node_stats: tuple[NodeExecStats, ...] = ()
    thread_names: Mapping[int, str] = field(default_factory=dict)

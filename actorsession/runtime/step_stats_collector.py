"""Step statistics: the records of a traced step, from all its threads.

``StepStatsCollector`` exists once per traced step. ``Recorder`` stands between generated code and its
segment's context and records each node. Only the engine uses them; untraced steps have neither.

While nodes run, only raw values are kept and never a tensor: an array that is referenced here could not be
reused or changed in place. ``finalise`` converts the records once. Later records, from kernels of a cancelled
step, are ignored. Times are those of the monotonic clock, shifted to the wall clock by one offset per step,
so they do not decrease whatever happens to the wall clock. Where a device runs kernels after the host has gone on, a
record has marks of the device's clock, and ``finalise`` reads from them when the device has run the node.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.config import (
    AllocatorMemoryUsed,
    FrameStats,
    NodeExecStats,
    NodeOutput,
    NodeStats,
    PhaseStats,
    StepStats,
    TensorDescription,
    TransferStats,
)
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.codegen.segment_context import PendingValues, SegmentContext
from actorsession.plan.partition import RECV
from actorsession.plan.rendezvous_key import parse_key
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition

__all__ = ["Recorder", "StepStatsCollector"]

# Nodes that one step records, as in TensorFlow: about 500 MB of statistics; an upper bound.
_LIMIT = 2**20
# The only allocator is numpy's.
_ALLOCATOR = "cpu"


class _Record(NamedTuple):
    """One node that has run, or was launched; times are of the monotonic clock, in nanoseconds."""

    linked: BoundPartition
    number: int
    thread: str
    scheduled: int
    start: int
    op_end: int
    end: int
    outputs: tuple[tuple[tuple[int, ...], int], ...]  # shape and bytes
    waited: bool = False
    marks: tuple[Any, Any] | None = None  # of the device's clock, before and behind the node


class StepStatsCollector:
    """The records of one step so far; safe for many threads.

    Args:
        step_id: the step's number.
        limit: most nodes to record; further nodes are only counted.

    Attributes:
        phase: what the step is to its task: ``step`` where it is all of it, ``part`` at a worker.
        task: the task.
        began: when that has begun, in wall-clock seconds.
        phases: what came before, in the order in which it ended.
        frames: the messages that have arrived for it.
        nanos: reads the clock of its records, in nanoseconds.
    """

    def __init__(self, step_id: int, limit: int = _LIMIT) -> None:
        self._step_id = step_id
        self._limit = limit
        clock = current_host().clock
        self.nanos = clock.perf_counter_ns
        self._offset = clock.time_ns() - self.nanos()
        self._lock = threading.Lock()
        self._nodes: list[_Record] = []
        self._transfers: list[TransferStats] = []
        self._left_out = 0
        self._final: StepStats | None = None
        self.phase, self.task, self.began = "step", LOCAL_TASK, self._now()
        self.phases: list[PhaseStats] = []
        self.frames: list[FrameStats] = []

    def _now(self) -> float:
        return (self._offset + self.nanos()) / 1e9

    def add_wait(self, kind: str, since: float, what: str = "") -> None:
        """Record what the step has waited for until now, from which on its nodes can run; see ``PhaseStats``."""
        self.phases.append(PhaseStats(kind, self.task, since, self.began, what))
        self.began = since

    def add_node(self, record: _Record) -> None:
        """Record a node that has run."""
        with self._lock:
            if self._final is not None:
                return
            if len(self._nodes) < self._limit:
                self._nodes.append(record)
            else:
                self._left_out += 1

    def add_suspended(self, linked: BoundPartition, number: int, start: Any, values: Sequence[Any]) -> None:
        """Record a node whose values have arrived some time after it was begun.

        Args:
            linked: the partition of the node.
            number: position of the node in the partition.
            start: when it was begun, by the monotonic clock in nanoseconds; or what ``BoundPartition.start`` gave then,
                if it is a node that has run.
            values: its outputs.
        """
        start, marks = _split(linked, start)
        end = self.nanos()
        outputs = tuple([_measure(v) for v in values])
        thread = threading.current_thread().name
        self.add_node(_Record(linked, number, thread, start, start, end, end, outputs, True, marks))

    def add_transfer(self, kind: str, key: str, device: str, value: Any) -> None:
        """Record one end of a transfer that happens now."""
        now = self._now()
        nbytes = int(getattr(value, "nbytes", 0))
        with self._lock:
            if self._final is None:
                self._transfers.append(TransferStats(kind, key, device, now, nbytes))

    def finalise(self) -> StepStats:
        """Return the statistics; the first call ends the recording, later calls return the same object."""
        with self._lock:
            if self._final is None:
                words = _Words()
                records = _device_times(self._nodes, self.nanos)
                nodes = [self._node_stats(record, words.of(record)) for record in records]
                self.phases.append(PhaseStats(self.phase, self.task, self.began, self._now()))
                self._final = StepStats(self._step_id, nodes, self._transfers, self._left_out, self.frames, self.phases)
                self._nodes = []
            return self._final

    def _node_stats(self, record: _Record, said: _Said) -> NodeStats:
        node = record.linked.compiled.nodes[record.number]
        start = self._offset + record.start
        detail = NodeExecStats(
            node_name=node.name,
            all_start_nanos=start,
            op_end_rel_nanos=record.op_end - record.start,
            all_end_rel_nanos=record.end - record.start,
            scheduled_nanos=self._offset + record.scheduled,
            timeline_label=said.label,
            output=said.output,
            memory=said.memory,
        )
        end = (self._offset + record.end) / 1e9
        device, thread, nbytes = record.linked.device, record.thread, said.nbytes
        return NodeStats(device, node.name, node.op, start / 1e9, end, thread, nbytes, detail, record.waited)


def _split(linked: BoundPartition, start: Any) -> tuple[int, tuple[Any, Any] | None]:
    """Return the time at which a node was begun, and the marks of the device's clock before and behind it."""
    if type(start) is not tuple or linked.clock is None:
        return start, None
    nanos, mark = start
    return nanos, (mark, linked.clock.mark())


def _device_times(records: Sequence[_Record], nanos: Callable[[], int]) -> Iterator[_Record]:
    """Yield records with the times at which devices have run what was launched, and wait until they have.

    A device that has failed cannot tell; its nodes keep the times at which they were launched.
    """
    last: dict[str, tuple[Any, int]] = {}  # by device: a mark, and when it was reached
    for record in records:
        clock, device = record.linked.clock, record.linked.device
        if clock is not None and record.marks is not None:
            with contextlib.suppress(Exception):
                if device not in last:
                    mark = clock.mark()
                    clock.seconds(mark, mark)
                    last[device] = mark, nanos()
                mark, at = last[device]
                start, end = (at - round(clock.seconds(each, mark) * 1e9) for each in record.marks)
                record = record._replace(start=start, op_end=end, end=end)
        yield record


class _Said(NamedTuple):
    """The data that all runs of a node with outputs of the same sizes have in common."""

    label: str
    output: tuple[NodeOutput, ...]
    memory: tuple[AllocatorMemoryUsed, ...]
    nbytes: int


class _Words:
    """The common data of records, computed once per node of a loop and not once per iteration."""

    def __init__(self) -> None:
        self._labels = _Labels()
        self._said: dict[tuple[Any, ...], _Said] = {}

    def of(self, record: _Record) -> _Said:
        """Return the common data of a record."""
        key = (id(record.linked), record.number, record.outputs)
        said = self._said.get(key)
        if said is None:
            node = record.linked.compiled.nodes[record.number]
            output = tuple(
                NodeOutput(i, TensorDescription(spec.dtype.name, shape, nbytes, _ALLOCATOR))
                for i, (spec, (shape, nbytes)) in enumerate(zip(node.outputs, record.outputs, strict=True))
            )
            total = sum(nbytes for _, nbytes in record.outputs)
            said = self._said[key] = _Said(self._labels.of(record.linked, node), output, _memory(node, total), total)
        return said


def _memory(node: NodeDef, total: int) -> tuple[AllocatorMemoryUsed, ...]:
    """Return the memory that a node took for its outputs; nothing if an output may alias an input."""
    if not total or (is_registered(node.op) and lookup(node.op).aliases):
        return ()
    return (AllocatorMemoryUsed(_ALLOCATOR, total, total, total),)


class _Labels:
    """Labels ``name = Op(inputs)``; a tensor from another device has the name that it has there."""

    def __init__(self) -> None:
        self._arrivals: dict[int, dict[str, str]] = {}  # by partition: from node name to tensor

    def of(self, linked: BoundPartition, node: NodeDef) -> str:
        """Return the label of a node of a partition."""
        arrivals = self._arrivals.get(id(linked))
        if arrivals is None:
            arrivals = self._arrivals[id(linked)] = {
                n.name: _sent_tensor(n) for n in linked.compiled.partition.nodes if n.op == RECV
            }
        inputs = [arrivals.get(name) or _short(name, index) for name, index in node.inputs]
        # A control edge between devices carries a token, whose name begins with the caret already.
        inputs += [arrivals.get(name) or f"^{name}" for name in node.control_inputs]
        return f"{node.name} = {node.op}({', '.join(inputs)})"


def _sent_tensor(recv: NodeDef) -> str:
    """Return the tensor that a receive node brings: the edge is ``edge_<number>_<tensor>``."""
    tensor = parse_key(recv.attrs["key"]).edge_name.split("_", 2)[-1]
    return tensor.removesuffix(":0")


def _short(name: str, index: int) -> str:
    return f"{name}:{index}" if index else name


class Recorder(SegmentContext):
    """The context of traced code: the segment's context, with a record of each node that has run.

    Args:
        context: the segment's own context.
        collector: the collector of the step.
        linked: the partition.
        scheduled: when the segment became ready, by the monotonic clock in nanoseconds.

    Attributes:
        nanos: total time of the nodes, without the time for recording.
    """

    __slots__ = ("_collector", "_context", "_linked", "_scheduled", "_thread", "nanos")

    def __init__(
        self, context: SegmentContext, collector: StepStatsCollector, linked: BoundPartition, scheduled: int
    ) -> None:
        self._context = context
        self._collector = collector
        self._linked = linked
        self._scheduled = scheduled
        self._thread = threading.current_thread().name
        self.nanos = 0

    def send(self, number: int, value: Any) -> None:
        """See ``SegmentContext.send``."""
        self._context.send(number, value)

    def begin(self, number: int, pending: PendingValues) -> None:
        """See ``SegmentContext.begin``."""
        self._context.begin(number, pending)

    def wait_for(self, pending: PendingValues) -> Any:
        """See ``SegmentContext.wait_for``."""
        return self._context.wait_for(pending)

    def check(self) -> None:
        """See ``SegmentContext.check``."""
        self._context.check()

    def note(self, number: int, start: Any, value: Any) -> None:
        """Record that a node has run; see ``SegmentContext.note``."""
        start, marks = _split(self._linked, start)
        op_end = self._collector.nanos()
        self.nanos += op_end - start
        count = len(self._linked.compiled.nodes[number].outputs)
        values = (value,) if count == 1 else value if count else ()
        outputs = tuple([_measure(v) for v in values])
        self._collector.add_node(
            _Record(
                self._linked,
                number,
                self._thread,
                self._scheduled,
                start,
                op_end,
                self._collector.nanos(),
                outputs,
                marks=marks,
            )
        )


def _measure(value: Any) -> tuple[tuple[int, ...], int]:
    """Return shape and bytes of a value; handles and Python numbers are scalars without bytes."""
    return tuple(getattr(value, "shape", ())), int(getattr(value, "nbytes", 0))

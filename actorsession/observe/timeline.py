"""The timeline of a step, as TensorFlow's ``timeline.Timeline`` draws it.

This module turns ``StepStats.dev_stats`` into a trace in which every device has a process for its
computations and one for the tensors that it made. Users call it; it imports ``config``. ``trace`` draws the
same step in another form: by task, with the transfers between tasks as arrows.

A lane never holds two nodes at a time. Arrows lead from the node that made a tensor to each that read it,
where the two are on different lanes. A tensor counts as memory from the start of its node until the last of
its readers has ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from actorsession.config import DeviceStepStats, NodeExecStats, StepStats
from actorsession.observe.events import Event, event, naming, region
from actorsession.observe.labels import parse_label
from actorsession.observe.lanes import Span, spread
from actorsession.records import dataclass

__all__ = ["AllocationMaximum", "ChromeTrace", "StepStatsAnalysis", "Timeline"]

_OP_TIMES = ("schedule", "gpu", "all")


@dataclass(frozen=True, slots=True)
class AllocationMaximum:
    """The maximum of the memory in use of an allocator.

    Attributes:
        timestamp: wall-clock microseconds.
        num_bytes: the memory in use at that time.
        tensors: names of the tensors that used it.
    """

    timestamp: int
    num_bytes: int
    tensors: frozenset[str]


@dataclass(frozen=True, slots=True)
class ChromeTrace:
    """A trace, ready to be written.

    Attributes:
        events: names of processes first, then all other events.
    """

    events: tuple[Event, ...]

    def format_to_string(self, pretty: bool = False) -> str:
        """Return the trace as JSON, for Perfetto or ``chrome://tracing``; indented when ``pretty``."""
        trace = {"traceEvents": self.events}
        return json.dumps(trace, indent=4) if pretty else json.dumps(trace, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class StepStatsAnalysis:
    """The result of the analysis of a step.

    Attributes:
        chrome_trace: the trace.
        allocator_maximums: by allocator; empty if ``show_memory`` was off.
    """

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class Timeline:
    """The timeline of one step.

    Args:
        step_stats: ``RunMetadata.step_stats`` of a run with ``RunOptions.trace_level`` set.
        graph: accepted as in TensorFlow; the statistics contain everything that is drawn.

    Raises:
        TypeError: for anything but step statistics, such as those of a run that was not traced.
    """

    def __init__(self, step_stats: StepStats, graph: Any = None) -> None:
        if not isinstance(step_stats, StepStats):
            raise TypeError(
                "a Timeline draws the StepStats of a traced run, got "
                f"{type(step_stats).__name__}; run with "
                "RunOptions(trace_level=RunOptions.FULL_TRACE) and pass "
                "RunMetadata.step_stats"
            )
        self._step_stats = step_stats

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """Make the trace.

        Args:
            show_dataflow: whether to draw arrows from producers to consumers of tensors.
            show_memory: whether to draw the lifetime of each tensor and the memory in use of each allocator.
            op_time: "schedule", "gpu" or "all"; all the same where no device has a clock of its own.

        Raises:
            ValueError: for another ``op_time``.
        """
        if op_time not in _OP_TIMES:
            raise ValueError(f"op_time must be one of {', '.join(_OP_TIMES)}, got {op_time!r}")
        drawing = _Drawing(self._step_stats.dev_stats)
        drawing.draw(show_dataflow=show_dataflow, show_memory=show_memory)
        return StepStatsAnalysis(ChromeTrace(tuple(drawing.events)), drawing.maximums)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Return the trace as JSON text; see ``analyze_step_stats`` for the arguments."""
        return self.analyze_step_stats(show_dataflow, show_memory, op_time).chrome_trace.format_to_string(pretty=True)


@dataclass(slots=True)
class _Tensor:
    """The lifetime of one tensor.

    Attributes:
        number: of the tensor in the trace.
        made: start of its node.
        ready: end of its node.
        last_used: end of the last node that used it.
        at: process and lane of its node.
        tensors_pid: the process that shows the tensors of its device.
        nbytes: its size.
        allocator: name of its allocator.
        shown_as: its description in the viewer.
    """

    number: int
    made: int
    ready: int
    last_used: int
    at: tuple[int, int]
    tensors_pid: int
    nbytes: int
    allocator: str
    shown_as: str


@dataclass(slots=True)
class _Node:
    stats: NodeExecStats
    op: str
    inputs: Sequence[str]
    pid: int
    tid: int

    @property
    def start(self) -> int:
        return self.stats.all_start_micros

    @property
    def end(self) -> int:
        return self.stats.all_start_micros + self.stats.all_end_rel_micros


@dataclass(slots=True)
class _Drawing:
    """One trace under construction."""

    dev_stats: Sequence[DeviceStepStats]
    events: list[Event] = field(default_factory=list)
    maximums: dict[str, AllocationMaximum] = field(default_factory=dict)
    _nodes: list[_Node] = field(default_factory=list)
    _tensors: dict[str, _Tensor] = field(default_factory=dict)
    _flows: int = 0

    def draw(self, *, show_dataflow: bool, show_memory: bool) -> None:
        self.events.append(naming("process_name", 0, "Allocators"))
        for number, device in enumerate(self.dev_stats):
            pid = 2 * number + 1
            self.events.append(naming("process_name", pid, f"{device.device} Compute"))
            self.events.append(naming("process_name", pid + 1, f"{device.device} Tensors"))
            self._take(device, pid)
        for node in self._nodes:
            self._draw_node(node, show_dataflow)
        if show_memory:
            self._draw_tensors()
            self._draw_counters()

    def _take(self, device: DeviceStepStats, pid: int) -> None:
        """Assign each node of a device to a lane, and record its tensors."""
        spans = [
            Span(s.node_name, "Op", s.all_start_micros, s.all_start_micros + s.all_end_rel_micros)
            for s in device.node_stats
        ]
        lane_of = {id(s): tid for tid, lane in enumerate(spread(spans)) for s in lane}
        for stats, span in zip(device.node_stats, spans, strict=True):
            op, inputs = parse_label(stats.timeline_label)
            node = _Node(stats, op, inputs, pid, lane_of[id(span)])
            self._nodes.append(node)
            for output in stats.output:
                description = output.tensor_description
                name = f"{stats.node_name}:{output.slot}" if output.slot else stats.node_name
                self._tensors[name] = _Tensor(
                    len(self._tensors),
                    node.start,
                    node.end,
                    node.end,
                    (pid, node.tid),
                    pid + 1,
                    description.allocated_bytes,
                    description.allocator_name,
                    f"{description.dtype}{list(description.shape)}, {description.allocated_bytes} bytes",
                )

    def _draw_node(self, node: _Node, show_dataflow: bool) -> None:
        args = {"name": node.stats.node_name, "op": node.op}
        args |= {f"input{i}": name for i, name in enumerate(node.inputs)}
        took = node.stats.all_end_rel_micros
        self.events.append(region("Op", node.op, node.pid, node.tid, node.start, took, args))
        for name in node.inputs:
            tensor = self._tensors.get(name)
            if tensor is None:
                continue  # fed, a constant of the plan, or a control input
            tensor.last_used = max(tensor.last_used, node.end)
            # Within one lane an arrow only hides the spans that it crosses.
            if show_dataflow and tensor.at != (node.pid, node.tid):
                for phase, (pid, tid), ts in (("s", tensor.at, tensor.ready), ("t", (node.pid, node.tid), node.start)):
                    flow = event(phase, "DataFlow", name, pid, tid, ts)
                    self.events.append(flow | {"id": self._flows})
                self._flows += 1

    def _draw_tensors(self) -> None:
        for name, t in self._tensors.items():
            creation = event("N", "Tensor", name, t.tensors_pid, t.at[1], t.made)
            seen = event("O", "Tensor", name, t.tensors_pid, t.at[1], t.ready)
            gone = event("D", "Tensor", name, t.tensors_pid, 0, t.last_used)
            shown = {"snapshot": {"tensor_description": t.shown_as}}
            self.events.append(creation | {"id": t.number})
            self.events.append(seen | {"id": t.number, "args": shown})
            self.events.append(gone | {"id": t.number})

    def _draw_counters(self) -> None:
        """Add the memory in use of each allocator, after each change."""
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for name, t in self._tensors.items():
            of_allocator = changes.setdefault(t.allocator, [])
            of_allocator.append((t.made, t.nbytes, name))
            of_allocator.append((t.last_used, -t.nbytes, name))
        for allocator, steps in changes.items():
            total = 0
            alive: set[str] = set()
            most = AllocationMaximum(0, 0, frozenset())
            for ts, nbytes, name in sorted(steps):
                total += nbytes
                (alive.add if nbytes >= 0 else alive.discard)(name)
                if total > most.num_bytes:
                    most = AllocationMaximum(ts, total, frozenset(alive))
                counter = event("C", "Memory", allocator, 0, 0, ts)
                self.events.append(counter | {"args": {allocator: total}})
            self.maximums[allocator] = most

"""The trace of one step, in the JSON form that Perfetto and ``chrome://tracing`` open.

This module turns ``StepStats`` into trace events. Users and the demo call it; it imports ``config``,
``plan.rendezvous_key``, the critical path and the writing of files.

A task is a process of the trace. A device has one or more lanes (threads) in it: as many as nodes ran at the
same time, and likewise for nodes that waited, for values that it waited for, for what was ready and did not
run yet, and for arrivals. What a task did beside its nodes has lanes of its own. Each transfer is an arrow: a
flow event ``s`` inside the span of its ``_Send`` node and one ``f`` with the same id inside the span of its
arrival. Two more processes of the trace are the links, with a lane for each direction in which frames went,
and the critical path.

Times are those of one clock, as far as those of the tasks could be compared: the name of each task says by
how much its times may be wrong.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from actorsession.checkpoints import write_whole
from actorsession.config import FrameStats, NodeStats, PhaseStats, StepStats, TransferStats
from actorsession.config.file_roots import path_text
from actorsession.drawing import text
from actorsession.graph.device import device_in_task, device_task
from actorsession.observe.critical_path import critical_path
from actorsession.observe.events import Event, event, naming, region
from actorsession.observe.lanes import Span, spread
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass

__all__ = ["chrome_trace", "write_trace"]

# An arrival is a moment; it is drawn as long as the shortest nodes, so that it can be seen and clicked.
_ARRIVAL_NS = 1000
_RUN, _SENT, _ARRIVED, _WAITS, _QUEUED = "", " sends", " arrivals", " waits", " ready, not running"
# The processes of the trace that are no tasks, with their places behind them.
_LINKS, _CRITICAL = "links", "critical path"
# Shortest time of a wait or a queue that is drawn: below it is the recording itself.
_LEAST_NS = 1000


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a transfer, where its arrow starts or ends."""

    transfer: TransferStats
    time: int
    span: Span


def chrome_trace(stats: StepStats) -> dict[str, Any]:
    """Return the trace of a step.

    Args:
        stats: of a run with ``RunOptions.trace_level`` set.

    Returns:
        ``{"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {...}}`` of plain values, ready for
        ``json.dumps``. Times are microseconds since the step's first event. A transfer of which only one end was
        recorded has no arrow; its span has ``met: false`` in its ``args``. Spans of nodes on the critical path have
        ``critical: true``. ``otherData`` has the number of the step, the clocks of the tasks with their offsets
        and errors in seconds, and the seconds of the critical path by kind.
    """
    return _Trace(stats).build()


def write_trace(path: str | os.PathLike[str], stats: StepStats) -> None:
    """Write the trace of a step as a JSON file, to be opened at https://ui.perfetto.dev.

    Args:
        path: the file; replaced if it exists.
        stats: of a run with ``RunOptions.trace_level`` set.

    Raises:
        OpError: if the file cannot be written.
    """
    # Perfetto shows escapes such as ``\u00b1`` as they stand; half of a pair, which is no UTF-8, must stay one.
    content = (json.dumps(chrome_trace(stats), indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    write_whole(path_text(path), lambda file: file.writelines([content]))


class _Trace:
    """One trace under construction: spans by process and lane first, events last."""

    def __init__(self, stats: StepStats) -> None:
        self._stats = stats
        self._path = critical_path(stats)
        times = [n.start for n in stats.nodes] + [t.time for t in stats.transfers]
        times += [p.began for p in stats.phases] + [f.sent for f in stats.frames]
        self._origin = min(times, default=0.0)
        # process -> (device or other name, kind of lane) -> its spans
        self._spans: dict[str, dict[tuple[str, str], list[Span]]] = defaultdict(lambda: defaultdict(list))
        self._ends: dict[str, list[_End]] = {"send": [], "recv": []}
        self._place: dict[int, tuple[int, int]] = {}  # id of a span -> (pid, tid)

    def build(self) -> dict[str, Any]:
        """Return all events: names first, then spans, then arrows."""
        sends: dict[tuple[str, str], Span] = {}
        critical = {(row.device, row.node, row.ended) for row in self._path.rows if row.node}
        for node in self._stats.nodes:
            span = self._node_span(node)
            if (node.device, node.node, node.end) in critical:
                span.args["critical"] = True
            self._add(node.device, _WAITS if node.waited else _RUN, span)
            sends[node.device, node.node] = span
        for transfer in self._stats.transfers:
            self._add_end(transfer, sends)
        self._add_queued()
        self._add_waits()
        for phase in self._stats.phases:
            self._spans[phase.task]["", phase.kind].append(self._phase_span(phase))
        for frame in self._stats.frames:
            link = f"{text.device_label(frame.source)} > {text.device_label(frame.target)}"
            self._spans[_LINKS][link, ""].append(self._frame_span(frame))
        for row in self._path.rows:
            share = f"{100 * self._path.share(row):.1f} %"
            args = {"kind": row.kind, "where": row.where, "share": share}
            span = self._span(f"{row.kind}: {row.what}", row.kind, row.began, row.ended, args)
            self._spans[_CRITICAL][_CRITICAL, ""].append(span)
        pairs = list(self._pairs())
        events = list(self._lane_events())
        for number, (sent, arrived) in enumerate(pairs, start=1):
            events.append(self._arrow("s", number, sent))
            events.append(self._arrow("f", number, arrived))
        return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": self._about()}

    def _about(self) -> dict[str, Any]:
        clocks = {c.task: {"offset": c.offset, "error": c.error} for c in self._stats.clocks}
        return {"step": self._stats.step_id, "clocks": clocks, "critical_path": self._path.kinds}

    # -- spans ---------------------------------------------------------------------------------

    def _add(self, device: str, kind: str, span: Span) -> None:
        self._spans[device_task(device)][device_in_task(device), kind].append(span)

    def _span(self, name: str, category: str, began: float, ended: float, args: dict[str, Any]) -> Span:
        start = self._ns(began)
        return Span(name, category, start, max(start, self._ns(ended)), args)

    def _node_span(self, node: NodeStats) -> Span:
        args = {"name": node.node, "op": node.op, "bytes": node.nbytes, "thread": node.thread}
        return self._span(node.node, node.op, node.start, node.end, args)

    def _phase_span(self, phase: PhaseStats) -> Span:
        return self._span(phase.kind, "phase", phase.began, phase.ended, {"for": phase.what} if phase.what else {})

    def _frame_span(self, frame: FrameStats) -> Span:
        """Return the span of a frame, from when it was passed to the link until it was read."""
        args: dict[str, Any] = {"bytes": frame.nbytes, "unsent before it": frame.queued}
        if frame.keys:
            args["keys"] = list(frame.keys)
        return self._span(frame.kind, "frame", frame.sent, frame.arrived, args)

    def _add_queued(self) -> None:
        """Add when segments were ready and did not run yet: before the first node of each."""
        first: dict[tuple[str, str, int], NodeStats] = {}
        for node in self._stats.nodes:
            if node.detail is not None and node.detail.scheduled_nanos:
                segment = node.device, node.thread, node.detail.scheduled_nanos
                if segment not in first or node.start < first[segment].start:
                    first[segment] = node
        for (device, thread, ready), node in first.items():
            args = {"thread": thread}
            span = self._span(f"{node.node} is ready", "queue", ready / 1e9, node.start, args)
            if span.end - span.start >= _LEAST_NS:
                self._add(device, _QUEUED, span)

    def _add_waits(self) -> None:
        """Add how long the parts of tasks had begun before values of other devices came."""
        began = {
            phase.task: phase.began for kind in ("step", "part") for phase in self._stats.phases if phase.kind == kind
        }
        for transfer in self._stats.transfers:
            since = began.get(device_task(transfer.device))
            if transfer.kind == "recv" and since is not None:
                key = parse_key(transfer.key)
                args = {"key": transfer.key, "peer": key.src_device}
                span = self._span(f"wait for {key.tensor or key.edge_name}", "wait", since, transfer.time, args)
                if span.end - span.start >= _LEAST_NS:
                    self._add(transfer.device, _WAITS, span)

    def _add_end(self, transfer: TransferStats, sends: dict[tuple[str, str], Span]) -> None:
        key = parse_key(transfer.key)
        time = self._ns(transfer.time)
        span = None
        if transfer.kind == "send":
            span = sends.get((transfer.device, f"_send/{key.edge_name}"))
        if span is None:
            kind, op = (_SENT, "_Send") if transfer.kind == "send" else (_ARRIVED, "_Recv")
            name = f"{op.lower()}/{key.edge_name}"
            span = Span(name, op, time, time + _ARRIVAL_NS, {"name": name, "op": op})
            self._add(transfer.device, kind, span)
        other = key.dst_device if transfer.kind == "send" else key.src_device
        span.args |= {"bytes": transfer.nbytes, "key": transfer.key, "peer": other, "met": False}
        # Clamped to the span: a kernel thread sends when its segment has ended, which is after the node.
        inside = max(span.start, min(time, span.end - 1))
        self._ends[transfer.kind].append(_End(transfer, inside, span))

    def _pairs(self) -> Iterator[tuple[_End, _End]]:
        """Yield sends with their arrivals: the n-th of a key meets the n-th, as in a rendezvous."""
        arrived: dict[str, deque[_End]] = defaultdict(deque)
        for end in sorted(self._ends["recv"], key=lambda e: e.time):
            arrived[end.transfer.key].append(end)
        for end in sorted(self._ends["send"], key=lambda e: e.time):
            waiting = arrived[end.transfer.key]
            if waiting:
                other = waiting.popleft()
                end.span.args["met"] = other.span.args["met"] = True
                yield end, other

    # -- events --------------------------------------------------------------------------------

    def _lane_events(self) -> Iterator[Event]:
        last = [_LINKS, _CRITICAL]
        processes = sorted(self._spans.keys() - set(last)) + [name for name in last if name in self._spans]
        errors = {clock.task: clock.error for clock in self._stats.clocks}
        tids = itertools.count(1)
        for pid, process in enumerate(processes, start=1):
            error = errors.get(process)
            task = text.device_label(process)
            yield naming("process_name", pid, f"{task} (±{text.duration(error)})" if error else task)
            for label, kind in sorted(self._spans[process]):
                lanes = spread(self._spans[process][label, kind])
                for number, lane in enumerate(lanes, start=1):
                    tid = next(tids)
                    name = f"{label}{kind}"
                    yield naming("thread_name", pid, f"{name} #{number}" if len(lanes) > 1 else name, tid)
                    yield from self._span_events(lane, pid, tid)

    def _span_events(self, lane: Iterable[Span], pid: int, tid: int) -> Iterator[Event]:
        for span in lane:
            self._place[id(span)] = pid, tid
            took = (span.end - span.start) / 1000
            yield region(span.category, span.name, pid, tid, span.start / 1000, took, span.args)

    def _arrow(self, phase: str, number: int, end: _End) -> Event:
        pid, tid = self._place[id(end.span)]
        name = parse_key(end.transfer.key).edge_name
        arrow = event(phase, "transfer", name, pid, tid, end.time / 1000) | {"id": number}
        if phase == "f":
            arrow["bp"] = "e"  # ends at the span around this moment, not at the next one to begin
        return arrow | {"args": {"key": end.transfer.key, "bytes": end.transfer.nbytes}}

    def _ns(self, seconds: float) -> int:
        return round((seconds - self._origin) * 1e9)

"""The trace of one step, in the JSON form that Perfetto and ``chrome://tracing`` open.

This module turns ``StepStats`` into trace events. Users and the demo call it; it imports ``config``,
``plan.rendezvous_key`` and the writing of files.

A task is a process of the trace. A device has one or more lanes (threads) in it: as many as nodes ran at the
same time, and likewise for arrivals. Each transfer is an arrow: a flow event ``s`` inside the span of its
``_Send`` node and one ``f`` with the same id inside the span of its arrival. Times are those of each
process's own wall clock; between machines they differ as much as the clocks do.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from actorsession.checkpoints import write_whole
from actorsession.config import NodeStats, StepStats, TransferStats
from actorsession.config.file_roots import path_text
from actorsession.graph.device import device_in_task, device_task
from actorsession.observe.events import Event, event, naming, region
from actorsession.observe.lanes import Span, spread
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass

__all__ = ["chrome_trace", "write_trace"]

# An arrival is a moment; it is drawn as long as the shortest nodes, so that it can be seen and clicked.
_ARRIVAL_NS = 1000
_RUN, _SENT, _ARRIVED = "", " sends", " arrivals"


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
        ``{"traceEvents": [...], "displayTimeUnit": "ms"}`` of plain values, ready for ``json.dumps``. Times
        are microseconds since the step's first event. A transfer of which only one end was recorded has no
        arrow; its span has ``met: false`` in its ``args``.
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
    content = (json.dumps(chrome_trace(stats), indent=1) + "\n").encode()
    write_whole(path_text(path), lambda file: file.writelines([content]))


class _Trace:
    """One trace under construction: spans by device and kind first, events last."""

    def __init__(self, stats: StepStats) -> None:
        self._stats = stats
        times = [n.start for n in stats.nodes] + [t.time for t in stats.transfers]
        self._origin = min(times, default=0.0)
        # (device, kind of lane) -> its spans
        self._spans: dict[tuple[str, str], list[Span]] = defaultdict(list)
        self._ends: dict[str, list[_End]] = {"send": [], "recv": []}
        self._place: dict[int, tuple[int, int]] = {}  # id of a span -> (pid, tid)

    def build(self) -> dict[str, Any]:
        """Return all events: names first, then spans, then arrows."""
        sends: dict[tuple[str, str], Span] = {}
        for node in self._stats.nodes:
            span = self._node_span(node)
            self._spans[node.device, _RUN].append(span)
            sends[node.device, node.node] = span
        for transfer in self._stats.transfers:
            self._add_end(transfer, sends)
        pairs = list(self._pairs())
        events = list(self._lane_events())
        for number, (sent, arrived) in enumerate(pairs, start=1):
            events.append(self._arrow("s", number, sent))
            events.append(self._arrow("f", number, arrived))
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    # -- spans ---------------------------------------------------------------------------------

    def _node_span(self, node: NodeStats) -> Span:
        start = self._ns(node.start)
        args = {"name": node.node, "op": node.op, "bytes": node.nbytes, "thread": node.thread}
        return Span(node.node, node.op, start, max(start, self._ns(node.end)), args)

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
            self._spans[transfer.device, kind].append(span)
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
        tasks = sorted({device_task(device) for device, _ in self._spans})
        tids = itertools.count(1)
        for pid, task in enumerate(tasks, start=1):
            yield naming("process_name", pid, task)
            for device, kind in sorted(key for key in self._spans if device_task(key[0]) == task):
                lanes = spread(self._spans[device, kind])
                for number, lane in enumerate(lanes, start=1):
                    label = device_in_task(device) + kind
                    tid = next(tids)
                    name = f"{label} #{number}" if len(lanes) > 1 else label
                    yield naming("thread_name", pid, name, tid)
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
        return arrow

    def _ns(self, seconds: float) -> int:
        return round((seconds - self._origin) * 1e9)

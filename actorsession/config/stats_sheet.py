"""What the report of a step shows of itself: where its time went, by node, by device, and between processes.

Nothing is computed here that the report does not have; the critical path and the whole trace are made by ``observe``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from actorsession.drawing.chart import Lane, Link, Span, lanes
from actorsession.drawing.sheet import Sheet, Table
from actorsession.drawing.text import byte_size, duration, percent

if TYPE_CHECKING:
    from actorsession.config.stats import RunMetadata, StepStats, TransferStats
    from actorsession.config.step_record import StepRecord

__all__ = ["metadata_sheet", "record_sheet", "step_picture", "step_sheet"]

_TRANSFER_HEADINGS = ("key", "to", "sent after", "received after", "bytes")


def step_sheet(stats: StepStats) -> Sheet:
    """Return what the statistics of a step show: the slowest nodes first."""
    start, whole = _extent(stats)
    took = {id(node): max(0.0, node.end - node.start) for node in stats.nodes}
    nodes = [
        (
            node.node,
            node.op,
            node.device,
            duration(took[id(node)]),
            percent(took[id(node)], whole),
            duration(node.start - start),
            byte_size(node.nbytes),
        )
        for node in sorted(stats.nodes, key=lambda node: -took[id(node)])
    ]
    by_device: dict[str, float] = {}
    for node in stats.nodes:
        by_device[node.device] = by_device.get(node.device, 0.0) + took[id(node)]
    devices = [(device, duration(seconds), percent(seconds, whole)) for device, seconds in sorted(by_device.items())]
    frames = [
        (
            frame.kind,
            frame.source,
            frame.target,
            duration(frame.sent - start),
            duration(frame.arrived - frame.sent),
            byte_size(frame.nbytes),
        )
        for frame in sorted(stats.frames, key=lambda frame: frame.sent)
    ]
    clocks = [(clock.task, duration(clock.offset), duration(clock.error)) for clock in stats.clocks]
    tables = [
        Table("devices", ("device", "time of nodes", "of the step"), devices),
        Table("nodes", ("node", "type", "device", "took", "of the step", "began after", "bytes"), nodes, 3),
        Table("transfers", _TRANSFER_HEADINGS, list(_transfers(stats, start)), 2),
        Table("messages", ("message", "from", "to", "sent after", "on the way", "bytes"), frames, 3),
        Table("clocks", ("task", "offset", "error"), clocks),
    ]
    facts = {"took": duration(whole), "nodes": len(stats.nodes), "left out": stats.left_out or None}
    drawings = {"time": lambda: step_picture(stats)} if stats.nodes else {}
    return Sheet(f"Step {stats.step_id}", facts, tables, drawings)


def _extent(stats: StepStats) -> tuple[float, float]:
    """Return when a step began, in wall-clock seconds, and how long it took."""
    begins = [*(node.start for node in stats.nodes), *(phase.began for phase in stats.phases)]
    ends = [*(node.end for node in stats.nodes), *(phase.ended for phase in stats.phases)]
    return (min(begins), max(ends) - min(begins)) if begins else (0.0, 0.0)


def _ends(stats: StepStats) -> Iterator[tuple[str, TransferStats | None, TransferStats | None]]:
    """Yield each transfer by its key, with its sending and its receiving end."""
    ends: dict[str, dict[str, TransferStats]] = {}
    for one in stats.transfers:
        ends.setdefault(one.key, {})[one.kind] = one
    return ((key, kinds.get("send"), kinds.get("recv")) for key, kinds in ends.items())


def _transfers(stats: StepStats, start: float) -> Iterator[tuple[object, ...]]:
    for key, sent, received in _ends(stats):
        times = [duration(end.time - start) if end else "-" for end in (sent, received)]
        nbytes = max(end.nbytes for end in (sent, received) if end)
        yield (key, received.device if received else "-", *times, byte_size(nbytes))


def step_picture(stats: StepStats) -> str:
    """Return the time of a step as SVG: what each task and each device did, and what travelled between them."""
    spans: dict[str, list[Span]] = {}
    for phase in stats.phases:
        title = f"{phase.kind} at {phase.task}\n{duration(phase.ended - phase.began)}\n{phase.what}"
        spans.setdefault(phase.task, []).append(Span(phase.began, phase.ended, phase.kind, phase.kind, title))
    for node in sorted(stats.nodes, key=lambda node: node.start):
        title = f"{node.node}\n{node.op}\n{duration(node.end - node.start)}"
        kind = {"_Send": "send", "_Recv": "receive"}.get(node.op, "")
        spans.setdefault(node.device, []).append(Span(node.start, node.end, node.node, kind, title))
    links = [
        Link(frame.source, frame.sent, frame.target, frame.arrived, f"{frame.kind}\n{byte_size(frame.nbytes)}")
        for frame in stats.frames
    ]
    links += [
        Link(sent.device, sent.time, received.device, received.time, key)
        for key, sent, received in _ends(stats)
        if sent is not None and received is not None and sent.device != received.device
    ]
    # The client first, and the devices of a task below it.
    rows = [Lane(name, tuple(spans[name])) for name in sorted(spans, key=lambda name: (name != "client", name))]
    return lanes(rows, links, f"Step {stats.step_id}")


def metadata_sheet(metadata: RunMetadata) -> Sheet:
    """Return what the report of a run shows: its step, and the graphs of its devices."""
    step = step_sheet(metadata.step_stats) if metadata.step_stats is not None else Sheet("")
    facts = dict(step.facts)
    if metadata.session_metadata is not None:
        facts["session"] = f"{metadata.session_metadata.name} version {metadata.session_metadata.version}"
    drawings = dict(step.drawings)
    graphs = list(metadata.partition_graphs)
    if graphs:
        drawings["partitions"] = graphs[0].picture(*graphs[1:]).svg
    partitions = [(graph.nodes[0].device if graph.nodes else "", len(graph.nodes)) for graph in graphs]
    tables = [*step.tables, Table("partitions", ("device", "nodes"), partitions)]
    title = f"RunMetadata of {step.title[0].lower()}{step.title[1:]}" if step.title else "RunMetadata"
    return Sheet(title, facts, tables, drawings)


def record_sheet(record: StepRecord) -> Sheet:
    """Return what is remembered of a step: the part of each device, with what it waited, and what was sent."""
    stats = record.step_stats()
    parts = [
        (
            part.device,
            duration(part.began - record.began),
            duration(part.ended - part.began) if part.ended else "-",
            duration(part.waited),
        )
        for part in record.parts
    ]
    facts = {
        "took": duration(record.took) if record.took else "it runs",
        "error": record.error,
        "fetches": ", ".join(record.fetches),
        "feeds": ", ".join(record.feeds),
        "at": record.task,
        "session": record.session,
        "trace": record.trace_id,
        "left out": record.left_out or None,
    }
    tables = [
        Table("parts", ("device", "began after", "took", "waited"), parts),
        Table("transfers", _TRANSFER_HEADINGS, list(_transfers(stats, record.began)), 2),
    ]
    kind = "partial run" if record.kind == "partial" else "run"
    return Sheet(f"Step {record.step_id}, a {kind}", facts, tables, step_sheet(stats).drawings)

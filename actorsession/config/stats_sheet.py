"""What the report of a step shows of itself: where its time went, by node, by device and between devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from actorsession.drawing.chart import Lane, Link, Span, lanes
from actorsession.drawing.sheet import Sheet, Table
from actorsession.drawing.text import byte_size, duration, percent

if TYPE_CHECKING:
    from actorsession.config.stats import RunMetadata, StepStats, TransferStats

__all__ = ["metadata_sheet", "step_sheet"]


def step_sheet(stats: StepStats) -> Sheet:
    """Return what the statistics of a step show: the slowest nodes first."""
    start = min((node.start for node in stats.nodes), default=0.0)
    whole = max((node.end for node in stats.nodes), default=0.0) - start
    nodes = sorted(stats.nodes, key=lambda node: node.start - node.end)
    by_node = [
        (
            node.node,
            node.op,
            node.device,
            duration(node.end - node.start),
            percent(node.end - node.start, whole),
            duration(node.start - start),
            byte_size(node.nbytes),
        )
        for node in nodes
    ]
    by_device: dict[str, float] = {}
    for node in stats.nodes:
        by_device[node.device] = by_device.get(node.device, 0.0) + node.end - node.start
    devices = [(device, duration(took), percent(took, whole)) for device, took in sorted(by_device.items())]
    facts = {"took": duration(whole), "nodes": len(stats.nodes), "left out": stats.left_out or None}
    tables = [
        Table("devices", ("device", "time of nodes", "of the step"), devices),
        Table("nodes", ("node", "type", "device", "took", "of the step", "began after", "bytes"), by_node, 3),
        Table("transfers", ("key", "to", "sent after", "received after", "bytes"), list(_transfers(stats, start)), 2),
    ]
    drawings = {"time": lambda: _lanes(stats)} if stats.nodes else {}
    return Sheet(f"Step {stats.step_id}", facts, tables, drawings)


def _ends(stats: StepStats) -> Iterable[tuple[str, TransferStats | None, TransferStats | None]]:
    """Yield each transfer by its key, with its sending and its receiving end."""
    ends: dict[str, dict[str, TransferStats]] = {}
    for one in stats.transfers:
        ends.setdefault(one.key, {})[one.kind] = one
    return ((key, kinds.get("send"), kinds.get("recv")) for key, kinds in ends.items())


def _transfers(stats: StepStats, start: float) -> Iterable[tuple[object, ...]]:
    for key, sent, received in _ends(stats):
        times = [duration(end.time - start) if end else "-" for end in (sent, received)]
        end = received or sent
        assert end is not None
        yield (key, received.device if received else "-", *times, byte_size(end.nbytes))


def _lanes(stats: StepStats) -> str:
    spans: dict[str, list[Span]] = {}
    for node in sorted(stats.nodes, key=lambda node: node.start):
        title = f"{node.node}\n{node.op}\n{duration(node.end - node.start)}"
        spans.setdefault(node.device, []).append(Span(node.start, node.end, node.node, title=title))
    links = [
        Link(sent.device, sent.time, received.device, received.time, key)
        for key, sent, received in _ends(stats)
        if sent is not None and received is not None and sent.device != received.device
    ]
    rows = [Lane(device, tuple(spans[device])) for device in sorted(spans)]
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

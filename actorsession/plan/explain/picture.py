"""The drawing of an explanation: its nodes in the frames of their tasks and devices, and what they send.

A step of many nodes is drawn by name scopes, as deep as there is room. Notebooks show the drawing between the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from actorsession.drawing import Arrow, Box, Picture, html
from actorsession.drawing.text import byte_size, duration
from actorsession.graph.device import short_device
from actorsession.graph.picture import PictureNode, Scope, open_scopes
from actorsession.plan.explain.explanation import ExplainedNode, Explanation
from actorsession.plan.explain.text import shape_text, summary

__all__ = ["html_document", "html_page", "picture"]

# Boxes of a drawing that can still be read; above it nodes are gathered by name scope.
_BOXES = 30
# A device, and what is drawn there.
_Place: TypeAlias = "tuple[str, Scope]"
# Outputs whose types a box shows, and lines of the text at the pointer.
_TYPES = 2
_TITLES = 20


def picture(explanation: Explanation) -> Picture:
    """Return the drawing of an explanation."""
    places = _places(explanation)
    gathered: dict[_Place, list[ExplainedNode]] = {}
    for node in explanation.nodes:
        gathered.setdefault(places[node.name], []).append(node)
    slow = {finding.node for finding in explanation.findings}
    boxes = [_box(*place, nodes, slow) for place, nodes in gathered.items()]
    fed = [Box(f"feed {t.name}", (shape_text(t),), kind="feed", label=t.name) for t in explanation.feeds]
    arrows: dict[tuple[str, str, str], dict[str, Arrow]] = {}
    for arrow in _arrows(explanation, places):
        arrows.setdefault((arrow.source, arrow.target, arrow.kind), {})[arrow.title] = arrow
    caption = next(iter(summary(explanation)))
    sizes = {transfer.key: transfer.tensor.nbytes or 0 for transfer in explanation.transfers}
    joined = tuple([_joined(list(same.values()), sizes) for same in arrows.values()])
    return Picture((*fed, *boxes), joined, caption)


def _joined(arrows: list[Arrow], sizes: Mapping[str, int]) -> Arrow:
    """Return the arrows between two boxes as one, with the number and bytes of what is sent."""
    first = arrows[0]
    if len(arrows) == 1:
        return first
    title = "\n".join([arrow.title for arrow in arrows[:_TITLES]])
    nbytes = sum(sizes.get(arrow.title, 0) for arrow in arrows)
    return replace(first, label=f"{len(arrows)} values, {byte_size(nbytes)}" if nbytes else "", title=title)


def _places(explanation: Explanation) -> Mapping[str, _Place]:
    """Return the device of each node, and what it is drawn as there: a node or, of many, a scope."""
    by_device: dict[str, list[PictureNode]] = {}
    for node in explanation.nodes:
        by_device.setdefault(node.device, []).append(PictureNode(node.name, node.op))
    if len(explanation.nodes) <= _BOXES:
        return {n.name: (d, Scope(n.name, [n])) for d, nodes in by_device.items() for n in nodes}
    most = max(1, _BOXES // len(by_device))
    return {n.name: (d, s) for d, nodes in by_device.items() for s in open_scopes(nodes, most) for n in s.nodes}


def _name(place: _Place) -> str:
    return f"{place[1].nodes[0].name} on {place[0]}"


def _box(device: str, scope: Scope, nodes: list[ExplainedNode], slow: set[str]) -> Box:
    task, _, name = device.rpartition("/device:")
    frames = (short_device(task), name, *scope.group)
    seconds = sum(node.seconds for node in nodes)
    kind = "slow" if any(node.name in slow for node in nodes) else ""
    first = nodes[0]
    if len(nodes) == 1:
        kind = kind or ("constant" if first.op == "Const" else "variable" if first.op == "VarHandleOp" else "")
        types = tuple(map(shape_text, first.outputs[:_TYPES]))
        title = f"{first.name} ({first.op})\n{first.line}\n{first.reason}\n{duration(seconds)} expected"
        return Box(_name((device, scope)), (first.op, *types), frames, kind, title, scope.label)
    lines = (f"{len(nodes)} nodes", duration(seconds))
    title = "\n".join([", ".join([node.name for node in nodes[:_TITLES]]), first.line])
    return Box(_name((device, scope)), lines, frames, kind, title, scope.label)


def _arrows(explanation: Explanation, places: Mapping[str, _Place]) -> Iterator[Arrow]:
    fed = {tensor.name for tensor in explanation.feeds}
    sent = {}
    for transfer in explanation.transfers:
        size = "" if transfer.tensor.nbytes is None else f", {byte_size(transfer.tensor.nbytes)}"
        for reader in transfer.readers:
            sent[transfer.tensor.name, reader] = f"{transfer.tensor.name}{size}", transfer.key
    for node in explanation.nodes:
        target = places[node.name]
        for read in node.inputs:
            if read in fed:
                yield Arrow(f"feed {read}", _name(target))
                continue
            source = places.get(read.removeprefix("^").rpartition(":")[0] or read.removeprefix("^"))
            if source is None or source == target:
                continue
            label, key = sent.get((read, node.name), ("", ""))
            kind = "sent" if key else "control" if read.startswith("^") else ""
            yield Arrow(_name(source), _name(target), label, kind, key or read)


def html_page(explanation: Explanation) -> str:
    """Return the fragment that a notebook shows."""
    return html.page(*_parts(explanation))


def html_document(explanation: Explanation) -> str:
    """Return a page as a file of its own."""
    title, *parts = _parts(explanation)
    return html.document(str(title), *parts)


def _parts(explanation: Explanation) -> Iterator[object]:
    title, *more = summary(explanation)
    yield title
    yield from more
    if explanation.missing:
        rows = [(m.kind, m.name, m.what, m.line) for m in explanation.missing]
        yield _section("What is missing", "kind name what line", rows)
    if explanation.findings:
        slow = [(f.kind, f.what, f.advice, f.line) for f in explanation.findings]
        yield _section("What would make it slow", "kind|what|what to do|line", slow)
    yield html.section("The step", html.figure(explanation.to_svg()))
    chain = [(duration(p.began), duration(p.ended - p.began), p.kind, p.what, p.where) for p in explanation.critical]
    yield _section("The longest chain", "from takes kind what where", chain)
    nodes = [
        (n.name, n.op, " ".join(map(shape_text, n.outputs)), n.device, n.reason, duration(n.seconds), n.line)
        for n in explanation.nodes
    ]
    yield _section("Where it runs", "node|type|values|device|why there|expected|line", nodes, is_open=False)
    sent = [
        (t.tensor.name, "?" if t.tensor.nbytes is None else byte_size(t.tensor.nbytes), t.source, t.target, t.key)
        for t in explanation.transfers
    ]
    if sent:
        yield _section("What is sent", "tensor bytes from to key", sent, is_open=False)
    done = [(p.name, p.before, p.after, len(p.removed), len(p.added), len(p.changed)) for p in explanation.passes]
    yield _section("What planning did", "stage before after removed added changed", done, is_open=False)
    left = [(d.name, d.op, d.stage, d.why, d.line) for d in explanation.dropped]
    yield _section("What does not run", "node type stage why line", left, is_open=False)
    code = [
        (part.device, segment.name, line.node, line.line, line.text)
        for part in explanation.partitions
        for segment in part.segments
        for line in segment.lines
    ]
    yield _section("Generated source", "device segment node line source", code, is_open=False)


def _section(title: str, headings: str, rows: Sequence[Sequence[object]], *, is_open: bool = True) -> html.Html:
    """Return a table below a title; headings of several words are separated by bars."""
    return html.section(title, html.table(headings.split("|" if "|" in headings else None), rows), is_open=is_open)

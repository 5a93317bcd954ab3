"""The page of text that an explanation prints: what is missing and slow first, then where what runs.

Lists are shortened, with the number of what is left out; the explanation itself has everything. Lines are up to 120
columns wide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from actorsession.drawing.text import byte_size, duration, table
from actorsession.graph.device import short_device
from actorsession.plan.explain.explanation import (
    ExplainedPartition,
    ExplainedTensor,
    Explanation,
    Finding,
    Missing,
    Refused,
)
from actorsession.terminal_text import visible

__all__ = ["page", "shape_text", "source", "summary"]

_WIDTH = 120
# Most entries of a list, and most lines of source, on the page.
_ROWS = 30
_NAMES = 8
_SOURCE = 60
# Columns of a name and of a type, of which there may be several in a line.
_NAME, _TYPE = 36, 22
_INDENT = "  "


def page(explanation: Explanation) -> str:
    """Return the page of an explanation."""
    sections = (
        ("What is missing", _missing(explanation)),
        ("What would make it slow", _findings(explanation.findings)),
        ("The longest chain", _chain(explanation)),
        ("Where it runs", _partitions(explanation)),
        ("What is sent", _transfers(explanation)),
        ("What planning did", _passes(explanation)),
        ("What does not run", _dropped(explanation)),
        ("Generated source", _shortened(source(explanation), _SOURCE, "lines: explanation.source has all")),
    )
    lines = list(summary(explanation))
    for title, content in sections:
        shown = list(content)
        if shown:
            lines += ["", title, *[f"{_INDENT}{line}" for line in shown]]
    return "\n".join([visible(line)[:_WIDTH].rstrip() for line in lines])


def summary(explanation: Explanation) -> Iterator[str]:
    """Yield the lines that say what the step is and what it is expected to cost."""
    fed = [f"{tensor.name} {shape_text(tensor)}" for tensor in explanation.feeds]
    results = [*explanation.fetches, *explanation.targets]
    yield from _wrapped(f"A step that fetches {_named(results)}, fed with {_named(fed)}", "", _INDENT)
    tasks = {part.task for part in explanation.partitions}
    where = f"on {_count(len(explanation.partitions), 'device')} of {_count(len(tasks), 'task')}"
    yield f"{len(explanation.nodes)} of {explanation.graph_nodes} nodes run, {where}"
    yield (
        f"expected: {duration(explanation.seconds)}, {explanation.flops:,} floating-point operations, "
        f"{byte_size(explanation.sent_bytes)} sent between tasks, as far as shapes are known"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def shape_text(tensor: ExplainedTensor) -> str:
    """Return the type of a tensor, such as ``float32[?,2]``."""
    if tensor.shape is None:
        return f"{tensor.dtype}[...]"
    return f"{tensor.dtype}[{','.join('?' if size is None else str(size) for size in tensor.shape)}]"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return (", ".join(names[:_NAMES]) or "nothing") + more


def _end(name: str) -> str:
    """Return a name that leaves room for other columns; its last parts say most."""
    return name if len(name) <= _NAME else f"...{name[3 - _NAME :]}"


def _beginning(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _wrapped(text: str, first: str, indent: str) -> list[str]:
    return textwrap.wrap(
        visible(text), _WIDTH - len(_INDENT), initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )


def _shortened(lines: Iterable[str], limit: int, what: str) -> list[str]:
    kept = list(lines)
    more = len(kept) - limit
    return [*kept[:limit], f"... and {more} more {what}"] if more > 0 else kept


def _missing(explanation: Explanation) -> Iterator[str]:
    by_kind: dict[str, list[Missing]] = {}
    for missing in explanation.missing:
        by_kind.setdefault(missing.kind, []).append(missing)
    for kind, alike in by_kind.items():
        for missing in alike[:_NAMES]:
            where = f" ({missing.line})" if missing.line else ""
            yield from _wrapped(f"{missing.what}{where}", f"{kind}: ", _INDENT)
        if len(alike) > _NAMES:
            yield f"{kind}: ... and {len(alike) - _NAMES} more: explanation.missing has all"


def _findings(ranked: Sequence[Finding]) -> Iterator[str]:
    for number, finding in enumerate(ranked[:_ROWS], 1):
        where = f" ({finding.line})" if finding.line else ""
        yield from _wrapped(f"{finding.what}{where}", f"{number}. ", "   ")
        yield from _wrapped(finding.advice, "   -> ", "      ")
    if len(ranked) > _ROWS:
        yield f"... and {len(ranked) - _ROWS} more, which cost less: explanation.findings has all"


def _chain(explanation: Explanation) -> Iterator[str]:
    rows = [("from", "takes", "", "what", "where")]
    for part in explanation.critical:
        more = f" and {_count(part.nodes - 1, 'other node')}" if part.nodes > 1 else ""
        where = " to ".join(map(short_device, part.where.split(" to ")))
        took = duration(part.ended - part.began)
        rows.append((duration(part.began), took, part.kind, _end(part.what) + more, where))
    if len(rows) > 1:
        yield from _shortened(table(rows, names=5), _ROWS + 1, "parts")


def _partitions(explanation: Explanation) -> Iterator[str]:
    nodes = {node.name: node for node in explanation.nodes}
    for part in explanation.partitions:
        yield from _wrapped(_partition(part), "", _INDENT)
        rows = []
        for name in part.nodes[:_ROWS]:
            node = nodes[name]
            types = " ".join(map(shape_text, node.outputs))
            row = (_end(node.name), _beginning(node.op, _TYPE), _beginning(types, _TYPE), duration(node.seconds))
            rows.append((*row, node.reason))
        yield from table(rows, names=5, indent=_INDENT)
        if len(part.nodes) > _ROWS:
            yield f"{_INDENT}... and {len(part.nodes) - _ROWS} more nodes"
    refusals: dict[Refused, list[str]] = {}
    for one in explanation.nodes:
        for refused in one.refused:
            refusals.setdefault(refused, []).append(one.name)
    if refusals:
        yield "Refused alternatives"
        texts = [f"{_refusal(refused)}: {_named(names)}" for refused, names in refusals.items()]
        for text in _shortened(texts, _NAMES, "refusals: node.refused has them"):
            yield from _wrapped(text, _INDENT, _INDENT * 2)


def _refusal(refused: Refused) -> str:
    more = f" and {refused.more} more" if refused.more else ""
    return f"{', '.join(map(short_device, refused.devices))}{more} {refused.why}"


def _partition(part: ExplainedPartition) -> str:
    how = _count(len(part.segments), "segment") if part.engine == "segments" else "node by node, on the dataflow engine"
    said = [_count(len(part.nodes), "node"), how]
    sizes = [len(subgraph) for segment in part.segments for subgraph in segment.subgraphs]
    said += [f"{_count(len(sizes), 'subgraph')} of {sum(sizes)} nodes for its compiler"] if sizes else []
    said += [f"fed {_named(part.feeds)}"] if part.feeds else []
    said += [f"fetched {_named(part.fetches)}"] if part.fetches else []
    return f"{short_device(part.device)}: {'; '.join(said)}"


def _transfers(explanation: Explanation) -> Iterator[str]:
    rows = [("tensor", "bytes", "takes", "from", "to", "read by", "type")]
    for sent in explanation.transfers:
        size = "?" if sent.tensor.nbytes is None else byte_size(sent.tensor.nbytes)
        source, target = short_device(sent.source), short_device(sent.target)
        readers, name = _end(", ".join(sent.readers[:2])), _end(sent.tensor.name)
        rows.append((name, size, duration(sent.seconds), source, target, readers, shape_text(sent.tensor)))
    if len(rows) > 1:
        yield from _shortened(table(rows, names=7), _ROWS + 1, "values")
        yield from _wrapped(f"The key of the first is {explanation.transfers[0].key}", "", _INDENT)


def _passes(explanation: Explanation) -> Iterator[str]:
    for done in explanation.passes:
        said = [f"{done.before} -> {done.after} nodes"]
        for what in ("removed", "added", "changed"):
            names = getattr(done, what)
            said += [f"{what} {len(names)}: {_named(names[:_NAMES])}"] if names else []
        yield from _wrapped(f"{done.name}: {'; '.join(said)}", "", _INDENT)


def _dropped(explanation: Explanation) -> Iterator[str]:
    left = explanation.dropped
    rows = [(_end(node.name), node.op, node.stage, node.why) for node in left]
    more = len(left) - _ROWS + explanation.dropped_more if len(left) > _ROWS else explanation.dropped_more
    yield from table(rows[:_ROWS], names=4)
    if more > 0:
        yield f"... and {more} more nodes"


def source(explanation: Explanation) -> Iterator[str]:
    """Yield the generated source of all partitions, with a comment before each segment."""
    sent = {t.key: f"{t.tensor.name} from {short_device(t.source)}" for t in explanation.transfers}
    for part in explanation.partitions:
        for segment in part.segments:
            waits = f", waits for {_named([sent.get(w, w) for w in segment.waits])}" if segment.waits else ""
            after = f", after {', '.join(segment.after)}" if segment.after else ""
            yield f"# {short_device(part.device)} {segment.name}: {duration(segment.seconds)} expected{waits}{after}"
            yield from [line.text for line in segment.lines]

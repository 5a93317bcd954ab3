"""The picture of a graph: its nodes, or its scopes where they are many.

Scopes are opened, those with the most nodes first, as long as the picture stays small; an open scope is a
frame around what is in it. Called by ``Graph`` and by what shows plans and steps.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from actorsession.drawing import Arrow, Box, Picture
from actorsession.drawing.sheet import Sheet, Table
from actorsession.graph.node import GraphDef, NodeDef
from actorsession.graph.operation import Operation
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass

__all__ = ["PictureNode", "Scope", "graph_picture", "nodes_of", "nodes_sheet", "open_scopes", "partitions_picture"]

# Boxes that a reader takes in without scrolling far.
_MOST = 18
_KINDS = {
    "VarHandleOp": "variable",
    "VariableV2": "variable",
    "Variable": "variable",
    "Placeholder": "placeholder",
    "PlaceholderWithDefault": "placeholder",
    "Const": "constant",
    "_Send": "send",
    "_Recv": "receive",
}
# Scopes of one name but for numbers are alike: layers, and those that were renamed because their name was taken.
_DIGITS = re.compile(r"\d+")
# Names of tensors at the pointer over an arrow between scopes.
_NAMES = 8


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A node as the picture needs it.

    Attributes:
        name: of the node, with its scopes.
        op: operation type.
        inputs: the node and the label of each data input.
        control_inputs: names of nodes that run first.
        lines: what its box says below name and type.
        kind: its colour in place of that of its type.
        title: the text at the pointer, below its name.
    """

    name: str
    op: str
    inputs: Sequence[tuple[str, str]] = ()
    control_inputs: Sequence[str] = ()
    lines: tuple[str, ...] = ()
    kind: str = ""
    title: str = ""


@dataclass(slots=True, eq=False)
class Scope:
    """Nodes that one box stands for: a node, a scope, or nodes of one type that are alike.

    Attributes:
        label: what the box says.
        nodes: its nodes.
        path: of a scope, its name by parts.
        opens: of a scope that may be opened, its last part.
        group: the open scopes around it.
    """

    label: str
    nodes: list[PictureNode]
    path: tuple[str, ...] = ()
    opens: str = ""
    group: tuple[str, ...] = field(default=())


def nodes_of(operations: Iterable[Operation | NodeDef]) -> list[PictureNode]:
    """Return operations, or the nodes of plain graphs, as the picture needs them."""
    return [_of_operation(one) if isinstance(one, Operation) else _of_node(one) for one in operations]


def _of_operation(op: Operation) -> PictureNode:
    inputs = [(tensor.op.name, _sizes(tensor.spec.shape)) for tensor in op.inputs]
    return PictureNode(op.name, op.type, inputs, [c.name for c in op.control_inputs], title=f"{op.device}\n{op.source}")


def _of_node(node: NodeDef) -> PictureNode:
    inputs = [(name, "") for name, _ in node.inputs]
    return PictureNode(node.name, node.op, inputs, node.control_inputs, title=f"{node.device}\n{node.source}")


def _sizes(shape: TensorShape) -> str:
    """Return the sizes of a shape as the label of an arrow; scalars have none, and handles are scalars."""
    if shape.sizes is None:
        return "?"
    return f"[{','.join('?' if size is None else str(size) for size in shape.sizes)}]" if shape.sizes else ""


def graph_picture(nodes: Sequence[PictureNode], caption: str = "", most: int = _MOST) -> Picture:
    """Return the picture of nodes.

    Args:
        nodes: with unique names; inputs that are none of them are left out.
        caption: what the picture shows.
        most: the most boxes; above it, scopes are closed.
    """
    return _drawn([((), nodes)], [], caption, most)


def partitions_picture(graphs: Sequence[GraphDef], caption: str = "", most: int = _MOST) -> Picture:
    """Return the picture of the graphs of several devices, with arrows from sends to receives.

    Args:
        graphs: one for each device, as a run's metadata has them.
        caption: what the picture shows.
        most: the most boxes of all devices together, unless they are more devices.
    """
    parts = []
    ends: dict[str, dict[str, tuple[int, str]]] = {}
    for number, graph in enumerate(graphs):
        device = graph.nodes[0].device if graph.nodes else ""
        task, _, local = device.partition("/device:")
        parts.append((tuple(filter(None, (task, f"device:{local}"))), nodes_of(graph.nodes)))
        for node in graph.nodes:
            if node.op in ("_Send", "_Recv"):
                ends.setdefault(str(node.attrs.get("key", node.name)), {})[node.op] = (number, node.name)
    links = [(pair["_Send"], pair["_Recv"], key) for key, pair in ends.items() if len(pair) == 2]
    return _drawn(parts, links, caption, max(1, most // max(1, len(graphs))))


_Place: TypeAlias = "tuple[int, str]"


def _drawn(
    parts: Sequence[tuple[tuple[str, ...], Sequence[PictureNode]]],
    links: Sequence[tuple[_Place, _Place, str]],
    caption: str,
    most: int,
) -> Picture:
    """Return the picture of nodes in frames, each with at most ``most`` boxes; links are between frames."""
    boxes: list[Box] = []
    home: dict[_Place, int] = {}
    for number, (frame, nodes) in enumerate(parts):
        for scope in open_scopes(nodes, most):
            home |= {(number, node.name): len(boxes) for node in scope.nodes}
            boxes.append(_box(str(len(boxes)), scope, frame))
    between: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for number, (_, nodes) in enumerate(parts):
        for node in nodes:
            target = home[number, node.name]
            for name, label in [*node.inputs, *((name, "") for name in node.control_inputs)]:
                source = home.get((number, name), target)
                if source != target:
                    between.setdefault((source, target), []).append((name, label))
    arrows = [_arrow(str(a), str(b), ends) for (a, b), ends in between.items()]
    crossing: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for sent, received, key in links:
        crossing.setdefault((home[sent], home[received]), []).append((key, ""))
    arrows += [_arrow(str(a), str(b), ends, "transfer") for (a, b), ends in crossing.items()]
    return Picture(tuple(boxes), tuple(arrows), caption)


def nodes_sheet(title: str, operations: Sequence[Operation | NodeDef]) -> Sheet:
    """Return what a graph shows of itself: its types and scopes, and its picture."""
    nodes = nodes_of(operations)
    types = Counter(node.op for node in nodes)
    scopes = Counter(scope for node in nodes if (scope := node.name.partition("/")[0]) != node.name)
    facts = {
        f"{kind}s": _listed([node.name for node in nodes if _KINDS.get(node.op) == kind])
        for kind in ("placeholder", "variable")
    }
    tables = [
        Table("operation types", ("type", "nodes"), types.most_common()),
        Table("scopes", ("scope", "nodes"), scopes.most_common()),
    ]
    drawings = {"nodes" if len(nodes) <= _MOST else "scopes": lambda: graph_picture(nodes).svg()} if nodes else {}
    return Sheet(title, facts, tables, drawings)


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{len(names)}: {', '.join(names[:_NAMES])}{more}" if names else ""


def open_scopes(nodes: Sequence[PictureNode], most: int) -> list[Scope]:
    """Return what the boxes stand for, at most ``most``, after scopes were opened while there are few enough."""
    count = 0
    closed: list[tuple[int, int, Scope]] = []  # by size; the number decides between equal ones
    final: list[Scope] = []
    waiting = _split(Scope("", list(nodes)), most)
    number = 0
    while True:
        for scope in waiting:
            number += 1
            if scope.opens:
                heapq.heappush(closed, (-len(scope.nodes), number, scope))
            else:
                final.append(scope)
        count += len(waiting)
        waiting = []
        while closed and not waiting:
            scope = heapq.heappop(closed)[2]
            inner = _split(scope, most)
            if count - 1 + len(inner) <= most:
                count -= 1
                waiting = inner
            else:
                final.append(scope)
        if not waiting:
            order = {id(node): place for place, node in enumerate(nodes)}
            return sorted(final, key=lambda scope: order[id(scope.nodes[0])])


def _split(scope: Scope, most: int) -> list[Scope]:
    """Return the parts of a scope: nodes and scopes in it; where they are many, some in one."""
    depth = len(scope.path)
    parts: dict[str, list[PictureNode]] = {}
    for node in scope.nodes:
        rest = node.name.split("/")[depth:]
        parts.setdefault(rest[0] if rest else "", []).append(node)
    group = (*scope.group, scope.label) if scope.path else ()
    scopes = []
    for name, inside in parts.items():
        if len(inside) == 1:
            label = "/".join(inside[0].name.split("/")[depth:]) or scope.path[-1]
            scopes.append(Scope(label, inside, (), "", group))
        else:
            scopes.append(Scope(name, inside, (*scope.path, name), name, group))
    if len(scopes) <= most:
        return scopes
    alike: dict[str, list[Scope]] = {}
    for one in scopes:
        alike.setdefault(_DIGITS.sub("#", one.label) if one.opens else one.nodes[0].op, []).append(one)
    merged = []
    for name, ones in alike.items():
        nodes = [node for one in ones for node in one.nodes]
        merged.append(ones[0] if len(ones) == 1 else Scope(f"{len(ones)} x {name}", nodes, group=group))
    if len(merged) <= most:
        return merged
    merged.sort(key=lambda one: -len(one.nodes))
    others = [node for one in merged[most - 1 :] for node in one.nodes]
    return [*merged[: most - 1], Scope("others", others, (), "", group)]


def _box(name: str, scope: Scope, frame: tuple[str, ...]) -> Box:
    node = scope.nodes[0]
    if len(scope.nodes) == 1:
        lines = (*(() if node.op == scope.label.rpartition("/")[2] else (node.op,)), *node.lines)
        kind = node.kind or _KINDS.get(node.op, "")
        return Box(name, lines, (*frame, *scope.group), kind, f"{node.name}\n{node.title}".strip(), scope.label)
    types = Counter(one.op for one in scope.nodes).most_common()
    title = "\n".join([node.name.rpartition("/")[0] if scope.opens else "", *(f"{op} {count}" for op, count in types)])
    return Box(name, (f"{len(scope.nodes)} nodes",), (*frame, *scope.group), "scope", title, scope.label)


def _arrow(source: str, target: str, ends: Sequence[tuple[str, str]], kind: str = "") -> Arrow:
    names = list(dict.fromkeys(name for name, _ in ends))
    labels: Mapping[str, None] = dict.fromkeys(label for _, label in ends)
    label = next(iter(labels)) if len(labels) == 1 else f"{len(names)} tensors" if len(names) > 1 else ""
    more = [f"and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
    return Arrow(source, target, label, kind, "\n".join([*names[:_NAMES], *more]))

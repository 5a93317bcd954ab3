"""Takes: the uses of a value that a node takes out of state that outlives the step.

A step that ends early puts back the values it has taken, unless an operation of it has stored the value by
then: the element of one queue that was put into another must not be in both. Which operations could have
stored it, and which fetches return it, can be computed before a graph is partitioned: ``mark_takes`` notes it
in attributes of the nodes that take, and of the loops and branches with such nodes inside; ``uses_of`` reads
them. The module is pure; ``partition`` and ``compile`` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from actorsession.graph.dtypes import resource
from actorsession.graph.function import CONSTRUCTS, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.prune import StepGraph

__all__ = ["TakePlan", "TakeUses", "mark_takes", "stores", "taken_inside", "takes", "uses_of"]

_STORED, _FETCHES = "_stored", "_fetched_at"

# Operations that take a handle and do not change state that outlives the step. All others may store their
# inputs. Stacks and arrays of tensors end with their step.
_READING = frozenset({
    "AccumulatorNumAccumulated", "BarrierClose", "BarrierIncompleteSize", "BarrierReadySize",
    "LookupTableExportV2", "LookupTableFindV2", "LookupTableSizeV2", "QueueCloseV2", "QueueIsClosedV2",
    "QueueSizeV2", "ReadVariableOp", "RefSelect", "VarIsInitializedOp",
})  # fmt: skip
_OF_THE_STEP = ("Stack", "TensorArray", "TensorList")
# Operations that name the state they store into, instead of taking its handle.
_BY_NAME = frozenset({"GetSessionHandle", "MapStage", "OrderedMapStage", "Stage"})


class TakeUses(NamedTuple):
    """The uses, in a step, of a value that was taken.

    Attributes:
        stored: whether an operation may store a result of it.
        fetches: positions in the signature of the fetches that depend on it.
    """

    stored: bool
    fetches: frozenset[int]


class TakePlan(NamedTuple):
    """A node that takes, in a compiled partition.

    Attributes:
        uses: of its value, in the whole step.
        stored_by: the places that store the value in this partition: segments, by index, and other nodes that
            suspend, as -1 less their number.
    """

    uses: TakeUses
    stored_by: frozenset[int]


def takes(node: NodeDef) -> bool:
    """Return whether a node, or one inside it, takes values out of state that outlives the step."""
    if node.op in CONSTRUCTS:
        return any(lookup(inner.op).takes for inner, _ in nodes_inside(node))
    return is_registered(node.op) and lookup(node.op).takes


def stores(node: NodeDef, has_handle: bool) -> bool:
    """Return whether a node may put its inputs into state that outlives the step.

    Args:
        node: any node.
        has_handle: whether an input of it is a resource.
    """
    if node.op in CONSTRUCTS:
        return any(stores(inner, handle) for inner, handle in nodes_inside(node))
    if not is_registered(node.op) or not lookup(node.op).stateful or lookup(node.op).takes:
        return False
    if node.op in _BY_NAME:
        return True
    return has_handle and node.op not in _READING and not node.op.startswith(_OF_THE_STEP)


def mark_takes(graph: StepGraph) -> StepGraph:
    """Return the graph with the uses of each taken value noted; the graph itself if none is taken."""
    marked = {node.name: node for node in graph.nodes.values() if takes(node)}
    if not marked:
        return graph
    readers: dict[str, list[str]] = {}
    for node in graph.nodes.values():
        for name, _ in node.inputs:
            readers.setdefault(name, []).append(node.name)
    nodes: Mapping[str, NodeDef] = graph.nodes
    for name, node in marked.items():
        readers_of = _downstream(name, readers)
        stored = any(stores(nodes[other], _has_handle(nodes[other], nodes)) for other in readers_of)
        fetches = [k for k, (other, _) in enumerate(graph.fetches) if other in readers_of]
        attrs = {**node.attrs, _STORED: stored, _FETCHES: fetches}
        marked[name] = replace(node, attrs=attrs)
    return replace(graph, nodes={**graph.nodes, **marked})


def _downstream(name: str, readers: Mapping[str, list[str]]) -> set[str]:
    """Return a node and all nodes that depend on its values."""
    names: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting.extend(readers.get(name, ()))
    return names


def _has_handle(node: NodeDef, nodes: Mapping[str, NodeDef]) -> bool:
    return any(nodes[name].outputs[index].dtype is resource for name, index in node.inputs)


def taken_inside(nodes: Iterable[NodeDef]) -> TakeUses | None:
    """Return the merged uses of values taken inside the loops and branches of a partition."""
    inner = [uses_of(node) for node in nodes if node.op in CONSTRUCTS]
    uses = [u for u in inner if u is not None]
    if not uses:
        return None
    return TakeUses(any(u.stored for u in uses), frozenset().union(*[u.fetches for u in uses]))


def uses_of(node: NodeDef) -> TakeUses | None:
    """Return the uses noted in a node, or ``None`` if it takes nothing."""
    if _FETCHES not in node.attrs:
        return None
    return TakeUses(bool(node.attrs.get(_STORED)), frozenset(node.attrs[_FETCHES]))

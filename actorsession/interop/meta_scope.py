"""Subgraphs in ``MetaGraphDef``s: the nodes below a name scope, written as a graph of their own.

An input of such a subgraph from outside the scope is *unbound*. It is written under a marked name and listed
in a collection, and an import of the subgraph must provide it through ``input_map``. ``meta_graph`` uses this
module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorsession.interop import protos

__all__ = ["UNBOUND", "bound_map", "scoped_graph_def"]

UNBOUND = "unbound_inputs"  # the collection; TensorFlow's name
_MARK = "$unbound_inputs_"
_COLOCATED = b"loc:@"


def scoped_graph_def(graph_def: protos.GraphDef, scope: str) -> tuple[protos.GraphDef, list[str]]:
    """Return the nodes below a name scope, with the scope stripped from their names, and the unbound inputs.

    Args:
        graph_def: the whole graph.
        scope: the name scope.
    """
    prefix = f"{scope.rstrip('/')}/"
    scoped = protos.GraphDef()
    scoped.versions.CopyFrom(graph_def.versions)
    scoped.library.CopyFrom(graph_def.library)
    unbound: list[str] = []
    for node in graph_def.node:
        if node.name.startswith(prefix):
            copy = scoped.node.add()
            copy.CopyFrom(node)
            copy.name = node.name.removeprefix(prefix)
            copy.input[:] = [_input(name, prefix, unbound) for name in node.input]
            _leave_groups(copy, prefix)
    return scoped, unbound


def _input(name: str, prefix: str, unbound: list[str]) -> str:
    sign, bare = ("^", name[1:]) if name.startswith("^") else ("", name)
    if bare.startswith(prefix):
        return sign + bare.removeprefix(prefix)
    unbound.append(f"{sign}{_MARK}{bare}")
    return unbound[-1]


def _leave_groups(node: protos.NodeDef, prefix: str) -> None:
    """Keep only colocation with nodes of the same scope."""
    if "_class" in node.attr:
        start = _COLOCATED + prefix.encode()
        groups = list(node.attr["_class"].list.s)
        kept = [_COLOCATED + g.removeprefix(start) for g in groups if g.startswith(start)]
        node.attr["_class"].list.s[:] = kept
        if not kept:
            del node.attr["_class"]


def bound_map(
    message: protos.MetaGraphDef, input_map: Mapping[Any, Any] | None, key: str | None = UNBOUND
) -> dict[Any, Any]:
    """Return ``input_map`` with its keys replaced by the names in the file.

    Args:
        message: the graph with its collections.
        input_map: tensors by names of inputs, with the mark of unbound ones or without. Nodes that only run
            after an input run after its tensor.
        key: the collection that lists the unbound inputs.

    Raises:
        ValueError: if the graph has unbound inputs that the map does not name.
    """
    mapped = dict(input_map or {})
    if key is None or key not in message.collection_def:
        return mapped
    unbound = {value.decode() for value in message.collection_def[key].bytes_list.value}
    bound: dict[Any, Any] = {}
    for name in sorted(mapped, key=lambda name: str(name).startswith("^")):
        bound |= dict.fromkeys(_forms(name) & unbound or [name], mapped[name])
    missing = {name.removeprefix("^").replace(_MARK, "") for name in unbound - bound.keys()}
    if missing:
        raise ValueError(
            f"Graph contains unbound inputs: {', '.join(sorted(missing))}. Must provide these inputs through input_map."
        )
    return bound


def _forms(name: Any) -> set[str]:
    """Return the names that an unbound input may have in the file."""
    if not isinstance(name, str):
        return set()
    bare = name.removeprefix("^").removeprefix(_MARK)
    operation, _, index = bare.partition(":")
    if name.startswith("^"):
        return {f"^{_MARK}{operation}"}
    first = {f"{_MARK}{operation}", f"{_MARK}{operation}:0"}
    return {f"^{_MARK}{operation}", *(first if index in ("", "0") else [f"{_MARK}{bare}"])}

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
    made = protos.GraphDef()
    made.versions.CopyFrom(graph_def.versions)
    made.library.CopyFrom(graph_def.library)
    unbound: list[str] = []
    for node in graph_def.node:
        if node.name.startswith(prefix):
            copy = made.node.add()
            copy.CopyFrom(node)
            copy.name = node.name.removeprefix(prefix)
            copy.input[:] = [_input(name, prefix, unbound) for name in node.input]
            _leave_groups(copy, prefix)
    return made, unbound


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


def bound_map(message: protos.MetaGraphDef, input_map: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return ``input_map`` with its keys replaced by the names in the file.

    Raises:
        ValueError: if the graph has unbound inputs and there is no map.
    """
    given = dict(input_map or {})
    if UNBOUND not in message.collection_def:
        return given
    unbound = {value.decode() for value in message.collection_def[UNBOUND].bytes_list.value}
    if unbound and input_map is None:
        names = ", ".join(sorted(name.replace(_MARK, "") for name in unbound))
        raise ValueError(
            f"Graph contains unbound inputs: {names}. Must provide these inputs through input_map."
        )
    return {_marked(key, unbound): value for key, value in given.items()}


def _marked(key: Any, unbound: set[str]) -> Any:
    if isinstance(key, str):
        sign, bare = ("^", key[1:]) if key.startswith("^") else ("", key)
        marked = f"{sign}{_MARK}{bare}"
        if marked in unbound or f"{marked}:0" in unbound or marked.removesuffix(":0") in unbound:
            return marked
    return key

"""Nodes of any operation type, with attributes that no public function sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession import Graph, Operation, Tensor, get_default_graph
from actorsession.extend import NOT_DIFFERENTIABLE, OpDef, register_op, registered_ops


def op_type(name: str, kernel: Callable[[Any], Any], **fields: Any) -> None:
    """An operation type of a test, once per process; its outputs are of the types of its inputs unless it says."""
    if name not in registered_ops():
        given = {"infer": lambda context: context.inputs, "gradient": NOT_DIFFERENTIABLE, **fields}
        register_op(OpDef(name=name, kernel=kernel, **given))


def make(
    op_type: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
    graph: Graph | None = None,
) -> Operation:
    """Add a node to a graph: the one given, that of its first input, or the default graph."""
    owners = (x.graph for x in inputs if isinstance(x, Tensor))
    return (graph or next(owners, None) or get_default_graph()).create_op(op_type, inputs, attrs, name)


def make_one(
    op_type: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
    graph: Graph | None = None,
) -> Tensor:
    """Add a node with one output and return that tensor."""
    return make(op_type, inputs, attrs, name, graph).outputs[0]

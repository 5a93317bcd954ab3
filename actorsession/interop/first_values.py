"""Loops in TensorFlow's form, where every variable gets its first value from an input.

A loop with gradients has variables that start empty without an input: counters and lists (see
``graph/function``). ``exporter`` writes explicit constants and empty lists as inputs for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from actorsession.graph.dtypes import DType, int32, variant
from actorsession.graph.function import CONSTRUCTS, LOOPS, STANDS_FOR, FunctionDef, entering
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape, scalar_shape

__all__ = ["with_first_values", "with_stand_ins"]


def with_first_values(nodes: Iterable[NodeDef]) -> Iterator[NodeDef]:
    """Yield the nodes, each loop preceded by nodes for the first values of such variables.

    Loops inside functions are rewritten as well.
    """
    for node in nodes:
        if node.op in CONSTRUCTS:
            functions = {k: _inside(v) for k, v in node.attrs.items() if isinstance(v, FunctionDef)}
            node = replace(node, attrs={**node.attrs, **functions})
        if node.op in LOOPS:
            count = entering(node)
            added: list[tuple[str, int]] = []
            for k in range(count, len(node.outputs)):
                nodes_of_first = _first_value(node, k)
                added.append((nodes_of_first[-1].name, 0))
                yield from nodes_of_first
            node = replace(node, inputs=(*node.inputs[:count], *added, *node.inputs[count:]))
        yield node


def with_stand_ins(nodes: Sequence[NodeDef]) -> Sequence[NodeDef]:
    """Return the nodes, in which Exits of loops that a ``While`` stands for read its outputs."""
    stood_for = {}
    for node in nodes:
        for text in node.attrs.get(STANDS_FOR, ()) if node.op in LOOPS else ():
            index, _, name = text.partition(":")
            stood_for[name] = node.name, int(index)
    return [
        replace(node, op="Identity", inputs=(stood_for[node.name],)) if node.name in stood_for else node
        for node in nodes
    ]


def _inside(function: FunctionDef) -> FunctionDef:
    return replace(function, nodes=tuple(with_first_values(function.nodes)))


def _first_value(loop: NodeDef, k: int) -> list[NodeDef]:
    """Return the nodes that produce the first value of a variable; the last one is the value itself."""
    name = f"{loop.name}/first_{k}"
    if loop.outputs[k].dtype is not variant:
        return [_number(name, 0, loop.device)]
    parts = [_number(f"{name}/{what}", -1, loop.device) for what in ("element_shape", "most")]
    empty_list = NodeDef(
        name=name,
        op="EmptyTensorList",
        inputs=tuple([(part.name, 0) for part in parts]),
        device=loop.device,
        attrs={"element_dtype": _element_dtype(loop, k)},
        outputs=(TensorSpec(variant, scalar_shape),),
    )
    return [*parts, empty_list]


def _number(name: str, value: int, device: str) -> NodeDef:
    return NodeDef(
        name=name,
        op="Const",
        device=device,
        attrs={"value": np.array(value, np.int32)},
        outputs=(TensorSpec(int32, TensorShape(())),),
    )


def _element_dtype(loop: NodeDef, k: int) -> DType:
    """Return the element type of a list variable, from the node of the body that appends to it."""
    body: FunctionDef = loop.attrs["body"]
    producer = body.outputs[k][0]
    element_dtype: DType = next(n for n in body.nodes if n.name == producer).attrs["element_dtype"]
    return element_dtype

"""Operation types that only this library has, as nodes of TensorFlow's types.

``exporter`` writes the nodes of a type in the table in its place; they compute the same, and the last one has
its name. What is in no table are the types of other distributions, and those that only plans have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, int32
from actorsession.graph.function import ARGUMENT, FunctionDef
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape, scalar_shape

__all__ = ["in_their_types"]

_Specs = Mapping[str, tuple[TensorSpec, ...]]
_VECTOR = TensorShape([None])


def in_their_types(nodes: Sequence[NodeDef], after: int = 0) -> Iterator[NodeDef]:
    """Yield the nodes, also those of functions, in types that TensorFlow has.

    Args:
        nodes: the nodes, which may read each other in any order.
        after: how many of the first to leave out.
    """
    return _written(nodes[after:], {node.name: node.outputs for node in nodes})


def _written(nodes: Iterable[NodeDef], known: _Specs) -> Iterator[NodeDef]:
    specs = dict(known)
    for node in nodes:
        specs[node.name] = node.outputs
        functions = {k: _inside(v) for k, v in node.attrs.items() if isinstance(v, FunctionDef)}
        node = replace(node, attrs={**node.attrs, **functions}) if functions else node
        write = _TYPES.get(node.op)
        if write is None:
            yield node
        else:
            yield from write(node, [specs[name][index] for name, index in node.inputs])


def _inside(function: FunctionDef) -> FunctionDef:
    nodes = tuple(_written(function.nodes, {ARGUMENT: function.arguments}))
    return function if nodes == function.nodes else replace(function, nodes=nodes)


class _Nodes:
    """New nodes before one, with names below its name."""

    def __init__(self, node: NodeDef) -> None:
        self.node = node
        self.made: list[NodeDef] = []

    def add(
        self,
        op: str,
        inputs: Iterable[tuple[str, int]],
        dtype: DType,
        shape: TensorShape,
        **attrs: Any,
    ) -> tuple[str, int]:
        """Add a node with one output, and return that."""
        name = f"{self.node.name}/{op}{f'_{len(self.made)}' if self.made else ''}"
        self.made.append(
            NodeDef(
                name=name, op=op, inputs=tuple(inputs), device=self.node.device, attrs=attrs,
                outputs=(TensorSpec(dtype, shape),), control_inputs=self.node.control_inputs,
                source=self.node.source,
            )
        )  # fmt: skip
        return name, 0

    def number(self, value: Any, dtype: DType = int32) -> tuple[str, int]:
        """Add a constant and return its output."""
        array = np.asarray(value, dtype.np_dtype)
        return self.add("Const", (), dtype, TensorShape(array.shape), value=array)


def _reduced_shape(node: NodeDef, specs: list[TensorSpec]) -> list[NodeDef]:
    """Write 1 into a shape at the axes that were reduced, which may be negative."""
    (shape, axes), nodes = node.inputs, _Nodes(node)
    dtype, kind = specs[0].dtype, as_dtype(specs[1].dtype)
    if kind is not int32:
        axes = nodes.add("Cast", [axes], int32, specs[1].shape, SrcT=kind, DstT=int32)
    flat = nodes.add("Reshape", [axes, nodes.number([-1])], int32, _VECTOR)
    size = nodes.add("Size", [shape], int32, scalar_shape, out_type=int32)
    places = nodes.add("AddV2", [flat, size], int32, _VECTOR)
    places = nodes.add("FloorMod", [places, size], int32, _VECTOR)
    every = nodes.add("Range", [nodes.number(0), size, nodes.number(1)], int32, specs[0].shape)
    lengths = nodes.add("Shape", [places], int32, TensorShape([1]), out_type=int32)
    ones = nodes.add("Fill", [lengths, nodes.number(1, dtype)], dtype, _VECTOR)
    stitched = replace(
        node, op="DynamicStitch", inputs=(every, places, shape, ones), attrs=_hidden(node)
    )
    return [*nodes.made, stitched]


def _hidden(node: NodeDef) -> dict[str, Any]:
    return {key: value for key, value in node.attrs.items() if key.startswith("_")}


_TYPES: Mapping[str, Callable[[NodeDef, list[TensorSpec]], list[NodeDef]]] = {
    "ReducedShape": _reduced_shape,
}

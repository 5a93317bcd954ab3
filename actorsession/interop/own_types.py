"""Operation types that only this library has, as nodes of TensorFlow's types.

``exporter`` writes the nodes of a type in the table in its place; they compute the same, and the last one has
its name. What is in no table are the types of other distributions, and those that only plans have.

The search that an imported ``Case`` became is written as the ``Case``: planners and engines need not know that
type, and the file is that of its program. Handles of references are for ``references``.
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
from actorsession.interop.functions import CASE, SEARCH
from actorsession.interop.references import hidden_attrs, with_references

__all__ = ["in_their_types"]

_Specs = Mapping[str, tuple[TensorSpec, ...]]
_VECTOR = TensorShape([None])


def in_their_types(nodes: Sequence[NodeDef], after: int = 0) -> list[NodeDef]:
    """Return the nodes, also those of functions, in types that TensorFlow has.

    Args:
        nodes: the nodes, which may read each other in any order.
        after: how many of the first to leave out.
    """
    left_out = {node.name for node in nodes[:after]}
    whole = _with_cases(nodes)
    left = [node for node in whole if node.name not in left_out]
    return with_references(_written(left, {node.name: node.outputs for node in whole}), whole)


def _written(nodes: Iterable[NodeDef], known: _Specs) -> Iterator[NodeDef]:
    specs = dict(known)
    for node in nodes:
        specs[node.name] = node.outputs
        functions: dict[str, Any] = {k: _inside(v) for k, v in node.attrs.items() if isinstance(v, FunctionDef)}
        if "branches" in node.attrs:
            functions["branches"] = tuple(map(_inside, node.attrs["branches"]))
        node = replace(node, attrs={**node.attrs, **functions}) if functions else node
        write = _TYPES.get(node.op)
        if write is None:
            yield node
        else:
            yield from write(node, [specs[name][index] for name, index in node.inputs])


def _inside(function: FunctionDef) -> FunctionDef:
    nodes = tuple(_written(_with_cases(function.nodes), {ARGUMENT: function.arguments}))
    return function if nodes == function.nodes else replace(function, nodes=nodes)


# -- branches by number --------------------------------------------------------------------------


def _with_cases(nodes: Sequence[NodeDef]) -> Sequence[NodeDef]:
    """Return the nodes, with a ``Case`` in place of each search that was made of an imported one."""
    known = {node.name: node for node in nodes if SEARCH in node.name}
    cases = {n.name: case for n in nodes if n.attrs.get(CASE) and (case := _case(n, known))}
    # What computed the searches is of no use any more.
    ended = tuple([f"{name}{SEARCH}" for name in cases])
    return [cases.get(n.name) or n for n in nodes if not n.name.startswith(ended)] if cases else nodes


def _case(node: NodeDef, known: Mapping[str, NodeDef]) -> NodeDef | None:
    """Return the ``Case`` that a search is; ``None`` if more than results come out of its parts."""
    # The predicate is ``Less(Select(less than 0, the last, index), half)``; see ``construct_import``.
    searched = known[node.inputs[0][0]].inputs[0]
    captured = [k for k, ref in enumerate(node.inputs[1:]) if ref != searched]
    specs = tuple([node.attrs["then_branch"].captures[k] for k in captured])
    branches = _branches(node, {k: place for place, k in enumerate(captured)}, specs)
    if branches is None:
        return None
    inputs = (known[searched[0]].inputs[2], *[node.inputs[1 + k] for k in captured])
    attrs = {**hidden_attrs(node), "branches": tuple(branches[: node.attrs[CASE]])}
    return replace(node, op=node.op.replace("If", "Case"), inputs=inputs, attrs=attrs)


def _branches(node: NodeDef, places: Mapping[int, int], captures: tuple[TensorSpec, ...]) -> list[FunctionDef] | None:
    """Return the branches that a search chooses from, as functions of what the whole of it captures.

    Args:
        node: the search, or a part of it.
        places: for captures of the node, their places among those of the whole.
        captures: types of what the whole captures.
    """
    branches: list[FunctionDef] = []
    for function in (node.attrs["then_branch"], node.attrs["else_branch"]):
        part = next((each for each in function.nodes if each.attrs.get(CASE) == 0), None)
        if part is None:
            at = {(ARGUMENT, k): (ARGUMENT, place) for k, place in places.items()}
            nodes = [replace(each, inputs=tuple([at.get(ref, ref) for ref in each.inputs])) for each in function.nodes]
            outputs = tuple([at.get(ref, ref) for ref in function.outputs])
            branches.append(replace(function, captures=captures, nodes=tuple(nodes), outputs=outputs))
            continue
        inner = {k: places[at] for k, (_, at) in enumerate(part.inputs[1:]) if at in places}
        inner_branches = _branches(part, inner, captures)
        if inner_branches is None or any(name != part.name for name, _ in function.outputs):
            return None
        chosen = [k for _, k in function.outputs]
        branches += [replace(each, outputs=tuple([each.outputs[k] for k in chosen])) for each in inner_branches]
    return branches


# -- types ---------------------------------------------------------------------------------------


class _Nodes:
    """New nodes before one, with names below its name."""

    def __init__(self, node: NodeDef) -> None:
        self.node = node
        self.made: list[NodeDef] = []

    def add(
        self, op: str, inputs: Iterable[tuple[str, int]], dtype: DType, shape: TensorShape, **attrs: Any
    ) -> tuple[str, int]:
        """Add a node with one output, and return that."""
        name = f"{self.node.name}/{op}{f'_{len(self.made)}' if self.made else ''}"
        self.made.append(
            NodeDef(
                name=name,
                op=op,
                inputs=tuple(inputs),
                device=self.node.device,
                attrs=attrs,
                outputs=(TensorSpec(dtype, shape),),
                control_inputs=self.node.control_inputs,
                source=self.node.source,
            )
        )
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
    stitched = replace(node, op="DynamicStitch", inputs=(every, places, shape, ones), attrs=hidden_attrs(node))
    return [*nodes.made, stitched]


_TYPES: Mapping[str, Callable[[NodeDef, list[TensorSpec]], list[NodeDef]]] = {
    # A function that is awaited, which only the process knows that built the graph, as any of Python.
    "AsyncPyFunc": lambda node, _: [replace(node, op="EagerPyFunc", attrs={**node.attrs, "is_async": True})],
    "ReducedShape": _reduced_shape,
}

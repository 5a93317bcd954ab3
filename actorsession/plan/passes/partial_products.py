"""Products of which only some columns are read: computed from the part of the factor that they follow from.

The gradient of features that were joined, such as those of an input and of a state in a recurrent cell, splits a
product, and what belongs to the input has no reader. ``optimise`` calls this for the nodes that are left. The part of
the factor is a view, for which nothing is copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace

import numpy as np

from actorsession.graph.dtypes import int32
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape

__all__ = ["without_unread_columns"]

# Types whose outputs are parts of an input, and which one that is.
_DIVIDED = {"Slice": 0, "Split": 1, "SplitV": 0}
# Numbers of a factor below which nothing is left out: a view of it costs a microsecond in each step.
_LEAST = 1024


def without_unread_columns(
    nodes: Mapping[str, NodeDef],
    kept: Set[str],
    origins: dict[str, str],
    note: Callable[[str, str], None] | None = None,
) -> Mapping[str, NodeDef]:
    """Return nodes whose products have the columns that are read; the given ones if all are read.

    Args:
        nodes: the nodes, producers first; all of them are needed.
        kept: the names of those that are fetched, or targets.
        origins: takes the names of new nodes, each with that of the node whose device it has.
        note: takes the name of each node that is replaced, and what became of it.
    """
    ops = {node.op for node in nodes.values()}
    if "MatMul" not in ops or _DIVIDED.keys().isdisjoint(ops):
        return nodes
    reads = Counter([ref for node in nodes.values() for ref in node.inputs])
    fixed = kept | {name for node in nodes.values() for name in node.control_inputs}
    columns: dict[str, tuple[TensorSpec, int]] = {}  # by product: those that are read, and the first of them
    moved: dict[tuple[str, int], tuple[str, int]] = {}
    for name, node in nodes.items():
        if node.op not in _DIVIDED or name in fixed or node.control_inputs:
            continue
        source = node.inputs[_DIVIDED[node.op]]
        product = nodes[source[0]]
        read = [k for k in range(len(node.outputs)) if reads[name, k]]
        if product.op != "MatMul" or source[0] in fixed or reads[source] != 1 or len(read) != 1:
            continue
        begin = _begin(nodes, node, read[0])
        if begin is not None and _can_be_smaller(nodes, product, node.outputs[read[0]]):
            columns[source[0]] = node.outputs[read[0]], begin
            moved[name, read[0]] = source
            if note is not None:
                note(name, f"reads columns of {source[0]!r}, which computes no others")
    if not columns:
        return nodes
    dropped = {name for name, _ in moved}
    left: dict[str, NodeDef] = {}
    for name, node in nodes.items():
        if any(ref in moved for ref in node.inputs):
            node = replace(node, inputs=tuple([moved.get(ref, ref) for ref in node.inputs]))
        if name in columns:
            for new in _smaller(left, node, *columns[name]):
                left[new.name] = new
                origins.setdefault(new.name, origins.get(name, name))
        elif name not in dropped:
            left[name] = node
    return left


def _begin(nodes: Mapping[str, NodeDef], node: NodeDef, output: int) -> int | None:
    """Return the first of the columns that are an output of a node; ``None`` if it is no part of columns."""

    def known(k: int) -> list[int] | None:
        producer = nodes[node.inputs[k][0]]
        return np.ravel(producer.attrs["value"]).tolist() if producer.op == "Const" else None

    if node.op == "Slice":
        begin, size = known(1), known(2)
        rows = nodes[node.inputs[0][0]].outputs[node.inputs[0][1]].shape[0]
        if begin is None or size is None or begin[0] or size[0] not in (-1, rows):
            return None
        return begin[1]
    axis = known(0 if node.op == "Split" else 2)
    if axis is None or axis[0] not in (1, -1):
        return None
    before = [spec.shape[1] for spec in node.outputs[:output]]
    return None if None in before else sum(filter(None, before))


def _can_be_smaller(nodes: Mapping[str, NodeDef], product: NodeDef, columns: TensorSpec) -> bool:
    """Return whether it pays to compute some columns of a product alone, and its errors are the same then."""
    left, right = (nodes[name].outputs[k].shape for name, k in product.inputs)
    if left.rank != 2 or not right.is_fully_defined() or right.rank != 2:
        return False
    inner, width = right.as_tuple() if not product.attrs.get("transpose_b") else right.as_tuple()[::-1]
    if left[0 if product.attrs.get("transpose_a") else 1] != inner:
        return False
    read = columns.shape[1]
    return read is not None and inner * (width - read) >= _LEAST


def _smaller(nodes: Mapping[str, NodeDef], product: NodeDef, spec: TensorSpec, begin: int) -> Iterator[NodeDef]:
    """Yield a product of columns alone, after what it needs in addition.

    Args:
        nodes: those before it.
        product: the whole product.
        spec: type and shape of the columns.
        begin: the first of them.
    """
    factor = product.inputs[1]
    shape = list(nodes[factor[0]].outputs[factor[1]].shape.as_tuple())
    axis = 0 if product.attrs.get("transpose_b") else 1
    start: list[int | None] = [0, 0]
    start[axis], shape[axis] = begin, spec.shape[1]
    inputs = [factor]
    for name, value in (("begin", start), ("size", shape)):
        constant = NodeDef(
            name=f"_columns/{product.name}/{name}",
            op="Const",
            attrs={"value": np.array(value, np.int32)},
            outputs=(TensorSpec(int32, TensorShape([2])),),
            source=product.source,
        )
        inputs.append((constant.name, 0))
        yield constant
    part = NodeDef(
        name=f"_columns/{product.name}",
        op="Slice",
        inputs=tuple(inputs),
        outputs=(TensorSpec(spec.dtype, TensorShape(shape)),),
        source=product.source,
    )
    yield part
    yield replace(product, inputs=(product.inputs[0], (part.name, 0)), outputs=(spec,))

"""The expected cost of a node, from static types alone.

Only the order of magnitude matters: it decides whether a segment runs on the event loop or in the kernel pool
until it has been measured. Unknown dimensions count as 1 and are reported, so that the first run of such a
segment can be careful. Strings are reported too, because their types do not give their lengths. ``compile``
calls this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from actorsession.graph.dtypes import string
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import lookup
from actorsession.graph.shape import TensorShape
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG

__all__ = ["LIGHT", "least_cost", "loop_cost", "node_cost"]

LIGHT = 5.0
"""Microseconds below which a segment is cheap for any but enormous inputs: about eight nodes."""

# Microseconds: calling a numpy function on small arrays (0.3 to 1 us), and one element of a simple
# ufunc over float32 (about 1 ns without vector units to spare).
_CALL = 0.5
_PER_ELEMENT = 0.001
# Each further string, which string kernels process one by one.
_PER_STRING = 0.3
# For results whose size depends on an unknown value: the first run goes to the pool.
_ANY_SIZE = 2000.0
# The trip count of a loop is not known in advance; this is enough for no loop to count as light.
_ITERATIONS = 100
_FREE = frozenset({ARG, SEND, RECV, "Const", "VarHandleOp", "ReadVariableOp", "Identity", "NoOp"})


def node_cost(node: NodeDef, inputs: tuple[TensorSpec, ...]) -> tuple[float, bool]:
    """Return the estimated cost of a node.

    Args:
        node: the node.
        inputs: static types of its data inputs.

    Returns:
        Microseconds, and whether every shape it depends on is known.
    """
    if node.op in _FREE:
        return 0.0, True
    op = lookup(node.op)
    elements, known, per_element, least = 1, True, _PER_ELEMENT, _CALL
    for spec in (*inputs, *node.outputs):
        size, complete = _size(spec.shape)
        elements = max(elements, size)
        known = known and complete
        if spec.dtype is string:
            known, per_element = False, _PER_STRING
    if any(spec.dtype is string for spec in node.outputs):
        least = LIGHT  # a few operations that build strings from strings can make enormous ones
    if op.sized_by and not all(spec.shape.is_fully_defined() for spec in node.outputs):
        least = _ANY_SIZE
    if op.cost is None:
        return least + per_element * elements, known
    return least + op.cost(_sized(inputs), _sized(node.outputs)), known


def least_cost(node: NodeDef, inputs: tuple[TensorSpec, ...]) -> tuple[float, bool]:
    """Return the same with results of any size counted as small: what ``node_cost`` makes dear out of care.

    Args:
        node: the node.
        inputs: static types of its data inputs.
    """
    micros, _ = node_cost(replace(node, outputs=tuple(_sized(node.outputs))), inputs)
    return micros, node_cost(node, inputs)[1]


def loop_cost(iteration: float) -> float:
    """Return the estimated cost of a loop in microseconds, from that of one iteration."""
    return _ITERATIONS * (iteration + _CALL)


def _size(shape: TensorShape) -> tuple[int, bool]:
    """Return the number of elements with unknown dimensions as 1, and whether all are known."""
    dims = shape.sizes
    if not dims:
        return 1, dims is not None
    size, known = 1, True
    for dim in dims:
        if dim is None:
            known = False
        else:
            size *= dim
    return size, known


def _sized(specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Return static types with unknown dimensions as 1, for estimates."""
    return tuple(
        [
            spec
            if spec.shape.is_fully_defined()
            else TensorSpec(spec.dtype, TensorShape([1 if d is None else d for d in spec.shape.sizes or ()]))
            for spec in specs
        ]
    )

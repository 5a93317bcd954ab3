"""What a node is expected to cost, from static types alone.

Only the order of magnitude matters: it decides whether a segment runs on the event loop or in the kernel
pool until it has been measured. Unknown dimensions count as 1 and are reported, so that the first run of
such a segment can be treated with care.
"""

from __future__ import annotations

from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import lookup
from actorsession.graph.shape import TensorShape
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG

__all__ = ["node_cost"]

# Microseconds: calling a numpy function on small arrays (0.3 to 1 us), and one element of a simple
# ufunc over float32 (about 1 ns without vector units to spare).
_CALL = 0.5
_PER_ELEMENT = 0.001
_FREE = frozenset({ARG, SEND, RECV, "Const", "VarHandleOp", "ReadVariableOp", "Identity", "NoOp"})


def node_cost(node: NodeDef, inputs: tuple[TensorSpec, ...]) -> tuple[float, bool]:
    """The estimated cost of a node.

    Args:
        node: the node.
        inputs: static types of its data inputs.

    Returns:
        Microseconds, and whether every shape it depends on is known.
    """
    if node.op in _FREE:
        return 0.0, True
    specs = (*inputs, *node.outputs)
    known = all(s.shape.is_fully_defined for s in specs)
    sized_in = tuple(_sized(s) for s in inputs)
    sized_out = tuple(_sized(s) for s in node.outputs)
    estimate = lookup(node.op).cost
    if estimate is not None:
        return _CALL + estimate(sized_in, sized_out), known
    elements = max((s.shape.num_elements or 1 for s in (*sized_in, *sized_out)), default=1)
    return _CALL + _PER_ELEMENT * elements, known


def _sized(spec: TensorSpec) -> TensorSpec:
    if spec.shape.is_fully_defined:
        return spec
    dims = spec.shape.dims or ()
    return TensorSpec(spec.dtype, TensorShape([1 if d is None else d for d in dims]))

"""Which nodes write to an existing array instead of allocating one.

A node may overwrite an input that it is the last to read, if nothing else can hold that array: the rule of
``UseDef.owned``, and a single reader. The op defines how a node writes to an array (``OpDef.into``); this module
decides when it may. A large result that is sent to another task is written to a new array in memory that the other
task can read. ``emitter`` calls this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Kernel
from actorsession.graph.shared_arrays import LEAST
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.use_def import Ref, UseDef

__all__ = ["over_arrays", "overwritten", "writes_new"]


def overwritten(flow: UseDef, i: int, context: NodeContext, is_free: Callable[[Ref], bool]) -> int | None:
    """Return the input that a node may overwrite with its result.

    Args:
        flow: the use-def analysis of the surrounding values.
        i: the node.
        context: the context for its kernel factory.
        is_free: whether only the node can hold an array.

    Returns:
        The input's index; ``None`` if the node must allocate an array.
    """
    op, node = flow.ops[i], flow.nodes[i]
    if op is None or op.into is None or len(node.outputs) != 1:
        return None
    result = node.outputs[0]
    if not result.shape.rank:
        return None  # unknown, or a scalar, which is no array
    for k, ref in enumerate(flow.inputs[i]):
        if _is_like(context.inputs, k, result) and is_free(ref):
            # Tested last, because most inputs are read by others too.
            return k if isinstance(op.into(context), np.ufunc) else None
    return None


def over_arrays(flow: UseDef, i: int, context: NodeContext, is_free: Callable[[Ref], bool]) -> tuple[int, str] | None:
    """Return the input that a node may overwrite with its result by a statement of its op, for arrays of the device.

    Args:
        flow: the use-def analysis of the surrounding values.
        i: the node.
        context: the context for its kernel factory.
        is_free: whether only the node can hold an array.

    Returns:
        The input's index, and the format of the statement; ``None`` if the node must allocate an array.
    """
    op, node = flow.ops[i], flow.nodes[i]
    if op is None or not op.over or not flow.is_of_device((i, 0)):
        return None
    result = node.outputs[0]
    if not result.shape.rank or any(spec.dtype is not result.dtype for spec in context.inputs):
        return None
    for k, (ref, statement) in enumerate(zip(flow.inputs[i], op.over, strict=False)):
        if _is_like(context.inputs, k, result) and is_free(ref):
            return k, statement
    return None


def writes_new(flow: UseDef, i: int, context: NodeContext) -> Kernel | None:
    """Return the function by which a node writes its result to a new array in memory that peers can read.

    That is worth it for a large result that is sent to another task: it need not be copied there.

    Returns:
        A function of the inputs and the array; ``None`` if the kernel allocates the array.
    """
    op, node = flow.ops[i], flow.nodes[i]
    if op is None or len(node.outputs) != 1 or not flow.is_sent((i, 0)) or not flow.owned((i, 0)):
        return None
    result = node.outputs[0]
    size = result.shape.num_elements()
    if not result.shape.rank or size is None or result.dtype.kind in "srv":
        return None
    if size * result.dtype.itemsize < LEAST:
        return None
    if op.into_new is not None:
        return op.into_new(context)
    function = None if op.into is None else op.into(context)
    fits = isinstance(function, np.ufunc) or all(
        spec.shape.rank == 0 or spec.shape.sizes == result.shape.sizes for spec in context.inputs
    )
    return function if fits else None


def _is_like(inputs: Sequence[TensorSpec], k: int, result: TensorSpec) -> bool:
    """Return whether an input certainly has the result's dtype and shape."""
    spec = inputs[k]
    if spec.dtype is not result.dtype or spec.shape.sizes != result.shape.sizes:
        return False
    others = [s for j, s in enumerate(inputs) if j != k]
    return spec.shape.is_fully_defined() or all(s.shape.rank == 0 for s in others)

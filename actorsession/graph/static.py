"""Static evaluation: the value of a tensor that is known while the graph is built.

Shape functions see such values, so that a reshape to a constant shape has a static shape. An op
says how by its ``static_value``; what was found is remembered on the tensor. Called by ``Graph``
for each input of a new node, and by ``ops/``.
"""

from __future__ import annotations

from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext

__all__ = ["constant_value"]


def constant_value(tensor: Tensor) -> Array | None:
    """The value of a tensor if it is known while the graph is built, else ``None``.

    Returns:
        An array that must not be changed.
    """
    if tensor.op.op_def.static_value is None:
        return None
    # Not by recursion: chains of a thousand identities and casts are nothing unusual.
    stack = [tensor]
    while stack:
        inputs = stack[-1].op.inputs
        unknown = [t for t in inputs if not _is_settled(t)]
        if unknown:
            stack.extend(unknown)
        else:
            _settle(stack.pop())
    return _found(tensor)


def _is_settled(tensor: Tensor) -> bool:
    """Whether an earlier answer still holds: a shape refined since may have made more known."""
    if tensor.op.op_def.static_value is None:
        return True
    answer = tensor._constant
    return answer is not None and (answer[1] is not None or answer[0] == tensor.graph.refinements)


def _settle(tensor: Tensor) -> None:
    op, evaluate = tensor.op, tensor.op.op_def.static_value
    if evaluate is None or _is_settled(tensor):
        return
    specs = tuple([t.spec for t in op.inputs])
    constants = tuple([_found(t) for t in op.inputs])
    refinements = tensor.graph.refinements
    tensor._constant = (
        refinements, evaluate(InferContext(op.type, specs, op.attrs, constants))
    )  # fmt: skip


def _found(tensor: Tensor) -> Array | None:
    return None if tensor._constant is None else tensor._constant[1]

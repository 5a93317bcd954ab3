"""Code that the gradients of loops and branches share: the values that they read and start from.

Used by ``branch_gradients``, ``loop_gradients`` and ``switch_gradients``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import int32
from actorsession.graph.function import LOOPS, brought_in
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.build import constant
from actorsession.ops.flow.extensions import Construct, rebuilt
from actorsession.ops.indexed_slices import SparseGradient

__all__ = [
    "as_known",
    "gradient_shape",
    "gradient_spec",
    "made_again",
    "once_each",
    "parts_of",
    "refuse_handle",
    "zeros_for",
]


def parts_of(op: Operation) -> Construct:
    """Return the ``Construct`` of a loop or branch, rebuilt from its functions if it was not built here."""
    construct = op.graph.constructs.get(op)
    if construct is None:
        keys = ("cond", "body") if op.type in LOOPS else ("then_branch", "else_branch")
        construct = op.graph.constructs[op] = rebuilt(op, keys)
    assert isinstance(construct, Construct)
    return construct


def zeros_for(tensor: Tensor) -> Tensor:
    """Return zeros of the dtype and shape of a tensor's gradient."""
    if tensor.dtype.kind != "r":
        return fills.zeros_like(tensor)
    dtype, known = _behind(tensor)
    if known.is_fully_defined():
        return fills.zeros(known, dtype)
    return fills.zeros_like(_reading(tensor))


def _behind(handle: Tensor) -> tuple[Any, TensorShape]:
    """Return the dtype and static shape of the variable behind a handle."""
    attrs = handle.op.attrs
    return attrs["dtype"], TensorShape(attrs["shape"])


def _reading(handle: Tensor) -> Tensor:
    return raw.ReadVariableOp(handle, dtype=_behind(handle)[0])


def gradient_spec(tensor: Tensor) -> TensorSpec:
    """Return the static type of a tensor's gradient."""
    return TensorSpec(*_behind(tensor)) if tensor.dtype.kind == "r" else tensor.spec


def gradient_shape(tensor: Tensor) -> Tensor:
    """Return the shape of a tensor's gradient, as a tensor."""
    if tensor.dtype.kind != "r":
        return shape(tensor)
    known = _behind(tensor)[1]
    if known.is_fully_defined():
        return constant(list(known.as_tuple()), int32, graph=tensor.graph)
    return shape(_reading(tensor))


def made_again(tensor: Tensor, name: str = "again") -> Tensor:
    """Return a copy of a constant, or of the result of a cheap operation, built in the current scope."""
    op = tensor.op
    copied = op.graph.create_op(op.type, op.inputs, op.attrs, name)
    return copied.outputs[tensor.value_index]


def refuse_handle(tensor: Tensor) -> None:
    """Raise ValueError for a handle that was made inside a body and that a gradient would need outside."""
    if tensor.dtype.kind == "r":
        raise ValueError(
            f"{tensor.name!r} is a handle made inside {tensor.graph.nodes.construct_of(tensor)!r}, which a "
            "gradient needs outside: make the variable there"
        )


def as_known(tensor: Tensor, known: TensorShape) -> Tensor:
    """Return the tensor with a more specific static shape."""
    here = brought_in(tensor.graph, tensor)
    if here.shape == known:
        return here
    named = raw.Identity(here)
    named.set_shape(known)
    return named


def once_each(inputs: Sequence[Tensor], back: dict[Tensor, SparseGradient | None]) -> list[SparseGradient | None]:
    """Return the gradient of each input; only the first occurrence of a repeated input gets one."""
    return [back.pop(t, None) for t in inputs]

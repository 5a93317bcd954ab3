"""What the gradients of loops and branches have in common: the values that they read and begin with.

Called by ``branch_gradients`` and ``loop_gradients``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import int32
from actorsession.graph.function import WHILE
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.build import constant, make_one
from actorsession.ops.flow.extensions import Construct, rebuilt
from actorsession.ops.indexed_slices import SparseGradient
from actorsession.ops.lists.sums import zero_of

__all__ = [
    "as_known", "gradient_shape", "gradient_spec", "made_again", "once_each", "parts_of", "refuse_handle",
    "zeros_for",
]  # fmt: skip


def parts_of(op: Operation) -> Construct:
    """Return what a loop or branch is made of; built again where only its functions are at hand."""
    found = op.graph.constructs.get(op)
    if found is None:
        keys = ("cond", "body") if op.type == WHILE else ("then_branch", "else_branch")
        found = op.graph.constructs[op] = rebuilt(op, keys)
    assert isinstance(found, Construct)
    return found


def zeros_for(tensor: Tensor) -> Tensor:
    """Zeros like what the gradient of a tensor is like."""
    if tensor.dtype.kind != "r":
        return zero_of(tensor)
    dtype, known = _behind(tensor)
    if known.is_fully_defined():
        return fills.zeros(known, dtype)
    return fills.zeros_like(_reading(tensor))


def _behind(handle: Tensor) -> tuple[Any, TensorShape]:
    """Dtype and static shape of the variable behind a handle."""
    attrs = handle.op.attrs
    return attrs["dtype"], TensorShape(attrs["shape"])


def _reading(handle: Tensor) -> Tensor:
    return make_one("ReadVariableOp", [handle], {"dtype": _behind(handle)[0]})


def gradient_spec(tensor: Tensor) -> TensorSpec:
    """Return the static type of a tensor's gradient."""
    return TensorSpec(*_behind(tensor)) if tensor.dtype.kind == "r" else tensor.spec


def gradient_shape(tensor: Tensor) -> Tensor:
    """Return the shape of what the gradient of a tensor is like, as a tensor."""
    if tensor.dtype.kind != "r":
        return shape(tensor)
    known = _behind(tensor)[1]
    if known.is_fully_defined():
        return constant(list(known.as_tuple()), int32, graph=tensor.graph)
    return shape(_reading(tensor))


def made_again(tensor: Tensor, name: str = "again") -> Tensor:
    """A constant, or a cheap operation, built again where the caller builds."""
    op = tensor.op
    made = op.graph.create_op(op.type, op.inputs, op.attrs, name)
    return made.outputs[tensor.value_index]


def refuse_handle(tensor: Tensor) -> None:
    """Refuse with ValueError a handle that a gradient would need outside of what made it."""
    if tensor.dtype.kind == "r":
        raise ValueError(
            f"{tensor.name!r} is a handle made inside {tensor.graph.construct_of(tensor)!r}, which a "
            "gradient needs outside: make the variable there"
        )


def as_known(tensor: Tensor, known: TensorShape) -> Tensor:
    """Return the tensor, with a better known static shape."""
    here = tensor.graph.brought_in(tensor)
    if here.shape == known:
        return here
    named = make_one("Identity", [here])
    named.set_shape(known)
    return named


def once_each(
    inputs: Sequence[Tensor], back: dict[Tensor, SparseGradient | None]
) -> list[SparseGradient | None]:
    """Return the gradient of each input, where one that is read twice has it once."""
    return [back.pop(t, None) for t in inputs]

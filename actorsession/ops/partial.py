"""What is known early of integer vectors that are partly constant: ``[shape(x)[0], 10]``.

A shape function sees an operand as a constant or not at all. The public functions that build
shape-like operands know more: they follow the few ops that programs make shapes with, entry by
entry, and refine the static shape of what they built. Graphs that are imported go without.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.graph import constant_value
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.strided import numpy_index
from actorsession.ops.shape_operands import constant_ints_of, shape_of_rank, vector_length

__all__ = ["partial_ints", "refine", "shape_from"]


def partial_ints(tensor: Tensor) -> Sequence[int | None] | None:
    """The entries of an integer vector, or the one of a scalar, ``None`` where unknown.

    Returns:
        ``None`` if not even the number of entries is known.
    """
    if tensor.shape.rank not in (0, 1) or not tensor.dtype.is_integer:
        return None
    known = constant_ints_of(tensor)
    if known is not None:
        return known
    follow = _FOLLOWED.get(tensor.op.type)
    found = None if follow is None else follow(tensor)
    if found is not None:
        return found
    length = 1 if tensor.shape.rank == 0 else vector_length(tensor.spec)
    return None if length is None else [None] * length


def _of_shape(tensor: Tensor) -> Sequence[int | None] | None:
    return tensor.op.inputs[0].shape.sizes


def _of_same(tensor: Tensor) -> Sequence[int | None] | None:
    return partial_ints(tensor.op.inputs[0])


def _of_joined(tensor: Tensor) -> Sequence[int | None] | None:
    joined = tensor.op.inputs[:-1] if tensor.op.type == "ConcatV2" else tensor.op.inputs
    parts = [partial_ints(part) for part in joined]
    if any(part is None for part in parts):
        return None
    return [entry for part in parts if part is not None for entry in part]


def _of_slice(tensor: Tensor) -> Sequence[int | None] | None:
    value, *bounds = tensor.op.inputs
    entries = partial_ints(value)
    begin, end, strides = map(constant_ints_of, bounds)
    if entries is None or begin is None or end is None or strides is None:
        return None
    index = numpy_index(begin, end, strides, tensor.op.attrs)
    if len(index) != 1 or index[0] is None or index[0] is Ellipsis:
        return None
    taken = entries[index[0]]
    return taken if isinstance(taken, Sequence) else [taken]


_FOLLOWED = {
    "Shape": _of_shape,
    "Identity": _of_same,
    "Cast": _of_same,
    "Pack": _of_joined,
    "ConcatV2": _of_joined,
    "StridedSlice": _of_slice,
}


def shape_from(vector: Tensor) -> TensorShape:
    """The static shape that a shape vector describes; -1 counts as unknown."""
    if vector.shape.rank not in (None, 1):
        return unknown_shape
    entries = partial_ints(vector)
    if entries is None:
        return shape_of_rank(vector_length(vector.spec))
    return TensorShape([None if e is None or e < 0 else e for e in entries])


def refine(tensor: Tensor, shape_operand: Tensor) -> Tensor:
    """Adds to a tensor's static shape what is known of the operand that describes it."""
    if not tensor.shape.is_fully_defined() and constant_value(shape_operand) is None:
        tensor.set_shape(shape_from(shape_operand))
    return tensor

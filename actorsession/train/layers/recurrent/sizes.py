"""Shapes and zeros of states and outputs, from the sizes of a cell.

A size is a number of columns, a ``TensorShape`` or a shape tensor; the batch size precedes it in a shape.
Cells use the module for their zero states, and loops for their zero outputs.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import DType, as_dtype, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import nests

__all__ = ["check_floating", "known_shape", "require_floating", "shape_operand", "state_dtype", "zeros"]


def known_shape(*parts: Any) -> TensorShape:
    """Return the static part of the shape that consists of the given sizes."""
    whole = TensorShape([])
    for part in parts:
        whole = whole.concatenate(_known(part))
    return whole


def _known(part: Any) -> TensorShape:
    if not isinstance(part, Tensor):
        return TensorShape(_as_list(part))
    rank = part.shape.rank
    if rank not in (0, 1):
        raise ValueError(f"a size must be a scalar or a vector, got one of shape {part.shape}: {part!r}")
    value = get_static_value(part)
    if value is not None:
        return TensorShape([int(dim) for dim in value.ravel()])
    sized = TensorShape(part.shape).sizes
    count = sized[0] if sized else 1
    return TensorShape(None if count is None else [None] * count)


def _as_list(part: Any) -> Any:
    return part if isinstance(part, (TensorShape, list, tuple)) else [part]  # an unknown one is None


def _operand(part: Any) -> Tensor:
    """Return a part of a shape as an int32 vector."""
    if isinstance(part, Tensor):
        vector = ops.reshape(part, [1]) if part.shape.rank == 0 else part
        return ops.cast(vector, int32)
    known = TensorShape(_as_list(part))
    return ops.constant(list(known.as_tuple()), int32)


def shape_operand(*parts: Any) -> Tensor:
    """Return the shape that consists of the given sizes, as a tensor."""
    return ops.concat([_operand(part) for part in parts], 0)


def zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Return zeros for a batch.

    Args:
        batch_size: a number, or an integer tensor.
        size: the size of each member; see the module's docstring.
        dtype: element type.

    Raises:
        ValueError: if the size is not known, or is of rank 2 or more.
    """
    static = known_shape(batch_size, size)
    if static.is_fully_defined():
        return ops.zeros(static, as_dtype(dtype))
    filled = ops.zeros(shape_operand(batch_size, size), as_dtype(dtype))
    filled.set_shape(static)
    return filled


def state_dtype(dtype: Any, state: Any) -> DType:
    """Return the given dtype, or else the common dtype of a state.

    Raises:
        ValueError: for a state of several dtypes, or without any tensor.
    """
    if dtype is not None:
        return as_dtype(dtype)
    dtypes = list(dict.fromkeys(leaf.dtype for leaf in nests.flatten(state)))
    if len(dtypes) != 1:
        raise ValueError(
            "dtype must be given, because it can be inferred only from a state with a "
            f"single dtype, got {[each.name for each in dtypes]}"
        )
    return as_dtype(dtypes[0])


def require_floating(dtype: Any) -> None:
    """Refuse a dtype that cells do not support; ``None`` is accepted as unknown.

    Raises:
        ValueError: for a dtype that is neither floating nor complex.
    """
    if dtype is not None:
        known = as_dtype(dtype)
        if not (known.is_floating or known.is_complex):
            raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {known.name}")


def check_floating(*values: Any) -> None:
    """Refuse inputs and states that cells do not support.

    Raises:
        ValueError: for a dtype that is neither floating nor complex.
    """
    for leaf in nests.flatten(values):
        require_floating(leaf.dtype)

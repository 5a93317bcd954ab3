"""Vectors as sets: distinct elements, and differences.

Owns ``Unique``, ``UniqueWithCounts`` and ``ListDiff``. Elements keep the order in which they first appear, as
in TensorFlow; numpy would sort them. Each NaN is a distinct element.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_all, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import require_rank

__all__ = ["setdiff1d", "unique", "unique_with_counts"]


class Unique(NamedTuple):
    """The distinct elements of a vector, and the index among them of each element."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The distinct elements, the index of each element among them, and the count of each."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name; it hides tuple.count


class ListDiff(NamedTuple):
    """The elements of a difference, and their indices in the first vector."""

    out: Tensor
    idx: Tensor


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """Return the distinct elements of a vector, in the order in which they first appear.

    Args:
        x: vector of any dtype.
        out_idx: dtype of the indices, int32 or int64.

    Returns:
        ``y``, and ``idx`` such that ``x[i] == y[idx[i]]``.
    """
    return Unique(*raw.Unique(convert_to_tensor(x), out_idx=out_idx, name=name))


def unique_with_counts(x: Any, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """Return the distinct elements and how often each occurs; arguments as for ``unique``."""
    value = convert_to_tensor(x)
    return UniqueWithCounts(*raw.UniqueWithCounts(value, out_idx=out_idx, name=name))


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """Return the elements of one vector that another lacks, in their order and with repetitions.

    Args:
        x: vector of any dtype.
        y: vector of that dtype.
        index_dtype: dtype of the indices, int32 or int64.

    Returns:
        ``out``, and ``idx`` such that ``out[i] == x[idx[i]]``.
    """
    return ListDiff(*raw.ListDiff(*convert_all([x, y]), out_idx=index_dtype, name=name))


_VECTOR = TensorShape([None])


def _infer_unique(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, rank=1)
    shapes = [_VECTOR, ctx.inputs[0].shape.merge_with(_VECTOR)]
    return [*shapes, _VECTOR] if ctx.op == "UniqueWithCounts" else shapes


def _require_vectors(op: str, *values: Any) -> None:
    for value in values:
        if np.ndim(value) != 1:
            raise InvalidArgumentError(f"{op} takes vectors, got shape {list(np.shape(value))}")


def _distinct(x: Array, index_type: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Return distinct elements in the order of first appearance, indices into them, and counts."""
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    places = np.empty(order.shape, index_type)
    places[order] = np.arange(order.size, dtype=index_type)
    return values[order], places[inverse.reshape(-1)], counts[order].astype(index_type)


def _unique_kernel(ctx: KernelContext) -> Kernel:
    op, index_type = ctx.op, ctx.outputs[1].dtype.np_dtype
    outputs = len(ctx.outputs)

    def distinct(x: Any) -> Any:
        _require_vectors(op, x)
        return _distinct(x, index_type)[:outputs]

    return distinct


op("Unique", _infer_unique, kernel=_unique_kernel)
op("UniqueWithCounts", _infer_unique, kernel=_unique_kernel)


def _infer_list_diff(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, rank=1)
    return [_VECTOR, _VECTOR]


def _list_diff_kernel(ctx: KernelContext) -> Kernel:
    index_type = ctx.outputs[1].dtype.np_dtype

    def difference(x: Any, y: Any) -> Any:
        _require_vectors("ListDiff", x, y)
        places = np.flatnonzero(np.isin(x, y, invert=True))
        return x[places], places.astype(index_type)

    return difference


op("ListDiff", _infer_list_diff, kernel=_list_diff_kernel)

"""Vectors as sets: distinct elements, and differences.

Owns ``Unique``, ``UniqueWithCounts`` and ``ListDiff``. Elements keep the order in which they first appear, as
in TensorFlow; numpy would sort them. Each NaN is a distinct element.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_all, convert_to_tensor, make
from actorsession.ops.shape_operands import same_dtype

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
        name: wanted name.

    Returns:
        ``y``, and ``idx`` such that ``x[i] == y[idx[i]]``.

    Raises:
        ValueError: if ``x`` is no vector.
    """
    attrs = {"out_idx": as_dtype(out_idx)}
    return Unique(*make("Unique", [convert_to_tensor(x)], attrs, name).outputs)


def unique_with_counts(x: Any, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """Return the distinct elements and how often each occurs; arguments as for ``unique``."""
    attrs = {"out_idx": as_dtype(out_idx)}
    op = make("UniqueWithCounts", [convert_to_tensor(x)], attrs, name)
    return UniqueWithCounts(*op.outputs)


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """Return the elements of one vector that another lacks, in their order and with repetitions.

    Args:
        x: vector of any dtype.
        y: vector of that dtype.
        index_dtype: dtype of the indices, int32 or int64.
        name: wanted name.

    Returns:
        ``out``, and ``idx`` such that ``out[i] == x[idx[i]]``.

    Raises:
        ValueError: if an operand is no vector.
    """
    op = make("ListDiff", convert_all([x, y]), {"out_idx": as_dtype(index_dtype)}, name)
    return ListDiff(*op.outputs)


def _check_vectors(ctx: InferContext) -> None:
    for spec in ctx.inputs:
        if spec.shape.rank not in (None, 1):
            raise ValueError(f"{ctx.op} takes vectors, got shape {spec.shape}")
    if ctx.attrs["out_idx"] not in (int32, int64):
        raise TypeError(f"{ctx.op}: indices are int32 or int64, got {ctx.attrs['out_idx'].name}")


def _infer_unique(ctx: InferContext) -> list[TensorSpec]:
    _check_vectors(ctx)
    value, index_type = ctx.inputs[0], ctx.attrs["out_idx"]
    some = TensorShape([None])
    out = [TensorSpec(value.dtype, some), TensorSpec(index_type, value.shape.merge_with(some))]
    return [*out, TensorSpec(index_type, some)] if ctx.op == "UniqueWithCounts" else out


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
    wanted = len(ctx.outputs)

    def distinct(x: Any) -> Any:
        _require_vectors(op, x)
        return _distinct(x, index_type)[:wanted]

    return distinct


_INDEX_TYPE = {"out_idx": int32}

for _name in ("Unique", "UniqueWithCounts"):
    register(
        OpDef(
            name=_name,
            infer=_infer_unique,
            kernel=_unique_kernel,
        )
    )


def _infer_list_diff(ctx: InferContext) -> list[TensorSpec]:
    same_dtype(ctx, 0, 1)
    _check_vectors(ctx)
    some = TensorShape([None])
    return [TensorSpec(ctx.inputs[0].dtype, some), TensorSpec(ctx.attrs["out_idx"], some)]


def _list_diff_kernel(ctx: KernelContext) -> Kernel:
    index_type = ctx.outputs[1].dtype.np_dtype

    def difference(x: Any, y: Any) -> Any:
        _require_vectors("ListDiff", x, y)
        places = np.flatnonzero(np.isin(x, y, invert=True))
        return x[places], places.astype(index_type)

    return difference


register(
    OpDef(
        name="ListDiff",
        infer=_infer_list_diff,
        kernel=_list_diff_kernel,
    )
)

"""Sparse tensors made from sparse ones: pieces along an axis, sparse reductions, extrema of two tensors.

Owns ``SparseSplit``, ``SparseReduceSumSparse``, ``SparseReduceMaxSparse``, ``SparseSparseMinimum`` and
``SparseSparseMaximum``. TensorFlow has no working gradient of any of them, and neither is there one here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, ints, normal_axis, vector_length
from actorsession.opsets.sparse.basics import SparseTensor, checked_sparse, parts_of
from actorsession.opsets.sparse.functions import reduction
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, places_of, require_rank, sparse_shapes

__all__ = ["sparse_maximum", "sparse_minimum", "sparse_reduce_max_sparse", "sparse_reduce_sum_sparse", "sparse_split"]


class KeywordRequired:
    """A marker for arguments that must not be given by position."""


_BY_NAME = KeywordRequired()


# -- public functions ------------------------------------------------------------------------------


def sparse_split(
    keyword_required: Any = _BY_NAME,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """Split a sparse tensor along an axis; the first pieces are longer by one if it does not divide.

    Args:
        keyword_required: must not be given; all arguments are given by name.
        sp_input: the sparse tensor.
        num_split: number of pieces.
        axis: the axis to split along, an integer scalar.

    Raises:
        ValueError: for an argument without its name, or a missing argument.
    """
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    for what, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{what} is required")
    assert num_split is not None
    sparse = checked_sparse(sp_input)
    with sparse.graph.as_default():
        place = convert_to_tensor(axis, int64, "split_dim")
        parts = raw.SparseSplit(place, *parts_of(sparse), num_split=num_split, name=name)
        return [SparseTensor(*part) for part in zip(*parts, strict=True)]


def sparse_reduce_sum_sparse(sp_input: Any, axis: Any = None, keepdims: bool | None = None) -> SparseTensor:
    """Return sums along axes where there are entries; arguments as for ``sparse_reduce_sum``."""
    sums = reduction("SparseReduceSumSparse", sp_input, axis, keepdims)
    return SparseTensor(*sums.outputs)


def sparse_reduce_max_sparse(sp_input: Any, axis: Any = None, keepdims: bool | None = None) -> SparseTensor:
    """Return maxima along axes where there are entries; arguments as for ``sparse_reduce_sum``."""
    maxima = reduction("SparseReduceMaxSparse", sp_input, axis, keepdims)
    return SparseTensor(*maxima.outputs)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the element-wise minimum of two sparse tensors; missing entries count as 0.

    Args:
        sp_a: real numbers.
        sp_b: numbers of the same dtype and shape.

    Raises:
        TypeError: if the dtypes differ.
    """
    return _extreme("SparseSparseMinimum", sp_a, sp_b, name)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the element-wise maximum of two sparse tensors; see ``sparse_minimum``."""
    return _extreme("SparseSparseMaximum", sp_a, sp_b, name)


def _extreme(op_type: str, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    a, b = checked_sparse(sp_a), checked_sparse(sp_b)
    indices, values = make(op_type, [*parts_of(a), *parts_of(b)], None, name).outputs
    return SparseTensor(indices, values, a.dense_shape)


# -- SparseSplit -----------------------------------------------------------------------------------


def _split_shapes(ctx: InferContext) -> list[TensorShape]:
    axis, indices, _, shape = ctx.inputs
    if any(spec.dtype is not int64 for spec in (axis, indices, shape)):
        raise TypeError(
            f"{ctx.op}: the axis, indices and shape are int64, got {axis.dtype.name}, {indices.dtype.name} "
            f"and {shape.dtype.name}"
        )
    require_rank(ctx, {0: 0, 1: 2, 2: 1, 3: 1})
    count = ctx.attrs["num_split"]
    if count < 1:
        raise ValueError(f"{ctx.op}: num_split is at least 1, got {count}")
    rank = vector_length(shape)
    if rank is None:
        rank = indices.shape.with_rank(2)[1]
    known, dims = constant_ints(ctx, 0), constant_ints(ctx, 3)
    if known is not None and rank is not None:
        place = normal_axis(known[0], rank, ctx.op)
        if dims is not None and not 1 <= count <= dims[place]:
            raise ValueError(f"{ctx.op}: num_split is between 1 and the size of the axis, {dims[place]}, got {count}")
    return [part for part in sparse_shapes(rank) for _ in range(count)]


def _split_kernel(ctx: KernelContext) -> Kernel:
    count = ctx.attrs["num_split"]

    def pieces(axis: Any, indices: Array, values: Array, shape: Array) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        place = normal_axis(int(axis), len(dims), ctx.op, InvalidArgumentError)
        if not 1 <= count <= dims[place]:
            raise InvalidArgumentError(
                f"{ctx.op}: num_split is between 1 and the size of the axis, {dims[place]}, got {count}"
            )
        sizes = [dims[place] // count + (i < dims[place] % count) for i in range(count)]
        ends = np.cumsum(sizes)
        which = np.searchsorted(ends, indices[:, place], side="right")
        parts = []
        for i, size in enumerate(sizes):
            kept = which == i
            own, box = indices[kept], shape.copy()
            own[:, place] -= ends[i] - size
            box[place] = size
            parts.append((own, values[kept], box))
        return tuple(part[i] for i in range(3) for part in parts)

    return pieces


op("SparseSplit", _split_shapes, kernel=_split_kernel)


# -- reductions ------------------------------------------------------------------------------------


def _reduced_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    if ctx.inputs[3].dtype is not int32:
        raise TypeError(f"{ctx.op}: axes are int32, got {ctx.inputs[3].dtype.name}")
    rank, axes = vector_length(ctx.inputs[2]), constant_ints(ctx, 3)
    left: Dim = None
    if rank is not None and axes is not None:
        gone = {normal_axis(axis, rank, ctx.op) for axis in axes}
        left = rank if ctx.attrs["keep_dims"] else rank - len(gone)
    return sparse_shapes(left)


def _reduce_kernel(ctx: KernelContext) -> Kernel:
    keep, most = ctx.attrs["keep_dims"], ctx.op == "SparseReduceMaxSparse"

    def reduced(indices: Array, values: Array, shape: Array, axes: Any) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        gone = {normal_axis(axis, len(dims), ctx.op, InvalidArgumentError) for axis in ints(axes)}
        left = [i for i in range(len(dims)) if i not in gone]
        places = places_of(indices[:, left], [dims[i] for i in left])
        _, first, which = np.unique(places, return_index=True, return_inverse=True)
        out = values[first] if most else np.zeros(len(first), values.dtype)
        (np.maximum if most else np.add).at(out, which, values)
        if not keep:
            return indices[first][:, left], out, shape[left]
        own, box = indices[first], shape.copy()
        own[:, sorted(gone)], box[sorted(gone)] = 0, 1
        return own, out, box

    return reduced


op("SparseReduceSumSparse", _reduced_shapes, kernel=_reduce_kernel)
op("SparseReduceMaxSparse", _reduced_shapes, kernel=_reduce_kernel)


# -- element-wise extrema --------------------------------------------------------------------------


def _extreme_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1})
    shape = ctx.inputs[2].shape.merge_with(ctx.inputs[5].shape).with_rank(1)
    return sparse_shapes(shape[0])[:2]


def _extreme_kernel(ctx: KernelContext) -> Kernel:
    better = np.minimum if ctx.op == "SparseSparseMinimum" else np.maximum

    def extreme(a_indices: Array, a: Array, a_shape: Array, b_indices: Array, b: Array, b_shape: Array) -> Any:
        if not np.array_equal(a_shape, b_shape):
            raise InvalidArgumentError(
                f"{ctx.op}: the shapes {a_shape.tolist()} and {b_shape.tolist()} are not the same"
            )
        dims = checked_dims(a_shape, ctx.op)
        check_entries(a_indices, len(a), dims, ctx.op)
        check_entries(b_indices, len(b), dims, ctx.op)
        indices = np.concatenate([a_indices, b_indices])
        _, first, which = np.unique(places_of(indices, dims), return_index=True, return_inverse=True)
        sides = np.zeros((2, len(first)), a.dtype)
        sides[0, which[: len(a)]] = a
        sides[1, which[len(a) :]] = b
        return indices[first], better(*sides)

    return extreme


op("SparseSparseMinimum", _extreme_shapes, kernel=_extreme_kernel)
op("SparseSparseMaximum", _extreme_shapes, kernel=_extreme_kernel)

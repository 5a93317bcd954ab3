"""The op types that join, slice, reshape and reduce sparse tensors: shape rules, kernels, gradients.

Only ``functions`` builds nodes of them. Checks and coordinates are those of ``kernels``. The gradient of a
reduction requires axes that are known while the graph is built.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.gather import gather, gather_nd
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, described_shape, ints, normal_axis
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, places_of, require_rank, sparse_shapes

__all__: list[str] = []


def _rank_of(ctx: InferContext, *operands: int) -> int | None:
    """Return the length of shape vectors, which must agree."""
    shape = TensorShape([None])
    for i in operands:
        shape = shape.merge_with(ctx.inputs[i].shape)
    return shape.as_list()[0]


# -- SparseConcat ----------------------------------------------------------------------------------


def _concat_shapes(ctx: InferContext) -> list[TensorShape]:
    count = len(ctx.inputs) // 3
    if not count or len(ctx.inputs) != 3 * count:
        raise ValueError(f"{ctx.op}: three parts of each tensor are needed, got {len(ctx.inputs)}")
    require_rank(ctx, {i: 2 if i < count else 1 for i in range(3 * count)})
    rank = _rank_of(ctx, *range(2 * count, 3 * count))
    if rank is not None:
        normal_axis(int(ctx.attrs["concat_dim"]), rank, ctx.op)
    counts = [each.shape.with_rank(2)[0] for each in ctx.inputs[:count]]
    return sparse_shapes(rank, None if None in counts else sum(filter(None, counts)))


def _concat_kernel(ctx: KernelContext) -> Kernel:
    def joined(*parts: Any) -> Any:
        count = len(parts) // 3
        indices, values, shapes = parts[:count], parts[count : 2 * count], parts[2 * count :]
        dims = [checked_dims(shape, ctx.op) for shape in shapes]
        axis = normal_axis(int(ctx.attrs["concat_dim"]), len(dims[0]), ctx.op, InvalidArgumentError)
        others = {(*d[:axis], *d[axis + 1 :]) for d in dims}
        if len(others) > 1:
            raise InvalidArgumentError(f"{ctx.op}: shapes agree but along axis {axis}, got {[list(d) for d in dims]}")
        moved, start = [], 0
        for where, entries, extent in zip(indices, values, dims, strict=True):
            check_entries(where, len(entries), extent, ctx.op)
            moved.append(where + np.eye(1, len(extent), axis, dtype=np.int64) * start)
            start += extent[axis]
        places, entries = np.concatenate(moved), np.concatenate(values)
        order = np.lexsort(places.T[::-1])
        whole = np.array(dims[0], np.int64)
        whole[axis] = start
        return places[order], entries[order], whole

    return joined


op("SparseConcat", _concat_shapes, kernel=_concat_kernel, grad=NOT_DIFFERENTIABLE)


# -- SparseReshape ---------------------------------------------------------------------------------


def _reshape_shapes(ctx: InferContext) -> list[TensorShape]:
    check_dtype(ctx, "i", (0, 1, 2))
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    rank = _rank_of(ctx, 2)
    old, new = constant_ints(ctx, 1), constant_ints(ctx, 2)
    if old is not None and new is not None:
        _new_dims(old, new, ValueError)
    count = ctx.inputs[0].shape.with_rank(2)[0]
    return [TensorShape([count, rank]), TensorShape([rank])]


def _new_dims(old: Any, new: Any, error: type[Exception]) -> tuple[int, ...]:
    """Return the new shape, with the open dimension filled in."""
    total, dims = prod(old), list(new)
    said = prod(d for d in dims if d != -1)
    if dims.count(-1) == 1 and said and total % said == 0:
        dims[dims.index(-1)] = total // said
    if min(dims, default=0) < 0 or prod(dims) != total:
        raise error(f"Cannot reshape a tensor with {total} elements to shape {list(new)} ({said} elements).")
    return tuple(dims)


def _reshaped(indices: Array, old: Array, new: Array) -> Any:
    before = checked_dims(old, "SparseReshape")
    after = _new_dims(before, ints(new), InvalidArgumentError)
    check_entries(indices, len(indices), before, "SparseReshape")
    rest = places_of(indices, before)
    out = np.empty((len(indices), len(after)), np.int64)
    for axis in reversed(range(len(after))):
        rest, out[:, axis] = np.divmod(rest, max(1, after[axis]))
    return out, np.array(after, np.int64)


op("SparseReshape", _reshape_shapes, _reshaped, NOT_DIFFERENTIABLE)


# -- SparseSlice -----------------------------------------------------------------------------------


def _slice_shapes(ctx: InferContext) -> list[TensorShape]:
    check_dtype(ctx, "i", (0, 2, 3, 4))
    require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 1, 4: 1})
    return sparse_shapes(_rank_of(ctx, 2, 3, 4))


def _inside(indices: Array, dims: Any, start: Array, size: Array, op: str) -> tuple[Any, Any]:
    """Return a mask of the entries inside a slice, and the shape of the slice."""
    if len(start) != len(dims) or len(size) != len(dims):
        raise InvalidArgumentError(f"{op}: start and size have {len(dims)} entries, got {len(start)} and {len(size)}")
    if (start < 0).any() or (size < 0).any():
        raise InvalidArgumentError(f"{op}: start and size are at least 0, got {start.tolist()} and {size.tolist()}")
    end = np.minimum(start + size, dims)
    return ((indices >= start) & (indices < end)).all(1), np.maximum(end - start, 0)


def _sliced(indices: Array, values: Array, shape: Array, start: Array, size: Array) -> Any:
    dims = checked_dims(shape, "SparseSlice")
    check_entries(indices, len(values), dims, "SparseSlice")
    kept, box = _inside(indices, dims, start, size, "SparseSlice")
    return indices[kept] - start, values[kept], box.astype(np.int64)


def _slice_gradient(
    op: Operation, of_indices: Tensor | None, of_values: Tensor | None, of_shape: Tensor | None
) -> list[Tensor | None]:
    if of_values is None:
        return [None] * 5
    back = raw.SparseSliceGrad(of_values, op.inputs[0], op.inputs[3], op.outputs[0])
    return [None, back, None, None, None]


def _slice_grad_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 1, 1: 2, 2: 1, 3: 2})
    return [TensorShape([ctx.inputs[1].shape.with_rank(2)[0]])]


def _slice_back(grad: Array, indices: Array, start: Array, kept: Array) -> Any:
    """Return the gradient of each entry: that of the same coordinates in the slice, or 0."""
    if len(grad) != len(kept):
        raise InvalidArgumentError(f"SparseSliceGrad: {len(grad)} gradients of {len(kept)} entries")
    by_place = dict(zip(map(tuple, (kept + start).tolist()), grad.tolist(), strict=True))
    return np.array([by_place.get(tuple(place), 0) for place in indices.tolist()], grad.dtype)


op("SparseSlice", _slice_shapes, _sliced, _slice_gradient)
op("SparseSliceGrad", _slice_grad_shape, _slice_back)


# -- reductions ------------------------------------------------------------------------------------


def _reduced_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    shape, axes, keep = described_shape(ctx, 2), constant_ints(ctx, 3), ctx.attrs["keep_dims"]
    if axes is None or shape.sizes is None:
        return [unknown_shape]
    gone = {normal_axis(axis, len(shape.sizes), ctx.op) for axis in axes}
    dims = [1 if i in gone else d for i, d in enumerate(shape.sizes) if keep or i not in gone]
    return [TensorShape(dims)]


def _reduce_kernel(ctx: KernelContext) -> Kernel:
    keep, most = ctx.attrs["keep_dims"], ctx.op == "SparseReduceMax"

    def reduced(indices: Array, values: Array, shape: Array, axes: Any) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        gone = {normal_axis(axis, len(dims), ctx.op, InvalidArgumentError) for axis in ints(axes)}
        left = [i for i in range(len(dims)) if i not in gone]
        kept = [dims[i] for i in left]
        out = np.zeros(prod(kept), values.dtype)
        groups = places_of(indices[:, left], kept)
        if most:
            # Where there are entries, missing ones are ignored; elsewhere the result stays 0.
            out[groups] = values
            np.maximum.at(out, groups, values)
        else:
            np.add.at(out, groups, values)
        whole = [1 if i in gone else d for i, d in enumerate(dims)] if keep else kept
        return out.reshape(whole)[()]

    return reduced


def _reduce_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, _, dims, _ = op.inputs
    rank, gone = _constant_axes(op)
    left = [i for i in range(rank) if i not in gone]
    if not left:
        return [None, gather_nd(reshape(grad, [1]), indices[:, :1] * 0), None, None]
    dense = reshape(grad, gather(dims, left))
    return [None, gather_nd(dense, gather(indices, left, axis=1)), None, None]


def _constant_axes(op: Operation) -> tuple[int, set[int]]:
    """Return the rank and the axes of a reduction, if both are known while the graph is built.

    Raises:
        LookupError: if they are unknown.
    """
    axes, rank = get_static_value(op.inputs[3]), op.inputs[0].spec.shape.with_rank(2)[1]
    if rank is None:
        rank = op.inputs[2].spec.shape.with_rank(1)[0]
    if axes is None or rank is None:
        raise LookupError(f"the gradient of {op.name!r} needs axes and a rank that are known")
    return rank, {normal_axis(axis, rank, op.type) for axis in ints(axes)}


op("SparseReduceSum", _reduced_shape, kernel=_reduce_kernel, grad=_reduce_gradient, sized_by=(2,))
op("SparseReduceMax", _reduced_shape, kernel=_reduce_kernel, sized_by=(2,))

"""Gathering by index: ``gather`` and ``gather_nd``; ``scatter`` can be imported from here too.

An index outside of its axis is an error, as on TensorFlow's CPU; negative indices do not wrap round. The
gradient of a gather along axis 0 is ``IndexedSlices``: the rows that were looked up, without the zeros for
the others.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape_tensor, size
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.scatter import one_hot, scatter_nd, unsorted_segment_sum
from actorsession.ops.arrays.shape import broadcast_to, reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, constant_ints_of, normal_axis, shape_of_rank

__all__ = ["gather", "gather_nd", "one_hot", "scatter_nd", "unsorted_segment_sum"]


# -- GatherV2 --------------------------------------------------------------------------------------


def gather(params: Any, indices: Any, name: str | None = None, axis: Any = None, batch_dims: int = 0) -> Tensor:
    """Return slices of ``params`` along an axis, by index.

    Args:
        params: tensor or variable of rank at least ``axis + 1``.
        indices: int32 or int64 of any shape, each in [0, extent of the axis).
        axis: the axis, ``batch_dims`` if left out; a tensor of statically known value can no longer be fed.
        batch_dims: how many leading axes ``params`` and ``indices`` have in common.

    Returns:
        ``params`` with the axis replaced by the axes of ``indices`` after the batch.
    """
    value, place = convert_to_tensor(params), batch_dims if axis is None else axis
    get_static_value(axis)  # as in TensorFlow, where the static value selects the operation
    return raw.GatherV2(value, indices, place, batch_dims=int(batch_dims), name=name)


def _infer_gather(ctx: InferContext) -> list[TensorShape]:
    params, indices = ctx.inputs[0].shape, ctx.inputs[1].shape
    axis, batch = constant_ints(ctx, 2), ctx.attrs["batch_dims"]
    if params.rank is None or indices.rank is None:
        return [unknown_shape]
    if axis is None:
        left = params.rank - 1 + indices.rank - _leading(batch, indices.rank)
        return [shape_of_rank(left)]
    where = normal_axis(axis[0], params.rank, "GatherV2")
    batch = _leading(batch, indices.rank)
    if not 0 <= batch <= min(where, indices.rank):
        raise ValueError(f"GatherV2: batch_dims {batch} is at most axis {where} and the rank of {indices}")
    common = TensorShape(params[:batch]).merge_with(indices[:batch])
    between, after = params[batch:where], params[where + 1 :]
    out = common.concatenate(between).concatenate(indices[batch:]).concatenate(after)
    return [out]


def _leading(batch: int, index_rank: int | None) -> int:
    """Return the number of batch axes; a negative one is relative to the rank of the indices."""
    if batch >= 0:
        return batch
    if index_rank is None:
        raise ValueError(f"GatherV2: batch_dims {batch} needs indices of known rank")
    return batch + index_rank


def _out_of_range(indices: Any, limit: int) -> InvalidArgumentError:
    places = np.asarray(indices)
    bad = np.argwhere((places < 0) | (places >= limit))
    where = ", ".join(map(str, bad[0]))
    return InvalidArgumentError(f"GatherV2: indices[{where}] = {places[tuple(bad[0])]} is not in [0, {limit})")


def _gathered(params: Any, indices: Any, axis: int) -> Any:
    """Gather by numpy's ``take``, except that negative indices are errors."""
    if indices.dtype == np.int32:
        # Negative indices become huge, and take's own check finds them without another pass over the indices.
        positions = indices.view(np.uint32)
    else:
        positions = indices
        if indices.size and indices.min() < 0:
            raise _out_of_range(indices, params.shape[axis])
    try:
        if params.flags.c_contiguous:
            return params.take(positions, axis)
        # take would copy the whole array first.
        return params[(slice(None),) * axis + (positions,)]
    except IndexError as exc:
        raise _out_of_range(indices, params.shape[axis]) from exc


def _gathered_in_batch(params: Any, indices: Any, axis: int, batch: int) -> Any:
    """Gather for each batch entry from its own part of ``params``."""
    extent = params.shape[axis]
    if not 0 <= batch <= min(axis, indices.ndim) or params.shape[:batch] != indices.shape[:batch]:
        raise InvalidArgumentError(
            f"GatherV2: batch_dims {batch} is at most axis {axis}, and params and indices share so many "
            f"dimensions; got shapes {list(params.shape)} and {list(indices.shape)}"
        )
    if ((indices < 0) | (indices >= extent)).any():
        raise _out_of_range(indices, extent)
    count, between = prod(params.shape[:batch]), params.shape[batch:axis]
    # Not -1, which is undetermined for arrays without elements.
    rows = params.reshape(count, prod(between), extent, prod(params.shape[axis + 1 :]))
    positions = indices.reshape(count, prod(indices.shape[batch:]))
    # Batch and index come first in the result, because a slice is between them.
    gathered = rows[np.arange(count)[:, None], :, positions].swapaxes(1, 2)
    dims = (*params.shape[:axis], *indices.shape[batch:], *params.shape[axis + 1 :])
    return gathered.reshape(dims)


def _gather_kernel(ctx: KernelContext) -> Kernel:
    axis, batch = constant_ints(ctx, 2), ctx.attrs["batch_dims"]

    def gathered(params: Any, indices: Any, where: Any) -> Any:
        at = int(where) if axis is None else axis[0]
        at = normal_axis(at, params.ndim, "GatherV2", InvalidArgumentError)
        if batch:
            return _gathered_in_batch(params, indices, at, _leading(batch, indices.ndim))
        return _gathered(params, indices, at)

    known = ctx.inputs[0].shape.rank
    if axis is None or known is None or batch:
        return gathered
    fixed = normal_axis(axis[0], known, "GatherV2")
    early = _early_indices(ctx, fixed)
    if early is not None:
        return lambda params, _indices, _axis: params.take(early, fixed)
    return lambda params, indices, _axis: _gathered(params, indices, fixed)


def _early_indices(ctx: KernelContext, axis: int) -> Any:
    """Return constant indices that were checked once; ``None`` if they cannot be."""
    indices, extent = ctx.constant(1), ctx.inputs[0].shape[axis]
    if indices is None or extent is None or ((indices < 0) | (indices >= extent)).any():
        return None
    return indices.astype(np.intp)[()]


def _gather_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    params, indices, axis = op.inputs
    dims = shape_tensor(params)
    if constant_ints_of(axis) == (0,) and not op.attrs["batch_dims"]:
        rows = concat([constant([-1], int32, graph=grad.graph), dims[1:]], 0)
        slices = IndexedSlices(reshape(grad, rows), reshape(indices, [-1]), dims)
        # Gradient functions are typed for tensors; ``gradients`` accepts slices.
        return [cast(Tensor, slices), None, None]
    return [_summed_back(op, grad, dims), None, None]


def _summed_back(op: Operation, grad: Tensor, dims: Tensor) -> Tensor:
    """Return the dense gradient of a gather along any axis, with or without a batch.

    ``params`` is viewed as [batch, between, extent, behind] and ``grad`` as [batch, between, found, behind];
    rows of all batches are summed at once into batch * extent rows.
    """
    params, indices, axis = op.inputs
    where = (axis + rank(params)) % rank(params)
    batch = _leading(op.attrs["batch_dims"], indices.shape.rank)
    count, between = _product(dims[:batch]), _product(dims[batch:where])
    extent, behind = dims[where], _product(dims[where + 1 :])
    per_batch = size(indices) // raw.Maximum(count, constant(1, int32, graph=grad.graph))
    offsets = reshape(raw.Cast(range_(count) * extent, DstT=indices.dtype), [-1, 1])
    places = reshape(reshape(indices, stack([count, per_batch])) + offsets, [-1])
    by_row = transpose(reshape(grad, stack([count, between, per_batch, behind])), [0, 2, 1, 3])
    rows = reshape(by_row, stack([count * per_batch, between, behind]))
    total = unsorted_segment_sum(rows, places, count * extent)
    parts = reshape(total, stack([count, extent, between, behind]))
    return reshape(transpose(parts, [0, 2, 1, 3]), dims)


def _product(vector: Tensor) -> Tensor:
    zero = constant(0, int32, graph=vector.graph)
    return raw.Prod(vector, zero, keep_dims=False)


op("GatherV2", _infer_gather, kernel=_gather_kernel, grad=_gather_gradient)


# -- GatherNd --------------------------------------------------------------------------------------


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Return elements or slices of ``params`` by several coordinates each.

    Args:
        params: tensor of rank at least ``batch_dims + k``.
        indices: int32 or int64 of shape [..., k]; each row is a position in the k axes after the batch.
        batch_dims: how many leading axes ``params`` and ``indices`` have in common.

    Returns:
        A tensor of shape ``indices.shape[:-1] + params.shape[batch_dims + k:]``.

    Raises:
        ValueError: for more batch axes than ``indices`` or ``params`` have, or indices of unknown rank with a
            batch.
    """
    if not batch_dims:
        return raw.GatherNd(params, indices, name=name)
    value = convert_to_tensor(params)
    index = convert_to_tensor(indices, graph=value.graph)
    ranks = index.shape.rank, value.shape.rank
    if ranks[0] is None or not 0 < batch_dims < min(r for r in ranks if r is not None):
        raise ValueError(
            f"gather_nd: batch_dims {batch_dims} is below the ranks of indices and params, and that of "
            f"indices is known; got shapes {index.shape} and {value.shape}"
        )
    if not value.shape[:batch_dims].is_compatible_with(index.shape[:batch_dims]):
        raise ValueError(f"gather_nd: the first {batch_dims} dimensions of {value.shape} and {index.shape} differ")
    with value.graph.name_scope(name or "GatherNd") as scope:
        full = concat([*_batch_coordinates(value, index, batch_dims), index], -1)
        return raw.GatherNd(value, full, name=scope)


def _batch_coordinates(params: Tensor, indices: Tensor, batch: int) -> list[Tensor]:
    """Return for each batch axis the coordinate of each row of the indices."""
    size, dims = len(indices.shape), shape_tensor(params, indices.dtype)
    one = constant([1], graph=params.graph)
    extents = concat([shape_tensor(indices)[:-1], one], 0)
    coordinates = []
    for axis in range(batch):
        places = range_(convert_to_tensor(0, indices.dtype, graph=params.graph), dims[axis])
        along = [-1 if i == axis else 1 for i in range(size)]
        coordinates.append(broadcast_to(reshape(places, along), extents))
    return coordinates


def _infer_gather_nd(ctx: InferContext) -> list[TensorShape]:
    params, indices = ctx.inputs[0].shape, ctx.inputs[1].shape
    if indices.rank == 0:
        raise ValueError("GatherNd: indices have rank at least 1, got a scalar")
    if params.rank is None or indices.rank is None or indices[-1] is None:
        return [unknown_shape]
    depth = indices[-1]
    if depth > params.rank:
        raise ValueError(f"GatherNd: {depth} coordinates for the shape {params}, too many")
    return [indices[:-1].concatenate(params[depth:])]


def _gathered_nd(params: Any, indices: Any) -> Any:
    if not indices.ndim:
        raise InvalidArgumentError("GatherNd: indices have rank at least 1, got a scalar")
    depth = indices.shape[-1]
    if depth == 0:
        return np.broadcast_to(params, (*indices.shape[:-1], *params.shape)).copy()
    if depth > params.ndim:
        raise InvalidArgumentError(
            f"GatherNd: {depth} coordinates for a tensor of shape {list(params.shape)}, too many"
        )
    if indices.size == 0:
        return np.empty((*indices.shape[:-1], *params.shape[depth:]), params.dtype)
    if (indices < 0).any() or (indices >= params.shape[:depth]).any():
        bad = np.argwhere((indices < 0) | (indices >= params.shape[:depth]))[0][:-1]
        raise InvalidArgumentError(
            f"GatherNd: indices[{', '.join(map(str, bad))}] = {indices[tuple(bad)].tolist()} "
            f"does not index into shape {list(params.shape)}"
        )
    return params[tuple([indices[..., i] for i in range(depth)])]


def _gather_nd_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    params, indices = op.inputs
    return [scatter_nd(indices, grad, shape_tensor(params, indices.dtype)), None]


op("GatherNd", _infer_gather_nd, _gathered_nd, _gather_nd_gradient)

"""The op types that work on rows of sparse tensors: softmax, and filling of empty rows.

``functions`` builds nodes of them. A row of ``SparseSoftmax`` extends along the last axis, one of
``SparseFillEmptyRows`` consists of all entries with the same first coordinate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.arrays.gather import gather, unsorted_segment_sum
from actorsession.ops.reductions.cumulative import cumprod
from actorsession.ops.reductions.reduction import reduce_prod, reduce_sum
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, places_of, require_rank, sparse_shapes

__all__: list[str] = []


# -- SparseSoftmax ---------------------------------------------------------------------------------


def _softmax_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    length = ctx.inputs[2].shape.with_rank(1)[0]
    if length is not None and length < 2:
        raise ValueError(f"{ctx.op}: the rank is 2 at least, got {length}")
    return [ctx.inputs[1].shape.with_rank(1)]


def _softmax(indices: Array, values: Array, shape: Array) -> Any:
    dims = checked_dims(shape, "SparseSoftmax")
    if len(dims) < 2:
        raise InvalidArgumentError(f"SparseSoftmax: the rank is 2 at least, got {len(dims)}")
    check_entries(indices, len(values), dims, "SparseSoftmax")
    _, row = np.unique(places_of(indices[:, :-1], dims[:-1]), return_inverse=True)
    most = np.full(int(row.max(initial=-1)) + 1, -np.inf, values.dtype)
    np.maximum.at(most, row, values)
    out = np.exp(values - most[row])
    total = np.zeros_like(most)
    np.add.at(total, row, out)
    out /= total[row]
    return out


def _softmax_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradient of the softmax; rows are distinguished by their position."""
    indices, _, dims = op.inputs
    result = op.outputs[0]
    # By factors, as the rank need not be known.
    row = reduce_sum(indices[:, :-1] * cumprod(dims[:-1], exclusive=True, reverse=True), 1)
    weighted = grad * result
    total = unsorted_segment_sum(weighted, row, reduce_prod(dims[:-1]))
    return [None, weighted - result * gather(total, row), None]


op("SparseSoftmax", _softmax_shape, _softmax, _softmax_gradient)


# -- SparseFillEmptyRows ---------------------------------------------------------------------------


def _fill_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 0})
    rank, known = ctx.inputs[2].shape.with_rank(1)[0], constant_ints(ctx, 2)
    if rank == 0:
        raise ValueError(f"{ctx.op}: the rank is 1 at least, got 0")
    count = TensorShape([known[0] if known else None])
    return [*sparse_shapes(rank)[:2], count, ctx.inputs[1].shape.with_rank(1)]


def _filled(indices: Array, values: Array, shape: Array, default: Any) -> Any:
    dims = checked_dims(shape, "SparseFillEmptyRows")
    if not dims or np.ndim(default):
        raise InvalidArgumentError(
            f"SparseFillEmptyRows: a rank of 1 at least and a scalar default are needed, got shape "
            f"{list(dims)} and a default of rank {np.ndim(default)}"
        )
    check_entries(indices, len(values), dims, "SparseFillEmptyRows")
    empty = np.ones(dims[0], np.bool_)
    empty[indices[:, 0]] = False
    rows = np.flatnonzero(empty)
    added = np.zeros((len(rows), len(dims)), np.int64)
    added[:, 0] = rows
    places = np.concatenate([indices, added])
    filler = np.empty(len(rows), values.dtype)
    filler[:] = default
    order = np.argsort(places[:, 0], kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return places[order], np.concatenate([values, filler])[order], empty, back[: len(values)]


def _fill_gradient(
    op: Operation, of_indices: Tensor | None, of_values: Tensor | None, *rest: Tensor | None
) -> list[Tensor | None]:
    if of_values is None:
        return [None] * 4
    back = raw.SparseFillEmptyRowsGrad(op.outputs[3], of_values)
    return [None, back[0], None, back[1]]


def _fill_grad_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 1, 1: 1})
    return [ctx.inputs[0].shape.with_rank(1), scalar_shape]


def _fill_back(where: Array, grad: Array) -> Any:
    if where.size and not (where.min() >= 0 and where.max() < len(grad)):
        raise InvalidArgumentError(
            f"SparseFillEmptyRowsGrad: places are at least 0 and below {len(grad)}, got {where.tolist()}"
        )
    others = np.ones(len(grad), np.bool_)
    others[where] = False
    return grad[where], grad[others].sum(dtype=grad.dtype)


op("SparseFillEmptyRows", _fill_shapes, _filled, _fill_gradient, sized_by=(2,))
op("SparseFillEmptyRowsGrad", _fill_grad_shapes, _fill_back)


# -- rows of ragged tensors ------------------------------------------------------------------------


def _fill_ragged_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 1, 1: 1, 2: 0, 3: 0})
    return [*[TensorShape([None])] * 3, ctx.inputs[0].shape.with_rank(1)]


def _filled_ragged(rows: Array, values: Array, count: Any, default: Any) -> Any:
    """Fill the empty rows of a ragged tensor: a sparse one whose columns nobody asks for."""
    if np.ndim(count) or np.ndim(default) or count < 0 or rows.shape != values.shape:
        raise InvalidArgumentError(
            f"RaggedFillEmptyRows: a row for each value, nrows of at least 0 and a scalar default are "
            f"needed, got shapes {list(rows.shape)} and {list(values.shape)}, nrows {count}"
        )
    shape = np.array([count], np.int64)
    places, filled, empty, back = _filled(rows[:, None], values, shape, default)
    return places[:, 0].copy(), filled, empty, back


def _fill_ragged_gradient(op: Operation, *grads: Tensor | None) -> list[Tensor | None]:
    if grads[1] is None:
        return [None] * 4
    back = raw.RaggedFillEmptyRowsGrad(op.outputs[3], grads[1])
    return [None, back[0], None, back[1]]


op("RaggedFillEmptyRows", _fill_ragged_shapes, _filled_ragged, _fill_ragged_gradient, sized_by=(2,))
op("RaggedFillEmptyRowsGrad", _fill_grad_shapes, _fill_back)

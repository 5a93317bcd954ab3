"""Sums of sparse tensors, and of a sparse and a dense tensor.

Owns ``SparseAdd`` with ``SparseAddGrad``, and ``SparseTensorDenseAdd``. Only ``basics`` builds nodes of them.
Checks and coordinates are those of ``kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.gather import gather_nd
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import described_shape
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, places_of, require_rank, sparse_shapes

__all__: list[str] = []


# -- SparseAdd -------------------------------------------------------------------------------------


def _add_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 0})
    shape = ctx.inputs[2].shape.merge_with(ctx.inputs[5].shape)
    return sparse_shapes(shape.with_rank(1)[0])


def _added(a_indices: Array, a: Array, a_shape: Array, b_indices: Array, b: Array, b_shape: Array, least: Any) -> Any:
    if not np.array_equal(a_shape, b_shape):
        raise InvalidArgumentError(f"SparseAdd: the shapes {a_shape.tolist()} and {b_shape.tolist()} are not the same")
    dims = checked_dims(a_shape, "SparseAdd")
    check_entries(a_indices, len(a), dims, "SparseAdd")
    check_entries(b_indices, len(b), dims, "SparseAdd")
    indices = np.concatenate([a_indices, b_indices])
    places, first, which = np.unique(places_of(indices, dims), return_index=True, return_inverse=True)
    total = np.zeros(len(places), a.dtype)
    np.add.at(total, which, np.concatenate([a, b]))
    kept = np.abs(total) >= least
    return indices[first][kept], total[kept], a_shape.copy()


def _add_gradient(
    op: Operation, of_indices: Tensor | None, of_values: Tensor | None, of_shape: Tensor | None
) -> list[Tensor | None]:
    if of_values is None:
        return [None] * 7
    a_indices, b_indices = op.inputs[0], op.inputs[3]
    a, b = raw.SparseAddGrad(of_values, a_indices, b_indices, op.outputs[0])
    return [None, a, None, None, b, None, None]


op("SparseAdd", _add_shapes, _added, _add_gradient)


def _add_grad_shapes(ctx: InferContext) -> list[TensorShape]:
    for i in (1, 2, 3):
        if ctx.inputs[i].dtype is not int64:
            raise TypeError(f"{ctx.op}: input {i} is int64, got {ctx.inputs[i].dtype.name}")
    require_rank(ctx, {0: 1, 1: 2, 2: 2, 3: 2})
    return [TensorShape([ctx.inputs[i].shape.with_rank(2)[0]]) for i in (1, 2)]


def _add_grad(grad: Array, a: Array, b: Array, total: Array) -> tuple[Array, Array]:
    """Return the gradients by the entries of both summands, 0 for entries that were dropped."""
    if len(grad) != len(total) or not a.shape[1:] == b.shape[1:] == total.shape[1:]:
        raise InvalidArgumentError(
            f"SparseAddGrad: {len(grad)} gradients for a sum with indices of shape "
            f"{list(total.shape)} of summands with indices of shape {list(a.shape)} and {list(b.shape)}"
        )
    # The shape is not given; any shape that contains all entries yields the same order.
    largest = np.concatenate([a, b, total]).max(axis=0, initial=-1)
    dims = [int(d) + 1 for d in largest]
    there = places_of(total, dims)
    return _at_places(grad, there, places_of(a, dims)), _at_places(grad, there, places_of(b, dims))


def _at_places(grad: Array, there: Array, places: Array) -> Array:
    """Return the gradient at each wanted position, given the sorted positions where it is present."""
    out = np.zeros(len(places), grad.dtype)
    if len(there):
        at = np.minimum(np.searchsorted(there, places), len(there) - 1)
        present = there[at] == places
        out[present] = grad[at[present]]
    return out


op("SparseAddGrad", _add_grad_shapes, _add_grad, NOT_DIFFERENTIABLE)


# -- SparseTensorDenseAdd --------------------------------------------------------------------------


def _dense_add_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    return [ctx.inputs[3].shape.merge_with(described_shape(ctx, 2))]


def _added_to_dense(indices: Array, values: Array, shape: Array, dense: Any) -> Any:
    dims = checked_dims(shape, "SparseTensorDenseAdd")
    if dims != np.shape(dense):
        raise InvalidArgumentError(
            f"SparseTensorDenseAdd: the sparse shape {list(dims)} is not the dense one, {list(np.shape(dense))}"
        )
    check_entries(indices, len(values), dims, "SparseTensorDenseAdd")
    out = np.array(dense)
    np.add.at(out, tuple(indices.T), values)
    return out if dims else out[()]


op(
    "SparseTensorDenseAdd",
    _dense_add_shape,
    _added_to_dense,
    lambda op, grad: [None, gather_nd(grad, op.inputs[0]), None, grad],
)

"""The op types of sparse tensors: shape rules, numpy kernels and gradients.

Owns ``SparseToDense``, ``SparseReorder`` and ``SparseTensorDenseMatMul``; sums are in ``sums``. Only
``basics`` builds nodes of these types. Coordinates are compared by their position in row-major order, one
integer each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.extras import is_installed
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import size
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.gather import gather, gather_nd
from actorsession.ops.arrays.layout import invert_permutation, transpose
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import described_shape

__all__: list[str] = []

# The largest number of positions that an int64 can count.
_PLACES = 2**63 - 1


def require_rank(ctx: InferContext, ranks: dict[int, int]) -> None:
    """Check the ranks of inputs, given by index."""
    for index, rank in ranks.items():
        shape = ctx.inputs[index].shape
        if shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op}: input {index} has rank {rank}, got shape {shape}")


def sparse_shapes(rank: Dim, count: Dim = None) -> list[TensorShape]:
    """Return the shapes of the parts of a sparse tensor with ``count`` entries, or with any number."""
    return [TensorShape([count, rank]), TensorShape([count]), TensorShape([rank])]


# -- coordinates -----------------------------------------------------------------------------------


def checked_dims(vector: Array, op: str) -> tuple[int, ...]:
    """Return the dimensions in a vector, checked to be not negative."""
    dims = tuple(vector.tolist())
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"{op}: shape {list(dims)} has a negative dimension")
    return dims


def check_entries(indices: Array, count: int, dims: Sequence[int], op: str) -> None:
    """Check that every entry has coordinates, and that they are inside the shape."""
    if indices.shape != (count, len(dims)):
        raise InvalidArgumentError(
            f"{op}: {count} values in shape {list(dims)} need indices of shape "
            f"[{count}, {len(dims)}], got {list(indices.shape)}"
        )
    outside = ((indices < 0) | (indices >= np.array(dims, np.int64))).any(axis=1)
    if outside.any():
        i = int(outside.argmax())
        raise InvalidArgumentError(
            f"{op}: indices[{i}] = {indices[i].tolist()} is out of bounds: coordinates are at least 0 "
            f"and below {list(dims)}"
        )


def places_of(indices: Array, dims: Sequence[int]) -> Array:
    """Return the row-major position of each entry."""
    if prod(dims) > _PLACES:
        raise InvalidArgumentError(f"shape {list(dims)} has more than {_PLACES} places")
    places = np.zeros(len(indices), np.int64)
    for axis, extent in enumerate(dims):
        places = places * extent + indices[:, axis]
    return places


def _check_order(places: Array, indices: Array) -> None:
    step = np.diff(places)
    if (step > 0).all():
        return
    i = int((step <= 0).argmax()) + 1
    what = "is repeated" if step[i - 1] == 0 else "is out of order"
    raise InvalidArgumentError(
        f"SparseToDense: indices[{i}] = {indices[i].tolist()} {what}: entries stand in row-major "
        "order, each once. Use sparse_reorder, or validate_indices=False to let the last one win"
    )


# -- SparseToDense ---------------------------------------------------------------------------------


def _to_dense_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {1: 1, 3: 0})
    return [described_shape(ctx, 1)]


def _to_dense_kernel(ctx: KernelContext) -> Kernel:
    validate, dtype = bool(ctx.attrs["validate_indices"]), ctx.outputs[0].dtype.np_dtype

    def to_dense(indices: Any, shape: Array, values: Any, default: Any) -> Any:
        if np.ndim(default) != 0:
            raise InvalidArgumentError("SparseToDense: the default value is a scalar")
        dims = checked_dims(shape, "SparseToDense")
        columns = np.asarray(indices)
        if columns.ndim < 2:
            columns = columns.reshape(-1, 1)
        count = len(columns)
        if np.ndim(values) and len(values) != count:
            raise InvalidArgumentError(f"SparseToDense: {count} coordinates do not fit {len(values)} values")
        check_entries(columns, count, dims, "SparseToDense")
        if validate:
            _check_order(places_of(columns, dims), columns)
        dense = np.full(dims, default, dtype)
        if count and dims:
            dense[tuple(columns.T)] = values
        elif count:
            dense[()] = np.reshape(values, -1)[-1]
        return dense if dims else dense[()]

    return to_dense


def _to_dense_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, values = op.inputs[0], op.inputs[2]
    if indices.shape.rank not in (None, 2) or values.shape.rank not in (None, 1):
        raise LookupError(
            f"the gradient of {op.name!r} needs a matrix of indices and a vector of values; they have "
            f"shapes {indices.shape} and {values.shape}"
        )
    of_values = gather_nd(grad, indices)
    return [None, None, of_values, reduce_sum(grad) - reduce_sum(of_values)]


op("SparseToDense", _to_dense_shape, kernel=_to_dense_kernel, grad=_to_dense_gradient, sized_by=(1,))


# -- SparseReorder ---------------------------------------------------------------------------------


def _reorder_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    return [ctx.inputs[0].shape.with_rank(2), ctx.inputs[1].shape.with_rank(1)]


def _reordered(indices: Array, values: Array, shape: Array) -> Any:
    if len(indices) != len(values):
        raise InvalidArgumentError(f"SparseReorder: {len(indices)} coordinates do not fit {len(values)} values")
    if indices.ndim != 2 or indices.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"SparseReorder: indices of shape {list(indices.shape)} do not fit a tensor of shape {shape.tolist()}"
        )
    # By coordinate and not by position: it need not be inside the shape, as in TensorFlow.
    keys = indices.T[::-1]
    order = np.lexsort(keys) if len(keys) else np.arange(len(values))
    return indices[order], values[order]


def _reorder_gradient(op: Operation, of_indices: Tensor | None, of_values: Tensor | None) -> list[Tensor | None]:
    if of_values is None:
        return [None, None, None]
    indices, values, shape = op.inputs
    moved = raw.SparseReorder(indices, range_(size(values)), shape)[1]
    return [None, gather(of_values, invert_permutation(moved)), None]


op("SparseReorder", _reorder_shapes, _reordered, _reorder_gradient)


# -- SparseTensorDenseMatMul -----------------------------------------------------------------------

# For 200,000 entries and 64 columns, scipy takes 2.5 ms, sums of sorted rows 23 to 36, and ``np.add.at`` 110.
_SCIPY_TYPES = "fdFDilq"
# Products that are added up at a time: half a megabyte of float32 stays in the cache of a core.
_AT_ONCE = 1 << 17


def _scipy_product(values: Array, places: tuple[Array, Array], right: Array, dims: tuple[int, int]) -> Array:
    """Return a sparse matrix times a dense one.

    Args:
        values: the entries of the sparse matrix.
        places: their rows and columns.
        right: the dense matrix.
        dims: rows and columns of the sparse matrix.
    """
    import scipy.sparse

    product: Array = scipy.sparse.coo_array((values, places), dims) @ right
    return product


def _summed_rows(values: Array, places: tuple[Array, Array], right: Array, dims: tuple[int, int]) -> Array:
    """Do what ``_scipy_product`` does with numpy alone: add up the products of each row, in row order."""
    rows, columns = places
    out = np.zeros((dims[0], right.shape[1]), right.dtype)
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        values, rows, columns = values[order], rows[order], columns[order]
    count = max(1, _AT_ONCE // max(1, right.shape[1]))
    for start in range(0, len(rows), count):
        part = slice(start, start + count)
        products = right[columns[part]]
        products *= values[part, None]
        first = np.flatnonzero(np.diff(rows[part], prepend=-1))
        out[rows[part][first]] += np.add.reduceat(products, first)
    return out


def _product_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 2})
    a, b = described_shape(ctx, 2).with_rank(2), ctx.inputs[3].shape.with_rank(2)
    rows, inner = (a[1], a[0]) if ctx.attrs["adjoint_a"] else (a[0], a[1])
    other, columns = (b[1], b[0]) if ctx.attrs["adjoint_b"] else (b[0], b[1])
    if inner is not None and other is not None and inner != other:
        raise ValueError(
            f"{ctx.op} cannot multiply shapes {a} and {b}: the inner dimensions {inner} and {other} must be equal"
        )
    return [TensorShape([rows, columns])]


def _product_kernel(ctx: KernelContext) -> Kernel:
    adjoint_a, adjoint_b = bool(ctx.attrs["adjoint_a"]), bool(ctx.attrs["adjoint_b"])
    dtype = ctx.outputs[0].dtype.np_dtype
    with_scipy = dtype.char in _SCIPY_TYPES and is_installed("scipy")
    add_up = _scipy_product if with_scipy else _summed_rows

    def product(indices: Array, values: Array, shape: Array, b: Array) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        right = b.conj().T if adjoint_b else b
        if len(dims) != 2 or dims[0 if adjoint_a else 1] != right.shape[0]:
            raise InvalidArgumentError(
                f"{ctx.op} cannot multiply shapes {list(dims)} and {list(b.shape)} (adjoint: {adjoint_a}, {adjoint_b})"
            )
        row, column = (1, 0) if adjoint_a else (0, 1)
        factors = values.conj() if adjoint_a else values
        places = indices[:, row], indices[:, column]
        return add_up(factors, places, right, (dims[row], right.shape[0]))

    return product


def _product_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = bool(op.attrs["adjoint_a"]), bool(op.attrs["adjoint_b"])
    of_b = raw.SparseTensorDenseMatMul(indices, values, shape, grad, adjoint_a=not adjoint_a)
    right = conj(transpose(b)) if adjoint_b else b
    row, column = (1, 0) if adjoint_a else (0, 1)
    parts = gather(grad, indices[:, row]) * conj(gather(right, indices[:, column]))
    of_values = reduce_sum(parts, 1)
    return [None, conj(of_values) if adjoint_a else of_values, None, conj(transpose(of_b)) if adjoint_b else of_b]


op("SparseTensorDenseMatMul", _product_shape, kernel=_product_kernel, grad=_product_gradient, sized_by=(2,))

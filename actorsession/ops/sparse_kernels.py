"""The op types of sparse tensors: shape functions, numpy kernels and gradients.

Owns ``SparseToDense``, ``SparseReorder``, ``SparseAdd`` with ``SparseAddGrad``,
``SparseTensorDenseAdd`` and ``SparseTensorDenseMatMul``. ``sparse`` builds nodes of them; nobody else
does. Coordinates are compared by their place in row-major order, one integer each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import make, make_one
from actorsession.ops.dimensions import size
from actorsession.ops.elementwise import conj
from actorsession.ops.fills import range_
from actorsession.ops.gather import gather, gather_nd
from actorsession.ops.layout import invert_permutation, transpose
from actorsession.ops.operands import check_dtype
from actorsession.ops.reduction import reduce_sum
from actorsession.ops.shape_operands import (
    constant_ints,
    require_index,
    shape_of_rank,
    vector_length,
)

__all__: list[str] = []

_ANY = "biufcs"
_NUMBERS = "iufc"
# What an int64 can count.
_PLACES = 2**63 - 1


def _require_rank(ctx: InferContext, ranks: dict[int, int]) -> None:
    for index, rank in ranks.items():
        shape = ctx.inputs[index].shape
        if shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op}: input {index} has rank {rank}, got shape {shape}")


def _described(ctx: InferContext, index: int) -> TensorShape:
    """The static shape that an operand describes, -1 for what it does not say."""
    known = constant_ints(ctx, index)
    if known is None:
        return shape_of_rank(vector_length(ctx.inputs[index]))
    if any(d < -1 for d in known):
        raise ValueError(f"{ctx.op}: shape {list(known)} has a negative dimension")
    return TensorShape([None if d == -1 else d for d in known])


# -- coordinates -----------------------------------------------------------------------------------


def _dims(vector: Array, op: str) -> tuple[int, ...]:
    dims = tuple(vector.tolist())
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"{op}: shape {list(dims)} has a negative dimension")
    return dims


def _check_entries(indices: Array, count: int, dims: Sequence[int], op: str) -> None:
    """Checks that every entry has coordinates, and that they are inside the shape."""
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


def _places(indices: Array, dims: Sequence[int]) -> Array:
    """The place of each entry in row-major order."""
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


def _infer_to_dense(ctx: InferContext) -> list[TensorSpec]:
    require_index(ctx, 0, 1)
    check_dtype(ctx, "i", (0, 1))
    check_dtype(ctx, _ANY, (2, 3))
    _require_rank(ctx, {1: 1, 3: 0})
    return [TensorSpec(ctx.inputs[2].dtype, _described(ctx, 1))]


def _to_dense_kernel(ctx: KernelContext) -> Kernel:
    validate, dtype = bool(ctx.attrs["validate_indices"]), ctx.outputs[0].dtype.np_dtype

    def to_dense(indices: Any, shape: Array, values: Any, default: Any) -> Any:
        if np.ndim(default) != 0:
            raise InvalidArgumentError("SparseToDense: the default value is a scalar")
        dims = _dims(shape, "SparseToDense")
        columns = np.asarray(indices)
        if columns.ndim < 2:
            columns = columns.reshape(-1, 1)
        count = len(columns)
        if np.ndim(values) and len(values) != count:
            raise InvalidArgumentError(
                f"SparseToDense: {count} coordinates do not fit {len(values)} values"
            )
        _check_entries(columns, count, dims, "SparseToDense")
        if validate:
            _check_order(_places(columns, dims), columns)
        dense = np.full(dims, default, dtype)
        if count and dims:
            dense[tuple(columns.T)] = values
        elif count:
            dense[()] = np.reshape(values, -1)[-1]
        return dense if dims else dense[()]

    return to_dense


def _to_dense_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, values = op.inputs[0], op.inputs[2]
    if indices.shape.rank != 2 or values.shape.rank != 1:
        raise LookupError(
            f"the gradient of {op.name!r} needs indices known to be a matrix and values known to be a "
            f"vector; they have shapes {indices.shape} and {values.shape}"
        )
    of_values = gather_nd(grad, indices)
    return [None, None, of_values, reduce_sum(grad) - reduce_sum(of_values)]


register(
    OpDef(
        name="SparseToDense",
        infer=_infer_to_dense,
        kernel=_to_dense_kernel,
        gradient=_to_dense_gradient,
        attrs={"validate_indices": True},
    )
)


# -- SparseReorder ---------------------------------------------------------------------------------


def _infer_reorder(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, _ANY, (1,))
    _require_rank(ctx, {0: 2, 1: 1, 2: 1})
    return [ctx.inputs[0], ctx.inputs[1]]


def _reordered(indices: Array, values: Array, shape: Array) -> Any:
    if len(indices) != len(values):
        raise InvalidArgumentError(
            f"SparseReorder: {len(indices)} coordinates do not fit {len(values)} values"
        )
    # By coordinate and not by place: it need not be inside the shape, as in TensorFlow.
    keys = indices.T[::-1]
    order = np.lexsort(keys) if len(keys) else np.arange(len(values))
    return indices[order], values[order]


def _reorder_gradient(
    op: Operation, of_indices: Tensor | None, of_values: Tensor | None
) -> list[Tensor | None]:
    if of_values is None:
        return [None, None, None]
    indices, values, shape = op.inputs
    moved = make("SparseReorder", [indices, range_(size(values)), shape]).outputs[1]
    return [None, gather(of_values, invert_permutation(moved)), None]


register(
    OpDef(
        name="SparseReorder",
        infer=_infer_reorder,
        kernel=lambda ctx: _reordered,
        gradient=_reorder_gradient,
    )
)


# -- SparseAdd -------------------------------------------------------------------------------------


def _infer_add(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, _NUMBERS, (1, 4))
    _require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 0})
    shape = ctx.inputs[2].shape.merge_with(ctx.inputs[5].shape)
    columns = shape[0] if shape.rank == 1 else None
    values = TensorSpec(ctx.inputs[1].dtype, TensorShape([None]))
    return [
        TensorSpec(int64, TensorShape([None, columns])), values, TensorSpec(int64, shape)
    ]  # fmt: skip


def _added(
    a_indices: Array,
    a: Array,
    a_shape: Array,
    b_indices: Array,
    b: Array,
    b_shape: Array,
    least: Any,
) -> Any:
    if not np.array_equal(a_shape, b_shape):
        raise InvalidArgumentError(
            f"SparseAdd: the shapes {a_shape.tolist()} and {b_shape.tolist()} are not the same"
        )
    dims = _dims(a_shape, "SparseAdd")
    _check_entries(a_indices, len(a), dims, "SparseAdd")
    _check_entries(b_indices, len(b), dims, "SparseAdd")
    indices = np.concatenate([a_indices, b_indices])
    places, first, which = np.unique(_places(indices, dims), return_index=True, return_inverse=True)
    total = np.zeros(len(places), a.dtype)
    np.add.at(total, which, np.concatenate([a, b]))
    kept = np.abs(total) >= least
    return indices[first][kept], total[kept], a_shape.copy()


def _add_gradient(
    op: Operation, of_indices: Tensor | None, of_values: Tensor | None, of_shape: Tensor | None
) -> list[Tensor | None]:
    if of_values is None:
        return [None] * 7
    a_indices, _, shape, b_indices, *_ = op.inputs
    total = op.outputs[0]
    a, b = (
        make_one("SparseAddGrad", [of_values, indices, total, shape])
        for indices in (a_indices, b_indices)
    )
    return [None, a, None, None, b, None, None]


register(
    OpDef(
        name="SparseAdd",
        infer=_infer_add,
        kernel=lambda ctx: _added,
        gradient=_add_gradient,
    )
)


def _infer_add_grad(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(ctx.inputs[0].dtype, TensorShape([ctx.inputs[1].shape.with_rank(2)[0]]))]


def _add_grad(grad: Array, indices: Array, total: Array, shape: Array) -> Array:
    """The gradient at entries of a summand: that of the sum there, 0 where it was dropped."""
    dims = shape.tolist()
    wanted, there = _places(indices, dims), _places(total, dims)
    out = np.zeros(len(wanted), grad.dtype)
    if len(there):
        at = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
        found = there[at] == wanted
        out[found] = grad[at[found]]
    return out


register(OpDef(name="SparseAddGrad", infer=_infer_add_grad, kernel=lambda ctx: _add_grad))


# -- SparseTensorDenseAdd --------------------------------------------------------------------------


def _infer_dense_add(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, _NUMBERS, (1, 3))
    _require_rank(ctx, {0: 2, 1: 1, 2: 1})
    return [TensorSpec(ctx.inputs[3].dtype, ctx.inputs[3].shape.merge_with(_described(ctx, 2)))]


def _added_to_dense(indices: Array, values: Array, shape: Array, dense: Any) -> Any:
    dims = _dims(shape, "SparseTensorDenseAdd")
    if dims != np.shape(dense):
        raise InvalidArgumentError(
            f"SparseTensorDenseAdd: the sparse shape {list(dims)} is not the dense one, "
            f"{list(np.shape(dense))}"
        )
    _check_entries(indices, len(values), dims, "SparseTensorDenseAdd")
    out = np.array(dense)
    np.add.at(out, tuple(indices.T), values)
    return out if dims else out[()]


register(
    OpDef(
        name="SparseTensorDenseAdd",
        infer=_infer_dense_add,
        kernel=lambda ctx: _added_to_dense,
        gradient=lambda op, grad: [None, gather_nd(grad, op.inputs[0]), None, grad],
    )
)


# -- SparseTensorDenseMatMul -----------------------------------------------------------------------


def _infer_product(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, _NUMBERS, (1, 3))
    _require_rank(ctx, {0: 2, 1: 1, 2: 1, 3: 2})
    a, b = _described(ctx, 2).with_rank(2), ctx.inputs[3].shape.with_rank(2)
    rows, inner = (a[1], a[0]) if ctx.attrs["adjoint_a"] else (a[0], a[1])
    other, columns = (b[1], b[0]) if ctx.attrs["adjoint_b"] else (b[0], b[1])
    if inner is not None and other is not None and inner != other:
        raise ValueError(
            f"{ctx.op} cannot multiply shapes {a} and {b}: the inner dimensions {inner} and {other} "
            "must be equal"
        )
    return [TensorSpec(ctx.inputs[1].dtype, TensorShape([rows, columns]))]


def _product_kernel(ctx: KernelContext) -> Kernel:
    adjoint_a, adjoint_b = bool(ctx.attrs["adjoint_a"]), bool(ctx.attrs["adjoint_b"])
    dtype = ctx.outputs[0].dtype.np_dtype

    def product(indices: Array, values: Array, shape: Array, b: Array) -> Any:
        dims = _dims(shape, ctx.op)
        _check_entries(indices, len(values), dims, ctx.op)
        right = b.conj().T if adjoint_b else b
        if len(dims) != 2 or dims[0 if adjoint_a else 1] != right.shape[0]:
            raise InvalidArgumentError(
                f"{ctx.op} cannot multiply shapes {list(dims)} and {list(b.shape)} "
                f"(adjoint: {adjoint_a}, {adjoint_b})"
            )
        row, column = (1, 0) if adjoint_a else (0, 1)
        factors = values.conj() if adjoint_a else values
        out = np.zeros((dims[row], right.shape[1]), dtype)
        np.add.at(out, indices[:, row], factors[:, None] * right[indices[:, column]])
        return out

    return product


def _product_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = bool(op.attrs["adjoint_a"]), bool(op.attrs["adjoint_b"])
    attrs = {"adjoint_a": not adjoint_a, "adjoint_b": False}
    of_b = make_one("SparseTensorDenseMatMul", [indices, values, shape, grad], attrs)
    right = conj(transpose(b)) if adjoint_b else b
    row, column = (1, 0) if adjoint_a else (0, 1)
    parts = gather(grad, indices[:, row]) * conj(gather(right, indices[:, column]))
    of_values = reduce_sum(parts, 1)
    return [
        None, conj(of_values) if adjoint_a else of_values, None,
        conj(transpose(of_b)) if adjoint_b else of_b,
    ]  # fmt: skip


register(
    OpDef(
        name="SparseTensorDenseMatMul",
        infer=_infer_product,
        kernel=_product_kernel,
        gradient=_product_gradient,
        attrs={"adjoint_a": False, "adjoint_b": False},
    )
)

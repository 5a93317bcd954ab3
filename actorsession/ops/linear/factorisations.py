"""Factorisations of matrices: Cholesky, LU with pivoting, and QR.

All work on batches. ``numpy.linalg`` has no elimination that returns its factors, so ``Lu`` eliminates column
by column, for the whole batch at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import ones_like, zeros_like
from actorsession.ops.arrays.gather import gather, one_hot
from actorsession.ops.arrays.joining import concat
from actorsession.ops.build import convert_all, convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.linear.diagonals import matrix_band_part
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import (
    adjoint,
    check_square,
    cubic_cost,
    lower_part,
    matrix_kernel,
    require_square,
    split_shape,
    square,
)
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.linear.solving import matrix_triangular_solve, solve_triangular
from actorsession.ops.reductions.searching import argsort
from actorsession.ops.rows import op

__all__ = ["Lu", "Qr", "cholesky", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "qr"]


class Qr(NamedTuple):
    """The result of ``qr``.

    Attributes:
        q: matrices with orthonormal columns.
        r: upper triangular matrices.
    """

    q: Tensor
    r: Tensor


class Lu(NamedTuple):
    """The result of ``lu``.

    Attributes:
        lu: both factors in one matrix: the lower one, whose diagonal is 1, below the diagonal, and the upper
            one on and above it.
        p: the row of the matrix that equals each row of the product.
    """

    lu: Tensor
    p: Tensor


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Return the lower triangular ``c`` with ``c @ adjoint(c) = input``.

    Args:
        input: self-adjoint positive definite matrices, of which the lower triangle is read.
    """
    return raw.Cholesky(input, name=name)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Factorise matrices into one with orthonormal columns and an upper triangular one.

    Args:
        input: matrices, in the last two axes.
        full_matrices: whether the first factor is square; else it has no more columns than needed.
    """
    return Qr(*raw.Qr(input, full_matrices=full_matrices, name=name))


def lu(input: Any, output_idx_type: Any = int32, name: str | None = None) -> Lu:
    """Factorise matrices with permuted rows into a lower and an upper triangular one.

    Args:
        input: square invertible matrices, in the last two axes.
        output_idx_type: int32 or int64, the dtype of the permutation.
    """
    return Lu(*raw.Lu(input, output_idx_type=output_idx_type, name=name))


# -- Cholesky ------------------------------------------------------------------------------------


def _halved(x: Tensor) -> Tensor:
    """Return the lower triangle, with half of the diagonal."""
    return lower_part(matrix_set_diag(x, matrix_diag_part(x) * 0.5))


def _cholesky_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    factor = op.outputs[0]
    middle = _halved(matmul(factor, grad, adjoint_a=True))
    # inverse(factor)^H @ middle @ inverse(factor), computed by two solutions.
    left = matrix_triangular_solve(factor, middle, adjoint=True)
    both = adjoint(matrix_triangular_solve(factor, adjoint(left), adjoint=True))
    return [(both + adjoint(both)) * 0.5]


def _cholesky(x: Any) -> Any:
    """Return the factors of matrices; that of one without is NaN, as in TensorFlow."""
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        if x.ndim > 2:
            return np.stack([_cholesky(each) for each in x])
        return np.tril(np.full_like(x, np.nan))


op(
    "Cholesky",
    square,
    kernel=matrix_kernel(_cholesky, "self-adjoint and positive definite"),
    grad=_cholesky_gradient,
    cost=cubic_cost,
    divides=True,
)


# The gradient as a node, which graphs of TensorFlow before 1.4 have.


def _infer_factor_gradient(ctx: InferContext) -> list[TensorShape]:
    factor, grad = (spec.shape for spec in ctx.inputs)
    require_square(ctx)
    return [factor.merge_with(grad)]


def _factor_gradient(factor: Array, grad: Array) -> Array:
    check_square("CholeskyGrad", factor)
    if factor.shape != grad.shape:
        raise InvalidArgumentError(
            f"the gradient has the shape of the factor, {list(factor.shape)}, got {list(grad.shape)}"
        )
    turned = np.swapaxes(factor, -1, -2)
    middle = np.tril(turned @ grad)
    middle *= 1 - np.eye(factor.shape[-1], dtype=factor.dtype) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        left = solve_triangular(turned, middle, False)
        both = solve_triangular(turned, np.swapaxes(left, -1, -2), False)
    return np.asarray((both + np.swapaxes(both, -1, -2)) / 2, factor.dtype)


for _name in ("CholeskyGrad", "BatchCholeskyGrad"):
    op(_name, _infer_factor_gradient, _factor_gradient, cost=cubic_cost, divides=True)


# -- Qr ------------------------------------------------------------------------------------------


def _least(left: Dim, right: Dim) -> Dim:
    if left is None or right is None:
        return 0 if 0 in (left, right) else None
    return min(left, right)


def _qr_shapes(ctx: InferContext) -> list[TensorShape]:
    batch, rows, columns = split_shape(ctx)
    inner = rows if ctx.attrs["full_matrices"] else _least(rows, columns)
    return [batch.concatenate([rows, inner]), batch.concatenate([inner, columns])]


def _qr_kernel(ctx: KernelContext) -> Kernel:
    mode: Any = "complete" if ctx.attrs["full_matrices"] else "reduced"
    factors = partial(np.linalg.qr, mode=mode)
    return matrix_kernel(factors, "of finite numbers", square=False)(ctx)


def _qr_gradient(op: Operation, by_q: Tensor | None, by_r: Tensor | None) -> Sequence[Tensor | None]:
    q, r = op.outputs
    by_q = zeros_like(q) if by_q is None else by_q
    by_r = zeros_like(r) if by_r is None else by_r
    dims = op.inputs[0].shape.sizes
    rows, columns = (None, None) if dims is None else dims[-2:]
    known = rows is not None and columns is not None
    if known and rows > columns and op.attrs["full_matrices"]:  # type: ignore[operator]
        raise NotImplementedError(
            f"the gradient of qr with full_matrices needs as many columns as rows or more, got shape "
            f"{op.inputs[0].shape}"
        )
    if known and rows >= columns:  # type: ignore[operator]
        return [_deep_qr_gradient(q, r, by_q, by_r)]
    # The first columns of a wide matrix determine q; the others follow as q @ the rest of r.
    count = shape_tensor(q)[-1]
    rest, by_rest = op.inputs[0][..., count:], by_r[..., count:]
    by_first = _deep_qr_gradient(q, r[..., :count], by_q + matmul(rest, by_rest, adjoint_b=True), by_r[..., :count])
    return [concat([by_first, matmul(q, by_rest)], -1)]


def _deep_qr_gradient(q: Tensor, r: Tensor, by_q: Tensor, by_r: Tensor) -> Tensor:
    def over_r(x: Tensor) -> Tensor:
        """Return ``x`` times the adjoint of the inverse of ``r``."""
        return adjoint(matrix_triangular_solve(r, adjoint(x), lower=False))

    turn = matmul(q, by_q, adjoint_a=True)
    stretch = matmul(r, by_r, adjoint_b=True)
    both = lower_part((turn - adjoint(turn)) + (stretch - adjoint(stretch)))
    inside = matmul(q, by_r + over_r(both))
    outside = over_r(by_q - matmul(q, turn))
    if q.dtype.is_complex:
        # The diagonal of r is real; for real matrices this needs no correction.
        odd = turn - adjoint(stretch)
        inside = inside + over_r(matmul(q, matrix_set_diag(zeros_like(odd), _odd_diagonal(odd))))
    return inside + outside


def _odd_diagonal(odd: Tensor) -> Tensor:
    diagonal = matrix_diag_part(odd)
    return (conj(diagonal) - diagonal) * 0.5


op("Qr", _qr_shapes, kernel=_qr_kernel, grad=_qr_gradient, cost=cubic_cost, divides=True)


# -- Lu ------------------------------------------------------------------------------------------


def _lu_shapes(ctx: InferContext) -> list[TensorShape]:
    batch, rows = require_square(ctx)
    index = as_dtype(ctx.attrs["output_idx_type"])
    if index not in (int32, int64):
        raise TypeError(f"Lu: output_idx_type is int32 or int64, got {index.name}")
    return [batch.concatenate([rows, rows]), batch.concatenate([rows])]


def eliminated(x: Array) -> tuple[Array, Array]:
    """Return the two factors of a batch in one array, and the permutations.

    Raises:
        LinAlgError: if a matrix is not invertible.
    """
    size = x.shape[-1]
    factors = np.array(x.reshape(math.prod(x.shape[:-2]), size, size))
    order = np.tile(np.arange(size), (len(factors), 1))
    every = np.arange(len(factors))
    for k in range(size):
        pivot = k + np.argmax(np.abs(factors[:, k:, k]), axis=1)
        for array in (factors, order):
            array[every, pivot], array[:, k] = array[:, k].copy(), array[every, pivot]
        head = factors[:, k, k]
        if not (head != 0).all() or np.isnan(head).any():
            raise np.linalg.LinAlgError("singular")
        factors[:, k + 1 :, k] /= head[:, None]
        factors[:, k + 1 :, k + 1 :] -= factors[:, k + 1 :, k, None] * factors[:, k, None, k + 1 :]
    return factors.reshape(x.shape), order.reshape(x.shape[:-1])


def _lu_kernel(ctx: KernelContext) -> Kernel:
    index = ctx.outputs[1].dtype.np_dtype

    def factors(x: Array) -> tuple[Array, Array]:
        both, order = eliminated(x)
        return both, order.astype(index)

    return matrix_kernel(factors, "invertible")(ctx)


def _lu_gradient(op: Operation, grad: Tensor | None, _: Tensor | None) -> Sequence[Tensor | None]:
    if grad is None:
        return [None]
    both, order = op.outputs
    upper = matrix_band_part(both, 0, -1)
    below = both - upper
    by_upper = matrix_band_part(grad, 0, -1)
    left = matmul(below, grad - by_upper, adjoint_a=True)
    # The unit diagonal of the lower factor contributes the gradient itself.
    left = left + (grad - by_upper)
    right = matmul(by_upper, upper, adjoint_b=True)
    middle = (left - matrix_band_part(left, 0, -1)) + matrix_band_part(right, 0, -1)
    lower = matrix_set_diag(below, ones_like(matrix_diag_part(below)))
    inner = matrix_triangular_solve(lower, middle, adjoint=True)
    by_rows = adjoint(matrix_triangular_solve(upper, adjoint(inner), lower=False))
    places = cast(one_hot(order, shape_tensor(both)[-1]), both.dtype)
    return [matmul(places, by_rows, transpose_a=True)]


op("Lu", _lu_shapes, kernel=_lu_kernel, grad=_lu_gradient, cost=cubic_cost)


# -- uses of the factors of Lu -------------------------------------------------------------------


def lu_solve(lower_upper: Any, perm: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Return the solution ``x`` of ``matrix @ x = rhs``, from the factors of the matrix.

    Args:
        lower_upper: the factors, as returned by ``lu``.
        perm: the permutation that belongs to the factors, of known rank.
        rhs: right sides, as columns of matrices of the same batch.

    Raises:
        ValueError: if the rank of ``perm`` is unknown.
    """
    both, right = convert_all([lower_upper, rhs])
    with both.graph.name_scope(name or "lu_solve") as scope:
        rows = _rows(right, convert_to_tensor(perm, graph=both.graph))
        half = matrix_triangular_solve(_lower(both), rows)
        return matrix_triangular_solve(both, half, lower=False, name=scope)


def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Return the inverse of a matrix from its factors; arguments as for ``lu_solve``."""
    both = convert_to_tensor(lower_upper)
    with both.graph.name_scope(name or "lu_matrix_inverse"):
        unit = matrix_diag(ones_like(matrix_diag_part(both)))
        return lu_solve(both, perm, unit)


def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Return the matrix with the given factors; arguments as for ``lu_solve``."""
    both = convert_to_tensor(lower_upper)
    with both.graph.name_scope(name or "lu_reconstruct"):
        product = matmul(_lower(both), matrix_band_part(both, 0, -1))
        return _rows(product, argsort(convert_to_tensor(perm, graph=both.graph)))


def _lower(both: Tensor) -> Tensor:
    below = both - matrix_band_part(both, 0, -1)
    return matrix_set_diag(below, ones_like(matrix_diag_part(both)))


def _rows(x: Tensor, order: Tensor) -> Tensor:
    """Return the rows of matrices in another order, given for each matrix of the batch."""
    rank = order.shape.rank
    if rank is None:
        raise ValueError("the factors of lu are used with a permutation of known rank")
    return gather(x, order, axis=rank - 1, batch_dims=rank - 1)

"""Singular values and vectors, and eigenvalues and eigenvectors of self-adjoint matrices.

Both use ``numpy.linalg`` and work on batches. The vectors have gradients where the values are all different;
see J. Townsend, Differentiating the singular value decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.elements.elementwise import reciprocal, square
from actorsession.ops.elements.quotients import reciprocal_no_nan
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import adjoint, cubic_cost, lower_part, matrix_kernel, require_square, split_shape
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.rows import op

__all__ = ["self_adjoint_eig", "self_adjoint_eigvals", "svd"]


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of self-adjoint matrices, in rising order, and the eigenvectors as columns.

    Args:
        tensor: matrices, of which the lower triangle is read.
    """
    values, vectors = _eigen(tensor, True, name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Return the eigenvalues of self-adjoint matrices, in rising order.

    Args:
        tensor: matrices, of which the lower triangle is read.
    """
    return _eigen(tensor, False, name)[0]


def _eigen(tensor: Any, vectors: bool, name: str | None = None) -> Sequence[Tensor]:
    return raw.SelfAdjointEigV2(tensor, compute_v=vectors, name=name)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Return singular values in falling order, and the left and right singular vectors as columns.

    Args:
        tensor: matrices, in the last two axes.
        full_matrices: whether to return as many vectors as rows and columns, rather than as values.
        compute_uv: whether to compute the vectors.

    Returns:
        The real values ``s`` and the vectors ``u`` and ``v``, with ``tensor = u @ diag(s) @ adjoint(v)``; the
        values alone without ``compute_uv``.
    """
    s, u, v = raw.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


# -- SelfAdjointEigV2 ----------------------------------------------------------------------------


def _eigen_shapes(ctx: InferContext) -> list[TensorShape]:
    batch, rows = require_square(ctx)
    vectors = batch.concatenate([rows, rows]) if ctx.attrs["compute_v"] else TensorShape([0])
    return [batch.concatenate([rows]), vectors]


def _eigen_kernel(ctx: KernelContext) -> Kernel:
    def decompose(x: Array) -> Any:
        if ctx.attrs["compute_v"]:
            return np.linalg.eigh(x)
        return np.linalg.eigvalsh(x), np.empty(0, x.dtype)

    return matrix_kernel(decompose, "self-adjoint and of finite numbers")(ctx)


def _eigen_gradient(op: Operation, by_values: Tensor | None, by_vectors: Tensor | None) -> Sequence[Tensor | None]:
    matrix = op.inputs[0]
    computed = bool(op.attrs["compute_v"])
    e, v = op.outputs if computed else _eigen(matrix, True)
    middle = matrix_diag(zeros_like(e) if by_values is None else by_values)
    if computed and by_vectors is not None:
        apart = expand_dims(e, -2) - expand_dims(e, -1)
        middle = middle + reciprocal_no_nan(apart) * matmul(v, by_vectors, adjoint_a=True)
    whole = matmul(v, matmul(middle, v, adjoint_b=True))
    # Only the lower triangle was read.
    both = lower_part(whole + adjoint(whole))
    return [matrix_set_diag(both, matrix_diag_part(both) * 0.5)]


op("SelfAdjointEigV2", _eigen_shapes, kernel=_eigen_kernel, grad=_eigen_gradient, cost=cubic_cost, divides=True)


# -- Svd -----------------------------------------------------------------------------------------


def _svd_shapes(ctx: InferContext) -> list[TensorShape]:
    batch, rows, columns = split_shape(ctx)
    count: Dim = None if rows is None or columns is None else min(rows, columns)
    full = bool(ctx.attrs["full_matrices"])
    shapes = [[rows, rows if full else count], [columns, columns if full else count]]
    vectors = [batch.concatenate(dims) for dims in shapes]
    if not ctx.attrs["compute_uv"]:
        vectors = [TensorShape([0]), TensorShape([0])]
    return [batch.concatenate([count]), *vectors]


def _svd_kernel(ctx: KernelContext) -> Kernel:
    full = bool(ctx.attrs["full_matrices"])

    def both(x: Array) -> Any:
        u, s, adjoint_v = np.linalg.svd(x, full_matrices=full)
        return s, u, np.conjugate(np.swapaxes(adjoint_v, -1, -2))

    def values(x: Array) -> Any:
        return np.linalg.svd(x, compute_uv=False), np.empty(0, x.dtype), np.empty(0, x.dtype)

    decompose = both if ctx.attrs["compute_uv"] else values

    def guarded(x: Array) -> Any:
        broken: Array = np.asarray(~np.isfinite(x).all(axis=(-1, -2)))
        if not broken.any():
            return decompose(x)
        # LAPACK would reject the whole batch.
        parts = decompose(np.where(broken[..., None, None], x.dtype.type(0), x))
        for part in parts if ctx.attrs["compute_uv"] else parts[:1]:
            part[broken] = np.nan
        return parts

    return matrix_kernel(guarded, "of finite numbers", square=False)(ctx)


def _svd_gradient(
    op: Operation, by_s: Tensor | None, by_u: Tensor | None, by_v: Tensor | None
) -> Sequence[Tensor | None]:
    s, u, v = op.outputs
    if not op.attrs["compute_uv"] or (by_u is None and by_v is None):
        if by_s is None:
            return [None]
        if not op.attrs["compute_uv"] or op.attrs["full_matrices"]:
            s, u, v = raw.Svd(op.inputs[0])
        return [matmul(u * expand_dims(by_s, -2), v, adjoint_b=True)]
    if u.dtype.is_complex:
        raise NotImplementedError("singular vectors of complex matrices are not unique, so svd has no gradient by them")
    by_s = zeros_like(s) if by_s is None else by_s
    by_u = zeros_like(u) if by_u is None else by_u
    by_v = zeros_like(v) if by_v is None else by_v
    if op.attrs["full_matrices"]:
        _require_square_svd(op)
    return [_thin_svd_gradient(s, u, v, by_s, by_u, by_v)]


def _require_square_svd(op: Operation) -> None:
    dims = op.inputs[0].shape.sizes
    if dims is None or dims[-1] is None or dims[-1] != dims[-2]:
        raise NotImplementedError(
            "the vectors of svd with full_matrices have a gradient for matrices that are known to be "
            f"square, got shape {op.inputs[0].shape}: leave out full_matrices"
        )


def _thin_svd_gradient(s: Tensor, u: Tensor, v: Tensor, by_s: Tensor, by_u: Tensor, by_v: Tensor) -> Tensor:
    squares, row = square(s), expand_dims(s, -2)
    apart = reciprocal_no_nan(expand_dims(squares, -2) - expand_dims(squares, -1))

    def turned(vectors: Tensor, grad: Tensor) -> Tensor:
        turn = matmul(vectors, grad, transpose_a=True)
        return apart * (turn - adjoint(turn))

    def outside(vectors: Tensor, grad: Tensor) -> Tensor:
        """Return the part of the gradient that is orthogonal to the vectors, divided by the values."""
        sizes = vectors.shape[-2:].as_list() if vectors.shape.rank is not None else [None]
        if sizes[0] is not None and sizes[0] == sizes[-1]:
            return zeros_like(vectors)  # nothing is orthogonal to all, and a value may be zero
        rest = grad - matmul(vectors, matmul(vectors, grad, transpose_a=True))
        return rest * reciprocal(row)

    middle = turned(u, by_u) * row + expand_dims(s, -1) * turned(v, by_v) + matrix_diag(by_s)
    inside = matmul(matmul(u, middle), v, transpose_b=True)
    left = matmul(outside(u, by_u), v, transpose_b=True)
    right = matmul(u, outside(v, by_v), transpose_b=True)
    return inside + left + right


op("Svd", _svd_shapes, kernel=_svd_kernel, grad=_svd_gradient, cost=cubic_cost, divides=True)

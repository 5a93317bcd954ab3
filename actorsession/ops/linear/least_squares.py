"""Least squares: the best approximate solutions of systems that have no solution, or many.

Owns ``MatrixSolveLs``. The fast method solves the normal equations by a Cholesky factorisation, which squares
the condition number of the matrix. The slow method uses singular values and also accepts matrices without
full rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import float64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import ones_like
from actorsession.ops.build import convert_all, convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater_equal
from actorsession.ops.flow.control_flow import cond
from actorsession.ops.linear.factorisations import cholesky
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import (
    adjoint_array,
    check_rows,
    cubic_cost,
    narrowed,
    require_pairing,
    split_shape,
    widened,
)
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part
from actorsession.ops.linear.solving import cholesky_solve
from actorsession.ops.rows import op

__all__ = ["matrix_solve_ls"]


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Return the shortest ``x`` that minimises the distance between ``matrix @ x`` and ``rhs``.

    Args:
        matrix: matrices, in the last two axes.
        rhs: right sides, as columns of matrices of the same batch.
        l2_regularizer: weight of the squared length of ``x``; used by the fast method only.
        fast: whether to solve the normal equations, which needs full rank; else singular values are computed.
    """
    left, right = convert_all([matrix, rhs])
    weight = convert_to_tensor(l2_regularizer, float64, graph=left.graph)
    return raw.MatrixSolveLs(left, right, weight, fast=fast, name=name)


def _shape(ctx: InferContext) -> list[TensorShape]:
    if ctx.inputs[2].dtype is not float64 or ctx.inputs[2].shape.rank not in (None, 0):
        raise TypeError(f"MatrixSolveLs takes a float64 scalar as l2_regularizer, got {ctx.inputs[2]}")
    batch, rows, columns = split_shape(ctx)
    theirs, count = require_pairing(ctx, rows)
    try:
        merged = batch.merge_with(theirs)
    except ValueError:
        raise ValueError(
            f"MatrixSolveLs takes a matrix and right sides of one batch; got shapes "
            f"{ctx.inputs[0].shape} and {ctx.inputs[1].shape}"
        ) from None
    return [merged.concatenate([columns, count])]


def _normal_solution(a: Array, b: Array, weight: float) -> Array:
    """Solve the normal equations, or for a wide matrix those of its shortest solution."""
    deep, turned = a.shape[-2] >= a.shape[-1], adjoint_array(a)
    gramian = turned @ a if deep else a @ turned
    gramian = gramian + (weight * np.eye(gramian.shape[-1])).astype(gramian.dtype)
    np.linalg.cholesky(gramian)  # rejects matrices without full rank, which elimination may not detect
    if deep:
        return np.asarray(np.linalg.solve(gramian, turned @ b))
    return np.asarray(turned @ np.linalg.solve(gramian, b))


def _kernel(ctx: KernelContext) -> Kernel:
    dtype, fast = ctx.inputs[0].dtype, bool(ctx.attrs["fast"])

    def solve(matrix: Array, rhs: Array, weight: Any) -> Any:
        check_rows("MatrixSolveLs", matrix, rhs)
        left, right = widened(matrix, dtype), widened(rhs, dtype)
        try:
            if fast:
                return narrowed(_normal_solution(left, right, float(weight)), dtype)
            rank_limit = np.finfo(left.dtype).eps * max(matrix.shape[-2:])
            return narrowed(np.linalg.pinv(left, rank_limit) @ right, dtype)
        except np.linalg.LinAlgError:
            # As in TensorFlow, whose factorisation has a square root of 0 and divides by it; fast=False takes
            # matrices without full rank as well.
            shape = (*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1])
            return np.full(shape, np.nan, dtype.np_dtype)

    return solve


# -- gradient ------------------------------------------------------------------------------------


def _gramian_factor(a: Tensor, weight: Tensor, deep: bool) -> Tensor:
    gramian = matmul(a, a, adjoint_a=deep, adjoint_b=not deep)
    unit = matrix_diag(ones_like(matrix_diag_part(gramian)))
    return cholesky(gramian + cast(weight, a.dtype) * unit)


def _deep_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    (a, b, weight), x = op.inputs, op.outputs[0]
    z = cholesky_solve(_gramian_factor(a, weight, True), grad)
    inner = matmul(x, z, adjoint_b=True)
    both = inner + matmul(z, x, adjoint_b=True)
    return [matmul(b, z, adjoint_b=True) - matmul(a, both), matmul(a, z)]


def _wide_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    a, b, weight = op.inputs
    factor = _gramian_factor(a, weight, False)
    by_b = cholesky_solve(factor, matmul(a, grad))
    inner = cholesky_solve(factor, b)
    rest = grad - matmul(a, by_b, adjoint_a=True)
    first = matmul(by_b, matmul(a, inner, adjoint_a=True), adjoint_b=True)
    return [matmul(inner, rest, adjoint_b=True) - first, by_b]


def _gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    if not op.attrs["fast"]:
        raise ValueError("matrix_solve_ls has a gradient for fast=True only, as in TensorFlow")
    dims = op.inputs[0].shape.sizes
    if dims is None or dims[-1] is None or dims[-2] is None:
        rows, columns = (shape_tensor(op.inputs[0])[axis] for axis in (-2, -1))
        gradients = cond(
            greater_equal(rows, columns), lambda: _deep_gradient(op, grad), lambda: _wide_gradient(op, grad)
        )
        return [*gradients, None]
    chosen = _deep_gradient if dims[-2] >= dims[-1] else _wide_gradient
    return [*chosen(op, grad), None]


op("MatrixSolveLs", _shape, kernel=_kernel, grad=_gradient, cost=cubic_cost, divides=True)

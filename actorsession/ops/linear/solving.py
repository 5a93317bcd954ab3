"""Systems of linear equations: inverses, and triangular and general solutions.

All ops work on batches of matrices with ``numpy.linalg``. Triangular systems are solved by substitution in
blocks, so that nearly all of the work is matrix products. The gradients are the usual ones of matrix calculus
(M. Giles, Collected matrix derivative results), as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, broadcast_shapes
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_all
from actorsession.ops.linear.diagonals import matrix_band_part
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import (
    adjoint_array,
    check_rows,
    check_square,
    cubic_cost,
    matrix_kernel,
    narrowed,
    solution,
    square,
    widened,
)
from actorsession.ops.rows import op

__all__ = ["cholesky_solve", "matrix_inverse", "matrix_solve", "matrix_triangular_solve"]

# Number of rows that are substituted one by one; below it, calls of numpy cost more than their work.
_BLOCK = 16


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverse of square matrices.

    Args:
        input: matrices, in the last two axes.
        adjoint: whether to invert the adjoints of the matrices.
    """
    return raw.MatrixInverse(input, adjoint=adjoint, name=name)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the solution ``x`` of ``matrix @ x = rhs``.

    Args:
        matrix: square matrices, in the last two axes.
        rhs: right sides, as columns of matrices of the same batch.
        adjoint: whether to use the adjoints of the matrices.
    """
    return raw.MatrixSolve(*convert_all([matrix, rhs]), adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Return the solution ``x`` of ``matrix @ x = rhs`` for triangular matrices, by substitution.

    Args:
        matrix: square matrices, of which one triangle is read.
        rhs: right sides, as columns of matrices; the batches broadcast.
        lower: whether to read the lower triangle rather than the upper one.
        adjoint: whether to use the adjoints of the matrices.
    """
    operands = convert_all([matrix, rhs])
    with operands[0].graph.name_scope(name or "triangular_solve"):
        return raw.MatrixTriangularSolve(*operands, lower=lower, adjoint=adjoint)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Return the solution ``x`` of ``chol @ adjoint(chol) @ x = rhs``.

    Args:
        chol: the result of ``cholesky``.
        rhs: right sides, as columns of matrices.
    """
    factor, right = convert_all([chol, rhs])
    with factor.graph.name_scope(name or "cholesky_solve"):
        half = raw.MatrixTriangularSolve(factor, right)
        return raw.MatrixTriangularSolve(factor, half, adjoint=True)


# -- MatrixInverse -------------------------------------------------------------------------------


def _inverse_kernel(ctx: KernelContext) -> Kernel:
    turned = bool(ctx.attrs["adjoint"])
    return matrix_kernel(lambda x: np.linalg.inv(adjoint_array(x) if turned else x), "invertible")(ctx)


def _inverse_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    y = op.outputs[0]
    if op.attrs["adjoint"]:
        return [-matmul(y, matmul(grad, y, adjoint_a=True))]
    return [-matmul(y, matmul(grad, y, adjoint_b=True), adjoint_a=True)]


op("MatrixInverse", square, kernel=_inverse_kernel, grad=_inverse_gradient, cost=cubic_cost, divides=True)


# -- MatrixSolve ---------------------------------------------------------------------------------


def _solve_kernel(ctx: KernelContext) -> Kernel:
    dtype, turned = ctx.inputs[0].dtype, bool(ctx.attrs["adjoint"])

    def solve(matrix: Array, rhs: Array) -> Any:
        check_square("MatrixSolve", matrix)
        check_rows("MatrixSolve", matrix, rhs)
        left, right = widened(matrix, dtype), widened(rhs, dtype)
        try:
            solved = np.linalg.solve(adjoint_array(left) if turned else left, right)
        except np.linalg.LinAlgError as error:
            raise InvalidArgumentError("MatrixSolve: the matrix is not invertible") from error
        return narrowed(solved, dtype)

    return solve


def _solve_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    turned, x = bool(op.attrs["adjoint"]), op.outputs[0]
    by_rhs = matrix_solve(op.inputs[0], grad, adjoint=not turned)
    if turned:
        return [-matmul(x, by_rhs, adjoint_b=True), by_rhs]
    return [-matmul(by_rhs, x, adjoint_b=True), by_rhs]


op(
    "MatrixSolve",
    lambda ctx: solution(ctx, TensorShape.merge_with),
    kernel=_solve_kernel,
    grad=_solve_gradient,
    cost=cubic_cost,
    divides=True,
)


# -- MatrixTriangularSolve -----------------------------------------------------------------------


def _substituted(matrix: Array, x: Array) -> None:
    """Solve for lower triangular matrices, in place of the right sides ``x``."""
    size = matrix.shape[-1]
    if size > _BLOCK:
        half = size // 2
        above, below = x[..., :half, :], x[..., half:, :]
        _substituted(matrix[..., :half, :half], above)
        below -= matrix[..., half:, :half] @ above
        _substituted(matrix[..., half:, half:], below)
        return
    for i in range(size):
        row = x[..., i, :]
        if i:
            row -= (matrix[..., i, None, :i] @ x[..., :i, :])[..., 0, :]
        row /= matrix[..., i, i, None]


def solve_triangular(matrix: Array, rhs: Array, lower: bool) -> Array:
    """Solve triangular systems; where a diagonal contains 0, the result is infinite or NaN."""
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    x = np.array(np.broadcast_to(rhs, batch + rhs.shape[-2:]))
    if lower:
        _substituted(matrix, x)
    else:  # in reverse order, an upper triangle is a lower one
        _substituted(matrix[..., ::-1, ::-1], x[..., ::-1, :])
    return x


def _triangular_kernel(ctx: KernelContext) -> Kernel:
    dtype, op = ctx.inputs[0].dtype, ctx.op
    lower, turned = bool(ctx.attrs["lower"]), bool(ctx.attrs["adjoint"])

    def solve(matrix: Array, rhs: Array) -> Any:
        check_square(op, matrix)
        check_rows(op, matrix, rhs, broadcast=True)
        left = widened(matrix, dtype)
        left = adjoint_array(left) if turned else left
        with np.errstate(divide="ignore", invalid="ignore"):  # of a 0 on the diagonal
            solved = solve_triangular(left, widened(rhs, dtype), lower != turned)
        return narrowed(solved, dtype)

    return solve


def _triangular_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    (matrix, rhs), x = op.inputs, op.outputs[0]
    lower, turned = bool(op.attrs["lower"]), bool(op.attrs["adjoint"])
    by_rhs = matrix_triangular_solve(matrix, grad, lower=lower, adjoint=not turned)
    left, right = (x, by_rhs) if turned else (by_rhs, x)
    by_matrix = -matmul(left, right, adjoint_b=True)
    kept = matrix_band_part(by_matrix, -1, 0) if lower else matrix_band_part(by_matrix, 0, -1)
    return sum_to_operands(matrix, rhs, kept, by_rhs, trailing=2)


op(
    "MatrixTriangularSolve",
    lambda ctx: solution(ctx, broadcast_shapes),
    kernel=_triangular_kernel,
    grad=_triangular_gradient,
    cost=cubic_cost,
)

"""Determinants of square matrices, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.elements.elementwise import conj, log
from actorsession.ops.linear.factorisations import cholesky
from actorsession.ops.linear.matrices import cubic_cost, matrix_kernel, require_square
from actorsession.ops.linear.matrix_diagonals import matrix_diag_part
from actorsession.ops.linear.solving import matrix_inverse
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import op

__all__ = ["LogMatrixDeterminant", "logdet", "matrix_determinant", "slogdet"]


class LogMatrixDeterminant(NamedTuple):
    """The result of ``slogdet``.

    Attributes:
        sign: the determinants divided by their absolute values; 0 for a singular matrix.
        log_abs_determinant: the logarithms of the absolute values; minus infinity for a singular matrix.
    """

    sign: Tensor
    log_abs_determinant: Tensor


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """Return the determinants of square matrices in the last two axes."""
    return raw.MatrixDeterminant(input, name=name)


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """Return the signs of determinants and the logarithms of their absolute values.

    Args:
        input: square matrices, in the last two axes.
    """
    return LogMatrixDeterminant(*raw.LogMatrixDeterminant(input, name=name))


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """Return the logarithms of the determinants of self-adjoint positive definite matrices."""
    value = convert_to_tensor(matrix)
    with value.graph.name_scope(name or "logdet"):
        diagonal = real(matrix_diag_part(cholesky(value)))
        return 2.0 * reduce_sum(log(diagonal), [-1])


# -- nodes ---------------------------------------------------------------------------------------


def _number_each(ctx: InferContext) -> list[TensorShape]:
    return [require_square(ctx)[0]]


def _inverse_adjoint_times(matrix: Tensor, factor: Tensor) -> Tensor:
    return expand_dims(expand_dims(factor, -1), -1) * matrix_inverse(matrix, adjoint=True)


def _determinant_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [_inverse_adjoint_times(op.inputs[0], grad * conj(op.outputs[0]))]


def _logarithm_gradient(op: Operation, _: Tensor | None, grad: Tensor | None) -> Sequence[Tensor | None]:
    # The sign is constant wherever it is differentiable.
    return [None if grad is None else _inverse_adjoint_times(op.inputs[0], grad)]


op(
    "MatrixDeterminant",
    _number_each,
    kernel=matrix_kernel(np.linalg.det, "of finite numbers"),
    grad=_determinant_gradient,
    cost=cubic_cost,
    divides=True,
)
op(
    "LogMatrixDeterminant",
    lambda ctx: _number_each(ctx) * 2,
    kernel=matrix_kernel(np.linalg.slogdet, "of finite numbers"),
    grad=_logarithm_gradient,
    cost=cubic_cost,
    divides=True,
)

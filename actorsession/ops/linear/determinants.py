"""Determinants of square matrices, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.ops import raw
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.elements.complex_numbers import real
from actorsession.ops.elements.elementwise import conj, log
from actorsession.ops.linear.factorisations import cholesky
from actorsession.ops.linear.matrices import cubic_cost, matrix_dtype, matrix_kernel, require_square
from actorsession.ops.linear.matrix_diagonals import matrix_diag_part
from actorsession.ops.linear.solving import matrix_inverse
from actorsession.ops.reductions.reduction import reduce_sum

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
        name: wanted name.
    """
    made = make("LogMatrixDeterminant", [convert_to_tensor(input)], None, name)
    return LogMatrixDeterminant(*made.outputs)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """Return the logarithms of the determinants of self-adjoint positive definite matrices."""
    value = convert_to_tensor(matrix)
    with value.graph.name_scope(name or "logdet"):
        diagonal = real(matrix_diag_part(cholesky(value)))
        return 2.0 * reduce_sum(log(diagonal), [-1])


# -- nodes ---------------------------------------------------------------------------------------


def _infer(ctx: InferContext) -> list[TensorSpec]:
    dtype, (batch, _) = matrix_dtype(ctx), require_square(ctx)
    return [TensorSpec(dtype, batch)]


def _determinant_kernel(ctx: KernelContext) -> Kernel:
    return matrix_kernel(ctx, np.linalg.det, "of finite numbers")


def _logarithm_kernel(ctx: KernelContext) -> Kernel:
    def both(x: Array) -> Any:
        sign, logarithm = np.linalg.slogdet(x)
        return sign, logarithm

    return matrix_kernel(ctx, both, "of finite numbers")


def _inverse_adjoint_times(matrix: Tensor, factor: Tensor) -> Tensor:
    return expand_dims(expand_dims(factor, -1), -1) * matrix_inverse(matrix, adjoint=True)


def _determinant_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [_inverse_adjoint_times(op.inputs[0], grad * conj(op.outputs[0]))]


def _logarithm_gradient(
    op: Operation, _: Tensor | None, grad: Tensor | None
) -> Sequence[Tensor | None]:
    # The sign is constant wherever it is differentiable.
    return [None if grad is None else _inverse_adjoint_times(op.inputs[0], grad)]


register(
    OpDef(
        name="MatrixDeterminant",
        infer=_infer,
        kernel=_determinant_kernel,
        gradient=_determinant_gradient,
        cost=cubic_cost,
    )
)
register(
    OpDef(
        name="LogMatrixDeterminant",
        infer=lambda ctx: _infer(ctx) * 2,
        kernel=_logarithm_kernel,
        gradient=_logarithm_gradient,
        cost=cubic_cost,
    )
)

"""The logarithm of the gamma function and its derivatives, and Hurwitz's zeta function.

``lgamma`` does not need scipy, but is faster with it; the others need it. At poles the results are
TensorFlow's: infinity for ``lgamma``, NaN for ``digamma``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import float32, float64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    Gradient,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.operands import infer_like, infer_same, scalar_like
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.scipy_kernels import (
    cost_of_each,
    in_own_dtype,
    require_scipy,
    scipy_function,
    scipy_kernel,
)

__all__ = ["digamma", "lbeta", "lgamma", "polygamma", "zeta"]


def lgamma(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function, element by element."""
    return raw.Lgamma(x, name=name)


def digamma(x: Any, name: str | None = None) -> Tensor:
    """Return the derivative of ``lgamma``, element by element.

    Raises:
        ImportError: without scipy.
    """
    return raw.Digamma(x, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the derivative of order ``a`` of ``digamma`` at ``x``, with broadcasting.

    Args:
        a: orders, float32 or float64; the result is NaN unless the order is an integer of at least 0.
        x: arguments, the same dtype.
        name: wanted name.

    Raises:
        ImportError: without scipy.
    """
    return raw.Polygamma(a, x, name=name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Return Hurwitz's zeta function: the sum of ``(q + n) ** -x`` over all ``n`` from 0, broadcast.

    Args:
        x: exponents, float32 or float64; the result is NaN below 1.
        q: arguments, the same dtype.
        name: wanted name.

    Raises:
        ImportError: without scipy.
    """
    return raw.Zeta(x, q, name=name)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the multivariate beta function, over the last axis.

    Args:
        x: floating numbers of rank at least 1.
        name: wanted name.
    """
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "lbeta"):
        apart = reduce_sum(lgamma(value), [-1])
        return apart - lgamma(reduce_sum(value, [-1]))


# -- kernels -------------------------------------------------------------------------------------


def _lgamma_of(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or too large for a float64
        return math.inf


def _lgamma_kernel(ctx: KernelContext) -> Kernel:
    by_scipy = scipy_function("gammaln")
    if by_scipy is None:
        each = np.vectorize(_lgamma_of, otypes=[np.float64])
        return in_own_dtype(ctx, lambda x: each(x)[()])
    # scipy returns minus infinity there.
    return in_own_dtype(ctx, lambda x: np.where(np.isneginf(x), np.inf, by_scipy(x))[()])


def _at_pole(x: Any) -> Any:
    return (x <= 0) & (x == np.floor(x))


def _digamma_kernel(ctx: KernelContext) -> Kernel:
    psi = scipy_kernel(ctx, "psi")
    nan = ctx.inputs[0].dtype.np_dtype.type(np.nan)
    return lambda x: np.where(_at_pole(x), nan, psi(x))[()]


def _zeta_kernel(ctx: KernelContext) -> Kernel:
    """Return a kernel that is NaN at poles, except where all terms of the series are positive."""
    function, nan = scipy_kernel(ctx, "zeta"), ctx.inputs[0].dtype.np_dtype.type(np.nan)
    return lambda x, q: np.where(_at_pole(q) & (x > 1) & (x % 2 != 0), nan, function(x, q))[()]


def _polygamma_kernel(ctx: KernelContext) -> Kernel:
    gamma, psi = (scipy_kernel(ctx, name) for name in ("gamma", "psi"))
    zeta_of = _zeta_kernel(ctx)
    nan = ctx.inputs[0].dtype.np_dtype.type(np.nan)

    def polygamma(a: Any, x: Any) -> Any:
        order = a + 1
        sign = np.where(order % 2 == 0, 1, -1).astype(a.dtype)
        derivative = sign * gamma(order) * zeta_of(order, x)
        out = np.where(a == 0, np.where(_at_pole(x), nan, psi(x)), derivative)
        return np.where((a >= 0) & (a == np.floor(a)), out, nan)[()]

    return polygamma


# -- gradients -----------------------------------------------------------------------------------


def _polygamma_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    order, x = op.inputs
    return sum_to_operands(order, x, None, polygamma(order + 1, x) * grad)


def _zeta_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x, q = op.inputs
    return sum_to_operands(x, q, None, -x * zeta(x + 1, q) * grad)


def _digamma_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x = op.inputs[0]
    return [grad * polygamma(scalar_like(1, x), x)]


def _infer_digamma(ctx: InferContext) -> Sequence[TensorSpec]:
    require_scipy(ctx.op)
    return infer_like("f")(ctx)


def _infer_binary(ctx: InferContext) -> Sequence[TensorSpec]:
    require_scipy(ctx.op)
    [spec] = infer_same("f")(ctx)
    if spec.dtype not in (float32, float64):
        raise TypeError(f"{ctx.op} takes float32 or float64; got {spec.dtype.name}")
    return [spec]


def _register_binary(name: str, kernel: Any, gradient: Gradient) -> None:
    register(
        OpDef(
            name=name,
            infer=_infer_binary,
            kernel=kernel,
            gradient=gradient,
            cost=cost_of_each(0.2),
        )
    )


register(
    OpDef(
        name="Lgamma",
        infer=infer_like("f"),
        kernel=_lgamma_kernel,
        gradient=lambda op, grad: [grad * digamma(op.inputs[0])],
        cost=cost_of_each(0.02),
    )
)
register(
    OpDef(
        name="Digamma",
        infer=_infer_digamma,
        kernel=_digamma_kernel,
        gradient=_digamma_gradient,
        cost=cost_of_each(0.02),
    )
)
_register_binary("Polygamma", _polygamma_kernel, _polygamma_gradient)
_register_binary("Zeta", _zeta_kernel, _zeta_gradient)

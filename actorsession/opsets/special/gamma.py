"""The logarithm of the gamma function and its derivatives, and Hurwitz's zeta function.

At poles the results are TensorFlow's: infinity for ``lgamma``, NaN for ``digamma``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.elementwise import chain_rule
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import broadcasts, op, same
from actorsession.ops.scipy_kernels import cost_of_each, in_own_dtype, scipy_function, scipy_kernel
from actorsession.opsets.special import values

__all__ = ["digamma", "lbeta", "lgamma", "polygamma", "zeta"]


def lgamma(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function, element by element."""
    return raw.Lgamma(x, name=name)


def digamma(x: Any, name: str | None = None) -> Tensor:
    """Return the derivative of ``lgamma``, element by element."""
    return raw.Digamma(x, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the derivative of order ``a`` of ``digamma`` at ``x``, with broadcasting.

    The result is NaN unless the order is an integer of at least 0.
    """
    return raw.Polygamma(a, x, name=name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Return Hurwitz's zeta function: the sum of ``(q + n) ** -x`` over all ``n`` from 0, broadcast.

    The result is NaN for an ``x`` below 1.
    """
    return raw.Zeta(x, q, name=name)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the multivariate beta function, over the last axis."""
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "lbeta"):
        apart = reduce_sum(lgamma(value), [-1])
        return apart - lgamma(reduce_sum(value, [-1]))


# -- kernels -------------------------------------------------------------------------------------


def _lgamma_kernel(ctx: KernelContext) -> Kernel:
    function = scipy_function("gammaln") or values.gammaln
    # scipy returns minus infinity there.
    return in_own_dtype(ctx, lambda x: np.where(np.isneginf(x), np.inf, function(x))[()])


def _at_pole(x: Any) -> Any:
    return (x <= 0) & (x == np.floor(x))


def _digamma_kernel(ctx: KernelContext) -> Kernel:
    psi = scipy_kernel("psi", values.psi)(ctx)
    nan = ctx.inputs[0].dtype.np_dtype.type(np.nan)
    return lambda x: np.where(_at_pole(x), nan, psi(x))[()]


def _zeta_kernel(ctx: KernelContext) -> Kernel:
    return in_own_dtype(ctx, values.zeta)


def _polygamma_kernel(ctx: KernelContext) -> Kernel:
    psi = scipy_function("psi") or values.psi

    def polygamma(a: Any, x: Any) -> Any:
        order = np.asarray(a, np.float64) + 1
        derivative = np.where(order % 2 == 0, 1, -1) * values.factorial(a) * values.zeta(order, x)
        first = np.where(_at_pole(x), np.nan, psi(x))
        return np.where((a >= 0) & (a == np.floor(a)), np.where(a == 0, first, derivative), np.nan)[()]

    return in_own_dtype(ctx, polygamma)


_slope = chain_rule(lambda x, y: digamma(x))
_curve = chain_rule(lambda x, y: polygamma(scalar_like(1, x), x))
_poly_back = summed(lambda a, x, z, grad: (None, polygamma(a + 1, x) * grad))
_zeta_back = summed(lambda x, q, z, grad: (None, -x * zeta(x + 1, q) * grad))
_one, _two = cost_of_each(0.02), cost_of_each(0.2)
op("Lgamma", same, kernel=_lgamma_kernel, grad=_slope, cost=_one)
op("Digamma", same, kernel=_digamma_kernel, grad=_curve, cost=_one)
op("Polygamma", broadcasts, kernel=_polygamma_kernel, grad=_poly_back, cost=_two)
op("Zeta", broadcasts, kernel=_zeta_kernel, grad=_zeta_back, cost=_two)

"""The incomplete gamma and beta functions.

Also owns ``IgammaGradA``, the derivative of the incomplete gamma function by its parameter, which scipy does
not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, merge_all, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands, summed
from actorsession.ops.compounds import Body, Value, compound
from actorsession.ops.elements.elementwise import exp, log
from actorsession.ops.elements.quotients import xlog1py, xlogy
from actorsession.ops.rows import broadcasts, op
from actorsession.ops.scipy_kernels import cost_of_each, in_own_dtype, scipy_kernel
from actorsession.opsets.special.gamma import lgamma
from actorsession.opsets.special.values import FUNCTIONS, gammainc_slope

__all__ = ["betainc", "igamma", "igammac"]


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the lower regularised incomplete gamma function of ``a`` above 0 and ``x`` from 0, broadcast."""
    return raw.Igamma(a, x, name=name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return ``1 - igamma(a, x)``, exact also for large ``x``."""
    return raw.Igammac(a, x, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the regularised incomplete beta function of ``a`` and ``b`` above 0 and ``x`` in [0, 1].

    Each argument is a scalar or has the shape of the others.
    """
    return raw.Betainc(a, b, x, name=name)


# -- the incomplete gamma function -----------------------------------------------------------------


def _grad_a_kernel(ctx: KernelContext) -> Kernel:
    return in_own_dtype(ctx, gammainc_slope)


def _kernel(name: str) -> Callable[[KernelContext], Kernel]:
    """Return a function as a kernel that is NaN for parameters not above 0, as in TensorFlow."""
    at_zero = 0 if name == "gammainc" else np.nan  # whatever the parameter is

    def kernel(ctx: KernelContext) -> Kernel:
        function, dtype = scipy_kernel(name, FUNCTIONS[name])(ctx), ctx.inputs[0].dtype.np_dtype

        def positive(a: Any, x: Any) -> Any:
            outside = np.where(x == 0, at_zero, np.nan).astype(dtype)
            values = np.where(a > 0, function(a, x), outside)
            # Where both are infinite TensorFlow has 0 for either function, and not a limit.
            return np.where((a == np.inf) & (x == np.inf), dtype.type(0), values)[()]

        return positive

    return kernel


def _igamma_back(a: Tensor, x: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    by_x = exp(-x + (a - 1) * log(x) - lgamma(a))
    return raw.IgammaGradA(a, x) * grad, by_x * grad


def _igammac_back(a: Tensor, x: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return _igamma_back(a, x, z, -grad)


_cost = cost_of_each(0.1)
op("Igamma", broadcasts, kernel=_kernel("gammainc"), grad=summed(_igamma_back), cost=_cost)
op("Igammac", broadcasts, kernel=_kernel("gammaincc"), grad=summed(_igammac_back), cost=_cost)
# TensorFlow has no gradient of this either.
op("IgammaGradA", broadcasts, kernel=_grad_a_kernel, cost=cost_of_each(1.5))


def _sample_slope(body: Body, alpha: Value, sample: Value) -> Value:
    """Return how samples of gamma distributions move with the parameter; see ``samples.gamma_gradient``."""
    one = alpha.spec.dtype.np_dtype.type(1)
    power = body.Xlogy(body.Sub(alpha, one), sample)
    density = body.Sub(body.Sub(power, sample), body.Lgamma(alpha))
    slope: Value = body.Mul(body.Neg(body.IgammaGradA(alpha, sample)), body.Exp(body.Neg(density)))
    return slope


compound("RandomGammaGrad", _sample_slope)


# -- the incomplete beta function ------------------------------------------------------------------


def _scalars_and_one_shape(ctx: InferContext) -> Sequence[TensorShape]:
    shapes = [spec.shape for spec in ctx.inputs]
    large = [shape for shape in shapes if shape.rank != 0]
    if not large:
        return [scalar_shape]
    try:
        merged = merge_all(large)
    except ValueError:
        raise ValueError(f"Betainc takes scalars and tensors of one shape; got {', '.join(map(str, shapes))}") from None
    # A tensor of unknown rank may be a scalar combined with a larger one.
    known = any(shape.rank is not None for shape in large)
    return [merged if known else unknown_shape]


def _betainc_kernel(ctx: KernelContext) -> Kernel:
    function = scipy_kernel("betainc", FUNCTIONS["betainc"])(ctx)
    nan = ctx.inputs[0].dtype.np_dtype.type(np.nan)

    def betainc(*values: Any) -> Any:
        if len({v.shape for v in values if v.ndim}) > 1:
            result = ", ".join(str(list(v.shape)) for v in values)
            raise InvalidArgumentError(f"Betainc takes scalars and tensors of one shape; got {result}")
        a, b, x = values
        result = np.where((a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b), function(*values), nan)
        # At its ends it is what it is for all parameters, those that are no numbers included.
        ends = ((x == 0) | (x == 1)) & ~((a <= 0) | (b <= 0))
        return np.where(ends, x, result)[()]

    return betainc


def _betainc_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient by ``x`` alone, as in TensorFlow."""
    a, b, x = op.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    by_x = exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta)
    return [None, None, sum_to_operands(x, op.outputs[0], by_x * grad, None)[0]]


op("Betainc", _scalars_and_one_shape, kernel=_betainc_kernel, grad=_betainc_gradient, cost=_cost)

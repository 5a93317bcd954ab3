"""Functions of the standard normal and standard Laplace distributions, accurate far from the centre."""

from __future__ import annotations

import math

import numpy as np

from actorsession import ops
from actorsession.graph.dtypes import float32, float64
from actorsession.graph.operation import Tensor

__all__ = ["log_cdf_laplace", "log_ndtr", "ndtr"]

# Below these values the series is accurate enough; above them, the logarithm of the function itself is.
_SERIES_BELOW = {float32: -10.0, float64: -20.0}
_SERIES_TERMS = 3


def ndtr(x: Tensor) -> Tensor:
    """Return the probability that a standard normal variable is at most ``x``.

    Raises:
        TypeError: if ``x`` is neither float32 nor float64.
    """
    _check(x)
    w = x * np.array(math.sqrt(0.5), x.dtype.np_dtype)
    z = ops.abs(w)
    # Away from the centre, the function with small values is used, which preserves their precision.
    tail = ops.erfc(z)
    outside = ops.where_v2(w > 0.0, 2.0 - tail, tail)
    return 0.5 * ops.where_v2(z < math.sqrt(0.5), 1.0 + ops.erf(w), outside)


def log_ndtr(x: Tensor) -> Tensor:
    """Return the logarithm of ``ndtr``, which stays finite where ``ndtr`` underflows to 0.

    Raises:
        TypeError: if ``x`` is neither float32 nor float64.
    """
    _check(x)
    lower = np.array(_SERIES_BELOW[x.dtype], x.dtype.np_dtype)
    # Each branch gets arguments in its domain, because its gradient is computed even where it is not chosen.
    middle = ops.log(ndtr(ops.maximum(x, lower)))
    zero = ops.zeros([], x.dtype)
    return ops.where_v2(
        x > 1.0,
        ops.log1p(-ndtr(-ops.maximum(x, zero))),
        ops.where_v2(x > lower, middle, _log_series(ops.minimum(x, lower))),
    )


def _log_series(x: Tensor) -> Tensor:
    """Return the asymptotic series of ``log_ndtr`` for numbers far below 0."""
    square = ops.square(x)
    total, term = ops.ones_like(x), ops.ones_like(x)
    for n in range(1, _SERIES_TERMS + 1):
        term = term * float(1 - 2 * n) / square
        total = total + term
    return -0.5 * square - ops.log(-x) - 0.5 * math.log(2.0 * math.pi) + ops.log(total)


def log_cdf_laplace(x: Tensor) -> Tensor:
    """Return the logarithm of the probability that a standard Laplace variable is at most ``x``."""
    upper = ops.log1p(-0.5 * ops.exp(-ops.abs(x)))
    return ops.where_v2(x < 0.0, x - math.log(2.0), upper)


def _check(x: Tensor) -> None:
    if x.dtype not in _SERIES_BELOW:
        raise TypeError(f"x.dtype={x.dtype.name} is not supported; it must be float32 or float64")

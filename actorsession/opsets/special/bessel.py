"""Modified Bessel functions of the first kind, plain and scaled.

All of them need scipy: without it they raise an ImportError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.elements.comparison import equal
from actorsession.ops.elements.elementwise import chain_rule, reciprocal, sign
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import in_scope, scalar_like
from actorsession.ops.rows import op, same
from actorsession.ops.scipy_kernels import by_scipy, cost_of_each, scipy_kernel

__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e"]


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind and order 0, element by element."""
    return in_scope(raw.BesselI0, x, name or "bessel_i0")


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind and order 1, element by element."""
    return in_scope(raw.BesselI1, x, name or "bessel_i1")


def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) * bessel_i0(x)`` without overflow."""
    return in_scope(raw.BesselI0e, x, name or "bessel_i0e")


def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) * bessel_i1(x)`` without overflow."""
    return in_scope(raw.BesselI1e, x, name or "bessel_i1e")


def _at_zero(x: Tensor, value: float, elsewhere: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a derivative that contains a quotient with a limit at 0."""
    zero = equal(x, scalar_like(0, x))
    # Masked twice, so that the derivative of the branch that is not selected is finite too.
    safe = where_v2(zero, scalar_like(1, x), x)
    return where_v2(zero, scalar_like(value, x), elsewhere(safe))


def _i1_slope(x: Tensor, y: Tensor) -> Tensor:
    return _at_zero(x, 1.0, lambda safe: bessel_i0(x) - y / safe)


def _i1e_slope(x: Tensor, y: Tensor) -> Tensor:
    return _at_zero(x, 0.5, lambda safe: bessel_i0e(x) - y * (sign(x) + reciprocal(safe)))


_same, _cost = by_scipy(same), cost_of_each(0.05)
_i0_gradient = chain_rule(lambda x, y: bessel_i1(x))
_i0e_gradient = chain_rule(lambda x, y: bessel_i1e(x) - sign(x) * y)
op("BesselI0", _same, kernel=scipy_kernel("i0"), grad=_i0_gradient, cost=_cost)
op("BesselI0e", _same, kernel=scipy_kernel("i0e"), grad=_i0e_gradient, cost=_cost)
op("BesselI1", _same, kernel=scipy_kernel("i1"), grad=chain_rule(_i1_slope), cost=_cost)
op("BesselI1e", _same, kernel=scipy_kernel("i1e"), grad=chain_rule(_i1e_slope), cost=_cost)

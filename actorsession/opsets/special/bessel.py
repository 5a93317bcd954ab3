"""Modified Bessel functions of the first kind, plain and scaled."""

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
from actorsession.ops.scipy_kernels import cost_of_each, scipy_kernel
from actorsession.opsets.special.values import FUNCTIONS

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


_SLOPES = {
    "i0": lambda x, y: bessel_i1(x),
    "i0e": lambda x, y: bessel_i1e(x) - sign(x) * y,
    "i1": _i1_slope,
    "i1e": _i1e_slope,
}
for _name, _slope in _SLOPES.items():
    op(
        f"Bessel{_name.capitalize()}",
        same,
        kernel=scipy_kernel(_name, FUNCTIONS[_name]),
        grad=chain_rule(_slope),
        cost=cost_of_each(0.05),
    )

"""Products and quotients that are 0 where a factor or divisor is 0."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import not_equal
from actorsession.ops.elements.division import quotient_dtype
from actorsession.ops.elements.elementwise import conj, square
from actorsession.ops.operands import converted, scalar_like
from actorsession.ops.rows import broadcasts, op, where

__all__ = ["div_no_nan", "multiply_no_nan", "reciprocal_no_nan", "xdivy", "xlog1py", "xlogy"]


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` with broadcasting, but 0 where ``y`` is 0; integers are divided as by ``truediv``."""
    with converted(x, y, name or "div_no_nan") as (left, right, scope):
        if left.dtype is right.dtype:
            wide = quotient_dtype(left.dtype)
            left, right = cast(left, wide), cast(right, wide)
        return raw.DivNoNan(left, right, name=scope)


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x * y`` with broadcasting, but 0 where ``y`` is 0, even if ``x`` is infinite or NaN."""
    return raw.MulNoNan(x, y, name=name or "multiply_no_nan")


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """Return ``1 / x``, but 0 where ``x`` is 0."""
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "reciprocal_no_nan") as scope:
        return raw.DivNoNan(scalar_like(1, value), value, name=scope)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x * log(y)`` with broadcasting, but 0 where ``x`` is 0, whatever ``y`` is."""
    return raw.Xlogy(x, y, name=name)


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x * log(1 + y)`` with broadcasting, but 0 where ``x`` is 0, whatever ``y`` is."""
    with graph_of(x, y).name_scope(name or "xlog1py"):  # a scope of its own, as in TensorFlow
        return raw.Xlog1py(x, y)


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` with broadcasting, but 0 where ``x`` is 0, whatever ``y`` is."""
    with graph_of(x, y).name_scope(name or "xdivy"):
        return raw.Xdivy(x, y)


def _div_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    divisor = conj(y)
    by_y = grad * div_no_nan(div_no_nan(-conj(x), divisor), divisor)
    return div_no_nan(grad, divisor), by_y


def _mul_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return multiply_no_nan(grad, y), multiply_no_nan(x, grad)


def _nonzero(x: Tensor) -> Tensor:
    return cast(not_equal(x, scalar_like(0, x)), x.dtype)


def _xlogy_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return xlogy(_nonzero(x), y) * grad, xdivy(x, y) * grad


def _xlog1py_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return xlog1py(_nonzero(x), y) * grad, xdivy(x, y + 1) * grad


def _xdivy_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return xdivy(_nonzero(x), y) * grad, xdivy(-x, square(y)) * grad


for _name, _sentence, _back in (
    ("DivNoNan", lambda xp, ctx: lambda x, y: where(xp, y == 0, 0, x / y), _div_back),
    ("MulNoNan", lambda xp, ctx: lambda x, y: where(xp, y == 0, 0, x * y), _mul_back),
    ("Xdivy", lambda xp, ctx: lambda x, y: where(xp, x == 0, 0, x / y), _xdivy_back),
    ("Xlogy", lambda xp, ctx: lambda x, y: where(xp, x == 0, 0, x * xp.log(y)), _xlogy_back),
    ("Xlog1py", lambda xp, ctx: lambda x, y: where(xp, x == 0, 0, x * xp.log1p(y)), _xlog1py_back),
):
    op(_name, broadcasts, sentence=_sentence, grad=summed(_back))

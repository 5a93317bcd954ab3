"""Products and quotients that are 0 where a factor or divisor is 0."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import not_equal
from actorsession.ops.elements.division import quotient_dtype
from actorsession.ops.elements.elementwise import conj, square
from actorsession.ops.operands import converted, scalar_like
from actorsession.ops.rows import broadcasts, op

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


def _div_no_nan_kernel(ctx: KernelContext) -> Kernel:
    one, zero = (ctx.inputs[0].dtype.np_dtype.type(n) for n in (1, 0))

    def div_no_nan(x: Any, y: Any) -> Any:
        nothing = y == zero
        return np.where(nothing, zero, x / np.where(nothing, one, y))[()]

    return div_no_nan


def _mul_no_nan_kernel(ctx: KernelContext) -> Kernel:
    zero = ctx.inputs[0].dtype.np_dtype.type(0)
    return lambda x, y: np.where(y == zero, zero, x * y)[()]


def _zero_where_x_is(function: Kernel) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        zero = ctx.inputs[0].dtype.np_dtype.type(0)
        return lambda x, y: np.where(x == zero, zero, function(x, y))[()]

    return kernel


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


_log = _zero_where_x_is(lambda x, y: x * np.log(y))
_log1p = _zero_where_x_is(lambda x, y: x * np.log1p(y))
_quotient = _zero_where_x_is(operator.truediv)
op("DivNoNan", broadcasts, grad=summed(_div_back), kernel=_div_no_nan_kernel)
op("MulNoNan", broadcasts, grad=summed(_mul_back), kernel=_mul_no_nan_kernel)
op("Xlogy", broadcasts, grad=summed(_xlogy_back), kernel=_log)
op("Xlog1py", broadcasts, grad=summed(_xlog1py_back), kernel=_log1p)
op("Xdivy", broadcasts, grad=summed(_xdivy_back), kernel=_quotient)

"""Division towards zero, and products and quotients that are 0 where a factor or divisor is 0.

The file has the shape function, kernel, gradient and public function of each op; ``division`` has the
division that rounds down.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, float64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext, OpDef, register
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import not_equal
from actorsession.ops.elements.division import floordiv
from actorsession.ops.elements.elementwise import conj, square
from actorsession.ops.operands import binary, converted, infer_same, register_binary, scalar_like

__all__ = [
    "div_no_nan", "floor_div", "multiply_no_nan", "reciprocal_no_nan", "truncatediv", "truncatemod",
    "xdivy", "xlog1py", "xlogy",
]  # fmt: skip


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` rounded towards zero, with broadcasting.

    An integer divided by zero is an InvalidArgumentError of the step.
    """
    return raw.TruncateDiv(x, y, name=name)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of ``truncatediv``, with the sign of ``x``.

    An integer divided by zero is an InvalidArgumentError of the step.
    """
    return raw.TruncateMod(x, y, name=name)


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the largest whole number not above ``x / y``; ``floordiv`` with another default name."""
    return floordiv(x, y, name or "FloorDiv")


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` with broadcasting, but 0 where ``y`` is 0.

    Args:
        x: numbers; integers of up to 16 bits become float32, wider ones float64.
        y: the same dtype; a plain Python value gets that of ``x``.
        name: wanted name.

    Raises:
        TypeError: if the dtypes differ, or are not numeric.
    """
    with converted(x, y, name or "div_no_nan") as (left, right, scope):
        if left.dtype is right.dtype and left.dtype.is_integer:
            wide = float32 if left.dtype.itemsize <= 2 else float64
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
    return _in_scope("Xlog1py", x, y, name or "xlog1py")


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` with broadcasting, but 0 where ``x`` is 0, whatever ``y`` is."""
    return _in_scope("Xdivy", x, y, name or "xdivy")


def _in_scope(op_type: str, x: Any, y: Any, name: str) -> Tensor:
    """Build the operation in a separate scope, as TensorFlow does for these."""
    graph = graph_of(x, y)
    with graph.name_scope(name), graph.as_default():
        return binary(op_type, x, y)


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


def _whole(ctx: KernelContext, function: Kernel) -> Kernel:
    """Return a division of integers that raises where numpy would warn and return 0."""
    divisor = ctx.constant(1)
    if divisor is not None and np.all(divisor):
        return function

    def divide(x: Any, y: Any) -> Any:
        if not np.all(y):
            raise InvalidArgumentError("Integer division by zero")
        return function(x, y)

    return divide


def _truncatediv_kernel(ctx: KernelContext) -> Kernel:
    if ctx.inputs[0].dtype.is_integer:
        return _whole(ctx, lambda x, y: operator.floordiv(x - np.fmod(x, y), y))
    return lambda x, y: np.trunc(x / y)


def _truncatemod_kernel(ctx: KernelContext) -> Kernel:
    return _whole(ctx, np.fmod) if ctx.inputs[0].dtype.is_integer else np.fmod


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


register_binary("DivNoNan", "fc", _div_no_nan_kernel, summed(_div_back))
register_binary("MulNoNan", "fc", _mul_no_nan_kernel, summed(_mul_back))
register_binary("Xlogy", "fc", _zero_where_x_is(lambda x, y: x * np.log(y)), summed(_xlogy_back))
register_binary(
    "Xlog1py", "fc", _zero_where_x_is(lambda x, y: x * np.log1p(y)), summed(_xlog1py_back)
)
register_binary("Xdivy", "fc", _zero_where_x_is(operator.truediv), summed(_xdivy_back))
register_binary("TruncateDiv", "iuf", _truncatediv_kernel, NOT_DIFFERENTIABLE)
# TensorFlow has no gradient for it.
register(OpDef(name="TruncateMod", infer=infer_same("iuf"), kernel=_truncatemod_kernel))

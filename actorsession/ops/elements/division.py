"""Elementwise division of two tensors with broadcasting, and remainders.

The rounding of integers differs by op as in TensorFlow: ``FloorDiv`` and ``FloorMod`` round down, ``Div``
towards zero. Division of integers by zero is an error. Python's ``/`` converts integers to floating-point
numbers first.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, float32, float64
from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext, OpDef, register
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import make_one
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.operands import converted, infer_same, register_binary

__all__ = ["div", "divide", "floordiv", "floormod", "mod", "realdiv", "truediv"]


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` as in Python 3: integers are divided as floating-point numbers.

    Args:
        x: numbers; integers of up to 16 bits become float32, wider ones float64.
        y: the same dtype; a plain Python value gets that of ``x``.
        name: wanted name.

    Raises:
        TypeError: if the dtypes differ, or are not numeric.
    """
    with converted(x, y, name or "truediv") as (left, right, scope):
        if left.dtype is not right.dtype:
            names = f"{left.dtype.name} and {right.dtype.name}"
            raise TypeError(f"division takes operands of one dtype; got {names}: cast one of them")
        wide = _quotient_dtype(left.dtype)
        return raw.RealDiv(cast(left, wide), cast(right, wide), name=scope)


def _quotient_dtype(dtype: DType) -> DType:
    if not dtype.is_integer:
        return dtype
    return float32 if dtype.itemsize <= 2 else float64


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` as in Python 3; the same as ``truediv``."""
    return truediv(x, y, name)


def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` of floating-point or complex numbers."""
    return raw.RealDiv(x, y, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` as in Python 2: integer quotients are rounded down, others are exact."""
    with converted(x, y, name or "div") as (left, right, scope):
        op_type = "FloorDiv" if left.dtype.is_integer else "RealDiv"
        return make_one(op_type, [left, right], name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x // y``: the quotient rounded down, in the dtype of the operands.

    An integer divided by zero is an InvalidArgumentError of the step.
    """
    return raw.FloorDiv(x, y, name=name or "floordiv")


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x % y``: the remainder of ``floordiv``, with the sign of ``y``.

    An integer divided by zero is an InvalidArgumentError of the step.
    """
    return raw.FloorMod(x, y, name=name)


mod = floormod


def _never_by_zero(ctx: KernelContext, function: Kernel) -> Kernel:
    """Return an integer division that raises where numpy would warn and return 0."""
    if not ctx.inputs[0].dtype.is_integer:
        return function
    divisor = ctx.constant(1)
    if divisor is not None and np.all(divisor):
        return function

    def divide(x: Any, y: Any) -> Any:
        # Testing a scalar's truth takes a tenth of the time of count_nonzero.
        if not (y if y.ndim == 0 else np.count_nonzero(y) == y.size):
            raise InvalidArgumentError("Integer division by zero")
        return function(x, y)

    return divide


def _quotient_down(x: Any, y: Any) -> Any:
    # Not operator.floordiv, which is exact on floats, while TensorFlow rounds the quotient first: 1 // 0.1 is
    # 9 in Python and 10 here.
    return np.floor(x / y)


def _quotient_to_zero(x: Any, y: Any) -> Any:
    return (x - np.fmod(x, y)) // y


def _floordiv_kernel(ctx: KernelContext) -> Kernel:
    integer = ctx.inputs[0].dtype.is_integer
    return _never_by_zero(ctx, operator.floordiv if integer else _quotient_down)


def _div_kernel(ctx: KernelContext) -> Kernel:
    integer = ctx.inputs[0].dtype.is_integer
    return _never_by_zero(ctx, _quotient_to_zero if integer else operator.truediv)


def _mod_kernel(ctx: KernelContext) -> Kernel:
    return _never_by_zero(ctx, operator.mod)


def _emit_mod(ctx: KernelContext, args: Sequence[str]) -> str | None:
    """Return the inline form only for a constant divisor other than zero, as in ``step % 100``."""
    safe = _mod_kernel(ctx) is operator.mod
    return f"({args[0]} % {args[1]})" if safe else None


def _quotient_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    back = grad / conj(y)
    return back, -back * conj(z)


register_binary(
    "RealDiv",
    "fc",
    lambda ctx: operator.truediv,
    summed(_quotient_back),
    "({0} / {1})",
    np.true_divide,
)
register_binary("Div", "iufc", _div_kernel, summed(_quotient_back))
register_binary("FloorDiv", "iuf", _floordiv_kernel, NOT_DIFFERENTIABLE)
register(
    OpDef(
        name="FloorMod",
        infer=infer_same("iuf"),
        kernel=_mod_kernel,
        gradient=summed(lambda x, y, z, grad: (grad, -grad * floordiv(x, y))),
        emit=_emit_mod,
    )
)

for _name, _function in {"truediv": truediv, "floordiv": floordiv, "mod": floormod}.items():
    OPERATORS.fill(_name, functools.partial(_function, name=_name))

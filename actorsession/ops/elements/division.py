"""Elementwise division of two tensors with broadcasting, and remainders.

The rounding of integers differs by op as in TensorFlow: ``FloorDiv`` and ``FloorMod`` round down, ``Div``,
``TruncateDiv`` and ``TruncateMod`` towards zero. Division of integers by zero is an InvalidArgumentError of
the step. Python's ``/`` converts integers to floating-point numbers first.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, float32, float64
from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.operands import converted
from actorsession.ops.rows import broadcasts, op

__all__ = [
    "div",
    "divide",
    "floor_div",
    "floordiv",
    "floormod",
    "mod",
    "realdiv",
    "truediv",
    "truncatediv",
    "truncatemod",
]


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` as in Python 3: integers are divided as floating-point numbers.

    Integers of up to 16 bits become float32, wider ones float64.
    """
    with converted(x, y, name or "truediv") as (left, right, scope):
        if left.dtype is not right.dtype:
            names = f"{left.dtype.name} and {right.dtype.name}"
            raise TypeError(f"division takes operands of one dtype; got {names}: cast one of them")
        wide = quotient_dtype(left.dtype)
        return raw.RealDiv(cast(left, wide), cast(right, wide), name=scope)


def quotient_dtype(dtype: DType) -> DType:
    """Return the element type in which numbers of a type are divided exactly."""
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
        divided = raw.FloorDiv if left.dtype.is_integer else raw.RealDiv
        return divided(left, right, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x // y``: the quotient rounded down, in the dtype of the operands."""
    return raw.FloorDiv(x, y, name=name or "floordiv")


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the largest whole number not above ``x / y``; ``floordiv`` with another default name."""
    return raw.FloorDiv(x, y, name=name)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x % y``: the remainder of ``floordiv``, with the sign of ``y``."""
    return raw.FloorMod(x, y, name=name)


mod = floormod


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` rounded towards zero, in the dtype of the operands."""
    return raw.TruncateDiv(x, y, name=name)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of ``truncatediv``, with the sign of ``x``."""
    return raw.TruncateMod(x, y, name=name)


def _division(integers: Kernel, others: Callable[[Any], Kernel]) -> Callable[[Any, KernelContext], Kernel]:
    """Return the sentence of a division; that of integers by zero raises, where numpy would warn.

    Args:
        integers: divides integers, by anything but zero.
        others: makes what divides other numbers from the module of functions of the arrays.
    """

    def divide(x: Any, y: Any) -> Any:
        # Testing a scalar's truth takes a tenth of the time of count_nonzero. Nothing may be divided by zero.
        if not (y if y.ndim == 0 else np.count_nonzero(y) == y.size) and x.size:
            raise InvalidArgumentError("Integer division by zero")
        return integers(x, y)

    def sentence(xp: Any, ctx: KernelContext) -> Kernel:
        if not ctx.inputs[0].dtype.is_integer:
            return others(xp)
        divisor = ctx.constant(1)
        return integers if divisor is not None and np.all(divisor) else divide

    return sentence


def _quotient_to_zero(x: Any, y: Any) -> Any:
    return (x - np.fmod(x, y)) // y


_modulo = _division(operator.mod, lambda xp: operator.mod)


def _emit_mod(ctx: KernelContext, args: Sequence[str]) -> str | None:
    """Return the inline form only for a constant divisor other than zero, as in ``step % 100``."""
    safe = _modulo(np, ctx) is operator.mod
    return f"({args[0]} % {args[1]})" if safe else None


def _quotient_back(x: Tensor, y: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    back = grad / conj(y)
    return back, -back * conj(z)


def _divided(x: Any, y: Any) -> Any:
    """Return ``x / y``; a finite complex number by an infinite one is 0, where numpy has NaN for some."""
    quotient = x / y
    if quotient.dtype.kind == "c" and (lost := np.isinf(y) & np.isfinite(x)).any():
        return np.where(lost, quotient.dtype.type(0), quotient)[()]
    return quotient


_real_back = summed(_quotient_back)
_mod_back = summed(lambda x, y, z, grad: (grad, -grad * floordiv(x, y)))
# Not operator.floordiv, which is exact on floats, while TensorFlow rounds the quotient first: 1 // 0.1 is 9 in Python
# and 10 here.
_floor = _division(operator.floordiv, lambda xp: lambda x, y: xp.floor(x / y))
_div = _division(_quotient_to_zero, lambda xp: _divided if xp is np else operator.truediv)
_truncate = _division(_quotient_to_zero, lambda xp: lambda x, y: xp.trunc(x / y))
op(
    "RealDiv",
    broadcasts,
    grad=_real_back,
    into=np.true_divide,
    sentence=lambda xp, ctx: _divided if xp is np and ctx.inputs[0].dtype.kind == "c" else operator.truediv,
    emit=lambda ctx, args: None if ctx.inputs[0].dtype.kind == "c" else f"({args[0]} / {args[1]})",
)
op("Div", broadcasts, grad=_real_back, sentence=_div)
op("FloorDiv", broadcasts, grad=NOT_DIFFERENTIABLE, sentence=_floor)
op("FloorMod", broadcasts, grad=_mod_back, sentence=_modulo, emit=_emit_mod)
op("TruncateDiv", broadcasts, grad=NOT_DIFFERENTIABLE, sentence=_truncate)
op("TruncateMod", broadcasts, sentence=_division(np.fmod, lambda xp: xp.fmod))  # TensorFlow has no gradient

for _name, _function in {"truediv": truediv, "floordiv": floordiv, "mod": floormod}.items():
    OPERATORS.fill(_name, functools.partial(_function, name=_name))

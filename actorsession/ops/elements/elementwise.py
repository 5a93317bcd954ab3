"""Elementwise functions of one tensor.

Gradients are written with operators on tensors, so this file needs none of the other math files; complex
arguments are conjugated in them, as in TensorFlow. Where a derivative is cheaper from the result than from
the argument, a ``...Grad`` op computes it in few passes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.operation import OPERATORS, Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, Gradient, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op, same, where

__all__ = [
    "abs", "ceil", "conj", "cos", "exp", "expm1", "floor", "log", "log1p", "negative",
    "reciprocal", "reciprocal_of", "round", "rsqrt", "sign", "sin", "sqrt", "square", "tan",
]  # fmt: skip


def chain_rule(derivative: Callable[[Tensor, Tensor], Tensor]) -> Gradient:
    """Return the gradient of an op whose derivative is a function of its argument and its result."""

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [grad * conj(derivative(op.inputs[0], op.outputs[0]))]

    return gradient


# -- sign and rounding ---------------------------------------------------------------------------


def negative(x: Any, name: str | None = None) -> Tensor:
    """Return ``-x``, element by element."""
    return raw.Neg(x, name=name)


def abs(x: Any, name: str | None = None) -> Tensor:
    """Return the absolute value, element by element; that of complex numbers is real."""
    value = convert_to_tensor(x)
    if value.dtype.is_complex:
        return raw.ComplexAbs(value, Tout=f"float{value.dtype.itemsize * 4}", name=name or "Abs")
    return raw.Abs(value, name=name)


def sign(x: Any, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1 by the sign of each element; ``x / |x|`` for complex numbers."""
    return raw.Sign(x, name=name)


def floor(x: Any, name: str | None = None) -> Tensor:
    """Return the largest integer not above each element, as floating-point number."""
    return raw.Floor(x, name=name)


def ceil(x: Any, name: str | None = None) -> Tensor:
    """Return the smallest integer not below each element, as floating-point number."""
    return raw.Ceil(x, name=name)


def round(x: Any, name: str | None = None) -> Tensor:
    """Return the nearest integer of each element, halves to the even one; integers are returned unchanged."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else raw.Round(x, name=name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """Return the complex conjugate; a tensor of real numbers is returned unchanged."""
    x = convert_to_tensor(x)
    return raw.Conj(x, name=name) if x.dtype.is_complex else x


def _round_kernel(ctx: KernelContext) -> Kernel:
    # np.rint turns integers into float64.
    return np.positive if ctx.inputs[0].dtype.is_integer else np.rint


def _zeros(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [raw.ZerosLike(op.inputs[0])]


op("Neg", same, operator.neg, lambda op, grad: [-grad], emit="(-{0})", into=np.negative)
op("Abs", same, operator.abs, lambda op, grad: [grad * sign(op.inputs[0])], into=np.absolute)
op("Sign", same, np.sign, _zeros)
op("Floor", same, "floor", NOT_DIFFERENTIABLE)
op("Ceil", same, "ceil", NOT_DIFFERENTIABLE)
op("Conj", same, np.conjugate, lambda op, grad: [conj(grad)])
op("Round", same, "round", kernel=_round_kernel, grad=NOT_DIFFERENTIABLE)


# -- powers --------------------------------------------------------------------------------------


def square(x: Any, name: str | None = None) -> Tensor:
    """Return ``x * x``, element by element."""
    return raw.Square(x, name=name)


def sqrt(x: Any, name: str | None = None) -> Tensor:
    """Return the square root, element by element; NaN below zero."""
    return raw.Sqrt(x, name=name)


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """Return ``1 / sqrt(x)``, element by element."""
    return raw.Rsqrt(x, name=name)


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """Return ``1 / x``, element by element."""
    return raw.Reciprocal(x, name=name)


def reciprocal_of(x: Any, out: Array | None = None) -> Any:
    """Return ``1 / x``; that of an infinite complex number is 0, where numpy has NaN for some of them."""
    if x.dtype.kind != "c":
        return np.reciprocal(x, out=out)
    infinite, pole = np.isinf(x), np.copysign(np.inf, x.real) * np.where(x == 0, 1, np.nan)
    inverse = np.where(infinite, x.dtype.type(0), np.reciprocal(x, out=out))
    inverse.real = np.where(np.isnan(pole), inverse.real, pole)
    return inverse[()]


def _rsqrt_array(x: Array, out: Array | None = None) -> Array:
    root = np.sqrt(x, out)
    inverse: Array = reciprocal_of(root, root)
    return inverse


def _reciprocal_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [raw.ReciprocalGrad(op.outputs[0], grad)]


# x + x needs no constant 2.
op("Square", same, "square", chain_rule(lambda x, y: x + x), scalar=lambda x: x * x)
op("Sqrt", same, "sqrt", lambda op, grad: [raw.SqrtGrad(op.outputs[0], grad)])
op(
    "Rsqrt",
    same,
    _rsqrt_array,
    lambda op, grad: [raw.RsqrtGrad(op.outputs[0], grad)],
    scalar=lambda x: reciprocal_of(np.sqrt(x)),
    into=_rsqrt_array,
)
for _name in ("Reciprocal", "Inv"):  # TensorFlow's older name
    op(
        _name,
        same,
        grad=_reciprocal_gradient,
        into=np.reciprocal,
        kernel=lambda ctx: reciprocal_of if ctx.inputs[0].dtype.kind == "c" else np.reciprocal,
    )


# As in TensorFlow, these get the result itself and conjugate it if it is complex.


def _slope(of_result: Callable[[Any, Any], Any]) -> Callable[[Any, KernelContext], Kernel]:
    """Return the sentence of a gradient that is zero where the gradient before it is, also at a pole."""

    def sentence(xp: Any, ctx: KernelContext) -> Kernel:
        is_complex = ctx.inputs[0].dtype.is_complex

        def slope(y: Any, dy: Any) -> Any:
            out = of_result(xp.conj(y) if is_complex else y, dy)
            if xp is np and np.isfinite(out).all():  # what arrays of a device hold is not known without a wait
                return out
            return where(xp, dy == 0, 0, out)

        return slope

    return sentence


def _sqrt_grad(y: Any, dy: Any) -> Any:
    # Halving first would round denormal gradients to zero.
    out = dy / y
    out /= 2
    return out


def _rsqrt_grad(y: Any, dy: Any) -> Any:
    out = y * y
    out *= y
    out *= dy
    out /= -2
    return out


def _reciprocal_grad(y: Any, dy: Any) -> Any:
    out = -y
    out *= y
    out *= dy
    return out


def _sqrt_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    slope = grad / op.inputs[0]
    return [-conj(slope) * op.outputs[0], slope * 0.5]


def _rsqrt_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    y, dy = conj(op.inputs[0]), op.inputs[1]
    return [conj(grad) * dy * square(y) * -1.5, raw.RsqrtGrad(y, grad)]


def _reciprocal_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    y, dy = conj(op.inputs[0]), op.inputs[1]
    return [conj(grad) * dy * y * -2, raw.ReciprocalGrad(y, grad)]


op("SqrtGrad", same, sentence=_slope(_sqrt_grad), grad=_sqrt_grad_gradient)
op("RsqrtGrad", same, sentence=_slope(_rsqrt_grad), grad=_rsqrt_grad_gradient)
for _name in ("ReciprocalGrad", "InvGrad"):
    op(_name, same, sentence=_slope(_reciprocal_grad), grad=_reciprocal_grad_gradient)


# -- exponential and trigonometric functions -----------------------------------------------------


def exp(x: Any, name: str | None = None) -> Tensor:
    """Return the number e to the power of ``x``, element by element."""
    return raw.Exp(x, name=name)


def expm1(x: Any, name: str | None = None) -> Tensor:
    """Return ``exp(x) - 1``, exact also for small ``x``."""
    return raw.Expm1(x, name=name)


def log(x: Any, name: str | None = None) -> Tensor:
    """Return the natural logarithm, element by element; NaN below zero."""
    return raw.Log(x, name=name)


def log1p(x: Any, name: str | None = None) -> Tensor:
    """Return ``log(1 + x)``, exact also for small ``x``."""
    return raw.Log1p(x, name=name)


def sin(x: Any, name: str | None = None) -> Tensor:
    """Return the sine of an angle in radians, element by element."""
    return raw.Sin(x, name=name)


def cos(x: Any, name: str | None = None) -> Tensor:
    """Return the cosine of an angle in radians, element by element."""
    return raw.Cos(x, name=name)


def tan(x: Any, name: str | None = None) -> Tensor:
    """Return the tangent of an angle in radians, element by element."""
    return raw.Tan(x, name=name)


op("Exp", same, "exp", chain_rule(lambda x, y: y))
op("Expm1", same, "expm1", chain_rule(lambda x, y: exp(x)))
# By reciprocals, whose own gradient is zero at the pole where the gradient before it is.
op("Log", same, "log", lambda op, grad: [grad * reciprocal(conj(op.inputs[0]))])
op("Log1p", same, "log1p", lambda op, grad: [grad * reciprocal(1 + conj(op.inputs[0]))])
op("Sin", same, "sin", chain_rule(lambda x, y: cos(x)))
op("Cos", same, "cos", chain_rule(lambda x, y: -sin(x)))
op("Tan", same, "tan", chain_rule(lambda x, y: 1 + square(y)))


OPERATORS.fill("neg", negative)
OPERATORS.fill("abs", abs)

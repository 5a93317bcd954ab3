"""Activation functions, and the ops that compute their gradients from values of the forward pass.

Sigmoid and softplus do not overflow for any real argument. Each ``...Grad`` op allocates one new array and
works in place on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import float32, float64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.build import make_one
from actorsession.ops.elements.elementwise import conj, reciprocal_of
from actorsession.ops.operands import by_rank
from actorsession.ops.rows import op, same

__all__ = ["elu", "relu", "relu6", "sigmoid", "softplus", "tanh"]


def tanh(x: Any, name: str | None = None) -> Tensor:
    """Return the hyperbolic tangent, element by element."""
    return raw.Tanh(x, name=name)


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Return ``1 / (1 + exp(-x))``, element by element."""
    return raw.Sigmoid(x, name=name)


def relu(features: Any, name: str | None = None) -> Tensor:
    """Return ``max(features, 0)``, element by element."""
    return raw.Relu(features, name=name)


def relu6(features: Any, name: str | None = None) -> Tensor:
    """Return ``min(max(features, 0), 6)``, element by element."""
    return raw.Relu6(features, name=name)


def elu(features: Any, name: str | None = None) -> Tensor:
    """Return ``features`` where positive, ``exp(features) - 1`` elsewhere."""
    return raw.Elu(features, name=name)


def softplus(features: Any, name: str | None = None) -> Tensor:
    """Return ``log(1 + exp(features))``, element by element."""
    return raw.Softplus(features, name=name)


# -- kernels -------------------------------------------------------------------------------------
# Constants in kernels have the dtype of the tensor: a Python float would widen bfloat16.


# A function with a parameter ``out`` writes to that array, or to a new one: see ``OpDef.into``.


def _sigmoid_array(x: Array, out: Array | None = None) -> Any:
    # exp(-x) overflows to infinity for large negative x, and 1 / infinity is the right answer.
    # tanh would be faster, but loses all digits there, where a logarithm often follows.
    out = np.negative(x, out)
    np.exp(out, out=out)
    out += out.dtype.type(1)
    return reciprocal_of(out, out)


def _sigmoid_kernel(ctx: KernelContext) -> Kernel:
    one = ctx.inputs[0].dtype.np_dtype.type(1)
    return by_rank(ctx, lambda x: reciprocal_of(one + np.exp(-x)), _sigmoid_array)


# np.maximum with a scalar takes three times as long per element as clip, whose call takes 1 us more.
_MANY = 8192


def _relu_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[0].dtype
    zero = dtype.np_dtype.type(0)
    if dtype not in (float32, float64):
        return lambda x: np.maximum(x, zero)
    top = dtype.np_dtype.type(np.inf)

    def array(x: Array) -> Any:
        return x.clip(zero, top) if x.size > _MANY else np.maximum(x, zero)

    # For a numpy scalar, [()] returns the scalar itself; for an array of rank 0 it returns a copy.
    return by_rank(ctx, lambda x: (x if x > zero or x != x else zero)[()], array)


def _relu_into(x: Array, out: Array) -> None:
    zero = out.dtype.type(0)
    if out.dtype in (np.float32, np.float64):
        x.clip(zero, out.dtype.type(np.inf), out)
    else:
        np.maximum(x, zero, out=out)


def _relu6_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[0].dtype
    zero, six = dtype.np_dtype.type(0), dtype.np_dtype.type(6)
    clips = dtype in (float32, float64)

    def array(x: Array) -> Any:
        if clips and x.size > _MANY:
            return x.clip(zero, six)
        out = np.maximum(x, zero)
        return np.minimum(out, six, out=out)

    return by_rank(ctx, lambda x: np.minimum(np.maximum(x, zero), six), array)


def _elu_kernel(ctx: KernelContext) -> Kernel:
    zero = ctx.inputs[0].dtype.np_dtype.type(0)

    # expm1(min(x, 0)) is 0 above zero, and never below x otherwise: max chooses the right branch.
    def array(x: Array) -> Any:
        out = np.minimum(x, zero)
        np.expm1(out, out=out)
        return np.maximum(out, x, out=out)

    return by_rank(ctx, lambda x: np.maximum(np.expm1(np.minimum(x, zero)), x), array)


def _softplus_kernel(ctx: KernelContext) -> Kernel:
    zero = ctx.inputs[0].dtype.np_dtype.type(0)

    # max(x, 0) + log1p(exp(-|x|)). np.logaddexp is the same thing, element by element: 13 times
    # slower on 4M float32.
    def array(x: Array) -> Any:
        out = np.abs(x)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.log1p(out, out=out)
        out += np.maximum(x, zero)
        return out

    return by_rank(ctx, lambda x: np.logaddexp(x, zero), array)


# -- kernels of gradients ------------------------------------------------------------------------
# Augmented operators serve arrays (in place) and numpy scalars (a new one) alike.


def _tanh_grad_array(y: Array, dy: Array, out: Array | None = None) -> Array:
    out = np.multiply(y, y, out)
    np.subtract(out.dtype.type(1), out, out=out)
    out *= dy
    return out


def _tanh_grad_kernel(ctx: KernelContext) -> Kernel:
    one = ctx.inputs[0].dtype.np_dtype.type(1)
    return by_rank(ctx, lambda y, dy: (one - y * y) * dy, _tanh_grad_array)


def _sigmoid_grad_kernel(ctx: KernelContext) -> Kernel:
    one = ctx.inputs[0].dtype.np_dtype.type(1)

    def sigmoid_grad(y: Any, dy: Any) -> Any:
        out = one - y
        out *= y
        out *= dy
        return out

    return sigmoid_grad


def _sigmoid_grad_into(y: Any, dy: Any, out: Array) -> None:
    np.subtract(out.dtype.type(1), y, out)
    np.multiply(out, y, out)
    np.multiply(out, dy, out)


def _relu_grad_kernel(ctx: KernelContext) -> Kernel:
    zero = ctx.inputs[0].dtype.np_dtype.type(0)
    # A product with the mask, as in TensorFlow: np.where branches per element, 6 times slower.
    return lambda gradients, features: gradients * (features > zero)


def _relu_grad_into(gradients: Any, features: Any, out: Array) -> None:
    np.multiply(gradients, features > out.dtype.type(0), out)


def _relu6_grad(xp: Any, ctx: KernelContext) -> Kernel:
    def relu6_grad(gradients: Any, features: Any) -> Any:
        mask = features > 0
        mask &= features < 6
        return gradients * mask

    return relu6_grad


def _elu_grad_kernel(ctx: KernelContext) -> Kernel:
    make = ctx.inputs[0].dtype.np_dtype.type
    zero, one = make(0), make(1)

    def elu_grad(gradients: Any, outputs: Any) -> Any:
        # fmin rather than minimum: as in TensorFlow, the gradient passes unchanged where the output is NaN.
        out = np.fmin(outputs, zero)
        out += one
        out *= gradients
        return out

    return elu_grad


def _softplus_grad_kernel(ctx: KernelContext) -> Kernel:
    one = ctx.inputs[0].dtype.np_dtype.type(1)

    def array(gradients: Array, features: Array) -> Array:
        out = np.negative(features)
        np.exp(out, out=out)
        out += one
        return np.divide(gradients, out, out=out)

    return by_rank(ctx, lambda g, x: g / (one + np.exp(-x)), array, index=1)


# -- gradients -----------------------------------------------------------------------------------


def _masked(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient of an op that masks its first input: the incoming gradient, masked alike."""
    features = op.inputs[1]
    return [make_one(op.type, [grad, features]), raw.ZerosLike(features)]


def _tanh_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    y, dy = (conj(t) for t in op.inputs)
    return [grad * dy * y * -2, raw.TanhGrad(y, grad)]


def _sigmoid_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    y, dy = (conj(t) for t in op.inputs)
    return [grad * dy * (1 - 2 * y), raw.SigmoidGrad(y, grad)]


def _elu_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    gradients, outputs = op.inputs
    # Where the output is negative (its negation is positive), the output is part of the slope.
    below = raw.ReluGrad(grad * gradients, -outputs)
    return [raw.EluGrad(grad, outputs), below]


def _softplus_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    gradients, features = op.inputs
    curve = raw.SigmoidGrad(sigmoid(features), grad * gradients)
    return [raw.SoftplusGrad(grad, features), curve]


op("Tanh", same, "tanh", lambda op, g: [raw.TanhGrad(conj(op.outputs[0]), g)])
op(
    "Sigmoid",
    same,
    kernel=_sigmoid_kernel,
    into=_sigmoid_array,
    grad=lambda op, g: [raw.SigmoidGrad(conj(op.outputs[0]), g)],
)
op("Relu", same, kernel=_relu_kernel, into=_relu_into, grad=lambda op, g: [raw.ReluGrad(g, op.outputs[0])])
op("Relu6", same, kernel=_relu6_kernel, grad=lambda op, g: [raw.Relu6Grad(g, op.outputs[0])])
op("Elu", same, kernel=_elu_kernel, grad=lambda op, g: [raw.EluGrad(g, op.outputs[0])])
op("Softplus", same, kernel=_softplus_kernel, grad=lambda op, g: [raw.SoftplusGrad(g, op.inputs[0])])
op("TanhGrad", same, kernel=_tanh_grad_kernel, grad=_tanh_grad_gradient, into=_tanh_grad_array)
op("SigmoidGrad", same, kernel=_sigmoid_grad_kernel, grad=_sigmoid_grad_gradient, into=_sigmoid_grad_into)
op("ReluGrad", same, kernel=_relu_grad_kernel, grad=_masked, into=_relu_grad_into)
op("Relu6Grad", same, sentence=_relu6_grad, grad=_masked)
op("EluGrad", same, kernel=_elu_grad_kernel, grad=_elu_grad_gradient)
op("SoftplusGrad", same, kernel=_softplus_grad_kernel, grad=_softplus_grad_gradient)

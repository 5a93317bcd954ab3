"""Further activation functions: selu, leaky and concatenated relu, softsign, swish, log_sigmoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.arrays.joining import concat
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.elementwise import negative
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.neural.activations import relu, sigmoid, softplus
from actorsession.ops.operands import scalar_like
from actorsession.ops.rows import numbers, op, same, where

__all__ = ["crelu", "leaky_relu", "log_sigmoid", "selu", "softsign", "swish"]

# With these constants, activations of mean 0 and variance 1 keep both from layer to layer (Klambauer et al.,
# Self-Normalizing Neural Networks).
_SCALE = 1.0507009873554804934193349852946
_SCALE_ALPHA = 1.7580993408473768599402175208123


def selu(features: Any, name: str | None = None) -> Tensor:
    """Return ``scale * features`` where positive, ``scale * alpha * (exp(features) - 1)`` elsewhere."""
    return raw.Selu(features, name=name)


def softsign(features: Any, name: str | None = None) -> Tensor:
    """Return ``features / (1 + |features|)``, element by element."""
    return raw.Softsign(features, name=name)


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """Return ``features`` where positive, ``alpha * features`` elsewhere; integers become float32."""
    value = convert_to_tensor(features)
    with value.graph.name_scope(name or "LeakyRelu") as scope:
        if value.dtype.is_integer:
            value = cast(value, float32)
        return raw.LeakyRelu(value, alpha=float(alpha), name=scope)


def swish(features: Any, beta: Any = 1.0) -> Tensor:
    """Return ``features * sigmoid(beta * features)``, element by element."""
    value = convert_to_tensor(features)
    with value.graph.name_scope("swish"):
        steep = convert_to_tensor(beta, value.dtype, "beta", graph=value.graph)
        return value * sigmoid(steep * value)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Return the relu of ``features`` and of ``-features``, joined along an axis."""
    value = convert_to_tensor(features)
    with value.graph.name_scope(name or "CRelu") as scope:
        return relu(concat([value, -value], axis, name=scope))


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Return ``log(sigmoid(x))``, element by element, without underflow."""
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "LogSigmoid") as scope:
        return negative(softplus(-value), name=scope)


# -- kernels -------------------------------------------------------------------------------------


def _selu(xp: Any, ctx: KernelContext) -> Kernel:
    scale, scale_alpha = numbers(xp, ctx, _SCALE, _SCALE_ALPHA)
    return lambda x: where(xp, x < 0, xp.expm1(x) * scale_alpha, x * scale)


def _selu_grad(xp: Any, ctx: KernelContext) -> Kernel:
    scale, scale_alpha = numbers(xp, ctx, _SCALE, _SCALE_ALPHA)
    return lambda gradients, outputs: gradients * where(xp, outputs < 0, outputs + scale_alpha, scale)


def _leaky_relu(xp: Any, ctx: KernelContext) -> Kernel:
    [alpha] = numbers(xp, ctx, ctx.attrs["alpha"])
    return lambda x: where(xp, x > 0, x, x * alpha)


def _leaky_relu_grad(xp: Any, ctx: KernelContext) -> Kernel:
    [alpha] = numbers(xp, ctx, ctx.attrs["alpha"])
    return lambda gradients, x: where(xp, x > 0, gradients, gradients * alpha)


def _softsign(xp: Any, ctx: KernelContext) -> Kernel:
    return lambda x: x / (1 + xp.abs(x))


def _softsign_grad(xp: Any, ctx: KernelContext) -> Kernel:
    def softsign_grad(gradients: Any, x: Any) -> Any:
        root = 1 + xp.abs(x)
        return gradients / (root * root)

    return softsign_grad


# -- gradients -----------------------------------------------------------------------------------


def _selu_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    gradients, outputs = op.inputs
    zero = scalar_like(0, grad)
    below = where_v2(less(outputs, zero), grad * gradients, zero)
    return [raw.SeluGrad(grad, outputs), below]


def _leaky_relu_grad_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x = op.inputs[1]
    back = raw.LeakyReluGrad(grad, x, alpha=op.attrs["alpha"])
    return [back, raw.ZerosLike(x)]


op("Selu", same, sentence=_selu, grad=lambda op, g: [raw.SeluGrad(g, op.outputs[0])])
op("SeluGrad", same, sentence=_selu_grad, grad=_selu_grad_gradient)
op(
    "LeakyRelu",
    same,
    sentence=_leaky_relu,
    grad=lambda op, g: [raw.LeakyReluGrad(g, op.inputs[0], alpha=op.attrs["alpha"])],
)
op("LeakyReluGrad", same, sentence=_leaky_relu_grad, grad=_leaky_relu_grad_gradient)
op("Softsign", same, sentence=_softsign, grad=lambda op, g: [raw.SoftsignGrad(g, op.inputs[0])])
op("SoftsignGrad", same, sentence=_softsign_grad)  # TensorFlow has no gradient of it either

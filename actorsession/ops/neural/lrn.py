"""Local response normalisation: each number is divided by a power of the squares of neighbouring channels.

Owns ``LRN`` and ``LRNGrad``. The sum over neighbours is a product with a band matrix of ones: BLAS is faster
at it than additions of shifted images, up to a few hundred channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.blas import product
from actorsession.ops.build import make_one
from actorsession.ops.convolutions.nodes import halves_widened
from actorsession.ops.operands import merged_shape
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import elements

__all__ = ["local_response_normalization", "lrn"]


def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Tensor:
    """Return ``input / (bias + alpha * sum of squares of near channels) ** beta``.

    Args:
        input: images ``[batch, height, width, channels]`` of a floating type.
        depth_radius: number of channels on either side that count as near.

    Raises:
        ValueError: for another rank.
        TypeError: for another type.
    """
    return raw.LRN(
        input, depth_radius=int(depth_radius), bias=float(bias), alpha=float(alpha), beta=float(beta), name=name
    )


lrn = local_response_normalization


def _images(ctx: InferContext) -> Sequence[TensorShape]:
    shape = merged_shape(ctx)
    if shape.rank not in (None, 4):
        raise ValueError(f"{ctx.op} takes images of rank 4, got shape {shape}")
    return [shape.with_rank(4)]


@lru_cache(maxsize=32)
def _band(xp: Any, channels: int, radius: int, dtype: Any, device: Any) -> Any:
    """Return a symmetric matrix with ones where two channels are near each other."""
    numbers = xp.arange(channels, device=device)
    return xp.asarray(xp.abs(numbers[:, None] - numbers) <= radius, dtype=dtype)


class _Near:
    """Sums of squares of near channels, by the attributes of a node.

    Args:
        xp: the module of functions of the arrays.
        ctx: the node.
    """

    def __init__(self, xp: Any, ctx: KernelContext) -> None:
        self._xp, self._multiply = xp, product if xp is np else xp.matmul
        self._radius, self._bias, self.alpha, self.beta = (
            ctx.attrs[key] for key in ("depth_radius", "bias", "alpha", "beta")
        )

    def sums(self, x: Any) -> Any:
        """Return the sums over near channels."""
        channels = x.shape[-1]
        band = _band(self._xp, channels, self._radius, x.dtype, x.device)
        return self._multiply(x.reshape(-1, channels), band).reshape(x.shape)

    def norm(self, x: Any) -> Any:
        """Return what is divided by a power of."""
        out = self.sums(x * x)
        out *= self.alpha
        out += self._bias
        return out


def _check(x: Any, *others: Any) -> None:
    if x.ndim != 4 or any(o.shape != x.shape for o in others):
        shapes = [list(a.shape) for a in (x, *others)]
        raise InvalidArgumentError(f"images of one shape of rank 4 are needed, got {shapes}")


def _response(xp: Any, ctx: KernelContext) -> Kernel:
    near = _Near(xp, ctx)

    def kernel(x: Any) -> Any:
        _check(x)
        return x * near.norm(x) ** -near.beta

    return halves_widened(kernel, ctx.outputs[0].dtype, xp)


def _response_back(xp: Any, ctx: KernelContext) -> Kernel:
    near = _Near(xp, ctx)

    def kernel(grads: Any, x: Any, y: Any) -> Any:
        _check(grads, x, y)
        norm = near.norm(x)
        back = grads * y / norm
        out = grads * norm**-near.beta
        if not norm.all():  # without a bias, pixels of zeros; no gradient comes back through them
            none = grads == 0
            back[none], out[none] = 0, 0
        shared = near.sums(back)
        shared *= x
        shared *= 2 * near.alpha * near.beta
        out -= shared
        return out

    return halves_widened(kernel, ctx.outputs[0].dtype, xp)


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    # A power takes about ten nanoseconds an element.
    return 10.0 + elements(outputs[0]) / 50.0


op(
    "LRN",
    _images,
    sentence=_response,
    cost=_cost,
    divides=True,
    grad=lambda op, grad: [make_one("LRNGrad", [grad, op.inputs[0], op.outputs[0]], op.attrs)],
)
op("LRNGrad", _images, sentence=_response_back, cost=_cost, divides=True)

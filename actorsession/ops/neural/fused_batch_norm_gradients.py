"""Second derivatives of batch normalisation: the gradient of ``FusedBatchNormGrad``, composed of ops.

``fused_batch_norm`` registers it. For a channel with N elements let r = 1 / sqrt(variance + epsilon), n =
(x - mean) r, and in training k(v) = v - mean(v) - n mean(v n), else k(v) = v. The node computes s r k(g),
sum(g n) and sum(g). The map from g to k(g) is its own adjoint, which gives the gradients by g and s; that by
x follows from dr/dx = -r^2 n / N and d mean(v n)/dx = r k(v) / N. Mean and variance are taken from the images
anew, as in TensorFlow, so that third derivatives hold as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.convolutions.windows import channel_axis
from actorsession.ops.elements.elementwise import rsqrt, square
from actorsession.ops.reductions.reduction import reduce_mean, reduce_sum
from actorsession.records import dataclass

__all__ = ["second_gradient"]


@dataclass(frozen=True, slots=True)
class _Channels:
    """The layout of per-channel vectors relative to the images.

    Attributes:
        front: whether the channels are axis 1.
        rank: rank of the images.
    """

    front: bool
    rank: int

    @property
    def rest(self) -> list[int]:
        """All axes except the channel axis."""
        return [i for i in range(self.rank) if i != (1 if self.front else self.rank - 1)]

    def mean(self, x: Tensor) -> Tensor:
        """Return the mean of each channel, ready to broadcast."""
        return reduce_mean(x, self.rest, keepdims=True)

    def total(self, x: Tensor) -> Tensor:
        """Return the sum of each channel as a vector."""
        return reduce_sum(x, self.rest)

    def spread(self, vector: Tensor) -> Tensor:
        """Return a per-channel vector reshaped for broadcasting."""
        if not self.front:
            return vector
        return reshape(vector, [1, -1, *[1] * (self.rank - 2)])


def _cast(x: Tensor, like: Tensor) -> Tensor:
    return x if x.dtype is like.dtype else raw.Cast(x, DstT=like.dtype)


def second_gradient(op: Operation, *grads: Tensor | None) -> list[Tensor | None]:
    """Return the gradient of ``FusedBatchNormGrad`` by gradient, images and scale; none by the statistics."""
    upon, images, scale, mean, variance, *rest = op.inputs
    layout = op.attrs["data_format"]
    axes = _Channels(channel_axis(layout, len(layout)) == 1, len(layout))
    g, x, s = _cast(upon, scale), _cast(images, scale), axes.spread(scale)
    if op.attrs["is_training"]:
        middle = axes.mean(x)
        width = axes.mean(square(x - middle))
    else:
        middle, width = axes.spread(mean), axes.spread(variance)
    r = rsqrt(width + op.attrs["epsilon"])
    n = (x - middle) * r
    parts = (_by_training if op.attrs["is_training"] else _by_inference)(axes, g, s, r, n, grads)
    by_g, by_x, by_s = [_sum(terms) for terms in parts]
    return [
        None if by_g is None else _cast(by_g, upon),
        None if by_x is None else _cast(by_x, images),
        None if by_s is None else axes.total(by_s),
        *[None] * (2 + len(rest)),
    ]


def _sum(terms: Sequence[Tensor]) -> Tensor | None:
    total: Tensor | None = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _by_training(
    axes: _Channels, g: Tensor, s: Tensor, r: Tensor, n: Tensor, grads: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the terms of the gradients by g, x and s."""

    def kept(v: Tensor) -> tuple[Tensor, Tensor]:
        along = axes.mean(v * n)
        return v - axes.mean(v) - n * along, along

    by_g: list[Tensor] = []
    by_x: list[Tensor] = []
    by_s: list[Tensor] = []
    a, b, c = grads[:3]
    g_kept, g_along = kept(g)
    if a is not None:
        wide = _cast(a, g)
        a_kept, a_along = kept(wide)
        by_g.append(s * r * a_kept)
        by_s.append(wide * r * g_kept)
        both = axes.mean(wide * g_kept)
        by_x.append(-(s * square(r)) * (a_along * g_kept + g_along * a_kept + both * n))
    if b is not None:
        by_g.append(axes.spread(b) * n)
        by_x.append(axes.spread(b) * r * g_kept)
    if c is not None:
        by_g.append(axes.spread(c) + zeros_like(g))
    return by_g, by_x, by_s


def _by_inference(
    axes: _Channels, g: Tensor, s: Tensor, r: Tensor, n: Tensor, grads: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the terms of the gradients by g, x and s."""
    by_g: list[Tensor] = []
    by_x: list[Tensor] = []
    by_s: list[Tensor] = []
    a, b, c = grads[:3]
    if a is not None:
        by_g.append(s * r * _cast(a, g))
        by_s.append(_cast(a, g) * r * g)
    if b is not None:
        by_g.append(axes.spread(b) * n)
        by_x.append(axes.spread(b) * r * g)
    if c is not None:
        by_g.append(axes.spread(c) + zeros_like(g))
    return by_g, by_x, by_s

"""Images that are scaled and moved, by one of several curves: ``ScaleAndTranslate`` and its gradient.

Each axis is a product with a matrix of few weights per row, so the gradient is that of the transposed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import ints, partial_ints

__all__: list[str] = []

Curve = Callable[[Any], Any]


def _lanczos(radius: float) -> Curve:
    def weight(x: Any) -> Any:
        curve = radius * np.sin(np.pi * x) * np.sin(np.pi * x / radius) / (np.pi * np.pi * x * x)
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, curve))

    return weight


def _cubic(near: Sequence[float], far: Sequence[float]) -> Curve:
    return lambda x: np.where(x >= 2, 0, np.where(x >= 1, np.polyval(far, x), np.polyval(near, x)))


_CURVES: Mapping[str, tuple[float, Curve]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / (2 * 0.5 * 0.5)))),
    "box": (1.0, lambda x: np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))),
    "triangle": (1.0, lambda x: np.maximum(1 - x, 0)),
    "keyscubic": (2.0, _cubic([1.5, -2.5, 0, 1], [-0.5, 2.5, -4, 2])),
    "mitchellcubic": (2.0, _cubic([7 / 6, -2, 0, 8 / 9], [-7 / 18, 2, -10 / 3, 16 / 9])),
}
"""By the name of a curve: how far it reaches, and its value at a distance."""

# Rows whose weights add up to less are left zero, as in TensorFlow: 1000 times the least normal float32.
_LEAST = 1000 * float(np.finfo(np.float32).tiny)


def _weights(curve: str, old: int, new: int, scale: Any, translation: Any, antialias: bool) -> Any:
    """Return the weights of old pixels in new ones, a row for each of the new."""
    radius, function = _CURVES[curve]
    inverse = np.float32(1) / np.float32(scale)
    wide = max(inverse, np.float32(1)) if antialias else np.float32(1)
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * inverse - inverse * np.float32(translation)
    reach = np.float32(radius) * wide
    first = np.clip(np.ceil(places - reach - np.float32(0.5)), 0, old - 1)
    last = np.clip(np.floor(places + reach - np.float32(0.5)), 0, old - 1)
    pixels = np.arange(old, dtype=np.float32)
    distance = np.abs(pixels + np.float32(0.5) - places[:, None]) * (np.float32(1) / wide)
    with np.errstate(all="ignore"):
        weights = function(distance).astype(np.float32)
        shown = (pixels >= first[:, None]) & (pixels <= last[:, None])
        shown &= ((places >= 0) & (places <= old))[:, None]
        weights = np.where(shown, weights, np.float32(0))
        total = weights.sum(1, keepdims=True, dtype=np.float32)
        return np.where(np.abs(total) >= _LEAST, weights / total, np.float32(0))


def _check_curve(ctx: InferContext) -> None:
    if ctx.attrs["kernel_type"] not in _CURVES:
        raise ValueError(f"{ctx.op}: kernel_type is one of {', '.join(_CURVES)}, got {ctx.attrs['kernel_type']!r}")
    for at in (-2, -1):
        if not ctx.inputs[at].shape.is_compatible_with([2]):
            raise ValueError(f"{ctx.op}: scale and translation have shape [2], got {ctx.inputs[at].shape}")


def _resized(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    _check_curve(ctx)
    images, size = ctx.inputs[0].shape, ctx.inputs[1].shape
    if images.rank not in (None, 4) or not size.is_compatible_with([2]):
        raise ValueError(f"{ctx.op}: images have rank 4 and size has shape [2], got {images} and {size}")
    batch, _, _, channels = images.with_rank(4)
    return [TensorShape([batch, *(partial_ints(ctx, 1) or (None, None)), channels])]


def _checked(op_type: str, images: Any, size: Any, scale: Any, translation: Any) -> None:
    if images.ndim != 4 or len(size) != 2 or min(size) <= 0 or scale.shape != (2,):
        raise InvalidArgumentError(
            f"{op_type}: images have rank 4 and size is two positive numbers, got {list(images.shape)} and {list(size)}"
        )
    if translation.shape != (2,) or not (scale > 0).all():
        raise InvalidArgumentError(
            f"Expected scale to be two numbers greater than 0, got {scale}, and a translation of two, got "
            f"shape {list(translation.shape)}"
        )


def _kernel(ctx: KernelContext) -> Kernel:
    curve, antialias = ctx.attrs["kernel_type"], ctx.attrs["antialias"]

    def resized(images: Any, size: Any, scale: Any, translation: Any) -> Any:
        new_size = ints(size)
        _checked(ctx.op, images, new_size, scale, translation)
        rows, columns = (
            _weights(curve, old, new, factor, moved, antialias)
            for old, new, factor, moved in zip(images.shape[1:3], new_size, scale, translation, strict=True)
        )
        between = np.einsum("yh,bhwc->bywc", rows, images.astype(np.float32), optimize=True)
        pixels = np.einsum("xw,bywc->byxc", columns, between, optimize=True)
        return np.ascontiguousarray(pixels, np.float32)

    return resized


def _like_images(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    _check_curve(ctx)
    return [ctx.inputs[1].shape.with_rank(4)]


def _back_kernel(ctx: KernelContext) -> Kernel:
    curve, antialias = ctx.attrs["kernel_type"], ctx.attrs["antialias"]

    def back(grad: Any, images: Any, scale: Any, translation: Any) -> Any:
        _checked(ctx.op, images, grad.shape[1:3], scale, translation)
        rows, columns = (
            _weights(curve, old, new, factor, moved, antialias)
            for old, new, factor, moved in zip(images.shape[1:3], grad.shape[1:3], scale, translation, strict=True)
        )
        between = np.einsum("yh,bywc->bhwc", rows, grad, optimize=True)
        pixels = np.einsum("xw,bhxc->bhwc", columns, between, optimize=True)
        return np.ascontiguousarray(pixels, np.float32)

    return back


def _gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    images, _, scale, translation = op.inputs
    attrs = {key: op.attrs[key] for key in ("kernel_type", "antialias")}
    return [raw.ScaleAndTranslateGrad(grad, images, scale, translation, **attrs), None, None, None]


op("ScaleAndTranslate", _resized, kernel=_kernel, grad=_gradient, sized_by=(1,))
op("ScaleAndTranslateGrad", _like_images, kernel=_back_kernel)

"""``extract_glimpse``: windows of images around given positions.

Owns ``ExtractGlimpse`` and ``ExtractGlimpseV2``. The part of a window beyond the edge of an image is filled
with noise, drawn anew in each step.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import constant_ints, ints
from transports.host import current_host

__all__ = ["extract_glimpse"]


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a window of each image at its own position, with noise beyond the image.

    Args:
        input: float32 of shape ``[batch, height, width, channels]``.
        size: int32, the height and width of the windows.
        offsets: float32 of shape ``[batch, 2]``: ``y, x`` of the centre of each window.
        centered: whether offsets are relative to the centre of the image, from -1 to 1, instead of its
            corner.
        normalized: whether offsets are fractions of the image instead of pixels.
        uniform_noise: ignored: as in TensorFlow, the noise is always uniform, between the least and the
            greatest number of the image.
    """
    graph = graph_of(input, size, offsets)
    with graph.name_scope(name or "ExtractGlimpse") as scope:
        return raw.ExtractGlimpse(
            convert_to_tensor(input, float32, "input", graph=graph),
            convert_to_tensor(size, int32, "size", graph=graph),
            convert_to_tensor(offsets, float32, "offsets", graph=graph),
            centered=bool(centered),
            normalized=bool(normalized),
            uniform_noise=bool(uniform_noise),
            name=scope,
        )


def _windows(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    images, size, offsets = (spec.shape for spec in ctx.inputs)
    if images.rank not in (None, 4):
        raise ValueError(f"{ctx.op}: images have rank 4, got shape {images}")
    batch, _, _, channels = images.with_rank(4)
    if not size.is_compatible_with([2]) or not offsets.is_compatible_with([batch, 2]):
        raise ValueError(
            f"{ctx.op}: size has shape [2] and offsets [batch, 2], got {size} and {offsets} for images of "
            f"shape {images}"
        )
    if ctx.attrs["noise"] not in ("uniform", "gaussian", "zero"):
        raise ValueError(f"{ctx.op}: noise is uniform, gaussian or zero, got {ctx.attrs['noise']!r}")
    if ctx.attrs["uniform_noise"] and ctx.attrs["noise"] != "uniform":
        raise ValueError(f"{ctx.op}: the uniform_noise should not be True when noise is not uniform")
    if batch is None and offsets.rank is not None:
        batch = offsets.with_rank(2)[0]
    known = constant_ints(ctx, 1)
    if known is not None and min(known) < 0:
        raise ValueError(f"{ctx.op}: size is two numbers of at least 0, got {list(known)}")
    return [TensorShape([batch, *(known or (None, None)), channels])]


def _glimpse_kernel(ctx: KernelContext) -> Kernel:
    attrs, noise = ctx.attrs, ctx.attrs["noise"]
    random: np.random.Generator = ctx.state(lambda: np.random.default_rng(current_host().entropy.randbits(128)))

    corners = functools.partial(
        _corners if ctx.op == "ExtractGlimpse" else _corners_of_pixels,
        centered=attrs["centered"],
        normalized=attrs["normalized"],
    )

    def beyond(image: Any, shape: tuple[int, ...]) -> Any:
        if noise == "zero" or not image.size:
            return np.zeros(shape, np.float32)
        if noise == "uniform":
            return random.uniform(image.min(), image.max(), shape)
        return random.normal(image.mean(), image.std(), shape)

    def glimpses(images: Any, size: Any, offsets: Any) -> Any:
        window_size = ints(size)
        if images.ndim != 4 or len(window_size) != 2 or min(window_size) < 0:
            raise InvalidArgumentError(
                f"{ctx.op}: images have rank 4 and size is two numbers of at least 0, got "
                f"{list(images.shape)} and {list(window_size)}"
            )
        if offsets.shape != (len(images), 2):
            raise InvalidArgumentError(f"{ctx.op}: offsets have shape [{len(images)}, 2], got {list(offsets.shape)}")
        old, new = np.array(images.shape[1:3], np.float32), np.array(window_size, np.float32)
        first = np.trunc(corners(offsets, old, new)).astype(np.int64)
        out = np.empty((len(images), *window_size, images.shape[3]), np.float32)
        for image, window, corner in zip(images, out, first, strict=True):
            _fill(image, window, corner, beyond)
        return out

    return glimpses


def _corners(offsets: Any, old: Any, new: Any, *, centered: bool, normalized: bool) -> Any:
    """Return the first pixels of windows; in the first version, offsets in pixels are halved too."""
    places = offsets * old if normalized else offsets
    return (places / 2 + old / 2 if centered else places) - new / 2


def _corners_of_pixels(offsets: Any, old: Any, new: Any, *, centered: bool, normalized: bool) -> Any:
    """Return them in the second version, where most offsets are those of corners and not of centres."""
    if not normalized:
        return offsets + old / 2 if centered else offsets
    return offsets * old / 2 + old / 2 - new / 2 if centered else offsets * old


def _fill(image: Any, window: Any, corner: Any, beyond: Any) -> None:
    """Fill a window with the part of an image that it shows."""
    low = np.maximum(corner, 0)
    high = np.minimum(corner + window.shape[:2], image.shape[:2])
    (top, left), (bottom, right) = low.tolist(), np.maximum(high, low).tolist()
    if (bottom - top, right - left) != window.shape[:2]:
        window[...] = beyond(image, window.shape)
    above, before = (low - corner).tolist()
    window[above : above + bottom - top, before : before + right - left] = image[top:bottom, left:right]


op("ExtractGlimpse", _windows, kernel=_glimpse_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(1,))
op("ExtractGlimpseV2", _windows, kernel=_glimpse_kernel, sized_by=(1,))

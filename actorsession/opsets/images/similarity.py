"""Measures of one image and of two: total variation, signal-to-noise ratio, structural similarity.

All are composed of other ops. ``ssim`` and ``ssim_multiscale`` compare means, variances and covariances
within a Gaussian window around each pixel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays.array import identity, pad, tile
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.convolutions.depthwise import depthwise_conv2d
from actorsession.ops.convolutions.pooling import avg_pool
from actorsession.ops.elements.arithmetic import pow as power
from actorsession.ops.elements.arithmetic import squared_difference
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal, greater_equal
from actorsession.ops.elements.elementwise import abs as absolute
from actorsession.ops.elements.elementwise import log, square
from actorsession.ops.flow.assertions import Assert
from actorsession.ops.neural.activations import relu
from actorsession.ops.reductions.reduction import reduce_all, reduce_mean, reduce_prod, reduce_sum
from actorsession.opsets.images.colours import convert_image_dtype

__all__ = ["psnr", "ssim", "ssim_multiscale", "total_variation"]

# The weights of the scales, the finest first, as published by the inventors of the measure.
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Return the sum of the absolute differences of neighbouring pixels, for each image.

    Args:
        images: an image of rank 3, or a batch of rank 4.
    """
    value = convert_to_tensor(images)
    with value.graph.name_scope(name or "total_variation"):
        if value.shape.rank == 3:
            rows, columns = value[1:] - value[:-1], value[:, 1:] - value[:, :-1]
            return reduce_sum(absolute(rows)) + reduce_sum(absolute(columns))
        if value.shape.rank != 4:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        rows, columns = value[:, 1:] - value[:, :-1], value[:, :, 1:] - value[:, :, :-1]
        axes = [1, 2, 3]
        return reduce_sum(absolute(rows), axes) + reduce_sum(absolute(columns), axes)


def psnr(a: Any, b: Any, max_val: float, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of two images in decibels, for each of a batch.

    Args:
        a: images of shape ``[..., height, width, channels]``.
        b: images of the same shape and dtype.
        max_val: the range of pixels: 255 for uint8, usually 1 for floats.
    """
    first = convert_to_tensor(a)
    with first.graph.as_default(), first.graph.name_scope(name or "PSNR"):
        second = convert_to_tensor(b, first.dtype)
        most = convert_image_dtype(cast(convert_to_tensor(max_val), first.dtype), float32)
        with first.graph.control_dependencies(_comparable(first, second)):
            checked = identity(first)
        floats = convert_image_dtype(checked, float32), convert_image_dtype(second, float32)
        error = reduce_mean(squared_difference(*floats), [-3, -2, -1])
        return (20 / math.log(10)) * log(most) - (10 / math.log(10)) * log(error)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Return the structural similarity of two images, from -1 to 1 for equal images.

    Args:
        img1: pixels of shape ``[..., height, width, channels]``, at least as large as the window.
        img2: images of the same dtype; the axes before the last three broadcast.
        max_val: the range of pixels: 255 for uint8, usually 1 for floats.
        filter_size: height and width of the window.
        filter_sigma: deviation of the Gaussian in it.
        k1: limits the influence of dark regions.
        k2: limits the influence of regions without contrast.
        return_index_map: whether to return a number for each position of the window instead of their mean.

    Returns:
        float32, a number for each pair of images.
    """
    first = convert_to_tensor(img1, name="img1")
    with first.graph.as_default(), first.graph.name_scope("SSIM"):
        one, other, most = _prepared(first, img2, max_val)
        likeness, _ = _by_channel(one, other, most, filter_size, filter_sigma, k1, k2)
        if not return_index_map:
            likeness = reduce_mean(likeness, [-3, -2])
        return reduce_mean(likeness, [-1])


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of two images at several scales.

    Each scale has half as many pixels as the one before. The numbers of all scales are multiplied, each to
    the power of its weight.

    Args:
        img1: as in ``ssim``, like the arguments that follow.
        img2: images that are at least as large as the window even at the coarsest scale.
        max_val: the range of pixels.
        power_factors: the weight of each scale, the finest first.
        filter_size: height and width of the window.
        filter_sigma: deviation of the Gaussian in it.
        k1: limits the influence of dark regions.
        k2: limits the influence of regions without contrast.

    Returns:
        float32 in [0, 1], a number for each pair of images.
    """
    first = convert_to_tensor(img1, name="img1")
    with first.graph.as_default(), first.graph.name_scope("MS-SSIM"):
        one, other, most = _prepared(first, img2, max_val)
        factors = []
        for scale in range(len(power_factors)):
            if scale:
                one, other = _halved(one), _halved(other)
            likeness, contrast = _by_channel(one, other, most, filter_size, filter_sigma, k1, k2)
            last = scale == len(power_factors) - 1
            factors.append(relu(reduce_mean(likeness if last else contrast, [-3, -2])))
        weights = convert_to_tensor(np.array(power_factors, np.float32))
        return reduce_mean(reduce_prod(power(stack(factors, -1), weights), [-1]), [-1])


def _comparable(first: Tensor, second: Tensor) -> list[Operation]:
    """Check that two images have the same last three axes, and that the others broadcast.

    Returns:
        Operations that check in the step what is unknown while the graph is built.

    Raises:
        ValueError: if the shapes are known not to fit.
    """
    one, other = first.shape.with_rank_at_least(3), second.shape.with_rank_at_least(3)
    if one.rank is not None and other.rank is not None:
        pairs = list(zip(reversed(one.as_list()), reversed(other.as_list()), strict=False))
        fits = all(a == b or None in (a, b) for a, b in pairs[:3])
        if not fits or not all(a == b or {a, b} & {1, None} for a, b in pairs[3:]):
            raise ValueError(f"Two images are not compatible: {one} and {other}")
    sizes = [shape(first), shape(second)]
    return [
        Assert(greater_equal(shape(sizes[0])[0], 3), sizes, summarize=10),
        Assert(reduce_all(equal(sizes[0][-3:], sizes[1][-3:])), sizes, summarize=10),
    ]


def _prepared(first: Tensor, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Check that two images are comparable; return both and the greatest pixel value in float32."""
    second = convert_to_tensor(img2, first.dtype, "img2")
    with first.graph.control_dependencies(_comparable(first, second)):
        checked = identity(first)
    most = convert_image_dtype(cast(convert_to_tensor(max_val), first.dtype), float32)
    return convert_image_dtype(checked, float32), convert_image_dtype(second, float32), most


def _window(size: int, sigma: float) -> Any:
    """Return the weights of a Gaussian window, which sum to 1."""
    places = np.arange(size, dtype=np.float32) - np.float32(size - 1) / 2
    line = np.square(places) * np.float32(-0.5 / sigma**2)
    weights = np.exp(line[:, np.newaxis] + line)
    return (weights / weights.sum()).astype(np.float32)[:, :, np.newaxis, np.newaxis]


def _by_channel(
    one: Tensor, other: Tensor, most: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Return the similarity of each channel at each position, and that of contrast and structure only."""
    checks = [
        Assert(reduce_all(greater_equal(shape(x)[-3:-1], size)), [shape(x), size], summarize=8) for x in (one, other)
    ]
    with one.graph.control_dependencies(checks):
        one = identity(one)
    weights = tile(convert_to_tensor(_window(size, sigma)), stack([1, 1, shape(one)[-1], 1]))

    def mean(x: Tensor) -> Tensor:
        means = depthwise_conv2d(_flat(x), weights, [1, 1, 1, 1], "VALID")
        return reshape(means, concat([shape(x)[:-3], shape(means)[1:]], 0))

    dark, dull = square(most * k1), square(most * k2)
    first, second = mean(one), mean(other)
    both, each = first * second * 2.0, square(first) + square(second)
    luminance = (both + dark) / (each + dark)
    products, squares = mean(one * other) * 2.0, mean(square(one) + square(other))
    contrast = (products - both + dull) / (squares - each + dull)
    return luminance * contrast, contrast


def _flat(images: Tensor) -> Tensor:
    """Return images with one axis before the last three."""
    return reshape(images, concat([[-1], shape(images)[-3:]], 0))


def _halved(images: Tensor) -> Tensor:
    """Halve the size of images by means of four pixels; odd edges are duplicated first."""
    flat, size = _flat(images), shape(images)[-3:]
    margins = concat([[0], size[:2] % 2, [0]], 0)
    even = pad(flat, pad(expand_dims(margins, -1), [[0, 0], [1, 0]]), "SYMMETRIC")
    small = avg_pool(even, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(small, concat([shape(images)[:-3], shape(small)[1:]], 0))

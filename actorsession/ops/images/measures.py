"""Total variation of an image, and signal-to-noise ratio of two; composed of other ops."""

from __future__ import annotations

import math
from typing import Any

from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import identity
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import squared_difference
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import abs as absolute
from actorsession.ops.elements.elementwise import log
from actorsession.ops.images.colours import convert_image_dtype
from actorsession.ops.images.similarity import comparable
from actorsession.ops.reductions.reduction import reduce_mean, reduce_sum

__all__ = ["psnr", "total_variation"]


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Return the sum of the absolute differences of neighbouring pixels, for each image.

    Args:
        images: an image of rank 3, or a batch of rank 4.
        name: wanted name.

    Raises:
        ValueError: for another rank.
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
        name: wanted name.

    Raises:
        ValueError: for shapes that do not fit together.
    """
    first = convert_to_tensor(a)
    with first.graph.as_default(), first.graph.name_scope(name or "PSNR"):
        second = convert_to_tensor(b, first.dtype)
        most = convert_image_dtype(cast(convert_to_tensor(max_val), first.dtype), float32)
        with first.graph.control_dependencies(comparable(first, second)):
            checked = identity(first)
        floats = convert_image_dtype(checked, float32), convert_image_dtype(second, float32)
        error = reduce_mean(squared_difference(*floats), [-3, -2, -1])
        return (20 / math.log(10)) * log(most) - (10 / math.log(10)) * log(error)

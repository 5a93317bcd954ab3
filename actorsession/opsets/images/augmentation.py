"""Random changes of images for training: flips, colours, crops.

Composed of random numbers and the functions of ``colours`` and ``geometry``; the numbers are drawn anew in
each step. Seeds are those of all random ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.arrays.slicing import slice_
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.flow.control_flow import cond
from actorsession.ops.randomness.numbers import random_uniform
from actorsession.opsets.images.colours import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from actorsession.opsets.images.geometry import flip_left_right, flip_up_down, image_rank

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
]


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Exchange left and right of an image with probability 1/2, independently for each of a batch.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        seed: seed of the random numbers.
    """
    return _flipped(image, flip_left_right, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Turn an image upside down with probability 1/2; arguments as for ``random_flip_left_right``."""
    return _flipped(image, flip_up_down, seed, "random_flip_up_down")


def _flipped(image: Any, flip: Callable[[Any], Tensor], seed: int | None, name: str) -> Tensor:
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope(name):
        if image_rank(value, 3, 4) == 3:
            chosen = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            flipped: Tensor = cond(chosen, lambda: flip(value), lambda: value)
        else:
            many = less(random_uniform(shape(value)[:1], 0, 1.0, seed=seed), 0.5)
            flipped = where_v2(reshape(many, [-1, 1, 1, 1]), flip(value), value)
        flipped.set_shape(value.shape)
        return flipped


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Adjust the brightness by a random number in ``[-max_delta, max_delta)``.

    Args:
        image: pixels.
        max_delta: at least 0.
        seed: seed of the random numbers.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    value = convert_to_tensor(image)
    with value.graph.as_default():
        return adjust_brightness(value, random_uniform([], -max_delta, max_delta, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Adjust the hue by a random number in ``[-max_delta, max_delta)``.

    Args:
        image: RGB pixels.
        max_delta: in [0, 0.5].
        seed: seed of the random numbers.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    value = convert_to_tensor(image)
    with value.graph.as_default():
        return adjust_hue(value, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Adjust the contrast by a random factor in ``[lower, upper)``.

    Args:
        image: pixels.
        lower: at least 0.
        upper: above ``lower``.
        seed: seed of the random numbers.
    """
    return _between(adjust_contrast, image, lower, upper, seed)


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Adjust the saturation by a random factor in ``[lower, upper)``; see ``random_contrast``."""
    return _between(adjust_saturation, image, lower, upper, seed)


def _between(adjust: Callable[[Any, Any], Tensor], image: Any, lower: float, upper: float, seed: int | None) -> Tensor:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    value = convert_to_tensor(image)
    with value.graph.as_default():
        return adjust(value, random_uniform([], lower, upper, seed=seed))


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return a part of a tensor at a random position.

    Args:
        value: a tensor of any rank.
        size: shape of the part, int32.
        seed: seed of the random numbers.

    Returns:
        The part. At run time an InvalidArgumentError is raised if ``size`` exceeds the shape of ``value``.

    Raises:
        ValueError: if ``size`` is known to be too large while the graph is built.
    """
    whole = convert_to_tensor(value)
    with whole.graph.as_default(), whole.graph.name_scope(name or "random_crop") as scope:
        window = convert_to_tensor(size, int32, "size", graph=whole.graph)
        known, dims = get_static_value(window), whole.shape.sizes
        if known is not None and dims is not None:
            fits = len(known) == len(dims) and all(d is None or n <= d for n, d in zip(known, dims, strict=True))
            if not fits:
                raise ValueError(f"Need value.shape >= size, got {whole.shape} and {known.tolist()}")
        extent = shape(whole)
        limit = extent - window + 1
        drawn = random_uniform(shape(extent), 0, np.iinfo(np.int32).max, int32, seed=seed)
        return slice_(whole, drawn % limit, window, scope)

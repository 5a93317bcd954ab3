"""Conversion of RGB to and from YIQ and YUV: brightness and two colour differences, by matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.linear.contractions import tensordot

__all__ = ["rgb_to_yiq", "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb"]

# Matrices from rows of source colours to columns of target colours, rounded as in TensorFlow.
_TO_YIQ = [
    [0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955],
]  # fmt: skip
_FROM_YIQ: Sequence[Sequence[float]] = [
    [1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049],
]  # fmt: skip
_TO_YUV = [
    [0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026],
]  # fmt: skip
_FROM_YUV: Sequence[Sequence[float]] = [
    [1, 1, 1],
    [0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0],
]


def rgb_to_yiq(images: Any) -> Tensor:
    """Convert RGB to brightness (Y) and two colour differences (I, Q).

    Args:
        images: floating numbers with three colours as the last axis, usually between 0 and 1.

    Raises:
        TypeError: for integers.
        ValueError: for another number of colours, or an unknown rank.
    """
    return _product(images, _TO_YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """Convert YIQ to RGB; arguments as for ``rgb_to_yiq``."""
    return _product(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Convert RGB to brightness (Y) and the differences of blue and red (U, V); see ``rgb_to_yiq``."""
    return _product(images, _TO_YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """Convert YUV to RGB; arguments as for ``rgb_to_yiq``."""
    return _product(images, _FROM_YUV)


def _product(images: Any, matrix: Sequence[Sequence[float]]) -> Tensor:
    value = convert_to_tensor(images, name="images")
    if value.shape.rank is None:
        raise ValueError("colours are the last axis of a tensor of known rank, got an unknown one")
    kernel = convert_to_tensor(matrix, value.dtype, "kernel", graph=value.graph)
    return tensordot(value, kernel, [[value.shape.rank - 1], [0]])

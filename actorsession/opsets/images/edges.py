"""Edges of images: ``image_gradients`` and ``sobel_edges``, composed of other ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import pad, tile
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.fills import zeros
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.convolutions.depthwise import depthwise_conv2d

__all__ = ["image_gradients", "sobel_edges"]

_SOBEL = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Return the differences of pixels to the next ones, downwards and to the right; 0 at the end.

    Args:
        image: shape ``[batch, height, width, channels]``.

    Returns:
        The differences ``dy`` and ``dx``, of the shape of ``image``.
    """
    value = convert_to_tensor(image)
    if value.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {value.shape}.")
    with value.graph.as_default():
        batch, height, width, depth = (shape(value)[axis] for axis in range(4))
        last_row = zeros(stack([batch, 1, width, depth]), value.dtype)
        last_column = zeros(stack([batch, height, 1, depth]), value.dtype)
        down = concat([value[:, 1:] - value[:, :-1], last_row], 1)
        right = concat([value[:, :, 1:] - value[:, :, :-1], last_column], 2)
        return reshape(down, shape(value)), reshape(right, shape(value))


def sobel_edges(image: Any) -> Tensor:
    """Return the derivatives of images by Sobel's filters, downwards and to the right.

    Args:
        image: floats of shape ``[batch, height, width, channels]``, at least two pixels high and wide.

    Returns:
        A tensor of shape ``[batch, height, width, channels, 2]``.
    """
    value = convert_to_tensor(image)
    with value.graph.as_default():
        size = shape(value)
        kernels = convert_to_tensor(_SOBEL.transpose(1, 2, 0)[:, :, np.newaxis], value.dtype)
        filters = tile(kernels, stack([1, 1, size[-1], 1]), name="sobel_filters")
        padded = pad(value, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
        steep = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
        edges = reshape(steep, concat([size, [2]], 0))
        edges.set_shape(value.shape.concatenate([2]))
        return edges

"""``draw_bounding_boxes``: outlines of boxes drawn on images.

Owns ``DrawBoundingBoxes`` and, for user-defined colours, ``DrawBoundingBoxesV2``. They have no gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import check_inputs, op

__all__ = ["draw_bounding_boxes"]

# Red, green, blue and opacity of successive boxes, if no colours are given.
_COLOURS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Draw the outlines of boxes on images.

    Args:
        images: float32 or float16 of shape ``[batch, height, width, channels]``, with 1, 3 or 4 channels.
        boxes: float32 of shape ``[batch, n, 4]``: ``y1, x1, y2, x2`` as fractions of the image; they may
            extend beyond its edges.
        colors: float32 of shape ``[colours, channels]``, used by the boxes in turn; ten colours if left out.
    """
    value = convert_to_tensor(images)
    graph = value.graph
    op_type = "DrawBoundingBoxes" if colors is None else "DrawBoundingBoxesV2"
    with graph.name_scope(name or op_type) as scope:
        corners = convert_to_tensor(boxes, float32, "boxes", graph=graph)
        if colors is None:
            return raw.DrawBoundingBoxes(value, corners, name=scope)
        table = convert_to_tensor(colors, float32, "colors", graph=graph)
        return raw.DrawBoundingBoxesV2(value, corners, table, name=scope)


def _with_boxes(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    images, boxes, *colours = (spec.shape for spec in ctx.inputs)
    if images.rank not in (None, 4):
        raise ValueError(f"{ctx.op}: images have rank 4, got shape {images}")
    batch, _, _, channels = images.with_rank(4)
    if channels not in (None, 1, 3, 4):
        raise ValueError(f"{ctx.op}: channels are 1 (grey), 3 (RGB) or 4 (RGBA), got shape {images}")
    if not boxes.is_compatible_with([batch, None, 4]):
        raise ValueError(f"{ctx.op}: boxes have shape [batch, n, 4], got {boxes} for images of shape {images}")
    if colours and colours[0].rank not in (None, 2):
        raise ValueError(f"{ctx.op}: colours have rank 2, got shape {colours[0]}")
    return [images]


def _colours(colours: Any, channels: int) -> Array:
    """Return the colours that the boxes use in turn."""
    if colours is not None and colours.ndim != 2:
        raise InvalidArgumentError(f"colours have rank 2, got shape {list(colours.shape)}")
    if colours is not None and len(colours):
        if colours.shape[1] < channels:
            raise InvalidArgumentError(
                f"colours have a number for each of {channels} channels, got shape {list(colours.shape)}"
            )
        return np.asarray(colours[:, :channels])
    # On grey images all boxes are white.
    return np.ones((1, 1), np.float32) if channels == 1 else _COLOURS[:, :channels]


def _outline(image: Any, box: Any, colour: Any) -> None:
    """Draw the part of one box that is inside an image."""
    height, width = image.shape[:2]
    top, left, bottom, right = box
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = colour
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = colour


def _draw_boxes(images: Any, boxes: Any, colours: Any = None) -> Any:
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(f"images have rank 4 and 1, 3 or 4 channels, got shape {list(images.shape)}")
    if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) != len(images):
        raise InvalidArgumentError(
            f"boxes have shape [batch, n, 4], got {list(boxes.shape)} for images of shape {list(images.shape)}"
        )
    out, table = images.copy(), _colours(colours, images.shape[3])
    height, width = images.shape[1:3]
    scaled = boxes * np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    # Coordinates are truncated; NaN and very large ones count as outside.
    pixels = np.clip(np.nan_to_num(scaled, nan=-1e9), -1e9, 1e9).astype(np.int64)
    for image, listed in zip(out, pixels.tolist(), strict=True):
        for number, box in enumerate(listed):
            _outline(image, box, table[number % len(table)])
    return out


op("DrawBoundingBoxes", _with_boxes, _draw_boxes, NOT_DIFFERENTIABLE)
op("DrawBoundingBoxesV2", _with_boxes, _draw_boxes)  # without gradient, as in TensorFlow

"""How rough an image is, how far two are from each other, and which of many boxes overlap least.

``NonMaxSuppressionV3`` stands here whole; the measures are composed of other ops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, OpDef, register
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.arithmetic import squared_difference
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import abs as absolute
from actorsession.ops.elements.elementwise import log
from actorsession.ops.images.colours import convert_image_dtype
from actorsession.ops.operands import check_dtype
from actorsession.ops.reductions.reduction import reduce_mean, reduce_sum

__all__ = ["non_max_suppression", "psnr", "total_variation"]


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbouring pixels, for each image.

    Args:
        images: of rank 3, or 4 with a batch.
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
    """The peak signal-to-noise ratio of two images in decibel, for each of a batch.

    Args:
        a: images of shape ``[..., height, width, channels]``.
        b: others of the same shape and dtype.
        max_val: the range that pixels have: 255 for uint8, 1 for floats as a rule.
        name: wanted name.
    """
    first = convert_to_tensor(a)
    with first.graph.as_default(), first.graph.name_scope(name or "PSNR"):
        second = convert_to_tensor(b, first.dtype)
        most = convert_image_dtype(cast(convert_to_tensor(max_val), first.dtype), float32)
        floats = convert_image_dtype(first, float32), convert_image_dtype(second, float32)
        error = reduce_mean(squared_difference(*floats), [-3, -2, -1])
        return (20 / math.log(10)) * log(most) - (10 / math.log(10)) * log(error)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Chooses boxes with the highest scores that do not overlap much with one that was chosen before.

    Args:
        boxes: shape ``[n, 4]``: two opposite corners, ``y1, x1, y2, x2``.
        scores: shape ``[n]``.
        max_output_size: the most that are chosen, an int32 scalar.
        iou_threshold: the largest part of their union that two boxes may have in common, in [0, 1].
        score_threshold: boxes are chosen whose score is above it.
        name: wanted name.

    Returns:
        The places of the chosen boxes, int32, best first.

    Raises:
        ValueError: for other shapes.
    """
    given = convert_to_tensor(boxes)
    graph = given.graph
    with graph.name_scope(name or "non_max_suppression"):
        operands = [
            given, convert_to_tensor(scores, given.dtype, "scores", graph=graph),
            convert_to_tensor(max_output_size, int32, "max_output_size", graph=graph),
            convert_to_tensor(iou_threshold, float32, "iou_threshold", graph=graph),
            convert_to_tensor(score_threshold, float32, "score_threshold", graph=graph),
        ]  # fmt: skip
        return make_one("NonMaxSuppressionV3", operands)


def _infer_suppression(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, "f", (0, 1))
    check_dtype(ctx, "i", (2,))
    check_dtype(ctx, "f", (3, 4))
    boxes, scores = ctx.inputs[0].shape, ctx.inputs[1].shape
    count = boxes.with_rank(2)[0] if boxes.rank in (None, 2) else None
    if not boxes.is_compatible_with([None, 4]) or not scores.is_compatible_with([count]):
        raise ValueError(
            f"{ctx.op}: boxes have shape [n, 4] and scores [n], got {boxes} and {scores}"
        )
    for i in (2, 3, 4):
        if ctx.inputs[i].shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is a scalar, got shape {ctx.inputs[i].shape}")
    return [TensorSpec(int32, TensorShape([None]))]


def _overlaps(box: Array, others: Array) -> Any:
    """Which part of their union a box has in common with each other one."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.maximum(high - low, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    area = (box[2:] - box[:2]).prod()
    union = area + areas - common
    return np.where((area > 0) & (areas > 0), common / np.where(union > 0, union, 1), 0)


def _chosen(boxes: Any, scores: Any, most: Any, overlap: Any, least: Any) -> Any:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"NonMaxSuppressionV3: boxes have shape [n, 4] and scores [n], got {list(boxes.shape)} and "
            f"{list(scores.shape)}"
        )
    if not 0 <= overlap <= 1 or most < 0:
        raise InvalidArgumentError(
            f"NonMaxSuppressionV3: iou_threshold must be in [0, 1] and max_output_size at least 0, got "
            f"{overlap} and {most}"
        )
    wide = boxes.astype(np.float64)
    corners = np.concatenate(
        [np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])], 1
    )
    kept: list[int] = []
    for place in np.argsort(-scores.astype(np.float64), kind="stable").tolist():
        if len(kept) == most or not scores[place] > least:
            break
        if not kept or (_overlaps(corners[place], corners[kept]) <= overlap).all():
            kept.append(place)
    return np.array(kept, np.int32)


register(
    OpDef(
        name="NonMaxSuppressionV3",
        infer=_infer_suppression,
        kernel=lambda ctx: _chosen,
        gradient=NOT_DIFFERENTIABLE,
    )
)

"""Older forms of operations on images: thresholds that were attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.randomness.numbers import generator_of
from actorsession.ops.rows import first, op
from actorsession.ops.shape_operands import constant_ints
from actorsession.opsets.older.forms import Attrs, Item, older_form

__all__: list[str] = []


def _attr(name: str) -> Item:
    """An input that was an attribute."""
    return lambda attrs, dtypes: np.float32(attrs[name])


def _lowest(attrs: Attrs, dtypes: Sequence[DType]) -> Any:
    """Return the threshold that every score is above."""
    threshold = dtypes[3].np_dtype if len(dtypes) > 3 else np.dtype(np.float32)
    return threshold.type(-np.inf)


older_form("NonMaxSuppression", "NonMaxSuppressionV3", (0, 1, 2, _attr("iou_threshold"), _lowest))
older_form("NonMaxSuppressionV2", "NonMaxSuppressionV3", (0, 1, 2, 3, _lowest))
older_form("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", (0, 1, _attr("min_object_covered")))


def _contrasted(images: Any, factor: Any, least: Any, most: Any) -> Any:
    """Return pixels that are further from the mean of their channel, within limits."""
    pixels = images.astype(np.float32)
    mean = pixels.mean((-3, -2), keepdims=True, dtype=np.float32)
    return np.clip((pixels - mean) * factor + mean, least, most)


op("AdjustContrast", first, _contrasted)


# -- RandomCrop ------------------------------------------------------------------------------------


def _cropped(ctx: InferContext) -> Sequence[TensorShape]:
    size = constant_ints(ctx, 1)
    depth = ctx.inputs[0].shape.with_rank(3)[2]
    return [TensorShape([*((None, None) if size is None else size[:2]), depth])]


def _crop_kernel(ctx: KernelContext) -> Kernel:
    random = generator_of(ctx)

    def crop(image: Any, size: Any) -> Any:
        if image.ndim != 3 or size.shape != (2,) or (size < 0).any() or (size > image.shape[:2]).any():
            raise InvalidArgumentError(
                f"RandomCrop: an image of rank 3 and a size [rows, columns] within it are needed, got shape "
                f"{list(image.shape)} and {size}"
            )
        room = np.array(image.shape[:2]) - size
        top, left = (int(random.integers(n + 1)) for n in room)
        return image[top : top + int(size[0]), left : left + int(size[1])].copy()

    return crop


op("RandomCrop", _cropped, kernel=_crop_kernel, grad=NOT_DIFFERENTIABLE)

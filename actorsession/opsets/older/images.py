"""Older forms of operations on images: thresholds that were attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType
from actorsession.ops.rows import first, op
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
older_form(
    "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", (0, 1, _attr("min_object_covered"))
)


def _contrasted(images: Any, factor: Any, least: Any, most: Any) -> Any:
    """Return pixels that are further from the mean of their channel, within limits."""
    pixels = images.astype(np.float32)
    mean = pixels.mean((-3, -2), keepdims=True, dtype=np.float32)
    return np.clip((pixels - mean) * factor + mean, least, most)


op("AdjustContrast", first, _contrasted)

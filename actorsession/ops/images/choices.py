"""Selection of boxes by score, so that none overlaps much with a better one.

Plain functions of arrays, called by the kernels of ``suppression`` and ``detections``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.graph.registry import Array

__all__ = ["chosen", "corners_of", "shared_parts"]


def corners_of(boxes: Any) -> Array:
    """Return boxes ``[n, 4]`` with the corner nearest to the origin first, in float32 at least."""
    wide = boxes.astype(np.result_type(boxes.dtype, np.float32), copy=False)
    return np.concatenate(
        [np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])], 1
    )


def shared_parts(box: Array, others: Array) -> Any:
    """Return the intersection over union of a box with each other one; 0 where a box is empty."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.maximum(high - low, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    area = (box[2:] - box[:2]).prod()
    union = area + areas - common
    return np.where((area > 0) & (areas > 0), common / np.where(union > 0, union, 1), 0)


def chosen(
    scores: Any,
    shared: Callable[[int, list[int]], Any],
    most: int,
    overlap: Any,
    least: Any,
    sigma: float = 0.0,
) -> tuple[Array, Array]:
    """Return the indices of the chosen boxes, best first, and their scores at the time of the choice.

    Args:
        scores: score of each box.
        shared: function from an index and a list of other indices to the overlap with each.
        most: maximum number of choices.
        overlap: maximum overlap of two choices, if scores do not decay.
        least: lower bound that a score must exceed.
        sigma: if above 0, scores decay with the overlap, more slowly for larger values; otherwise they do not
            decay.
    """
    if sigma > 0:
        return _softly(scores, shared, most, least, sigma)
    kept: list[int] = []
    for place in np.argsort(-scores.astype(np.float64), kind="stable").tolist():
        if len(kept) == most or not scores[place] > least:
            break
        if not kept or (shared(place, kept) <= overlap).all():
            kept.append(place)
    return np.array(kept, np.int32), np.asarray(scores[np.array(kept, np.intp)])


def _softly(scores: Any, shared: Any, most: int, least: Any, sigma: float) -> tuple[Array, Array]:
    """Return the choices if a score decays with the overlap with each chosen box.

    The best box is compared with those that were chosen since its last comparison; if its score falls, it is
    put back into the queue.
    """
    waiting = [
        (-float(score), place, 0) for place, score in enumerate(scores.tolist()) if score > least
    ]
    heapq.heapify(waiting)
    kept: list[int] = []
    rest: list[float] = []
    while waiting and len(kept) < most:
        before, place, seen = heapq.heappop(waiting)
        score = -before
        parts = shared(place, kept[seen:]).tolist() if seen < len(kept) else []
        for part in reversed(parts):
            score *= math.exp(-0.5 / sigma * part * part)
            if score <= least:
                break
        if score == -before:
            kept.append(place)
            rest.append(score)
        elif score > least:
            heapq.heappush(waiting, (-score, place, len(kept)))
    return np.array(kept, np.int32), np.array(rest, scores.dtype)

"""Non-maximum suppression: the selection of boxes by score, so that none overlaps much with a better one.

Owns ``NonMaxSuppressionV3``, ``V4`` and ``V5``, ``NonMaxSuppressionWithOverlaps``, and
``CombinedNonMaxSuppression`` for many classes in many images.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.mapping import map_fn
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints

__all__ = [
    "combined_non_max_suppression",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
]


# -- public functions ------------------------------------------------------------------------------


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Select boxes with the highest scores that do not overlap much with a better selected box.

    Args:
        boxes: shape ``[n, 4]``: two opposite corners, ``y1, x1, y2, x2``.
        scores: shape ``[n]``.
        max_output_size: maximum number of selected boxes, an int32 scalar.
        iou_threshold: maximum intersection over union of two selected boxes, in [0, 1].
        score_threshold: lower bound that the score of a selected box must exceed.

    Returns:
        The int32 indices of the selected boxes, best first.
    """
    corners = convert_to_tensor(boxes)
    with corners.graph.name_scope(name or "non_max_suppression"):
        operands = _operands(corners, scores, max_output_size, iou_threshold, score_threshold)
        return raw.NonMaxSuppressionV3(*operands)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Select boxes, optionally with decaying scores instead of removal for overlapping boxes.

    Arguments that are not listed are as for ``non_max_suppression``.

    Args:
        soft_nms_sigma: if above 0, a score is multiplied by ``exp(-part ** 2 / (2 * sigma))`` for each box
            selected before, where ``part`` is their intersection over union, and ``iou_threshold`` is
            ignored.

    Returns:
        The int32 indices of the selected boxes, best first, and their scores at the time of selection.
    """
    corners = convert_to_tensor(boxes)
    with corners.graph.name_scope(name or "non_max_suppression_with_scores"):
        operands = _operands(corners, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
        places, rest, _ = raw.NonMaxSuppressionV5(*operands)
        return places, rest


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Select boxes with optional padding of the result, also for many images at once.

    Arguments that are not listed are as for ``non_max_suppression``.

    Args:
        boxes: shape ``[..., n, 4]``: two opposite corners, ``y1, x1, y2, x2``.
        scores: shape ``[..., n]``.
        pad_to_max_output_size: whether the indices are padded with zeros to ``max_output_size``; required
            with more than two axes.

    Returns:
        The int32 indices of the selected boxes, best first, and their number.
    """
    corners = convert_to_tensor(boxes)
    with corners.graph.as_default(), corners.graph.name_scope(name or "non_max_suppression_padded"):
        rest = (max_output_size, iou_threshold, score_threshold)
        if corners.shape.rank in (None, 2):
            return raw.NonMaxSuppressionV4(
                *_operands(corners, scores, *rest), pad_to_max_output_size=bool(pad_to_max_output_size)
            )
        if not pad_to_max_output_size:
            raise ValueError(
                f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for batched input"
            )
        return _of_many(corners, convert_to_tensor(scores, corners.dtype), rest)


def _of_many(boxes: Tensor, scores: Tensor, rest: Any) -> tuple[Tensor, Tensor]:
    """Return the selections for images with any number of leading axes."""
    batch = shape(boxes)[:-2]
    flat = (
        reshape(boxes, concat([[-1], shape(boxes)[-2:]], 0)),
        reshape(scores, concat([[-1], shape(scores)[-1:]], 0)),
    )

    def one(pair: Any) -> Any:
        operands = _operands(*pair, *rest)
        return tuple(raw.NonMaxSuppressionV4(*operands, pad_to_max_output_size=True))

    places, counts = map_fn(one, flat, fn_output_signature=(int32, int32))
    length = expand_dims(convert_to_tensor(rest[0], int32), 0)
    selected = reshape(places, concat([batch, length], 0))
    selected.set_shape(boxes.shape[:-2].concatenate([places.shape[-1]]))
    return selected, reshape(counts, batch)


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Select as in ``non_max_suppression``, with overlaps given instead of computed from boxes.

    Args:
        overlaps: float32 of shape ``[n, n]``.
        scores: float32 of shape ``[n]``.
        max_output_size: maximum number of selected items, an int32 scalar.
        overlap_threshold: maximum overlap of two selected items.
        score_threshold: lower bound that the score of a selected item must exceed.
    """
    matrix = convert_to_tensor(overlaps, float32)
    with matrix.graph.name_scope(name or "non_max_suppression_overlaps"):
        operands = _operands(matrix, scores, max_output_size, overlap_threshold, score_threshold)
        return raw.NonMaxSuppressionWithOverlaps(*operands)


class CombinedNonMaxSuppression(NamedTuple):
    """The result of ``combined_non_max_suppression``."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Apply ``non_max_suppression`` to each class, and return the best of all choices of each image.

    Args:
        boxes: float32 of shape ``[batch, n, q, 4]``; ``q`` is the number of classes, or 1 if all classes
            share the boxes.
        scores: float32 of shape ``[batch, n, classes]``.
        max_output_size_per_class: maximum number of choices per class, an int32 scalar.
        max_total_size: maximum number of choices per image, an int32 scalar.
        iou_threshold: maximum intersection over union of two chosen boxes, in [0, 1].
        score_threshold: lower bound that the score of a chosen box must exceed.
        pad_per_class: whether the result has at most ``max_output_size_per_class`` places per class.
        clip_boxes: whether boxes are clipped to 0 and 1.

    Returns:
        The boxes, their scores, their classes (float32, all of them padded with zeros), and their number in
        each image.
    """
    corners = convert_to_tensor(boxes, float32)
    graph = corners.graph
    with graph.name_scope(name or "combined_non_max_suppression"):
        outputs = raw.CombinedNonMaxSuppression(
            corners,
            convert_to_tensor(scores, float32, "scores", graph=graph),
            convert_to_tensor(max_output_size_per_class, int32, graph=graph),
            convert_to_tensor(max_total_size, int32, "max_total_size", graph=graph),
            convert_to_tensor(iou_threshold, float32, "iou_threshold", graph=graph),
            convert_to_tensor(score_threshold, float32, "score_threshold", graph=graph),
            pad_per_class=bool(pad_per_class),
            clip_boxes=bool(clip_boxes),
        )
        return CombinedNonMaxSuppression(*outputs)


def _operands(boxes: Tensor, scores: Any, most: Any, *thresholds: Any) -> list[Tensor]:
    graph = boxes.graph
    names = ("iou_threshold", "score_threshold", "soft_nms_sigma")
    kinds = [boxes.dtype if len(thresholds) > 2 else float32] * len(thresholds)
    return [
        boxes,
        convert_to_tensor(scores, boxes.dtype, "scores", graph=graph),
        convert_to_tensor(most, int32, "max_output_size", graph=graph),
        *(
            convert_to_tensor(value, kind, name, graph=graph)
            for value, kind, name in zip(thresholds, kinds, names, strict=False)
        ),
    ]


# -- shape rules -----------------------------------------------------------------------------------


def _check_scalars(ctx: InferContext) -> None:
    for i in range(2, len(ctx.inputs)):
        if ctx.inputs[i].shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is a scalar, got shape {ctx.inputs[i].shape}")


def _selected(ctx: InferContext) -> Sequence[TensorShape]:
    """The inputs are boxes, or their overlaps, scores, and scalars; the outputs are vectors and a count."""
    check_dtype(ctx, "f", (0, 1))
    check_dtype(ctx, "i", (2,))
    check_dtype(ctx, "f", range(3, len(ctx.inputs)))
    candidates, scores = ctx.inputs[0].shape, ctx.inputs[1].shape
    last = None if ctx.op.endswith("Overlaps") else 4
    count = candidates.with_rank(2)[0] if candidates.rank in (None, 2) else None
    expected = [None, count if last is None else last]
    if not candidates.is_compatible_with(expected) or not scores.is_compatible_with([count]):
        raise ValueError(f"{ctx.op}: shapes [n, {last or 'n'}] and [n] are needed, got {candidates} and {scores}")
    _check_scalars(ctx)
    known = constant_ints(ctx, 2) if ctx.attrs.get("pad_to_max_output_size") else None
    if known is not None and known[0] < 0:
        raise ValueError(f"{ctx.op}: max_output_size is at least 0, got {known[0]}")
    places = TensorShape([known[0] if known else None])
    counted = {"NonMaxSuppressionV4": [scalar_shape], "NonMaxSuppressionV5": [places, scalar_shape]}
    return [places, *counted.get(ctx.op, [])]


def _room(per_class: int, total: int, classes: int, pads: bool) -> int:
    return min(total, per_class * classes) if pads else total


def _best_of_images(ctx: InferContext) -> Sequence[TensorShape]:
    check_dtype(ctx, "f", (0, 1, 4, 5))
    check_dtype(ctx, "i", (2, 3))
    boxes, scores = ctx.inputs[0].shape, ctx.inputs[1].shape
    batch, count = scores.with_rank(3)[:2] if scores.rank in (None, 3) else (None, None)
    if not boxes.is_compatible_with([batch, count, None, 4]) or scores.rank not in (None, 3):
        raise ValueError(
            f"{ctx.op}: boxes have shape [batch, n, q, 4] and scores [batch, n, classes], got {boxes} and {scores}"
        )
    shared, classes = boxes.with_rank(4)[2], scores.with_rank(3)[2]
    if shared not in (None, 1) and classes not in (None, shared):
        raise ValueError(
            f"{ctx.op}: third dimension of boxes must be either 1 or equal to the third dimension of "
            f"scores, got {boxes} and {scores}"
        )
    _check_scalars(ctx)
    per_class, total = constant_ints(ctx, 2), constant_ints(ctx, 3)
    for what, known in (("max_output_size_per_class", per_class), ("max_total_size", total)):
        if known is not None and known[0] <= 0:
            raise ValueError(f"{ctx.op}: {what} should be > 0, got {known[0]}")
    pads, room = ctx.attrs["pad_per_class"], None
    if total is not None and not pads:
        room = total[0]
    elif total is not None and per_class is not None and classes is not None:
        room = _room(per_class[0], total[0], classes, pads)
    plain = TensorShape([batch, room])
    return [TensorShape([batch, room, 4]), plain, plain, TensorShape([batch])]


# -- selection -------------------------------------------------------------------------------------


def _ordered_corners(boxes: Any) -> Array:
    """Return boxes ``[n, 4]`` with the corner nearest to the origin first, in float32 at least."""
    wide = boxes.astype(np.result_type(boxes.dtype, np.float32), copy=False)
    return np.concatenate([np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])], 1)


def _intersection_over_union(box: Array, others: Array) -> Any:
    """Return the intersection over union of a box with each other one; 0 where a box is empty."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.maximum(high - low, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    area = (box[2:] - box[:2]).prod()
    union = area + areas - common
    return np.where((area > 0) & (areas > 0), common / np.where(union > 0, union, 1), 0)


_Overlaps: TypeAlias = Callable[[int, list[int]], Any]


def _overlaps_of(boxes: Any) -> _Overlaps:
    """Return the function from an index and other indices to the overlaps of that box with the others."""
    corners = _ordered_corners(boxes)
    return lambda place, others: _intersection_over_union(corners[place], corners[others])


def _select(
    scores: Any, overlap_of: _Overlaps, most: int, overlap: Any, least: Any, sigma: float = 0.0
) -> tuple[Array, Array]:
    """Return the indices of the chosen boxes, best first, and their scores at the time of the choice.

    Args:
        scores: score of each box.
        overlap_of: function from an index and a list of other indices to the overlap with each.
        most: maximum number of choices.
        overlap: maximum overlap of two choices, if scores do not decay.
        least: lower bound that a score must exceed.
        sigma: if above 0, scores decay with the overlap, more slowly for larger values; otherwise they do not
            decay.
    """
    if sigma > 0:
        return _select_softly(scores, overlap_of, most, least, sigma)
    kept: list[int] = []
    for place in np.argsort(-scores.astype(np.float64), kind="stable").tolist():
        if len(kept) == most or not scores[place] > least:
            break
        if not kept or (overlap_of(place, kept) <= overlap).all():
            kept.append(place)
    return np.array(kept, np.int32), np.asarray(scores[np.array(kept, np.intp)])


def _select_softly(scores: Any, overlap_of: _Overlaps, most: int, least: Any, sigma: float) -> tuple[Array, Array]:
    """Return the choices if a score decays with the overlap with each chosen box.

    The best box is compared with those that were chosen since its last comparison; if its score falls, it is
    put back into the queue.
    """
    waiting = [(-float(score), place, 0) for place, score in enumerate(scores.tolist()) if score > least]
    heapq.heapify(waiting)
    kept: list[int] = []
    rest: list[float] = []
    while waiting and len(kept) < most:
        before, place, seen = heapq.heappop(waiting)
        score = -before
        parts = overlap_of(place, kept[seen:]).tolist() if seen < len(kept) else []
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


# -- kernels ---------------------------------------------------------------------------------------


def _check_values(op: str, candidates: Any, scores: Any, most: Any, overlap: Any) -> None:
    width = len(scores) if op.endswith("Overlaps") else 4
    if scores.ndim != 1 or candidates.shape != (len(scores), width):
        raise InvalidArgumentError(
            f"{op}: shape [n, {'n' if op.endswith('Overlaps') else 4}] and [n] are needed, got "
            f"{list(candidates.shape)} and {list(scores.shape)}"
        )
    if most < 0 or not (op.endswith("Overlaps") or 0 <= overlap <= 1):
        raise InvalidArgumentError(
            f"{op}: iou_threshold must be in [0, 1] and max_output_size at least 0, got {overlap} and {most}"
        )


def _padded(values: Any, length: int) -> Any:
    out = np.zeros(length, values.dtype)
    out[: len(values)] = values
    return out


def _kernel(ctx: KernelContext) -> Kernel:
    op, pads = ctx.op, ctx.attrs.get("pad_to_max_output_size", False)
    overlaps_given = op.endswith("Overlaps")
    dtype = ctx.inputs[0].dtype.np_dtype

    def choose(candidates: Any, scores: Any, most: Any, overlap: Any, least: Any, sigma: Any = 0) -> Any:
        _check_values(op, candidates, scores, most, overlap)
        overlap_of: _Overlaps = (
            (lambda place, others: candidates[place, others]) if overlaps_given else _overlaps_of(candidates)
        )
        places, rest = _select(scores, overlap_of, int(most), overlap, least, float(sigma))
        count = np.int32(len(places))
        if pads:
            places, rest = _padded(places, int(most)), _padded(rest, int(most))
        if op == "NonMaxSuppressionV5":
            return places, rest.astype(dtype), count
        return (places, count) if op == "NonMaxSuppressionV4" else places

    return choose


def _check_combined(boxes: Any, scores: Any, per_class: Any, total: Any, overlap: Any) -> None:
    fits = scores.ndim == 3 and boxes.ndim == 4 and boxes.shape[:2] == scores.shape[:2]
    if not fits or boxes.shape[3] != 4 or boxes.shape[2] not in (1, scores.shape[2]):
        raise InvalidArgumentError(
            "CombinedNonMaxSuppression: boxes have shape [batch, n, 1 or classes, 4] and scores [batch, n, "
            f"classes], got {list(boxes.shape)} and {list(scores.shape)}"
        )
    if min(per_class, total) <= 0 or not 0 <= overlap <= 1:
        raise InvalidArgumentError(
            "CombinedNonMaxSuppression: sizes must be > 0 and iou_threshold must be in [0, 1], got "
            f"{per_class}, {total} and {overlap}"
        )


def _best_of_image(boxes: Any, scores: Any, per_class: int, overlap: Any, least: Any) -> Any:
    """Return the choices in one image, best first: the indices of boxes and their classes."""
    places, classes = [], []
    for number in range(scores.shape[1]):
        overlap_of = _overlaps_of(boxes[:, number if boxes.shape[1] > 1 else 0])
        chosen, _ = _select(scores[:, number], overlap_of, per_class, overlap, least)
        places.append(chosen)
        classes.append(np.full(len(chosen), number))
    place = np.concatenate([np.zeros(0, np.intp), *places]).astype(np.intp)
    which = np.concatenate([np.zeros(0, np.intp), *classes]).astype(np.intp)
    order = np.argsort(-scores[place, which].astype(np.float64), kind="stable")
    return place[order], which[order]


def _combined_kernel(ctx: KernelContext) -> Kernel:
    pads, clips = ctx.attrs["pad_per_class"], ctx.attrs["clip_boxes"]

    def combined(boxes: Any, scores: Any, per_class: Any, total: Any, overlap: Any, least: Any) -> Any:
        _check_combined(boxes, scores, per_class, total, overlap)
        batch, room = len(boxes), _room(int(per_class), int(total), scores.shape[2], pads)
        kept = np.zeros((batch, room, 4), np.float32)
        best, kinds = np.zeros((2, batch, room), np.float32)
        counts = np.zeros(batch, np.int32)
        for number in range(batch):
            place, which = _best_of_image(boxes[number], scores[number], int(per_class), overlap, least)
            place, which = place[:room], which[:room]
            counts[number] = count = len(place)
            corners = boxes[number, place, which if boxes.shape[2] > 1 else 0]
            kept[number, :count] = np.clip(corners, 0, 1) if clips else corners
            best[number, :count] = scores[number, place, which]
            kinds[number, :count] = which
        return kept, best.copy(), kinds.copy(), counts

    return combined


# -- rows ------------------------------------------------------------------------------------------

# TensorFlow registers the first and the last as not differentiable, and nothing for the others.
op("NonMaxSuppressionV3", _selected, None, NOT_DIFFERENTIABLE, kernel=_kernel, sized_by=(2,))
op("NonMaxSuppressionV4", _selected, kernel=_kernel, sized_by=(2,))
op("NonMaxSuppressionV5", _selected, kernel=_kernel, sized_by=(2,))
op("NonMaxSuppressionWithOverlaps", _selected, None, NOT_DIFFERENTIABLE, kernel=_kernel, sized_by=(2,))
op("CombinedNonMaxSuppression", _best_of_images, kernel=_combined_kernel, sized_by=(2, 3))

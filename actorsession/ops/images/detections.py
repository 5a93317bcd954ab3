"""``combined_non_max_suppression``: the best boxes of many classes in many images.

Owns ``CombinedNonMaxSuppression``; the selection of boxes of one class is in ``choices``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.images.choices import chosen, corners_of, shared_parts
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints

__all__ = ["combined_non_max_suppression"]


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
    given = convert_to_tensor(boxes, float32)
    graph = given.graph
    with graph.name_scope(name or "combined_non_max_suppression"):
        made = raw.CombinedNonMaxSuppression(
            given,
            convert_to_tensor(scores, float32, "scores", graph=graph),
            convert_to_tensor(max_output_size_per_class, int32, graph=graph),
            convert_to_tensor(max_total_size, int32, "max_total_size", graph=graph),
            convert_to_tensor(iou_threshold, float32, "iou_threshold", graph=graph),
            convert_to_tensor(score_threshold, float32, "score_threshold", graph=graph),
            pad_per_class=bool(pad_per_class),
            clip_boxes=bool(clip_boxes),
        )
        return CombinedNonMaxSuppression(*made)


def _room(per_class: int, total: int, classes: int, pads: bool) -> int:
    return min(total, per_class * classes) if pads else total


def _best_of_images(ctx: InferContext) -> Sequence[TensorShape]:
    check_dtype(ctx, "f", (0, 1, 4, 5))
    check_dtype(ctx, "i", (2, 3))
    boxes, scores = ctx.inputs[0].shape, ctx.inputs[1].shape
    batch, count = scores.with_rank(3)[:2] if scores.rank in (None, 3) else (None, None)
    if not boxes.is_compatible_with([batch, count, None, 4]) or scores.rank not in (None, 3):
        raise ValueError(
            f"{ctx.op}: boxes have shape [batch, n, q, 4] and scores [batch, n, classes], got {boxes} and "
            f"{scores}"
        )
    shared, classes = boxes.with_rank(4)[2], scores.with_rank(3)[2]
    if shared not in (None, 1) and classes not in (None, shared):
        raise ValueError(
            f"{ctx.op}: third dimension of boxes must be either 1 or equal to the third dimension of "
            f"scores, got {boxes} and {scores}"
        )
    for i in range(2, 6):
        if ctx.inputs[i].shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is a scalar, got shape {ctx.inputs[i].shape}")
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


def _check_values(boxes: Any, scores: Any, per_class: Any, total: Any, overlap: Any) -> None:
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


def _best(boxes: Any, scores: Any, per_class: int, overlap: Any, least: Any) -> Any:
    """Return the choices in one image, best first: the indices of boxes and their classes."""
    places, classes = [], []
    for number in range(scores.shape[1]):
        corners = corners_of(boxes[:, number if boxes.shape[1] > 1 else 0])

        def shared(place: int, others: Any, corners: Any = corners) -> Any:
            return shared_parts(corners[place], corners[others])

        found, _ = chosen(scores[:, number], shared, per_class, overlap, least)
        places.append(found)
        classes.append(np.full(len(found), number))
    place = np.concatenate([np.zeros(0, np.intp), *places]).astype(np.intp)
    which = np.concatenate([np.zeros(0, np.intp), *classes]).astype(np.intp)
    order = np.argsort(-scores[place, which].astype(np.float64), kind="stable")
    return place[order], which[order]


def _combined_kernel(ctx: KernelContext) -> Kernel:
    pads, clips = ctx.attrs["pad_per_class"], ctx.attrs["clip_boxes"]

    def combined(
        boxes: Any, scores: Any, per_class: Any, total: Any, overlap: Any, least: Any
    ) -> Any:
        _check_values(boxes, scores, per_class, total, overlap)
        batch, room = len(boxes), _room(int(per_class), int(total), scores.shape[2], pads)
        kept = np.zeros((batch, room, 4), np.float32)
        best, kinds = np.zeros((2, batch, room), np.float32)
        counts = np.zeros(batch, np.int32)
        for number in range(batch):
            place, which = _best(boxes[number], scores[number], int(per_class), overlap, least)
            place, which = place[:room], which[:room]
            counts[number] = count = len(place)
            found = boxes[number, place, which if boxes.shape[2] > 1 else 0]
            kept[number, :count] = np.clip(found, 0, 1) if clips else found
            best[number, :count] = scores[number, place, which]
            kinds[number, :count] = which
        return kept, best.copy(), kinds.copy(), counts

    return combined


op("CombinedNonMaxSuppression", _best_of_images, kernel=_combined_kernel, sized_by=(2, 3))

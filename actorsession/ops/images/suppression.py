"""Selection of the best of overlapping boxes: the functions ``non_max_suppression...``.

Owns ``NonMaxSuppressionV3``, ``V4`` and ``V5``, and ``NonMaxSuppressionWithOverlaps``. The selection itself
is in ``choices``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.mapping import map_fn
from actorsession.ops.images.choices import chosen, corners_of, shared_parts
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints

__all__ = [
    "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
    "non_max_suppression_with_scores",
]  # fmt: skip


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
    given = convert_to_tensor(boxes)
    with given.graph.name_scope(name or "non_max_suppression"):
        operands = _operands(given, scores, max_output_size, iou_threshold, score_threshold)
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
    given = convert_to_tensor(boxes)
    with given.graph.name_scope(name or "non_max_suppression_with_scores"):
        operands = _operands(
            given, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma
        )
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
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """Select boxes with optional padding of the result, also for many images at once.

    Arguments that are not listed are as for ``non_max_suppression``.

    Args:
        boxes: shape ``[..., n, 4]``: two opposite corners, ``y1, x1, y2, x2``.
        scores: shape ``[..., n]``.
        pad_to_max_output_size: whether the indices are padded with zeros to ``max_output_size``; required
            with more than two axes.
        sorted_input: ignored: sorted input is equally fast.
        canonicalized_coordinates: ignored: corners are always ordered.
        tile_size: ignored.

    Returns:
        The int32 indices of the selected boxes, best first, and their number.
    """
    del sorted_input, canonicalized_coordinates, tile_size
    given = convert_to_tensor(boxes)
    with given.graph.as_default(), given.graph.name_scope(name or "non_max_suppression_padded"):
        rest = (max_output_size, iou_threshold, score_threshold)
        if given.shape.rank in (None, 2):
            return raw.NonMaxSuppressionV4(
                *_operands(given, scores, *rest),
                pad_to_max_output_size=bool(pad_to_max_output_size),
            )
        if not pad_to_max_output_size:
            raise ValueError(
                f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for batched input"
            )
        return _of_many(given, convert_to_tensor(scores, given.dtype), rest)


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

    places, counts = map_fn(one, flat, dtype=(int32, int32))
    length = expand_dims(convert_to_tensor(rest[0], int32), 0)
    found = reshape(places, concat([batch, length], 0))
    found.set_shape(boxes.shape[:-2].concatenate([places.shape[-1]]))
    return found, reshape(counts, batch)


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
    given = convert_to_tensor(overlaps, float32)
    with given.graph.name_scope(name or "non_max_suppression_overlaps"):
        operands = _operands(given, scores, max_output_size, overlap_threshold, score_threshold)
        return raw.NonMaxSuppressionWithOverlaps(*operands)


def _operands(boxes: Tensor, scores: Any, most: Any, *thresholds: Any) -> list[Tensor]:
    graph = boxes.graph
    names = ("iou_threshold", "score_threshold", "soft_nms_sigma")
    kinds = [boxes.dtype if len(thresholds) > 2 else float32] * len(thresholds)
    return [
        boxes, convert_to_tensor(scores, boxes.dtype, "scores", graph=graph),
        convert_to_tensor(most, int32, "max_output_size", graph=graph),
        *(
            convert_to_tensor(value, kind, name, graph=graph)
            for value, kind, name in zip(thresholds, kinds, names, strict=False)
        ),
    ]  # fmt: skip


# -- shape rules -----------------------------------------------------------------------------------


def _selected(ctx: InferContext) -> Sequence[TensorShape]:
    """The inputs are boxes, or their overlaps, scores, and scalars; the outputs are vectors and a count."""
    check_dtype(ctx, "f", (0, 1))
    check_dtype(ctx, "i", (2,))
    check_dtype(ctx, "f", range(3, len(ctx.inputs)))
    given, scores = ctx.inputs[0].shape, ctx.inputs[1].shape
    last = None if ctx.op.endswith("Overlaps") else 4
    count = given.with_rank(2)[0] if given.rank in (None, 2) else None
    wanted = [None, count if last is None else last]
    if not given.is_compatible_with(wanted) or not scores.is_compatible_with([count]):
        raise ValueError(
            f"{ctx.op}: shapes [n, {last or 'n'}] and [n] are needed, got {given} and {scores}"
        )
    for i in range(2, len(ctx.inputs)):
        if ctx.inputs[i].shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is a scalar, got shape {ctx.inputs[i].shape}")
    known = constant_ints(ctx, 2) if ctx.attrs.get("pad_to_max_output_size") else None
    if known is not None and known[0] < 0:
        raise ValueError(f"{ctx.op}: max_output_size is at least 0, got {known[0]}")
    places = TensorShape([known[0] if known else None])
    counted = {"NonMaxSuppressionV4": [scalar_shape], "NonMaxSuppressionV5": [places, scalar_shape]}
    return [places, *counted.get(ctx.op, [])]


# -- kernels ---------------------------------------------------------------------------------------


def _check_values(op: str, given: Any, scores: Any, most: Any, overlap: Any) -> None:
    width = len(scores) if op.endswith("Overlaps") else 4
    if scores.ndim != 1 or given.shape != (len(scores), width):
        raise InvalidArgumentError(
            f"{op}: shape [n, {'n' if op.endswith('Overlaps') else 4}] and [n] are needed, got "
            f"{list(given.shape)} and {list(scores.shape)}"
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
    of_boxes = not op.endswith("Overlaps")
    dtype = ctx.inputs[0].dtype.np_dtype

    def choose(given: Any, scores: Any, most: Any, overlap: Any, least: Any, sigma: Any = 0) -> Any:
        _check_values(op, given, scores, most, overlap)
        if of_boxes:
            corners = corners_of(given)

            def shared(place: int, others: Any) -> Any:
                return shared_parts(corners[place], corners[others])
        else:

            def shared(place: int, others: Any) -> Any:
                return given[place, others]

        places, rest = chosen(scores, shared, int(most), overlap, least, float(sigma))
        count = np.int32(len(places))
        if pads:
            places, rest = _padded(places, int(most)), _padded(rest, int(most))
        if op == "NonMaxSuppressionV5":
            return places, rest.astype(dtype), count
        return (places, count) if op == "NonMaxSuppressionV4" else places

    return choose


# TensorFlow registers the first and the last as not differentiable, and nothing for the others.
op("NonMaxSuppressionV3", _selected, None, NOT_DIFFERENTIABLE, kernel=_kernel, sized_by=(2,))
op("NonMaxSuppressionV4", _selected, kernel=_kernel, sized_by=(2,))
op("NonMaxSuppressionV5", _selected, kernel=_kernel, sized_by=(2,))
op(
    "NonMaxSuppressionWithOverlaps",
    _selected,
    None,
    NOT_DIFFERENTIABLE,
    kernel=_kernel,
    sized_by=(2,),
)

"""``sample_distorted_bounding_box``: a random box of an image that shows enough of an object.

Owns ``SampleDistortedBoundingBoxV2``. Boxes are drawn from the node's generator, by TensorFlow's rules but
not with its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.operands import check_dtype
from actorsession.ops.randomness.numbers import generator_of, seed_attrs
from actorsession.ops.rows import op

__all__ = ["sample_distorted_bounding_box"]


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a random box of an image that contains enough of some object.

    Args:
        image_size: height, width and channels.
        bounding_boxes: objects, shape ``[batch, n, 4]``: ``y1, x1, y2, x2`` as fractions of the image.
        seed: seed of the random numbers.
        seed2: a second seed, used unchanged together with the first.
        min_object_covered: minimum fraction of an object that must be inside, a scalar.
        aspect_ratio_range: bounds of the width divided by the height; 0.75 and 1.33 if left out.
        area_range: bounds of the fraction of the image that the box covers; 0.05 and 1 if left out.
        max_attempts: number of unsuitable boxes after which the whole image is used; 100 if left out.
        use_image_if_no_bounding_boxes: whether the image is the object if there are no objects; otherwise
            that is an error.

    Returns:
        The start and size of the box, both for ``slice``, and the box in fractions of the image, of shape
        ``[1, 1, 4]``.
    """
    boxes = convert_to_tensor(bounding_boxes, float32)
    graph = boxes.graph
    with graph.name_scope(name or "sample_distorted_bounding_box"):
        covered = convert_to_tensor(min_object_covered, float32, "min_object_covered", graph=graph)
        pair = {"seed": int(seed or 0), "seed2": int(seed2)} if seed2 else seed_attrs(seed, graph)
        return raw.SampleDistortedBoundingBoxV2(
            convert_to_tensor(image_size, None, "image_size", graph=graph),
            boxes,
            covered,
            aspect_ratio_range=[*map(float, aspect_ratio_range or (0.75, 1.33))],
            area_range=[*map(float, area_range or (0.05, 1.0))],
            max_attempts=int(max_attempts or 100),
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
            **pair,
        )


def _box_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    size, boxes, covered = ctx.inputs
    check_dtype(ctx, "f", (1, 2))
    for spec, expected in ((size, [3]), (boxes, [None, None, 4]), (covered, [])):
        if not spec.shape.is_compatible_with(expected):
            raise ValueError(
                f"{ctx.op}: shapes [3], [batch, n, 4] and [] are needed, got {size.shape}, {boxes.shape} "
                f"and {covered.shape}"
            )
    ratios, areas = ctx.attrs["aspect_ratio_range"], ctx.attrs["area_range"]
    if len(ratios) != 2 or min(ratios) <= 0:
        raise ValueError(f"{ctx.op}: aspect_ratio_range is two positive numbers, got {list(ratios)}")
    if len(areas) != 2 or min(areas) <= 0 or max(areas) > 1:
        raise ValueError(f"{ctx.op}: area_range is two numbers in (0, 1], got {list(areas)}")
    if ctx.attrs["max_attempts"] < 1:
        raise ValueError(f"{ctx.op}: max_attempts is at least 1, got {ctx.attrs['max_attempts']}")
    return [TensorShape([3]), TensorShape([3]), TensorShape([1, 1, 4])]


def _objects(boxes: Any, height: int, width: int, whole: bool) -> Array:
    """Return the objects in pixels."""
    flat = np.asarray(boxes, np.float64).reshape(-1, 4)
    if not ((flat >= 0) & (flat <= 1)).all() or not (flat[:, :2] < flat[:, 2:]).all():
        raise InvalidArgumentError(
            f"SampleDistortedBoundingBoxV2: boxes lie between 0 and 1, and end after they begin, got {flat.tolist()}"
        )
    if not len(flat):
        if not whole:
            raise InvalidArgumentError(
                "SampleDistortedBoundingBoxV2: No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        flat = np.array([[0.0, 0.0, 1.0, 1.0]])
    return np.floor(flat * [height, width, height, width])


def _random_box(
    random: np.random.Generator, height: int, width: int, ratio: float, areas: Sequence[float]
) -> tuple[int, int, int, int] | None:
    """Draw a box with a given ratio of its sides: first and last row and column, or ``None`` if unfit."""
    least, most = (part * height * width for part in sorted(areas))
    low = round(math.sqrt(least / ratio))
    high = min(height, round(math.sqrt(most / ratio)), int((width + 0.5) / ratio))
    rows = low + int(random.integers(high - low + 1)) if low < high else high
    columns = round(rows * ratio)
    if rows * columns < least:
        rows += 1
    elif rows * columns > most:
        rows -= 1
    columns = round(rows * ratio)
    fits = 0 < rows <= height and 0 < columns <= width and least <= rows * columns <= most
    if not fits:
        return None
    top, left = int(random.integers(height - rows + 1)), int(random.integers(width - columns + 1))
    return top, left, top + rows, left + columns


def _covers(box: Sequence[int], objects: Array, least: float) -> bool:
    """Return whether a box contains enough of an object."""
    low, high = np.maximum(box[:2], objects[:, :2]), np.minimum(box[2:], objects[:, 2:])
    common = np.maximum(high - low, 0).prod(1)
    areas = (objects[:, 2:] - objects[:, :2]).prod(1)
    return bool(((areas > 0) & (common >= least * areas)).any())


def _sample_kernel(ctx: KernelContext) -> Kernel:
    attrs, dtype = ctx.attrs, ctx.outputs[0].dtype.np_dtype
    random = generator_of(ctx)
    ratios = sorted(attrs["aspect_ratio_range"])

    def sample(size: Any, boxes: Any, covered: Any) -> Any:
        height, width = int(size[0]), int(size[1])
        if min(height, width) <= 0 or not covered >= 0:
            raise InvalidArgumentError(
                f"{ctx.op}: an image has a positive size and min_object_covered is at least 0, got "
                f"{size.tolist()} and {covered}"
            )
        objects = _objects(boxes, height, width, attrs["use_image_if_no_bounding_boxes"])
        chosen = (0, 0, height, width)
        for _ in range(attrs["max_attempts"]):
            box = _random_box(random, height, width, random.uniform(*ratios), attrs["area_range"])
            if box is not None and _covers(box, objects, float(covered)):
                chosen = box
                break
        top, left, bottom, right = chosen
        parts = np.array(chosen, np.float64) / [height, width, height, width]
        return (
            np.array([top, left, 0], dtype),
            np.array([bottom - top, right - left, -1]).astype(dtype),
            parts.astype(np.float32).reshape(1, 1, 4),
        )

    return sample


op("SampleDistortedBoundingBoxV2", _box_shapes, kernel=_sample_kernel, grad=NOT_DIFFERENTIABLE)

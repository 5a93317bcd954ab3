"""``crop_and_resize`` and its two gradients: boxes of images, resized to one size.

Owns ``CropAndResize``, ``CropAndResizeGradImage`` and ``CropAndResizeGradBoxes``. A box is given in fractions
of the image and may extend beyond its edges. The kernels process all boxes at once, through the positions at
which each box samples its image (``Places``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.operands import check_dtype
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, constant_ints, ints
from actorsession.records import dataclass

__all__ = ["Places", "crop_and_resize", "sampled"]


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
) -> Tensor:
    """Crop boxes of images, and resize them to one size.

    Args:
        image: real numbers of shape ``[batch, height, width, channels]``.
        boxes: float32 of shape ``[n, 4]``: ``y1, x1, y2, x2``, where 0 is the centre of the first pixel and 1
            that of the last. With exchanged ends the crop is mirrored; boxes may extend beyond the edges.
        box_indices: int32 of shape ``[n]``: the index of the image of each box.
        crop_size: int32, the height and width of the result.
        method: ``bilinear`` or ``nearest``.
        extrapolation_value: value of the pixels beyond an edge.

    Returns:
        float32 of shape ``[n, height, width, channels]``.
    """
    graph = graph_of(image, boxes, box_indices, crop_size)
    with graph.name_scope(name or "CropAndResize") as scope:
        return raw.CropAndResize(
            convert_to_tensor(image, None, "image", graph=graph),
            convert_to_tensor(boxes, float32, "boxes", graph=graph),
            convert_to_tensor(box_indices, int32, "box_ind", graph=graph),
            convert_to_tensor(crop_size, int32, "crop_size", graph=graph),
            method=method,
            extrapolation_value=float(extrapolation_value),
            name=scope,
        )


# -- shape rules -----------------------------------------------------------------------------------


def _check_boxes(ctx: InferContext, boxes: int, box_indices: int) -> Dim:
    """Check the operands of boxes, and return the number of boxes."""
    corners, which = ctx.inputs[boxes], ctx.inputs[box_indices]
    if corners.dtype is not float32 or which.dtype is not int32:
        raise TypeError(
            f"{ctx.op}: boxes are float32 and their images int32, got {corners.dtype.name} and {which.dtype.name}"
        )
    count = corners.shape.with_rank(2)[0] if corners.shape.rank in (None, 2) else None
    if not corners.shape.is_compatible_with([None, 4]) or not which.shape.is_compatible_with([count]):
        raise ValueError(
            f"{ctx.op}: boxes have shape [n, 4] and their images [n], got {corners.shape} and {which.shape}"
        )
    if count is not None or which.shape.rank is None:
        return count
    (listed,) = which.shape.with_rank(1).as_list()
    return listed


def _check_images(ctx: InferContext, *indices: int) -> None:
    for i in indices:
        spec = ctx.inputs[i]
        if spec.shape.rank not in (None, 4):
            raise ValueError(f"{ctx.op}: images have rank 4, got shape {spec.shape}")
    if ctx.attrs["method"] not in ("bilinear", "nearest"):
        raise ValueError(f"{ctx.op}: method is bilinear or nearest, got {ctx.attrs['method']!r}")


def _size(ctx: InferContext, index: int, entries: int) -> Ints | None:
    """Return the value of a size operand with the given number of entries, if it is known."""
    spec = ctx.inputs[index]
    if spec.dtype is not int32:
        raise TypeError(f"{ctx.op}: sizes are int32, got {spec.dtype.name}")
    if not spec.shape.is_compatible_with([entries]):
        raise ValueError(f"{ctx.op}: a size has shape [{entries}], got {spec.shape}")
    return constant_ints(ctx, index)


def _crops(ctx: InferContext) -> Sequence[TensorShape]:
    _check_images(ctx, 0)
    count, size = _check_boxes(ctx, 1, 2), _size(ctx, 3, 2)
    if size is not None and min(size) <= 0:
        raise ValueError(f"{ctx.op}: crop_size is two positive numbers, got {list(size)}")
    depth = ctx.inputs[0].shape.with_rank(4)[3]
    return [TensorShape([count, *(size or (None, None)), depth])]


def _whole_images(ctx: InferContext) -> Sequence[TensorShape]:
    check_dtype(ctx, "iuf", (0,))
    _check_images(ctx, 0)
    _check_boxes(ctx, 1, 2)
    return [TensorShape(_size(ctx, 3, 4) or [None] * 4)]


def _whole_boxes(ctx: InferContext) -> Sequence[TensorShape]:
    check_dtype(ctx, "iuf", (0,))
    _check_images(ctx, 0, 1)
    if ctx.attrs["method"] != "bilinear":
        raise ValueError(f"{ctx.op}: method is bilinear, got {ctx.attrs['method']!r}")
    return [TensorShape([_check_boxes(ctx, 2, 3), 4])]


# -- sampling positions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Places:
    """The sampling positions of boxes along one axis, as arrays of shape ``[boxes, pixels of a crop]``.

    Attributes:
        inside: whether the position is inside the image.
        low: the pixel before or at the position.
        high: the pixel after or at the position.
        part: the fraction of the way from ``low`` to ``high``.
        near: the pixel nearest to the position.
        scale: derivative of the position by the end of the box; ``1 - scale`` is the derivative by the start.
    """

    inside: Array
    low: Array
    high: Array
    part: Array
    near: Array
    scale: Array


def _places(first: Any, last: Any, old: int, new: int) -> Places:
    """Return the positions between the first and last edge of boxes, in an image of ``old`` pixels."""
    span = np.float32(old - 1)
    steps = np.arange(new, dtype=np.float32)
    if new > 1:
        stride = (last - first) * span / np.float32(new - 1)
        at = (first * span)[:, None] + steps * stride[:, None]
        scale = steps / np.float32(new - 1)
    else:
        at = (np.float32(0.5) * (first + last) * span)[:, None]
        scale = np.full(1, 0.5, np.float32)
    inside = (at >= 0) & (at <= span)
    at = np.where(inside, at, 0)
    low = np.floor(at)
    return Places(
        inside,
        low.astype(np.intp),
        np.ceil(at).astype(np.intp),
        at - low,
        np.floor(at + np.float32(0.5)).astype(np.intp),
        scale,
    )


def _checked(op: str, images: Any, boxes: Any, box_indices: Any, batch: int) -> Any:
    """Check the operands, and return the index of the image of each box."""
    if boxes.ndim != 2 or boxes.shape[1] != 4 or box_indices.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"{op}: boxes have shape [n, 4] and their images [n], got {list(boxes.shape)} and {list(box_indices.shape)}"
        )
    if images.ndim != 4 or not all(images.shape[1:3]):
        raise InvalidArgumentError(f"{op}: images have rank 4 and pixels, got shape {list(images.shape)}")
    if ((box_indices < 0) | (box_indices >= batch)).any():
        raise OutOfRangeError(f"{op}: box_index has values outside [0, {batch}), got {box_indices.tolist()[:10]}")
    return box_indices[:, None, None]


def sampled(boxes: Any, old: tuple[int, int], new: tuple[int, int]) -> tuple[Places, Places]:
    """Return the positions along height and width at which boxes of shape ``[n, 4]`` sample an image."""
    rows = _places(boxes[:, 0], boxes[:, 2], old[0], new[0])
    return rows, _places(boxes[:, 1], boxes[:, 3], old[1], new[1])


def _grid(rows: Array, columns: Array) -> tuple[Array, Array]:
    """Return two arrays of positions, shaped to broadcast over the pixels of crops."""
    return rows[:, :, None], columns[:, None, :]


# -- kernels ---------------------------------------------------------------------------------------


def _crops_kernel(ctx: KernelContext) -> Kernel:
    beyond = np.float32(ctx.attrs["extrapolation_value"])
    smooth = ctx.attrs["method"] == "bilinear"

    def cropped(images: Any, boxes: Any, box_indices: Any, size: Any) -> Any:
        crop = ints(size)
        if len(crop) != 2 or min(crop) <= 0:
            raise InvalidArgumentError(f"{ctx.op}: crop_size is two positive numbers, got {list(crop)}")
        which = _checked(ctx.op, images, boxes, box_indices, len(images))
        rows, columns = sampled(boxes, images.shape[1:3], (crop[0], crop[1]))
        if smooth:
            crops = _blended(images, which, rows, columns)
        else:
            near = _grid(rows.near, columns.near)
            crops = images[which, *near].astype(np.float32)
        inside = rows.inside[:, :, None] & columns.inside[:, None, :]
        crops[~inside] = beyond
        return crops

    return cropped


def _blended(images: Any, which: Any, rows: Places, columns: Places) -> Any:
    """Return the interpolation of the four pixels around each position."""
    right = columns.part[:, None, :, None]
    lines = []
    for line in (rows.low, rows.high):
        left_pixel = images[which, *_grid(line, columns.low)].astype(np.float32)
        right_pixel = images[which, *_grid(line, columns.high)].astype(np.float32)
        lines.append(left_pixel + (right_pixel - left_pixel) * right)
    top, bottom = lines
    return top + (bottom - top) * rows.part[:, :, None, None]


def _image_gradient_kernel(ctx: KernelContext) -> Kernel:
    dtype, smooth = ctx.outputs[0].dtype.np_dtype, ctx.attrs["method"] == "bilinear"

    def back(grads: Any, boxes: Any, box_indices: Any, size: Any) -> Any:
        shape = ints(size)
        if len(shape) != 4 or min(shape) < 0 or grads.ndim != 4 or grads.shape[3] != shape[3]:
            raise InvalidArgumentError(
                f"{ctx.op}: images have four sizes, the last as of the gradient, got {list(shape)} and a "
                f"gradient of shape {list(grads.shape)}"
            )
        out = np.zeros(shape, np.float32 if dtype == np.float16 else dtype)
        which = _checked(ctx.op, out, boxes, box_indices, shape[0])
        rows, columns = sampled(boxes, shape[1:3], grads.shape[1:3])
        inside = rows.inside[:, :, None] & columns.inside[:, None, :]
        flow = np.where(inside[..., None], grads, 0).astype(out.dtype)
        if smooth:
            below, right = rows.part[:, :, None, None], columns.part[:, None, :, None]
            for line, tall in ((rows.low, 1 - below), (rows.high, below)):
                for place, wide in ((columns.low, 1 - right), (columns.high, right)):
                    np.add.at(out, (which, *_grid(line, place)), flow * (tall * wide))
        else:
            np.add.at(out, (which, *_grid(rows.near, columns.near)), flow)
        return out.astype(dtype, copy=False)

    return back


def _boxes_gradient(grads: Any, images: Any, boxes: Any, box_indices: Any) -> Any:
    op = "CropAndResizeGradBoxes"
    which = _checked(op, images, boxes, box_indices, len(images))
    if grads.ndim != 4 or len(grads) != len(boxes) or grads.shape[3] != images.shape[3]:
        raise InvalidArgumentError(
            f"{op}: the gradient has the boxes and channels of the images, got shape {list(grads.shape)} "
            f"for {len(boxes)} boxes of images of shape {list(images.shape)}"
        )
    height, width = images.shape[1:3]
    rows, columns = sampled(boxes, (height, width), grads.shape[1:3])
    corners = [
        images[which, *_grid(line, place)].astype(np.float32)
        for line in (rows.low, rows.high)
        for place in (columns.low, columns.high)
    ]
    top_left, top_right, bottom_left, bottom_right = corners
    below, right = rows.part[:, :, None, None], columns.part[:, None, :, None]
    inside = (rows.inside[:, :, None] & columns.inside[:, None, :])[..., None]
    flow = np.where(inside, grads, 0)
    down = (1 - right) * (bottom_left - top_left) + right * (bottom_right - top_right)
    across = (1 - below) * (top_right - top_left) + below * (bottom_right - bottom_left)
    # The derivative of the value at each position along an axis of the image.
    by_row = (flow * down).sum((2, 3)) * np.float32(height - 1)
    by_column = (flow * across).sum((1, 3)) * np.float32(width - 1)
    return np.stack(
        [
            (by_row * (1 - rows.scale)).sum(1),
            (by_column * (1 - columns.scale)).sum(1),
            (by_row * rows.scale).sum(1),
            (by_column * columns.scale).sum(1),
        ],
        axis=1,
    ).astype(np.float32)


# -- gradients and rows ----------------------------------------------------------------------------


def _crops_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image, boxes, box_indices, _ = op.inputs
    by_image = None
    if image.dtype.is_floating:
        size, method = shape_tensor(image), op.attrs["method"]
        by_image = raw.CropAndResizeGradImage(grad, boxes, box_indices, size, T=image.dtype, method=method)
    # The gradient for the nearest pixel, which does not move with a box, is computed as if it were
    # interpolated.
    by_boxes = raw.CropAndResizeGradBoxes(grad, image, boxes, box_indices)
    return [by_image, by_boxes, None, None]


op("CropAndResize", _crops, kernel=_crops_kernel, grad=_crops_gradient, sized_by=(3,))
op("CropAndResizeGradImage", _whole_images, kernel=_image_gradient_kernel, sized_by=(3,))
op("CropAndResizeGradBoxes", _whole_boxes, _boxes_gradient)

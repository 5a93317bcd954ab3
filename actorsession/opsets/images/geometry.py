"""Crops, margins and flips of images.

The module has no op types of its own; everything is composed of slices, pads and reversals, as in TensorFlow.
An image has shape ``[height, width, channels]``, or four axes with a batch in front; sizes may be tensors.
Arguments that are known to be invalid while the graph is built raise a ValueError; others are rejected by the
ops of a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import float64, int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.layout import pad, transpose
from actorsession.ops.arrays.reversal import reverse
from actorsession.ops.arrays.slicing import slice_
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum, minimum
from actorsession.ops.elements.cast import cast

__all__ = [
    "central_crop",
    "check_box",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "image_rank",
    "image_sizes",
    "pad_to_bounding_box",
    "resize_image_with_crop_or_pad",
    "rot90",
    "transpose_image",
]


# -- helpers ---------------------------------------------------------------------------------------


def image_rank(value: Tensor, *allowed: int) -> int:
    """Return the rank of an image, or 3 if it is unknown.

    Raises:
        ValueError: for a rank that is not allowed.
    """
    rank = value.shape.rank
    if rank is not None and rank not in allowed:
        words = " or ".join(map(str, allowed))
        raise ValueError(f"'image' must have rank {words}, got shape {value.shape}")
    return 3 if rank is None else rank


def _known(value: Any) -> Any:
    """Return a size as a Python number if it is known, otherwise unchanged."""
    known = get_static_value(value) if isinstance(value, Tensor) else value
    return value if known is None else known.item() if isinstance(known, np.generic) else known


def image_sizes(value: Tensor, rank: int) -> tuple[Any, Any]:
    """Return height and width of an image, as numbers where they are known."""
    static = value.spec.shape.with_rank(rank)
    dims = shape(value)
    height, width = rank - 3, rank - 2
    return (
        dims[height] if static[height] is None else static[height],
        dims[width] if static[width] is None else static[width],
    )


def _least(value: Any, other: Any) -> Any:
    return minimum(value, other) if _symbolic(value, other) else min(value, other)


def _most(value: Any, other: Any) -> Any:
    return maximum(value, other) if _symbolic(value, other) else max(value, other)


def _symbolic(*values: Any) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def _require(condition: Any, message: str) -> None:
    """Check a condition if its value is known; tensors are left to the step."""
    if not isinstance(condition, Tensor) and not condition:
        raise ValueError(message)


def _numbers(*values: Any) -> bool:
    return not _symbolic(*values)


def _vector(value: Tensor, entries: list[Any]) -> Tensor:
    graph = value.graph
    return stack([convert_to_tensor(entry, int32, graph=graph) for entry in entries])


def _shaped(value: Tensor, rank: int, height: Any, width: Any, like: Tensor) -> Tensor:
    """Set the static shape of the result, as far as it is known."""
    batch = [like.spec.shape.with_rank(rank)[0]] if rank == 4 else []
    sizes = [None if isinstance(d, Tensor) else d for d in (height, width)]
    value.set_shape([*batch, *sizes, like.spec.shape.with_rank(rank)[-1]])
    return value


# -- parts and margins -----------------------------------------------------------------------------


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Return a part of an image.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        offset_height: the first row of the part.
        offset_width: the first column of the part.
        target_height: number of rows of the part.
        target_width: number of columns of the part.

    Raises:
        ValueError: if the part is known not to be inside the image.
    """
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope("crop_to_bounding_box"):
        rank = image_rank(value, 3, 4)
        top, left, rows, columns = map(_known, (offset_height, offset_width, target_height, target_width))
        height, width = image_sizes(value, rank)
        check_box(top, left, rows, columns)
        if _numbers(width, left, columns):
            _require(width >= columns + left, "width must be >= target + offset.")
        if _numbers(height, top, rows):
            _require(height >= rows + top, "height must be >= target + offset.")
        batch = [0] * (rank - 3)
        begin = _vector(value, [*batch, top, left, 0])
        size = _vector(value, [*[-1] * (rank - 3), rows, columns, -1])
        return _shaped(slice_(value, begin, size), rank, rows, columns, value)


def check_box(top: Any, left: Any, rows: Any, columns: Any) -> None:
    """Check the position and the size of a box, as far as they are known.

    Raises:
        ValueError: if the position is below 0, or the size is not above 0.
    """
    for number, what in ((left, "offset_width"), (top, "offset_height")):
        if _numbers(number):
            _require(number >= 0, f"{what} must be >= 0, got {number}.")
    for number, what in ((columns, "target_width"), (rows, "target_height")):
        if _numbers(number):
            _require(number > 0, f"{what} must be > 0, got {number}.")


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Pad an image with rows and columns of zeros.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        offset_height: number of rows above the image.
        offset_width: number of columns left of the image.
        target_height: number of rows of the result.
        target_width: number of columns of the result.

    Raises:
        ValueError: if the image is known not to fit.
    """
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope("pad_to_bounding_box"):
        rank = image_rank(value, 3, 4)
        top, left, rows, columns = map(_known, (offset_height, offset_width, target_height, target_width))
        height, width = image_sizes(value, rank)
        below, right = rows - top - height, columns - left - width
        for margin, what in (
            (top, "offset_height must be >= 0"),
            (left, "offset_width must be >= 0"),
            (right, "width must be <= target - offset"),
            (below, "height must be <= target - offset"),
        ):
            if _numbers(margin):
                _require(margin >= 0, what)
        margins = [0, 0] * (rank - 3) + [top, below, left, right, 0, 0]
        pairs = [_vector(value, margins[i : i + 2]) for i in range(0, len(margins), 2)]
        return _shaped(pad(value, stack(pairs)), rank, rows, columns, value)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """Return the middle of an image.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        central_fraction: fraction of the height and width to keep, in (0, 1].
    """
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope("central_crop"):
        fraction = _known(central_fraction)
        if _numbers(fraction) and not 0 < fraction <= 1:
            raise ValueError(f"central_fraction must be within (0, 1], got {fraction}")
        if _numbers(fraction) and fraction == 1:
            return value
        rank = image_rank(value, 3, 4)
        boxes = []
        for extent in image_sizes(value, rank):
            start = _first_row(extent, fraction)
            boxes.append((start, extent - start * 2))
        (top, rows), (left, columns) = boxes
        return crop_to_bounding_box(value, top, left, rows, columns)


def _first_row(extent: Any, fraction: Any) -> Any:
    if _numbers(extent, fraction):
        return int((float(extent) - float(extent) * fraction) / 2)
    wide = cast(convert_to_tensor(extent), float64)
    part = cast(fraction, float64) if isinstance(fraction, Tensor) else fraction
    return cast((wide - wide * part) / 2, int32)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crop an image evenly, or pad it evenly with zeros, to another size.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        target_height: wanted height.
        target_width: wanted width.

    Raises:
        ValueError: if a size is known not to be positive.
    """
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope("resize_image_with_crop_or_pad"):
        rank = image_rank(value, 3, 4)
        rows, columns = _known(target_height), _known(target_width)
        check_box(0, 0, rows, columns)
        height, width = image_sizes(value, rank)
        down, across = rows - height, columns - width
        cropped = crop_to_bounding_box(
            value, _most(-down // 2, 0), _most(-across // 2, 0), _least(rows, height), _least(columns, width)
        )
        return pad_to_bounding_box(cropped, _most(down // 2, 0), _most(across // 2, 0), rows, columns)


# -- flips and rotations ---------------------------------------------------------------------------


def flip_left_right(image: Any) -> Tensor:
    """Return an image with left and right exchanged; rank 3 or 4."""
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Return an image upside down; rank 3 or 4."""
    return _flipped(image, 0, "flip_up_down")


def _flipped(image: Any, axis: int, name: str) -> Tensor:
    value = convert_to_tensor(image)
    with value.graph.name_scope(name):
        return reverse(value, [axis + image_rank(value, 3, 4) - 3])


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Return an image with rows and columns exchanged; rank 3 or 4."""
    value = convert_to_tensor(image)
    with value.graph.name_scope(name or "transpose"):
        return transpose(value, [1, 0, 2] if image_rank(value, 3, 4) == 3 else [0, 2, 1, 3])


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Rotate an image to the left by ``k`` right angles.

    Args:
        image: an image of rank 3, or a batch of rank 4.
        k: a number.

    Raises:
        TypeError: if ``k`` is a tensor of unknown value.
    """
    value, turns = convert_to_tensor(image), _known(k)
    if isinstance(turns, Tensor):
        raise TypeError(f"k is a number, got {turns!r}: choose among four images with case")
    with value.graph.as_default(), value.graph.name_scope(name or "rot90"):
        turns = int(turns) % 4
        if turns == 0:
            return identity(value)
        if turns == 2:
            return flip_up_down(flip_left_right(value))
        return flip_up_down(transpose_image(value)) if turns == 1 else transpose_image(flip_up_down(value))

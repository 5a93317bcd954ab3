"""``resize_images``: resizing of images by any method, optionally preserving their aspect ratio.

Composed of ``resizing``, which has the op types, and of the margins of ``geometry``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.shape import expand_dims, squeeze
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import minimum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.nearness import rint
from actorsession.opsets.images.geometry import check_box, image_rank, image_sizes, pad_to_bounding_box
from actorsession.opsets.images.resizing import resize_area, resize_bicubic, resize_bilinear, resize_nearest_neighbor

__all__ = ["ResizeMethod", "resize_image_with_pad", "resize_images"]


class ResizeMethod:
    """The methods by which ``resize_images`` computes new pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images; images of the right size are returned unchanged.

    Args:
        images: an image of rank 3, or a batch of rank 4.
        size: the new height and width.
        method: one of ``ResizeMethod``.
        align_corners: whether the centres of the corner pixels keep their positions.
        preserve_aspect_ratio: whether to fit the image into ``size`` with its aspect ratio preserved.

    Returns:
        float32, unless nothing changes or ``method`` is ``NEAREST_NEIGHBOR``.
    """
    value = convert_to_tensor(images)
    with value.graph.as_default(), value.graph.name_scope(name or "resize"):
        rank = image_rank(value, 3, 4)
        new_size = convert_to_tensor(size, int32, "size", graph=value.graph)
        if not new_size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if method not in _METHODS:
            raise ValueError(f"Resize method is not implemented: {method}")
        batch = expand_dims(value, 0) if rank == 3 else value
        if preserve_aspect_ratio:
            new_size = _fitted(batch, new_size)
        known = get_static_value(new_size)
        if known is not None and batch.spec.shape.with_rank(4).as_list()[1:3] == known.tolist():
            return value
        resized = _METHODS[method](batch, new_size, align_corners)
        return squeeze(resized, [0]) if rank == 3 else resized


def _fitted(images: Tensor, size: Tensor) -> Tensor:
    """Return the largest size with the aspect ratio of the images that fits into another."""
    height, width = (cast(convert_to_tensor(d), float32) for d in image_sizes(images, 4))
    factor = minimum(cast(size[0], float32) / height, cast(size[1], float32) / width)
    fitted = stack([cast(rint(factor * height), int32), cast(rint(factor * width), int32)])
    known = get_static_value(size)
    dims = images.spec.shape.with_rank(4).as_list()[1:3]
    if known is None or None in dims:
        return fitted
    scale = min(np.float32(known[0]) / np.float32(dims[0]), np.float32(known[1]) / np.float32(dims[1]))
    return convert_to_tensor(np.rint(np.array(dims, np.float32) * scale).astype(np.int32), graph=images.graph)


def resize_image_with_pad(
    image: Any, target_height: int, target_width: int, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False
) -> Tensor:
    """Resize an image with its aspect ratio preserved, and pad it evenly with zeros.

    Args:
        image: an image of rank 3, or a batch of rank 4, of known size.
        target_height: wanted height.
        target_width: wanted width.
        method: one of ``ResizeMethod``.
        align_corners: as for ``resize_images``.

    Raises:
        ValueError: if the size of the image is not known, or a wanted one is not positive.
    """
    value = convert_to_tensor(image)
    with value.graph.as_default(), value.graph.name_scope("resize_image_with_pad"):
        check_box(0, 0, target_height, target_width)
        rank = image_rank(value, 3, 4)
        height, width = image_sizes(value, rank)
        if isinstance(height, Tensor) or isinstance(width, Tensor):
            raise ValueError(f"the size of the image must be known, got shape {value.shape}")
        ratio = max(width / target_width, height / target_height)
        rows, columns = int(np.floor(height / ratio)), int(np.floor(width / ratio))
        top = max(0, int(np.floor((target_height - height / ratio) / 2)))
        left = max(0, int(np.floor((target_width - width / ratio) / 2)))
        resized = resize_images(value, [rows, columns], method, align_corners)
        return pad_to_bounding_box(resized, top, left, target_height, target_width)

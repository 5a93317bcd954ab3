"""Extraction of image patches into the depth of smaller images.

Owns ``ExtractImagePatches``. The kernel copies once out of a strided view; a patch that extends beyond the
edge contains zeros there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.scatter import unsorted_segment_sum
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.rows import op

__all__ = ["extract_image_patches", "extract_patches"]


def extract_patches(
    images: Any,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extract patches of images, each into the depth of one pixel of the result.

    Args:
        images: ``[batch, height, width, depth]``.
        sizes: sizes of a patch, ``[1, rows, columns, 1]``.
        strides: distances from one patch to the next, ``[1, rows, columns, 1]``.
        rates: distances from one pixel of a patch to the next, ``[1, rows, columns, 1]``.
        padding: ``VALID`` for patches inside the image, ``SAME`` for as many as there are strides.

    Returns:
        A tensor of shape ``[batch, rows of patches, columns of patches, rows * columns * depth]``.
    """
    return raw.ExtractImagePatches(
        images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name
    )


def extract_image_patches(
    images: Any,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Extract patches with TensorFlow 1's arguments; ``sizes`` is another name for ``ksizes``."""
    if (ksizes is None) == (sizes is None):
        kind = TypeError if sizes is None else ValueError
        raise kind(f"give one of ksizes and sizes, got {ksizes} and {sizes}")
    extents = sizes if ksizes is None else ksizes
    if extents is None or strides is None or rates is None or padding is None:
        raise TypeError("extract_image_patches needs ksizes, strides, rates and padding")
    return extract_patches(images, extents, strides, rates, padding, name)


def _patch_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    shape = ctx.inputs[0].shape
    for key in ("ksizes", "strides", "rates"):
        found = list(ctx.attrs[key])
        if len(found) != 4 or found[0] != 1 or found[3] != 1 or min(found) < 1:
            raise ValueError(f"{ctx.op}: {key} are [1, rows, columns, 1], at least 1, got {found}")
    if ctx.attrs["padding"] not in ("SAME", "VALID"):
        raise ValueError(f"{ctx.op}: padding is SAME or VALID, got {ctx.attrs['padding']!r}")
    if shape.rank not in (None, 4):
        raise ValueError(f"{ctx.op} takes images of rank 4, got shape {shape}")
    batch, height, width, depth = shape.with_rank(4)
    _, rows, columns, _ = ctx.attrs["ksizes"]
    out = [
        None if extent is None else _places(extent, ctx.attrs, axis)[0]
        for axis, extent in ((1, height), (2, width))
    ]
    deep: Dim = None if depth is None else rows * columns * depth
    return [TensorShape([batch, *out, deep])]


def _places(extent: int, attrs: Any, axis: int) -> tuple[int, int, int]:
    """Return the number of patches along an axis, and the zeros before and after it."""
    size, stride, rate = (attrs[key][axis] for key in ("ksizes", "strides", "rates"))
    covered = (size - 1) * rate + 1
    if attrs["padding"] == "VALID":
        return max(0, (extent - covered) // stride + 1), 0, 0
    count = -(-extent // stride)
    margin = max(0, (count - 1) * stride + covered - extent)
    return count, margin // 2, margin - margin // 2


def _patches_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    (_, rows, columns, _), (_, down, right, _) = attrs["ksizes"], attrs["strides"]
    _, row_rate, column_rate, _ = attrs["rates"]
    window = ((rows - 1) * row_rate + 1, (columns - 1) * column_rate + 1)

    def patches(x: Any) -> Any:
        if x.ndim != 4:
            raise InvalidArgumentError(f"images of rank 4 are taken, got shape {list(x.shape)}")
        batch, height, width, depth = x.shape
        tall, above, below = _places(height, attrs, 1)
        wide, before, behind = _places(width, attrs, 2)
        dims = (batch, tall, wide, rows * columns * depth)
        if not batch * tall * wide * depth:
            return np.zeros(dims, x.dtype)
        padded = np.pad(x, [(0, 0), (above, below), (before, behind), (0, 0)])
        view = np.lib.stride_tricks.sliding_window_view(padded, window, (1, 2))
        view = view[:, ::down, ::right, :, ::row_rate, ::column_rate].transpose(0, 1, 2, 4, 5, 3)
        return np.array(view, order="C").reshape(dims)

    return patches


def _patches_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    """Sum the gradients of all copies of each pixel, located by extracting patches of pixel numbers."""
    if grad is None:
        return [None]
    image, attrs = op.inputs[0], op.attrs
    _, rows, columns, _ = attrs["ksizes"]
    dims = shape_tensor(image, int64)
    batch, height, width, depth = (dims[axis] for axis in range(4))
    one = convert_to_tensor(1, int64, graph=grad.graph)
    # Numbers start at 1: 0 is outside the image, and a segment id below 0 is ignored.
    numbers = reshape(range_(one, height * width + one, one), stack([one, height, width, one]))
    places = make_one("ExtractImagePatches", [numbers], dict(attrs)) - one
    shown = shape_tensor(grad, int64)
    split = stack([batch, shown[1], shown[2], one * rows, one * columns, depth])
    by_place = transpose(reshape(grad, split), [1, 2, 3, 4, 0, 5])
    flat = reshape(by_place, stack([-one, batch * depth]))
    total = unsorted_segment_sum(flat, reshape(places, [-1]), height * width)
    return [transpose(reshape(total, stack([height, width, batch, depth])), [2, 0, 1, 3])]


op("ExtractImagePatches", _patch_shapes, kernel=_patches_kernel, grad=_patches_gradient)

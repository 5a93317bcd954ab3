"""Extraction of image patches into the depth of smaller images.

Owns ``ExtractImagePatches`` and ``ExtractVolumePatches``. The kernel copies once out of a strided view; a
patch that extends beyond the edge contains zeros there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, RequestValueError
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

__all__ = ["extract_patches", "extract_volume_patches"]


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
    return raw.ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_volume_patches(
    input: Any, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """Extract patches of volumes, each into the depth of one element of the result.

    Args:
        input: ``[batch, planes, rows, columns, depth]``.
        ksizes: sizes of a patch, ``[1, planes, rows, columns, 1]``.
        strides: distances from one patch to the next, likewise.
        padding: ``VALID`` for patches inside the volume, ``SAME`` for as many as there are strides.
        name: wanted name.
    """
    return raw.ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)


# What the attributes are for each spatial axis; patches of volumes have no rates.
_KEYS = ("ksizes", "strides", "rates")


def _extents(attrs: Any) -> list[tuple[int, int, int]]:
    """Return size, stride and rate of a patch on each spatial axis."""
    columns = [attrs.get(key, [1] * len(attrs["ksizes"]))[1:-1] for key in _KEYS]
    return list(zip(*columns, strict=True))


def _patch_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    shape, rank = ctx.inputs[0].shape, 5 if ctx.op == "ExtractVolumePatches" else 4
    for key in [key for key in _KEYS if key in ctx.attrs]:
        sizes = list(ctx.attrs[key])
        if len(sizes) != rank or sizes[0] != 1 or sizes[-1] != 1 or min(sizes) < 1:
            named = "rows, columns" if rank == 4 else "planes, rows, columns"
            raise ValueError(f"{ctx.op}: {key} are [1, {named}, 1], at least 1, got {sizes}")
    if ctx.attrs["padding"] not in ("SAME", "VALID"):
        raise ValueError(f"{ctx.op}: padding is SAME or VALID, got {ctx.attrs['padding']!r}")
    if shape.rank not in (None, rank):
        raise ValueError(f"{ctx.op} takes images of rank {rank}, got shape {shape}")
    batch, *spatial, depth = shape.with_rank(rank)
    padding = ctx.attrs["padding"]
    out = [
        None if size is None else _places(size, extent, padding)[0]
        for size, extent in zip(spatial, _extents(ctx.attrs), strict=True)
    ]
    deep: Dim = None if depth is None else math.prod(ctx.attrs["ksizes"]) * depth
    return [TensorShape([batch, *out, deep])]


def _places(whole: int, extent: tuple[int, int, int], padding: str) -> tuple[int, int, int]:
    """Return the number of patches along an axis, and the zeros before and after it."""
    size, stride, rate = extent
    covered = (size - 1) * rate + 1
    if padding == "VALID":
        if whole - covered + stride <= -stride:
            raise RequestValueError(f"Computed output size would be negative: patches over {covered} pixels of {whole}")
        return max(0, (whole - covered) // stride + 1), 0, 0
    count = -(-whole // stride)
    margin = max(0, (count - 1) * stride + covered - whole)
    return count, margin // 2, margin - margin // 2


def _patches_kernel(ctx: KernelContext) -> Kernel:
    extents, padding = _extents(ctx.attrs), ctx.attrs["padding"]
    n = len(extents)
    window = tuple([(size - 1) * rate + 1 for size, _, rate in extents])
    steps = [slice(None, None, stride) for _, stride, _ in extents]
    rates = [slice(None, None, rate) for _, _, rate in extents]
    # The channels stand behind the places in the view, and are to stand behind the pixels.
    order = (*range(n + 1), *range(n + 2, 2 * n + 2), n + 1)

    def patches(x: Any) -> Any:
        if x.ndim != n + 2:
            raise InvalidArgumentError(f"images of rank {n + 2} are taken, got shape {list(x.shape)}")
        places = [_places(*each, padding) for each in zip(x.shape[1:-1], extents, strict=True)]
        counts = [count for count, _, _ in places]
        deep = math.prod([size for size, _, _ in extents]) * x.shape[-1]
        dims = (len(x), *counts, deep)
        if not math.prod(dims):
            return np.zeros(dims, x.dtype)
        margins = [(before, behind) for _, before, behind in places]
        padded = np.pad(x, [(0, 0), *margins, (0, 0)])
        view = np.lib.stride_tricks.sliding_window_view(padded, window, tuple(range(1, n + 1)))
        view = view[(slice(None), *steps, slice(None), *rates)].transpose(order)
        return np.array(view, order="C").reshape(dims)

    return patches


def _patches_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    """Sum the gradients of all copies of each pixel, located by extracting patches of pixel numbers."""
    if grad is None:
        return [None]
    image, window = op.inputs[0], [int(size) for size in op.attrs["ksizes"][1:-1]]
    n = len(window)
    dims = shape_tensor(image, int64)
    batch, *spatial, depth = (dims[axis] for axis in range(n + 2))
    one = convert_to_tensor(1, int64, graph=grad.graph)
    count = functools.reduce(lambda a, b: a * b, spatial)
    # Numbers start at 1: 0 is outside the image, and a segment id below 0 is ignored.
    numbers = reshape(range_(one, count + one, one), stack([one, *spatial, one]))
    places = make_one(op.type, [numbers], dict(op.attrs)) - one
    shown = shape_tensor(grad, int64)
    split = stack([batch, *[shown[axis] for axis in range(1, n + 1)], *[one * size for size in window], depth])
    by_place = transpose(reshape(grad, split), [*range(1, 2 * n + 1), 0, 2 * n + 1])
    numbered = reshape(places, [-1])
    flat = reshape(by_place, stack([shape_tensor(numbered, int64)[0], batch * depth]))
    total = unsorted_segment_sum(flat, numbered, count)
    turned = [n, *range(n), n + 1]
    return [transpose(reshape(total, stack([*spatial, batch, depth])), turned)]


for _name in ("ExtractImagePatches", "ExtractVolumePatches"):
    op(_name, _patch_shapes, kernel=_patches_kernel, grad=_patches_gradient)

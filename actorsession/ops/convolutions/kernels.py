"""Convolutions of arrays, channels last, as matrix products.

Owns the numpy implementation of convolutions with any number of spatial axes, including their gradients; the
modules of the op types call it. Patches are copied into a small matrix block by block, so that BLAS finds
them in the cache. All blocks use the same memory, so that no new memory is requested from the system. With
few channels a patch consists of many short runs; the matrix is then laid out position by position, where the
runs are rows of the image.

The blocks of a large convolution are distributed over threads; the threads of BLAS do not help here, see
``ops.blas``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from itertools import groupby, product
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.registry import Array
from actorsession.ops import blas
from actorsession.ops.blas import share_products
from actorsession.ops.convolutions.windows import Pads, blocks, padded, patches, position_slices
from actorsession.ops.shape_operands import Ints
from actorsession.records import dataclass

__all__ = ["Sliding", "convolved", "filter_gradient", "input_gradient"]

# Below this many elements in a run, patches are copied position by position: measured 2.5 times as fast for
# 5x5 windows on one channel, and equally fast from about 16 elements on.
_SHORT_RUN = 16


Block: TypeAlias = tuple[slice, slice]

# A thread keeps at most this much memory: a block is half of it, unless a single row of windows takes more.
_KEPT_BYTES = 1 << 22
_OF_THREAD = threading.local()


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows over images of known size.

    Attributes:
        counts: number of windows on each spatial axis.
        window: number of elements of a window on each axis.
        strides: steps from window to window.
        dilations: steps between elements of a window.
        pads: padding before and after, on each axis.
    """

    counts: Ints
    window: Ints
    strides: Ints
    dilations: Ints
    pads: Pads

    def patches(self, x: Array) -> Array:
        """Return a view of the windows of images: ``[batch, *counts, *window, channels]``."""
        views = padded(x, self.pads)
        return patches(views, self.counts, self.window, self.strides, self.dilations)

    @property
    def positions(self) -> list[Ints]:
        """The positions of the elements of a window."""
        return list(product(*map(range, self.window)))

    def at(self, position: Ints, rows: slice) -> tuple[slice, ...]:
        """Return the slices of padded images that hold one element of the windows in some rows."""
        first, *rest = position_slices(position, self.counts, self.strides, self.dilations)
        start = first.start + rows.start * self.strides[0]
        stop = start + (rows.stop - rows.start - 1) * self.strides[0] + 1
        return slice(start, stop, self.strides[0]), *rest

    def blocks(self, batch: int, depth: int, itemsize: int) -> list[Block]:
        """Return blocks of images and rows whose patches of ``depth`` elements fit the cache."""
        return list(blocks(batch, self.counts[0], math.prod(self.counts[1:]) * depth * itemsize))


def _scratch(count: int, dtype: Any) -> Array:
    """Return memory for one block, the same for every block that a thread computes.

    Fresh memory of this size is returned to the system each time it is freed, once enough memory is free at
    the end of the heap. In that case 2,200 page faults were measured for each gradient by 32x14x14x32 images,
    and twice the processor time.
    """
    size = count * dtype.itemsize
    kept: Array | None = getattr(_OF_THREAD, "memory", None)
    if kept is None or len(kept) < size:
        kept = np.empty(size, np.uint8)
        if size <= _KEPT_BYTES:
            _OF_THREAD.memory = kept
    return kept[:size].view(dtype)


def _pointwise(s: Sliding, x: Array) -> bool:
    """Return whether the windows are the single elements of the images, so that a product suffices."""
    single = math.prod(s.window) == 1 and all(stride == 1 for stride in s.strides)
    return single and not any(a or b for a, b in s.pads)


def _short(s: Sliding, channels: int) -> bool:
    return s.window[-1] * channels < _SHORT_RUN and math.prod(s.counts) > 1


def _by_position(views: Array, n: int) -> Array:
    """Return the patches with window elements and channels in front: ``[*window, C, batch, *counts]``."""
    return views.transpose(*range(n + 1, 2 * n + 2), *range(n + 1))


def convolved(x: Array, f: Array, s: Sliding) -> Array:
    """Return the correlation of images ``[batch, *sizes, C]`` with a filter ``[*window, C, D]``."""
    n, batch, deep = len(s.window), x.shape[0], f.shape[-1]
    if _pointwise(s, x):
        plain: Array = blas.product(x.reshape(-1, x.shape[-1]), f.reshape(-1, deep))
        return plain.reshape(batch, *s.counts, deep)
    depth = math.prod(f.shape[:-1])
    matrix = f.reshape(depth, deep)
    out = np.empty((batch, *s.counts, deep), x.dtype)
    views = s.patches(x)
    short = _short(s, x.shape[-1])

    def convolve(share: Sequence[Block]) -> None:
        for images, rows in share:
            view = views[images, rows]
            if short:
                view = _by_position(view, n)
            buffer = _scratch(view.size, x.dtype)
            np.copyto(buffer.reshape(view.shape), view)
            columns = buffer.reshape(depth, -1).T if short else buffer.reshape(-1, depth)
            np.dot(columns, matrix, out=out[images, rows].reshape(-1, deep))

    share_products(convolve, s.blocks(batch, depth, x.itemsize), out.size * depth)
    return out


def filter_gradient(x: Array, g: Array, s: Sliding) -> Array:
    """Return the gradient by the filter ``[*window, C, D]`` from images and ``[batch, *counts, D]``."""
    n, deep, channels = len(s.window), g.shape[-1], x.shape[-1]
    depth = math.prod(s.window) * channels
    if _pointwise(s, x):
        whole: Array = blas.product(x.reshape(-1, channels).T, g.reshape(-1, deep))
        return whole.reshape(*s.window, channels, deep)
    # The product with the untransposed patches is the faster one.
    short = _short(s, channels)
    views = s.patches(x)

    def add_up(share: Sequence[Block]) -> Array:
        total = np.zeros((depth, deep) if short else (deep, depth), x.dtype)
        for images, rows in share:
            view = views[images, rows]
            if short:
                view = _by_position(view, n)
            buffer = _scratch(view.size, x.dtype)
            np.copyto(buffer.reshape(view.shape), view)
            back = g[images, rows].reshape(-1, deep)
            if short:
                total += np.dot(buffer.reshape(depth, -1), back)
            else:
                total += np.dot(back.T, buffer.reshape(-1, depth))
        return total

    total, *others = share_products(add_up, s.blocks(x.shape[0], depth, x.itemsize), g.size * depth)
    for other in others:
        total += other
    if not short:
        total = np.ascontiguousarray(total.T)
    return total.reshape(*s.window, channels, deep)


def input_gradient(f: Array, g: Array, s: Sliding, sizes: Ints) -> Array:
    """Return the gradient by images ``[batch, *sizes, C]`` from the filter and ``[batch, *counts, D]``."""
    batch, channels = g.shape[0], f.shape[-2]
    if all(size == n for size, n in zip(sizes, s.counts, strict=True)) and _pointwise(s, g):
        whole: Array = blas.product(g.reshape(-1, g.shape[-1]), f.reshape(channels, -1).T)
        return whole.reshape(batch, *sizes, channels)
    if s.strides[-1] == 1 and channels * s.counts[-1] >= _SHORT_RUN and channels > 1:
        return _added_rows(f, g, s, sizes)
    extents = [size + a + b for size, (a, b) in zip(sizes, s.pads, strict=True)]
    wide = np.zeros((batch, *extents, channels), g.dtype)
    _add_positions(wide, f, g, s)
    inner = tuple(slice(a, a + size) for size, (a, _) in zip(sizes, s.pads, strict=True))
    return np.ascontiguousarray(wide[(slice(None), *inner)])


def _add_positions(wide: Array, f: Array, g: Array, s: Sliding) -> None:
    """Compute one product, and add its parts at the positions of the window elements."""
    n, channels, deep = len(s.window), f.shape[-2], f.shape[-1]
    depth = math.prod(s.window) * channels
    matrix = f.reshape(depth, deep)
    first = channels < _SHORT_RUN

    def add(images: slice, rows: slice) -> None:
        part = g[images, rows]
        flat = part.reshape(-1, deep)
        target = wide[images]
        if first:
            spread = np.dot(matrix, flat.T).reshape(*s.window, channels, *part.shape[:-1])
            spread = np.moveaxis(spread, n, -1)
        else:
            spread = np.dot(flat, matrix.T).reshape(*part.shape[:-1], *s.window, channels)
            spread = spread.transpose(*range(n + 1, 2 * n + 1), *range(n + 1), 2 * n + 1)
        for position in s.positions:
            target[(slice(None), *s.at(position, rows))] += spread[position]

    _share_images(add, s.blocks(g.shape[0], depth, g.itemsize), g.size * depth)


def _share_images(add: Callable[[slice, slice], None], blocks: Sequence[Block], products: int) -> None:
    """Distribute blocks over threads by image: additions for neighbouring rows of one image overlap."""

    def add_all(share: Sequence[Sequence[Block]]) -> None:
        for images, rows in (block for group in share for block in group):
            add(images, rows)

    share_products(add_all, _by_images(blocks), products)


def _by_images(blocks: Sequence[Block]) -> list[list[Block]]:
    return [list(group) for _, group in groupby(blocks, lambda block: block[0].start)]


def _added_rows(f: Array, g: Array, s: Sliding, sizes: Ints) -> Array:
    """Return the gradient: convolve the last axis with the reversed filter, and add the parts of the others.

    With stride 1 on the last axis this copies and adds less than either method alone, by the factor of the
    window width. Parts are added with the channels in front, as the runs of numpy's loops are then rows of
    the image: 1.6 ms instead of 1.8 for 32x14x14x16 and 5x5 windows on 8 channels, and as long for many.
    """
    n, channels, deep = len(s.window), f.shape[-2], f.shape[-1]
    last, reach = s.window[-1], (s.window[-1] - 1) * s.dilations[-1]
    turned = np.moveaxis(f[..., ::-1, :, :], (n - 1, n + 1), (0, 1))
    matrix = np.ascontiguousarray(turned.reshape(last * deep, -1).T)
    extents = [size + a + b for size, (a, b) in zip(sizes, s.pads, strict=True)]
    around = ((0, 0),) * (n - 1) + ((reach, extents[-1] - s.counts[-1]),)
    # Results beyond the edge of the last axis would be dropped, so they are not computed.
    *inner, line = (slice(a, a + size) for size, (a, _) in zip(sizes, s.pads, strict=True))
    rest = list(product(*map(range, s.window[:-1])))
    depth = last * deep + len(matrix)
    out = np.empty((len(g), *sizes, channels), g.dtype)

    def add(total: Array, images: slice, rows: slice) -> None:
        part = padded(g[images, rows] if n > 1 else g[images], around)
        view = _row_patches(part, s, extents[-1])[..., line, :, :]
        pixels = math.prod(view.shape[: n + 1])
        memory = _scratch(pixels * depth, g.dtype)
        buffer = memory[: pixels * last * deep].reshape(pixels, last * deep)
        spread = memory[pixels * last * deep :].reshape(len(matrix), pixels)
        np.copyto(buffer.reshape(view.shape), view)
        np.dot(matrix, buffer.T, out=spread)
        parts: Any = spread.reshape(*s.window[:-1], channels, *view.shape[: n + 1])
        for position in rest:
            where = s.at((*position, 0), rows)[:-1] if n > 1 else ()
            total[(slice(None), slice(None), *where)] += parts[position]

    def add_all(share: Sequence[Sequence[Block]]) -> None:
        for group in share:
            images = group[0][0]
            total = np.zeros((channels, images.stop - images.start, *extents[:-1], sizes[-1]), g.dtype)
            for _, rows in group:
                add(total, images, rows)
            out[images] = np.moveaxis(total[(slice(None), slice(None), *inner)], 0, -1)

    row = math.prod(s.counts[1:-1]) * sizes[-1] * depth * g.itemsize
    parts = list(blocks(len(g), s.counts[0] if n > 1 else 1, row))
    share_products(add_all, _by_images(parts), g.size * last * len(matrix))
    return out


def _row_patches(g: Array, s: Sliding, width: int) -> Array:
    """Return the patches ``[batch, *counts, width, window on the last axis, D]`` of padded gradients."""
    *outer, step, item = g.strides
    return np.lib.stride_tricks.as_strided(
        g,
        (*g.shape[:-2], width, s.window[-1], g.shape[-1]),
        (*outer, step, step * s.dilations[-1], item),
        writeable=False,
    )

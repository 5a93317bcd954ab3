"""Torch kernels of images: other sizes, and boxes cut out of them.

The pixels that each new pixel is made of, and their weights, are those of the CPU's kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, ints, row, widened
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.opsets.images.resampling import Taps, area_taps, bicubic_taps, bilinear_taps, nearest_taps

__all__ = ["ROWS"]


def _taps_of(context: KernelContext) -> Callable[[int, int], Taps]:
    """Return the function from an old and a new size to the pixels that each new one is made of."""
    align, half = bool(context.attrs["align_corners"]), bool(context.attrs.get("half_pixel_centers", False))
    kinds = {"Area": area_taps, "Bicub": bicubic_taps, "Bilin": bilinear_taps, "Neare": nearest_taps}
    taps = kinds[context.op.removeprefix("Resize")[:5]]
    more = () if taps is area_taps else (half,)
    return functools.lru_cache(maxsize=16)(lambda old, new: taps(old, new, align, *more))


def _weights(taps: Taps, tap: int, x: Tensor, axis: int) -> Tensor:
    shape = [1] * x.ndim
    shape[axis] = -1
    return torch.from_numpy(taps.weights[:, tap]).to(x.device, x.dtype).reshape(shape)


def _along(x: Tensor, taps: Taps, axis: int) -> Tensor:
    """Return images resampled along one axis."""
    total = None
    for tap in range(taps.places.shape[1]):
        part = x.index_select(axis, positions(taps.places[:, tap], x)) * _weights(taps, tap, x, axis)
        if tap and not taps.weights[:, tap].all():  # a pixel of weight 0 is passed over also if it is not finite
            part.masked_fill_(_weights(taps, tap, x, axis) == 0, 0)
        total = part if total is None else total.add_(part)
    assert total is not None
    return total


def _back(x: Tensor, taps: Taps, axis: int, size: int) -> Tensor:
    """Return the gradient of ``_along``."""
    shape = list(x.shape)
    shape[axis] = size
    out = x.new_zeros(shape)
    for tap in range(taps.places.shape[1]):
        out.index_add_(axis, positions(taps.places[:, tap], x), x * _weights(taps, tap, x, axis))
    return out


def _size(images: Tensor, size: Any) -> list[int]:
    sizes = ints(size)
    fitting(len(sizes) == 2 and min(sizes) > 0 and images.ndim == 4 and all(images.shape[1:]))
    return sizes


def _resize(context: KernelContext) -> Kernel:
    taps = _taps_of(context)

    def kernel(images: Tensor, size: Any) -> Tensor:
        height, width = _size(images, size)
        x = _along(images.float(), taps(images.shape[2], width), 2)
        return _along(x, taps(images.shape[1], height), 1)

    return kernel


def _resize_back(context: KernelContext) -> Kernel:
    taps = _taps_of(context)

    def kernel(back: Tensor, images: Tensor) -> Tensor:
        fitting(back.ndim == 4 == images.ndim and all(images.shape[1:3]) and all(back.shape[1:3]))
        height, width = images.shape[1:3]
        x = _back(back, taps(height, back.shape[1]), 1, height)
        return _back(x, taps(width, back.shape[2]), 2, width).to(images.dtype)

    return kernel


def _nearest(context: KernelContext) -> Kernel:
    taps = _taps_of(context)

    def kernel(images: Tensor, size: Any) -> Tensor:
        height, width = _size(images, size)
        columns = positions(taps(images.shape[2], width).places[:, 0], images)
        rows = positions(taps(images.shape[1], height).places[:, 0], images)
        return images.index_select(2, columns).index_select(1, rows)

    return kernel


def _nearest_back(context: KernelContext) -> Kernel:
    taps = _taps_of(context)

    def kernel(back: Tensor, size: Any) -> Tensor:
        height, width = _size(back, size)
        x = _back(widened(back), taps(height, back.shape[1]), 1, height)
        return _back(x, taps(width, back.shape[2]), 2, width).to(back.dtype)

    return kernel


ROWS: Rows = {
    **{f"Resize{kind}": row(_resize, host=[1], checks=True, takes=floats) for kind in ("Area", "Bicubic", "Bilinear")},
    **{f"Resize{kind}Grad": row(_resize_back, checks=True) for kind in ("Bicubic", "Bilinear")},
    "ResizeNearestNeighbor": row(_nearest, host=[1], checks=True),
    "ResizeNearestNeighborGrad": row(_nearest_back, host=[1], checks=True),
}

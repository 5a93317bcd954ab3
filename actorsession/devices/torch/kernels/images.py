"""Torch kernels of images: other sizes, and boxes cut out of them.

The pixels that each new pixel is made of, and their weights, are those of the CPU's kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from actorsession.devices.torch.arrays import TORCH_TYPES, positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, ints, row, widened
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.opsets.images.crops import sampled
from actorsession.opsets.images.resampling import Taps, area_taps, bicubic_taps, bilinear_taps, nearest_taps

__all__ = ["ROWS"]


_TAPS: dict[str, Callable[..., Taps]] = {
    "Area": area_taps,
    "Bicubic": bicubic_taps,
    "Bilinear": bilinear_taps,
    "NearestNeighbor": nearest_taps,
}


def _taps_of(context: KernelContext) -> Callable[[int, int], Taps]:
    """Return the function from an old and a new size to the pixels that each new one is made of."""
    align, half = bool(context.attrs["align_corners"]), bool(context.attrs.get("half_pixel_centers", False))
    taps = _TAPS[context.op.removeprefix("Resize").removesuffix("Grad")]
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


# -- boxes -----------------------------------------------------------------------------------------


class _Crops:
    """The pixels that boxes of images are made of, as positions in all images laid one behind the other.

    Args:
        op: operation type.
        boxes: the boxes.
        which: the image of each.
        images: the shape of the images.
        size: height and width of the crops.
    """

    def __init__(self, op: str, boxes: Tensor, which: Any, images: Sequence[int], size: Sequence[int]) -> None:
        fitting(len(images) == 4 and all(images[1:3]) and boxes.ndim == 2 and boxes.shape[1] == 4)
        fitting(which.shape == boxes.shape[:1] and bool(((which >= 0) & (which < images[0])).all()))
        height, width = images[1:3]
        self.rows, self.columns = sampled(boxes.cpu().numpy(), (height, width), (size[0], size[1]))
        self._first, self._width = which[:, None, None] * (height * width), width
        self._like = boxes
        self.shape = (len(boxes), *size)

    def pixels(self, images: Tensor, rows: Any, columns: Any) -> Tensor:
        """Return the pixels at some rows and columns of each box, as float32."""
        flat = images.reshape(-1, images.shape[3])
        return flat.index_select(0, self.places(rows, columns)).reshape(*self.shape, -1).float()

    def places(self, rows: Any, columns: Any) -> Tensor:
        """Return the positions of pixels."""
        places = self._first + rows[:, :, None] * self._width + columns[:, None, :]
        return positions(places.reshape(-1), self._like)

    def inside(self) -> Tensor:
        """Return which pixels of a crop are within their image."""
        return self.on_device(self.rows.inside[:, :, None, None] & self.columns.inside[:, None, :, None])

    def parts(self) -> tuple[Tensor, Tensor]:
        """Return how far each pixel of a crop is from those above and to the left of it."""
        return self.on_device(self.rows.part[:, :, None, None]), self.on_device(self.columns.part[:, None, :, None])

    def on_device(self, array: Any) -> Tensor:
        """Return an array beside the boxes."""
        return torch.from_numpy(array).to(self._like.device)


def _crop(context: KernelContext) -> Kernel:
    beyond, smooth = float(context.attrs["extrapolation_value"]), context.attrs["method"] == "bilinear"

    def kernel(images: Tensor, boxes: Tensor, which: Any, size: Any) -> Tensor:
        sizes = ints(size)
        fitting(len(sizes) == 2 and min(sizes) > 0)
        crops = _Crops(context.op, boxes, which, images.shape, sizes)
        rows, columns = crops.rows, crops.columns
        if smooth:
            below, right = crops.parts()
            top, bottom = [
                torch.lerp(crops.pixels(images, line, columns.low), crops.pixels(images, line, columns.high), right)
                for line in (rows.low, rows.high)
            ]
            out = torch.lerp(top, bottom, below)
        else:
            out = crops.pixels(images, rows.near, columns.near)
        return out.masked_fill_(~crops.inside(), beyond)

    return kernel


def _crop_back(context: KernelContext) -> Kernel:
    dtype, smooth = TORCH_TYPES[context.outputs[0].dtype], context.attrs["method"] == "bilinear"

    def kernel(back: Tensor, boxes: Tensor, which: Any, size: Any) -> Tensor:
        shape = ints(size)
        fitting(len(shape) == 4 and min(shape) >= 0 and back.ndim == 4 and back.shape[3] == shape[3])
        crops = _Crops(context.op, boxes, which, shape, back.shape[1:3])
        rows, columns, channels = crops.rows, crops.columns, shape[3]
        out = back.new_zeros(shape[0] * shape[1] * shape[2], channels, dtype=torch.promote_types(dtype, torch.float32))
        flow = back.masked_fill(~crops.inside(), 0).to(out.dtype)
        if smooth:
            below, right = crops.parts()
            for line, tall in ((rows.low, 1 - below), (rows.high, below)):
                for place, wide in ((columns.low, 1 - right), (columns.high, right)):
                    out.index_add_(0, crops.places(line, place), (flow * (tall * wide)).reshape(-1, channels))
        else:
            out.index_add_(0, crops.places(rows.near, columns.near), flow.reshape(-1, channels))
        return out.reshape(shape).to(dtype)

    return kernel


def _boxes_back(context: KernelContext) -> Kernel:
    def kernel(back: Tensor, images: Tensor, boxes: Tensor, which: Any) -> Tensor:
        fitting(back.ndim == 4 == images.ndim and len(back) == len(boxes) and back.shape[3] == images.shape[3])
        crops = _Crops(context.op, boxes, which, images.shape, back.shape[1:3])
        rows, columns = crops.rows, crops.columns
        top_left, top_right, bottom_left, bottom_right = [
            crops.pixels(images, line, place) for line in (rows.low, rows.high) for place in (columns.low, columns.high)
        ]
        below, right = crops.parts()
        flow = back.masked_fill(~crops.inside(), 0)
        # The derivative of the value at each position along an axis of the image.
        down = torch.lerp(bottom_left - top_left, bottom_right - top_right, right)
        across = torch.lerp(top_right - top_left, bottom_right - bottom_left, below)
        by_row = (flow * down).sum((2, 3)) * (images.shape[1] - 1)
        by_column = (flow * across).sum((1, 3)) * (images.shape[2] - 1)
        tall, wide = crops.on_device(rows.scale), crops.on_device(columns.scale)
        parts = by_row * (1 - tall), by_column * (1 - wide), by_row * tall, by_column * wide
        return torch.stack([part.sum(1) for part in parts], 1).float()

    return kernel


ROWS: Rows = {
    **{f"Resize{kind}": row(_resize, host=[1], checks=True, takes=floats) for kind in ("Area", "Bicubic", "Bilinear")},
    **{f"Resize{kind}Grad": row(_resize_back, checks=True) for kind in ("Bicubic", "Bilinear")},
    "ResizeNearestNeighbor": row(_nearest, host=[1], checks=True),
    "ResizeNearestNeighborGrad": row(_nearest_back, host=[1], checks=True),
    "CropAndResize": row(_crop, host=[2, 3], checks=True),
    "CropAndResizeGradImage": row(_crop_back, host=[2, 3], checks=True),
    "CropAndResizeGradBoxes": row(_boxes_back, host=[3], checks=True),
}

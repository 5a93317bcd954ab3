"""Resizing of images: the op types ``Resize...`` and the functions that build them.

``resampling`` has the arithmetic. Images have shape ``[batch, height, width, channels]``; a size is an int32
vector of two. All ops but ``ResizeNearestNeighbor`` return float32 for every input dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import Ints, ints, partial_ints
from actorsession.opsets.images.resampling import (
    Taps,
    area_taps,
    bicubic_taps,
    bilinear_taps,
    nearest_taps,
    resampled,
    spread,
)

__all__ = ["resize_area", "resize_bicubic", "resize_bilinear", "resize_nearest_neighbor"]


# -- public functions ------------------------------------------------------------------------------


def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize images; each pixel is a weighted mean of the four nearest.

    Args:
        images: real numbers of shape ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the centres of the corner pixels keep their positions.
        half_pixel_centers: whether pixels are areas around their centres; not with ``align_corners``.
    """
    return _resize("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize images; each pixel is the nearest old one. Arguments as for ``resize_bilinear``."""
    return _resize("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize images by cubic curves through 16 pixels; arguments as for ``resize_bilinear``."""
    return _resize("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Resize images; each pixel is the mean of its area. Arguments as for ``resize_bilinear``."""
    return _resize("ResizeArea", images, size, align_corners, None, name)


def _resize(op_type: str, images: Any, size: Any, align: bool, half: bool | None, name: str | None) -> Tensor:
    attrs = {"align_corners": bool(align)}
    if half is not None:
        attrs["half_pixel_centers"] = bool(half)
    graph = graph_of(images, size)
    with graph.name_scope(name or op_type) as scope:
        value = convert_to_tensor(images, None, "images", graph=graph)
        new_size = convert_to_tensor(size, int32, "size", graph=graph)
        return make_one(op_type, [value, new_size], attrs, scope)


# -- shape rules -----------------------------------------------------------------------------------


def _check_attrs(ctx: InferContext) -> None:
    if ctx.attrs["align_corners"] and ctx.attrs.get("half_pixel_centers"):
        raise ValueError(f"{ctx.op}: align_corners and half_pixel_centers exclude each other")


def _resized(ctx: InferContext) -> Sequence[TensorShape]:
    """The output has the size that is the second input."""
    check_inputs(ctx)
    _check_attrs(ctx)
    images = ctx.inputs[0].shape
    size, known = ctx.inputs[1].shape, partial_ints(ctx, 1)
    if not size.is_compatible_with([2]):
        raise ValueError(f"{ctx.op}: size has shape [2], got {size}")
    if images.rank not in (None, 4):
        raise ValueError(f"{ctx.op}: images have rank 4, got shape {images}")
    batch, height, width, channels = images.with_rank(4)
    if known is not None and any(n is not None and n <= 0 for n in known):
        raise ValueError(f"{ctx.op}: sizes are positive, got {list(known)}")
    if 0 in (height, width, channels):
        raise ValueError(f"{ctx.op}: there are pixels to take, got images of shape {images}")
    return [TensorShape([batch, *(known or (None, None)), channels])]


def _checked_size(images: Any, size: Any, op: str) -> Ints:
    """Check the operands, and return the new height and width."""
    new_size = ints(size)
    if len(new_size) != 2 or min(new_size) <= 0:
        raise InvalidArgumentError(f"{op}: size is two positive numbers, got {list(new_size)}")
    if images.ndim != 4 or not all(images.shape[1:]):
        raise InvalidArgumentError(f"{op}: images have rank 4 and pixels, got shape {list(images.shape)}")
    return new_size


# -- kernels ---------------------------------------------------------------------------------------


def _taps_of(ctx: KernelContext) -> Callable[[int, int], Taps]:
    """Return the function from an old and a new size to taps."""
    align, half = ctx.attrs["align_corners"], ctx.attrs.get("half_pixel_centers", False)
    if ctx.op == "ResizeArea":
        return lambda old, new: area_taps(old, new, align)
    taps = bicubic_taps if ctx.op.startswith("ResizeBicubic") else bilinear_taps
    return lambda old, new: taps(old, new, align, half)


def _smooth_kernel(ctx: KernelContext) -> Kernel:
    taps = _taps_of(ctx)

    def resized(images: Any, size: Any) -> Any:
        height, width = _checked_size(images, size, ctx.op)
        rows, columns = taps(images.shape[1], height), taps(images.shape[2], width)
        return resampled(images.astype(np.float32), rows, columns)

    return resized


def _nearest_kernel(ctx: KernelContext) -> Kernel:
    align, half = ctx.attrs["align_corners"], ctx.attrs["half_pixel_centers"]

    def resized(images: Any, size: Any) -> Any:
        height, width = _checked_size(images, size, ctx.op)
        rows = nearest_taps(images.shape[1], height, align, half).places[:, 0]
        columns = nearest_taps(images.shape[2], width, align, half).places[:, 0]
        return images[:, rows[:, None], columns]

    return resized


# -- gradients -------------------------------------------------------------------------------------


def _smooth_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    if not op.inputs[0].dtype.is_floating:
        return [None, None]
    return [make_one(f"{op.type}Grad", [grad, op.inputs[0]], dict(op.attrs)), None]


def _nearest_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    if not op.inputs[0].dtype.is_floating:
        return [None, None]
    size = shape_tensor(op.inputs[0])[1:3]
    return [make_one("ResizeNearestNeighborGrad", [grad, size], dict(op.attrs)), None]


def _originals(ctx: InferContext) -> Sequence[TensorShape]:
    """The output is the gradient of the images that are the second input."""
    check_inputs(ctx)
    grad, images = (spec.shape for spec in ctx.inputs)
    if not {grad.rank, images.rank} <= {None, 4}:
        raise ValueError(f"{ctx.op}: images have rank 4, got {grad} and {images}")
    _check_attrs(ctx)
    return [images]


def _smooth_grad_kernel(ctx: KernelContext) -> Kernel:
    taps, dtype = _taps_of(ctx), ctx.outputs[0].dtype.np_dtype

    def back(grad: Any, images: Any) -> Any:
        if grad.ndim != 4 or images.ndim != 4:
            raise InvalidArgumentError(f"{ctx.op}: images have rank 4, got {list(grad.shape)} and {list(images.shape)}")
        height, width = images.shape[1:3]
        rows, columns = taps(height, grad.shape[1]), taps(width, grad.shape[2])
        return spread(grad, rows, columns, height, width).astype(dtype, copy=False)

    return back


def _nearest_grad_kernel(ctx: KernelContext) -> Kernel:
    align, half = ctx.attrs["align_corners"], ctx.attrs["half_pixel_centers"]

    def back(grad: Any, size: Any) -> Any:
        height, width = _checked_size(grad, size, ctx.op)
        rows = nearest_taps(height, grad.shape[1], align, half)
        columns = nearest_taps(width, grad.shape[2], align, half)
        return spread(grad, rows, columns, height, width)

    return back


# -- rows ------------------------------------------------------------------------------------------

op("ResizeBilinear", _resized, kernel=_smooth_kernel, grad=_smooth_gradient, sized_by=(1,))
op("ResizeBilinearGrad", _originals, kernel=_smooth_grad_kernel, grad=NOT_DIFFERENTIABLE)
op("ResizeBicubic", _resized, kernel=_smooth_kernel, grad=_smooth_gradient, sized_by=(1,))
op("ResizeBicubicGrad", _originals, kernel=_smooth_grad_kernel)
op("ResizeNearestNeighbor", _resized, kernel=_nearest_kernel, grad=_nearest_gradient, sized_by=(1,))
op("ResizeNearestNeighborGrad", _resized, kernel=_nearest_grad_kernel, sized_by=(1,))
op("ResizeArea", _resized, kernel=_smooth_kernel, sized_by=(1,))

"""Resizing of images: the op types ``Resize...`` and the functions that build them.

``resampling`` has the arithmetic. Images have shape ``[batch, height, width, channels]``; a size is an int32
vector of two. All ops but ``ResizeNearestNeighbor`` return float32 for every input dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.images.resampling import (
    Taps,
    area_taps,
    bicubic_taps,
    bilinear_taps,
    nearest_taps,
    resampled,
    spread,
)
from actorsession.ops.partial import partial_ints, refine_by
from actorsession.ops.shape_operands import Ints, constant_ints, ints

__all__ = ["resize_area", "resize_bicubic", "resize_bilinear", "resize_nearest_neighbor"]


# -- public functions ------------------------------------------------------------------------------


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images; each pixel is a weighted mean of the four nearest.

    Args:
        images: real numbers of shape ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the centres of the corner pixels keep their positions.
        name: wanted name.
        half_pixel_centers: whether pixels are areas around their centres; not with ``align_corners``.

    Returns:
        The resized images, float32.

    Raises:
        ValueError: for invalid shapes or sizes.
    """
    return _resize("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images; each pixel is the nearest old one. Arguments as for ``resize_bilinear``.

    Returns:
        Pixels of the dtype of ``images``.
    """
    return _resize("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by cubic curves through 16 pixels; arguments as for ``resize_bilinear``."""
    return _resize("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resize images; each pixel is the mean of its area. Arguments as for ``resize_bilinear``."""
    return _resize("ResizeArea", images, size, align_corners, None, name)


def _resize(
    op_type: str, images: Any, size: Any, align: bool, half: bool | None, name: str | None
) -> Tensor:
    attrs = {"align_corners": bool(align)}
    if half is not None:
        attrs["half_pixel_centers"] = bool(half)
    graph = graph_of(images, size)
    with graph.name_scope(name or op_type) as scope:
        value = convert_to_tensor(images, None, "images", graph=graph)
        wanted = convert_to_tensor(size, int32, "size", graph=graph)
        made = make_one(op_type, [value, wanted], attrs, scope)
    known, (batch, *_, channels) = partial_ints(wanted), made.shape.with_rank(4)
    return refine_by(made, None if known is None else [batch, *known, channels])


# -- shapes ----------------------------------------------------------------------------------------


def _check_attrs(ctx: InferContext) -> None:
    if ctx.attrs["align_corners"] and ctx.attrs.get("half_pixel_centers"):
        raise ValueError(f"{ctx.op}: align_corners and half_pixel_centers exclude each other")


def _sized(ctx: InferContext, images: TensorShape, index: int) -> TensorShape:
    """Return the shape of images at the size given by an operand."""
    spec, known = ctx.inputs[index], constant_ints(ctx, index)
    if spec.dtype is not int32:
        raise TypeError(f"{ctx.op}: size is int32, got {spec.dtype.name}")
    if not spec.shape.is_compatible_with([2]):
        raise ValueError(f"{ctx.op}: size has shape [2], got {spec.shape}")
    if images.rank not in (None, 4):
        raise ValueError(f"{ctx.op}: images have rank 4, got shape {images}")
    batch, height, width, channels = images.with_rank(4)
    if known is not None and min(known) <= 0:
        raise ValueError(f"{ctx.op}: sizes are positive, got {list(known)}")
    if 0 in (height, width, channels):
        raise ValueError(f"{ctx.op}: there are pixels to take, got images of shape {images}")
    return TensorShape([batch, *(known or (None, None)), channels])


def _infer_resize(ctx: InferContext) -> list[TensorSpec]:
    dtype = ctx.inputs[0].dtype
    if dtype.kind not in "iuf":
        raise TypeError(f"{ctx.op} takes integers and floating types; got {dtype.name}")
    _check_attrs(ctx)
    shape = _sized(ctx, ctx.inputs[0].shape, 1)
    return [TensorSpec(dtype if ctx.op == "ResizeNearestNeighbor" else float32, shape)]


def _checked_size(images: Any, size: Any, op: str) -> Ints:
    """Check the operands, and return the new height and width."""
    wanted = ints(size)
    if len(wanted) != 2 or min(wanted) <= 0:
        raise InvalidArgumentError(f"{op}: size is two positive numbers, got {list(wanted)}")
    if images.ndim != 4 or not all(images.shape[1:]):
        raise InvalidArgumentError(
            f"{op}: images have rank 4 and pixels, got shape {list(images.shape)}"
        )
    return wanted


# -- kernels ---------------------------------------------------------------------------------------


def _taps_of(op: str, ctx: KernelContext) -> Callable[[int, int], Taps]:
    """Return the function from an old and a new size to taps."""
    align, half = ctx.attrs["align_corners"], ctx.attrs.get("half_pixel_centers", False)
    if op == "Area":
        return lambda old, new: area_taps(old, new, align)
    chosen = {"Bilinear": bilinear_taps, "Bicubic": bicubic_taps}[op]
    return lambda old, new: chosen(old, new, align, half)


def _smooth_kernel(kind: str) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        taps = _taps_of(kind, ctx)

        def resized(images: Any, size: Any) -> Any:
            height, width = _checked_size(images, size, ctx.op)
            rows, columns = taps(images.shape[1], height), taps(images.shape[2], width)
            return resampled(images.astype(np.float32), rows, columns)

        return resized

    return kernel


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


def _infer_smooth_grad(ctx: InferContext) -> list[TensorSpec]:
    grad, images = ctx.inputs
    if grad.dtype is not float32 or not images.dtype.is_floating:
        raise TypeError(
            f"{ctx.op} takes a float32 gradient and floating images; got {grad.dtype.name} and "
            f"{images.dtype.name}"
        )
    if any(spec.shape.rank not in (None, 4) for spec in ctx.inputs):
        raise ValueError(f"{ctx.op}: images have rank 4, got {grad.shape} and {images.shape}")
    _check_attrs(ctx)
    return [images]


def _infer_nearest_grad(ctx: InferContext) -> list[TensorSpec]:
    dtype = ctx.inputs[0].dtype
    if dtype.kind not in "iuf":
        raise TypeError(f"{ctx.op} takes integers and floating types; got {dtype.name}")
    _check_attrs(ctx)
    return [TensorSpec(dtype, _sized(ctx, ctx.inputs[0].shape, 1))]


def _smooth_grad_kernel(kind: str) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        taps, dtype = _taps_of(kind, ctx), ctx.outputs[0].dtype.np_dtype

        def back(grad: Any, images: Any) -> Any:
            if grad.ndim != 4 or images.ndim != 4:
                raise InvalidArgumentError(
                    f"{ctx.op}: images have rank 4, got {list(grad.shape)} and {list(images.shape)}"
                )
            height, width = images.shape[1:3]
            rows, columns = taps(height, grad.shape[1]), taps(width, grad.shape[2])
            out = spread(grad, rows, columns, height, width)
            return out.astype(dtype, copy=False)

        return back

    return kernel


def _nearest_grad_kernel(ctx: KernelContext) -> Kernel:
    align, half = ctx.attrs["align_corners"], ctx.attrs["half_pixel_centers"]

    def back(grad: Any, size: Any) -> Any:
        height, width = _checked_size(grad, size, ctx.op)
        rows = nearest_taps(height, grad.shape[1], align, half)
        columns = nearest_taps(width, grad.shape[2], align, half)
        return spread(grad, rows, columns, height, width)

    return back


# -- registration ----------------------------------------------------------------------------------

_BOTH = {"align_corners": False, "half_pixel_centers": False}

for _kind in ("Bilinear", "Bicubic"):
    register(
        OpDef(
            name=f"Resize{_kind}", infer=_infer_resize, kernel=_smooth_kernel(_kind),
            gradient=_smooth_gradient, sized_by=(1,),
        )
    )  # fmt: skip
    register(
        OpDef(
            name=f"Resize{_kind}Grad", infer=_infer_smooth_grad, kernel=_smooth_grad_kernel(_kind),
            gradient=NOT_DIFFERENTIABLE if _kind == "Bilinear" else None,         )
    )  # fmt: skip

register(
    OpDef(
        name="ResizeNearestNeighbor",
        infer=_infer_resize,
        kernel=_nearest_kernel,
        gradient=_nearest_gradient,
        sized_by=(1,),
    )
)
register(
    OpDef(
        name="ResizeNearestNeighborGrad",
        infer=_infer_nearest_grad,
        kernel=_nearest_grad_kernel,
        sized_by=(1,),
    )
)
register(
    OpDef(
        name="ResizeArea",
        infer=_infer_resize,
        kernel=_smooth_kernel("Area"),
        sized_by=(1,),
    )
)

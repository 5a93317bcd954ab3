"""Images under projective transformations: ``ImageProjectiveTransformV2`` and ``V3``.

A transformation is eight numbers ``a0 a1 a2 b0 b1 b2 c0 c1``: the pixel of the output at ``(x, y)`` is that
of the input at ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with ``k = c0 x + c1 y + 1``. The fill
mode says what is seen beyond the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import make_one
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import ints, partial_ints

__all__: list[str] = []


def _transformed(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    images, transforms, size = (spec.shape for spec in ctx.inputs[:3])
    if images.rank not in (None, 4) or not size.is_compatible_with([2]):
        raise ValueError(
            f"{ctx.op}: images have rank 4 and the size of the output has shape [2], got {images} and {size}"
        )
    if not transforms.is_compatible_with([None, 8]):
        raise ValueError(f"{ctx.op}: transforms have shape [count, 8], got {transforms}")
    _mode_and_interpolation(ctx)
    batch, _, _, channels = images.with_rank(4)
    return [TensorShape([batch, *(partial_ints(ctx, 2) or (None, None)), channels])]


def _mode_and_interpolation(ctx: InferContext | KernelContext) -> tuple[str, str]:
    mode, interpolation = ctx.attrs["fill_mode"].upper(), ctx.attrs["interpolation"].upper()
    if mode not in _PLACES or interpolation not in ("NEAREST", "BILINEAR"):
        raise ValueError(
            f"{ctx.op}: fill_mode is one of {', '.join(_PLACES)} and interpolation NEAREST or BILINEAR, got "
            f"{mode!r} and {interpolation!r}"
        )
    return mode, interpolation


# -- beyond the edges ------------------------------------------------------------------------------


def _reflected(places: Any, size: int) -> Any:
    """Return the places of an image that is followed by its mirror image, again and again."""
    if size <= 1:
        return np.zeros_like(places)
    period = np.float32(2 * size)
    below = places + np.where(places < -period, period * np.trunc(-places / period), 0)
    below = np.where(below < -size, below + period, -below - 1)
    above = places - period * np.trunc(places / period)
    above = np.where(above >= size, period - above - 1, above)
    reflected = np.where(places < 0, below, np.where(places > size - 1, above, places))
    return np.clip(reflected, 0, size - 1).astype(np.float32)


def _wrapped(places: Any, size: int) -> Any:
    """Return the places of an image that is followed by itself, again and again."""
    if size <= 1:
        return np.zeros_like(places)
    period = np.float32(size - 1)
    below = places + np.float32(size) * (np.trunc(-places / period) + 1)
    above = places - np.float32(size) * np.trunc(places / period)
    wrapped = np.where(places < 0, below, np.where(places > size - 1, above, places))
    return np.clip(wrapped, 0, size - 1).astype(np.float32)


_PLACES: Mapping[str, Callable[[Any, int], Any]] = {
    "CONSTANT": lambda places, size: places,
    "NEAREST": lambda places, size: np.clip(places, 0, size - 1),
    "REFLECT": _reflected,
    "WRAP": _wrapped,
}


# -- kernel ----------------------------------------------------------------------------------------


def _kernel(ctx: KernelContext) -> Kernel:
    mode, interpolation = _mode_and_interpolation(ctx)
    places, dtype = _PLACES[mode], ctx.outputs[0].dtype.np_dtype
    seen = _nearest if interpolation == "NEAREST" else _blended

    def transformed(images: Any, transforms: Any, size: Any, fill: Any = 0) -> Any:
        height, width = _checked(ctx.op, images, transforms, size)
        rows, columns = images.shape[1:3]
        count = len(images)
        each = np.broadcast_to(transforms, (count, 8)) if len(transforms) == 1 else transforms
        out = np.empty((count, height, width, images.shape[3]), dtype)
        with np.errstate(all="ignore"):
            for image, numbers, target in zip(images, each, out, strict=True):
                x, y, lost = _sources(numbers, height, width)
                x, y = places(x, columns), places(y, rows)
                target[...] = seen(image, x, y, dtype.type(fill), dtype)
                target[lost] = dtype.type(fill)
        return out

    return transformed


def _checked(op_type: str, images: Any, transforms: Any, size: Any) -> tuple[int, int]:
    sizes = ints(size)
    if images.ndim != 4 or len(sizes) != 2 or min(sizes) < 0:
        raise InvalidArgumentError(
            f"{op_type}: images have rank 4 and output_shape is two sizes, got {list(images.shape)} and {list(sizes)}"
        )
    if min(sizes) <= 0:
        raise InvalidArgumentError(f"{op_type}: new dimensions must be positive, got {list(sizes)}")
    if transforms.ndim != 2 or transforms.shape[1] != 8 or len(transforms) not in (1, len(images)):
        raise InvalidArgumentError(
            f"Input transform should be num_images x 8 or 1 x 8, got shape {list(transforms.shape)} for "
            f"{len(images)} images"
        )
    return sizes[0], sizes[1]


def _sources(numbers: Any, height: int, width: int) -> tuple[Any, Any, Any]:
    """Return the places of the input that pixels show, and which pixels show none."""
    a0, a1, a2, b0, b1, b2, c0, c1 = numbers
    x = np.arange(width, dtype=np.float32)[None, :]
    y = np.arange(height, dtype=np.float32)[:, None]
    k = c0 * x + c1 * y + np.float32(1)
    return (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k, k == 0


def _read(image: Any, x: Any, y: Any, fill: Any) -> Any:
    """Return the pixels at whole places, and the fill outside."""
    rows, columns = image.shape[:2]
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    column, row = (np.where(inside, v, 0).astype(np.int64) for v in (x, y))
    if not image.size:
        return np.full((*x.shape, image.shape[2]), fill, image.dtype)
    return np.where(inside[..., None], image[row, column], fill)


def _nearest(image: Any, x: Any, y: Any, fill: Any, dtype: Any) -> Any:
    # Halves go away from zero, as C's ``round`` has it.
    column, row = (np.trunc(v + np.copysign(np.float32(0.5), v)) for v in (x, y))
    return _read(image, column, row, fill)


def _blended(image: Any, x: Any, y: Any, fill: Any, dtype: Any) -> Any:
    left, top = np.floor(x), np.floor(y)
    right, bottom = left + 1, top + 1

    def line(row: Any) -> Any:
        ends = [_read(image, column, row, fill).astype(np.float32) for column in (left, right)]
        return (right - x)[..., None] * ends[0] + (x - left)[..., None] * ends[1]

    blend = (bottom - y)[..., None] * line(top) + (y - top)[..., None] * line(bottom)
    return blend.astype(dtype)


# -- gradient --------------------------------------------------------------------------------------


def _gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradient under the inverse transformation, which is what TensorFlow has for one."""
    images, transforms, *others = op.inputs
    flat = reshape(transforms, [-1, 8])
    matrices = reshape(concat([flat, raw.OnesLike(flat[:, :1])], 1), [-1, 3, 3])
    inverse = reshape(raw.MatrixInverse(matrices), [-1, 9])
    back = (inverse / inverse[:, 8:])[:, :8]
    inputs = [grad, back, shape_tensor(images)[1:3], *others[1:]]
    return [make_one(op.type, inputs, dict(op.attrs)), None, None, *[None] * len(others[1:])]


for _version in ("V2", "V3"):
    op(f"ImageProjectiveTransform{_version}", _transformed, kernel=_kernel, grad=_gradient, sized_by=(2,))

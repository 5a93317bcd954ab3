"""Dilation and erosion of images: the maximum of a window plus a filter, and its dual.

Owns ``Dilation2D`` with both gradients. All kernels iterate over the elements of a window, with one operation
on whole images for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.arrays.reversal import reverse
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import halves_widened, known_dims
from actorsession.ops.convolutions.pooling_kernels import lowest
from actorsession.ops.convolutions.windows import Windows, padded, windows_of
from actorsession.ops.elements.elementwise import negative
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints

__all__ = ["dilation2d", "dilation_slides", "dilation_windows", "erosion2d"]


def dilation2d(input: Any, filters: Any, strides: Any, dilations: Any, padding: Any, name: str | None = None) -> Tensor:
    """Return the largest sum of a window of images and a filter, for each channel.

    Args:
        input: ``[batch, height, width, channels]``.
        filters: ``[height, width, channels]``.
        strides: steps of the window, a number for each of the four axes.
        dilations: steps between the elements of a window, the same.
        padding: ``"SAME"`` or ``"VALID"``.

    Raises:
        ValueError: for shapes or attributes that can never fit.
        TypeError: if the dtypes differ.
    """
    images = convert_to_tensor(input)
    f = convert_to_tensor(filters, images.dtype, "filter", graph=images.graph)
    attrs = {"strides": tuple(strides), "rates": tuple(dilations), "padding": padding}
    return make_one("Dilation2D", [images, f], attrs, name)


def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: str | None = None) -> Tensor:
    """Return the smallest difference of a window of images and a filter, for each channel.

    Arguments as for ``dilation2d``.
    """
    images = convert_to_tensor(value)
    with images.graph.name_scope(name or "erosion2d") as scope:
        f = convert_to_tensor(kernel, images.dtype, "kernel", graph=images.graph)
        attrs = {"strides": tuple(strides), "rates": tuple(rates), "padding": padding}
        turned = reverse(f, [0, 1])
        dilated = make_one("Dilation2D", [negative(images), turned], attrs, scope)
        return negative(dilated)


def dilation_windows(ctx: InferContext | KernelContext) -> Windows:
    """Return the windows of a node."""
    attrs = {**ctx.attrs, "dilations": ctx.attrs["rates"]}
    windows = windows_of(attrs, 4, ctx.op)
    for key in ("strides", "rates"):
        steps = ctx.attrs[key]
        if (steps[0], steps[3]) != (1, 1):
            raise ValueError(f"{key} of {ctx.op} are 1 for batch and channels, got {list(steps)}")
    return windows


def _result_dims(
    images: Sequence[Dim], kernel: Sequence[Dim], w: Windows, op: str, error: Any = ValueError
) -> list[Dim]:
    channels = images[3] if kernel[2] is None else kernel[2]
    if images[3] is not None and images[3] != channels:
        raise error(f"{op}: images of {images[3]} channels and a filter for {channels}")
    return [images[0], *w.output_dims(images[1:3], kernel[:2], error), channels]


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    images, kernel = known_dims(ctx, 0, 4), known_dims(ctx, 1, 3)
    result = TensorShape(_result_dims(images, kernel, dilation_windows(ctx), ctx.op))
    if ctx.op == "Dilation2D":
        return [result]
    if not ctx.inputs[2].shape.is_compatible_with(result):
        raise ValueError(f"{ctx.op}: the gradient has shape {result}, got {ctx.inputs[2].shape}")
    return [TensorShape(images if ctx.op.endswith("Input") else kernel)]


def dilation_slides(w: Windows, x: Any, f: Any, op: str) -> tuple[Sliding, Ints]:
    """Return how windows slide over images of any library, and the shape of the result."""
    if x.ndim != 4 or f.ndim != 3:
        raise InvalidArgumentError(f"images of rank 4 and a filter of rank 3, got {list(x.shape)} and {list(f.shape)}")
    dims = _result_dims(tuple(x.shape), tuple(f.shape), w, op, InvalidArgumentError)
    result_dims = tuple(int(n or 0) for n in dims)
    sizes, window = tuple(x.shape[1:3]), tuple(f.shape[:2])
    return Sliding(result_dims[1:3], window, w.strides, w.dilations, w.pads(sizes, window)), result_dims


def _views(wide: Array, s: Sliding) -> list[Array]:
    return [wide[(slice(None), *s.at(p, slice(0, s.counts[0])))] for p in s.positions]


def _dilated(x: Array, f: Array, s: Sliding) -> tuple[Array, Array]:
    """Return the largest sums, and for each the index of the window element that it comes from."""
    low = lowest(x.dtype)
    wide = padded(x, s.pads, low)
    best = np.full((x.shape[0], *s.counts, x.shape[-1]), low, x.dtype)
    which = np.zeros(best.shape, np.int32)
    for number, (position, view) in enumerate(zip(s.positions, _views(wide, s), strict=True)):
        # Nothing is added beyond the edge: with integers, the lowest value would wrap around.
        total = view + f[position] if x.dtype.kind == "f" else np.where(view == low, low, view + f[position])
        better = total > best
        np.copyto(best, total, where=better)
        np.copyto(which, number, where=better)
    return best, which


def _kernel(ctx: KernelContext) -> Kernel:
    w, op = dilation_windows(ctx), ctx.op

    def kernel(x: Any, f: Any) -> Any:
        slides, extents = dilation_slides(w, x, f, op)
        if 0 in extents:
            return np.zeros(extents, x.dtype)
        return _dilated(x, f, slides)[0]

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _back_kernel(ctx: KernelContext) -> Kernel:
    w, op = dilation_windows(ctx), ctx.op
    by_images = op.endswith("Input")

    def kernel(x: Any, f: Any, grad: Any) -> Any:
        slides, extents = dilation_slides(w, x, f, op)
        if grad.shape != extents:
            raise InvalidArgumentError(f"the gradient has shape {list(extents)}, got {list(grad.shape)}")
        if 0 in extents:
            return np.zeros((x if by_images else f).shape, x.dtype)
        which = _dilated(x, f, slides)[1]
        return (_to_images if by_images else _to_filter)(x, f, grad, which, slides)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _to_images(x: Array, f: Array, grad: Array, which: Array, s: Sliding) -> Array:
    wide = np.zeros_like(padded(x, s.pads))
    for number, view in enumerate(_views(wide, s)):
        view += np.where(which == number, grad, grad.dtype.type(0))
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape[1:3], s.pads, strict=True))
    return np.ascontiguousarray(wide[(slice(None), *inner)])


def _to_filter(x: Array, f: Array, grad: Array, which: Array, s: Sliding) -> Array:
    out = np.zeros_like(f)
    for number, position in enumerate(s.positions):
        part = np.where(which == number, grad, grad.dtype.type(0))
        out[position] = part.sum((0, 1, 2), dtype=f.dtype)
    return out


def _gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    inputs = [*op.inputs, grad]
    return [make_one(f"Dilation2DBackprop{part}", inputs, op.attrs) for part in ("Input", "Filter")]


op("Dilation2D", _shapes, kernel=_kernel, grad=_gradient)
op("Dilation2DBackpropInput", _shapes, kernel=_back_kernel)
op("Dilation2DBackpropFilter", _shapes, kernel=_back_kernel)

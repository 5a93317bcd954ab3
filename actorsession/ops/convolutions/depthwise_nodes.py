"""Operation types of depthwise convolutions.

Owns ``DepthwiseConv2dNative`` with both gradients; ``depthwise`` builds them. No matrix product is used here:
a window has few elements, so one product and one addition of whole images for each of them is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import (
    by_filter_gradient,
    by_input_gradient,
    check_back,
    convolution_gradient,
    halves_widened,
    known_dims,
    known_sizes,
    merged,
    shape_value,
    sliding,
    windows_of_node,
)
from actorsession.ops.convolutions.windows import (
    Windows,
    channel_axis,
    channels_last,
    padded,
    restored,
)
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, elements

__all__: list[str] = []


# -- static types --------------------------------------------------------------------------------


def _result_dims(
    images: Sequence[Dim], kernel: Sequence[Dim], w: Windows, op: str, error: Any = ValueError
) -> list[Dim]:
    channel = channel_axis(w.data_format, 4)
    have, taken, times = images[channel], kernel[2], kernel[3]
    if have is not None and taken is not None and have != taken:
        raise error(f"{op}: images of {have} channels and a filter for {taken}")
    have = taken if have is None else have
    dims: list[Dim] = [images[0]] * 4
    dims[channel] = None if have is None or times is None else have * times
    counts = w.output_dims([images[a] for a in w.axes], kernel[:2], error)
    for axis, count in zip(w.axes, counts, strict=True):
        dims[axis] = count
    return dims


def _convolved(ctx: InferContext) -> Sequence[TensorShape]:
    images, kernel = known_dims(ctx, 0, 4), known_dims(ctx, 1, 4)
    return [TensorShape(_result_dims(images, kernel, windows_of_node(ctx), ctx.op))]


def _like_images(ctx: InferContext) -> Sequence[TensorShape]:
    wanted, kernel = known_sizes(ctx, 0, 4), known_dims(ctx, 1, 4)
    merged(ctx, 2, _result_dims(wanted, kernel, windows_of_node(ctx), ctx.op))
    return [TensorShape(wanted)]


def _like_filter(ctx: InferContext) -> Sequence[TensorShape]:
    images, wanted = known_dims(ctx, 0, 4), known_sizes(ctx, 1, 4)
    merged(ctx, 2, _result_dims(images, wanted, windows_of_node(ctx), ctx.op))
    return [TensorShape(wanted)]


# -- kernels -------------------------------------------------------------------------------------


def _forward(x: Array, f: Array, s: Sliding) -> Array:
    times = f.shape[-1]
    wide = padded(x, s.pads)
    out = np.zeros((x.shape[0], *s.counts, x.shape[-1], times), x.dtype)
    part = np.empty_like(out)
    everything = slice(0, s.counts[0])
    for position in s.positions:
        view = wide[(slice(None), *s.at(position, everything))]
        np.multiply(view[..., None], f[position], out=part)
        out += part
    return out.reshape(*out.shape[:3], -1)


def _by_input(f: Array, g: Array, s: Sliding, sizes: Ints) -> Array:
    extents = [size + a + b for size, (a, b) in zip(sizes, s.pads, strict=True)]
    wide = np.zeros((g.shape[0], *extents, f.shape[2]), g.dtype)
    back = g.reshape(*g.shape[:3], f.shape[2], f.shape[3])
    everything = slice(0, s.counts[0])
    for position in s.positions:
        view = wide[(slice(None), *s.at(position, everything))]
        view += np.vecdot(back, f[position]) if f.shape[3] > 1 else back[..., 0] * f[position][:, 0]
    inner = tuple(slice(a, a + size) for size, (a, _) in zip(sizes, s.pads, strict=True))
    return np.ascontiguousarray(wide[(slice(None), *inner)])


def _by_filter(x: Array, g: Array, s: Sliding, times: int) -> Array:
    channels = x.shape[-1]
    wide = padded(x, s.pads)
    back = g.reshape(*g.shape[:3], channels, times)
    out = np.empty((*s.window, channels, times), x.dtype)
    everything = slice(0, s.counts[0])
    for position in s.positions:
        view = wide[(slice(None), *s.at(position, everything))]
        product = (view[..., None] * back).reshape(-1, channels * times)
        ones = np.ones(len(product), product.dtype)
        out[position] = (ones @ product).reshape(channels, times)
    return out


def _forward_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(images: Any, f: Any) -> Any:
        slides, shape = sliding(w, images.shape, f.shape, op, _result_dims)
        if not math.prod(shape):
            return np.zeros(shape, images.dtype)
        return restored(_forward(channels_last(images, w.data_format), f, slides), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_input_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(sizes: Any, f: Any, back: Any) -> Any:
        images = shape_value(sizes, 4, "input_sizes")
        slides, shape = sliding(w, images, f.shape, op, _result_dims)
        check_back(back, shape)
        if not math.prod(images) or not back.size:
            return np.zeros(images, back.dtype)
        g = channels_last(back, w.data_format)
        return restored(_by_input(f, g, slides, tuple(images[a] for a in w.axes)), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_filter_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(images: Any, sizes: Any, back: Any) -> Any:
        wanted = shape_value(sizes, 4, "filter_sizes")
        slides, shape = sliding(w, images.shape, wanted, op, _result_dims)
        check_back(back, shape)
        if not math.prod(wanted) or not back.size:
            return np.zeros(wanted, back.dtype)
        x, g = channels_last(images, w.data_format), channels_last(back, w.data_format)
        return _by_filter(x, g, slides, wanted[3])

    return halves_widened(kernel, ctx.outputs[0].dtype)


# Elements per microsecond of a product and a sum in numpy, and the cost of the calls for one position.
_SPEED = 500.0
_CALL = 30.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    window = max(s.shape[:2].num_elements() or 1 for s in (inputs[1], outputs[0]))
    largest = max(elements(s) for s in (*inputs, *outputs))
    return _CALL + min(window, 49) * largest / _SPEED


op(
    "DepthwiseConv2dNative", _convolved, kernel=_forward_kernel, grad=convolution_gradient,
    cost=_cost,
)  # fmt: skip
op(
    "DepthwiseConv2dNativeBackpropInput", _like_images, kernel=_by_input_kernel,
    grad=by_input_gradient, cost=_cost, sized_by=(0,),
)  # fmt: skip
op(
    "DepthwiseConv2dNativeBackpropFilter", _like_filter, kernel=_by_filter_kernel,
    grad=by_filter_gradient, cost=_cost, sized_by=(1,),
)  # fmt: skip

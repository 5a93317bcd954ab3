"""Operation types of depthwise convolutions.

Owns ``DepthwiseConv2dNative`` with both gradients; ``depthwise`` builds them. No matrix product is used here:
a window has few elements, so ``einsum`` adds up the products of whole rows of images. With channels last, the
pixels of a row that stand beside each other in memory are those of windows beside each other, as long as the
stride is 1; larger strides are taken apart into phases (``_Phase``). For 32x56x56x64 and 3x3 windows this
takes 13 ms on one core, and a multiplication and an addition of whole images for each position 90 ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.blas import share_products
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
from actorsession.ops.convolutions.windows import Pads, Windows, channel_axis, channels_last, restored
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, elements
from actorsession.records import dataclass

__all__ = ["depthwise_dims"]

_R = TypeVar("_R")


# -- static types --------------------------------------------------------------------------------


def depthwise_dims(
    images: Sequence[Dim], kernel: Sequence[Dim], w: Windows, op: str, error: Any = ValueError
) -> list[Dim]:
    """Return the dimensions of a convolution's result, from those of images and filter."""
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
    return [TensorShape(depthwise_dims(images, kernel, windows_of_node(ctx), ctx.op))]


def _like_images(ctx: InferContext) -> Sequence[TensorShape]:
    dims, kernel = known_sizes(ctx, 0, 4), known_dims(ctx, 1, 4)
    merged(ctx, 2, depthwise_dims(dims, kernel, windows_of_node(ctx), ctx.op))
    return [TensorShape(dims)]


def _like_filter(ctx: InferContext) -> Sequence[TensorShape]:
    images, dims = known_dims(ctx, 0, 4), known_sizes(ctx, 1, 4)
    merged(ctx, 2, depthwise_dims(images, dims, windows_of_node(ctx), ctx.op))
    return [TensorShape(dims)]


# -- kernels -------------------------------------------------------------------------------------


# A multiplication of ``einsum`` takes about as long as so many in BLAS.
_IN_BLAS = 16


@dataclass(frozen=True, slots=True)
class _Phase:
    """The elements of windows on one axis that are at the same place between two strides.

    Element ``at`` of window ``n`` is at ``stride * (n + offset) + place``.

    Attributes:
        place: the place.
        at: the elements of a window.
        offset: that of the first element.
        step: by how much it grows from one element to the next.
        last: that of the last element.
    """

    place: int
    at: slice
    offset: int
    step: int
    last: int


def _phases(s: Sliding, axis: int) -> list[_Phase]:
    """Return the phases of an axis that have any elements; only one with stride 1."""
    window, stride, apart = s.window[axis], s.strides[axis], s.dilations[axis]
    every = stride // math.gcd(stride, apart)
    phases = []
    for first in range(min(every, window)):
        offset, place = divmod(first * apart, stride)
        step, count = apart * every // stride, len(range(first, window, every))
        at = slice(first, window, every)
        phases.append(_Phase(place, at, offset, step, offset + step * (count - 1)))
    return phases


def _each_image(work: Callable[[Sequence[int]], _R], images: Array, s: Sliding, size: int) -> list[_R]:
    products = size * math.prod(s.window) * _IN_BLAS
    return share_products(work, range(len(images)), products)


def _frame(sizes: Sequence[int], pads: Pads, depth: int, dtype: Any) -> tuple[Array, Array]:
    """Return memory for one padded image after the other, and the place of the image in it.

    Fresh memory for each image would take a third of the time of a convolution.
    """
    whole = np.zeros((*[a + size + b for size, (a, b) in zip(sizes, pads, strict=True)], depth), dtype)
    return whole, whole[tuple(slice(a, a + size) for size, (a, _) in zip(sizes, pads, strict=True))]


def _windows(x: Array, s: Sliding, times: int) -> Callable[[int], Iterator[tuple[slice, Array]]]:
    """Return what yields views of an image ``[window, window, count, count * channels * times]``, by phases.

    The second axis has the elements of the phase alone. The last one is contiguous, so that numpy's loops run
    over whole rows. The views are of memory that the next image is written to.

    Args:
        x: images.
        s: the windows.
        times: how often each channel is there.
    """
    depth = x.shape[-1] * times
    wide, inner = _frame(x.shape[1:3], s.pads, depth, x.dtype)
    inner = inner.reshape(*inner.shape[:2], -1, times)
    is_needed = times > 1 or any(map(any, s.pads))

    def of_image(image: int) -> Iterator[tuple[slice, Array]]:
        if is_needed:
            inner[...] = x[image][..., None]
        for phase in _phases(s, 1):
            source = wide if is_needed else x[image]
            lane = np.ascontiguousarray(source[:, phase.place :: s.strides[1]])
            line, pixel, item = lane.strides
            window = s.window[0], len(range(s.window[1])[phase.at])
            yield (
                phase.at,
                as_strided(
                    lane[:, phase.offset :],
                    (*window, s.counts[0], s.counts[1] * depth),
                    (line * s.dilations[0], pixel * phase.step, line * s.strides[0], item),
                    writeable=False,
                ),
            )

    return of_image


def _forward(x: Array, f: Array, s: Sliding) -> Array:
    times = f.shape[3]
    factors = np.tile(f.reshape(*s.window, -1), s.counts[1])
    out = np.empty((len(x), s.counts[0], factors.shape[-1]), x.dtype)

    def convolve(share: Sequence[int]) -> None:
        windows, part = _windows(x, s, times), np.empty_like(out[0])
        for image in share:
            total = out[image]
            for number, (at, rows) in enumerate(windows(image)):
                np.einsum("ijrx,ijx->rx", rows, factors[:, at], out=part if number else total)
                if number:
                    total += part

    _each_image(convolve, x, s, out.size)
    return out.reshape(len(x), *s.counts, -1)


def _by_input(f: Array, g: Array, s: Sliding, sizes: Ints) -> Array:
    channels, times = f.shape[2:]
    filters = np.moveaxis(f, 3, 0)
    before = [a for a, _ in s.pads]
    phases = list(product(_phases(s, 0), _phases(s, 1)))
    # With stride 1 the margins need not be computed, as nobody reads them.
    direct = s.strides == (1, 1) and all(p.last >= a for p, a in zip(phases[0], before, strict=True))
    left_out = before if direct else [0, 0]
    extents = list(sizes)
    if not direct:
        extents = [size + a + b for size, (a, b) in zip(sizes, s.pads, strict=True)]
    parts = []
    for pair in phases:
        counts = [len(range(p.place, n, t)) for p, n, t in zip(pair, extents, s.strides, strict=True)]
        around = tuple(
            [
                (p.last - out, max(0, n + out - have))
                for p, n, have, out in zip(pair, counts, s.counts, left_out, strict=True)
            ]
        )
        turned = filters[:, pair[0].at, pair[1].at][:, ::-1, ::-1]
        parts.append((pair, counts, around, np.tile(turned, counts[1])))
    within = tuple(slice(a, a + size) for a, size in zip(before, sizes, strict=True))
    out = np.empty((len(g), *sizes, channels), g.dtype)

    def add_up(share: Sequence[int]) -> None:
        # Places that no window reaches stay zero.
        wide = None if direct else np.zeros((*extents, channels), g.dtype)
        # One filter of each channel after the other, so that rows are contiguous.
        frames = [_frame((times, *s.counts), ((0, 0), *around), channels, g.dtype) for _, _, around, _ in parts]
        for image in share:
            back = np.moveaxis(g[image].reshape(*s.counts, channels, times), 3, 0)
            for ((down, across), counts, _, factors), (whole, inner) in zip(parts, frames, strict=True):
                inner[...] = back
                each, line, pixel, item = whole.strides
                rows = as_strided(
                    whole,
                    (*factors.shape[:3], counts[0], factors.shape[3]),
                    (each, line * down.step, pixel * across.step, line, item),
                    writeable=False,
                )
                gradient = out[image] if wide is None else np.empty((*counts, channels), g.dtype)
                np.einsum("tijrx,tijx->rx", rows, factors, out=gradient.reshape(counts[0], -1))
                if wide is not None:
                    wide[down.place :: s.strides[0], across.place :: s.strides[1]] = gradient
            if wide is not None:
                out[image] = wide[within]

    _each_image(add_up, g, s, g.size)
    return out


def _by_filter(x: Array, g: Array, s: Sliding, times: int) -> Array:
    back = g.reshape(len(g), s.counts[0], -1)

    def add_up(share: Sequence[int]) -> Array:
        windows, total = _windows(x, s, times), np.zeros((*s.window, back.shape[-1]), x.dtype)
        for image in share:
            for at, rows in windows(image):
                total[:, at] += np.einsum("ijrx,rx->ijx", rows, back[image])
        by_channel: Array = total.reshape(*s.window, s.counts[1], -1).sum(axis=2)
        return by_channel

    total, *others = _each_image(add_up, x, s, g.size)
    for other in others:
        total += other
    gradient: Array = total.reshape(*s.window, x.shape[-1], times)
    return gradient


def _forward_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(images: Any, f: Any) -> Any:
        slides, shape = sliding(w, images.shape, f.shape, op, depthwise_dims)
        if not math.prod(shape):
            return np.zeros(shape, images.dtype)
        return restored(_forward(channels_last(images, w.data_format), f, slides), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_input_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(sizes: Any, f: Any, back: Any) -> Any:
        images = shape_value(sizes, 4, "input_sizes")
        slides, shape = sliding(w, images, f.shape, op, depthwise_dims)
        check_back(back, shape)
        if not math.prod(images) or not back.size:
            return np.zeros(images, back.dtype)
        g = channels_last(back, w.data_format)
        return restored(_by_input(f, g, slides, tuple(images[a] for a in w.axes)), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_filter_kernel(ctx: KernelContext) -> Kernel:
    w, op = windows_of_node(ctx), ctx.op

    def kernel(images: Any, sizes: Any, back: Any) -> Any:
        filter_size = shape_value(sizes, 4, "filter_sizes")
        slides, shape = sliding(w, images.shape, filter_size, op, depthwise_dims)
        check_back(back, shape)
        if not math.prod(filter_size) or not back.size:
            return np.zeros(filter_size, back.dtype)
        x, g = channels_last(images, w.data_format), channels_last(back, w.data_format)
        return _by_filter(x, g, slides, filter_size[3])

    return halves_widened(kernel, ctx.outputs[0].dtype)


# Elements per microsecond of a product and a sum in numpy, and the cost of the calls for one position.
_SPEED = 500.0
_CALL = 30.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    window = max(s.shape[:2].num_elements() or 1 for s in (inputs[1], outputs[0]))
    largest = max(elements(s) for s in (*inputs, *outputs))
    return _CALL + min(window, 49) * largest / _SPEED


op("DepthwiseConv2dNative", _convolved, kernel=_forward_kernel, grad=convolution_gradient, cost=_cost, divides=True)
op(
    "DepthwiseConv2dNativeBackpropInput",
    _like_images,
    kernel=_by_input_kernel,
    grad=by_input_gradient,
    cost=_cost,
    divides=True,
    sized_by=(0,),
)
op(
    "DepthwiseConv2dNativeBackpropFilter",
    _like_filter,
    kernel=_by_filter_kernel,
    grad=by_filter_gradient,
    cost=_cost,
    divides=True,
    sized_by=(1,),
)

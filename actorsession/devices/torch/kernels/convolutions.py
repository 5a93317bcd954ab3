"""Torch kernels of convolutions and pools.

Images of TensorFlow have their channels last. Seen with the channels second they are what torch calls channels-last
memory, which its libraries work on as it is: no layout is copied. Shapes are checked by the functions of the CPU's
kernels.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from actorsession.devices.torch.kernels.rows import Rows, Tensor, ints, row
from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import check_back, output_dims, shape_value, sliding, windows_of_node
from actorsession.ops.convolutions.pooling_nodes import Pool, pool_of
from actorsession.ops.shape_operands import Ints

__all__ = ["ROWS"]

aten = torch.ops.aten


def _channels_second(images: Tensor, data_format: str) -> Tensor:
    """Return images as torch takes them, without a copy."""
    return images if data_format.startswith("NC") else images.movedim(-1, 1)


def _restored(images: Tensor, data_format: str) -> Tensor:
    return images.contiguous() if data_format.startswith("NC") else images.movedim(1, -1).contiguous()


def _as_torch(filters: Tensor) -> Tensor:
    """Return filters with output and input channels first."""
    rank = filters.ndim
    return filters.permute(rank - 1, rank - 2, *range(rank - 2))


def _from_torch(filters: Tensor) -> Tensor:
    return filters.permute(*range(2, filters.ndim), 1, 0).contiguous()


def _around(slides: Sliding) -> list[int] | None:
    """Return the padding of windows as ``functional.pad`` takes it; ``None`` for none."""
    return [n for pads in reversed(slides.pads) for n in pads] if any(map(any, slides.pads)) else None


def _padding(slides: Sliding) -> tuple[list[int], list[int] | None]:
    """Return what a library pads on both sides, and what has to be padded before, for ``functional.pad``."""
    if all(before == after for before, after in slides.pads):
        return [before for before, _ in slides.pads], None
    return [0] * len(slides.pads), _around(slides)


def _cropped(images: Tensor, around: list[int] | None, sizes: Sequence[int]) -> Tensor:
    """Return the gradient of images from that of images with padding."""
    if around is None:
        return images
    for axis, size in enumerate(sizes):
        before = around[2 * (len(sizes) - 1 - axis)]
        images = images.narrow(axis + 2, before, size)
    return images


def _slides(context: KernelContext) -> tuple[str, Callable[[Sequence[int], Sequence[int]], tuple[Sliding, Ints]]]:
    """Return the layout of a node's images, and what gives windows and result's shape for the shapes of its inputs."""
    windows, op = windows_of_node(context), context.op

    @functools.lru_cache(maxsize=8)
    def slides(images: Ints, filters: Ints) -> tuple[Sliding, Ints]:
        return sliding(windows, tuple(images), tuple(filters), op, output_dims)

    return windows.data_format, slides


def _convolution(context: KernelContext) -> Kernel:
    data_format, slides_of = _slides(context)

    def kernel(images: Tensor, filters: Tensor) -> Tensor:
        slides, shape = slides_of(images.shape, filters.shape)
        if not math.prod(shape):
            return images.new_zeros(shape)
        x = _channels_second(images, data_format)
        pads, around = _padding(slides)
        if around is not None:
            x = functional.pad(x, around)
        groups = x.shape[1] // filters.shape[-2]
        out = torch.convolution(
            x, _as_torch(filters), None, slides.strides, pads, slides.dilations, False, [0] * len(pads), groups
        )
        return _restored(out, data_format)

    return kernel


def _back(
    x: Tensor, weights: Tensor, back: Tensor, slides: Sliding, pads: list[int], masks: list[bool]
) -> tuple[Tensor, Tensor]:
    by_images, by_filters, _ = aten.convolution_backward(
        back,
        x,
        weights,
        None,
        slides.strides,
        pads,
        slides.dilations,
        False,
        [0] * len(pads),
        x.shape[1] // weights.shape[1],
        [*masks, False],
    )
    return by_images, by_filters


def _input_gradient(context: KernelContext) -> Kernel:
    data_format, slides_of = _slides(context)
    rank = len(context.attrs["strides"])

    def kernel(sizes: Any, filters: Tensor, back: Tensor) -> Tensor:
        images = shape_value(sizes, rank, "input_sizes")
        slides, shape = slides_of(images, filters.shape)
        check_back(back, shape)
        if not math.prod(images) or not back.numel():
            return back.new_zeros(images)
        pads, around = _padding(slides)
        x = _channels_second(back.new_empty(images), data_format)
        spatial = list(x.shape[2:])
        if around is not None:
            x = functional.pad(x, around)
        out, _ = _back(x, _as_torch(filters), _channels_second(back, data_format), slides, pads, [True, False])
        return _restored(_cropped(out, around, spatial), data_format)

    return kernel


def _all_sizes(context: KernelContext) -> bool:
    """Whether the sizes of the images are given, and not those of their spatial axes alone."""
    return context.inputs[0].shape.sizes == (len(context.attrs["strides"]),)


def _filter_gradient(context: KernelContext) -> Kernel:
    data_format, slides_of = _slides(context)
    rank = len(context.attrs["strides"])

    def kernel(images: Tensor, sizes: Any, back: Tensor) -> Tensor:
        filter_size = shape_value(sizes, rank, "filter_sizes")
        slides, shape = slides_of(images.shape, filter_size)
        check_back(back, shape)
        if not math.prod(filter_size) or not back.numel():
            return back.new_zeros(filter_size)
        x = _channels_second(images, data_format)
        pads, around = _padding(slides)
        if around is not None:
            x = functional.pad(x, around)
        # Of 64-bit floats torch has no gradient by filters in another order, where they have one output channel.
        weights = _as_torch(back.new_empty(filter_size)).contiguous()
        _, out = _back(x, weights, _channels_second(back, data_format), slides, pads, [False, True])
        return _from_torch(out)

    return kernel


def _joined(make: Callable[[KernelContext], Kernel]) -> Callable[[KernelContext], Kernel]:
    """Return what makes a kernel that is called with the last axis as channels, where windows cover that axis.

    In memory it is the same. As an axis it costs oneDNN's gradient of images 150 times as much: 31.7 ms in place of
    0.21 for filters of 3 words over 64 texts of 56, whose words are 64 numbers of one channel.

    Args:
        make: makes the kernel, whose first arguments are images and filters, or their sizes.
    """

    def kernel_of(context: KernelContext) -> Kernel:
        data_format, slides_of = _slides(context)
        kernel = make(context)
        if data_format.startswith("NC"):
            return kernel

        def joined(images: Any, filters: Any, *back: Tensor) -> Any:
            of_images, of_filters = _sizes(images), _sizes(filters)
            if len(of_images) != len(of_filters) or of_filters[-3:-1] != of_images[-2:] or of_images[-2] == 1:
                return kernel(images, filters, *back)
            slides, shape = slides_of(of_images, of_filters)
            if shape[-2] != 1 or slides.pads[-1] != (0, 0):
                return kernel(images, filters, *back)
            channels = math.prod(of_images[-2:])
            sizes = (*of_images[:-2], 1, channels), (*of_filters[:-3], 1, channels, of_filters[-1])
            out = kernel(*map(_resized, (images, filters), sizes), *back)
            return out.reshape(next((_sizes(given) for given in (images, filters) if type(given) is not Tensor), shape))

        return joined

    return kernel_of


def _sizes(given: Any) -> Ints:
    return tuple(given.shape if type(given) is Tensor else ints(given))


def _resized(given: Any, sizes: Ints) -> Any:
    return given.reshape(sizes) if type(given) is Tensor else np.array(sizes)


# -- pools -----------------------------------------------------------------------------------------


def _pool(context: KernelContext) -> Pool:
    return pool_of(context.attrs, 4, context.op)


def _plain_pool(context: KernelContext) -> bool:
    """Whether a pool is one of torch's: over height and width, without holes."""
    pool = _pool(context)
    return pool.depth == (1, 1) and pool.rank == 4 and all(n == 1 for n in pool.windows.dilations)


def _shapes(pool: Pool, images: Tensor) -> tuple[Tensor, Sliding, tuple[int, ...]]:
    if images.ndim != 4:
        raise InvalidArgumentError(f"images have rank 4, got shape {list(images.shape)}")
    shape = tuple([int(n or 0) for n in pool.output_dims(tuple(images.shape), InvalidArgumentError)])
    x = _channels_second(images, pool.windows.data_format)
    return x, pool.sliding((x.shape[0], *x.shape[2:], x.shape[1])), shape


def _padded_low(x: Tensor, slides: Sliding) -> tuple[Tensor, list[int] | None]:
    """Return images with padding that no maximum is taken of."""
    around = _around(slides)
    return (x if around is None else functional.pad(x, around, value=-math.inf)), around


def _max_pool(context: KernelContext) -> Kernel:
    pool = _pool(context)

    def kernel(images: Tensor) -> Tensor:
        x, slides, shape = _shapes(pool, images)
        if not math.prod(shape):
            return images.new_zeros(shape)
        x, _ = _padded_low(x, slides)
        largest, places = aten.max_pool2d_with_indices(x, pool.window, pool.windows.strides)
        out = _restored(largest, pool.windows.data_format)
        out.places = places, weakref.ref(images)  # for the gradient; torch finds them in any case
        return out

    return kernel


def _max_pool_grad(context: KernelContext) -> Kernel:
    pool = _pool(context)

    def kernel(images: Tensor, result: Tensor, back: Tensor) -> Tensor:
        x, slides, shape = _shapes(pool, images)
        for what, given in (("the result", result), ("the gradient", back)):
            if tuple(given.shape) != shape:
                raise InvalidArgumentError(f"{what} has shape {list(shape)}, got {list(given.shape)}")
        if not math.prod(shape):
            return torch.zeros_like(images)
        spatial = list(x.shape[2:])
        x, around = _padded_low(x, slides)
        strides = pool.windows.strides
        places, images_of = getattr(result, "places", (None, None))
        if images_of is None or images_of() is not images:
            _, places = aten.max_pool2d_with_indices(x, pool.window, strides)
        g = _channels_second(back, pool.windows.data_format)
        out = aten.max_pool2d_with_indices_backward(g, x, pool.window, strides, [0, 0], [1, 1], False, places)
        return _restored(_cropped(out, around, spatial), pool.windows.data_format)

    return kernel


def _avg_pool(context: KernelContext) -> Kernel:
    pool = _pool(context)

    def kernel(images: Tensor) -> Tensor:
        x, slides, shape = _shapes(pool, images)
        if not math.prod(shape):
            return images.new_zeros(shape)
        means = _window_means(x, slides, pool)
        if _around(slides) is not None:
            means = means / _window_means(torch.ones_like(x[:1, :1]), slides, pool)
        return _restored(means, pool.windows.data_format)

    return kernel


def _window_means(x: Tensor, slides: Sliding, pool: Pool) -> Tensor:
    """Return the mean of each window, padding counted as zeros."""
    around = _around(slides)
    if around is not None:
        x = functional.pad(x, around)
    return functional.avg_pool2d(x, pool.window, pool.windows.strides)


def _avg_pool_grad(context: KernelContext) -> Kernel:
    pool = _pool(context)

    def kernel(sizes: Any, back: Tensor) -> Tensor:
        images = back.new_ones(shape_value(sizes, pool.rank, "the shape of the images"))
        x, slides, shape = _shapes(pool, images)
        if tuple(back.shape) != shape:
            raise InvalidArgumentError(f"the gradient has shape {list(shape)}, got {list(back.shape)}")
        if not math.prod(shape):
            return torch.zeros_like(images)
        g, spatial, around = _channels_second(back, pool.windows.data_format), list(x.shape[2:]), _around(slides)
        if around is not None:
            g = g / _window_means(torch.ones_like(x[:1, :1]), slides, pool)
            x = functional.pad(x, around)
        out = aten.avg_pool2d_backward(g, x, pool.window, pool.windows.strides, [0, 0], False, True, None)
        return _restored(_cropped(out, around, spatial), pool.windows.data_format)

    return kernel


ROWS: Rows = {
    "Conv2D": row(_joined(_convolution)),
    "Conv3D": row(_joined(_convolution)),
    "Conv2DBackpropInput": row(_joined(_input_gradient), host=[0], takes=_all_sizes),
    "Conv3DBackpropInputV2": row(_joined(_input_gradient), host=[0], takes=_all_sizes),
    "Conv2DBackpropFilter": row(_joined(_filter_gradient), host=[1]),
    "Conv3DBackpropFilterV2": row(_joined(_filter_gradient), host=[1]),
    "MaxPool": row(_max_pool, takes=_plain_pool),
    "MaxPoolGrad": row(_max_pool_grad, takes=_plain_pool),
    "AvgPool": row(_avg_pool, takes=_plain_pool),
    "AvgPoolGrad": row(_avg_pool_grad, host=[0], takes=_plain_pool),
}

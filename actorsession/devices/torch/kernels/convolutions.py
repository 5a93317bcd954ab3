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

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, ints, narrowed, row, widened
from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.convolutions.depthwise_nodes import depthwise_dims
from actorsession.ops.convolutions.dilation import dilation_slides, dilation_windows
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import (
    check_back,
    completed_sizes,
    output_dims,
    shape_value,
    sliding,
    windows_of_node,
)
from actorsession.ops.convolutions.pooling_nodes import Pool, pool_of
from actorsession.ops.shape_operands import Ints
from actorsession.records import dataclass

__all__ = ["ROWS", "channels_second", "restored"]

aten = torch.ops.aten


def channels_second(images: Tensor, data_format: str) -> Tensor:
    """Return images as torch takes them, without a copy."""
    return images if data_format.startswith("NC") else images.movedim(-1, 1)


def restored(images: Tensor, data_format: str) -> Tensor:
    """Return images of torch in a node's layout, without a copy where torch kept it."""
    return images.contiguous() if data_format.startswith("NC") else images.movedim(1, -1).contiguous()


def _as_torch(filters: Tensor) -> Tensor:
    """Return filters with output and input channels first."""
    rank = filters.ndim
    return filters.permute(rank - 1, rank - 2, *range(rank - 2))


def _from_torch(filters: Tensor, shape: Sequence[int]) -> Tensor:
    return filters.permute(*range(2, filters.ndim), 1, 0).contiguous()


def _depthwise_as_torch(filters: Tensor) -> Tensor:
    """Return filters for each channel by itself: in torch each of them makes a group of output channels."""
    return filters.permute(2, 3, 0, 1).flatten(0, 1).unsqueeze(1)


def _depthwise_from_torch(filters: Tensor, shape: Sequence[int]) -> Tensor:
    return filters.reshape(shape[2], shape[3], *shape[:2]).permute(2, 3, 0, 1).contiguous()


@dataclass(frozen=True, slots=True)
class _Form:
    """How the filters of a family of operation types lie.

    Attributes:
        dims: gives the shape of the result, as ``output_dims``.
        as_torch: turns filters into torch's, with output channels and those of a group's input first.
        from_torch: turns them back, given their shape.
    """

    dims: Callable[..., Any] = output_dims
    as_torch: Callable[[Tensor], Tensor] = _as_torch
    from_torch: Callable[[Tensor, Sequence[int]], Tensor] = _from_torch


_DEPTHWISE = _Form(depthwise_dims, _depthwise_as_torch, _depthwise_from_torch)


def _form(context: KernelContext) -> _Form:
    return _DEPTHWISE if context.op.startswith("Depthwise") else _Form()


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
    windows, op, dims = windows_of_node(context), context.op, _form(context).dims

    @functools.lru_cache(maxsize=8)
    def slides(images: Ints, filters: Ints) -> tuple[Sliding, Ints]:
        return sliding(windows, tuple(images), tuple(filters), op, dims)

    return windows.data_format, slides


def _convolution(context: KernelContext) -> Kernel:
    data_format, slides_of = _slides(context)
    as_torch = _form(context).as_torch

    def kernel(images: Tensor, filters: Tensor) -> Tensor:
        slides, shape = slides_of(images.shape, filters.shape)
        if not math.prod(shape):
            return images.new_zeros(shape)
        x = channels_second(images, data_format)
        pads, around = _padding(slides)
        if around is not None:
            x = functional.pad(x, around)
        weights = as_torch(filters)
        groups = x.shape[1] // weights.shape[1]
        out = torch.convolution(
            x, weights, None, slides.strides, pads, slides.dilations, False, [0] * len(pads), groups
        )
        return restored(out, data_format)

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
    form, rank, windows = _form(context), len(context.attrs["strides"]), windows_of_node(context)

    def kernel(sizes: Any, filters: Tensor, back: Tensor) -> Tensor:
        if sizes.size == rank - 2:
            images = completed_sizes(tuple(ints(sizes)), filters, back, windows)
        else:
            images = shape_value(sizes, rank, "input_sizes")
        slides, shape = slides_of(images, filters.shape)
        check_back(back, shape)
        if not math.prod(images) or not back.numel():
            return back.new_zeros(images)
        pads, around = _padding(slides)
        x = channels_second(back.new_empty(images), data_format)
        spatial = list(x.shape[2:])
        if around is not None:
            x = functional.pad(x, around)
        out, _ = _back(x, form.as_torch(filters), channels_second(back, data_format), slides, pads, [True, False])
        return restored(_cropped(out, around, spatial), data_format)

    return kernel


def _filter_gradient(context: KernelContext) -> Kernel:
    data_format, slides_of = _slides(context)
    form, rank = _form(context), len(context.attrs["strides"])

    def kernel(images: Tensor, sizes: Any, back: Tensor) -> Tensor:
        filter_size = shape_value(sizes, rank, "filter_sizes")
        slides, shape = slides_of(images.shape, filter_size)
        check_back(back, shape)
        if not math.prod(filter_size) or not back.numel():
            return back.new_zeros(filter_size)
        x = channels_second(images, data_format)
        pads, around = _padding(slides)
        if around is not None:
            x = functional.pad(x, around)
        weights = form.as_torch(back.new_empty(filter_size)).contiguous()
        _, out = _back(x, weights, channels_second(back, data_format), slides, pads, [False, True])
        return form.from_torch(out, filter_size)

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
            known = [_sizes(given) for given in (images, filters) if not isinstance(given, torch.Tensor)]
            return out.reshape(known[0] if known else shape)

        return joined

    return kernel_of


def _sizes(given: Any) -> Ints:
    return tuple(given.shape if isinstance(given, torch.Tensor) else ints(given))


def _resized(given: Any, sizes: Ints) -> Any:
    return given.reshape(sizes) if isinstance(given, torch.Tensor) else np.array(sizes)


# -- pools -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Calls:
    """What pools of so many spatial axes are called."""

    largest: Any
    largest_back: Any
    mean: Any
    mean_back: Any


_CALLS = {
    4: _Calls(
        aten.max_pool2d_with_indices,
        aten.max_pool2d_with_indices_backward,
        functional.avg_pool2d,
        aten.avg_pool2d_backward,
    ),
    5: _Calls(
        aten.max_pool3d_with_indices,
        aten.max_pool3d_with_indices_backward,
        functional.avg_pool3d,
        aten.avg_pool3d_backward,
    ),
}


def _pool(context: KernelContext) -> Pool:
    return pool_of(context.attrs, len(context.attrs["ksize"]), context.op)


def _plain_pool(context: KernelContext) -> bool:
    """Whether a pool is one of torch's: over spatial axes, without holes."""
    pool = _pool(context)
    return pool.depth == (1, 1) and all(n == 1 for n in pool.windows.dilations)


def _shapes(pool: Pool, images: Tensor) -> tuple[Tensor, Sliding, tuple[int, ...]]:
    if images.ndim != pool.rank:
        raise InvalidArgumentError(f"images have rank {pool.rank}, got shape {list(images.shape)}")
    shape = tuple([int(n or 0) for n in pool.output_dims(tuple(images.shape), InvalidArgumentError)])
    x = channels_second(images, pool.windows.data_format)
    return x, pool.sliding((x.shape[0], *x.shape[2:], x.shape[1])), shape


def _padded_low(x: Tensor, slides: Sliding) -> tuple[Tensor, list[int] | None]:
    """Return images with padding that no maximum is taken of."""
    around = _around(slides)
    return (x if around is None else functional.pad(x, around, value=-math.inf)), around


def _max_pool(context: KernelContext) -> Kernel:
    pool = _pool(context)
    largest_of = _CALLS[pool.rank].largest

    def kernel(images: Tensor) -> Tensor:
        x, slides, shape = _shapes(pool, images)
        if not math.prod(shape):
            return images.new_zeros(shape)
        x, _ = _padded_low(x, slides)
        largest, places = largest_of(x, pool.window, pool.windows.strides)
        out = restored(largest, pool.windows.data_format)
        out.places = places, weakref.ref(images)  # for the gradient; torch finds them in any case
        return out

    return kernel


def _max_pool_grad(context: KernelContext) -> Kernel:
    """Return the kernel of a gradient, or of the gradient of that, which takes what stands at the maxima."""
    pool = _pool(context)
    calls, forward = _CALLS[pool.rank], context.op.endswith("GradGrad")

    def kernel(images: Tensor, result: Tensor, back: Tensor) -> Tensor:
        x, slides, shape = _shapes(pool, images)
        expected = images.shape if forward else shape
        for what, given, size in (("the result", result, shape), ("the gradient", back, expected)):
            if given.shape != size:
                raise InvalidArgumentError(f"{what} has shape {list(size)}, got {list(given.shape)}")
        if not math.prod(shape):
            return torch.zeros_like(result if forward else images)
        spatial = list(x.shape[2:])
        x, around = _padded_low(x, slides)
        strides = pool.windows.strides
        places, images_of = getattr(result, "places", (x, lambda: None))
        if images_of() is not images:
            _, places = calls.largest(x, pool.window, strides)
        g = channels_second(back, pool.windows.data_format)
        if forward:
            g = g if around is None else functional.pad(g, around)
            out = torch.gather(g.flatten(2), 2, places.flatten(2)).reshape(places.shape)
        else:
            none, ones = [0] * len(spatial), [1] * len(spatial)
            out = calls.largest_back(g, x, pool.window, strides, none, ones, False, places)
            out = _cropped(out, around, spatial)
        return restored(out, pool.windows.data_format)

    return kernel


def _max_pool_places(context: KernelContext) -> Kernel:
    """Return the kernel that gives maxima with their positions, counted over channels as well."""
    pool, dtype = _pool(context), context.outputs[1].dtype.np_dtype
    whole = bool(context.attrs["include_batch_in_index"])

    def kernel(images: Tensor) -> tuple[Tensor, Any]:
        x, slides, shape = _shapes(pool, images)
        fitting(math.prod(shape) > 0 and not bool(torch.isnan(images).any()))
        batch, height, width, channels = images.shape
        padded, _ = _padded_low(x, slides)
        largest, places = _CALLS[4].largest(padded, pool.window, pool.windows.strides)
        rows, columns = places // padded.shape[3] - slides.pads[0][0], places % padded.shape[3] - slides.pads[1][0]
        flat = restored((rows * width + columns) * channels, "NHWC") + torch.arange(channels, device=images.device)
        if whole:
            starts = torch.arange(batch, device=images.device) * (height * width * channels)
            flat = flat + starts.reshape(-1, 1, 1, 1)
        return restored(largest, "NHWC"), flat.cpu().numpy().astype(dtype, copy=False)

    return kernel


def _max_pool_places_grad(context: KernelContext) -> Kernel:
    pool, whole = _pool(context), bool(context.attrs["include_batch_in_index"])

    def kernel(images: Tensor, back: Tensor, places: Any) -> Tensor:
        _, _, shape = _shapes(pool, images)
        fitting(tuple(back.shape) == shape == places.shape)
        flat = places.astype(np.int64)
        if not whole:
            flat += (np.arange(len(images)) * math.prod(images.shape[1:]))[:, None, None, None]
        fitting(not flat.size or (flat.min() >= 0 and flat.max() < images.numel()))
        wide = widened(back).reshape(-1)
        out = wide.new_zeros(images.numel()).index_add_(0, positions(flat.reshape(-1), back), wide)
        return out.reshape(images.shape).to(images.dtype)

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
        return restored(means, pool.windows.data_format)

    return kernel


def _window_means(x: Tensor, slides: Sliding, pool: Pool) -> Tensor:
    """Return the mean of each window, padding counted as zeros."""
    around = _around(slides)
    if around is not None:
        x = functional.pad(x, around)
    means: Tensor = _CALLS[pool.rank].mean(x, pool.window, pool.windows.strides)
    return means


def _avg_pool_grad(context: KernelContext) -> Kernel:
    pool = _pool(context)
    mean_back = _CALLS[pool.rank].mean_back

    def kernel(sizes: Any, back: Tensor) -> Tensor:
        images = back.new_ones(shape_value(sizes, pool.rank, "the shape of the images"))
        x, slides, shape = _shapes(pool, images)
        if tuple(back.shape) != shape:
            raise InvalidArgumentError(f"the gradient has shape {list(shape)}, got {list(back.shape)}")
        if not math.prod(shape):
            return torch.zeros_like(images)
        g, spatial, around = channels_second(back, pool.windows.data_format), list(x.shape[2:]), _around(slides)
        if around is not None:
            g = g / _window_means(torch.ones_like(x[:1, :1]), slides, pool)
            x = functional.pad(x, around)
        out = mean_back(g, x, pool.window, pool.windows.strides, [0] * len(spatial), False, True, None)
        return restored(_cropped(out, around, spatial), pool.windows.data_format)

    return kernel


# -- dilation --------------------------------------------------------------------------------------


def _dilated(x: Tensor, filters: Tensor, slides: Sliding) -> tuple[Tensor, Tensor]:
    """Return the largest sums, and for each the index of the window element that it comes from."""
    low = torch.finfo(x.dtype).min
    wide = functional.pad(x, [0, 0, *(_around(slides) or [0] * 4)], value=low)
    best = x.new_full((len(x), *slides.counts, x.shape[-1]), low)
    which = torch.zeros_like(best, dtype=torch.int32)
    for number, (position, view) in enumerate(zip(slides.positions, _views(wide, slides), strict=True)):
        total = view + filters[position]
        better = total > best
        best, which = torch.where(better, total, best), which.masked_fill_(better, number)
    return best, which


def _views(wide: Tensor, slides: Sliding) -> list[Tensor]:
    """Return for each element of a window where it meets the images."""
    return [wide[(slice(None), *slides.at(p, slice(0, slides.counts[0])))] for p in slides.positions]


def _dilation(context: KernelContext) -> Kernel:
    windows, op = dilation_windows(context), context.op

    def kernel(x: Tensor, filters: Tensor, *back: Tensor) -> Tensor:
        slides, shape = dilation_slides(windows, x, filters, op)
        fitting(0 not in shape and all(grads.shape == shape for grads in back))
        best, which = _dilated(x, filters, slides)
        if not back:
            return best
        parts = [torch.where(which == number, back[0], 0.0) for number in range(len(slides.positions))]
        if op.endswith("Filter"):
            out = torch.zeros_like(filters)
            for position, part in zip(slides.positions, parts, strict=True):
                out[position] = part.sum((0, 1, 2))
            return out
        around = [0, 0, *(_around(slides) or [0] * 4)]
        wide = functional.pad(torch.zeros_like(x), around)
        for view, part in zip(_views(wide, slides), parts, strict=True):
            view += part
        return wide[:, around[4] :, around[2] :][:, : x.shape[1], : x.shape[2]].contiguous()

    return narrowed(kernel)


ROWS: Rows = {
    "Conv2D": row(_joined(_convolution), checks=True),
    "Conv3D": row(_joined(_convolution), checks=True),
    "Conv2DBackpropInput": row(_joined(_input_gradient), host=[0], checks=True),
    "Conv3DBackpropInputV2": row(_joined(_input_gradient), host=[0], checks=True),
    "Conv2DBackpropFilter": row(_joined(_filter_gradient), host=[1], checks=True),
    "Conv3DBackpropFilterV2": row(_joined(_filter_gradient), host=[1], checks=True),
    "DepthwiseConv2dNative": row(_convolution, checks=True),
    "DepthwiseConv2dNativeBackpropInput": row(_input_gradient, host=[0], checks=True),
    "DepthwiseConv2dNativeBackpropFilter": row(_filter_gradient, host=[1], checks=True),
    **{f"Dilation2D{part}": row(_dilation, checks=True) for part in ("", "BackpropInput", "BackpropFilter")},
    **{f"MaxPool{kind}": row(_max_pool, checks=True, takes=_plain_pool) for kind in ("", "3D")},
    # TensorFlow's gradient of the three-dimensional one goes to all maxima of a window: the CPU's kernel has it.
    **{
        f"MaxPool{kind}": row(_max_pool_grad, checks=True, takes=_plain_pool)
        for kind in ("Grad", "GradGrad", "3DGradGrad")
    },
    "MaxPoolWithArgmax": row(_max_pool_places, host_outputs=True, checks=True, takes=_plain_pool),
    "MaxPoolGradWithArgmax": row(_max_pool_places_grad, host=[2], checks=True, takes=_plain_pool),
    **{f"AvgPool{kind}": row(_avg_pool, checks=True, takes=_plain_pool) for kind in ("", "3D")},
    **{f"AvgPool{kind}Grad": row(_avg_pool_grad, host=[0], checks=True, takes=_plain_pool) for kind in ("", "3D")},
}

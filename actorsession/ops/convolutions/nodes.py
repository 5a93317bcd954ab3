"""Operation types of convolution: with two and three spatial axes, and both gradients of each.

Owns ``Conv2D`` and ``Conv3D`` with their backprops; ``operations``, ``backprops`` and ``transposed`` build
them. All six are bilinear in two of the same three arrays, so the gradient of each is composed of the other
two, and second derivatives need no further types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float16, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import (
    REQUIRED,
    Array,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.convolutions.gradients import (
    convolution_gradient,
    filter_gradient_gradient,
    input_gradient_gradient,
)
from actorsession.ops.convolutions.kernels import (
    Sliding,
    convolved,
    filter_gradient,
    input_gradient,
)
from actorsession.ops.convolutions.windows import (
    Failure,
    Windows,
    channel_axis,
    channels_last,
    restored,
    windows_of,
)
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    ints,
    require_index,
    same_dtype,
    vector_length,
)

__all__ = ["convolution_cost", "halves_widened", "known_dims"]

Dims: TypeAlias = "list[Dim]"

_RANKS = {"Conv2D": 4, "Conv3D": 5}


def _rank(op: str) -> int:
    return _RANKS[op[:6]]


def _windows(ctx: InferContext | KernelContext) -> Windows:
    rank = _rank(ctx.op)
    windows = windows_of(ctx.attrs, rank, ctx.op, explicit=rank == 4)
    for key in ("strides", "dilations"):
        given = ctx.attrs[key]
        if any(given[i] != 1 for i in range(rank) if i not in windows.axes):
            raise ValueError(f"{key} of {ctx.op} are 1 for batch and channels, got {list(given)}")
    return windows


# -- static types --------------------------------------------------------------------------------


def known_dims(ctx: InferContext, index: int, rank: int) -> Dims:
    """Return the dimensions of an operand that must have a certain rank, ``None`` where unknown.

    Raises:
        ValueError: for another rank.
    """
    shape = ctx.inputs[index].shape
    if shape.rank not in (None, rank):
        raise ValueError(f"{ctx.op}: input {index} has rank {rank}, got shape {shape}")
    return shape.as_list() if shape.rank is not None else [None] * rank


def _sizes(ctx: InferContext, index: int, rank: int) -> Dims:
    """Return the sizes given by a shape operand as far as they are known."""
    require_index(ctx, index, rank=1)
    length = vector_length(ctx.inputs[index])
    if length is not None and length != rank:
        raise ValueError(f"{ctx.op}: input {index} gives {rank} sizes, got {length}")
    found = constant_ints(ctx, index)
    return [None] * rank if found is None else [None if n < 0 else n for n in found]


def _check_types(ctx: InferContext, *operands: int) -> DType:
    same_dtype(ctx, *operands)
    dtype = ctx.inputs[operands[0]].dtype
    if not (dtype.is_floating or (dtype is int32 and ctx.op.startswith("Conv2D"))):
        raise TypeError(f"{ctx.op} takes a floating type, got {dtype.name}")
    return dtype


def _output_dims(
    images: Sequence[Dim], kernel: Sequence[Dim], w: Windows, op: str, error: Failure = ValueError
) -> Dims:
    """Return the dimensions of a convolution's result, from those of images and filter."""
    channel = channel_axis(w.data_format, len(images))
    have, taken, deep = images[channel], kernel[-2], kernel[-1]
    if taken == 0 or (have is not None and taken is not None and have % taken):
        raise error(
            f"{op}: the channels of the images are a multiple of those of the filter, got "
            f"{have} and {taken}"
        )
    if (
        have is not None
        and taken is not None
        and deep is not None
        and have
        and deep % (have // taken)
    ):
        raise error(
            f"{op}: {deep} channels of the output cannot be made in {have // taken} equal groups"
        )
    dims: Dims = [images[0]] * len(images)
    dims[channel] = deep
    counts = w.output_dims([images[a] for a in w.axes], kernel[:-2], error)
    for axis, count in zip(w.axes, counts, strict=True):
        dims[axis] = count
    return dims


def _merged(ctx: InferContext, index: int, wanted: Dims) -> Dims:
    found = known_dims(ctx, index, len(wanted))
    shape = TensorShape(found)
    if not shape.is_compatible_with(wanted):
        raise ValueError(
            f"{ctx.op}: the gradient of the output has shape {TensorShape(wanted)}, got {shape}"
        )
    return shape.merge_with(wanted).as_list()


def _infer_convolution(ctx: InferContext) -> list[TensorSpec]:
    rank, windows = _rank(ctx.op), _windows(ctx)
    dtype = _check_types(ctx, 0, 1)
    images, kernel = known_dims(ctx, 0, rank), known_dims(ctx, 1, rank)
    return [TensorSpec(dtype, TensorShape(_output_dims(images, kernel, windows, ctx.op)))]


def _infer_input_gradient(ctx: InferContext) -> list[TensorSpec]:
    rank, windows = _rank(ctx.op), _windows(ctx)
    dtype = _check_types(ctx, 1, 2)
    kernel = known_dims(ctx, 1, rank)
    if vector_length(ctx.inputs[0]) == rank - 2:
        # Only spatial sizes are given: the others are those of the gradient and of the filter.
        images: Dims = [None] * rank
        images[channel_axis(windows.data_format, rank)] = kernel[-2]
        for axis, size in zip(windows.axes, constant_ints(ctx, 0) or (), strict=False):
            images[axis] = size
    else:
        images = _sizes(ctx, 0, rank)
    back = _merged(ctx, 2, _output_dims(images, kernel, windows, ctx.op))
    if images[0] is None:
        images[0] = back[0]
    return [TensorSpec(dtype, TensorShape(images))]


def _infer_filter_gradient(ctx: InferContext) -> list[TensorSpec]:
    rank, windows = _rank(ctx.op), _windows(ctx)
    dtype = _check_types(ctx, 0, 2)
    images, kernel = known_dims(ctx, 0, rank), _sizes(ctx, 1, rank)
    back = _merged(ctx, 2, _output_dims(images, kernel, windows, ctx.op))
    if kernel[-1] is None:
        kernel[-1] = back[channel_axis(windows.data_format, rank)]
    return [TensorSpec(dtype, TensorShape(kernel))]


# -- kernels -------------------------------------------------------------------------------------


def halves_widened(function: Kernel, dtype: DType) -> Kernel:
    """Return ``function`` computed by way of float32, if its arrays have a 16-bit type, which BLAS lacks."""
    if dtype not in (float16, bfloat16):
        return function
    narrow = dtype.np_dtype

    def widened(*values: Any) -> Any:
        wide = [v.astype(np.float32) if v.dtype == narrow else v for v in values]
        return function(*wide).astype(narrow)

    return widened


def _sliding(w: Windows, images: Ints, kernel: Ints, op: str) -> tuple[Sliding, Ints]:
    """Check the shapes of one call, and return its windows and the shape of its result."""
    rank = len(w.axes) + 2
    if len(images) != rank or len(kernel) != rank:
        raise InvalidArgumentError(
            f"images and filter have rank {rank}, got {list(images)} and {list(kernel)}"
        )
    result = _output_dims(images, kernel, w, op, InvalidArgumentError)
    sizes = tuple(images[a] for a in w.axes)
    window = tuple(kernel[:-2])
    counts = tuple(int(result[a] or 0) for a in w.axes)
    slides = Sliding(counts, window, w.strides, w.dilations, w.pads(sizes, window))
    return slides, tuple(int(n or 0) for n in result)


def _check_back(g: Array, wanted: Ints) -> None:
    if g.shape != wanted:
        raise InvalidArgumentError(
            f"the gradient of the output has shape {list(wanted)}, got {list(g.shape)}"
        )


def _groups(channels: int, taken: int, deep: int) -> list[tuple[slice, slice]]:
    """Return the pairs of image channels and output channels that form a group."""
    count = channels // taken
    wide = deep // max(1, count)
    return [
        (slice(i * taken, (i + 1) * taken), slice(i * wide, (i + 1) * wide)) for i in range(count)
    ]


def _convolution_kernel(ctx: KernelContext) -> Kernel:
    windows, op = _windows(ctx), ctx.op
    data_format = windows.data_format

    def kernel(images: Any, f: Any) -> Any:
        slides, shape = _sliding(windows, images.shape, f.shape, op)
        x = channels_last(images, data_format)
        if not math.prod(shape):
            return np.zeros(shape, images.dtype)
        if x.shape[-1] == f.shape[-2]:
            return restored(convolved(x, f, slides), data_format)
        out = np.zeros((x.shape[0], *slides.counts, f.shape[-1]), x.dtype)
        for ours, theirs in _groups(x.shape[-1], f.shape[-2], f.shape[-1]):
            out[..., theirs] = convolved(x[..., ours], f[..., theirs], slides)
        return restored(out, data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _shape_value(sizes: Any, rank: int, what: str) -> Ints:
    found = ints(sizes)
    if len(found) != rank or min(found) < 0:
        raise InvalidArgumentError(f"{what} are {rank} sizes of at least 0, got {list(found)}")
    return found


def _completed(spatial: Ints, f: Array, back: Array, w: Windows) -> Ints:
    """Return the full shape of images of which only the spatial sizes were given."""
    images = [back.shape[0]] * (len(w.axes) + 2)
    images[channel_axis(w.data_format, len(images))] = f.shape[-2]
    for axis, size in zip(w.axes, spatial, strict=True):
        images[axis] = size
    return tuple(images)


def _input_gradient_kernel(ctx: KernelContext) -> Kernel:
    windows, op, rank = _windows(ctx), ctx.op, _rank(ctx.op)
    data_format = windows.data_format

    def kernel(sizes: Any, f: Any, back: Any) -> Any:
        if sizes.size == rank - 2:
            images = _completed(ints(sizes), f, back, windows)
        else:
            images = _shape_value(sizes, rank, "input_sizes")
        slides, shape = _sliding(windows, images, f.shape, op)
        _check_back(back, shape)
        if not math.prod(images) or not back.size:
            return np.zeros(images, back.dtype)
        g = channels_last(back, data_format)
        spatial = tuple(images[a] for a in windows.axes)
        channels = images[channel_axis(data_format, rank)]
        if channels == f.shape[-2]:
            return restored(input_gradient(f, g, slides, spatial), data_format)
        out = np.zeros((images[0], *spatial, channels), back.dtype)
        for ours, theirs in _groups(channels, f.shape[-2], f.shape[-1]):
            part = input_gradient(f[..., theirs], g[..., theirs], slides, spatial)
            out[..., ours] = part
        return restored(out, data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _filter_gradient_kernel(ctx: KernelContext) -> Kernel:
    windows, op, rank = _windows(ctx), ctx.op, _rank(ctx.op)
    data_format = windows.data_format

    def kernel(images: Any, sizes: Any, back: Any) -> Any:
        wanted = _shape_value(sizes, rank, "filter_sizes")
        slides, shape = _sliding(windows, images.shape, wanted, op)
        _check_back(back, shape)
        if not math.prod(wanted) or not back.size:
            return np.zeros(wanted, back.dtype)
        x, g = channels_last(images, data_format), channels_last(back, data_format)
        if x.shape[-1] == wanted[-2]:
            return filter_gradient(x, g, slides)
        out = np.zeros(wanted, back.dtype)
        for ours, theirs in _groups(x.shape[-1], wanted[-2], wanted[-1]):
            out[..., theirs] = filter_gradient(x[..., ours], g[..., theirs], slides)
        return out

    return halves_widened(kernel, ctx.outputs[0].dtype)


# -- cost ----------------------------------------------------------------------------------------

# Multiplications and additions per microsecond, and the cost of a kernel call. Copying patches takes about as
# long as their product, for which ``matmul`` assumes 50,000.
_SPEED = 25_000.0
_CALL = 15.0


def convolution_cost(kernel: TensorSpec, result: TensorSpec) -> float:
    """Return the microseconds of a convolution, from the types of its filter and of its result."""
    each = (kernel.shape.num_elements() or 1) / max(1, kernel.shape[-1:].num_elements() or 1)
    return _CALL + 2 * each * (result.shape.num_elements() or 1) / _SPEED


def _cost_forward(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return convolution_cost(inputs[1], outputs[0])


def _cost_by_input(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return convolution_cost(inputs[1], inputs[2])


def _cost_by_filter(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return convolution_cost(outputs[0], inputs[2])


_ATTRS_2D = {
    "strides": REQUIRED, "padding": REQUIRED, "use_cudnn_on_gpu": True, "explicit_paddings": (),
    "data_format": "NHWC", "dilations": (1, 1, 1, 1),
}  # fmt: skip
_ATTRS_3D = {
    "strides": REQUIRED, "padding": REQUIRED, "data_format": "NDHWC",
    "dilations": (1, 1, 1, 1, 1),
}  # fmt: skip

for _forward, _by_input, _by_filter, _attrs in (
    ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", _ATTRS_2D),
    ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", _ATTRS_3D),
):
    register(
        OpDef(
            name=_forward,
            infer=_infer_convolution,
            kernel=_convolution_kernel,
            gradient=convolution_gradient,
            cost=_cost_forward,
        )
    )
    register(
        OpDef(
            name=_by_input,
            infer=_infer_input_gradient,
            kernel=_input_gradient_kernel,
            gradient=input_gradient_gradient,
            cost=_cost_by_input,
            sized_by=(0,),
        )
    )
    register(
        OpDef(
            name=_by_filter,
            infer=_infer_filter_gradient,
            kernel=_filter_gradient_kernel,
            gradient=filter_gradient_gradient,
            cost=_cost_by_filter,
            sized_by=(1,),
        )
    )

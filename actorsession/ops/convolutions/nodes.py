"""Operation types of convolution: with two and three spatial axes, and both gradients of each.

Owns ``Conv2D`` and ``Conv3D`` with their backprops; ``operations``, ``backprops`` and ``transposed`` build
them. All six are bilinear in two of the same three arrays, so the gradient of each is composed of the other
two, and second derivatives need no further types. What the depthwise convolutions of ``depthwise_nodes`` have
in common with them stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float16
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import make_one
from actorsession.ops.convolutions.kernels import Sliding, convolved, filter_gradient, input_gradient
from actorsession.ops.convolutions.windows import Failure, Windows, channel_axis, channels_last, restored, windows_of
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, ints, partial_ints, require_index, vector_length

__all__ = [
    "by_filter_gradient",
    "by_input_gradient",
    "check_back",
    "completed_sizes",
    "convolution_gradient",
    "halves_widened",
    "known_dims",
    "known_sizes",
    "merged",
    "output_dims",
    "shape_value",
    "sliding",
    "windows_of_node",
]

Dims: TypeAlias = "list[Dim]"


def _rank(op: str) -> int:
    return 5 if op.startswith("Conv3D") else 4


def windows_of_node(ctx: InferContext | KernelContext) -> Windows:
    """Return the windows of a convolution, which do not move over batches and channels.

    Raises:
        ValueError: for invalid attributes.
    """
    rank = _rank(ctx.op)
    windows = windows_of(ctx.attrs, rank, ctx.op, explicit=rank == 4)
    for key in ("strides", "dilations"):
        steps = ctx.attrs[key]
        if any(steps[i] != 1 for i in range(rank) if i not in windows.axes):
            raise ValueError(f"{key} of {ctx.op} are 1 for batch and channels, got {list(steps)}")
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


def known_sizes(ctx: InferContext, index: int, rank: int) -> Dims:
    """Return the sizes given by a shape operand as far as they are known."""
    require_index(ctx, index, rank=1)
    length = vector_length(ctx.inputs[index])
    if length is not None and length != rank:
        raise ValueError(f"{ctx.op}: input {index} gives {rank} sizes, got {length}")
    sizes = partial_ints(ctx, index)
    return [None] * rank if sizes is None else [None if n is None or n < 0 else n for n in sizes]


def output_dims(images: Sequence[Dim], kernel: Sequence[Dim], w: Windows, op: str, error: Failure = ValueError) -> Dims:
    """Return the dimensions of a convolution's result, from those of images and filter."""
    channel = channel_axis(w.data_format, len(images))
    have, taken, deep = images[channel], kernel[-2], kernel[-1]
    if taken == 0 or (have is not None and taken is not None and have % taken):
        raise error(f"{op}: the channels of the images are a multiple of those of the filter, got {have} and {taken}")
    if have and taken and deep is not None and deep % (have // taken):
        raise error(f"{op}: {deep} channels of the output cannot be made in {have // taken} equal groups")
    dims: Dims = [images[0]] * len(images)
    dims[channel] = deep
    counts = w.output_dims([images[a] for a in w.axes], kernel[:-2], error)
    for axis, count in zip(w.axes, counts, strict=True):
        dims[axis] = count
    return dims


def merged(ctx: InferContext, index: int, output_dims: Dims) -> Dims:
    """Return the dimensions of the gradient of an output whose own dimensions are ``output_dims``.

    Raises:
        ValueError: if the two contradict each other.
    """
    own = known_dims(ctx, index, len(output_dims))
    shape = TensorShape(own)
    if not shape.is_compatible_with(output_dims):
        raise ValueError(f"{ctx.op}: the gradient of the output has shape {TensorShape(output_dims)}, got {shape}")
    return shape.merge_with(output_dims).as_list()


def _convolved(ctx: InferContext) -> Sequence[TensorShape]:
    rank, windows = _rank(ctx.op), windows_of_node(ctx)
    images, kernel = known_dims(ctx, 0, rank), known_dims(ctx, 1, rank)
    return [TensorShape(output_dims(images, kernel, windows, ctx.op))]


def _like_images(ctx: InferContext) -> Sequence[TensorShape]:
    rank, windows = _rank(ctx.op), windows_of_node(ctx)
    kernel = known_dims(ctx, 1, rank)
    if vector_length(ctx.inputs[0]) == rank - 2:
        # Only spatial sizes are given: the others are those of the gradient and of the filter.
        images: Dims = [None] * rank
        images[channel_axis(windows.data_format, rank)] = kernel[-2]
        for axis, size in zip(windows.axes, partial_ints(ctx, 0) or (), strict=False):
            images[axis] = size
    else:
        images = known_sizes(ctx, 0, rank)
    back = merged(ctx, 2, output_dims(images, kernel, windows, ctx.op))
    if images[0] is None:
        images[0] = back[0]
    return [TensorShape(images)]


def _like_filter(ctx: InferContext) -> Sequence[TensorShape]:
    rank, windows = _rank(ctx.op), windows_of_node(ctx)
    images, kernel = known_dims(ctx, 0, rank), known_sizes(ctx, 1, rank)
    back = merged(ctx, 2, output_dims(images, kernel, windows, ctx.op))
    if kernel[-1] is None:
        kernel[-1] = back[channel_axis(windows.data_format, rank)]
    return [TensorShape(kernel)]


# -- kernels -------------------------------------------------------------------------------------


def halves_widened(function: Kernel, dtype: DType, xp: Any = np) -> Kernel:
    """Return ``function`` computed by way of float32, if its arrays have a 16-bit type, which BLAS lacks.

    Args:
        function: has one result.
        dtype: the type of the result.
        xp: the module of functions of the arrays; others than numpy's have one type.
    """
    if dtype not in (float16, bfloat16):
        return function

    def widened(*values: Any) -> Any:
        narrow = dtype.np_dtype if xp is np else values[0].dtype
        wide = [xp.asarray(v, dtype=xp.float32) if v.dtype == narrow else v for v in values]
        result = function(*wide)
        return result.astype(narrow) if xp is np else xp.asarray(result, dtype=narrow)

    return widened


def sliding(w: Windows, images: Ints, kernel: Ints, op: str, dims: Callable[..., Dims]) -> tuple[Sliding, Ints]:
    """Check the shapes of one call, and return its windows and the shape of its result.

    Args:
        w: the windows of the node.
        images: shape of the images.
        kernel: shape of the filter.
        op: operation type.
        dims: returns the dimensions of the result, from those of images and filter.

    Raises:
        InvalidArgumentError: for shapes that do not fit.
    """
    rank = len(w.axes) + 2
    if len(images) != rank or len(kernel) != rank:
        raise InvalidArgumentError(f"images and filter have rank {rank}, got {list(images)} and {list(kernel)}")
    result = dims(images, kernel, w, op, InvalidArgumentError)
    sizes = tuple(images[a] for a in w.axes)
    window = tuple(kernel[:-2])
    counts = tuple(int(result[a] or 0) for a in w.axes)
    slides = Sliding(counts, window, w.strides, w.dilations, w.pads(sizes, window))
    return slides, tuple(int(n or 0) for n in result)


def check_back(g: Array, expected: Ints) -> None:
    """Check the shape of the gradient of an output.

    Raises:
        InvalidArgumentError: for another shape.
    """
    if g.shape != expected:
        raise InvalidArgumentError(f"the gradient of the output has shape {list(expected)}, got {list(g.shape)}")


def _groups(channels: int, taken: int, deep: int) -> list[tuple[slice, slice]]:
    """Return the pairs of image channels and output channels that form a group."""
    count = channels // taken
    wide = deep // max(1, count)
    return [(slice(i * taken, (i + 1) * taken), slice(i * wide, (i + 1) * wide)) for i in range(count)]


def _convolution_kernel(ctx: KernelContext) -> Kernel:
    windows, op = windows_of_node(ctx), ctx.op
    data_format = windows.data_format

    def kernel(images: Any, f: Any) -> Any:
        slides, shape = sliding(windows, images.shape, f.shape, op, output_dims)
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


def shape_value(sizes: Any, rank: int, what: str) -> Ints:
    """Return the sizes that a shape operand gives.

    Raises:
        InvalidArgumentError: for another number of them, or negative ones.
    """
    numbers = ints(sizes)
    if len(numbers) != rank or min(numbers) < 0:
        raise InvalidArgumentError(f"{what} are {rank} sizes of at least 0, got {list(numbers)}")
    return numbers


def completed_sizes(spatial: Ints, f: Array, back: Array, w: Windows) -> Ints:
    """Return the full shape of images of which only the spatial sizes were given."""
    images = [back.shape[0]] * (len(w.axes) + 2)
    images[channel_axis(w.data_format, len(images))] = f.shape[-2]
    for axis, size in zip(w.axes, spatial, strict=True):
        images[axis] = size
    return tuple(images)


def _input_gradient_kernel(ctx: KernelContext) -> Kernel:
    windows, op, rank = windows_of_node(ctx), ctx.op, _rank(ctx.op)
    data_format = windows.data_format

    def kernel(sizes: Any, f: Any, back: Any) -> Any:
        if sizes.size == rank - 2:
            images = completed_sizes(ints(sizes), f, back, windows)
        else:
            images = shape_value(sizes, rank, "input_sizes")
        slides, shape = sliding(windows, images, f.shape, op, output_dims)
        check_back(back, shape)
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
    windows, op, rank = windows_of_node(ctx), ctx.op, _rank(ctx.op)
    data_format = windows.data_format

    def kernel(images: Any, sizes: Any, back: Any) -> Any:
        filter_size = shape_value(sizes, rank, "filter_sizes")
        slides, shape = sliding(windows, images.shape, filter_size, op, output_dims)
        check_back(back, shape)
        if not math.prod(filter_size) or not back.size:
            return np.zeros(filter_size, back.dtype)
        x, g = channels_last(images, data_format), channels_last(back, data_format)
        if x.shape[-1] == filter_size[-2]:
            return filter_gradient(x, g, slides)
        out = np.zeros(filter_size, back.dtype)
        for ours, theirs in _groups(x.shape[-1], filter_size[-2], filter_size[-1]):
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


# -- gradients and rows --------------------------------------------------------------------------

# A convolution, its gradient by the images and its gradient by the filter.
_FAMILIES = (
    ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    ("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
)


def _family(op: Operation) -> tuple[str, str, str]:
    return next(types for types in _FAMILIES if op.type in types)


def convolution_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradients of a convolution by images and filter."""
    _, by_input, by_filter = _family(op)
    images, kernel = op.inputs
    return [
        make_one(by_input, [shape_tensor(images), kernel, grad], op.attrs),
        make_one(by_filter, [images, shape_tensor(kernel), grad], op.attrs),
    ]


def by_input_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradients of the gradient by the images: by the filter and the incoming gradient."""
    forward, _, by_filter = _family(op)
    _, kernel, back = op.inputs
    return [
        None,
        make_one(by_filter, [grad, shape_tensor(kernel), back], op.attrs),
        make_one(forward, [grad, kernel], op.attrs),
    ]


def by_filter_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradients of the gradient by the filter: by the images and the incoming gradient."""
    forward, by_input, _ = _family(op)
    images, _, back = op.inputs
    return [
        make_one(by_input, [shape_tensor(images), grad, back], op.attrs),
        None,
        make_one(forward, [images, grad], op.attrs),
    ]


for _forward, _by_input, _by_filter in _FAMILIES[:2]:
    op(
        _forward,
        _convolved,
        kernel=_convolution_kernel,
        grad=convolution_gradient,
        cost=lambda inputs, outputs: convolution_cost(inputs[1], outputs[0]),
        divides=True,
    )
    op(
        _by_input,
        _like_images,
        kernel=_input_gradient_kernel,
        grad=by_input_gradient,
        cost=lambda inputs, outputs: convolution_cost(inputs[1], inputs[2]),
        divides=True,
        sized_by=(0,),
    )
    op(
        _by_filter,
        _like_filter,
        kernel=_filter_gradient_kernel,
        grad=by_filter_gradient,
        cost=lambda inputs, outputs: convolution_cost(outputs[0], inputs[2]),
        divides=True,
        sized_by=(1,),
    )

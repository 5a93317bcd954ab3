"""Operation types of depthwise convolutions.

Owns ``DepthwiseConv2dNative`` with both gradients; ``depthwise`` builds them. No matrix product is used here:
a window has few elements, so one product and one addition of whole images for each of them is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import make_one
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import halves_widened, known_dims
from actorsession.ops.convolutions.windows import (
    Windows,
    channel_axis,
    channels_last,
    padded,
    restored,
    windows_of,
)
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    elements,
    ints,
    require_floating,
    require_index,
)

__all__: list[str] = []


# -- static types --------------------------------------------------------------------------------


def _windows(ctx: InferContext | KernelContext) -> Windows:
    windows = windows_of(ctx.attrs, 4, ctx.op, explicit=True)
    for key in ("strides", "dilations"):
        given = ctx.attrs[key]
        if any(given[i] != 1 for i in range(4) if i not in windows.axes):
            raise ValueError(f"{key} of {ctx.op} are 1 for batch and channels, got {list(given)}")
    return windows


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


def _infer_forward(ctx: InferContext) -> list[TensorSpec]:
    require_floating(ctx, 0, 1)
    images, kernel = known_dims(ctx, 0, 4), known_dims(ctx, 1, 4)
    dims = _result_dims(images, kernel, _windows(ctx), ctx.op)
    return [TensorSpec(ctx.inputs[0].dtype, TensorShape(dims))]


def _infer_back(ctx: InferContext, where: int) -> list[TensorSpec]:
    """Return the type of a gradient whose shape is given by input number ``where``."""
    other = 1 - where
    require_floating(ctx, other, 2)
    require_index(ctx, where, rank=1)
    sizes = constant_ints(ctx, where)
    if sizes is not None and len(sizes) != 4:
        raise ValueError(f"{ctx.op}: input {where} gives 4 sizes, got {len(sizes)}")
    wanted: list[Dim] = [None] * 4 if sizes is None else [None if n < 0 else n for n in sizes]
    given = known_dims(ctx, other, 4)
    images, kernel = (wanted, given) if where == 0 else (given, wanted)
    result = TensorShape(_result_dims(images, kernel, _windows(ctx), ctx.op))
    back = TensorShape(known_dims(ctx, 2, 4))
    if not back.is_compatible_with(result):
        raise ValueError(f"{ctx.op}: the gradient has shape {result}, got {back}")
    return [TensorSpec(ctx.inputs[2].dtype, TensorShape(wanted))]


# -- kernels -------------------------------------------------------------------------------------


def _sliding(w: Windows, images: Ints, kernel: Ints, op: str) -> tuple[Sliding, Ints]:
    if len(images) != 4 or len(kernel) != 4:
        raise InvalidArgumentError(
            f"images and filter have rank 4, got {list(images)} and {list(kernel)}"
        )
    result = _result_dims(images, kernel, w, op, InvalidArgumentError)
    sizes, window = tuple(images[a] for a in w.axes), kernel[:2]
    counts = tuple(int(result[a] or 0) for a in w.axes)
    slides = Sliding(counts, window, w.strides, w.dilations, w.pads(sizes, window))
    return slides, tuple(int(n or 0) for n in result)


def _check_back(g: Array, wanted: Ints) -> None:
    if g.shape != wanted:
        raise InvalidArgumentError(
            f"the gradient of the output has shape {list(wanted)}, got {list(g.shape)}"
        )


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
    w, op = _windows(ctx), ctx.op

    def kernel(images: Any, f: Any) -> Any:
        slides, shape = _sliding(w, images.shape, f.shape, op)
        if not math.prod(shape):
            return np.zeros(shape, images.dtype)
        return restored(_forward(channels_last(images, w.data_format), f, slides), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_input_kernel(ctx: KernelContext) -> Kernel:
    w, op = _windows(ctx), ctx.op

    def kernel(sizes: Any, f: Any, back: Any) -> Any:
        images = _four(sizes, "input_sizes")
        slides, shape = _sliding(w, images, f.shape, op)
        _check_back(back, shape)
        if not math.prod(images) or not back.size:
            return np.zeros(images, back.dtype)
        g = channels_last(back, w.data_format)
        return restored(_by_input(f, g, slides, tuple(images[a] for a in w.axes)), w.data_format)

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _by_filter_kernel(ctx: KernelContext) -> Kernel:
    w, op = _windows(ctx), ctx.op

    def kernel(images: Any, sizes: Any, back: Any) -> Any:
        wanted = _four(sizes, "filter_sizes")
        slides, shape = _sliding(w, images.shape, wanted, op)
        _check_back(back, shape)
        if not math.prod(wanted) or not back.size:
            return np.zeros(wanted, back.dtype)
        x, g = channels_last(images, w.data_format), channels_last(back, w.data_format)
        return _by_filter(x, g, slides, wanted[3])

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _four(sizes: Any, what: str) -> Ints:
    found = ints(sizes)
    if len(found) != 4 or min(found) < 0:
        raise InvalidArgumentError(f"{what} are 4 sizes of at least 0, got {list(found)}")
    return found


# Elements per microsecond of a product and a sum in numpy, and the cost of the calls for one position.
_SPEED = 500.0
_CALL = 30.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    window = max(s.shape[:2].num_elements() or 1 for s in (inputs[1], outputs[0]))
    largest = max(elements(s) for s in (*inputs, *outputs))
    return _CALL + min(window, 49) * largest / _SPEED


# -- gradients -----------------------------------------------------------------------------------

_FORWARD = "DepthwiseConv2dNative"
_INPUT = "DepthwiseConv2dNativeBackpropInput"
_FILTER = "DepthwiseConv2dNativeBackpropFilter"


def _gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None] * len(op.inputs)
    first, second = op.inputs[:2]
    if op.type == _FORWARD:
        return [
            make_one(_INPUT, [shape_tensor(first), second, grad], op.attrs),
            make_one(_FILTER, [first, shape_tensor(second), grad], op.attrs),
        ]
    back = op.inputs[2]
    if op.type == _INPUT:
        return [
            None,
            make_one(_FILTER, [grad, shape_tensor(second), back], op.attrs),
            make_one(_FORWARD, [grad, second], op.attrs),
        ]
    return [
        make_one(_INPUT, [shape_tensor(first), grad, back], op.attrs),
        None,
        make_one(_FORWARD, [first, grad], op.attrs),
    ]


for _name, _infer, _kernel, _sized_by in (
    (_FORWARD, _infer_forward, _forward_kernel, ()),
    (_INPUT, lambda ctx: _infer_back(ctx, 0), _by_input_kernel, (0,)),
    (_FILTER, lambda ctx: _infer_back(ctx, 1), _by_filter_kernel, (1,)),
):
    register(
        OpDef(
            name=_name,
            infer=_infer,
            kernel=_kernel,
            gradient=_gradient,
            cost=_cost,
            sized_by=_sized_by,
        )
    )

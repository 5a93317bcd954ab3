"""Torch kernels of operations that take arrays apart, join them and arrange them anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, as_on_cpu, fitting, ints, known_axes, plain, row
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]


def _reshape(context: KernelContext) -> Kernel:
    # Not the static shape of the result: the sizes may be fed in place of a constant that it was inferred from.
    known = context.constant(1)
    if known is not None:
        sizes = ints(known) if known.size else []
        return lambda x, _: x.reshape(sizes)
    return lambda x, sizes: x.reshape(ints(sizes) if np.size(sizes) else [])


def _transpose(context: KernelContext) -> Kernel:
    return lambda x, order: x.permute(ints(order)).contiguous().resolve_conj()


def _emit_transpose(context: KernelContext, arguments: Sequence[str]) -> str | None:
    order = known_axes(context, 1)
    if not order or context.inputs[0].dtype.is_complex:
        return None
    return f"{arguments[0]}.permute({order}).contiguous()"


def _conjugate_transpose(context: KernelContext) -> Kernel:
    return lambda x, order: x.permute(ints(order)).conj().resolve_conj().contiguous()


def _is_permutation(context: KernelContext) -> bool:
    order = known_axes(context, 1)
    return order is not None and min(order, default=0) >= 0 and len(order) == context.inputs[0].shape.rank


def _concat(context: KernelContext) -> Kernel:
    known = context.constant(len(context.inputs) - 1)
    if known is not None and not _checks_concat(context):
        where, cat = int(known), torch.cat
        return lambda *values: cat(values[:-1], where)

    def kernel(*values: Any) -> Tensor:
        *parts, axis = values
        # torch passes over vectors without elements beside tensors of any rank.
        fitting(np.ndim(axis) == 0 and len({part.ndim for part in parts}) == 1)
        return torch.cat(parts, int(axis))

    return kernel


def _checks_concat(context: KernelContext) -> bool:
    """Return whether values are looked at; the graph has checked shapes that it knows."""
    return context.constant(len(context.inputs) - 1) is None or not all(
        spec.shape.is_fully_defined() for spec in context.inputs
    )


def _split(context: KernelContext) -> Kernel:
    number = int(context.attrs["num_split"])

    def kernel(where: Any, x: Tensor) -> Any:
        axis = int(where)
        fitting(np.ndim(where) == 0 and -x.ndim <= axis < x.ndim and x.shape[axis] % number == 0)
        if number == 1:
            return x.clone()
        return x.split(x.shape[axis] // number, axis) if x.shape[axis] else (x,) * number

    return kernel


def _emit_split(context: KernelContext, arguments: Sequence[str]) -> str | None:
    where, shape, number = context.constant(0), context.inputs[1].shape.as_tuple(), int(context.attrs["num_split"])
    if where is None or where.ndim or number == 1 or not shape[int(where)]:
        return None
    # A method of a tensor; ``split`` takes twice as long, because it is a function of Python.
    return f"{arguments[1]}.split_with_sizes({[shape[int(where)] // number] * number}, {int(where)})"


def _split_sizes(x: Tensor, widths: Any, where: Any) -> Any:
    sizes, axis = ints(widths), int(where)
    fitting(np.ndim(where) == 0 and np.ndim(widths) == 1 and -x.ndim <= axis < x.ndim and sizes.count(-1) <= 1)
    rest = x.shape[axis] - sum(size for size in sizes if size != -1)
    sizes = [rest if size == -1 else size for size in sizes]
    fitting(min(sizes) >= 0 and sum(sizes) == x.shape[axis])
    return x.clone() if len(sizes) == 1 else x.split_with_sizes(sizes, axis)


def _pack(context: KernelContext) -> Kernel:
    axis = int(context.attrs["axis"])
    return lambda *values: torch.stack(values, axis)


def _unpack(context: KernelContext) -> Kernel:
    axis, number = int(context.attrs["axis"]), len(context.outputs)

    def kernel(x: Tensor) -> Any:
        fitting(x.shape[axis] == number)
        return x.squeeze(axis) if number == 1 else x.unbind(axis)

    return kernel


def _emit_unpack(context: KernelContext, arguments: Sequence[str]) -> str | None:
    axis, number = int(context.attrs["axis"]), len(context.outputs)
    return f"{arguments[0]}.{'squeeze' if number == 1 else 'unbind'}({axis})"


def _slice(context: KernelContext) -> Kernel:
    def kernel(x: Tensor, begins: Any, sizes: Any) -> Tensor:
        places = []
        for first, count, size in zip(*[v.tolist() for v in (begins, sizes)], x.shape, strict=True):
            count = size - first if count == -1 else count
            fitting(0 <= first <= first + count <= size)
            places.append(slice(first, first + count))
        return x[tuple(places)]

    return kernel


def _tile(context: KernelContext) -> Kernel:
    return lambda x, times: x.repeat(ints(times)) if np.size(times) else x.clone()


def _pad(context: KernelContext) -> Kernel:
    def kernel(x: Tensor, paddings: Any, value: Any = 0) -> Tensor:
        around = [int(n) for pair in reversed(np.asarray(paddings).tolist()) for n in pair]
        if not around:
            return x.clone()
        number = value.item() if type(value) is Tensor else value
        if x.dtype is torch.bool:
            return functional.pad(x.to(torch.uint8), around, value=int(number)).to(torch.bool)
        return functional.pad(x, around, value=number)

    return kernel


def _pads_forward(context: KernelContext) -> bool:
    """Whether paddings are constant numbers of at least 0, one pair for each axis."""
    known, rank = context.constant(1), context.inputs[0].shape.rank
    if known is None or rank is None or context.inputs[0].dtype.is_complex:
        return False
    return known.shape == (rank, 2) and bool((known >= 0).all())


def _expand(context: KernelContext) -> Kernel:
    def kernel(x: Tensor, axis: Any) -> Tensor:
        fitting(np.size(axis) == 1)
        return x.unsqueeze(int(np.asarray(axis).reshape(-1)[0]))

    return kernel


def _squeeze(context: KernelContext) -> Kernel:
    axes = [int(axis) for axis in context.attrs["squeeze_dims"]]
    if not axes:
        return lambda x: x.squeeze()

    def kernel(x: Tensor) -> Tensor:
        fitting(all(x.shape[axis] == 1 for axis in axes))
        return x.squeeze(sorted({axis % x.ndim for axis in axes}))

    return kernel


def _broadcast_to(context: KernelContext) -> Kernel:
    return lambda x, sizes: torch.broadcast_to(x, ints(sizes) if np.size(sizes) else []).clone()


def _fill(sizes: Any, value: Tensor) -> Tensor:
    fitting(not value.ndim and np.ndim(sizes) == 1)
    shape = sizes.tolist()
    fitting(min(shape, default=0) >= 0)
    if value.is_cpu:  # where reading a number waits for nothing
        return torch.full(shape, value.item(), dtype=value.dtype)
    return value.expand(shape).clone()


def _one_hot(context: KernelContext) -> Kernel:
    axis = int(context.attrs["axis"])

    def kernel(indices: Any, depth: Any, on: Tensor, off: Tensor) -> Tensor:
        fitting(not (on.ndim or off.ndim or np.ndim(depth)) and int(depth) >= 0)
        places = positions(indices, on)
        steps = torch.arange(int(depth), device=on.device)
        at = places.ndim if axis == -1 else axis
        shape = [1] * (places.ndim + 1)
        shape[at] = -1
        return torch.where(places.unsqueeze(at) == steps.reshape(shape), on, off)

    return kernel


def _shape_of(context: KernelContext) -> Kernel:
    dtype = as_dtype(context.attrs.get("out_type", "int32")).np_dtype
    function: dict[str, Callable[[Tensor], Any]] = {
        "Shape": lambda x: np.array(x.shape, dtype),
        "Size": lambda x: dtype.type(x.numel()),
        "Rank": lambda x: np.int32(x.ndim),
    }
    return function[context.op]


def _shapes_of(context: KernelContext) -> Kernel:
    dtype = as_dtype(context.attrs.get("out_type", "int32")).np_dtype
    if len(context.inputs) == 1:
        return lambda x: np.array(x.shape, dtype)
    return lambda *values: tuple([np.array(x.shape, dtype) for x in values])


def _reverse(context: KernelContext) -> Kernel:
    def kernel(x: Tensor, axes: Any) -> Tensor:
        fitting(np.ndim(axes) == 1)
        return torch.flip(x, ints(axes))

    return kernel


def _turned(x: Tensor, dims: Tensor) -> Tensor:
    fitting(dims.shape == (x.ndim,))
    return torch.flip(x, [axis for axis, turns in enumerate(dims.tolist()) if turns])


ROWS: Rows = {
    "Reshape": row(_reshape, host=[1], aliases=True, checks=True, emit=as_on_cpu),
    "ExpandDims": row(_expand, host=[1], aliases=True, emit=as_on_cpu),
    "Squeeze": row(_squeeze, aliases=True, emit=as_on_cpu),
    "Transpose": row(_transpose, host=[1], aliases=True, takes=_is_permutation, emit=_emit_transpose),
    "ConjugateTranspose": row(_conjugate_transpose, host=[1], aliases=True, takes=_is_permutation),
    "ConcatV2": row(_concat, host=[-1], checks=_checks_concat),
    "Split": row(_split, host=[0], aliases=True, checks=True, emit=_emit_split),
    "SplitV": plain(_split_sizes, host=[1, 2], aliases=True, checks=True),
    "Pack": row(_pack),
    "Unpack": row(_unpack, aliases=True, emit=_emit_unpack),
    "Slice": row(_slice, host=[1, 2], aliases=True, checks=True, emit=as_on_cpu),
    "Tile": row(_tile, host=[1], checks=True),
    "Pad": row(_pad, host=[1], takes=_pads_forward),
    "PadV2": row(_pad, host=[1], takes=_pads_forward),
    "BroadcastTo": row(_broadcast_to, host=[1], checks=True),
    "Fill": plain(_fill, host=[0], checks=True),
    "OneHot": row(_one_hot, host=[0, 1], checks=True),
    "Shape": row(_shape_of, host_outputs=True),
    "ShapeN": row(_shapes_of, host_outputs=True),
    "Size": row(_shape_of, host_outputs=True),
    "Rank": row(_shape_of, host_outputs=True),
    "Reverse": plain(_turned, checks=True),
    "ReverseV2": row(_reverse, host=[1], checks=True),
}

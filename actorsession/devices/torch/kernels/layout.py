"""Torch kernels of operations that take arrays apart, join them and arrange them anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, ints, plain, row
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


def _conjugate_transpose(context: KernelContext) -> Kernel:
    return lambda x, order: x.permute(ints(order)).conj().resolve_conj().contiguous()


def _is_permutation(context: KernelContext) -> bool:
    order, rank = context.constant(1), context.inputs[0].shape.rank
    return order is not None and rank is not None and sorted(ints(order) if order.ndim else []) == list(range(rank))


def _concat(context: KernelContext) -> Kernel:
    first = context.op == "Concat"

    def kernel(*values: Any) -> Tensor:
        axis, parts = (values[0], values[1:]) if first else (values[-1], values[:-1])
        # torch passes over vectors without elements beside tensors of any rank.
        fitting(np.ndim(axis) == 0 and len({part.ndim for part in parts}) == 1)
        return torch.cat(parts, int(axis))

    return kernel


def _split(context: KernelContext) -> Kernel:
    number = int(context.attrs["num_split"])

    def kernel(where: Any, x: Tensor) -> Any:
        axis = int(where)
        fitting(np.ndim(where) == 0 and -x.ndim <= axis < x.ndim and x.shape[axis] % number == 0)
        if number == 1:
            return x.clone()
        return x.split(x.shape[axis] // number, axis) if x.shape[axis] else (x,) * number

    return kernel


def _split_sizes(x: Tensor, widths: Any, where: Any) -> Any:
    sizes, axis = ints(widths), int(where)
    fitting(np.ndim(where) == 0 and np.ndim(widths) == 1 and -x.ndim <= axis < x.ndim and sizes.count(-1) <= 1)
    rest = x.shape[axis] - sum(size for size in sizes if size != -1)
    sizes = [rest if size == -1 else size for size in sizes]
    fitting(min(sizes) >= 0 and sum(sizes) == x.shape[axis])
    return x.clone() if len(sizes) == 1 else torch.split(x, sizes, axis)


def _pack(context: KernelContext) -> Kernel:
    axis = int(context.attrs["axis"])
    return lambda *values: torch.stack(values, axis)


def _unpack(context: KernelContext) -> Kernel:
    axis, number = int(context.attrs["axis"]), len(context.outputs)

    def kernel(x: Tensor) -> Any:
        fitting(x.shape[axis] == number)
        return x.squeeze(axis) if number == 1 else x.unbind(axis)

    return kernel


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


def _fill(context: KernelContext) -> Kernel:
    def kernel(sizes: Any, value: Tensor) -> Tensor:
        fitting(not value.ndim and np.ndim(sizes) == 1 and min(ints(sizes), default=0) >= 0)
        return value.expand(ints(sizes)).clone()

    return kernel


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


def _depth_blocks(context: KernelContext) -> Kernel:
    side, grows = int(context.attrs["block_size"]), context.op == "DepthToSpace"
    first = str(context.attrs["data_format"]).startswith("NC")

    def kernel(x: Tensor) -> Tensor:
        fitting(x.ndim == 4)
        batch, height, width, depth = (images := x.permute(0, 2, 3, 1) if first else x).shape
        fitting(depth % side**2 == 0 if grows else height % side == width % side == 0)
        if grows:
            sizes, shape = (height, width, side, side), (height * side, width * side)
        else:
            sizes, shape = (height // side, side, width // side, side), (height // side, width // side)
        channels = depth // side**2 if grows else depth
        parts = images.reshape(batch, *sizes, channels).permute(0, 1, 3, 2, 4, 5)
        out = parts.reshape(batch, *shape, channels if grows else side**2 * depth)
        return out.permute(0, 3, 1, 2).contiguous() if first else out

    return kernel


def _blocks(x: Tensor, block_shape: Any, margins: Any) -> tuple[list[int], list[list[int]]]:
    block = ints(block_shape) if np.size(block_shape) else []
    pairs = np.asarray(margins)
    fitting(x.ndim > len(block) and pairs.shape == (len(block), 2))
    fitting(min(block, default=1) >= 1 and bool((pairs >= 0).all()))
    return block, pairs.tolist()


def _space_to_batch(x: Tensor, block_shape: Any, paddings: Any) -> Tensor:
    block, margins = _blocks(x, block_shape, paddings)
    count = len(block)
    around = [0, 0] * (x.ndim - count - 1) + [n for pair in reversed(margins) for n in pair]
    x = functional.pad(x, around) if any(around) else x
    sides = list(zip(x.shape[1:], block, strict=False))
    fitting(all(size % side == 0 for size, side in sides))
    rest = x.shape[count + 1 :]
    parts = x.reshape(x.shape[0], *[n for size, side in sides for n in (size // side, side)], *rest)
    within, counts = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    parts = parts.permute(*within, 0, *counts, *range(2 * count + 1, parts.ndim))
    return parts.reshape(x.shape[0] * math.prod(block), *[size // side for size, side in sides], *rest)


def _batch_to_space(x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    block, margins = _blocks(x, block_shape, crops)
    count, whole = len(block), math.prod(block)
    fitting(x.shape[0] % whole == 0)
    parts = x.reshape(*block, x.shape[0] // whole, *x.shape[1:])
    inner = [axis for k in range(count) for axis in (count + 1 + k, k)]
    parts = parts.permute(count, *inner, *range(2 * count + 1, parts.ndim))
    sizes = [size * side for size, side in zip(x.shape[1:], block, strict=False)]
    out = parts.reshape(parts.shape[0], *sizes, *x.shape[count + 1 :])
    for axis, (size, (before, after)) in enumerate(zip(sizes, margins, strict=True), 1):
        fitting(before + after <= size)
        out = out.narrow(axis, before, size - before - after)
    return out.contiguous()


def _diagonal(x: Tensor) -> Tensor:
    fitting(x.ndim > 0)
    return torch.diag(x.reshape(-1)).reshape(*x.shape, *x.shape)


def _diagonal_part(x: Tensor) -> Tensor:
    half = x.shape[: x.ndim // 2]
    fitting(bool(half) and (*half, *half) == tuple(x.shape))
    return x.reshape(math.prod(half), -1).diagonal().reshape(half).clone()


def _roll(x: Tensor, shift: Any, axis: Any) -> Tensor:
    fitting(x.ndim > 0 and np.shape(shift) == np.shape(axis) and np.ndim(shift) <= 1)
    return torch.roll(x, ints(shift), ints(axis))


ROWS: Rows = {
    "Reshape": row(_reshape, host=[1], aliases=True, checks=True),
    "ExpandDims": row(_expand, host=[1], aliases=True),
    "Squeeze": row(_squeeze, aliases=True),
    "Transpose": row(_transpose, host=[1], aliases=True, takes=_is_permutation),
    "ConjugateTranspose": row(_conjugate_transpose, host=[1], aliases=True, takes=_is_permutation),
    "Concat": row(_concat, host=[0], checks=True),
    "ConcatV2": row(_concat, host=[-1], checks=True),
    "Split": row(_split, host=[0], aliases=True, checks=True),
    "SplitV": plain(_split_sizes, host=[1, 2], aliases=True, checks=True),
    "Pack": row(_pack),
    "Unpack": row(_unpack, aliases=True),
    "Slice": row(_slice, host=[1, 2], aliases=True, checks=True),
    "Tile": row(_tile, host=[1], checks=True),
    "Pad": row(_pad, host=[1], takes=_pads_forward),
    "PadV2": row(_pad, host=[1], takes=_pads_forward),
    "BroadcastTo": row(_broadcast_to, host=[1], checks=True),
    "Fill": row(_fill, host=[0], checks=True),
    "OneHot": row(_one_hot, host=[0, 1], checks=True),
    "Shape": row(_shape_of, host_outputs=True),
    "ShapeN": row(_shapes_of, host_outputs=True),
    "Size": row(_shape_of, host_outputs=True),
    "Rank": row(_shape_of, host_outputs=True),
    "ReverseV2": row(_reverse, host=[1], checks=True),
    "DepthToSpace": row(_depth_blocks, aliases=True, checks=True),
    "SpaceToDepth": row(_depth_blocks, aliases=True, checks=True),
    "SpaceToBatchND": plain(_space_to_batch, host=[1, 2], aliases=True, checks=True),
    "BatchToSpaceND": plain(_batch_to_space, host=[1, 2], aliases=True, checks=True),
    "Diag": plain(_diagonal, checks=True),
    "DiagPart": plain(_diagonal_part, checks=True),
    "Roll": plain(_roll, host=[1, 2], checks=True),
}

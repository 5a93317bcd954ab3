"""Torch kernels of operations that take arrays apart, join them and arrange them anew."""

from __future__ import annotations

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
    known = context.constant(0 if first else len(context.inputs) - 1)
    assert known is not None
    axis = int(known)
    if first:
        return lambda _, *values: torch.cat(values, axis)
    return lambda *values: torch.cat(values[:-1], axis)


def _joins(context: KernelContext) -> bool:
    """Whether shapes are known, so that the graph has checked them."""
    place = 0 if context.op == "Concat" else len(context.inputs) - 1
    values = [spec for k, spec in enumerate(context.inputs) if k != place]
    return context.constant(place) is not None and all(spec.shape.is_fully_defined() for spec in values)


def _split(context: KernelContext) -> Kernel:
    number, known = int(context.attrs["num_split"]), context.constant(0)
    assert known is not None
    axis = int(known)
    if number == 1:
        return lambda _, x: x.clone()

    return lambda _, x: x.chunk(number, axis)


def _splits(context: KernelContext) -> bool:
    return context.constant(0) is not None and context.inputs[1].shape.is_fully_defined()


def _split_sizes(context: KernelContext) -> Kernel:
    widths, axis = context.constant(1), context.constant(2)
    assert widths is not None
    assert axis is not None
    sizes, at = ints(widths), int(axis)

    def kernel(x: Tensor, *_: Any) -> Any:
        fitting(sum(sizes) == x.shape[at])
        return x.clone() if len(sizes) == 1 else torch.split(x, sizes, at)

    return kernel


def _sizes_known(context: KernelContext) -> bool:
    widths = context.constant(1)
    return widths is not None and context.constant(2) is not None and bool((widths >= 0).all())


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


def _gather(context: KernelContext) -> Kernel:
    known = context.constant(2) if len(context.inputs) > 2 else np.int32(0)
    assert known is not None
    fixed = int(known)

    def kernel(x: Tensor, where: Any, *_: Any) -> Tensor:
        axis = fixed % max(x.ndim, 1)
        size, places = x.shape[axis], np.asarray(where)
        fitting(not places.size or (places.min() >= 0 and places.max() < size))
        rows = torch.index_select(x, axis, positions(places.reshape(-1), x))
        return rows.reshape(*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])

    return kernel


def _gathers(context: KernelContext) -> bool:
    if len(context.inputs) > 2 and context.constant(2) is None:
        return False
    return not context.attrs.get("batch_dims") and bool(context.inputs[0].shape.rank)


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


def _segment_sum(data: Tensor, where: Any, count: Any) -> Tensor:
    """Return the sums of the rows that have the same number."""
    places = np.asarray(where)
    size = int(count)
    fitting(tuple(data.shape[: places.ndim]) == places.shape and not (places.size and places.max() >= size))
    flat = data.reshape(places.size, *data.shape[places.ndim :])
    numbers = places.reshape(-1)
    kept = numbers >= 0
    if not kept.all():  # negative numbers leave their rows out
        flat, numbers = flat[torch.from_numpy(kept).to(data.device)], numbers[kept]
    out = data.new_zeros(size, *flat.shape[1:])
    return out.index_add_(0, positions(numbers, data), flat)


ROWS: Rows = {
    "Reshape": row(_reshape, host=[1], aliases=True, checks=True),
    "ExpandDims": row(_expand, host=[1], aliases=True),
    "Squeeze": row(_squeeze, aliases=True),
    "Transpose": row(_transpose, host=[1], aliases=True, takes=_is_permutation),
    "ConjugateTranspose": row(_conjugate_transpose, host=[1], aliases=True, takes=_is_permutation),
    "Concat": row(_concat, host=[0], takes=_joins),
    "ConcatV2": row(_concat, host=[-1], takes=_joins),
    "Split": row(_split, host=[0], aliases=True, takes=_splits),
    "SplitV": row(_split_sizes, host=[1, 2], aliases=True, takes=_sizes_known, checks=True),
    "Pack": row(_pack),
    "Unpack": row(_unpack, aliases=True),
    "Slice": row(_slice, host=[1, 2], aliases=True, checks=True),
    "Tile": row(_tile, host=[1], checks=True),
    "Pad": row(_pad, host=[1], takes=_pads_forward),
    "PadV2": row(_pad, host=[1], takes=_pads_forward),
    "Gather": row(_gather, host=[1], takes=_gathers, checks=True),
    "GatherV2": row(_gather, host=[1, 2], takes=_gathers, checks=True),
    "BroadcastTo": row(_broadcast_to, host=[1], checks=True),
    "Fill": row(_fill, host=[0], checks=True),
    "OneHot": row(_one_hot, host=[0, 1], checks=True),
    "Shape": row(_shape_of, host_outputs=True),
    "ShapeN": row(_shapes_of, host_outputs=True),
    "Size": row(_shape_of, host_outputs=True),
    "Rank": row(_shape_of, host_outputs=True),
    "ReverseV2": row(_reverse, host=[1], checks=True),
    "UnsortedSegmentSum": plain(_segment_sum, host=[1, 2], checks=True),
}

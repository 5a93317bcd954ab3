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


def _known_shape(context: KernelContext) -> bool:
    return context.outputs[0].shape.is_fully_defined() and context.inputs[0].shape.is_fully_defined()


def _reshape(context: KernelContext) -> Kernel:
    sizes = context.outputs[0].shape.as_list()
    return lambda x, *_: x.reshape(sizes)


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
    sizes = [spec.shape.as_list() for spec in context.outputs]
    known = context.constant(2)
    assert known is not None
    axis = int(known)
    widths = [shape[axis] for shape in sizes]
    if len(widths) == 1:
        return lambda x, *_: x.clone()
    return lambda x, *_: torch.split(x, widths, axis)


def _sizes_known(context: KernelContext) -> bool:
    return context.constant(2) is not None and all(spec.shape.is_fully_defined() for spec in context.outputs)


def _pack(context: KernelContext) -> Kernel:
    axis = int(context.attrs["axis"])
    return lambda *values: torch.stack(values, axis)


def _unpack(context: KernelContext) -> Kernel:
    axis, number = int(context.attrs["axis"]), len(context.outputs)
    if number == 1:
        return lambda x: x.squeeze(axis)
    return lambda x: x.unbind(axis)


def _all_known(context: KernelContext) -> bool:
    return all(spec.shape.is_fully_defined() for spec in (*context.inputs, *context.outputs))


def _slice(context: KernelContext) -> Kernel:
    begins, sizes = context.constant(1), context.outputs[0].shape.as_tuple()
    assert begins is not None
    places = tuple([slice(b, b + n) for b, n in zip(ints(begins) if begins.size else [], sizes, strict=True)])
    return lambda x, *_: x[places]


def _slices(context: KernelContext) -> bool:
    return context.constant(1) is not None and context.constant(2) is not None and _known_shape(context)


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
    return lambda x, axis: x.unsqueeze(int(np.asarray(axis).reshape(-1)[0]))


def _squeeze(context: KernelContext) -> Kernel:
    sizes = context.outputs[0].shape.as_list()
    return lambda x: x.reshape(sizes)


def _broadcast_to(context: KernelContext) -> Kernel:
    return lambda x, sizes: torch.broadcast_to(x, ints(sizes) if np.size(sizes) else []).clone()


def _fill(context: KernelContext) -> Kernel:
    return lambda sizes, value: value.expand(ints(sizes) if np.size(sizes) else []).clone()


def _one_hot(context: KernelContext) -> Kernel:
    axis = int(context.attrs["axis"])

    def kernel(indices: Any, depth: Any, on: Tensor, off: Tensor) -> Tensor:
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
    return lambda x, axes: torch.flip(x, ints(axes) if np.size(axes) else [])


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
    "Reshape": row(_reshape, host=[1], aliases=True, takes=_known_shape),
    "ExpandDims": row(_reshape, host=[1], aliases=True, takes=_known_shape),
    "Squeeze": row(_squeeze, aliases=True, takes=_known_shape),
    "Transpose": row(_transpose, host=[1], aliases=True, takes=_is_permutation),
    "ConjugateTranspose": row(_conjugate_transpose, host=[1], aliases=True, takes=_is_permutation),
    "Concat": row(_concat, host=[0], takes=_joins),
    "ConcatV2": row(_concat, host=[-1], takes=_joins),
    "Split": row(_split, host=[0], aliases=True, takes=_splits),
    "SplitV": row(_split_sizes, host=[1, 2], aliases=True, takes=_sizes_known),
    "Pack": row(_pack, takes=_all_known),
    "Unpack": row(_unpack, aliases=True, takes=_all_known),
    "Slice": row(_slice, host=[1, 2], aliases=True, takes=_slices),
    "Tile": row(_tile, host=[1], takes=_all_known),
    "Pad": row(_pad, host=[1], takes=_pads_forward),
    "PadV2": row(_pad, host=[1], takes=_pads_forward),
    "Gather": row(_gather, host=[1], takes=_gathers, checks=True),
    "GatherV2": row(_gather, host=[1, 2], takes=_gathers, checks=True),
    "BroadcastTo": row(_broadcast_to, host=[1], takes=_all_known),
    "Fill": row(_fill, host=[0], takes=_all_known),
    "OneHot": row(_one_hot, host=[0, 1], takes=_all_known),
    "Shape": row(_shape_of, host_outputs=True),
    "ShapeN": row(_shapes_of, host_outputs=True),
    "Size": row(_shape_of, host_outputs=True),
    "Rank": row(_shape_of, host_outputs=True),
    "ReverseV2": row(_reverse, host=[1], takes=_all_known),
    "UnsortedSegmentSum": plain(_segment_sum, host=[1, 2], checks=True),
}

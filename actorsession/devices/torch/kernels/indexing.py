"""Torch kernels of what is taken from positions, put at positions, or added up by positions.

Positions are whole numbers of the host: they are checked there, before torch gets them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import borrowed, positions
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, ints, narrowed, plain, row, widened
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.arrays.strided import fixed_index, index_text, numpy_index
from actorsession.ops.reductions.segment_kernels import check_sorted, highest, lowest

__all__ = ["ROWS", "SCATTERS", "row_counts", "sums_of_rows"]


# -- slices ----------------------------------------------------------------------------------------


def _index_of(context: KernelContext) -> Callable[[Any, Any, Any], tuple[Any, ...]]:
    """Return the function from the bounds of a strided slice to an index."""
    known, masks = fixed_index(context), context.attrs
    if known is not None:
        return lambda *bounds: known
    return lambda begin, end, strides: numpy_index(tuple(ints(begin)), tuple(ints(end)), tuple(ints(strides)), masks)


def _sliced(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """Return a view of a tensor, or the elements themselves where steps are negative, which torch has no views for."""
    backwards = [k for k in index if isinstance(k, slice) and k.step is not None and k.step < 0]
    if not backwards:
        return x[index]
    places = np.arange(x.numel()).reshape(x.shape)[index]
    return x.reshape(-1)[positions(np.ascontiguousarray(places), x)]


def _strided_slice(context: KernelContext) -> Kernel:
    index_of = _index_of(context)
    return lambda x, *bounds: _sliced(x, index_of(*bounds))


def _emit_strided(context: KernelContext, arguments: Sequence[str]) -> str | None:
    index = fixed_index(context)
    if not index or any(isinstance(k, slice) and k.step is not None and k.step < 0 for k in index):
        return None
    return f"{arguments[0]}[{index_text(index)}]"


# -- gathers ---------------------------------------------------------------------------------------

# Positions that torch takes as they are.
_INDICES = frozenset({np.dtype(np.int32), np.dtype(np.int64)})


def _gather(context: KernelContext) -> Kernel:
    batch = int(context.attrs.get("batch_dims", 0))

    def kernel(x: Tensor, where: Any, axis: Any = 0) -> Tensor:
        places, at = np.asarray(where), int(axis)
        fitting(-x.ndim <= at < x.ndim)
        if not batch and x.is_cpu and places.dtype in _INDICES:  # torch checks positions there
            rows = torch.index_select(x, at, borrowed(places.reshape(-1)))
            return rows if places.ndim == 1 else rows.reshape(*x.shape[: at % x.ndim], *places.shape, *x.shape[at:][1:])
        at, size = at % x.ndim, x.shape[at]
        shared = batch + places.ndim if batch < 0 else batch
        fitting(0 <= shared <= min(at, places.ndim) and tuple(x.shape[:shared]) == places.shape[:shared])
        fitting(not places.size or (places.min() >= 0 and places.max() < size))
        front, between, behind = x.shape[:shared], x.shape[shared:at], x.shape[at + 1 :]
        if shared:  # one part of the batch behind the other, and the axis before what is between
            count, shape = math.prod(front), places.shape
            x = x.movedim(at, shared).reshape(count * size, *between, *behind)
            each = math.prod(shape[shared:])
            places = places.reshape(count, each) + np.arange(count)[:, None] * size
            rows = torch.index_select(x, 0, positions(places.reshape(-1), x))
            rows, more = rows.reshape(*shape, *between, *behind), len(shape) - shared
            return rows.movedim(tuple(range(shared, len(shape))), tuple(range(at, at + more))).contiguous()
        rows = torch.index_select(x, at, positions(places.reshape(-1), x))
        return rows.reshape(*x.shape[:at], *places.shape, *behind)

    return kernel


def _places_in(indices: Any, front: Sequence[int]) -> Any:
    """Return positions of several coordinates as positions in those axes laid one behind the other."""
    count = math.prod(indices.shape[:-1])
    coordinates = indices.reshape(count, indices.shape[-1]).astype(np.int64, copy=False)
    if coordinates.size:
        fitting(bool((coordinates >= 0).all() and (coordinates < np.array(front, np.int64)).all()))
    steps = [math.prod(front[k + 1 :]) for k in range(len(front))]
    return coordinates @ np.array(steps, np.int64)


def _gather_nd(x: Tensor, indices: Any) -> Tensor:
    fitting(indices.ndim > 0 and indices.shape[-1] <= x.ndim)
    depth = indices.shape[-1]
    front, rest = tuple(x.shape[:depth]), x.shape[depth:]
    places = _places_in(indices, front)
    rows = torch.index_select(x.reshape(math.prod(front), *rest), 0, positions(places, x))
    return rows.reshape(*indices.shape[:-1], *rest)


def _where(x: Tensor) -> Any:
    return torch.nonzero(x).cpu().numpy()


def _reverse_sequence(context: KernelContext) -> Kernel:
    along, batch = int(context.attrs["seq_dim"]), int(context.attrs["batch_dim"])

    def kernel(x: Tensor, lengths: Any) -> Tensor:
        fitting(x.ndim > max(along, batch) and lengths.shape == (x.shape[batch],))
        size = x.shape[along]
        fitting(not lengths.size or (lengths.min() >= 0 and lengths.max() <= size))
        steps, ends = np.arange(size), lengths.astype(np.int64)[:, None]
        places = np.where(steps < ends, ends - 1 - steps, steps) + np.arange(x.shape[batch])[:, None] * size
        moved = x.movedim((batch, along), (0, 1))
        rows = moved.flatten(0, 1).index_select(0, positions(places.reshape(-1), x))
        return rows.reshape(moved.shape).movedim((0, 1), (batch, along)).contiguous()

    return kernel


# -- sums by position ------------------------------------------------------------------------------


def sums_of_rows(places: Any, rows: Tensor, front: Sequence[int]) -> Tensor:
    """Return the sums of the rows with the same place; 16-bit floats are rounded once."""
    wide, behind = widened(rows), rows.shape[1:]
    out = wide.new_zeros(math.prod(front), *behind)
    out.index_add_(0, positions(places, rows), wide)
    return out.to(rows.dtype).reshape(*front, *behind)


def _scatter_nd(indices: Any, updates: Tensor, sizes: Any) -> Tensor:
    fitting(np.ndim(sizes) == 1 and indices.ndim > 0 and min(ints(sizes), default=0) >= 0)
    shape, depth = ints(sizes) if np.size(sizes) else [], indices.shape[-1]
    fitting(depth <= len(shape) and tuple(updates.shape) == (*indices.shape[:-1], *shape[depth:]))
    places = _places_in(indices, shape[:depth])
    return sums_of_rows(places, updates.reshape(places.size, *shape[depth:]), shape[:depth])


Change = Callable[[Tensor, Tensor, Tensor], Any]


def _each(places: Tensor, rows: Tensor) -> Tensor:
    """Return places of rows as places of their elements."""
    return places.reshape(-1, *[1] * (rows.ndim - 1)).expand(rows.shape)


def _extreme(reduce: str) -> Change:
    return lambda out, places, rows: out.scatter_reduce_(0, _each(places, rows), rows, reduce)


def _tensor_scatter(change: Change) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        def kernel(x: Tensor, indices: Any, updates: Tensor) -> Tensor:
            fitting(indices.ndim > 0 and 0 < indices.shape[-1] <= x.ndim)
            depth = indices.shape[-1]
            front, rest = tuple(x.shape[:depth]), tuple(x.shape[depth:])
            fitting(tuple(updates.shape) == (*indices.shape[:-1], *rest))
            places = _places_in(indices, front)
            out = widened(x).clone(memory_format=torch.contiguous_format)
            rows = widened(updates).reshape(places.size, *rest)
            change(out.view(math.prod(front), *rest), positions(places, x), rows)
            return out.to(x.dtype)

        return kernel

    return make


SCATTERS: dict[str, Change] = {
    "Add": lambda out, places, rows: out.index_add_(0, places, rows),
    "Sub": lambda out, places, rows: out.index_add_(0, places, rows, alpha=-1),
    "Max": _extreme("amax"),
    "Min": _extreme("amin"),
}
"""What changes rows at some places of a tensor, by the end of the names of operation types."""


def _refuses(context: KernelContext) -> bool:
    """Whether positions that there are not are refused, and not left out."""
    return context.attrs["bad_indices_policy"] != "IGNORE" and floats(context)


# -- segments --------------------------------------------------------------------------------------


def _kept(data: Tensor, where: Any, count: Any) -> tuple[Any, Tensor]:
    """Return the rows of which a segment is told, and their segments; negative ones leave rows out."""
    places, size = np.asarray(where), int(count)
    fitting(not np.ndim(count) and size >= 0 and tuple(data.shape[: places.ndim]) == places.shape)
    fitting(not (places.size and places.max() >= size))
    flat, numbers = data.reshape(places.size, *data.shape[places.ndim :]), places.reshape(-1)
    kept = numbers >= 0
    if not kept.all():
        flat, numbers = flat[torch.from_numpy(kept).to(data.device)], numbers[kept]
    return numbers, flat


def _unsorted_sum(data: Tensor, where: Any, count: Any) -> Tensor:
    numbers, rows = _kept(data, where, count)
    return sums_of_rows(numbers, rows, [int(count)])


def _reduced(numbers: Any, rows: Tensor, count: int, reduce: str, empty: Any) -> Tensor:
    """Return the rows of each segment reduced; NaN, which maxima pass over, is left to the CPU's kernel."""
    fitting(reduce == "prod" or not bool(torch.isnan(rows).any()))
    wide = widened(rows)
    out = wide.new_full((count, *rows.shape[1:]), empty)
    places = _each(positions(numbers, rows), rows)
    return out.scatter_reduce_(0, places, wide, reduce, include_self=reduce == "prod").to(rows.dtype)


def _unsorted(reduce: str, empty: Callable[[Any], Any]) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        start = empty(context.outputs[0].dtype)

        def kernel(data: Tensor, where: Any, count: Any) -> Tensor:
            numbers, rows = _kept(data, where, count)
            return _reduced(numbers, rows, int(count), reduce, float(start))

        return kernel

    return make


def _sorted(reduce: str, empty: float = 0) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        op = context.op

        def kernel(data: Tensor, ids: Any) -> Tensor:
            fitting(data.ndim > 0)
            check_sorted(op, ids, len(data))
            count = int(ids[-1]) + 1 if ids.size else 0
            if reduce in ("sum", "mean"):
                total = sums_of_rows(ids, data, [count])
                return total / row_counts(ids, total) if reduce == "mean" else total
            return _reduced(ids, data, count, reduce, empty)

        return kernel

    return make


def row_counts(ids: Any, total: Tensor) -> Tensor:
    """Return how many rows each segment has, at least 1, beside its sum."""
    number = torch.bincount(positions(ids, total), minlength=len(total)).clamp_(min=1)
    return number.to(total.dtype).reshape(-1, *[1] * (total.ndim - 1))


# -- order -----------------------------------------------------------------------------------------


def _top_k(context: KernelContext) -> Kernel:
    dtype = context.outputs[1].dtype.np_dtype

    def kernel(x: Tensor, k: Any) -> tuple[Tensor, Any]:
        fitting(not np.ndim(k) and x.ndim > 0 and 0 <= int(k) <= x.shape[-1])
        count = int(k)
        values, places = torch.topk(x, count, -1)
        if count and values.numel():
            fitting(not bool(torch.isnan(values[..., 0]).any()))
            # Of equal numbers those in front come first, and torch takes any: they are looked for where there are some.
            equal = (x >= values[..., -1:]).sum(-1) != count
            if bool(equal.any()):
                values, places = (part[..., :count] for part in torch.sort(x, dim=-1, descending=True, stable=True))
            elif count > 1 and bool((values[..., 1:] == values[..., :-1]).any()):
                places = torch.sort(places, -1).values
                values, order = torch.sort(torch.gather(x, -1, places), dim=-1, descending=True, stable=True)
                places = torch.gather(places, -1, order)
        return values.contiguous(), places.cpu().numpy().astype(dtype)

    return kernel


def _nth(context: KernelContext) -> Kernel:
    falls = bool(context.attrs["reverse"])

    def kernel(x: Tensor, n: Any) -> Tensor:
        fitting(x.ndim > 0 and 0 <= int(n) < x.shape[-1])
        return torch.kthvalue(x, x.shape[-1] - int(n) if falls else int(n) + 1, -1).values

    return narrowed(kernel)


def _in_top_k(predictions: Tensor, targets: Any, k: Any) -> Tensor:
    fitting(predictions.ndim == 2 and targets.shape == tuple(predictions.shape[:1]) and predictions.shape[1] > 0)
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    places = positions(np.where(inside, targets, 0), predictions)[:, None]
    before = (predictions > torch.gather(predictions, 1, places)).sum(1)
    valid = torch.isfinite(predictions).all(1) & torch.from_numpy(inside).to(predictions.device)
    return valid & (before < int(k))


ROWS: Rows = {
    "StridedSlice": row(_strided_slice, host=[1, 2, 3], aliases=True, checks=True, emit=_emit_strided),
    "GatherV2": row(_gather, host=[1, 2], checks=True),
    "GatherNd": plain(_gather_nd, host=[1], checks=True),
    "Where": plain(_where, host_outputs=True),
    "ReverseSequence": row(_reverse_sequence, host=[1], checks=True),
    "ScatterNd": plain(_scatter_nd, host=[0, 2], checks=True),
    **{
        f"TensorScatter{kind}": row(_tensor_scatter(change), host=[1], checks=True, takes=_refuses)
        for kind, change in SCATTERS.items()
    },
    "UnsortedSegmentSum": plain(_unsorted_sum, host=[1, 2], checks=True),
    "UnsortedSegmentProd": row(_unsorted("prod", lambda dtype: 1), host=[1, 2], checks=True, takes=floats),
    "UnsortedSegmentMin": row(_unsorted("amin", highest), host=[1, 2], checks=True, takes=floats),
    "UnsortedSegmentMax": row(_unsorted("amax", lowest), host=[1, 2], checks=True, takes=floats),
    "SegmentSum": row(_sorted("sum"), host=[1], checks=True),
    "SegmentMean": row(_sorted("mean"), host=[1], checks=True),
    "SegmentProd": row(_sorted("prod", 1), host=[1], checks=True, takes=floats),
    "SegmentMin": row(_sorted("amin"), host=[1], checks=True, takes=floats),
    "SegmentMax": row(_sorted("amax"), host=[1], checks=True, takes=floats),
    "TopKV2": row(_top_k, host=[1], host_outputs=True, checks=True, takes=floats),
    "NthElement": row(_nth, host=[1], checks=True),
    "InTopKV2": plain(_in_top_k, host=[1, 2], checks=True, takes=floats),
}

"""Operation types on arrays that few programs build: selection and counting, updates in place, layouts.

Owns ``Bincount``, ``NthElement``, ``NearestNeighbors``, ``UniqueV2`` and ``UniqueWithCountsV2``, ``Empty``
and the ``Inplace...`` types, and the permutations of image layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import checked, first, op, same
from actorsession.ops.shape_operands import constant_ints, ints, normal_axis

__all__: list[str] = []


# -- counting and selection ------------------------------------------------------------------------


def _bins(ctx: InferContext) -> Sequence[TensorShape]:
    size = constant_ints(ctx, 1)
    if size is not None and size[0] < 0:
        raise ValueError(f"{ctx.op}: size ({size[0]}) must be non-negative")
    return [TensorShape([None if size is None else size[0]])]


def _counted(values: Any, size: Any, weights: Any) -> Any:
    if size < 0:
        raise InvalidArgumentError(f"size ({size}) must be non-negative")
    if np.min(values, initial=0) < 0:
        raise InvalidArgumentError("Input arr must be non-negative!")
    if weights.size and weights.shape != values.shape:
        raise InvalidArgumentError(
            f"weights have the shape of arr or no element, got {list(weights.shape)} and {list(values.shape)}"
        )
    out = np.zeros(int(size), weights.dtype)
    kept = values < size
    np.add.at(out, values[kept], weights[kept] if weights.size else weights.dtype.type(1))
    return out


def _without_last(ctx: InferContext) -> Sequence[TensorShape]:
    shape, n = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if shape.rank is None:
        return [unknown_shape]
    last = shape.sizes[-1] if shape.sizes else 0
    if n is not None and (n[0] < 0 or (last is not None and n[0] >= last)):
        raise ValueError(f"Input must have last dimension > n = {n[0]} but is {last}")
    return [shape[:-1]]


def _nth_kernel(ctx: KernelContext) -> Kernel:
    falls = ctx.attrs["reverse"]

    def nth(x: Any, n: Any) -> Any:
        if n < 0 or not x.ndim or n >= x.shape[-1]:
            raise InvalidArgumentError(
                f"Input must have at least n+1 = {int(n) + 1} columns, got shape {list(x.shape)}"
            )
        place = x.shape[-1] - 1 - int(n) if falls else int(n)
        return np.partition(x, place, -1)[..., place].copy()

    return nth


def _nth_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Divide the gradient among the elements that are equal to the one that was chosen."""
    x = op.inputs[0]
    chosen = cast(equal(expand_dims(op.outputs[0], -1), x), grad.dtype)
    count = reduce_sum(chosen, [-1], keepdims=True)
    return [chosen / count * expand_dims(grad, -1), None]


def _neighbour_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    points, centers = (spec.shape.with_rank(2) for spec in ctx.inputs[:2])
    k = constant_ints(ctx, 2)
    count = None if k is None or centers[0] is None else min(k[0], centers[0])
    return [TensorShape([points[0], count])] * 2


def _neighbours(points: Any, centers: Any, k: Any) -> Any:
    """Return the nearest centers of each point, and the squares of their distances."""
    if points.ndim != 2 or centers.ndim != 2 or points.shape[1] != centers.shape[1]:
        raise InvalidArgumentError(
            f"points and centers have as many columns, got shapes {list(points.shape)} and {list(centers.shape)}"
        )
    if k < 1 or not len(centers):
        raise InvalidArgumentError(f"k >= 1 and a center are required, got {k} and {len(centers)}")
    squares = (points * points).sum(1)[:, None] - 2 * points @ centers.T + (centers * centers).sum(1)
    nearest = np.argsort(squares, 1, kind="stable")[:, : int(k)]
    return nearest.astype(np.int64), np.take_along_axis(squares, nearest, 1)


def _unique_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    shape, axes, count = ctx.inputs[0].shape, constant_ints(ctx, 1), TensorShape([None])
    some = unknown_shape if shape.rank is None else TensorShape([None] * shape.rank)
    place = axes[0] if axes else 0
    known = shape.sizes is not None and axes is not None and -len(shape.sizes) <= place < len(shape.sizes)
    index = TensorShape([shape.sizes[place]]) if known and shape.sizes else count
    return [some, index, *[count] * ("Counts" in ctx.op)]


def _unique_kernel(ctx: KernelContext) -> Kernel:
    name, index_type, outputs = ctx.op, ctx.outputs[1].dtype.np_dtype, len(ctx.outputs)

    def distinct(x: Any, axes: Any) -> Any:
        if axes.ndim != 1 or len(axes) > 1 or (not len(axes) and x.ndim != 1):
            raise InvalidArgumentError(f"{name}: axis is empty for vectors, or one, got {axes}")
        axis = normal_axis(int(axes[0]), x.ndim, name, InvalidArgumentError) if len(axes) else 0
        rows = np.moveaxis(x, axis, 0)
        flat = rows.reshape(len(rows), -1)
        numbers: dict[Any, int] = {}
        keys = [tuple(row) for row in flat.tolist()]
        places = np.array([numbers.setdefault(key, len(numbers)) for key in keys], index_type)
        begins = np.unique(places, return_index=True)[1]
        values = np.moveaxis(rows[begins], 0, axis)
        counts = np.bincount(places, minlength=len(numbers)).astype(index_type)
        return (np.ascontiguousarray(values), places, counts)[:outputs]

    return distinct


op("Bincount", checked(_bins, None, 0), _counted, sized_by=(1,))
op("NthElement", checked(_without_last, None, 0), kernel=_nth_kernel, grad=_nth_gradient)
op("NearestNeighbors", checked(_neighbour_shapes, None, None, 0), _neighbours)
op("UniqueV2", _unique_shapes, kernel=_unique_kernel)
op("UniqueWithCountsV2", _unique_shapes, kernel=_unique_kernel)


# -- new and in place ------------------------------------------------------------------------------


def _of_dims(ctx: InferContext) -> Sequence[TensorShape]:
    dims = constant_ints(ctx, 0)
    if dims is not None:
        return [TensorShape(list(dims))]
    (count,) = ctx.inputs[0].shape.with_rank(1)
    return [unknown_shape if count is None else TensorShape([None] * count)]


def _empty_kernel(ctx: KernelContext) -> Kernel:
    """Return zeros, also where TensorFlow leaves open what is in memory."""
    dtype = ctx.outputs[0].dtype
    filler = b"" if dtype.kind == "s" else 0
    return lambda dims: np.full(ints(dims), filler, dtype.np_dtype)


def _in_place(change: Callable[[Array, Any, Any], None]) -> Kernel:
    """Return a kernel that changes rows of a copy."""

    def changed(x: Any, indices: Any, rows: Any) -> Any:
        if indices.ndim > 1 or rows.shape != (*indices.shape, *x.shape[1:]):
            raise InvalidArgumentError(
                f"v has a row for each index, got shapes {list(x.shape)}, {list(indices.shape)} and {list(rows.shape)}"
            )
        out = np.array(x)
        change(out, indices % len(x), rows)
        return out

    return changed


op("Empty", checked(_of_dims, 1), kernel=_empty_kernel, sized_by=(0,))
op("InplaceUpdate", checked(first), _in_place(lambda x, at, rows: x.__setitem__(at, rows)))
op("InplaceAdd", checked(first), _in_place(np.add.at))
op("InplaceSub", checked(first), _in_place(np.subtract.at))


# -- layouts of images -----------------------------------------------------------------------------


def _layouts(attrs: Any) -> tuple[str, str]:
    source, target = attrs["src_format"], attrs["dst_format"]
    if sorted(source) != sorted(target) or len(set(source)) != len(source):
        raise ValueError(f"{target!r} is not a permutation of {source!r}")
    return source, target


def _checked_layouts(ctx: InferContext) -> Sequence[TensorShape]:
    _layouts(ctx.attrs)
    return same(ctx)


def _axes_kernel(ctx: KernelContext) -> Kernel:
    source, target = _layouts(ctx.attrs)
    places = np.array([target.index(letter) for letter in source], ctx.outputs[0].dtype.np_dtype)
    return lambda axes: places[axes]


def _permuted_kernel(ctx: KernelContext) -> Kernel:
    source, target = _layouts(ctx.attrs)

    def permuted(x: Any) -> Any:
        letters: Sequence[str] = (source, target)
        if x.shape[:1] == (len(source) - 2,):  # the spatial axes alone
            letters = tuple(["".join(c for c in text if c not in "NC") for text in letters])
        if x.ndim not in (1, 2) or len(x) != len(letters[0]):
            raise InvalidArgumentError(
                f"{ctx.op} takes a value or a pair for each of the axes {source}, got shape {list(x.shape)}"
            )
        return x[[letters[0].index(letter) for letter in letters[1]]]

    return permuted


op("DataFormatDimMap", _checked_layouts, kernel=_axes_kernel)
op("DataFormatVecPermute", _checked_layouts, kernel=_permuted_kernel)

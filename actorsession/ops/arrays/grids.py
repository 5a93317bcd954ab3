"""Tensors repeated into larger ones, and the shapes that result from broadcasting.

``meshgrid`` and ``repeat`` are composed of other ops. Owns ``BroadcastArgs`` and ``ParallelConcat``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape, broadcast_shapes
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor, size
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.layout import tile
from actorsession.ops.arrays.masks import boolean_mask, sequence_mask
from actorsession.ops.arrays.shape import broadcast_to, expand_dims, reshape
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import multiply
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import logical_and
from actorsession.ops.reductions.reduction import reduce_max
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    constant_ints_of,
    ints,
    normal_axis,
    require_rank,
    shape_operand,
    vector_length,
)

__all__ = ["broadcast_dynamic_shape", "broadcast_static_shape", "meshgrid", "parallel_stack", "repeat"]


# -- meshgrid, repeat ------------------------------------------------------------------------------


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Return the coordinates of the points of a grid, given those on its axes.

    Args:
        *args: a tensor of one dtype per axis of the grid; its shape is ignored.
        indexing: ``xy`` to swap the first two axes of the grid, as for pictures, or ``ij``.

    Returns:
        A tensor per axis, all of one shape with an axis for each argument.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    if not args:
        return []
    graph = graph_of(*args)
    with graph.as_default(), graph.name_scope(name):
        values = convert_all(args)
        count = len(values)
        places = list(range(count))
        if indexing == "xy" and count > 1:
            places[:2] = 1, 0
        lengths = [size(value) for value in values]
        extents = [lengths[places[axis]] for axis in range(count)]
        whole = ones(stack(extents), values[0].dtype)
        out = []
        for value, place in zip(values, places, strict=True):
            dims = [1] * count
            dims[place] = -1
            join = logical_and if value.dtype.is_bool else multiply
            out.append(join(reshape(value, dims), whole))
        return out


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return the tensor with each element repeated in place.

    Args:
        input: any tensor.
        repeats: the number of copies: one integer for all, or a vector with one per position of the axis.
        axis: the axis; if left out, the tensor is flattened first.
    """
    graph = graph_of(input, repeats)
    with graph.as_default(), graph.name_scope(name or "Repeat"):
        value = convert_to_tensor(input, graph=graph)
        if axis is None:
            value, axis = reshape(value, [-1]), 0
        if value.shape.rank is None:
            raise ValueError("repeat along an axis needs a tensor of known rank")
        if value.shape.rank == 0:
            value = reshape(value, [1])
        where = normal_axis(axis, len(value.shape), "repeat")
        times = _times(convert_to_tensor(repeats, name="repeats", graph=graph))
        if times.shape.rank == 0 or times.shape.as_list() == [1]:
            return _repeated_alike(value, reshape(times, []), where)
        if not times.shape.is_compatible_with([value.spec.shape[where]]):
            raise ValueError(f"repeat: {times.spec.shape[0]} repeats for axis {where} of the shape {value.shape}")
        return _repeated(value, times, where)


def _times(repeats: Tensor) -> Tensor:
    if not repeats.dtype.is_integer:
        raise TypeError(f"repeat: repeats are integers, got {repeats.dtype.name}")
    if repeats.shape.rank is None or repeats.shape.rank > 1:
        raise ValueError(f"repeat: repeats are a scalar or a vector, got shape {repeats.shape}")
    return cast(repeats, int32)


def _repeated_alike(value: Tensor, times: Tensor, axis: int) -> Tensor:
    before, behind = [1] * (axis + 1), [1] * (len(value.shape) - axis - 1)
    wide = tile(expand_dims(value, axis + 1), stack([*before, times, *behind]))
    dims = shape_tensor(value)
    extent = reshape(dims[axis] * times, [1])
    out = reshape(wide, concat([dims[:axis], extent, dims[axis + 1 :]], 0))
    known, each = constant_ints_of(times), value.spec.shape[axis]
    grown = None if known is None or each is None else each * known[0]
    out.set_shape([*value.shape[:axis], grown, *value.shape[axis + 1 :]])
    return out


def _repeated(value: Tensor, times: Tensor, axis: int) -> Tensor:
    """Repeat each element by the maximum of ``times``, and select the wanted copies by a mask."""
    dims = shape_tensor(value)
    each = broadcast_to(times, reshape(dims[axis], [1]))
    zero = convert_to_tensor(0, int32, graph=value.graph)
    most = raw.Maximum(zero, reduce_max(each))
    mask = sequence_mask(each, most)
    mask.set_shape([value.spec.shape[axis], None])
    before, behind = [1] * (axis + 1), [1] * (len(value.shape) - axis - 1)
    wide = tile(expand_dims(value, axis + 1), stack([*before, most, *behind]))
    out = boolean_mask(wide, mask, axis=axis)
    out.set_shape([*value.shape[:axis], None, *value.shape[axis + 1 :]])
    return out


# -- the shapes of broadcasting --------------------------------------------------------------------


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Return the static shape that two static shapes broadcast to.

    Raises:
        ValueError: if they cannot be broadcast, whatever their unknown dimensions are.
    """
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Return the shape that two shapes broadcast to, as a vector of their dtype.

    Args:
        shape_x: int32 or int64 vector.
        shape_y: vector of the same dtype.
    """
    graph = graph_of(shape_x, shape_y)
    left, right = (shape_operand(s, graph, n) for s, n in ((shape_x, "s0"), (shape_y, "s1")))
    return raw.BroadcastArgs(left, right)


def _infer_broadcast_args(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, rank=1)
    lengths = [vector_length(spec) for spec in ctx.inputs]
    known = [n for n in lengths if n is not None]
    length = max(known) if len(known) == 2 else None
    return [TensorShape([length])]


def _broadcast_dims(x: Any, y: Any) -> Array:
    try:
        dims = np.broadcast_shapes(ints(x), ints(y))
    except ValueError as exc:
        raise InvalidArgumentError(
            f"shapes {list(ints(x))} and {list(ints(y))} cannot be broadcast: counted from the end, "
            "dimensions must be equal, or one of them 1 or missing"
        ) from exc
    return np.array(dims, x.dtype)


def _broadcast_static(ctx: InferContext) -> Array | None:
    left, right = ctx.constants
    if left is None or right is None:
        return None
    try:
        return _broadcast_dims(left, right)
    except InvalidArgumentError:
        return None  # the step raises the error, as in TensorFlow


op("BroadcastArgs", _infer_broadcast_args, _broadcast_dims, static_value=_broadcast_static)


# -- ParallelConcat --------------------------------------------------------------------------------


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """Stack tensors of one known shape along a new first axis; no gradient flows through it.

    Args:
        values: tensors of one dtype and shape, which must be known.
    """
    if not len(values):
        raise ValueError("parallel_stack needs at least one tensor, got none")
    tensors = convert_all(list(values))
    graph = tensors[0].graph
    with graph.name_scope(name):
        out = TensorShape([len(tensors)]).concatenate(tensors[0].shape)
        rows = [expand_dims(tensor, 0) for tensor in tensors]
        return raw.ParallelConcat(rows, shape=out)


def _infer_parallel(ctx: InferContext) -> list[TensorShape]:
    shape = as_shape(ctx.attrs["shape"])
    if not shape.is_fully_defined():
        raise ValueError(f"ParallelConcat: the shape is fully known, got {shape}")
    row = TensorShape([1]).concatenate(shape[1:])
    for spec in ctx.inputs:
        if not spec.shape.is_compatible_with(row):
            raise ValueError(f"ParallelConcat: rows have shape {row}, got {spec.shape}")
    return [shape]


def _parallel_kernel(ctx: KernelContext) -> Kernel:
    shape = ctx.outputs[0].shape.as_tuple()

    def joined(*rows: Any) -> Any:
        if any(row.shape != (1, *shape[1:]) for row in rows):
            shapes = ", ".join(str(list(row.shape)) for row in rows)
            raise InvalidArgumentError(f"rows have shape {[1, *shape[1:]]}, got {shapes}")
        return np.concatenate(rows)

    return joined


op("ParallelConcat", _infer_parallel, kernel=_parallel_kernel)

"""Values written to positions by index: one_hot, scatter_nd, unsorted_segment_sum.

Values with equal indices add up. Adding rows is the inner loop of sparse gradients: numpy does it fast for
flat elements only, so rows of moderate length are added element by element.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import accumulation_dtype, as_dtype, float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor, graph_of, to_array
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    as_integers,
    constant_ints,
    described_shape,
    ints,
    normal_axis,
    require_index,
    require_rank,
)

__all__ = ["one_hot", "scatter_nd", "unsorted_segment_sum"]

# np.add.at takes 1.7 ns per element on flat arrays and much longer on rows; a Python loop over rows takes
# about 0.6 us per row. The two are equal near this length.
_FLAT_ROW = 512

# Up to this depth one_hot copies rows of a table that is made once (a few microseconds for a batch). Above it
# the table would not fit into the cache, and single ones are written into zeros. An int8 index can still
# select the table's last row.
_TABLE_DEPTH = 127


def add_rows(out: Array, places: Array, rows: Array) -> None:
    """Add ``rows[i]`` to ``out[places[i]]`` for each i, in place.

    Args:
        out: shape [n, ...], contiguous.
        places: shape [m], each in [0, n).
        rows: shape [m, ...].
    """
    width = prod(out.shape[1:])
    if width > _FLAT_ROW:
        for place, row in zip(places.tolist(), rows, strict=True):
            out[place] += row
        return
    flat = places.astype(np.intp)
    if width != 1:
        flat = (flat[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(out.reshape(-1), flat, rows.reshape(-1))


def sum_rows(front: Ints, places: Array, rows: Array) -> Array:
    """Return the sums of rows with equal places; 16-bit floats are rounded once.

    Args:
        front: shape of the result without that of a row.
        places: shape [m], row-major positions in ``front``.
        rows: shape [m, ...].

    Returns:
        A new array of the dtype of ``rows``.
    """
    row, wide = rows.shape[1:], accumulation_dtype(rows.dtype)
    out = np.zeros((*front, *row), wide)
    add_rows(out.reshape(prod(front), *row), places, rows.astype(wide, copy=False))
    return out.astype(rows.dtype, copy=False)


# -- OneHot ----------------------------------------------------------------------------------------


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a tensor with ``on_value`` at each index and ``off_value`` elsewhere.

    Args:
        indices: integers; one outside [0, depth) yields only ``off_value``.
        depth: scalar, extent of the new axis.
        on_value: scalar, 1 if left out.
        off_value: scalar, 0 if left out.
        axis: position of the new axis in the result; the last one if left out.
        dtype: element type; that of the values given, else float32.
    """
    index = convert_to_tensor(as_integers(indices))
    graph = index.graph
    on, off = on_value, off_value
    element_type = as_dtype(dtype) if dtype is not None else None
    for value in (on, off):
        if element_type is None and value is not None:
            element_type = as_dtype((value if hasattr(value, "dtype") else to_array(value)).dtype)
    element_type = element_type or float32
    with graph.name_scope(name or "one_hot") as scope:
        on = convert_to_tensor(
            np.array(1, element_type.np_dtype) if on is None else on, element_type, "on_value", graph=graph
        )
        off = convert_to_tensor(
            np.array(0, element_type.np_dtype) if off is None else off, element_type, "off_value", graph=graph
        )
        size = convert_to_tensor(depth, name="depth", graph=graph)
        place = -1 if axis is None else int(axis)
        return raw.OneHot(index, size, on, off, axis=place, name=scope)


def _infer_one_hot(ctx: InferContext) -> list[TensorShape]:
    require_index(ctx, 1, rank=0)
    require_rank(ctx, 2, 3, rank=0)
    indices, axis = ctx.inputs[0].shape, ctx.attrs["axis"]
    if axis < -1:
        raise ValueError(f"OneHot: axis is at least -1, got {axis}")
    depth = constant_ints(ctx, 1)
    if depth is not None and depth[0] < 0:
        raise ValueError(f"OneHot: depth is at least 0, got {depth[0]}")
    if indices.rank is None:
        return [unknown_shape]
    dims = indices.as_list()
    where = len(dims) if axis == -1 else normal_axis(axis, len(dims) + 1, "OneHot")
    dims.insert(where, None if depth is None else depth[0])
    return [TensorShape(dims)]


def _unsigned(indices: Any) -> Any:
    """Return indices with negative ones turned into huge ones, so that one comparison checks both ends."""
    return indices.view(np.dtype(f"u{indices.dtype.itemsize}"))


def _table_kernel(depth: int, on: Array, off: Array) -> Kernel:
    """Return a kernel that looks rows up in a table, whose last row is for indices out of range."""
    table = np.full((depth + 1, depth), off[()], on.dtype)
    np.fill_diagonal(table, on[()])

    def looked_up(indices: Any, _depth: Any, _on: Any, _off: Any) -> Any:
        rows = np.minimum(_unsigned(indices), depth).view(indices.dtype)
        return table.take(rows, 0)

    return looked_up


def _check_scalars(*operands: Any) -> None:
    for what, value in zip(("depth", "on_value", "off_value"), operands, strict=True):
        if np.ndim(value):
            raise InvalidArgumentError(f"OneHot: {what} is a scalar, got shape {list(np.shape(value))}")


def _written(dtype: Any, indices: Any, depth: Any, on: Any, off: Any) -> Any:
    _check_scalars(depth, on, off)
    extent = int(depth)
    if extent < 0:
        raise InvalidArgumentError(f"OneHot: depth is at least 0, got {extent}")
    out = np.full((indices.size, extent), off, dtype)
    flat = indices.reshape(-1).astype(np.int64)  # a small type could not hold the depth
    rows = np.flatnonzero(_unsigned(flat) < extent)
    out.reshape(-1)[rows * extent + flat[rows]] = on
    return out.reshape(*indices.shape, extent)


def _one_hot_kernel(ctx: KernelContext) -> Kernel:
    depth, on, off = constant_ints(ctx, 1), ctx.constant(2), ctx.constant(3)
    encode: Kernel = partial(_written, ctx.outputs[0].dtype.np_dtype)  # a fed string has no dtype
    if depth is not None and on is not None and off is not None and depth[0] <= _TABLE_DEPTH:
        _check_scalars(ctx.constant(1), on, off)
        encode = _table_kernel(depth[0], on, off)
    axis = ctx.attrs["axis"]
    if axis == -1 or axis == ctx.inputs[0].shape.rank:
        return encode

    def moved(indices: Any, *rest: Any) -> Any:
        if axis > indices.ndim:
            raise InvalidArgumentError(f"OneHot: axis is -1 or in [0, {indices.ndim}], got {axis}")
        return np.moveaxis(encode(indices, *rest), -1, axis)

    return moved


op("OneHot", _infer_one_hot, kernel=_one_hot_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(1,))


# -- ScatterNd -------------------------------------------------------------------------------------


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return zeros of a shape with ``updates`` added at ``indices``.

    Args:
        indices: int32 or int64 of shape [..., k]; each row is a position in the first k axes.
        updates: numbers of shape ``indices.shape[:-1] + shape[k:]``.
        shape: shape of the result, of the dtype of ``indices``.
    """
    graph = graph_of(indices, updates, shape)
    with graph.name_scope(name or "ScatterNd") as scope:
        index = convert_to_tensor(indices, name="indices", graph=graph)
        dims = convert_to_tensor(shape, index.dtype, "shape", graph=graph)
        values = convert_to_tensor(updates, name="updates", graph=graph)
        return raw.ScatterNd(index, values, dims, name=scope)


def _infer_scatter_nd(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 2, rank=1)
    indices, updates = ctx.inputs[0].shape, ctx.inputs[1].shape
    if 0 in (indices.rank, updates.rank):
        raise ValueError(f"ScatterNd: indices and updates have rank at least 1, got {indices} and {updates}")
    out = described_shape(ctx, 2)
    if out.rank is not None and indices.rank is not None and indices[-1] is not None:
        expected = indices[:-1].concatenate(out[indices[-1] :])
        if indices[-1] > out.rank or not expected.is_compatible_with(updates):
            raise ValueError(
                f"ScatterNd: indices of shape {indices} into shape {out} need updates of shape "
                f"{expected}, got {updates}"
            )
    return [out]


def _scattered(indices: Any, updates: Any, shape: Any) -> Any:
    if shape.ndim != 1 or shape.min(initial=0) < 0 or not indices.ndim:
        raise InvalidArgumentError(
            f"ScatterNd: the shape is a vector of dimensions of at least 0, and indices have rank at "
            f"least 1; got the shape {shape.tolist()} and indices of shape {list(indices.shape)}"
        )
    dims, depth = ints(shape), indices.shape[-1]
    front, row = dims[:depth], dims[depth:]
    if depth > len(dims) or updates.shape != (*indices.shape[:-1], *row):
        raise InvalidArgumentError(
            f"ScatterNd: indices of shape {list(indices.shape)} into shape {list(dims)} need "
            f"updates of shape {[*indices.shape[:-1], *row]}, got {list(updates.shape)}"
        )
    if updates.size == 0:
        return np.zeros(dims, updates.dtype)
    count = prod(indices.shape[:-1])
    positions = indices.reshape(count, depth)
    bad = ((positions < 0) | (positions >= np.array(front, positions.dtype))).any(axis=1)
    if bad.any():
        first = positions[bad.argmax()].tolist()
        raise InvalidArgumentError(f"ScatterNd: {first} does not index into shape {list(dims)}")
    strides = [prod(front[i + 1 :]) for i in range(depth)]
    places = positions.astype(np.intp) @ np.array(strides, np.intp)
    return sum_rows(front, places, updates.reshape(count, *row))


op(
    "ScatterNd",
    _infer_scatter_nd,
    _scattered,
    lambda op, grad: [None, raw.GatherNd(grad, op.inputs[0]), None],
    sized_by=(2,),
)


# -- UnsortedSegmentSum ----------------------------------------------------------------------------


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Return the sums of the rows of ``data`` with equal ids.

    Args:
        data: numbers.
        segment_ids: int32 or int64; its shape is a prefix of that of ``data``. Rows with a negative id are
            left out.
        num_segments: scalar, greater than all ids.

    Returns:
        A tensor of shape ``[num_segments] + data.shape[rank of segment_ids:]``.
    """
    return raw.UnsortedSegmentSum(data, segment_ids, num_segments, name=name)


def segments_shape(ctx: InferContext) -> list[TensorShape]:
    """Return the shape of as many segments as the last operand says, of data with an id per row."""
    require_rank(ctx, 2, rank=0)
    data, ids = ctx.inputs[0].shape, ctx.inputs[1].shape
    if data.rank is None or ids.rank is None:
        return [unknown_shape]
    if not ids.is_compatible_with(data[: ids.rank]):
        raise ValueError(f"{ctx.op}: the shape of the ids {ids} begins that of the data {data}")
    count = constant_ints(ctx, 2)
    front = TensorShape([None if count is None else count[0]])
    return [front.concatenate(data[ids.rank :])]


def _segment_sums(data: Any, ids: Any, num_segments: Any) -> Any:
    if np.ndim(num_segments):
        raise InvalidArgumentError(
            f"UnsortedSegmentSum: the number of segments is a scalar, got {num_segments.tolist()}"
        )
    count, row = int(num_segments), data.shape[ids.ndim :]
    if ids.shape != data.shape[: ids.ndim] or count < 0:
        raise InvalidArgumentError(
            f"UnsortedSegmentSum: ids of shape {list(ids.shape)} and {count} segments for data of "
            f"shape {list(data.shape)}"
        )
    places, rows = ids.reshape(-1), data.reshape(ids.size, *row)
    if not places.size:
        return np.zeros((count, *row), data.dtype)
    if places.max() >= count:
        raise InvalidArgumentError(f"UnsortedSegmentSum: segment id {places.max()} is not below {count}")
    if places.min() < 0:
        kept = places >= 0
        places, rows = places[kept], rows[kept]
    return sum_rows((count,), places, rows)


def _segment_sum_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    data, ids = op.inputs[:2]
    zero = convert_to_tensor(0, ids.dtype, graph=ids.graph)
    gathered = raw.GatherV2(grad, raw.Maximum(ids, zero), 0)
    # Rows that were left out get zeros; their id was replaced by one that can be looked up.
    counted = raw.Cast(raw.GreaterEqual(ids, zero), DstT=data.dtype)
    return [gathered * _spread(counted, gathered), None, None]


def _spread(counted: Tensor, like: Tensor) -> Tensor:
    """Return ``counted`` with axes of extent 1 appended, up to the rank of ``like``."""
    behind = ones(reshape(rank(like) - rank(counted), [1]), "int32")
    return reshape(counted, concat([shape(counted), behind], 0))


op("UnsortedSegmentSum", segments_shape, _segment_sums, _segment_sum_gradient, sized_by=(2,))

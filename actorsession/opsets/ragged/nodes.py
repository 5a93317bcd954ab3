"""Operation types of ragged tensors: ranges, gathering, and conversion to dense and to sparse tensors.

A ragged tensor is a dense one with the values, and for each ragged axis, outermost first, a vector of row
splits: row ``i`` has the values from ``splits[i]`` to ``splits[i + 1]``. There is no class of them here:
these are nodes of graphs that TensorFlow has written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import ints

__all__: list[str] = []

_SPLITS = TensorShape([None])


def _check_splits(name: str, splits: Any, count: int) -> None:
    """Check that row splits begin at 0, do not fall, and end with the number of values.

    Raises:
        InvalidArgumentError: if they do not.
    """
    if splits.ndim != 1 or not len(splits) or splits[0] != 0 or (np.diff(splits) < 0).any():
        raise InvalidArgumentError(f"{name}: Ragged splits must start with 0 and not fall, got {splits}")
    if splits[-1] != count:
        raise InvalidArgumentError(
            f"{name}: Ragged splits must end with the number of values, {count}, got {splits[-1]}"
        )


# -- RaggedRange -----------------------------------------------------------------------------------


def _range_kernel(ctx: KernelContext) -> Kernel:
    index_type, dtype = (spec.dtype.np_dtype for spec in ctx.outputs)

    def ranges(*limits: Any) -> Any:
        sizes = {value.shape for value in limits if value.ndim}
        if any(value.ndim > 1 for value in limits) or len(sizes) > 1:
            shapes = ", ".join(str(list(value.shape)) for value in limits)
            raise InvalidArgumentError(
                f"starts, limits, and deltas must have the same shape, or be scalars; got {shapes}"
            )
        starts, ends, steps = np.broadcast_arrays(*[np.atleast_1d(value) for value in limits])
        if (steps == 0).any():
            raise InvalidArgumentError("Requires delta != 0")
        wide = np.float64 if dtype.kind == "f" else np.int64
        counts = np.maximum(np.ceil((ends.astype(wide) - starts) / steps), 0).astype(np.int64)
        splits = np.concatenate([[0], np.cumsum(counts)]).astype(index_type)
        parts = [a + s * np.arange(n) for a, s, n in zip(starts, steps, counts, strict=True)]
        return splits, np.concatenate([np.zeros(0), *parts]).astype(dtype)

    return ranges


def _range_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    sizes = {spec.shape.sizes[0] for spec in ctx.inputs if spec.shape.sizes}
    known = [size for size in sizes if size is not None]
    if len(known) > 1:
        raise ValueError(f"{ctx.op}: starts, limits and deltas have one shape, got sizes {known}")
    if known:
        return [TensorShape([known[0] + 1]), _SPLITS]
    return [TensorShape([2] if all(spec.shape.rank == 0 for spec in ctx.inputs) else [None]), _SPLITS]


op("RaggedRange", _range_shapes, kernel=_range_kernel, grad=NOT_DIFFERENTIABLE)


# -- RaggedTensorToSparse --------------------------------------------------------------------------


def _places(name: str, splits: Sequence[Any], count: int) -> tuple[Array, list[int]]:
    """Return the place of each value along all ragged axes, and the extents of these."""
    extents = [len(splits[0]) - 1 if splits[0].ndim else 0]
    columns: list[Array] = []
    for level, ends in enumerate(splits):
        _check_splits(name, ends, len(splits[level + 1]) - 1 if level + 1 < len(splits) else count)
        lengths = np.diff(ends)
        extents.append(int(lengths.max(initial=0)))
        rows = np.arange(len(lengths)) if not columns else None
        columns = [np.repeat(c, lengths) for c in ([rows] if rows is not None else columns)]
        columns.append(np.arange(int(ends[-1])) - np.repeat(ends[:-1], lengths))
    return np.stack(columns, 1).astype(np.int64), extents


def _to_sparse(*operands: Any) -> Any:
    *splits, values = operands
    places, extents = _places("RaggedTensorToSparse", splits, len(values))
    inner = np.array(list(np.ndindex(*values.shape[1:])), np.int64)
    whole = np.concatenate([np.repeat(places, len(inner), 0), np.tile(inner, (len(places), 1))], 1).astype(np.int64)
    return whole, values.reshape(-1), np.array([*extents, *values.shape[1:]], np.int64)


def _sparse_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    values, levels = ctx.inputs[-1].shape, len(ctx.inputs) - 1
    rank = None if values.rank is None else values.rank + levels
    count = values.num_elements()
    return [TensorShape([count, rank]), TensorShape([count]), TensorShape([rank])]


def _sparse_gradient(op: Operation, _: Any, grad: Tensor | None, __: Any) -> Sequence[Tensor | None]:
    values = op.inputs[-1]
    back = None if grad is None else raw.Reshape(grad, raw.Shape(values))
    return [*[None] * (len(op.inputs) - 1), back]


op("RaggedTensorToSparse", _sparse_shapes, _to_sparse, _sparse_gradient)


# -- RaggedTensorToTensor --------------------------------------------------------------------------

_PARTITIONS = ("FIRST_DIM_SIZE", "ROW_SPLITS", "VALUE_ROWIDS")


def _partitions(attrs: Any) -> list[str]:
    return [kind.decode() if isinstance(kind, bytes) else kind for kind in attrs["row_partition_types"]]


def _splits_of(kinds: Sequence[str], tensors: Sequence[Any]) -> list[Array]:
    """Return the row splits of each axis; axes may be given by the row of each value."""
    splits: list[Array] = []
    rows = int(tensors[0]) if kinds[0] == "FIRST_DIM_SIZE" else -1
    for kind, tensor in zip(kinds, tensors, strict=True):
        if kind == "FIRST_DIM_SIZE":
            continue
        if kind == "VALUE_ROWIDS":
            if len(tensor) and int(tensor.max()) >= rows:
                raise InvalidArgumentError(f"value_rowids {tensor} are those of {rows} rows")
            tensor = np.concatenate([[0], np.cumsum(np.bincount(tensor, minlength=rows))])
        splits.append(np.asarray(tensor, np.int64))
        rows = int(splits[-1][-1]) if len(splits[-1]) else 0
    return splits


def _to_dense_kernel(ctx: KernelContext) -> Kernel:
    kinds, name = _partitions(ctx.attrs), ctx.op

    def dense(shape: Any, values: Any, default: Any, *tensors: Any) -> Any:
        splits = _splits_of(kinds, tensors)
        places, extents = _places(name, splits, len(values))
        sizes = ints(shape) if shape.ndim else ()
        actual = [*extents, *values.shape[1:]]
        if sizes and len(sizes) != len(actual):
            raise InvalidArgumentError(f"shape {sizes} has another rank than {actual}")
        full = actual
        if sizes:
            full = [size if size >= 0 else own for size, own in zip(sizes, actual, strict=True)]
        out = np.empty(full, values.dtype)
        out[...] = default
        kept = (places < np.array(full[: len(extents)])).all(1)
        inner = tuple(slice(0, min(a, b)) for a, b in zip(full[len(extents) :], values.shape[1:], strict=True))
        out[(*places[kept].T, *inner)] = values[kept][(slice(None), *inner)]
        return out

    return dense


def _dense_shape(ctx: InferContext) -> Sequence[TensorShape]:
    kinds = _partitions(ctx.attrs)
    if not kinds or any(kind not in _PARTITIONS for kind in kinds):
        raise ValueError(f"{ctx.op}: row_partition_types are of {', '.join(_PARTITIONS)}, got {kinds}")
    values, levels = ctx.inputs[1].shape, len(kinds) + (kinds[0] != "FIRST_DIM_SIZE")
    if values.rank is None:
        return [unknown_shape]
    inner = list(values[1:])
    known = ctx.constant(0)
    fixed = [int(n) for n in known] if known is not None and known.ndim else []
    own = [*[None] * levels, *inner]
    if fixed and len(fixed) != len(own):
        raise ValueError(f"{ctx.op}: shape {fixed} has another rank than {len(own)}")
    sizes = [n if n >= 0 else size for n, size in zip(fixed, own, strict=True)] if fixed else own
    return [TensorShape(sizes)]


def _dense_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    """Gather from the gradient where the values went; what is outside of it has none."""
    values, default = op.inputs[1], op.inputs[2]
    number = raw.Range(1, raw.Size(values) + 1, 1)
    tensors = list(op.inputs[3:])
    where = raw.RaggedTensorToTensor(
        raw.Shape(op.outputs[0]),
        raw.Reshape(number, raw.Shape(values)),
        0,
        tensors,
        row_partition_types=op.attrs["row_partition_types"],
    )
    flat, places = raw.Reshape(grad, [-1]), raw.Reshape(where, [-1])
    sums = raw.UnsortedSegmentSum(flat, places, raw.Size(values) + 1)
    by_default = raw.Reshape(sums[:1], np.zeros(0, np.int32)) if default.shape.rank == 0 else None
    return [None, raw.Reshape(sums[1:], raw.Shape(values)), by_default, *[None] * len(tensors)]


op("RaggedTensorToTensor", _dense_shape, kernel=_to_dense_kernel, grad=_dense_gradient, sized_by=(0,))


# -- RaggedGather ----------------------------------------------------------------------------------


def _ragged_rows(splits: Sequence[Any], values: Any, rows: Array) -> tuple[list[Array], Any]:
    """Return chosen rows of a ragged tensor."""
    row_splits: list[Array] = []
    for ends in splits:
        lengths = np.diff(ends)[rows]
        row_splits.append(np.concatenate([[0], np.cumsum(lengths)]))
        offsets = np.arange(int(lengths.sum())) - np.repeat(row_splits[-1][:-1], lengths)
        rows = np.repeat(ends[:-1][rows], lengths) + offsets
    return row_splits, values[rows]


def _gather_kernel(ctx: KernelContext) -> Kernel:
    index_type = ctx.outputs[0].dtype.np_dtype

    def gathered(*operands: Any) -> Any:
        *splits, values, indices = operands
        for level, ends in enumerate(splits):
            count = len(splits[level + 1]) - 1 if level + 1 < len(splits) else len(values)
            _check_splits(ctx.op, ends, count)
        flat, count = indices.reshape(-1), len(splits[0]) - 1
        wrong = np.flatnonzero((flat < 0) | (flat >= count))
        if wrong.size:
            raise InvalidArgumentError(f"indices[{wrong[0]}] = {flat[wrong[0]]} is not in [0, {count})")
        outer = [
            np.arange(0, int(np.prod(indices.shape[:k])) * n + 1, n)
            for k, n in itertools.islice(enumerate(indices.shape), 1, None)
        ]
        row_splits, chosen = _ragged_rows(splits, values, flat)
        return [each.astype(index_type) for each in (*outer, *row_splits)] + [chosen]

    return gathered


def _gather_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    levels, values = ctx.attrs["OUTPUT_RAGGED_RANK"], ctx.inputs[-2].shape
    rank = ctx.inputs[-1].shape.rank
    if rank is not None and levels != rank + len(ctx.inputs) - 3:
        raise ValueError(f"{ctx.op}: OUTPUT_RAGGED_RANK is {rank + len(ctx.inputs) - 3} for these inputs, got {levels}")
    rows = unknown_shape if values.rank is None else _SPLITS.concatenate(values[1:])
    return [*[_SPLITS] * levels, rows]


op("RaggedGather", _gather_shapes, kernel=_gather_kernel)

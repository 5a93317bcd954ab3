"""Rows distributed to several tensors by number, and merged by number.

Owns ``DynamicPartition``, ``DynamicStitch`` and ``ParallelDynamicStitch``. Where several rows have one
number, the last one is in the result of either stitch; TensorFlow leaves this undefined for the parallel one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import ANY_INPUT, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, merge_all
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor, size
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import without_gaps
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of, make_one
from actorsession.ops.indexed_slices import to_dense
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed

__all__ = ["dynamic_partition", "dynamic_stitch", "parallel_dynamic_stitch"]


# -- DynamicPartition ------------------------------------------------------------------------------


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Return the rows of a tensor, distributed to several tensors.

    Args:
        data: any tensor.
        partitions: int32, the number of each row's part; its shape is a prefix of that of ``data``.
        num_partitions: number of parts, at least 1.

    Returns:
        The parts, each ``[n] + data.shape[rank of partitions:]`` with its rows in the original order.
    """
    value = convert_to_tensor(data)
    with value.graph.name_scope(name or "DynamicPartition") as scope:
        parts = convert_to_tensor(partitions, int32, "partitions", graph=value.graph)
        return raw.DynamicPartition(value, parts, num_partitions=int(num_partitions), name=scope)


def _infer_partition(ctx: InferContext) -> list[TensorShape]:
    data, parts, count = *ctx.inputs, ctx.attrs["num_partitions"]
    if parts.dtype is not int32:
        raise TypeError(f"{ctx.op}: partitions are int32, got {parts.dtype.name}")
    if count < 1:
        raise ValueError(f"{ctx.op}: num_partitions is at least 1, got {count}")
    out = TensorShape(None)
    if data.shape.rank is not None and parts.shape.rank is not None:
        front = data.shape[: parts.shape.rank]
        if not front.is_compatible_with(parts.shape):
            raise ValueError(f"{ctx.op}: the shape of partitions {parts.shape} begins that of data {data.shape}")
        out = TensorShape([None]).concatenate(data.shape[parts.shape.rank :])
    return [out] * count


def _partition_kernel(ctx: KernelContext) -> Kernel:
    count = ctx.attrs["num_partitions"]

    def dealt(data: Any, partitions: Any) -> Any:
        data = boxed(data)
        if data.shape[: partitions.ndim] != partitions.shape:
            raise InvalidArgumentError(
                f"the shape of partitions {list(partitions.shape)} begins that of data, got {list(data.shape)}"
            )
        parts = partitions.reshape(-1)
        bad = (parts < 0) | (parts >= count)
        if bad.any():
            place = np.argwhere(bad.reshape(partitions.shape))[0].tolist()
            raise InvalidArgumentError(f"partitions{place} = {parts[bad.argmax()]} is not in [0, {count})")
        rows = data.reshape(parts.size, *data.shape[partitions.ndim :])
        outputs = tuple([rows[parts == part] for part in range(count)])
        return outputs if count > 1 else outputs[0]

    return dealt


def _partition_gradient(op: Operation, *grads: Tensor | None) -> list[Tensor | None]:
    data, parts = op.inputs
    numbers = reshape(range_(size(parts)), shape_tensor(parts))
    places = dynamic_partition(numbers, parts, op.attrs["num_partitions"])
    rows = [to_dense(grad) for grad in without_gaps(op, grads)]
    total = parallel_dynamic_stitch(places, rows)
    return [reshape(total, shape_tensor(data)), None]


op("DynamicPartition", _infer_partition, kernel=_partition_kernel, grad=_partition_gradient)


# -- DynamicStitch, ParallelDynamicStitch ----------------------------------------------------------


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Merge rows of several tensors by number.

    Args:
        indices: int32 tensors, the number of each row; the greatest one determines the number of rows.
        data: as many tensors of one dtype; the shape of each begins with that of its indices, and the rest is
            the same for all.

    Returns:
        A tensor in which rows without a number are zeros; of several rows with one number the last counts.
    """
    return _stitched("DynamicStitch", indices, data, name)


def parallel_dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Merge rows like ``dynamic_stitch``, for numbers that occur once each; arguments as there."""
    return _stitched("ParallelDynamicStitch", indices, data, name)


def _stitched(op: str, indices: Sequence[Any], data: Sequence[Any], name: str | None) -> Tensor:
    if not len(indices) or len(indices) != len(data):
        raise ValueError(
            f"{op}: as many tensors of indices as of data, at least one; got {len(indices)} and {len(data)}"
        )
    graph = graph_of(*indices, *data)
    with graph.as_default(), graph.name_scope(name or op) as scope:
        numbers = [convert_to_tensor(i, int32, "indices", graph=graph) for i in indices]
        return make_one(op, [*numbers, *convert_all(list(data))], None, scope, graph)


def _infer_stitch(ctx: InferContext) -> list[TensorShape]:
    count = len(ctx.inputs) // 2
    indices, data = ctx.inputs[:count], ctx.inputs[count:]
    rests = []
    for numbers, rows in zip(indices, data, strict=True):
        if numbers.dtype is not int32:
            raise TypeError(f"{ctx.op}: indices are int32, got {numbers.dtype.name}")
        if numbers.shape.rank is None or rows.shape.rank is None:
            continue
        if not rows.shape[: numbers.shape.rank].is_compatible_with(numbers.shape):
            raise ValueError(f"{ctx.op}: the shape of indices {numbers.shape} begins that of data {rows.shape}")
        rests.append(rows.shape[numbers.shape.rank :])
    try:
        rest = merge_all(rests)
    except ValueError:
        listed = ", ".join(map(str, rests))
        raise ValueError(f"{ctx.op}: rows have one shape, got {listed}") from None
    return [TensorShape([_known_rows(ctx, count)]).concatenate(rest)]


def _known_rows(ctx: InferContext, count: int) -> Dim:
    """Return the number of rows of the result, if all indices are known."""
    most = 0
    for numbers in map(ctx.constant, range(count)):
        if numbers is None:
            return None
        most = max(most, int(numbers.max()) + 1 if numbers.size else 0)
    return most


def _stitch_kernel(ctx: KernelContext) -> Kernel:
    count, dtype = len(ctx.inputs) // 2, ctx.outputs[0].dtype.np_dtype
    zero: Any = b"" if dtype.kind == "O" else 0

    def stitched(*operands: Any) -> Any:
        indices, data = operands[:count], [boxed(rows) for rows in operands[count:]]
        rest = data[0].shape[indices[0].ndim :]
        for numbers, rows in zip(indices, data, strict=True):
            if rows.shape != (*numbers.shape, *rest):
                raise InvalidArgumentError(
                    f"indices of shape {list(numbers.shape)} need data of shape "
                    f"{[*numbers.shape, *rest]}, got {list(rows.shape)}"
                )
            if numbers.size and numbers.min() < 0:
                raise InvalidArgumentError(f"indices are at least 0, got {numbers.min()}")
        most = max((int(numbers.max()) + 1 for numbers in indices if numbers.size), default=0)
        out = np.full((most, *rest), zero, dtype)
        for numbers, rows in zip(indices, data, strict=True):
            out[numbers.reshape(-1)] = rows.reshape(numbers.size, *rest)
        return out

    return stitched


def _stitch_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    count = len(op.inputs) // 2
    dense = to_dense(grad)
    return [*[None] * count, *[gather(dense, numbers) for numbers in op.inputs[:count]]]


for _name in ("DynamicStitch", "ParallelDynamicStitch"):
    op(_name, _infer_stitch, kernel=_stitch_kernel, grad=_stitch_gradient, sized_by=ANY_INPUT)

"""How often integers occur in rows: counts of ragged, sparse and dense tensors, dense and sparse themselves.

Owns ``RaggedBincount`` and ``SparseBincount``, and ``DenseCountSparseOutput`` with its two counterparts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import constant_ints

__all__: list[str] = []


# -- rows of values --------------------------------------------------------------------------------


def _of_splits(op_type: str, splits: Any, values: Any) -> tuple[Array, int]:
    """Return the row of each value of a ragged tensor, and the number of rows."""
    wrong = splits.ndim != 1 or not len(splits) or splits[0] != 0 or (np.diff(splits) < 0).any()
    if wrong or splits[-1] != len(values):
        raise InvalidArgumentError(
            f"{op_type}: Splits must start with 0, not fall, and end with the number of values, "
            f"{len(values)}, got {splits}"
        )
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits)), len(splits) - 1


def _of_indices(op_type: str, indices: Any, values: Any, shape: Any) -> tuple[Array, int | None]:
    """Return the row of each value of a sparse vector or matrix; a vector has no rows."""
    if indices.ndim != 2 or indices.shape != (len(values), len(shape)) or len(shape) not in (1, 2):
        raise InvalidArgumentError(
            f"{op_type}: indices of a sparse vector or matrix are needed for {len(values)} values, got shape "
            f"{list(indices.shape)} for a tensor of shape {list(shape)}"
        )
    if indices.size and ((indices < 0).any() or (indices >= shape).any()):
        raise InvalidArgumentError(f"{op_type}: Index out of bound. {shape} is the dense shape")
    if len(shape) == 1:
        return np.zeros(len(values), np.int64), None
    return indices[:, 0], int(shape[0])


def _of_dense(op_type: str, values: Any) -> tuple[Array, int | None]:
    if values.ndim not in (1, 2):
        raise InvalidArgumentError(f"{op_type}: Input must be a 1 or 2-dimensional tensor. Got: {list(values.shape)}")
    if values.ndim == 1:
        return np.zeros(len(values), np.int64), None
    return np.repeat(np.arange(len(values)), values.shape[1]), len(values)


def _rows(op_type: str, inputs: Sequence[Any]) -> tuple[Array, Array, int | None, Sequence[Any]]:
    """Return row and value of each element, the number of rows, and the rest of the inputs."""
    if op_type.startswith("Ragged"):
        rows, count = _of_splits(op_type, inputs[0], inputs[1])
        return rows, inputs[1], count, inputs[2:]
    if op_type.startswith("Sparse"):
        rows, total = _of_indices(op_type, *inputs[:3])
        return rows, inputs[1], total, inputs[3:]
    rows, total = _of_dense(op_type, inputs[0])
    return rows, inputs[0].reshape(-1), total, inputs[1:]


# -- counts that are dense -------------------------------------------------------------------------


def _binned_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    ragged = ctx.op == "RaggedBincount"
    size = constant_ints(ctx, 2 if ragged else 3)
    if size is not None and size[0] < 0:
        raise ValueError(f"{ctx.op}: size ({size[0]}) must be non-negative")
    bins = None if size is None else size[0]
    if ragged:
        return [unknown_shape]  # as in TensorFlow
    shape = constant_ints(ctx, 2)
    return [unknown_shape if shape is None else TensorShape([*shape[:-1], bins])]


def _bins_kernel(ctx: KernelContext) -> Kernel:
    dtype, binary = ctx.outputs[0].dtype.np_dtype, ctx.attrs["binary_output"]

    def bins(*inputs: Any) -> Any:
        rows, values, count, (size, weights) = _rows(ctx.op, inputs)
        if np.ndim(size) or size < 0:
            raise InvalidArgumentError(f"{ctx.op}: size ({size}) must be non-negative")
        if values.size and values.min() < 0:
            raise InvalidArgumentError(f"Input must be non-negative, got {values.min()}")
        if weights.size and weights.shape != values.shape:
            raise InvalidArgumentError(
                f"{ctx.op}: a weight for each value, or none: got shapes {list(weights.shape)} and {list(values.shape)}"
            )
        kept = values < size
        out = np.zeros((1 if count is None else count, int(size)), dtype)
        if binary:
            out[rows[kept], values[kept]] = 1
        else:
            each = weights[kept] if weights.size else dtype.type(1)
            np.add.at(out, (rows[kept], values[kept]), each)
        return out[0] if count is None else out

    return bins


op("RaggedBincount", _binned_shape, kernel=_bins_kernel, sized_by=(2,))
op("SparseBincount", _binned_shape, kernel=_bins_kernel, sized_by=(2, 3))


# -- counts that are sparse ------------------------------------------------------------------------


def _counted_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    rank = 2
    if ctx.op == "DenseCountSparseOutput":
        rank = ctx.inputs[0].shape.rank or 0
    elif ctx.op == "SparseCountSparseOutput":
        rank = ctx.inputs[2].shape.with_rank(1)[0] or 0
    known = rank or None
    return [TensorShape([None, known]), TensorShape([None]), TensorShape([known])]


def _counts_kernel(ctx: KernelContext) -> Kernel:
    dtype, attrs = ctx.outputs[1].dtype.np_dtype, ctx.attrs
    least, most = attrs["minlength"], attrs["maxlength"]

    def counts(*inputs: Any) -> Any:
        rows, values, count, (weights,) = _rows(ctx.op, inputs)
        if weights.size and weights.size != values.size:
            raise InvalidArgumentError(
                f"Weights and values must have the same shape. Weight shape: {list(weights.shape)}; values "
                f"shape: {list(values.shape)}"
            )
        if values.size and values.min() < 0:
            raise InvalidArgumentError("Input values must all be non-negative")
        kept = values < most if most >= 0 else np.ones(len(values), bool)
        width = max(int(values[kept].max(initial=-1)) + 1, least) if most <= 0 else most
        places = rows[kept].astype(np.int64) * max(width, 1) + values[kept]
        distinct, back = np.unique(places, return_inverse=True)
        total = np.zeros(len(distinct), dtype)
        if attrs["binary_output"]:
            total[:] = 1
        else:
            each = weights.reshape(-1)[kept] if weights.size else dtype.type(1)
            np.add.at(total, back.reshape(-1), each)
        columns = [distinct % max(width, 1)] if count is None else divmod(distinct, max(width, 1))
        shape = [width] if count is None else [count, width]
        return np.stack(columns, 1).astype(np.int64), total, np.array(shape, np.int64)

    return counts


for _name in ("DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput"):
    op(_name, _counted_shapes, kernel=_counts_kernel)

"""Serialisation of sparse tensors as strings, so that queues and batches accept them like any element.

Owns ``SerializeSparse``, ``SerializeManySparse`` and ``DeserializeManySparse``. Each sparse tensor becomes
three strings: TensorFlow's messages of its indices, values and shape. The ops have no gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, int64, string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.rows import op
from actorsession.opsets.parsing.serialized import parsed, written
from actorsession.opsets.sparse.basics import SparseTensor, checked_sparse, parts_of
from actorsession.opsets.sparse.kernels import (
    check_entries,
    checked_dims,
    require_rank,
    sparse_shapes,
)

__all__ = ["deserialize_many_sparse", "serialize_many_sparse", "serialize_sparse"]


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """Return a sparse tensor as three strings.

    Args:
        sp_input: the sparse tensor.
        out_type: must be string.

    Raises:
        TypeError: for another ``out_type``, or an argument that is no sparse tensor.
    """
    return _strings("SerializeSparse", sp_input, name, out_type)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """Return the slices of a sparse tensor along its first axis, each as in ``serialize_sparse``.

    Returns:
        Strings of shape ``[slices, 3]``.
    """
    return _strings("SerializeManySparse", sp_input, name, out_type)


def _strings(op_type: str, sp_input: Any, name: str | None, out_type: Any) -> Tensor:
    if as_dtype(out_type) is not string:
        raise TypeError(f"{op_type}: out_type is string, got {as_dtype(out_type).name}")
    return make_one(op_type, parts_of(checked_sparse(sp_input)), {"out_type": string}, name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return many serialized sparse tensors as one, stacked along a new first axis.

    Args:
        serialized_sparse: strings of shape ``[many, 3]``.
        dtype: dtype of the values.
        rank: number of axes of the result, if it is known.

    Returns:
        A sparse tensor whose extent along each axis is the largest of all.

    Raises:
        ValueError: for strings of another shape.
    """
    given = convert_to_tensor(serialized_sparse, string, "serialized_sparse")
    indices, values, shape = raw.DeserializeManySparse(given, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


# -- shapes ----------------------------------------------------------------------------------------


def _strings_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    if as_dtype(ctx.attrs["out_type"]) is not string:
        raise TypeError(f"{ctx.op}: out_type is string, got {as_dtype(ctx.attrs['out_type']).name}")
    return [TensorShape([3] if ctx.op == "SerializeSparse" else [None, 3])]


def _joined_shapes(ctx: InferContext) -> list[TensorShape]:
    given = ctx.inputs[0]
    if given.dtype is not string or not given.shape.is_compatible_with([None, 3]):
        raise ValueError(
            f"{ctx.op}: strings of shape [many, 3] are needed, got {given.dtype.name} of shape {given.shape}"
        )
    return sparse_shapes(None)


# -- kernels ---------------------------------------------------------------------------------------


def _messages(indices: Array, values: Array, shape: Array, dtype: DType) -> list[bytes]:
    return [written(indices, int64), written(values, dtype), written(shape, int64)]


def _one_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[1].dtype

    def serialized(indices: Array, values: Array, shape: Array) -> Any:
        check_entries(indices, len(values), checked_dims(shape, ctx.op), ctx.op)
        out = np.empty(3, object)
        out[:] = _messages(indices, values, shape, dtype)
        return out

    return serialized


def _many_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[1].dtype

    def serialized(indices: Array, values: Array, shape: Array) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        if len(dims) < 2:
            raise InvalidArgumentError(
                f"{ctx.op}: Rank of input SparseTensor should be > 1, but saw rank: {len(dims)}"
            )
        if (np.diff(indices[:, 0]) < 0).any():
            raise InvalidArgumentError(f"{ctx.op}: entries stand in order of their first axis")
        out = np.empty((dims[0], 3), object)
        ends = np.searchsorted(indices[:, 0], np.arange(dims[0] + 1))
        for part in range(dims[0]):
            kept = slice(ends[part], ends[part + 1])
            out[part] = _messages(indices[kept, 1:], values[kept], shape[1:], dtype)
        return out

    return serialized


def _read(op: str, row: Any, dtype: DType) -> tuple[Array, Array, Array]:
    """Return the components of one sparse tensor."""
    try:
        indices, values, shape = (
            np.asarray(parsed(text, kind))
            for text, kind in zip(row, (int64, dtype, int64), strict=True)
        )
    except (ValueError, TypeError, InvalidArgumentError) as exc:
        raise InvalidArgumentError(f"{op}: no sparse tensor of {dtype.name}: {exc}") from None
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
        raise InvalidArgumentError(
            f"{op}: indices, values and shape have rank 2, 1 and 1, got shapes {list(indices.shape)}, "
            f"{list(values.shape)} and {list(shape.shape)}"
        )
    check_entries(indices, len(values), checked_dims(shape, op), op)
    return indices, values, shape


def _joined_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[1].dtype

    def joined(strings: Any) -> Any:
        if strings.ndim != 2 or strings.shape[1] != 3 or not len(strings):
            raise InvalidArgumentError(
                f"{ctx.op}: strings of shape [many, 3] are needed, got shape {list(strings.shape)}"
            )
        found = [_read(ctx.op, row, dtype) for row in strings]
        ranks = {len(shape) for _, _, shape in found}
        if len(ranks) > 1:
            raise InvalidArgumentError(
                f"{ctx.op}: sparse tensors of one rank are joined, got ranks {sorted(ranks)}"
            )
        numbered = [
            np.insert(indices, 0, number, axis=1) for number, (indices, _, _) in enumerate(found)
        ]
        largest = np.max([shape for _, _, shape in found], axis=0)
        return (
            np.concatenate(numbered), np.concatenate([values for _, values, _ in found]),
            np.concatenate([[len(found)], largest]).astype(np.int64),
        )  # fmt: skip

    return joined


# TensorFlow has no gradients of these ops.
op("SerializeSparse", _strings_shape, kernel=_one_kernel)
op("SerializeManySparse", _strings_shape, kernel=_many_kernel, sized_by=(2,))
op("DeserializeManySparse", _joined_shapes, kernel=_joined_kernel, sized_by=(0,))

"""Serialisation of sparse tensors, so that queues, batches and datasets accept them like any element.

Each sparse tensor becomes three strings, TensorFlow's messages of its indices, values and shape, or a variant
tensor that holds these three as they are. The ops have no gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, int64, string, variant
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make, make_one
from actorsession.ops.rows import op
from actorsession.opsets.parsing.serialized import parsed, written
from actorsession.opsets.sparse.basics import SparseTensor, checked_sparse, parts_of
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, require_rank, sparse_shapes

__all__ = [
    "deserialize_many_sparse",
    "deserialize_sparse",
    "joined_sparse",
    "serialize_many_sparse",
    "serialize_sparse",
    "sparse_rows",
    "sparse_value",
]


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """Return a sparse tensor as three strings or variants.

    Args:
        sp_input: the sparse tensor.
        name: wanted name.
        out_type: string or variant.

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
    parts = parts_of(checked_sparse(sp_input))
    return make_one(op_type, parts, {"out_type": as_dtype(out_type)}, name)


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
    strings = convert_to_tensor(serialized_sparse, string, "serialized_sparse")
    indices, values, shape = raw.DeserializeManySparse(strings, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return serialized sparse tensors as one, stacked along new first axes if there are several.

    Args:
        serialized_sparse: strings or variants of shape ``[..., 3]``.
        dtype: dtype of the values.
        rank: number of axes of the result, if it is known.
        name: wanted name.
    """
    strings = convert_to_tensor(serialized_sparse, name="serialized_sparse")
    indices, values, shape = make(
        "DeserializeSparse", [strings], {"dtype": as_dtype(dtype)}, name or "DeserializeSparse", strings.graph
    ).outputs
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


# -- shapes ----------------------------------------------------------------------------------------


def _strings_shape(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    if as_dtype(ctx.attrs["out_type"]) not in (string, variant):
        raise TypeError(f"{ctx.op}: out_type is string or variant, got {as_dtype(ctx.attrs['out_type']).name}")
    return [TensorShape([3] if ctx.op == "SerializeSparse" else [None, 3])]


def _joined_shapes(ctx: InferContext) -> list[TensorShape]:
    strings = ctx.inputs[0]
    many = ctx.op == "DeserializeManySparse"
    sizes = strings.shape.sizes
    fits = sizes is None or (bool(sizes) and sizes[-1] in (3, None) and not (many and len(sizes) != 2))
    if strings.dtype not in ((string,) if many else (string, variant)) or not fits:
        raise ValueError(
            f"{ctx.op}: strings of shape [{'many' if many else '...'}, 3] are needed, got "
            f"{strings.dtype.name} of shape {strings.shape}"
        )
    return sparse_shapes(None)


# -- kernels ---------------------------------------------------------------------------------------


Write: TypeAlias = Callable[[Array, Array, Array], Array]


def sparse_value(indices: Array, values: Array, shape: Array) -> Array:
    """Return the variant tensor that holds a sparse tensor."""
    parts = np.empty(3, object)
    for k, part in enumerate((indices, values, shape)):
        parts[k] = part
    return parts


def sparse_rows(indices: Array, values: Array, shape: Array) -> list[tuple[Array, Array, Array]]:
    """Return the slices of a sparse tensor along its first axis, by which its entries are in order."""
    ends = np.searchsorted(indices[:, 0], np.arange(int(shape[0]) + 1))
    return [
        (indices[begin:end, 1:].copy(), values[begin:end].copy(), shape[1:].copy())
        for begin, end in itertools.pairwise(ends)
    ]


def _writer(ctx: KernelContext) -> Write:
    """Return the function that makes three strings or variants."""
    if as_dtype(ctx.attrs["out_type"]) is variant:
        return lambda *parts: sparse_value(*[part.copy() for part in parts])
    dtype = ctx.inputs[1].dtype

    def write(indices: Array, values: Array, shape: Array) -> Array:
        out = np.empty(3, object)
        out[:] = [written(indices, int64), written(values, dtype, in_one_piece=True), written(shape, int64)]
        return out

    return write


def _one_kernel(ctx: KernelContext) -> Kernel:
    write = _writer(ctx)

    def serialized(indices: Array, values: Array, shape: Array) -> Any:
        check_entries(indices, len(values), checked_dims(shape, ctx.op), ctx.op)
        return write(indices, values, shape)

    return serialized


def _many_kernel(ctx: KernelContext) -> Kernel:
    write = _writer(ctx)

    def serialized(indices: Array, values: Array, shape: Array) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        if len(dims) < 2:
            raise InvalidArgumentError(f"{ctx.op}: Rank of input SparseTensor should be > 1, but saw rank: {len(dims)}")
        if (np.diff(indices[:, 0]) < 0).any():
            raise InvalidArgumentError(f"{ctx.op}: entries stand in order of their first axis")
        out = np.empty((dims[0], 3), object)
        for number, row in enumerate(sparse_rows(indices, values, shape)):
            out[number] = write(*row)
        return out

    return serialized


def _read(op: str, row: Any, dtype: DType) -> tuple[Array, Array, Array]:
    """Return the components of one sparse tensor."""
    try:
        indices, values, shape = (
            np.asarray(parsed(text, kind) if isinstance(text, bytes) else text)
            for text, kind in zip(row, (int64, dtype, int64), strict=True)
        )
    except (ValueError, TypeError, InvalidArgumentError) as exc:
        raise InvalidArgumentError(f"{op}: no sparse tensor of {dtype.name}: {exc}") from None
    if values.dtype != dtype.np_dtype:
        raise InvalidArgumentError(f"{op}: values of {values.dtype.name}, {dtype.name} was asked for")
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
        raise InvalidArgumentError(
            f"{op}: indices, values and shape have rank 2, 1 and 1, got shapes {list(indices.shape)}, "
            f"{list(values.shape)} and {list(shape.shape)}"
        )
    check_entries(indices, len(values), checked_dims(shape, op), op)
    return indices, values, shape


def _joined_kernel(ctx: KernelContext) -> Kernel:
    dtype, many = ctx.outputs[1].dtype, ctx.op == "DeserializeManySparse"

    def joined(strings: Any) -> Any:
        misfits = many and strings.ndim != 2
        if misfits or not strings.ndim or strings.shape[-1] != 3 or not strings.size:
            raise InvalidArgumentError(
                f"{ctx.op}: strings of shape [many, 3] are needed, got shape {list(strings.shape)}"
            )
        tensors = [_read(ctx.op, row, dtype) for row in strings.reshape(-1, 3)]
        ahead = strings.shape[:-1]
        return joined_sparse(tensors, ahead, ctx.op) if ahead else tensors[0]

    return joined


def joined_sparse(
    tensors: Sequence[tuple[Array, Array, Array]], ahead: tuple[int, ...], op: str
) -> tuple[Array, Array, Array]:
    """Return sparse tensors as one, stacked along new first axes.

    Raises:
        InvalidArgumentError: for tensors of different ranks, or none.
    """
    if not tensors:
        raise InvalidArgumentError(f"{op}: there are no sparse tensors to join")
    ranks = {len(shape) for _, _, shape in tensors}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"{op}: sparse tensors of one rank are joined, got ranks {sorted(ranks)}")
    numbered = [
        np.concatenate([np.full((len(indices), len(ahead)), place, np.int64), indices], axis=1)
        for place, (indices, _, _) in zip(np.ndindex(*ahead), tensors, strict=True)
    ]
    largest = np.max([shape for _, _, shape in tensors], axis=0)
    return (
        np.concatenate(numbered),
        np.concatenate([values for _, values, _ in tensors]),
        np.concatenate([ahead, largest]).astype(np.int64),
    )


# TensorFlow has no gradients of these ops.
op("SerializeSparse", _strings_shape, kernel=_one_kernel)
op("SerializeManySparse", _strings_shape, kernel=_many_kernel, sized_by=(2,))
for _name in ("DeserializeManySparse", "DeserializeSparse"):
    op(_name, _joined_shapes, kernel=_joined_kernel, aliases=True, sized_by=(0,))

"""Ragged tensors as variants, which datasets and maps hold, and rows of them.

A variant holds the row splits, outermost first, and the values.
"""

from __future__ import annotations

import itertools
import operator
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.lists.values import as_element
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import ints

__all__: list[str] = []


class RaggedValue:
    """A ragged tensor within a variant.

    Args:
        splits: row splits of each ragged axis, outermost first.
        values: the values.
    """

    __slots__ = ("splits", "values")
    # Attributes that generic code reads of a value: it is one element without a size.
    dtype = np.dtype(object)
    shape = ()
    ndim = 0
    size = 1
    nbytes = 0

    def __init__(self, splits: Sequence[Array], values: Array) -> None:
        self.splits, self.values = list(splits), values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return as_element(self)

    def __repr__(self) -> str:
        return f"<RaggedValue of {len(self.splits)} ragged axes, values {self.values.shape}>"

    def __add__(self, other: Any) -> RaggedValue:
        """Return the sum of two ragged tensors, of which gradients are made.

        Raises:
            InvalidArgumentError: if they have different row splits.
        """
        if not isinstance(other, RaggedValue):
            return NotImplemented
        if (
            self.values.shape != other.values.shape
            or len(self.splits) != len(other.splits)
            or any(not np.array_equal(*both) for both in zip(self.splits, other.splits, strict=True))
        ):
            raise InvalidArgumentError(f"{self!r} and {other!r} have different rows and cannot be added")
        return RaggedValue(self.splits, self.values + other.values)

    def __pos__(self) -> RaggedValue:
        return self

    def zeros_like(self) -> RaggedValue:
        """Return zeros in rows of the same lengths."""
        return RaggedValue(self.splits, np.zeros_like(self.values))

    def to_wire(self) -> list[Any]:
        """Return the ragged tensor as plain values."""
        return [self.splits, self.values]

    @classmethod
    def from_wire(cls, value: Any) -> RaggedValue:
        """Return the ragged tensor that ``to_wire`` encoded.

        Raises:
            ProtocolError: for any other form.
        """
        match value:
            case [list(splits), np.ndarray() as values] if all(isinstance(each, np.ndarray) for each in splits):
                return cls(splits, values)
        raise ProtocolError(f"not the wire form of a ragged tensor: {reprlib.repr(value)}")


codec.NESTED_CLASSES.fill("ragged", codec.NestedClass(RaggedValue, RaggedValue.from_wire))


# -- to variants -----------------------------------------------------------------------------------


def _encoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    if not ctx.attrs["batched_input"]:
        return [scalar_shape]
    if len(ctx.inputs) == 1:  # the rows of a dense tensor
        shape = ctx.inputs[0].shape
        return [TensorShape([shape[0] if shape.rank else None])]
    size = ctx.inputs[0].shape.with_rank(1)[0]
    return [TensorShape([None if size is None else size - 1])]


def _encode_kernel(ctx: KernelContext) -> Kernel:
    batched = ctx.attrs["batched_input"]

    def encode(*parts: Any) -> Any:
        *splits, values = parts
        if not batched:
            return RaggedValue([each.copy() for each in splits], np.array(values))
        if not splits:
            rows = [RaggedValue([], np.array(row)) for row in values]
        else:
            rows = [_row(splits[1:], values, int(a), int(b)) for a, b in zip(splits[0], splits[0][1:], strict=False)]
        out = np.empty(len(rows), object)
        out[:] = rows
        return out

    return encode


def _row(splits: Sequence[Any], values: Any, first: int, last: int) -> RaggedValue:
    """Return the part of a ragged tensor between two positions of its outermost axis."""
    row_splits = []
    for each in splits:
        part = each[first : last + 1]
        row_splits.append(part - part[0])
        first, last = int(part[0]), int(part[-1])
    return RaggedValue(row_splits, np.array(values[first:last]))


def _encoded_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    if len(op.inputs) == 1:
        splits = raw.Range(0, 0, 1) if not op.attrs["batched_input"] else _every(op.inputs[0])
    else:
        splits = op.inputs[0]
    values = op.inputs[-1]
    back = raw.RaggedTensorToVariantGradient(grad, splits, shape_tensor(values), Tvalues=values.dtype)
    return [*[None] * (len(op.inputs) - 1), back]


def _every(values: Tensor) -> Tensor:
    """Return the row splits of a tensor whose rows are all one value long."""
    return raw.Range(0, shape_tensor(values)[0] + 1, 1)


op("RaggedTensorToVariant", _encoded_shape, kernel=_encode_kernel, grad=_encoded_gradient)


# -- from variants ---------------------------------------------------------------------------------


def _decoded_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    inner, outer = ctx.attrs["input_ragged_rank"], ctx.attrs["output_ragged_rank"]
    rank = ctx.inputs[0].shape.rank
    if inner < -1 or outer < 0 or (None not in (rank,) and inner >= 0 and outer != inner + (rank or 0)):
        raise ValueError(
            f"{ctx.op}: output_ragged_rank is input_ragged_rank plus the rank of the input, got {outer}, "
            f"{inner} and {rank}"
        )
    return [*[TensorShape([None])] * outer, unknown_shape]


def _decode_kernel(ctx: KernelContext) -> Kernel:
    outer = ctx.attrs["output_ragged_rank"]
    splits_type, dtype = ctx.attrs["Tsplits"].np_dtype, ctx.outputs[-1].dtype.np_dtype

    def decode(variants: Any) -> Any:
        encoded = variants if isinstance(variants, np.ndarray) else None
        shape = () if encoded is None else encoded.shape
        rows = [variants] if encoded is None else encoded.reshape(-1).tolist()
        inner = outer - len(shape)
        for row in rows:
            if not isinstance(row, RaggedValue) or len(row.splits) != inner:
                raise InvalidArgumentError(
                    f"{ctx.op}: ragged tensors of {inner} ragged axes are expected, got {row!r:.100}"
                )
            if row.values.dtype != dtype:
                raise InvalidArgumentError(f"Expected values Tensor dtype: {dtype}, found: {row.values.dtype}")
            if encoded is not None and not row.values.ndim:
                raise InvalidArgumentError(f"{ctx.op}: values of rank 0 have no rows")
        row_splits = _even(shape)
        if encoded is not None:
            sizes = [len(row.splits[0]) - 1 if inner else len(row.values) for row in rows]
            row_splits.append(np.cumsum([0, *sizes]))
        row_splits += [_joined([row.splits[axis] for row in rows]) for axis in range(inner)]
        parts = [row.values for row in rows]
        values = np.concatenate(parts) if parts else np.zeros(0, dtype)
        outs = [each.astype(splits_type) for each in row_splits]
        return (*outs, values) if outs else values

    return decode


def _even(shape: Sequence[int]) -> list[Array]:
    """Return the row splits of the axes of an array, without those of its elements."""
    counts = itertools.accumulate(shape[:-1], operator.mul)
    return [np.arange(count + 1) * size for count, size in zip(counts, shape[1:], strict=False)]


def _joined(splits: Sequence[Any]) -> Array:
    """Return the row splits of rows one after the other."""
    ends, last = [np.zeros(1, np.int64)], 0
    for each in splits:
        ends.append(each[1:] + last)
        last += int(each[-1])
    return np.concatenate(ends)


def _decoded_gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    if grads[-1] is None:
        return [None]
    count = len(op.outputs) - 1
    return [raw.RaggedTensorToVariant(list(op.outputs[:count]), grads[-1], batched_input=op.inputs[0].shape.rank != 0)]


op("RaggedTensorFromVariant", _decoded_shapes, kernel=_decode_kernel, grad=_decoded_gradient)


# -- the gradient of the values --------------------------------------------------------------------


def _values_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    known = ctx.constant(2)
    return [unknown_shape if known is None else TensorShape(ints(known))]


def _values_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def values(variants: Any, splits: Any, shape: Any) -> Any:
        sizes = ints(shape)
        rows = variants.reshape(-1).tolist() if isinstance(variants, np.ndarray) else [variants]
        parts = [row.values.reshape(-1) for row in rows if isinstance(row, RaggedValue)]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype)
        if flat.size != np.prod(sizes):
            raise InvalidArgumentError(f"Rank or size of values: {flat.size} numbers for the shape {list(sizes)}")
        return flat.reshape(sizes)

    return values


op("RaggedTensorToVariantGradient", _values_shape, kernel=_values_kernel)

"""Slices of tensors by position: ``slice_`` and Python's square brackets.

Outputs are views. Gradients import other op files when they are called, never at import.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bool_, int32, int64
from actorsession.graph.operation import OPERATORS, Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.layout import pad
from actorsession.ops.arrays.strided import MASKS, index_text, strided_shape, strided_slice
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    constant_ints_of,
    ints,
    partial_ints,
    require_index,
    shape_operand,
    vector_length,
)

__all__ = ["slice_", "strided_slice"]


# -- Slice -----------------------------------------------------------------------------------------


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return the slice of ``input_`` that starts at ``begin`` and has ``size`` (exported as ``slice``).

    Args:
        input_: tensor of rank n.
        begin: first position per axis, int32 or int64 of shape [n].
        size: extent per axis, of the dtype of ``begin``; -1 extends to the end.

    Returns:
        A tensor of shape ``size``.
    """
    tensor = convert_to_tensor(input_)
    graph = tensor.graph
    with graph.name_scope(name or "Slice") as scope:
        starts, sizes = shape_operand(begin, graph, "begin"), shape_operand(size, graph, "size")
        if starts.dtype is not sizes.dtype:
            # A plain list with an int64 tensor.
            starts, sizes = (raw.Cast(t, DstT=int64) if t.dtype is int32 else t for t in (starts, sizes))
        return raw.Slice(tensor, starts, sizes, name=scope)


def _infer_slice(ctx: InferContext) -> list[TensorShape]:
    require_index(ctx, 1, 2, rank=1)
    value, begin, size = ctx.inputs
    starts, sizes = partial_ints(ctx, 1), partial_ints(ctx, 2)
    length = value.shape.rank
    for spec in (begin, size):
        known = vector_length(spec)
        if length is not None and known not in (None, length):
            raise ValueError(f"Slice: begin and size have one entry per axis of {value.shape}, got {known}")
        length = known if length is None else length
    if length is None:
        return [unknown_shape]
    dims = value.shape.sizes or (None,) * length
    begins: Sequence[int | None] = starts or (None,) * length
    extents: Sequence[int | None] = sizes or (None,) * length
    out = [_box_dim(*entry) for entry in zip(dims, begins, extents, strict=True)]
    return [TensorShape(out)]


def _box_dim(dim: Dim, begin: int | None, size: int | None) -> Dim:
    """Return the static extent of one axis of a slice."""
    if begin is not None and (begin < 0 or (dim is not None and begin > dim)):
        raise ValueError(f"Slice: begin {begin} is not in [0, {dim}]")
    if size is None:
        return None
    if size == -1:
        return None if dim is None or begin is None else dim - begin
    if size < 0 or (dim is not None and (begin or 0) + size > dim):
        raise ValueError(f"Slice: begin {begin} and size {size} do not fit a dimension of {dim}")
    return size


def _box(shape: Ints, begin: Ints, size: Ints) -> tuple[slice, ...]:
    """Return the numpy index of a slice that must be inside ``shape``."""
    if not len(shape) == len(begin) == len(size):
        raise InvalidArgumentError(
            f"begin {list(begin)} and size {list(size)} need one entry per axis of {list(shape)}"
        )
    out = []
    for dim, first, extent in zip(shape, begin, size, strict=True):
        last = dim if extent == -1 else first + extent
        if not 0 <= first <= last <= dim:
            raise InvalidArgumentError(
                f"begin {list(begin)} and size {list(size)} reach outside the shape {list(shape)}"
            )
        out.append(slice(first, last))
    return tuple(out)


def _fixed_box(ctx: KernelContext) -> tuple[slice, ...] | None:
    """Return the index if it is statically known."""
    begin, size = constant_ints(ctx, 1), constant_ints(ctx, 2)
    if begin is None or size is None or not ctx.inputs[0].shape.is_fully_defined():
        return None
    return _box(ctx.inputs[0].shape.as_tuple(), begin, size)


def _slice_kernel(ctx: KernelContext) -> Kernel:
    index = _fixed_box(ctx)
    if index is not None:
        return lambda x, _begin, _size: x[index]
    begin, size = constant_ints(ctx, 1), constant_ints(ctx, 2)
    if begin is not None and size is not None:
        return lambda x, _begin, _size: x[_box(x.shape, begin, size)]
    return lambda x, begin, size: x[_box(x.shape, ints(begin), ints(size))]


def _emit_slice(ctx: KernelContext, args: Sequence[str]) -> str | None:
    index = _fixed_box(ctx)
    return f"{args[0]}[{index_text(index)}]" if index else None


def _slice_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    value, begin = op.inputs[:2]
    if value.shape.is_fully_defined() and grad.shape.is_fully_defined():
        starts = constant_ints_of(begin)
        if starts is not None:
            ends = zip(value.shape.as_tuple(), starts, grad.shape.as_tuple(), strict=True)
            paddings = [[b, d - b - s] for d, b, s in ends]
            return [pad(grad, np.reshape(np.array(paddings, np.int32), (-1, 2))), None, None]
    behind = shape(value, out_type=begin.dtype) - begin - shape(grad, out_type=begin.dtype)
    return [pad(grad, stack([begin, behind], axis=1)), None, None]


op("Slice", _infer_slice, kernel=_slice_kernel, grad=_slice_gradient, emit=_emit_slice, aliases=True)


# -- square brackets -------------------------------------------------------------------------------


class _Bounds:
    """The sparse form of a Python index, collected entry by entry."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = dict(MASKS)

    def add(self, entry: Any) -> None:
        """Append one entry of the index."""
        bit = 1 << len(self.begin)
        if isinstance(entry, slice):
            self.masks["begin_mask"] |= bit * (entry.start is None)
            self.masks["end_mask"] |= bit * (entry.stop is None)
            self._append(entry.start, entry.stop, 1 if entry.step is None else entry.step)
        elif entry is Ellipsis:
            self.masks["ellipsis_mask"] |= bit
            self._append(0, 0, 1)
        elif entry is None:
            self.masks["new_axis_mask"] |= bit
            self._append(0, 0, 1)
        else:
            self.masks["shrink_axis_mask"] |= bit
            position = _bound(entry)
            # The end is ignored where the axis is dropped; for a tensor it does not justify an addition.
            self._append(position, position + 1 if isinstance(position, int) else position, 1)

    def _append(self, begin: Any, end: Any, step: Any) -> None:
        for entries, bound in ((self.begin, begin), (self.end, end), (self.strides, step)):
            entries.append(0 if bound is None else _bound(bound))

    def vectors(self) -> list[list[Any]]:
        """Return begin, end and strides."""
        return [self.begin, self.end, self.strides]


def _bound(value: Any) -> Any:
    """Return a bound as an int or a scalar integer tensor."""
    if hasattr(value, "_as_graph_element"):
        tensor = convert_to_tensor(value)
        if tensor.dtype.is_integer and tensor.shape.rank in (None, 0):
            return tensor
    elif not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and scalar int32/int64 tensors are "
        f"valid indices, got {value!r:.100}"
    )


def _is_mask(index: Any) -> bool:
    """Return whether an index is a mask: one bool, or a bool tensor or array."""
    if isinstance(index, (bool, np.ndarray)):
        return isinstance(index, bool) or index.dtype == np.bool_
    return hasattr(index, "_as_graph_element") and getattr(index, "dtype", None) is bool_


def _getitem(value: Any, index: Any) -> Tensor:
    """Return ``value[index]`` with Python's meaning; a mask selects as in ``boolean_mask``."""
    if _is_mask(index):
        from actorsession.ops.arrays.masks import boolean_mask

        return boolean_mask(value, index)
    tensor = convert_to_tensor(value)
    bounds = _Bounds()
    for entry in index if isinstance(index, tuple) else (index,):
        bounds.add(entry)
    dtype = int64 if any(_is_int64(b) for v in bounds.vectors() for b in v) else int32
    with tensor.graph.name_scope("strided_slice") as scope:
        inputs = [_vector(entries, dtype, tensor) for entries in bounds.vectors()]
        out = raw.StridedSlice(tensor, *inputs, **bounds.masks, name=scope)
    if tensor.shape.rank is not None and not out.shape.is_fully_defined():
        # To the shape function, a vector with one unknown bound is unknown as a whole; here each entry is
        # still separate.
        known = [[b if isinstance(b, int) else None for b in v] for v in bounds.vectors()]
        out.set_shape(strided_shape(tensor.shape, len(bounds.begin), known, bounds.masks))
    return out


def _is_int64(bound: Any) -> bool:
    return isinstance(bound, Tensor) and bound.dtype is int64


def _vector(entries: Sequence[Any], dtype: DType, tensor: Tensor) -> Tensor:
    graph = graph_of(tensor)
    if all(isinstance(entry, int) for entry in entries):
        return constant(np.array(entries, dtype.np_dtype), name="stack", graph=graph)
    parts = [
        raw.Cast(entry, DstT=dtype)
        if isinstance(entry, Tensor) and entry.dtype is not dtype
        else convert_to_tensor(entry, dtype, graph=graph)
        for entry in entries
    ]
    return raw.Pack(parts, name="stack")


OPERATORS.fill("getitem", _getitem)

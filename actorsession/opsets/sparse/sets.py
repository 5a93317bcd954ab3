"""Sets, one per row of a tensor: sizes, and unions, intersections and differences of two.

Owns ``SetSize``, ``DenseToDenseSetOperation``, ``DenseToSparseSetOperation`` and
``SparseToSparseSetOperation``. The last axis of a tensor contains the elements of sets; the namespace
``sets`` has the functions under TensorFlow's names. None of the ops has a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, vector_length
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue, parts_of
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, require_rank, sparse_shapes

__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]

_OPERATIONS = ("a-b", "b-a", "intersection", "union")


# -- public functions ------------------------------------------------------------------------------


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """Return the number of different elements of each set.

    Args:
        a: sparse tensor of integers or strings; its last axis contains the elements of sets.
        validate_indices: whether unsorted entries are an error.

    Returns:
        int32, of the shape of ``a`` without its last axis.

    Raises:
        TypeError: for anything but a sparse tensor.
    """
    sparse = _either(a, "a")
    if not isinstance(sparse, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {sparse!r:.100}.")
    return raw.SetSize(*parts_of(sparse), validate_indices=bool(validate_indices))


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the union of two sets, for each pair of rows.

    Args:
        a: tensor or sparse tensor of integers or strings, with at least two axes.
        b: another of the same dtype, with the same axes except for the last.
        validate_indices: whether unsorted entries are an error.

    Returns:
        A sparse tensor with sorted elements.

    Raises:
        TypeError: for another dtype, or different dtypes.
        ValueError: for shapes that do not fit together.
    """
    return _combined(a, b, "union", validate_indices)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the intersection of two sets, for each pair of rows; see ``set_union``."""
    return _combined(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Return the difference of two sets, for each pair of rows.

    Args:
        a: as in ``set_union``.
        b: as in ``set_union``.
        aminusb: whether to return ``a`` minus ``b`` rather than ``b`` minus ``a``.
        validate_indices: as in ``set_union``.
    """
    return _combined(a, b, "a-b" if aminusb else "b-a", validate_indices)


def _either(value: Any, name: str) -> Tensor | SparseTensor:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    return value if isinstance(value, SparseTensor) else convert_to_tensor(value, name=name)


def _combined(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    first, second = _either(a, "a"), _either(b, "b")
    if first.dtype is not second.dtype:
        raise TypeError(f"Types don't match, {first.dtype.name} vs {second.dtype.name}.")
    if isinstance(first, SparseTensor) and isinstance(second, Tensor):
        # There is no op for this order of operands; the reverse order gives the same result.
        first, second = second, first
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    attrs: dict[str, Any] = {"set_operation": operation, "validate_indices": bool(validate)}
    if isinstance(second, Tensor):
        parts = raw.DenseToDenseSetOperation(first, second, **attrs)
    elif isinstance(first, Tensor):
        parts = raw.DenseToSparseSetOperation(first, *parts_of(second), **attrs)
    else:
        parts = raw.SparseToSparseSetOperation(*parts_of(first), *parts_of(second), **attrs)
    return SparseTensor(*parts)


# -- shapes ----------------------------------------------------------------------------------------


def _size_shape(ctx: InferContext) -> list[TensorShape]:
    return [_outer(ctx, 0, dense=False)]


def _outer(ctx: InferContext, first: int, dense: bool) -> TensorShape:
    """Return the shape of sets without their elements."""
    if dense:
        shape = ctx.inputs[first].shape
        if shape.rank is not None and shape.rank < 2:
            raise ValueError(f"{ctx.op}: sets have at least two axes, got shape {shape}")
        return unknown_shape if shape.rank is None else shape[:-1]
    require_rank(ctx, {first: 2, first + 1: 1, first + 2: 1})
    known, rank = constant_ints(ctx, first + 2), vector_length(ctx.inputs[first + 2])
    if rank is not None and rank < 2:
        raise ValueError(f"{ctx.op}: sets have at least two axes, got {rank}")
    if known is not None:
        return TensorShape(known[:-1])
    return unknown_shape if rank is None else TensorShape([None] * (rank - 1))


def _combined_shapes(ctx: InferContext) -> list[TensorShape]:
    if ctx.attrs["set_operation"] not in _OPERATIONS:
        raise ValueError(
            f"{ctx.op}: set_operation is one of {', '.join(_OPERATIONS)}, got {ctx.attrs['set_operation']!r}"
        )
    dense = _dense(ctx.op)
    outer = _outer(ctx, 0, dense[0])
    other = _outer(ctx, 1 if dense[0] else 3, dense[1])
    if not outer.is_compatible_with(other):
        raise ValueError(f"{ctx.op}: sets have the same axes but for the last, got {outer} and {other}")
    shape = outer.merge_with(other)
    return sparse_shapes(None if shape.rank is None else shape.rank + 1)


def _dense(op: str) -> tuple[bool, bool]:
    """Return for each operand of an op whether it is dense."""
    return op.startswith("Dense"), "ToDense" in op


# -- kernels ---------------------------------------------------------------------------------------


class _Sets:
    """Sets by the position of their row.

    Args:
        outer: the shape of the tensor without its last axis.
        rows: for each element the index of its row.
        values: the elements.
    """

    def __init__(self, outer: tuple[int, ...], rows: Array, values: Any) -> None:
        self.outer = outer
        self._members: dict[int, set[Any]] = {}
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            self._members.setdefault(row, set()).add(value)

    def of(self, row: int) -> set[Any]:
        """Return the elements of a row."""
        return self._members.get(row, set())


def _from_dense(op: str, values: Any) -> _Sets:
    if values.ndim < 2:
        raise InvalidArgumentError(f"{op}: sets have at least two axes, got {list(values.shape)}")
    outer = values.shape[:-1]
    count = int(np.prod(outer, dtype=np.int64))
    return _Sets(outer, np.repeat(np.arange(count), values.shape[-1]), values.reshape(-1))


def _from_sparse(op: str, parts: Sequence[Any], validate: bool) -> _Sets:
    indices, values, shape = parts
    dims = checked_dims(shape, op)
    if len(dims) < 2:
        raise InvalidArgumentError(f"{op}: sets have at least two axes, got shape {list(dims)}")
    check_entries(indices, len(values), dims, op)
    if validate and len(indices) > 1:
        _check_order(op, indices)
    rows = np.zeros(len(indices), np.int64)
    for axis, extent in enumerate(dims[:-1]):
        rows = rows * extent + indices[:, axis]
    return _Sets(dims[:-1], rows, values)


def _check_order(op: str, indices: Array) -> None:
    changes = np.diff(indices, axis=0)
    # The first coordinate that changes must increase.
    first = changes[np.arange(len(changes)), (changes != 0).argmax(1)]
    if not (first > 0).all():
        i = int((first <= 0).argmax()) + 1
        what = "is repeated" if first[i - 1] == 0 else "is out of order"
        raise InvalidArgumentError(
            f"{op}: indices[{i}] = {indices[i].tolist()} {what}. Many sparse ops require sorted indices: "
            "use sparse_reorder"
        )


def _size_kernel(ctx: KernelContext) -> Kernel:
    validate = ctx.attrs["validate_indices"]

    def sizes(indices: Array, values: Any, shape: Array) -> Any:
        sets = _from_sparse(ctx.op, (indices, values, shape), validate)
        count = int(np.prod(sets.outer, dtype=np.int64))
        counts = np.array([len(sets.of(row)) for row in range(count)], np.int32)
        return counts.reshape(sets.outer)

    return sizes


def _combined_kernel(ctx: KernelContext) -> Kernel:
    op, validate = ctx.op, ctx.attrs["validate_indices"]
    dense, dtype = _dense(op), ctx.outputs[1].dtype
    combine: Callable[[set[Any], set[Any]], set[Any]] = {
        "a-b": set.difference,
        "b-a": lambda a, b: b - a,
        "intersection": set.intersection,
        "union": set.union,
    }[ctx.attrs["set_operation"]]

    def combined(*operands: Any) -> Any:
        split = 1 if dense[0] else 3
        a, b = (
            _from_dense(op, *part) if is_dense else _from_sparse(op, part, validate)
            for part, is_dense in zip((operands[:split], operands[split:]), dense, strict=True)
        )
        if a.outer != b.outer:
            raise InvalidArgumentError(
                f"{op}: sets have the same axes but for the last, got {list(a.outer)} and {list(b.outer)}"
            )
        count = int(np.prod(a.outer, dtype=np.int64))
        rows: list[list[Any]] = [sorted(combine(a.of(row), b.of(row))) for row in range(count)]
        return _as_sparse(rows, a.outer, object if dtype is string else dtype.np_dtype)

    return combined


def _as_sparse(rows: list[list[Any]], outer: tuple[int, ...], dtype: Any) -> Any:
    """Return the components of a sparse tensor with a set in each row."""
    sizes = [len(row) for row in rows]
    total = sum(sizes)
    which = np.repeat(np.arange(len(rows)), sizes)
    places = np.empty((total, len(outer) + 1), np.int64)
    places[:, :-1] = np.stack(np.unravel_index(which, outer), 1) if total else 0
    places[:, -1] = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])
    values = np.empty(total, dtype)
    values[:] = [value for row in rows for value in row]
    return places, values, np.array([*outer, max(sizes, default=0)], np.int64)


op("SetSize", _size_shape, kernel=_size_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(2,))
for _name in ("DenseToDense", "DenseToSparse", "SparseToSparse"):
    op(f"{_name}SetOperation", _combined_shapes, kernel=_combined_kernel, grad=NOT_DIFFERENTIABLE)

"""Predicates for tensors, and conversions of values to tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorsession import ops, opsets
from actorsession.graph.dtypes import DType, float32
from actorsession.graph.operation import Tensor
from actorsession.ops import IndexedSlices, Variable
from actorsession.opsets import SparseTensor

__all__ = [
    "assert_proper_iterable",
    "assert_same_float_dtype",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "is_numeric_tensor",
    "is_symbolic_tensor",
    "is_tensor",
    "newaxis",
]

newaxis = None
"""Adds an axis of length 1 when used as an index."""


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor, a sparse tensor, a variable, or indexed slices."""
    return isinstance(x, (Tensor, SparseTensor, Variable, IndexedSlices))


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether a value is a tensor, a sparse tensor or indexed slices; a variable is not."""
    return isinstance(tensor, (Tensor, SparseTensor, IndexedSlices))


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether a value is a tensor of numbers, not of bools or strings."""
    return is_tensor(tensor) and tensor.dtype.base_dtype.kind in "iufc"


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: DType | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """Return a value as a tensor, or indexed slices unchanged.

    Args:
        value: anything that ``convert_to_tensor`` accepts, or ``IndexedSlices``.
        dtype: element type.
        name: the name of a constant.

    Raises:
        ValueError: for ``IndexedSlices`` of another dtype.
    """
    kept: Tensor | IndexedSlices = _as_is(value, IndexedSlices, dtype, name)
    return kept


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DType | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """Return a value as a tensor, or a sparse tensor unchanged.

    The arguments are those of ``convert_to_tensor_or_indexed_slices``.

    Raises:
        RuntimeError: for a sparse tensor of another dtype.
    """
    if isinstance(value, opsets.SparseTensorValue):
        value = SparseTensor.from_value(value)
    try:
        kept: Tensor | SparseTensor = _as_is(value, SparseTensor, dtype, name)
    except ValueError as exc:
        if not isinstance(value, SparseTensor):
            raise
        raise RuntimeError(str(exc)) from None
    return kept


def _as_is(value: Any, kind: type[Any], dtype: DType | None, name: str | None) -> Any:
    if not isinstance(value, kind):
        return ops.convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype.base_dtype is not dtype.base_dtype:
        raise ValueError(f"{dtype.name} was requested, but {value!r:.100} has {value.dtype.name}")
    return value


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: DType | None = None) -> DType:
    """Return the common floating type of tensors.

    Args:
        tensors: tensors; ``None`` among them is ignored.
        dtype: the type that they should have.

    Returns:
        The type; float32 if neither a tensor nor a type is given.

    Raises:
        ValueError: if they differ, or the type is not floating.
    """
    for tensor in () if tensors is None else tensors:
        if tensor is None:
            continue
        own = tensor.dtype.base_dtype
        if dtype is not None and own is not dtype.base_dtype:
            raise ValueError(f"{tensor!r:.100} must have dtype {dtype.name}, but has {own.name}")
        dtype = own
    if dtype is None:
        return float32
    if not dtype.is_floating:
        raise ValueError(f"expected a floating-point type, got {dtype.name}")
    return dtype


def assert_proper_iterable(values: Any) -> None:
    """Refuse a single value where an iterable of values is expected.

    Raises:
        TypeError: for a tensor, a string or an array, and for a value that is not iterable.
    """
    if is_tensor(values) or isinstance(values, (str, bytes)) or hasattr(values, "__array__"):
        raise TypeError(f"expected several values, got one: {type(values).__name__}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"expected several values, got {type(values).__name__}: {values!r:.100}")

"""Descriptions of the types of values: tensors, sparse tensors and slices of tensors.

A description says which values are acceptable before there is one. Nothing of the library needs them;
programs pass them around and compare them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from actorsession.graph.dtypes import as_dtype, float32, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, as_shape
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue

__all__ = ["IndexedSlicesSpec", "SparseTensorSpec", "TensorSpec", "TypeSpec", "spec_of"]


class TypeSpec(ABC):
    """The description of the type of a value; equal ones have equal parts."""

    @property
    @abstractmethod
    def value_type(self) -> type[Any]:
        """The class of the values."""

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """The types and shapes of which the description consists, in order."""

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or all that another description says, may be what this one says.

        Args:
            spec_or_value: a description or a value; anything that has no description is not compatible.
        """
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        if other is None or type(other) is not type(self):
            return False
        return all(map(_fits, self._parts(), other._parts()))

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Return the description of what both describe, with the shape that both have in common.

        Raises:
            ValueError: if they differ in more than their shapes.
        """
        if type(other) is type(self):
            pairs = list(zip(self._parts(), other._parts(), strict=True))
            if all(a == b or isinstance(a, TensorShape) for a, b in pairs):
                return type(self)(*[_common(a, b) for a, b in pairs])
        raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return type(self), *map(_plain, self._parts())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._parts()))})"


def _fits(expected: Any, actual: Any) -> bool:
    return expected.is_compatible_with(actual) if isinstance(expected, TensorShape) else expected == actual


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, TensorShape):
        return one.most_specific_compatible_shape(other)
    return one


def _plain(part: Any) -> Any:
    """Return a part that is equal to others of the same contents, also a shape that is not known."""
    if not isinstance(part, TensorShape):
        return part
    return None if part.rank is None else tuple(part.as_list())


class TensorSpec(TypeSpec):
    """The description of a tensor.

    Args:
        shape: static shape.
        dtype: element type.
        name: of the tensor, or ``None``.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return the description with the shape and type of another one.

        Args:
            spec: has a ``shape``, a ``dtype`` and perhaps a ``name``.
            name: another name.
        """
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the description of a tensor.

        Args:
            tensor: the tensor.
            name: another name than that of its operation.

        Raises:
            ValueError: for anything else.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or ``None``."""
        return self._name

    @property
    def value_type(self) -> type[Any]:
        """The class of tensors."""
        return Tensor

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:  # the name does not count
        """Return whether a tensor or a description has the type and a possible shape.

        Args:
            spec_or_tensor: the tensor or description; anything else is not compatible.
        """
        if not isinstance(spec_or_tensor, (Tensor, TensorSpec)):
            return False
        same = self._dtype.is_compatible_with(spec_or_tensor.dtype)
        return same and self._shape.is_compatible_with(spec_or_tensor.shape)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec(TypeSpec):
    """The description of a sparse tensor.

    Args:
        shape: static shape of the whole tensor.
        dtype: element type of the entries.
    """

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """Return the description of a sparse tensor, or of the value of one.

        Raises:
            TypeError: for anything else.
        """
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            array: Any = value.values
            dtype = as_dtype(array.dtype) if hasattr(array, "dtype") else float32
            return cls([int(size) for size in value.dense_shape], dtype)
        raise TypeError(f"expected a SparseTensor or SparseTensorValue, got {value!r:.100}")

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The element type of the entries."""
        return self._dtype

    @property
    def value_type(self) -> type[Any]:
        """The class of sparse tensors."""
        return SparseTensor

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype


class IndexedSlicesSpec(TypeSpec):
    """The description of some rows of a larger tensor.

    Args:
        shape: static shape of the whole tensor.
        dtype: element type of the rows.
        indices_dtype: element type of their positions.
        dense_shape_dtype: element type of the whole tensor's shape, ``None`` if there is none.
        indices_shape: static shape of the positions; a vector of unknown size if left out.
    """

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        indices_dtype: Any = int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtypes = as_dtype(dtype), as_dtype(indices_dtype)
        self._of_shape = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape([None] if indices_shape is None else indices_shape)

    @property
    def value_type(self) -> type[Any]:
        """The class of slices."""
        return IndexedSlices

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, *self._dtypes, self._of_shape, self._indices_shape


def spec_of(value: Any) -> TypeSpec | None:
    """Return the description of a value, ``None`` if it has none."""
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        return SparseTensorSpec.from_value(value)
    if isinstance(value, IndexedSlices):
        of_shape = None if value.dense_shape is None else value.dense_shape.dtype
        return IndexedSlicesSpec(value.shape, value.dtype, value.indices.dtype, of_shape, value.indices.shape)
    return None

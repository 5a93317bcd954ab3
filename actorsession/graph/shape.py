"""Static shapes: what is known of a tensor's dimensions before a step runs.

Owns ``TensorShape`` and the arithmetic of partly known shapes. A dimension is an int or ``None``; a
shape of unknown rank has ``dims None``. Shapes are immutable values. Every room uses them; the
module imports nothing of ours.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, Union

import numpy as np

__all__ = ["ShapeLike", "TensorShape", "as_shape", "broadcast_shapes", "merge_all", "unknown_shape"]

Dim: TypeAlias = int | None
ShapeLike: TypeAlias = Union["TensorShape", Sequence[Any], int, None]


class TensorShape:
    """The static shape of a tensor.

    Args:
        dims: ``None`` for unknown rank, else a sequence of ints and ``None``; another shape is
            copied, and an int is the one dimension of a vector.

    Raises:
        TypeError: for a dimension that is neither integer nor ``None``.
        ValueError: for a negative dimension (``-1`` is not a wildcard here; write ``None``).
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        if dims is None:
            self._dims: tuple[Dim, ...] | None = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, (int, np.integer)):
            self._dims = (_dimension(dims),)
        else:
            self._dims = tuple(_dimension(d) for d in dims)

    @property
    def dims(self) -> tuple[Dim, ...] | None:
        """The dimensions, ``None`` where unknown; ``None`` altogether for unknown rank."""
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if known."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def is_fully_defined(self) -> bool:
        """Whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    @property
    def num_elements(self) -> int | None:
        """The product of all dimensions, if all are known."""
        if self._dims is None:
            return None
        total = 1
        for dim in self._dims:
            if dim is None:
                return None
            total *= dim
        return total

    def as_list(self) -> list[Dim]:
        """The dimensions as a list.

        Raises:
            ValueError: if the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on a shape of unknown rank")
        return list(self._dims)

    def as_tuple(self) -> tuple[int, ...]:
        """The dimensions of a fully defined shape.

        Raises:
            ValueError: if some dimension is unknown.
        """
        if self._dims is None or None in self._dims:
            raise ValueError(f"shape {self} is not fully defined")
        return tuple(d for d in self._dims if d is not None)

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether some full shape fits both."""
        theirs = as_shape(other)._dims
        mine = self._dims
        if mine is None or theirs is None:
            return True
        return len(mine) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
        )

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """The shape that knows what either knows.

        Raises:
            ValueError: if the two contradict each other.
        """
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"shapes {self} and {other} are not compatible")
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape(
            [b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)]
        )

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """The dimensions of both in a row; unknown if either is of unknown rank."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have ``rank`` dimensions.

        Raises:
            ValueError: if it has another rank.
        """
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape, if it may have ``rank`` dimensions or more.

        Raises:
            ValueError: if it has fewer.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"shape {self} must have rank at least {rank}")
        return self

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Refuses a shape that contradicts this one.

        Raises:
            ValueError: if no full shape fits both.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"shapes {self} and {as_shape(other)} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Refuses to be unknown in part.

        Raises:
            ValueError: if a dimension is unknown.
        """
        if not self.is_fully_defined:
            raise ValueError(f"shape {self} is not fully defined")

    def __len__(self) -> int:
        return len(self.as_list())

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.as_list())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return TensorShape(None if self._dims is None else self._dims[index])
        return None if self._dims is None else self._dims[index]

    def __eq__(self, other: object) -> bool:
        if other is not None and not isinstance(other, (TensorShape, list, tuple)):
            return NotImplemented
        try:
            return self._dims == as_shape(other)._dims
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        inner = ", ".join("?" if d is None else str(d) for d in self._dims)
        return f"({inner},)" if len(self._dims) == 1 else f"({inner})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"


def _dimension(value: Any) -> Dim:
    if value is None:
        return None
    try:
        dim = operator.index(value)
    except TypeError:
        raise TypeError(f"a dimension is an integer or None, got {value!r}") from None
    if dim < 0:
        raise ValueError(f"a dimension is at least 0 (None if unknown), got {dim}")
    return dim


unknown_shape = TensorShape(None)
scalar_shape = TensorShape(())


def as_shape(value: ShapeLike) -> TensorShape:
    """Makes a shape of ``None``, an int, a sequence or a shape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def broadcast_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """The static result of numpy broadcasting.

    Raises:
        ValueError: if the shapes cannot be broadcast, whatever the unknown dimensions are.
    """
    if a._dims is None or b._dims is None:
        return unknown_shape
    if a._dims == b._dims and None not in a._dims:
        return a
    rank = max(len(a._dims), len(b._dims))
    left = (1,) * (rank - len(a._dims)) + a._dims
    right = (1,) * (rank - len(b._dims)) + b._dims
    dims: list[Dim] = []
    for x, y in zip(left, right, strict=True):
        if x == 1:
            dims.append(y)
        elif y == 1 or x == y:
            dims.append(x)
        elif x is None or y is None:
            # A known dimension above 1 wins: the unknown one must be 1 or the same.
            dims.append(y if x is None else x)
        else:
            raise ValueError(f"shapes {a} and {b} cannot be broadcast together")
    return TensorShape(dims)


def merge_all(shapes: Sequence[TensorShape]) -> TensorShape:
    """Merges shapes that must all be the same.

    Raises:
        ValueError: if two contradict each other.
    """
    merged = unknown_shape
    for shape in shapes:
        merged = merged.merge_with(shape)
    return merged

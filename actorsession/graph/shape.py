"""Static shapes: the tensor dimensions that are known before a step runs.

This module holds ``TensorShape`` and the arithmetic of partly known shapes. A dimension is an int or
``None``; a shape of unknown rank has ``sizes None``. Shapes are immutable values. Every package uses them.

In programs of TensorFlow 1 a shape is a sequence of ``Dimension`` objects, as in ``x.shape[0].value``; in
later ones it is a sequence of ints. ``use_dimensions`` chooses one for the process, as in TensorFlow. The
choice affects only the shapes that tensors and variables show to programs, which ``shown`` makes of the
internal ones. Code that computes with shapes uses ``spec.shape``, or ``sizes``, which always have ints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, Union

import numpy as np

from actorsession.graph.dimension import Dim, Dimension, size_of
from actorsession.graph.extension import PROTO_VIEWS

__all__ = [
    "Dim",
    "ShapeLike",
    "ShapeOfDimensions",
    "TensorShape",
    "as_shape",
    "broadcast_shapes",
    "clash",
    "dimension_at_index",
    "dimensions_are_used",
    "merge_all",
    "shown",
    "unknown_shape",
    "use_dimensions",
]

ShapeLike: TypeAlias = Union["TensorShape", Dimension, Sequence[Any], int, None]


class TensorShape:
    """The static shape of a tensor.

    Args:
        dims: ``None`` for unknown rank, else a sequence of ints and ``None``; another shape or a
            ``TensorShapeProto`` is copied, and an int is the one dimension of a vector.

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
        elif isinstance(dims, (int, np.integer, Dimension)):
            self._dims = (size_of(dims),)
        else:
            self._dims = _of_message(dims) if hasattr(dims, "unknown_rank") else _sizes(dims)

    @property
    def sizes(self) -> tuple[Dim, ...] | None:
        """The dimensions as ints, ``None`` where unknown; ``None`` altogether for unknown rank."""
        return self._dims

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions as objects; ``None`` for unknown rank."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if known."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def is_fully_defined(self) -> bool:
        """Return whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    def num_elements(self) -> int | None:
        """Return the product of all dimensions, if all are known."""
        if self._dims is None:
            return None
        total = 1
        for dim in self._dims:
            if dim is None:
                return None
            total *= dim
        return total

    def as_list(self) -> list[Dim]:
        """Return the dimensions as a list.

        Raises:
            ValueError: if the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape: its rank is unknown")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Return the shape as TensorFlow's ``TensorShapeProto``."""
        return PROTO_VIEWS.get("TensorShape.as_proto")(self)

    def as_tuple(self) -> tuple[int, ...]:
        """Return the dimensions of a fully defined shape.

        Raises:
            ValueError: if some dimension is unknown.
        """
        if self._dims is None or None in self._dims:
            raise ValueError(f"Shape {self} is not fully defined")
        return tuple(d for d in self._dims if d is not None)

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether some full shape fits both."""
        mine = self._dims
        # As in most checks.
        if mine == other or (mine is None and isinstance(other, (tuple, TensorShape))):
            return True
        theirs = as_shape(other)._dims
        if mine is None or theirs is None:
            return True
        return len(mine) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
        )

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Return the shape with the known dimensions of both.

        Raises:
            ValueError: if the two contradict each other.
        """
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None:
            return self._like(other)
        if other._dims is None:
            return self
        return self._like([b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)])

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Return the common part of two shapes: dimensions in which they differ are unknown."""
        mine, theirs = self._dims, as_shape(other)._dims
        if mine is None or theirs is None or len(mine) != len(theirs):
            return self._like(None)
        return self._like([a if a == b else None for a, b in zip(mine, theirs, strict=True)])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Return the concatenated dimensions of both; unknown if either is of unknown rank."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return self._like(None)
        return self._like(self._dims + other._dims)

    __add__ = __concat__ = concatenate

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return self._like(as_shape(other).concatenate(self))

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape, known to have ``rank`` dimensions.

        Raises:
            ValueError: if it has another rank.
        """
        self.assert_has_rank(rank)
        return self._like([None] * rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape, if it may have ``rank`` dimensions or more.

        Raises:
            ValueError: if it has fewer.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape, if it may have ``rank`` dimensions or fewer.

        Raises:
            ValueError: if it has more.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Refuse this shape if it has another rank.

        Raises:
            ValueError: if the rank is known, and is another.
        """
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Refuse a shape of another rank.

        Raises:
            ValueError: if both ranks are known and differ.
        """
        theirs = as_shape(other)
        if self.rank is not None and theirs.rank not in (None, self.rank):
            raise ValueError(f"Shapes {self} and {theirs} must have the same rank")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Refuse a shape that contradicts this one.

        Raises:
            ValueError: if no full shape fits both.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Refuse this shape if a dimension is unknown.

        Raises:
            ValueError: if a dimension is unknown.
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __len__(self) -> int:
        return len(self.as_list())

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.as_list())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like(_of_unknown(index) if self._dims is None else self._dims[index])
        return None if self._dims is None else self._dims[index]

    def _like(self, dims: ShapeLike) -> TensorShape:
        """Return a shape of the same class."""
        return dims if type(dims) is type(self) else type(self)(dims)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        try:
            theirs: Any = other
            return self._dims == TensorShape(theirs)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        unknown = "?" if _dimensions_are_used else "None"
        inner = ", ".join([unknown if d is None else str(d) for d in self._dims])
        return f"({inner},)" if len(self._dims) == 1 else f"({inner})"

    def __repr__(self) -> str:
        if _dimensions_are_used:
            return f"TensorShape({self.dims})"
        return f"TensorShape({None if self._dims is None else list(self._dims)})"


def _sizes(dims: Sequence[Any]) -> tuple[Dim, ...]:
    return tuple([size_of(d) for d in dims])


def _of_message(proto: Any) -> tuple[Dim, ...] | None:
    """Return the dimensions in TensorFlow's message, where -1 denotes an unknown one."""
    if proto.unknown_rank:
        return None
    return _sizes([None if dim.size == -1 else dim.size for dim in proto.dim])


def _of_unknown(part: slice) -> list[None] | None:
    """Return the dimensions of a slice of a shape of unknown rank, if their number follows from the slice."""
    start, stop = part.start or 0, part.stop
    if stop is None or part.step is not None or start < 0 or stop < 0:
        return None
    return [None] * max(0, stop - start)


class ShapeOfDimensions(TensorShape):
    """A shape whose members are ``Dimension`` objects; see ``use_dimensions``."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self.as_list())

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return item if isinstance(item, TensorShape) else Dimension(item)


# What programs print is the name that the class has in TensorFlow.
ShapeOfDimensions.__name__ = TensorShape.__name__


_dimensions_are_used = False


def use_dimensions(used: bool) -> None:
    """Choose the type of the dimensions in shapes of tensors and variables, for the whole process.

    Args:
        used: whether they are ``Dimension`` objects, as in TensorFlow 1, and not ints and ``None``.
    """
    global _dimensions_are_used
    _dimensions_are_used = used


def dimensions_are_used() -> bool:
    """Return the choice of ``use_dimensions``; ints and ``None`` by default."""
    return _dimensions_are_used


def shown(shape: TensorShape) -> TensorShape:
    """Return a shape as it is shown to programs."""
    return ShapeOfDimensions(shape) if _dimensions_are_used else shape


def clash(one: TensorShape, other: TensorShape) -> str:
    """Return a sentence that says where two shapes that should be the same are not."""
    if one.rank != other.rank:
        return f"Shapes must be equal rank, but are {one.rank} and {other.rank}"
    pairs = enumerate(zip(one.sizes or (), other.sizes or (), strict=True))
    axis, sizes = next((i, p) for i, p in pairs if None not in p and p[0] != p[1])
    shown = [str(["?" if s is None else s for s in each.sizes or ()]) for each in (one, other)]
    both = " and ".join(text.replace(" ", "").replace("'", "") for text in shown)
    return f"Dimension {axis} in both shapes must be equal, but are {sizes[0]} and {sizes[1]}. Shapes are {both}."


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return one dimension of a shape as an object, whatever shapes consist of.

    Args:
        shape: a shape; of an unknown rank each dimension is unknown.
        index: which, negative from the end.

    Raises:
        IndexError: if a shape of known rank has no such dimension.
    """
    sizes = as_shape(shape)._dims
    return Dimension(None if sizes is None else sizes[index])


unknown_shape = TensorShape(None)
scalar_shape = TensorShape(())


def as_shape(value: ShapeLike) -> TensorShape:
    """Return a shape of ints or ``None``, an int, a sequence or any shape."""
    return value if type(value) is TensorShape else TensorShape(value)


def broadcast_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """Return the static result of numpy broadcasting.

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
    """Merge shapes that must all be the same.

    Raises:
        ValueError: if two contradict each other.
    """
    merged = unknown_shape
    for shape in shapes:
        merged = merged.merge_with(shape)
    return merged

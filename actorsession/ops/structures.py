"""Nested structures of values, as loops and branches accept and return them.

Lists, tuples, named tuples and dicts nest without limit; everything else is a leaf. Dicts are traversed in
the order of their sorted keys, as in TensorFlow, and keep their own order and type. ``IndexedSlices`` and
every ``Composite`` are decomposed into their tensors. Used by ``control_flow`` and the modules built on it;
imports nothing of ``ops/`` but ``indexed_slices``.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actorsession.ops.indexed_slices import IndexedSlices

__all__ = ["Composite", "about_leaves", "check_same_structure", "flatten", "is_nested", "pack", "varying_shapes"]


class Composite(abc.ABC):
    """A value that consists of tensors."""

    __slots__ = ()

    @abc.abstractmethod
    def _parts(self) -> list[Any]:
        """Return the components of the value."""

    @abc.abstractmethod
    def _like(self, parts: list[Any]) -> Any:
        """Return the form of this value with other components, which need not be tensors."""

    def _varying_shapes(self) -> list[Any]:
        """Return the shape of each component in all iterations of a loop; ``None`` for its current shape."""
        return [None] * len(self._parts())


def is_nested(value: Any) -> bool:
    """Return whether a value is a structure rather than a leaf."""
    return isinstance(value, (list, tuple, Mapping, IndexedSlices, Composite))


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure, in order."""
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return a structure like another one, with other leaves."""
    return _pack(structure, iter(leaves))


def varying_shapes(structure: Any) -> list[Any]:
    """Return the shape of each leaf in all iterations of a loop; ``None`` for its current shape."""
    if isinstance(structure, Composite):
        return structure._varying_shapes()
    if not is_nested(structure):
        return [None]
    return [shape for part in _parts(structure) for shape in varying_shapes(part)]


def about_leaves(structure: Any, items: Any, what: str) -> list[Any]:
    """Return the item of another structure for each leaf of a structure; a ``Composite`` counts as one leaf.

    Args:
        structure: the structure.
        items: a structure of the same form; its item for a composite is ignored.
        what: words for the two, for messages.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
        TypeError: for a sequence of another type.
    """
    whole = _with_wholes(structure)
    check_same_structure(whole, items, what)
    said = []
    for leaf, item in zip(flatten(whole), flatten(items), strict=True):
        said.extend([None] * len(leaf.parts) if isinstance(leaf, _Whole) else [item])
    return said


class _Whole:
    """A composite that is not decomposed."""

    def __init__(self, composite: Composite) -> None:
        self.parts = composite._parts()


def _with_wholes(structure: Any) -> Any:
    if isinstance(structure, Composite):
        return _Whole(structure)
    if isinstance(structure, Mapping):
        return {key: _with_wholes(value) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        parts = [_with_wholes(part) for part in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return parts if isinstance(structure, list) else tuple(parts)
    return structure


def check_same_structure(expected: Any, actual: Any, what: str, *, same_types: bool = True) -> None:
    """Check that two structures have the same form.

    Args:
        expected: the structure to compare with.
        actual: the structure to check.
        what: words for the two, for the message.
        same_types: whether a list, tuple and named tuple must not stand for one another.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
        TypeError: for a sequence of another type.
    """
    if is_nested(expected) != is_nested(actual) or isinstance(expected, Mapping) != isinstance(actual, Mapping):
        raise ValueError(f"{what} have different structures: {expected!r:.200} and {actual!r:.200}")
    if not is_nested(expected):
        return
    if isinstance(expected, Mapping):
        if set(expected) != set(actual):
            raise ValueError(f"{what} have different keys: {list(expected)} and {list(actual)}")
    elif type(expected) is not type(actual) and (same_types or not _are_sequences(expected, actual)):
        raise TypeError(f"{what} have different types: {type(expected).__name__} and {type(actual).__name__}")
    parts, others = _parts(expected), _parts(actual)
    if len(parts) != len(others):
        raise ValueError(
            f"{what} have different numbers of elements, {len(parts)} and {len(others)}: "
            f"{expected!r:.200} and {actual!r:.200}"
        )
    for part, other in zip(parts, others, strict=True):
        check_same_structure(part, other, what, same_types=same_types)


def _are_sequences(*structures: Any) -> bool:
    return all(isinstance(structure, (list, tuple)) for structure in structures)


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    if isinstance(structure, Composite):
        return structure._parts()
    if isinstance(structure, IndexedSlices):
        dense = [] if structure.dense_shape is None else [structure.dense_shape]
        return [structure.values, structure.indices, *dense]
    return list(structure)


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(f"the keys of a dict in a structure must be sortable, got {list(structure)!r:.100}") from None


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        members = {key: _pack(structure[key], leaves) for key in _keys(structure)}
        items = [(key, members[key]) for key in structure]
        kind: Any = type(structure)
        factory = getattr(structure, "default_factory", None)
        return kind(items) if factory is None else kind(factory, items)
    parts = [_pack(part, leaves) for part in _parts(structure)]
    if isinstance(structure, Composite):
        return structure._like(parts)
    if isinstance(structure, IndexedSlices):
        return IndexedSlices(*parts)
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return parts if isinstance(structure, list) else tuple(parts)

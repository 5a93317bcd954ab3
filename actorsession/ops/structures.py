"""Nested structures of values, as loops and branches take and return them.

Lists, tuples, named tuples and dicts nest at will; everything else is a leaf. Dicts are gone through in
the order of their sorted keys, as TensorFlow does, and keep their own order and type. ``IndexedSlices``
are taken apart into their tensors, and so is every ``Composite``. Called by ``control_flow`` and what is made
of it; imports nothing of ``ops/`` but ``indexed_slices``.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actorsession.ops.indexed_slices import IndexedSlices

__all__ = [
    "Composite", "about_leaves", "check_same_structure", "flatten", "is_nested", "pack", "varying_shapes",
]  # fmt: skip


class Composite(abc.ABC):
    """A value that is made of tensors."""

    __slots__ = ()

    @abc.abstractmethod
    def _parts(self) -> list[Any]:
        """Return what it is made of."""

    @abc.abstractmethod
    def _like(self, parts: list[Any]) -> Any:
        """A value like this one, made of others; whatever may be in their place is given alone."""

    def _varying_shapes(self) -> list[Any]:
        """Return the shape that each part may have while a loop goes on; ``None`` for the one that it has."""
        return [None] * len(self._parts())


def is_nested(value: Any) -> bool:
    """Return whether a value is a structure and no leaf."""
    return isinstance(value, (list, tuple, Mapping, IndexedSlices, Composite))


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure, in order."""
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """A structure like another one, with other leaves."""
    return _pack(structure, iter(leaves))


def varying_shapes(structure: Any) -> list[Any]:
    """Return what is known of the shape of each leaf in all iterations of a loop; ``None`` for its own."""
    if isinstance(structure, Composite):
        return structure._varying_shapes()
    if not is_nested(structure):
        return [None]
    return [shape for part in _parts(structure) for shape in varying_shapes(part)]


def about_leaves(structure: Any, given: Any, what: str) -> list[Any]:
    """Return what is said of each leaf of a structure by another one, in which a ``Composite`` counts as one.

    Args:
        structure: the structure.
        given: one like it; what it says of a composite is left out.
        what: words for the two, for messages.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
        TypeError: for a sequence of another type.
    """
    whole = _with_wholes(structure)
    check_same_structure(whole, given, what)
    said = []
    for leaf, item in zip(flatten(whole), flatten(given), strict=True):
        said.extend([None] * len(leaf.parts) if isinstance(leaf, _Whole) else [item])
    return said


class _Whole:
    """Stands for a composite that is not taken apart."""

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


def check_same_structure(wanted: Any, given: Any, what: str, *, same_types: bool = True) -> None:
    """Refuse a structure that is not like another one.

    Args:
        wanted: the one that it must be like.
        given: the one that was given.
        what: words for the two, for the message.
        same_types: whether no list may stand for a tuple or named tuple or the other way round.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
        TypeError: for a sequence of another type.
    """
    if is_nested(wanted) != is_nested(given) or isinstance(wanted, Mapping) != isinstance(
        given, Mapping
    ):
        raise ValueError(f"{what} have different structures: {wanted!r:.200} and {given!r:.200}")
    if not is_nested(wanted):
        return
    if isinstance(wanted, Mapping):
        if set(wanted) != set(given):
            raise ValueError(f"{what} have different keys: {list(wanted)} and {list(given)}")
    elif type(wanted) is not type(given) and (same_types or not _are_sequences(wanted, given)):
        raise TypeError(
            f"{what} have different types: {type(wanted).__name__} and {type(given).__name__}"
        )
    parts, others = _parts(wanted), _parts(given)
    if len(parts) != len(others):
        raise ValueError(
            f"{what} have different numbers of elements, {len(parts)} and {len(others)}: "
            f"{wanted!r:.200} and {given!r:.200}"
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
        raise TypeError(
            f"the keys of a dict in a structure must be sortable, got {list(structure)!r:.100}"
        ) from None


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        made = {key: _pack(structure[key], leaves) for key in _keys(structure)}
        items = [(key, made[key]) for key in structure]
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

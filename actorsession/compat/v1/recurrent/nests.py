"""Structures as cells and their loops take them: lists, tuples, named tuples and dicts of anything.

In difference to ``ops.structures`` a ``TensorArray`` is a leaf here: a state may hold one, and ``raw_rnn``
gives arrays in the structure in which a cell gives tensors. Called by cells and loops alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from actorsession.ops import structures
from actorsession.ops.structures import Composite

__all__ = ["check_alike", "flatten", "is_nested", "level", "mapped", "pack"]


def is_nested(value: Any) -> bool:
    """Return whether a value is a structure and no leaf."""
    return isinstance(value, (list, tuple, Mapping))


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure, in order; dicts in the order of their sorted keys."""
    found: list[Any] = []
    mapped(found.append, structure)
    return found


def pack(structure: Any, leaves: Iterable[Any]) -> Any:
    """A structure like another one with other leaves, as many as it has."""
    left: Iterator[Any] = iter(leaves)
    return mapped(lambda _: next(left), structure)


def mapped(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """A structure of what a function makes of each leaf, and of what stands there in others like it."""
    if not is_nested(structure):
        return function(structure, *others)
    return level(lambda *parts: mapped(function, *parts), structure, *others)


def level(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """As ``mapped`` for the parts of a structure, which may be structures themselves."""
    if isinstance(structure, Mapping):
        made = {
            key: function(structure[key], *(other[key] for other in others))
            for key in sorted(structure)
        }
        kind: Any = type(structure)
        return kind([(key, made[key]) for key in structure])
    parts = [function(*each) for each in zip(structure, *others, strict=True)]
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return parts if isinstance(structure, list) else tuple(parts)


class _Whole:
    """Stands for an array, which counts as one."""

    def __init__(self, array: Composite) -> None:
        self._array = array

    def __repr__(self) -> str:
        return repr(self._array)


def check_alike(wanted: Any, given: Any, what: str) -> None:
    """Refuse a structure that is not like another one, whatever their leaves are.

    Args:
        wanted: the one that it must be like.
        given: the one that was given.
        what: words for the two, for the message.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
    """
    # As loops do, a tuple may stand for an ``LSTMStateTuple``.
    whole = mapped(_whole, wanted), mapped(_whole, given)
    structures.check_same_structure(*whole, what, same_types=False)


def _whole(leaf: Any) -> Any:
    return _Whole(leaf) if isinstance(leaf, Composite) else leaf

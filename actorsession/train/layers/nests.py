"""Nested structures of cells and their loops: lists, tuples, named tuples and dicts of any leaves.

Unlike in ``ops.structures``, a ``TensorArray`` is a leaf here, because a state may hold one, and ``raw_rnn``
returns arrays in the structure in which a cell returns tensors. Only cells and loops use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from actorsession.ops import structures
from actorsession.ops.structures import Composite

__all__ = ["check_alike", "flatten", "is_nested", "level", "mapped", "pack"]


def is_nested(value: Any) -> bool:
    """Return whether a value is a structure, not a leaf."""
    return isinstance(value, (list, tuple, Mapping))


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure in order; dicts in the order of their sorted keys."""
    leaves: list[Any] = []
    mapped(leaves.append, structure)
    return leaves


def pack(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return a structure like the given one, with other leaves of the same number."""
    left: Iterator[Any] = iter(leaves)
    return mapped(lambda _: next(left), structure)


def mapped(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """Return a structure of the results of a function of each leaf and the corresponding leaves of others."""
    if not is_nested(structure):
        return function(structure, *others)
    return level(lambda *parts: mapped(function, *parts), structure, *others)


def level(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """Return a structure like ``mapped``, but for its direct elements, which may be structures themselves."""
    if isinstance(structure, Mapping):
        members = {key: function(structure[key], *(other[key] for other in others)) for key in sorted(structure)}
        kind: Any = type(structure)
        return kind([(key, members[key]) for key in structure])
    parts = [function(*each) for each in zip(structure, *others, strict=True)]
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return parts if isinstance(structure, list) else tuple(parts)


class _Whole:
    """A wrapper that makes an array count as one leaf."""

    def __init__(self, array: Composite) -> None:
        self._array = array

    def __repr__(self) -> str:
        return repr(self._array)


def check_alike(expected: Any, actual: Any, what: str) -> None:
    """Refuse a structure that differs from another one; leaves are not compared.

    Args:
        expected: the expected structure.
        actual: the given structure.
        what: a description of both, for the message.

    Raises:
        ValueError: for different nesting, numbers of elements or keys.
    """
    # A tuple may replace an ``LSTMStateTuple``, as in loops.
    whole = mapped(_whole, expected), mapped(_whole, actual)
    structures.check_same_structure(*whole, what, same_types=False)


def _whole(leaf: Any) -> Any:
    return _Whole(leaf) if isinstance(leaf, Composite) else leaf

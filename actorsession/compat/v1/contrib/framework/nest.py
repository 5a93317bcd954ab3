"""``tf.contrib.framework.nest``: functions of nested structures of lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession.train.layers.nests import check_alike, flatten, is_nested, mapped, pack

__all__ = [
    "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_up_to", "is_nested",
    "is_sequence", "map_structure", "map_structure_up_to", "pack_sequence_as", "yield_flattened_up_to",
]  # fmt: skip

is_sequence = is_nested


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Refuse a structure that differs from another one.

    Args:
        nest1: the one.
        nest2: the other.
        check_types: whether lists, tuples and dicts have to be of one class.
        expand_composites: accepted for compatibility.

    Raises:
        ValueError: for different nesting or numbers of elements.
        TypeError: for different classes.
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1!r:.200}\n\nSecond structure: {nest2!r:.200}"
        )
    if is_nested(nest1):
        if check_types and type(nest1) is not type(nest2):
            raise TypeError(
                "The two structures don't have the same sequence type. First structure has type "
                f"{type(nest1)}, while second structure has type {type(nest2)}."
            )
        check_alike(nest1, nest2, "two structures")
        for first, second in zip(_parts(nest1), _parts(nest2), strict=True):
            assert_same_structure(first, second, check_types)


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def pack_sequence_as(
    structure: Any, flat_sequence: Iterable[Any], expand_composites: bool = False
) -> Any:
    """Return a structure like the given one, with other leaves.

    Raises:
        TypeError: if the leaves are no sequence.
        ValueError: for another number of leaves.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError(f"flat_sequence must be a sequence, got {flat_sequence!r:.100}")
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements."
        )
    return pack(structure, flat_sequence)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return a structure of the results of a function of the leaves of one or more structures.

    Args:
        func: the function.
        structure: the structures.
        kwargs: ``check_types``; see ``assert_same_structure``.

    Raises:
        TypeError: if the first argument is no function.
        ValueError: without structures, or for different ones.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    return mapped(func, *structure)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Refuse a structure that is not as nested as another one.

    Raises:
        TypeError: if a leaf stands where the other has several.
        ValueError: for different numbers of elements.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    first, second = _parts(shallow_tree), _parts(input_tree)
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(second)}, while shallow structure has length {len(first)}."
        )
    for each, other in zip(first, second, strict=True):
        assert_shallow_structure(each, other, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """Return the parts of a structure that stand where another one has leaves."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    if not is_nested(shallow_tree):
        return [input_tree]
    pairs = zip(_parts(shallow_tree), _parts(input_tree), strict=True)
    return [leaf for each, other in pairs for leaf in flatten_up_to(each, other, check_types)]


yield_flattened_up_to = flatten_up_to


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Return a structure of the results of a function of the parts that ``flatten_up_to`` gives."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [flatten_up_to(shallow_tree, each, kwargs.get("check_types", True)) for each in inputs]
    return pack(shallow_tree, [func(*leaves) for leaves in zip(*flat, strict=True)])

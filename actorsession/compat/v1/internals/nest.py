"""``tensorflow.python.util.nest``: nested lists, tuples and dicts of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorsession.ops import structures

__all__ = [
    "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_dict_items",
    "flatten_up_to", "flatten_with_joined_string_paths", "flatten_with_tuple_paths", "is_nested",
    "is_nested_or_composite", "is_sequence", "list_to_tuple", "map_structure",
    "map_structure_up_to", "map_structure_with_paths", "map_structure_with_tuple_paths",
    "pack_sequence_as", "yield_flat_paths", "yield_flattened_up_to",
]  # fmt: skip


def is_nested(seq: Any) -> bool:
    """Return whether a value is a structure: a list, tuple or dict, but no text."""
    return isinstance(seq, (list, tuple, Mapping))


is_sequence = is_nested
is_nested_or_composite = is_sequence_or_composite = structures.is_nested


def _children(structure: Any) -> list[tuple[Any, Any]]:
    """The parts of a structure with their keys, in the order in which it is flattened."""
    if isinstance(structure, Mapping):
        try:
            keys = sorted(structure)
        except TypeError:
            raise TypeError(f"nest only supports dicts with sortable keys, got {list(structure)!r:.100}") from None
        return [(key, structure[key]) for key in keys]
    names = getattr(structure, "_fields", range(len(structure)))
    return list(zip(names, structure, strict=True))


def _with_paths(structure: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    if not is_nested(structure):
        yield path, structure
        return
    for key, part in _children(structure):
        yield from _with_paths(part, (*path, key))


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of a structure, in order; those of dicts in the order of their keys.

    Args:
        structure: the structure.
        expand_composites: whether sparse tensors and similar ones are taken apart, too.
    """
    if expand_composites:
        return structures.flatten(structure)
    return [leaf for _, leaf in _with_paths(structure)]


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Any, Any]]:
    """Return the leaves with their paths, which are tuples of keys and indices."""
    return list(_with_paths(structure))


def yield_flat_paths(nest: Any) -> Iterator[Any]:
    """Yield the paths of the leaves, in order."""
    return (path for path, _ in _with_paths(nest))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the leaves with their paths, as texts."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in _with_paths(structure)]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """Return a structure like another one, with other leaves.

    Args:
        structure: the structure; a leaf stands for itself.
        flat_sequence: its leaves, in order.
        expand_composites: whether sparse tensors and similar ones were taken apart, too.

    Raises:
        TypeError: if the leaves are no sequence.
        ValueError: for another number of leaves.
    """
    if not isinstance(flat_sequence, Sequence) or isinstance(flat_sequence, (str, bytes)):
        raise TypeError(f"flat_sequence must be a sequence, got {flat_sequence!r:.100}")
    leaves = flatten(structure, expand_composites)
    if len(leaves) != len(flat_sequence):
        if not is_nested(structure):
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
        raise ValueError(
            f"Could not pack sequence. Structure had {len(leaves)} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements. Structure: {structure!r:.200}, flat_sequence: "
            f"{flat_sequence!r:.200}."
        )
    if not is_nested(structure) and not expand_composites:
        return flat_sequence[0]
    return structures.pack(structure, flat_sequence) if expand_composites else _packed(structure, iter(flat_sequence))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    return _like(structure, [_packed(part, leaves) for _, part in _children(structure)])


def _like(structure: Any, parts: list[Any]) -> Any:
    """A structure with other parts, which are in the order of ``_children``."""
    if isinstance(structure, Mapping):
        by_key = dict(zip((key for key, _ in _children(structure)), parts, strict=True))
        items = [(key, by_key[key]) for key in structure]
        if hasattr(structure, "default_factory"):
            return type(structure)(structure.default_factory, items)  # type: ignore[call-arg]
        return type(structure)(items)  # type: ignore[call-arg]
    kind: Any = type(structure)
    return kind(*parts) if hasattr(structure, "_fields") else kind(parts)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Check that two structures have the same form.

    Args:
        nest1: one structure.
        nest2: the other one.
        check_types: whether lists and tuples, and kinds of either, must not stand for one another.
        expand_composites: whether sparse tensors and similar ones are taken apart, too.

    Raises:
        ValueError: for another nesting, other numbers of elements or other keys.
        TypeError: for structures of other types.
    """
    try:
        _check_same(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as exc:
        raise type(exc)(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {nest1!r:.300}"
            f"\n\nSecond structure: {nest2!r:.300}\n\nMore specifically: {exc}"
        ) from None


def _check_same(one: Any, other: Any, check_types: bool, expand: bool) -> None:
    nested = structures.is_nested if expand else is_nested
    if nested(one) != nested(other):
        part, leaf = (one, other) if nested(one) else (other, one)
        raise ValueError(f"{part!r:.100} is a sequence, while {leaf!r:.100} is not")
    if not nested(one):
        return
    if check_types and _kind(one) != _kind(other):
        raise TypeError(f"The two have not the same sequence type: {type(one).__name__} and {type(other).__name__}")
    if not is_nested(one):  # sparse tensors and similar ones
        structures.check_same_structure(one, other, "the two", same_types=check_types)
        return
    ours, theirs = _children(one), _children(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping) and set(one) != set(other):
        raise ValueError(f"The two dicts have not the same keys: {list(one)} and {list(other)}")
    if len(ours) != len(theirs):
        raise ValueError(f"The two have not the same number of elements: {one!r:.100} and {other!r:.100}")
    for (_, part), (_, counterpart) in zip(ours, theirs, strict=True):
        _check_same(part, counterpart, check_types, expand)


def _kind(structure: Any) -> Any:
    """What two structures have to have in common: all dicts are alike, and equal named tuples."""
    if isinstance(structure, Mapping):
        return Mapping
    fields = getattr(structure, "_fields", None)
    return type(structure) if fields is None else (type(structure).__name__, fields)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return a structure of what a function returns for the leaves of structures.

    Args:
        func: takes one leaf of each structure.
        *structure: structures of the same form.
        **kwargs: ``check_types`` and ``expand_composites``, see ``assert_same_structure``.

    Raises:
        TypeError: if the function cannot be called, or for another argument.
        ValueError: if there is no structure, or one has another form.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r:.100}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    checked = kwargs.pop("check_types", True)
    expanded = kwargs.pop("expand_composites", False)
    if kwargs:
        raise TypeError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, got {', '.join(kwargs)}"
        )
    for other in structure[1:]:
        assert_same_structure(structure[0], other, checked, expanded)
    leaves = zip(*(flatten(one, expanded) for one in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*each) for each in leaves], expanded)


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return ``map_structure`` of a function that takes the path of the leaves first."""
    paths = iter([path for path, _ in _with_paths(structure[0])])
    return map_structure(lambda *leaves: func(next(paths), *leaves), *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return ``map_structure`` of a function that takes the path of the leaves first, as text."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs
    )


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that a structure begins as another one does.

    Raises:
        TypeError: if a part of it is a leaf, or of another type, where the shallow one is a structure.
        ValueError: for other numbers of elements or other keys.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree).__name__}."
        )
    if check_types and type(shallow_tree) is not type(input_tree):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree).__name__}, while shallow structure has type {type(shallow_tree).__name__}."
        )
    ours, theirs = _children(shallow_tree), dict(_children(input_tree))
    if len(ours) != len(theirs):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(theirs)}, while shallow structure has length {len(ours)}."
        )
    for key, part in ours:
        if key not in theirs:
            raise ValueError(f"The two structures don't have the same keys. The input has no {key!r}.")
        assert_shallow_structure(part, theirs[key], check_types)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """Return the parts of a structure that stand where another one has its leaves.

    The errors are those of ``assert_shallow_structure``.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    if not is_nested(shallow_tree):
        return [input_tree]
    theirs = dict(_children(input_tree))
    return [leaf for key, part in _children(shallow_tree) for leaf in flatten_up_to(part, theirs[key], check_types)]


def yield_flattened_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> Iterator[Any]:
    """Yield the parts of ``flatten_up_to``."""
    yield from flatten_up_to(shallow_tree, input_tree, check_types)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Return a structure of what a function returns for the parts of structures at another one's leaves.

    Raises:
        ValueError: if there is no structure to map; others are those of ``assert_shallow_structure``.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    leaves = zip(*(flatten_up_to(shallow_tree, one, **kwargs) for one in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*each) for each in leaves])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict of the leaves of the keys of a dict, which are structures, to those of its values.

    Raises:
        TypeError: if it is no dict.
        ValueError: for a key that is there twice, or a value of another form than its key.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    leaves: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys = flatten(key)
        values = flatten(value) if is_nested(key) else [value]
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {key!r:.100}, value: {value!r:.100}."
            )
        for key_leaf, value_leaf in zip(keys, values, strict=True):
            if key_leaf in leaves:
                raise ValueError(f"Could not flatten dictionary: key {key_leaf} is not unique.")
            leaves[key_leaf] = value_leaf
    return leaves


def list_to_tuple(structure: Any) -> Any:
    """Return a structure with tuples in place of its lists."""
    if not is_nested(structure):
        return structure
    parts = [list_to_tuple(part) for _, part in _children(structure)]
    return tuple(parts) if isinstance(structure, list) else _like(structure, parts)

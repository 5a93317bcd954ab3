"""``tensorflow.python.util.object_identity``: sets and dictionaries that tell objects apart by what they are.

Tensors compare element by element in some programs, so that ``==`` does not say whether two are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any

__all__ = ["ObjectIdentityDictionary", "ObjectIdentitySet", "Reference"]


class Reference:
    """A key that stands for an object: equal to another one if that is of the same object.

    Args:
        wrapped: the object.
    """

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    @property
    def unwrapped(self) -> Any:
        """The object."""
        return self._wrapped

    def deref(self) -> Any:
        """Return the object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference to {self._wrapped!r}>"


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are objects, whatever they say of their equality."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._storage: dict[Reference, Any] = {}
        self.update(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[Reference(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage[Reference(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._storage[Reference(key)]

    def __iter__(self) -> Iterator[Any]:
        return (reference.unwrapped for reference in self._storage)

    def __len__(self) -> int:
        return len(self._storage)


class ObjectIdentitySet(MutableSet[Any]):
    """A set of objects, whatever they say of their equality."""

    def __init__(self, members: Iterable[Any] = ()) -> None:
        self._storage = {Reference(member): None for member in members}

    def __contains__(self, member: object) -> bool:
        return Reference(member) in self._storage

    def __iter__(self) -> Iterator[Any]:
        return (reference.unwrapped for reference in self._storage)

    def __len__(self) -> int:
        return len(self._storage)

    def add(self, value: Any) -> None:
        """Add an object."""
        self._storage[Reference(value)] = None

    def discard(self, value: Any) -> None:
        """Remove an object, if it is there."""
        self._storage.pop(Reference(value), None)

    def update(self, members: Iterable[Any]) -> None:
        """Add objects."""
        for member in members:
            self.add(member)

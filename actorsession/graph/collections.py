"""The collections of a graph: lists under names, in which programs remember what they built.

This module holds the methods of ``Graph`` for them. A key is usually one of ``GraphKeys``; libraries may use
any hashable value, and ``get_all_collection_keys`` then leaves it out. Values are kept as they are and in
order.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable, Iterable
from typing import Any

from actorsession.graph.source_location import user_line

__all__ = ["GraphCollections"]


class GraphCollections:
    """The part of ``Graph`` for collections."""

    _lock: threading.RLock

    def __init__(self) -> None:
        self._collections: dict[Hashable, list[Any]] = {}

    def _check_open(self, what: str) -> None:
        raise NotImplementedError("the graph says whether it can be changed")

    @property
    def collections(self) -> list[str]:
        """The names of all collections, as TensorFlow spells it; see ``get_all_collection_keys``."""
        return self.get_all_collection_keys()

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        """Append a value to a named collection.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        source = user_line()
        with self._lock:
            self._check_open(f"collection {name!r} was added to at {source}")
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Iterable[Hashable] | str, value: Any) -> None:
        """Append a value to each of several collections, once where a name is repeated.

        Args:
            names: of the collections, or the name of one.
            value: what to append.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Return the values of a collection, as a new list.

        Args:
            name: of the collection; one that does not exist is empty.
            scope: only values that have a name which starts with a match of this pattern.
        """
        values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        matches = re.compile(scope).match
        return [v for v in values if hasattr(v, "name") and matches(v.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Return the list behind a collection, made if absent: changing it changes the collection."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of all collections; keys that are no strings are left out."""
        with self._lock:
            return [name for name in self._collections if isinstance(name, str)]

    def clear_collection(self, name: Hashable) -> None:
        """Delete a collection and its values.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        with self._lock:
            self._check_open(f"collection {name!r} was cleared at {user_line()}")
            self._collections.pop(name, None)

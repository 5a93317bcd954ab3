"""The collections of a graph: lists under names, in which programs remember what they built.

A key is usually one of ``GraphKeys``; libraries may use any hashable value, and ``keys`` then leaves it out.
Values are kept as they are and in order. ``Graph`` has the methods that programs call.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from actorsession.graph.graph_lock import GraphLock
from actorsession.graph.source_location import user_line

__all__ = ["GraphCollections"]


class GraphCollections:
    """The collections of one graph; callable from any thread.

    Args:
        lock: that of the graph.

    Attributes:
        lists: the values by name.
    """

    def __init__(self, lock: GraphLock) -> None:
        self._lock = lock
        self.lists: dict[Hashable, list[Any]] = {}

    def add(self, name: Hashable, value: Any) -> None:
        """Append a value to a collection; see ``Graph.add_to_collection``."""
        source = user_line()
        with self._lock.mutex:
            self._lock.check_open(f"collection {name!r} was added to at {source}")
            self.lists.setdefault(name, []).append(value)

    def values(self, name: Hashable, scope: str | None) -> list[Any]:
        """Return the values of a collection in a new list; see ``Graph.get_collection``."""
        values = list(self.lists.get(name, ()))
        if scope is None:
            return values
        matches = re.compile(scope).match
        return [v for v in values if hasattr(v, "name") and matches(v.name)]

    def ref(self, name: Hashable) -> list[Any]:
        """Return the list behind a collection, made if absent."""
        with self._lock.mutex:
            return self.lists.setdefault(name, [])

    def keys(self) -> list[str]:
        """Return the names of all collections; keys that are no strings are left out."""
        with self._lock.mutex:
            return [name for name in self.lists if isinstance(name, str)]

    def clear(self, name: Hashable) -> None:
        """Delete a collection and its values; see ``Graph.clear_collection``."""
        with self._lock.mutex:
            self._lock.check_open(f"collection {name!r} was cleared at {user_line()}")
            self.lists.pop(name, None)

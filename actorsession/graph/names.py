"""Unique names, exactly as in TensorFlow.

This module holds the rules for names and the table of used names. A used name gets ``_1``, ``_2``, ...; the
comparison ignores case, while the result keeps the case of the wanted name. ``Graph`` calls the table with
the mutex of its ``GraphLock`` held.
"""

from __future__ import annotations

import re
from collections.abc import Container

__all__ = ["OP_NAME", "NameTable", "check_op_name", "check_scope_name", "free_name", "is_op_name"]

# TensorFlow's rules (tensorflow/python/framework/ops.py). Within a scope a name may begin with
# any of its characters, because the scope comes before it.
_FULL = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_INNER = re.compile(r"[A-Za-z0-9_.\\/>-]*")


OP_NAME = f"/^{_FULL.pattern}$/"
"""The pattern of names of operations, for messages."""


def is_op_name(name: str) -> bool:
    """Return whether a string can be the full name of an operation."""
    return _FULL.fullmatch(name) is not None


def check_op_name(full_name: str) -> None:
    """Refuse a string that cannot be the full name of an operation.

    Raises:
        ValueError: with the pattern that it must match.
    """
    if not _FULL.fullmatch(full_name):
        raise ValueError(f"`{full_name}` is not a valid node name. Accepted names conform to Regex /^{_FULL.pattern}$/")


def check_scope_name(name: str, outer: str) -> None:
    """Refuse a string that cannot be the name of a scope inside ``outer``, empty for the root.

    Raises:
        ValueError: with the pattern that it must match.
    """
    pattern = _INNER if outer else _FULL
    if not pattern.fullmatch(name):
        kind = "scope name. A" if outer else "root scope name. A root"
        raise ValueError(
            f"{name!r} is not a valid {kind} scope name has to match the following pattern: ^{pattern.pattern}$"
        )


def free_name(base: str, *taken: Container[str]) -> str:
    """Return the wanted name, with the first of ``_1``, ``_2``, ... that makes it none of those taken."""
    name, count = base, 0
    while any(name in names for names in taken):
        count += 1
        name = f"{base}_{count}"
    return name


class NameTable:
    """The used names of one graph, of operations and scopes alike."""

    def __init__(self) -> None:
        # Lower-case name -> the suffix to try next; holds both wanted and assigned names.
        self._next: dict[str, int] = {}

    @property
    def used(self) -> int:
        """The number of used names."""
        return len(self._next)

    def unique(self, name: str) -> str:
        """Return the name itself if it is free, else the name with the first free suffix.

        Args:
            name: full name, with its scope.
        """
        key = name.lower()
        count = self._next.get(key)
        if count is None:
            return name
        # x, x_1, x_2, ... without those that were used literally.
        while f"{key}_{count}" in self._next:
            count += 1
        return f"{name}_{count}"

    def mark_used(self, name: str, given: str) -> None:
        """Mark a name as used.

        Args:
            name: the argument of ``unique``.
            given: its result.
        """
        self._next.setdefault(given.lower(), 1)
        if given != name:
            self._next[name.lower()] = int(given[len(name) + 1 :]) + 1

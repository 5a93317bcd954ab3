"""Unique names, exactly as TensorFlow gives them.

Owns the rules for names and the table of those that are taken. A name that is taken gets ``_1``,
``_2``, ...; whether it is taken is decided without regard to case, while the answer keeps the case
that was asked for. Called by ``Graph`` under its lock; imports nothing of ours.
"""

from __future__ import annotations

import re

__all__ = ["NameTable", "check_op_name", "check_scope_name"]

# TensorFlow's rules (tensorflow/python/framework/ops.py). Within a scope a name may begin with
# any of its characters, because the scope comes before it.
_FULL = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_INNER = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def check_op_name(full_name: str) -> None:
    """Refuse what cannot be the full name of an operation.

    Raises:
        ValueError: saying what it must match.
    """
    if not _FULL.fullmatch(full_name):
        raise ValueError(
            f"{full_name!r} is not a valid operation name; it must match {_FULL.pattern}"
        )


def check_scope_name(name: str, outer: str) -> None:
    """Refuse what cannot be the name of a scope inside ``outer``, empty for the root.

    Raises:
        ValueError: saying what it must match.
    """
    pattern = _INNER if outer else _FULL
    if not pattern.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid scope name; it must match {pattern.pattern}")


class NameTable:
    """The names that are taken in one graph, operations and scopes alike."""

    def __init__(self) -> None:
        # Lower-case name -> the suffix to try next; names as asked for and as given stand in it.
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """Return the name itself if it is free, else the name with the first suffix that is.

        Args:
            wanted: full name, with its scope.
        """
        key = wanted.lower()
        count = self._next.get(key)
        if count is None:
            return wanted
        # x, x_1, x_2, ... leaving out those that somebody took as they are.
        while f"{key}_{count}" in self._next:
            count += 1
        return f"{wanted}_{count}"

    def take(self, wanted: str, given: str) -> None:
        """Mark a name as taken.

        Args:
            wanted: what ``unique`` was asked for.
            given: what it answered.
        """
        self._next.setdefault(given.lower(), 1)
        if given != wanted:
            self._next[wanted.lower()] = int(given[len(wanted) + 1 :]) + 1

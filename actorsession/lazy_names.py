"""Names of a package that are imported when they are first used (PEP 562).

A package lists its names and their modules in a compact table. Beside the package is a stub with the same
imports for type checkers, which ``scripts/generated.py`` writes from the table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["LazyName", "lazy_names", "read_table"]


class LazyName(NamedTuple):
    """The location of a name of a package.

    Attributes:
        module: full name of the module.
        attribute: the name in that module; "" for the module itself.
    """

    module: str
    attribute: str


def read_table(package: str, table: Mapping[str, str]) -> Iterator[tuple[str, LazyName]]:
    """Read the table of a package.

    Args:
        package: full name of the package.
        table: maps a module, relative to the package if it begins with a dot, to its names, separated by
            spaces. ``theirs=ours`` renames one, ``*=ours`` is the module itself.

    Yields:
        Each name of the package, and its location.
    """
    for where, names in table.items():
        module = package + where if where.startswith(".") else where
        for name in names.split():
            theirs, _, ours = name.partition("=")
            yield ours or theirs, LazyName(module, "" if theirs == "*" else theirs)


def lazy_names(
    package: str, table: Mapping[str, str], *more: ModuleType
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: full name of the package.
        table: see ``read_table``.
        more: packages all of whose names are names of this one as well.

    Returns:
        The three objects, to be assigned in the package.
    """
    names = {name: LazyName(m.__name__, name) for m in more for name in m.__all__}
    names.update(read_table(package, table))
    everything = sorted(names)

    def load(name: str) -> Any:
        where = names.get(name)
        if where is None:
            import difflib

            near = difflib.get_close_matches(name, everything, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        found = importlib.import_module(where.module)
        value = getattr(found, where.attribute) if where.attribute else found
        setattr(sys.modules[package], name, value)
        return value

    return everything, load, lambda: everything

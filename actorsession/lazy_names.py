"""Names of a package that are imported when they are first used (PEP 562).

A package lists its names and their modules in a compact table. Beside the package is a stub with the same
imports for type checkers, which ``scripts/generated.py`` writes from the table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

__all__ = ["LazyName", "NoAttributeError", "lazy_names", "nearest_names", "read_table"]


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
    package: str, table: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: full name of the package.
        table: see ``read_table``.

    Returns:
        The three objects, to be assigned in the package. Names with two underscores in front are found, but
        not listed.
    """
    names = dict(read_table(package, table))
    everything = sorted(name for name in names if not name.startswith("__"))

    def load(name: str) -> Any:
        where = names.get(name)
        if where is None:
            inner = {ours: location.module for ours, location in names.items() if not location.attribute}
            raise NoAttributeError(package, name, everything, inner)
        location = importlib.import_module(where.module)
        value = getattr(location, where.attribute) if where.attribute else location
        setattr(sys.modules[package], name, value)
        return value

    return everything, load, lambda: everything


class NoAttributeError(AttributeError):
    """The error for a name that a package does not have, with what may have been meant.

    That is found out when the error is shown: ``hasattr`` and imports of submodules only ask. Tracebacks show
    the class as ``AttributeError``.

    Args:
        package: full name of the package.
        name: the name.
        names: all names of the package.
        inner: full names of the modules among them, by their names in the package, whose names may be meant
            too.
    """

    __module__, __qualname__ = "builtins", "AttributeError"

    def __init__(self, package: str, name: str, names: Iterable[str], inner: Mapping[str, str]) -> None:
        super().__init__(f"module {package!r} has no attribute {name!r}", name=name)
        self._names, self._inner = names, inner

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)  # what goes to another process is explained here

    @property
    def meant(self) -> list[str]:
        """What may have been meant, the likeliest first; see ``nearest_names``."""
        inner = {ours: _names_of(module) for ours, module in self._inner.items()}
        return nearest_names(self.name or "", self._names, inner)

    def __str__(self) -> str:
        meant = self.meant
        return f"{self.args[0]}; did you mean {', '.join(meant)}?" if meant else self.args[0]


# What numpy, TensorFlow 2 and spoken English say, by the word of TensorFlow 1.
_SYNONYMS = {
    "array": "constant",
    "average": "mean",
    "avg": "mean",
    "div": "divide",
    "dot": "matmul",
    "len": "size",
    "mul": "multiply",
    "neg": "negative",
    "product": "prod",
    "sgd": "gradient descent",
    "sub": "subtract",
    "var": "variable",
}


def nearest_names(name: str, names: Iterable[str], inner: Mapping[str, Iterable[str]]) -> list[str]:
    """Return up to three names that may be meant by one that does not exist, the likeliest first.

    Args:
        name: the name that does not exist.
        names: the names where it was looked up.
        inner: the names of modules there, by module; they are returned as ``module.name``.

    Returns:
        Those of the same words or synonyms of them, else those that are spelt like it or have its words among
        others.
    """
    import difflib

    own = {each: [each] for each in names}
    places = dict(own)
    for room in sorted(inner):
        for each in inner[room]:
            if each not in own:
                places[each] = [*places.get(each, []), f"{room}.{each}"]
    words = {each: _words(each) for each in places}
    asked = _words(name)
    meant = [name] if name in places else sorted(each for each in places if words[each] == asked)
    if not meant:
        by_letters: dict[str, list[str]] = {}
        for each in places:
            by_letters.setdefault(each.lower(), []).append(each)
        alike = partial(difflib.get_close_matches, name.lower(), by_letters, n=3)
        parts = [each for each in places if set(asked) < set(words[each])]
        parts.sort(key=lambda each: (each not in own, len(each)))
        near = [*alike(cutoff=0.8), *(each.lower() for each in parts)] or alike(cutoff=0.6)
        meant = [each for letters in near for each in by_letters[letters]]
    return list(dict.fromkeys(place for each in meant for place in places[each]))[:3]


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in either case, each as TensorFlow 1 says it."""
    import re

    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return tuple(word for part in parts for word in _SYNONYMS.get(part.lower(), part.lower()).split())


def _names_of(module: str) -> Sequence[str]:
    return getattr(importlib.import_module(module), "__all__", ())

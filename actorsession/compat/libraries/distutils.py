"""What programs use of the package distutils, which Python 3.12 has no more."""

from __future__ import annotations

import functools
import re
import shutil
from typing import Any

__all__ = ["LooseVersion", "StrictVersion", "find_executable", "strtobool"]

find_executable = shutil.which


@functools.total_ordering
class LooseVersion:
    """A version: numbers and words, compared one after another.

    Args:
        vstring: its text.
    """

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Take the parts of a version from its text."""
        self.vstring = vstring
        parts = re.findall(r"\d+|[a-z]+", vstring)
        self.version: Any = [int(part) if part.isdecimal() else part for part in parts]

    def _order(self) -> Any:
        # A word is before a number, as what is not released yet is before what is.
        return [(isinstance(part, int), part) for part in self.version]

    def _other(self, other: object) -> Any:
        return type(self)(other)._order() if isinstance(other, str) else other._order()  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return bool(self._order() == self._other(other))

    def __lt__(self, other: object) -> bool:
        return bool(self._order() < self._other(other))

    def __hash__(self) -> int:
        return hash(str(self._order()))

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"


class StrictVersion(LooseVersion):
    """A version of two or three numbers, with ``a1`` or ``b1`` behind one that is not released yet."""

    def parse(self, vstring: str) -> None:
        """Take the parts of a version from its text.

        Raises:
            ValueError: if it is of another form.
        """
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", vstring)
        if match is None:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, word, count = match.groups()
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (word, int(count)) if word else None

    def _order(self) -> Any:
        return self.version, self.prerelease or ("final", 0)

    def __str__(self) -> str:
        numbers = self.version if self.version[2] else self.version[:2]
        behind = "" if self.prerelease is None else f"{self.prerelease[0]}{self.prerelease[1]}"
        return ".".join(map(str, numbers)) + behind


def strtobool(val: str) -> int:
    """Return 1 for a word that means yes, 0 for one that means no.

    Raises:
        ValueError: for any other.
    """
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")

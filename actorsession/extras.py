"""Packages that only some operations need, which are installed as extras."""

from __future__ import annotations

import functools
import importlib.util

__all__ = ["INCOMPLETE", "is_installed", "require"]

INCOMPLETE: list[ImportError] = []
"""Why the package cannot be used, which the command line says: a package that it needs was not imported."""


@functools.cache
def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


def require(package: str, extra: str, why: str) -> None:
    """Check that a package is installed.

    Args:
        package: its name in Python.
        extra: the extra of this library that installs it.
        why: what needs it, for the message.

    Raises:
        ImportError: if it is not; the error names the extra.
    """
    if not is_installed(package):
        raise ImportError(f"{why}: pip install 'actorsession[{extra}]'")

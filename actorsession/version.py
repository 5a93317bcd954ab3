"""The version of this package, as it was installed: a tag of its repository gives it.

It is read when it is first asked for, because ``importlib.metadata`` takes some 20 ms to import.
"""

from __future__ import annotations

import functools

__all__ = ["UNKNOWN", "installed_version"]

UNKNOWN = "0+unknown"
"""The version of a package that runs from its folder and was never installed."""


@functools.cache
def installed_version() -> str:
    """Return the version."""
    from importlib import metadata

    try:
        return metadata.version("actorsession")
    except metadata.PackageNotFoundError:
        return UNKNOWN


def __getattr__(name: str) -> str:
    if name == "__version__":
        return installed_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

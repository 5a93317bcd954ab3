"""``pkg_resources``, which setuptools has no more: files of packages, and versions."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from actorsession.compat.libraries.distutils import LooseVersion

__all__ = [
    "DistributionNotFound",
    "get_distribution",
    "iter_entry_points",
    "parse_version",
    "resource_exists",
    "resource_filename",
    "resource_isdir",
    "resource_listdir",
    "resource_stream",
    "resource_string",
]

DistributionNotFound = importlib.metadata.PackageNotFoundError


def _path(package: str, name: str) -> Path:
    """The path of a file beside a module."""
    module = importlib.import_module(package)
    if module.__file__ is None:
        return Path(next(iter(module.__path__))) / name
    return Path(module.__file__).parent / name


def resource_filename(package_or_requirement: str, resource_name: str) -> str:
    """Return the path of a file of a package."""
    return str(_path(package_or_requirement, resource_name))


def resource_exists(package_or_requirement: str, resource_name: str) -> bool:
    """Return whether a package has such a file."""
    return _path(package_or_requirement, resource_name).exists()


def resource_isdir(package_or_requirement: str, resource_name: str) -> bool:
    """Return whether a package has such a folder."""
    return _path(package_or_requirement, resource_name).is_dir()


def resource_listdir(package_or_requirement: str, resource_name: str) -> list[str]:
    """Return the names in a folder of a package."""
    return sorted(path.name for path in _path(package_or_requirement, resource_name).iterdir())


def resource_stream(package_or_requirement: str, resource_name: str) -> BinaryIO:
    """Open a file of a package."""
    return _path(package_or_requirement, resource_name).open("rb")


def resource_string(package_or_requirement: str, resource_name: str) -> bytes:
    """Return the bytes of a file of a package."""
    return _path(package_or_requirement, resource_name).read_bytes()


def get_distribution(dist: str) -> Any:
    """Return what is installed under a name, with its ``version``.

    Raises:
        DistributionNotFound: if nothing is.
    """
    return importlib.metadata.distribution(dist)


def iter_entry_points(group: str, name: str | None = None) -> Iterator[Any]:
    """Return the entry points of a group."""
    points = importlib.metadata.entry_points(group=group)
    return iter(points if name is None else points.select(name=name))


def parse_version(v: str) -> LooseVersion:
    """Return a version that compares by its numbers."""
    return LooseVersion(v)

"""``tf.io.gfile``: the functions of ``tf.gfile`` under their newer names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from actorsession.compat.v1 import gfile
from actorsession.compat.v1.gfile import GFile, Path
from actorsession.errors import OpError

__all__ = [
    "GFile", "copy", "exists", "get_registered_schemes", "glob", "isdir", "join", "listdir", "makedirs",
    "mkdir", "remove", "rename", "rmtree", "stat", "walk",
]  # fmt: skip


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copy a file; see ``tf.gfile.Copy``."""
    gfile.Copy(src, dst, overwrite)


def exists(path: Path) -> bool:
    """Return whether a path exists."""
    return gfile.Exists(path)


def get_registered_schemes() -> list[str]:
    """Return the kinds of paths: files of this machine alone, which have no prefix."""
    return [""]


def glob(pattern: Any) -> list[str]:
    """Return the paths that match a pattern; see ``tf.gfile.Glob``."""
    return gfile.Glob(pattern)


def isdir(path: Path) -> bool:
    """Return whether a path is a folder."""
    return gfile.IsDirectory(path)


def join(path: Any, *paths: Any) -> Any:
    """Return parts of a path as one path."""
    return os.path.join(path, *paths)


def listdir(path: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return gfile.ListDirectory(path)


def makedirs(path: Path) -> None:
    """Create a folder and its parents, unless it exists."""
    gfile.MakeDirs(path)


def mkdir(path: Path) -> None:
    """Create a folder; see ``tf.gfile.MkDir``."""
    gfile.MkDir(path)


def remove(path: Path) -> None:
    """Delete a file."""
    gfile.Remove(path)


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Rename a file; see ``tf.gfile.Rename``."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path: Path) -> None:
    """Delete a folder with all its contents."""
    gfile.DeleteRecursively(path)


def stat(path: Path) -> gfile.FileStatistics:
    """Return the size and time of a file."""
    return gfile.Stat(path)


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[OpError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield, for a folder and each folder below it, the folder, its subfolders and its files.

    Args:
        top: the folder.
        topdown: whether a folder comes before its subfolders.
        onerror: called with the error of a folder that cannot be listed.
    """
    if onerror is not None and not gfile.IsDirectory(top):
        try:
            gfile.ListDirectory(top)
        except OpError as exc:
            onerror(exc)
    yield from gfile.Walk(top, topdown)

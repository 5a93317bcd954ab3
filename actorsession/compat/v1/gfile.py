"""File and folder functions under TensorFlow's names, for the local file system."""

from __future__ import annotations

import contextlib
import glob as _glob
import os
import shutil
import stat
from collections.abc import Iterator
from typing import IO, Any, NamedTuple, Self

from actorsession.errors import AlreadyExistsError, NotFoundError

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
    "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]  # fmt: skip


@contextlib.contextmanager
def _known_errors(path: Any) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as exc:
        raise NotFoundError(f"{path}; No such file or directory") from exc
    except FileExistsError as exc:
        raise AlreadyExistsError(f"{path}; File exists") from exc


def GFile(name: str, mode: str = "r") -> _File:
    """Open a file.

    Raises:
        NotFoundError: if it does not exist.
    """
    with _known_errors(name):
        opened = open(name, mode, encoding=None if "b" in mode else "utf-8")  # noqa: SIM115
    return _File(opened, name, mode)


class _File:
    """An open file with the methods of Python's file objects and those of TensorFlow's."""

    def __init__(self, opened: IO[Any], name: str, mode: str) -> None:
        self._opened = opened
        self.name = name
        self.mode = mode

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._opened.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._opened)

    next = __next__

    def size(self) -> int:
        """Return the length of the file in bytes."""
        if not self._opened.closed and self._opened.writable():
            self._opened.flush()
        return os.path.getsize(self.name)


FastGFile = GFile
Open = GFile


def Exists(filename: str) -> bool:
    """Return whether a path exists."""
    return os.path.exists(filename)


def IsDirectory(dirname: str) -> bool:
    """Return whether a path is a folder."""
    return os.path.isdir(dirname)


def MakeDirs(dirname: str) -> None:
    """Create a folder and its parents, unless it exists."""
    os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: str) -> None:
    """Create a folder.

    Raises:
        NotFoundError: if the parent folder does not exist.
        AlreadyExistsError: if the folder exists.
    """
    with _known_errors(dirname):
        os.mkdir(dirname)


def ListDirectory(dirname: str) -> list[str]:
    """Return the names in a folder, sorted.

    Raises:
        NotFoundError: if it does not exist.
    """
    with _known_errors(dirname):
        return sorted(os.listdir(dirname))


def Glob(filename: str) -> list[str]:
    """Return the paths that match a pattern, sorted."""
    return sorted(_glob.glob(filename))


def Walk(top: str, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield, for a folder and each folder below it, the folder, its subfolders and its files.

    Args:
        top: the folder.
        in_order: whether a folder comes before its subfolders.
    """
    return os.walk(top, topdown=in_order)


class FileStatistics(NamedTuple):
    """The size and time of a file.

    Attributes:
        length: its size in bytes.
        mtime_nsec: the time of the last change, in nanoseconds since 1970.
        is_directory: whether it is a folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: str) -> FileStatistics:
    """Return the size and time of a file.

    Raises:
        NotFoundError: if it does not exist.
    """
    with _known_errors(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, stat.S_ISDIR(found.st_mode))


def Remove(filename: str) -> None:
    """Delete a file.

    Raises:
        NotFoundError: if it does not exist.
    """
    with _known_errors(filename):
        os.remove(filename)


def DeleteRecursively(dirname: str) -> None:
    """Delete a folder with all its contents.

    Raises:
        NotFoundError: if it does not exist.
    """
    with _known_errors(dirname):
        shutil.rmtree(dirname)


def Copy(oldpath: str, newpath: str, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
        AlreadyExistsError: if the new file exists and ``overwrite`` is false.
        NotFoundError: if the old file does not exist.
    """
    _check_free(newpath, overwrite)
    with _known_errors(oldpath):
        shutil.copyfile(oldpath, newpath)


def Rename(oldname: str, newname: str, overwrite: bool = False) -> None:
    """Rename a file; the errors are those of ``Copy``."""
    _check_free(newname, overwrite)
    with _known_errors(oldname):
        os.replace(oldname, newname)


def _check_free(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise AlreadyExistsError(f"{path} exists; pass overwrite=True to replace it")

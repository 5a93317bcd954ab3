"""File and folder functions under TensorFlow's names, for the local file system."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO, NamedTuple, Self

from actorsession.checkpoints.atomic import overwrite
from actorsession.config.file_roots import path_text
from actorsession.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from actorsession.process_bound import ProcessBound

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
    "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]  # fmt: skip

# A path, also as bytes, as TensorFlow takes them.
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_ERRORS: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EINVAL: InvalidArgumentError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
}


@contextlib.contextmanager
def _known_errors(path: str) -> Iterator[None]:
    """Convert errors of the file system into TensorFlow's."""
    try:
        yield
    except OSError as exc:
        kind = _ERRORS.get(exc.errno or 0, UnknownError)
        raise kind(f"{path}; {exc.strerror or exc}") from exc


class GFile(ProcessBound):
    """A file, which is opened when it is first read or written.

    Args:
        name: its path.
        mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes instead of text.

    Raises:
        InvalidArgumentError: for another mode.
    """

    def __init__(self, name: Path, mode: str = "r") -> None:
        self._name = name
        self._path = path_text(name)
        self._mode = mode
        self._binary = "b" in mode
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+': {mode!r:.100}")
        self._reads = plain not in ("w", "a")
        self._writes = plain != "r"
        self._how = {"r+": "r+b"}.get(plain, f"{plain[0]}b")
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path!r} mode={self._mode!r}>"

    @property
    def name(self) -> Path:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    def _reading(self) -> IO[bytes]:
        if not self._reads:
            raise PermissionDeniedError("File isn't open for reading")
        if self._writer is not None:
            self.flush()
        if self._reader is None:
            with _known_errors(self._path):
                self._reader = open(self._path, "rb")  # noqa: SIM115  # closed by close
        return self._reader

    def _writing(self) -> IO[bytes]:
        if not self._writes:
            raise PermissionDeniedError("File isn't open for writing")
        if self._writer is None:
            with _known_errors(self._path):
                self._writer = open(self._path, self._how)  # noqa: SIM115  # closed by close
        return self._writer

    def _shown(self, content: bytes) -> str | bytes:
        return content if self._binary else content.decode()

    def read(self, n: int = -1) -> str | bytes:
        """Return the rest of the file, or so many bytes of it.

        Args:
            n: number of bytes; all for -1.

        Raises:
            NotFoundError: if there is no such file.
            PermissionDeniedError: if the file is open for writing only.
        """
        file = self._reading()
        with _known_errors(self._path):
            return self._shown(file.read(n))

    def readline(self) -> str | bytes:
        """Return the next line with its end, without carriage returns; nothing at the end of the file."""
        file = self._reading()
        with _known_errors(self._path):
            return self._shown(file.readline().replace(b"\r", b""))

    def readlines(self) -> list[str | bytes]:
        """Return the lines that are left."""
        return list(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str | bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: str | bytes) -> None:
        """Append text or bytes to what was written.

        Args:
            file_content: the text, written as UTF-8, or the bytes.

        Raises:
            PermissionDeniedError: if the file is open for reading only.
            TypeError: for anything else.
        """
        file = self._writing()
        if isinstance(file_content, str):
            file_content = file_content.encode()
        if not isinstance(file_content, (bytes, bytearray, memoryview)):
            raise TypeError(f"Expected binary or unicode string, got {file_content!r:.100}")
        with _known_errors(self._path):
            file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place of the file from which to read.

        Args:
            offset: number of bytes.
            whence: counted from the beginning for 0, from here for 1, from the end for 2.
            position: the former name of ``offset``.

        Raises:
            TypeError: without an offset.
            InvalidArgumentError: for another ``whence``.
        """
        file = self._reading()
        if offset is None:
            offset = position
        if offset is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        with _known_errors(self._path):
            file.seek(offset, whence)

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the place in the file."""
        return (self._reading() if self._reads else self._writing()).tell()

    def size(self) -> int:
        """Return the length of the file in bytes."""
        self.flush()
        return Stat(self._path).length

    def flush(self) -> None:
        """Write out what is buffered."""
        if self._writer is not None:
            with _known_errors(self._path):
                self._writer.flush()

    def close(self) -> None:
        """Close the file; what reads or writes it afterwards opens it again."""
        reader, writer = self._reader, self._writer
        self._reader = self._writer = None
        if reader is not None:
            reader.close()
        if writer is not None:
            with _known_errors(self._path):
                writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # as of a file that nobody holds any more
            self.close()


class FastGFile(GFile):
    """The former name of ``GFile``."""


Open = GFile


def Exists(filename: Path) -> bool:
    """Return whether a path exists."""
    return os.path.exists(path_text(filename))


def IsDirectory(dirname: Path) -> bool:
    """Return whether a path is a folder."""
    return os.path.isdir(path_text(dirname))


def MakeDirs(dirname: Path) -> None:
    """Create a folder and its parents, unless it exists.

    Raises:
        FailedPreconditionError: if there is a file where a folder should be.
    """
    path = path_text(dirname)
    try:
        with _known_errors(path):
            os.makedirs(path, exist_ok=True)
    except (AlreadyExistsError, FailedPreconditionError):
        raise FailedPreconditionError(f"{path} is not a directory") from None


def MkDir(dirname: Path) -> None:
    """Create a folder, unless it exists.

    Raises:
        NotFoundError: if the parent folder does not exist.
        AlreadyExistsError: if there is a file of that name.
    """
    path = path_text(dirname)
    if not os.path.isdir(path):
        with _known_errors(path):
            os.mkdir(path)


def ListDirectory(dirname: Path) -> list[str]:
    """Return the names in a folder, sorted.

    Raises:
        NotFoundError: if there is no such folder.
    """
    path = path_text(dirname)
    if not os.path.isdir(path):
        raise NotFoundError(f"Could not find directory {path}")
    with _known_errors(path):
        return sorted(os.listdir(path))


def Glob(filename: Path | list[Path] | tuple[Path, ...]) -> list[str]:
    """Return the paths that match a pattern, or any of several, sorted.

    Args:
        filename: the pattern or patterns, with ``*``, ``?`` and sets in brackets, in each part of the path.
    """
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return sorted([path for pattern in patterns for path in _matching(path_text(pattern))])


def _matching(pattern: str) -> list[str]:
    """Return the paths that match a pattern; the files here stand in ``./``, as TensorFlow has them."""
    if not re.search(r"[*?\[\\]", pattern):
        return [pattern] if os.path.exists(pattern) else []
    folder, _, name = pattern.rpartition("/")
    root = "/" if pattern.startswith("/") and not folder else folder or "."
    parents = [root] if root in ("/", ".") else _matching(root)
    matches = re.compile(fnmatch.translate(re.sub(r"\\(.)", r"[\1]", name))).match
    paths = []
    for parent in parents:
        with contextlib.suppress(OSError):
            paths += [os.path.join(parent, each) for each in os.listdir(parent) if matches(each)]
    return paths


def Walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield, for a folder and each folder below it, the folder, its subfolders and its files.

    Args:
        top: the folder.
        in_order: whether a folder comes before its subfolders.
    """
    for folder, folders, files in os.walk(path_text(top), topdown=in_order):
        folders.sort()
        yield folder, folders, sorted(files)


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


def Stat(filename: Path) -> FileStatistics:
    """Return the size and time of a file.

    Raises:
        NotFoundError: if it does not exist.
    """
    path = path_text(filename)
    with _known_errors(path):
        status = os.stat(path)
    return FileStatistics(status.st_size, status.st_mtime_ns, stat.S_ISDIR(status.st_mode))


def Remove(filename: Path) -> None:
    """Delete a file.

    Raises:
        NotFoundError: if it does not exist.
        FailedPreconditionError: if it is a folder.
    """
    path = path_text(filename)
    with _known_errors(path):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        os.remove(path)


def DeleteRecursively(dirname: Path) -> None:
    """Delete a folder with all its contents, or a file.

    Raises:
        NotFoundError: if it does not exist.
    """
    path = path_text(dirname)
    if not os.path.lexists(path):
        raise NotFoundError(f"{path} not found")
    with _known_errors(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def Copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
        AlreadyExistsError: if the new file exists and ``overwrite`` is false.
        NotFoundError: if the old file does not exist, or the folder of the new one.
    """
    old, new = path_text(oldpath), path_text(newpath)
    check_free(new, overwrite)
    with _known_errors(old):
        if os.path.isdir(old):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        source = open(old, "rb")  # noqa: SIM115  # closed below
    with source:
        write_file(new, lambda target: shutil.copyfileobj(source, target))


def write_file(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Write a file as a whole: it is as it was, or has all that is written.

    Args:
        path: its path.
        write: writes the content to a file.
    """
    with _known_errors(path):
        overwrite(path, write)


def Rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:
    """Rename a file; the errors are those of ``Copy``."""
    old, new = path_text(oldname), path_text(newname)
    check_free(new, overwrite)
    with _known_errors(old):
        os.replace(old, new)


def check_free(path: str, overwrite: bool) -> None:
    """Raise ``AlreadyExistsError`` if there is a file that is not to be overwritten."""
    if not overwrite and os.path.exists(path):
        raise AlreadyExistsError(f"file already exists: {path}; pass overwrite=True to replace it")

"""Atomic files: a file exists completely or not at all.

A file is written beside its destination under another name, synced, and renamed. A crash at any moment leaves
the old file or the new one. The unfinished file of a killed writer is removed by the next writer: a file that
is being written is locked, and the kernel releases the locks of a process that ended. The module also maps
errors of the file system to the library's errors. All code that writes checkpoints and snapshots calls it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

from actorsession.config.file_roots import ANYWHERE, FileRoots, Folder
from actorsession.errors import (
    AbortedError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

if sys.platform != "win32":
    import fcntl

__all__ = [
    "UNFINISHED", "file_errors", "keep_file", "remove_abandoned", "remove_unused", "replace_file",
    "write_whole",
]  # fmt: skip

# The suffix of a file that is being written; before it are a dot and the final name.
UNFINISHED = r"\.[0-9a-f]{12}\.tmp"

_ERRORS: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EFBIG: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
    errno.ENFILE: ResourceExhaustedError,
    errno.ENOMEM: ResourceExhaustedError,
    errno.EIO: DataLossError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EEXIST: FailedPreconditionError,  # a file where a folder should be
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.ENAMETOOLONG: InvalidArgumentError,
}


@contextlib.contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Convert errors of the file system into errors of the library.

    Args:
        what: the failed action, with which the message begins: ``cannot write the checkpoint x``.
    """
    try:
        yield
    except OSError as exc:
        kind = _ERRORS.get(exc.errno or 0, UnknownError)
        raise kind(f"{what}: {exc.strerror or exc}") from exc


# -- writing ---------------------------------------------------------------------------------------


def write_whole(path: str, write: Callable[[BinaryIO], None], files: FileRoots = ANYWHERE) -> None:
    """Create or replace a file, and create missing folders.

    Unfinished files of killed writers of the same path are removed first. The folder is opened once.

    Args:
        path: the destination.
        write: writes the content to the file that it is given. If it raises, nothing is left behind.
        files: the folders in which files may be written.

    Raises:
        PermissionDeniedError: if the destination is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    above, name = os.path.split(os.path.abspath(path))
    with file_errors(f"cannot write {path!r}"), files.folder(above, make=True) as folder:
        _remove_abandoned(folder, re.compile(rf"\.{re.escape(name)}{UNFINISHED}"))
        file, unfinished = _new_file(folder, name)
        try:
            # Locked until it has its name, so that it does not count as abandoned.
            with _lock_held(file.fileno()):
                with file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                folder.replace(unfinished, folder, name)
        except BaseException:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                folder.unlink(unfinished)
            raise
        folder.sync()


def _new_file(folder: Folder, name: str) -> tuple[BinaryIO, str]:
    """Return a new file with a unique name, and the name.

    Two writers of one path cannot mix then: the later rename wins.
    """
    while True:
        unique = f".{name}.{secrets.token_hex(6)}.tmp"
        file = folder.create(unique)
        # Before it was locked, another process may have removed the file as abandoned.
        if _lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return file, unique
        file.close()


def replace_file(source: str, destination: str, files: FileRoots = ANYWHERE) -> None:
    """Move a complete file to another name, replacing any existing file.

    Raises:
        PermissionDeniedError: if one of the two is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    (old, name), (new, wanted) = (
        os.path.split(os.path.abspath(path)) for path in (source, destination)
    )
    with (
        file_errors(f"cannot move {source!r} to {destination!r}"),
        files.folder(new, make=True) as to,
        files.folder(old) as folder,
    ):
        folder.replace(name, to, wanted)
        to.sync()


# -- files in use ----------------------------------------------------------------------------------


@contextlib.contextmanager
def keep_file(path: str, files: FileRoots = ANYWHERE) -> Iterator[None]:
    """Prevent the removal of a file as unused for the length of the block.

    Raises:
        PermissionDeniedError: if it is outside of ``files``.
        AbortedError: if another process is removing it.
        OpError: as in ``file_errors``.
    """
    with contextlib.ExitStack() as held:
        with file_errors(f"cannot read {path!r}"):
            descriptor = files.opener(path, os.O_RDONLY)
        held.callback(os.close, descriptor)
        if not _lock(descriptor, shared=True) or not os.fstat(descriptor).st_nlink:
            raise AbortedError(f"{path!r} is being removed by another process")
        yield


def remove_abandoned(path: str, form: re.Pattern[str], files: FileRoots = ANYWHERE) -> None:
    """Remove the files of a folder that are neither being written nor kept; errors are ignored.

    Args:
        path: the folder.
        form: a pattern for the complete names.
        files: the folders in which files may be removed.
    """
    with contextlib.suppress(OSError), files.folder(path) as folder:
        _remove_abandoned(folder, form)


def _remove_abandoned(folder: Folder, form: re.Pattern[str]) -> None:
    with contextlib.suppress(OSError):
        for name in folder.names():
            if form.fullmatch(name):
                _remove_unused(folder, name, lambda: False)


def remove_unused(
    path: str, wanted: Callable[[], bool] = lambda: False, files: FileRoots = ANYWHERE
) -> None:
    """Remove a file unless it is being written or kept; errors are ignored.

    Args:
        path: the file.
        wanted: whether it is to stay all the same; called while the file is locked, so that it cannot be kept
            anew.
        files: the folders in which files may be removed.
    """
    above, name = os.path.split(path)
    with contextlib.suppress(OSError), files.folder(above) as folder:
        _remove_unused(folder, name, wanted)


def _remove_unused(folder: Folder, name: str, wanted: Callable[[], bool]) -> None:
    if sys.platform == "win32":
        return  # nothing shows whether a file is in use
    # The file stays if it is another user's, or on a file system without locks.
    with contextlib.suppress(OSError, OpError):
        descriptor = folder.open(name, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not wanted():
                folder.unlink(name)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file if it is not locked; return ``True`` also where the file system has no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a process that wants to remove it cannot lock it either, and leaves it
    return True


@contextlib.contextmanager
def _lock_held(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file beyond its closing."""
    if sys.platform == "win32":  # where an open file cannot be renamed
        yield
        return
    held = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(held)

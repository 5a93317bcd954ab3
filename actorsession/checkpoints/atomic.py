"""Files that are there whole or not at all.

Owns how a file comes to be: written beside its place under another name, synced, renamed. A crash at any
moment leaves the old file or the new one. What a writer that was killed leaves beside it is removed by the
next one: a file that is being written is locked, and the kernel releases the locks of the dead. Also owns
which error of ours a failing file system becomes. Everything that writes checkpoints and snapshots calls it.
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
    "sync_folder", "write_whole",
]  # fmt: skip

# What the name of a file that is being written ends in, behind a dot and its future name.
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
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.ENAMETOOLONG: InvalidArgumentError,
}


@contextlib.contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turn errors of the file system into ours.

    Args:
        what: what was being done, to begin the message with: ``cannot write the checkpoint x``.
    """
    try:
        yield
    except OSError as exc:
        kind = _ERRORS.get(exc.errno or 0, UnknownError)
        raise kind(f"{what}: {exc.strerror or exc}") from exc


# -- writing ---------------------------------------------------------------------------------------


def write_whole(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Make or replace a file; folders that are missing are made.

    What writers of the same path have left that were killed is removed first.

    Args:
        path: where it is to be.
        write: writes the content to the file that it is given. If it raises, nothing is left behind.

    Raises:
        OpError: as ``file_errors`` says.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with file_errors(f"cannot write {path!r}"):
        os.makedirs(folder, exist_ok=True)
        remove_abandoned(folder, re.compile(rf"\.{re.escape(name)}{UNFINISHED}"))
        file = _new_file(folder, name)
        try:
            # Locked until it has its name: nobody takes it for what a dead writer left.
            with _lock_held(file.fileno()):
                with file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            raise
        sync_folder(folder)


def _new_file(folder: str, name: str) -> BinaryIO:
    """A file of a name of its own, so that two writers of one path cannot mix: the later rename wins."""
    while True:
        path = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
        file = open(path, "xb")  # noqa: SIM115 - the caller closes it
        # Before the lock was had, somebody may have taken the file for abandoned, and removed it.
        if _lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def replace_file(source: str, destination: str) -> None:
    """Move a whole file to another name, over one that may be there.

    Raises:
        OpError: as ``file_errors`` says.
    """
    with file_errors(f"cannot move {source!r} to {destination!r}"):
        os.makedirs(os.path.dirname(os.path.abspath(destination)), exist_ok=True)
        os.replace(source, destination)
        sync_folder(os.path.dirname(os.path.abspath(destination)))


def sync_folder(folder: str) -> None:
    """Make renames in a folder outlast a crash of the machine, where the system can promise it."""
    # Some file systems refuse to sync a folder, and Windows to open one: the rename is whole there too.
    with contextlib.suppress(OSError):
        held = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)


# -- who uses a file -------------------------------------------------------------------------------


@contextlib.contextmanager
def keep_file(path: str) -> Iterator[None]:
    """Keep others from removing a file as unused, for as long as the block lasts.

    Raises:
        AbortedError: if somebody is removing it.
        OpError: as ``file_errors`` says.
    """
    with contextlib.ExitStack() as held:
        with file_errors(f"cannot read {path!r}"):
            descriptor = os.open(path, os.O_RDONLY)
        held.callback(os.close, descriptor)
        if not _lock(descriptor, shared=True) or not os.fstat(descriptor).st_nlink:
            raise AbortedError(f"{path!r} is being removed by another process")
        yield


def remove_abandoned(folder: str, form: re.Pattern[str]) -> None:
    """Remove the files of a folder that nobody is writing or keeps; errors are no matter.

    Args:
        folder: where.
        form: what the whole names look like.
    """
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if form.fullmatch(entry):
                remove_unused(os.path.join(folder, entry))


def remove_unused(path: str, wanted: Callable[[], bool] = lambda: False) -> None:
    """Remove a file unless somebody is writing or keeps it; errors are no matter.

    Args:
        path: the file.
        wanted: whether it is to stay all the same; asked when nobody else can come to keep it.
    """
    if sys.platform == "win32":
        return  # nothing tells who uses it
    with contextlib.suppress(
        OSError
    ):  # gone, another user's, or a file system without locks: it stays
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not wanted():
                os.unlink(path)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file if nobody else has; ``True`` also where the file system has no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # whoever wants to remove it does not get a lock either, and leaves it
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

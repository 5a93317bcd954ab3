"""Files that are there whole or not at all.

Owns how a file comes to be: written beside its place under another name, synced, renamed. A crash at any
moment leaves the old file or the new one. Also owns which error of ours a failing file system becomes.
Everything that writes checkpoints calls it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from typing import BinaryIO

from actorsession.errors import (
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

__all__ = ["UNFINISHED", "file_errors", "replace_file", "sync_folder", "write_whole"]

# What the name of a file that is being written ends in, behind a dot and its future name.
UNFINISHED = r"\.[0-9a-f]{12}\.tmp"

_ERRORS: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
    errno.ENFILE: ResourceExhaustedError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
}


@contextlib.contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turns errors of the file system into ours.

    Args:
        what: what was being done, to begin the message with: ``cannot write the checkpoint x``.
    """
    try:
        yield
    except OSError as exc:
        kind = _ERRORS.get(exc.errno or 0, UnknownError)
        raise kind(f"{what}: {exc.strerror or exc}") from exc


def write_whole(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Makes or replaces a file; folders that are missing are made.

    Args:
        path: where it is to be.
        write: writes the content to the file that it is given. If it raises, nothing is left behind.

    Raises:
        OpError: as ``file_errors`` says.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with file_errors(f"cannot write {path!r}"):
        os.makedirs(folder, exist_ok=True)
        # A name of its own, so that two writers of one path cannot mix: the later rename wins.
        unfinished = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
        try:
            with open(unfinished, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise
        sync_folder(folder)


def replace_file(source: str, destination: str) -> None:
    """Moves a whole file to another name, over one that may be there.

    Raises:
        OpError: as ``file_errors`` says.
    """
    with file_errors(f"cannot move {source!r} to {destination!r}"):
        os.makedirs(os.path.dirname(os.path.abspath(destination)), exist_ok=True)
        os.replace(source, destination)
        sync_folder(os.path.dirname(os.path.abspath(destination)))


def sync_folder(folder: str) -> None:
    """Makes renames in a folder outlast a crash of the machine, where the system can promise it."""
    # Some file systems refuse to sync a folder, and Windows to open one: the rename is whole there too.
    with contextlib.suppress(OSError):
        held = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)

"""Atomic files: a file exists completely or not at all.

A file is written beside its destination under another name, synced, and renamed. A crash at any moment leaves
the old file or the new one. The unfinished file of a killed writer is removed by the next writer: a file that
is being written is locked, and the kernel releases the locks of a process that ended. A ``LockedFile`` shows
in the same way that the owner of a folder lives. The module also opens files that others may have put in
place of one's own, and maps errors of the file system to the library's errors. All code that writes
checkpoints and snapshots calls it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO, ClassVar

from actorsession.config.file_roots import (
    ANYWHERE,
    FILE,
    FOLDER,
    FileRoots,
    Folder,
    Opener,
    check_regular,
    is_bad_name,
    path_text,
)
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
from transports.host import current_host

__all__ = [
    "PRIVATE", "PRIVATE_FOLDER", "UNFINISHED", "LockedFile", "create_file", "drop_files", "file_errors",
    "files_beginning", "if_there", "keep_file", "make_folder", "make_private_folder", "open_file", "open_kept",
    "open_regular", "overwrite", "read_regular", "regular", "remove_abandoned", "remove_unused", "replace_file",
    "sync_folder", "write_whole",
]  # fmt: skip

PRIVATE = 0o600
"""The mode of files that only their owner may read: snapshots, logs, dumps."""

PRIVATE_FOLDER = 0o700
"""The mode of folders that only their owner may enter."""

# An open that does not wait for the other end of a FIFO, takes no terminal, and is not inherited.
_UNBLOCKED = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)

# The suffix of a file that is being written; before it are a dot and the final name, or its first bytes: file
# systems have names of 255 at most.
UNFINISHED = r"\.[0-9a-f]{12}\.tmp"
_STEM = 255 - len(".") - len(".0123456789ab.tmp")

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
    errno.ELOOP: FailedPreconditionError,
    errno.ENXIO: FailedPreconditionError,  # a FIFO without a reader, or a socket
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
    except OpError:
        raise
    except OSError as exc:
        kind = _ERRORS.get(exc.errno or 0, UnknownError)
        raise kind(f"{what}: {exc.strerror or exc}") from exc
    except ValueError as exc:
        if is_bad_name(exc):
            raise InvalidArgumentError(f"{what}: no file can have that name ({exc})") from exc
        raise


class if_there:
    """Leave a block early where it cannot use a file, such as one that does not exist.

    A class, because the frames of a generator that is thrown an error hold each other on CPython 3.13, and with them
    what calls the block.

    Args:
        path: the file.

    Raises:
        DataLossError: the disk fails, so that nobody knows what is there.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> bool:
        if isinstance(exc, OSError) and exc.errno == errno.EIO:
            raise DataLossError(f"cannot look for {self._path!r}: {exc.strerror}") from exc
        return isinstance(exc, (OSError, ValueError))  # the second: no file can have that name


# -- opening ---------------------------------------------------------------------------------------


def files_beginning(prefix: str, rest: str, files: FileRoots) -> list[tuple[str, re.Match[str]]]:
    """Return the existing files whose paths begin with a prefix, sorted, with the match of their names.

    Args:
        prefix: the beginning of the paths.
        rest: a pattern for all that follows it.
        files: the folders in which files may be looked for.
    """
    above, name = os.path.split(prefix)
    form = re.compile(re.escape(name) + rest)
    with contextlib.suppress(OSError), files.folder(above) as folder:
        matches = [form.fullmatch(entry) for entry in sorted(folder.names())]
        return [(os.path.join(above, match.string), match) for match in matches if match]
    return []


def regular(files: FileRoots = ANYWHERE) -> Opener:
    """Return an ``opener`` of ``open`` for files whose names others may take: it opens regular files only.

    A FIFO would keep the process waiting for its other end, and a device might do anything. Files that it
    makes are private.

    Args:
        files: the folders in which files may be opened; where these are few, their opener does as much.

    Returns:
        The opener; it raises ``FailedPreconditionError`` for what is no regular file.
    """
    return _open_checked if files.roots is None else files.opener


def _open_checked(path: str, flags: int) -> int:
    with contextlib.suppress(OSError):  # opening it has the error that counts
        check_regular(path, current_host().files.stat(path).st_mode)  # before: opening may have effects
    descriptor = current_host().files.open(path, flags | _UNBLOCKED, PRIVATE)
    try:
        check_regular(path, current_host().files.fstat(descriptor).st_mode)
    except BaseException:
        current_host().files.close(descriptor)
        raise
    return descriptor


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, and return its descriptor; see ``regular``.

    Raises:
        FailedPreconditionError: if it is something else.
        OSError: the system refuses.
    """
    return regular()(path, flags)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file; see ``regular``.

    Raises:
        FailedPreconditionError: if it is something else.
        OSError: the system refuses.
    """
    with open_file(path_text(path)) as file:
        return file.read()


def open_file(path: str | os.PathLike[str], files: FileRoots = ANYWHERE, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading; see ``regular``.

    Raises:
        FailedPreconditionError: if it is something else.
        OSError: the system refuses.
    """
    return current_host().files.open_file(path, "rb", buffering, opener=regular(files))


def make_private_folder(path: str) -> None:
    """Make a folder with its parents, as far as they are missing, that only this user may enter.

    Raises:
        OSError: the system refuses.
    """
    with ANYWHERE.folder(path, make=PRIVATE_FOLDER):
        pass


# -- writing ---------------------------------------------------------------------------------------


def write_whole(
    path: str,
    write: Callable[[BinaryIO], object],
    newer_than: Iterable[str] = (),
    *,
    private: bool = False,
    new: bool = False,
    files: FileRoots = ANYWHERE,
) -> None:
    """Create or replace a file, and create missing folders.

    Unfinished files of killed writers of the same path are removed first. The folder is opened once.

    Args:
        path: the destination.
        write: writes the content to the file that it is given. If it raises, nothing is left behind.
        newer_than: files than which it gets a later time of change, whatever the clock says.
        private: whether only the owner may read the file, whatever the umask.
        new: whether an existing file is an error, a ``FailedPreconditionError``.
        files: the folders in which files may be written.

    Raises:
        PermissionDeniedError: if the destination is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    above, name = os.path.split(os.path.abspath(path_text(path)))
    with file_errors(f"cannot write {path!r}"), files.folder(above, make=FOLDER) as folder:
        _write_whole(
            folder,
            name,
            write,
            lambda descriptor: _date(descriptor, newer_than, files),
            mode=PRIVATE if private else FILE,
            new=new,
        )


def overwrite(
    path: str, write: Callable[[BinaryIO], object], *, make: bool = False, files: FileRoots = ANYWHERE
) -> None:
    """Create or replace a file that a program names, as ``open(path, "wb")`` does, but all at once.

    Links are followed, an existing file keeps its mode and owner, and what is no regular file, such as a
    device, is written to directly.

    Args:
        path: the destination.
        write: as for ``write_whole``.
        make: whether missing folders are made.
        files: the folders in which files may be written.

    Raises:
        PermissionDeniedError: if the destination is outside of ``files``.
        OSError: the system refuses.
    """
    before: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError):
        # Opened, though only looked at: what must not be written is refused.
        opened = files.opener(path, os.O_WRONLY)
        with current_host().files.open_file(opened, "wb") as file:
            before = current_host().files.fstat(opened)
            if not stat.S_ISREG(before.st_mode):
                write(file)
                return
    real = current_host().files.realpath(path) if files.roots is None else files.real(path)
    above, name = os.path.split(real)
    with files.folder(above, make=FOLDER if make else None) as folder:
        _write_whole(folder, name, write, lambda descriptor: _take_over(descriptor, before))


def _take_over(descriptor: int, before: os.stat_result | None) -> None:
    """Give a new file the owner and the mode of the one that it replaces, as far as the system permits."""
    if before is not None:
        with contextlib.suppress(OSError):
            current_host().files.fchown(descriptor, before.st_uid, before.st_gid)
        current_host().files.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _write_whole(
    folder: Folder,
    name: str,
    write: Callable[[BinaryIO], object],
    finish: Callable[[int], object],
    *,
    mode: int = FILE,
    new: bool = False,
) -> None:
    """Create or replace a file of an open folder; ``finish`` gets the written one before it has its name."""
    _remove_abandoned(folder, re.compile(rf"\.{re.escape(_stem(name))}{UNFINISHED}"))
    file, unfinished = _new_file(folder, name, mode)
    try:
        # Locked until it has its name, so that it does not count as abandoned.
        with _lock_held(file.fileno()):
            with file:
                write(file)
                file.flush()
                finish(file.fileno())
                current_host().files.fsync(file.fileno())
            if new:
                folder.link(unfinished, folder, name)
                folder.sync()
                folder.unlink(unfinished)
            else:
                folder.replace(unfinished, folder, name)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        with contextlib.suppress(OSError):
            folder.unlink(unfinished)
        raise
    folder.sync()


def _stem(name: str) -> str:
    """Return as much of a name as leaves room for the rest of an unfinished one."""
    return os.fsdecode(os.fsencode(name)[:_STEM])


def _date(descriptor: int, newer_than: Iterable[str], files: FileRoots) -> None:
    latest = 0
    for other in newer_than:
        with contextlib.suppress(OSError, PermissionDeniedError):
            latest = max(latest, files.stat(other).st_mtime_ns)
    for step in (1, 2 * 10**9):  # some file systems count in two seconds
        if current_host().files.fstat(descriptor).st_mtime_ns > latest:
            return
        current_host().files.utime(descriptor, ns=(latest + step, latest + step))


def _new_file(folder: Folder, name: str, mode: int) -> tuple[BinaryIO, str]:
    """Return a new file with a unique name, and the name.

    Two writers of one path cannot mix then: the later rename wins.
    """
    while True:
        unique = f".{_stem(name)}.{current_host().entropy.token_hex(6)}.tmp"
        if (file := _created(folder, unique, mode)) is not None:
            return file, unique


def create_file(path: str, files: FileRoots = ANYWHERE) -> BinaryIO:
    """Return a new file of a given name, which does not count as abandoned while it is open.

    Raises:
        FileExistsError: if there is one of that name.
    """
    above, name = os.path.split(path)
    with files.folder(above) as folder:
        while True:
            if (file := _created(folder, name)) is not None:
                return file


def _created(folder: Folder, name: str, mode: int = FILE) -> BinaryIO | None:
    """Return a new and locked file; ``None`` if another process removed it as abandoned before that."""
    file = folder.create(name, mode)
    if _lock(file.fileno()) and current_host().files.fstat(file.fileno()).st_nlink:
        return file
    file.close()
    return None


def replace_file(source: str, destination: str, files: FileRoots = ANYWHERE) -> None:
    """Move a complete file to another name, replacing any existing file.

    Raises:
        PermissionDeniedError: if one of the two is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    with file_errors(f"cannot move {source!r} to {destination!r}"):
        with files.folder(os.path.dirname(os.path.abspath(destination)), make=FOLDER) as folder:
            files.replace(source, destination)
            folder.sync()


def make_folder(path: str, files: FileRoots = ANYWHERE) -> None:
    """Create a folder and the missing ones above it; they survive a crash of the machine, as files do."""
    with files.folder(path, make=FOLDER):
        pass


def drop_files(*paths: str, files: FileRoots = ANYWHERE) -> None:
    """Remove files; missing ones are ignored.

    Raises:
        PermissionDeniedError: if the folder of one is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    for path in paths:
        with file_errors(f"cannot remove {path!r}"):
            files.unlink(path)


def sync_folder(path: str, files: FileRoots = ANYWHERE) -> None:
    """Make renames in a folder survive a crash of the machine, where the system can guarantee it."""
    with contextlib.suppress(OSError), files.folder(path) as folder:
        folder.sync()


# -- files in use ----------------------------------------------------------------------------------


@contextlib.contextmanager
def keep_file(path: str, files: FileRoots = ANYWHERE) -> Iterator[None]:
    """Prevent the removal of a file as unused for the length of the block.

    Raises:
        AbortedError: if another process is removing it.
        PermissionDeniedError: if it is outside of ``files``.
        OpError: as in ``file_errors``.
    """
    with open_kept(path, files):
        yield


def open_kept(path: str, files: FileRoots = ANYWHERE) -> BinaryIO:
    """Open a file for reading, and keep it as ``keep_file`` does while it is open; errors are the same."""
    with file_errors(f"cannot read {path!r}"):
        file = open_file(path, files, buffering=0)
    if not _lock(file.fileno(), shared=True) or not current_host().files.fstat(file.fileno()).st_nlink:
        file.close()
        raise AbortedError(f"{path!r} is being removed by another process")
    return file


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


def remove_unused(path: str, is_used: Callable[[], bool] = lambda: False, files: FileRoots = ANYWHERE) -> None:
    """Remove a file unless it is being written or kept; errors are ignored.

    Args:
        path: the file.
        is_used: whether it is to stay all the same; called while the file is locked, so that it cannot be kept
            anew.
        files: the folders in which files may be removed.
    """
    above, name = os.path.split(path)
    with contextlib.suppress(OSError), files.folder(above) as folder:
        _remove_unused(folder, name, is_used)


def _remove_unused(folder: Folder, name: str, is_used: Callable[[], bool]) -> None:
    if sys.platform == "win32":
        return  # nothing shows whether a file is in use
    # The file stays if it is another user's, or on a file system without locks.
    with contextlib.suppress(OSError, OpError):
        check_regular(name, folder.stat(name).st_mode)
        host = current_host().files
        descriptor = folder.open(name, os.O_RDWR | _UNBLOCKED)
        try:
            if host.lock(descriptor) and not is_used():
                folder.unlink(name)
        finally:
            host.close(descriptor)


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file if it is not locked; return ``True`` also where the file system has no locks."""
    # There a process that wants to remove it cannot lock it either, and leaves it.
    return current_host().files.lock(descriptor, shared=shared) is not False


@contextlib.contextmanager
def _lock_held(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file beyond its closing."""
    if sys.platform == "win32":  # where an open file cannot be renamed
        yield
        return
    held = current_host().files.dup(descriptor)
    try:
        yield
    finally:
        current_host().files.close(held)


# -- owners ----------------------------------------------------------------------------------------


class LockedFile:
    """A file that is there, and locked, while its owner lives; made by ``take``.

    The kernel releases the lock of a process that was killed. Where the file system has no locks, the file
    shows nothing but its text.

    Attributes:
        path: the file.
        is_locked: whether the file system has locks.
    """

    _held: ClassVar[weakref.WeakSet[LockedFile]] = weakref.WeakSet()

    def __init__(self, path: str, descriptor: int, *, is_locked: bool) -> None:
        self.path = path
        self.is_locked = is_locked
        self._files = current_host().files
        self._descriptor = descriptor
        self._held.add(self)

    @classmethod
    def take(cls, path: str, text: str) -> LockedFile | None:
        """Lock a file, which is made if it is missing, and write a text about the owner to it.

        Returns:
            The file; ``None`` if another owner has locked it.

        Raises:
            FailedPreconditionError: if it is no regular file.
            OSError: the system refuses.
        """
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        host = current_host().files
        while True:
            descriptor = open_regular(path, flags)
            try:
                is_locked = host.lock(descriptor)
                if is_locked is False:
                    host.close(descriptor)
                    return None
                if host.fstat(descriptor).st_nlink:  # its last owner has not removed it meanwhile
                    with contextlib.suppress(OSError):  # on a full disk the lock has no text
                        host.ftruncate(descriptor, 0)
                        host.write(descriptor, text.encode())
                    return cls(path, descriptor, is_locked=bool(is_locked))
            except BaseException:
                host.close(descriptor)
                raise
            host.close(descriptor)

    @staticmethod
    def text_of(path: str) -> str:
        """Return what the owner of a file has written to it; "" if that cannot be read."""
        with contextlib.suppress(OSError, FailedPreconditionError), open_file(path) as file:
            return file.read(_LONGEST_TEXT).decode(errors="replace")
        return ""

    def release(self) -> None:
        """Remove the file and unlock it; may be called twice."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                self._files.unlink(self.path)
            # Also for copies of the descriptor in processes that this one has forked.
            with contextlib.suppress(OSError):
                self._files.unlock(self._descriptor)
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        self._files.close(descriptor)

    @classmethod
    def leave_to_parent(cls) -> None:
        """Close the files of the parent in a forked process, which would keep them locked beyond its end."""
        for held in [file for file in cls._held if file._descriptor >= 0]:
            held._close()


# Bytes of the text of an owner; a longer one is not ours.
_LONGEST_TEXT = 4096

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LockedFile.leave_to_parent)

"""File roots: the folders of a server in which operations of its sessions may read and write.

The server owns them. Kernels that name files get the roots from their device (``ResourceHost.files``) and
do all that they do with files through them: opening, making, moving, listing, looking and removing.

A name is judged by its target: ``..`` and symbolic links are resolved first. What was judged is then what is
used: the folders are opened one in the other without following any link, and the last step is taken relative
to the descriptor of the last folder. A link that is placed there meanwhile has no effect, neither a symbolic
one nor one of ``/proc``, and a folder that is moved is still the folder that was judged. Under roots, only
regular files are opened, so that no pipe makes an operation wait. Hard links to files outside cannot be
detected.

Without roots (``ANYWHERE``), the same calls take the names as they are.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import functools
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias

from actorsession.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    PermissionDeniedError,
    RequestTypeError,
    RequestValueError,
)
from transports.host import current_host

__all__ = ["ANYWHERE", "FILE", "FOLDER", "FileRoots", "Folder", "Opener", "check_regular", "is_bad_name", "path_text"]

Opener: TypeAlias = Callable[[str, int], int]
"""Opens a file by its path and flags, as the ``opener`` of ``open``."""

_log = logging.getLogger("actorsession.config")
# Enough to look up a name in a folder; reading the folder needs another permission.
_SEARCHES = hasattr(os, "O_PATH")
_READ_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER = os.O_PATH | _READ_FOLDER if _SEARCHES else _READ_FOLDER
# What a link that takes the place of a file or a folder gives.
_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
# Modes before the umask, which are the usual ones.
FILE, FOLDER = 0o666, 0o777
# How often a name is looked up whose parts others move.
_TRIES = 100
_HINT = "--file-root DIR of its command, or ServerSettings(file_roots=[...]), names a folder for its sessions"


class Folder:
    """An open folder: the calls take names in it, and act there whatever the path leads to meanwhile.

    All raise ``OSError`` as those of ``os`` do.

    Args:
        path: the folder, without links if there is a descriptor.
        at: its descriptor, which the caller closes; without one, names are joined to the path.
    """

    __slots__ = ("_at", "_files", "_path")

    def __init__(self, path: str, at: int | None = None) -> None:
        self._path = path
        self._at = at
        self._files = current_host().files

    def open(self, name: str, flags: int, mode: int = FILE) -> int:
        """Return the descriptor of a file; ``mode`` is that of a new one before the umask.

        Raises:
            PermissionDeniedError: a link has taken its place.
            FailedPreconditionError: it is neither a file nor a folder.
        """
        if self._at is None:
            return self._files.open(self._of(name), flags, mode)
        with self._no_link(name):
            try:
                # A pipe must not wait for its other end.
                opened = self._files.open(self._of(name), flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=self._at)
            except OSError as exc:
                if exc.errno == errno.ENXIO:  # a FIFO without a reader, or a socket
                    check_regular(os.path.join(self._path, name), self.stat(name).st_mode)
                raise
        try:
            mode = self._files.fstat(opened).st_mode
            if not stat.S_ISDIR(mode):  # which the caller cannot read
                check_regular(os.path.join(self._path, name), mode)
        except BaseException:
            self._files.close(opened)
            raise
        return opened

    def create(self, name: str, mode: int = FILE) -> BinaryIO:
        """Return a new file that is open for writing, and that the caller closes."""
        if self._at is None and mode == FILE:
            return self._files.open_file(self._of(name), "xb")
        return self._files.open_file(name, "xb", opener=functools.partial(self.open, mode=mode))

    def replace(self, name: str, to: Folder, new: str) -> None:
        """Move a file to another folder, or to another name, where it replaces any other file."""
        if self._at is not None and stat.S_ISDIR(self.stat(name).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self._files.replace(self._of(name), to._of(new), src_dir_fd=self._at, dst_dir_fd=to._at)

    def link(self, name: str, to: Folder, new: str) -> None:
        """Give a file another name, which must not exist."""
        self._files.link(self._of(name), to._of(new), src_dir_fd=self._at, dst_dir_fd=to._at, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        self._files.unlink(self._of(name), dir_fd=self._at)

    def mkdir(self, name: str, mode: int = FOLDER) -> None:
        """Make a folder; ``mode`` is that before the umask."""
        self._files.mkdir(self._of(name), mode, dir_fd=self._at)

    def rmdir(self, name: str) -> None:
        """Remove an empty folder."""
        self._files.rmdir(self._of(name), dir_fd=self._at)

    def stat(self, name: str) -> os.stat_result:
        """Return the status of what has a name, be it a link."""
        return self._files.stat(self._of(name), dir_fd=self._at, follow_symlinks=False)

    def __repr__(self) -> str:
        return repr(self._path)

    def names(self) -> list[str]:
        """Return the names of what is in the folder, in any order."""
        if self._at is None:
            return self._files.listdir(self._path)
        with self._readable() as opened:
            return self._files.listdir(opened)

    def sync(self) -> None:
        """Make renames in the folder survive a crash of the machine, where the system can guarantee it."""
        # Some file systems refuse to sync a folder, and Windows to open one; the rename is atomic there too.
        with contextlib.suppress(OSError), self._readable() as opened:
            self._files.fsync(opened)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[int]:
        rooted = self._at is not None
        opened = self._files.open(
            "." if rooted else self._path, _READ_FOLDER if rooted else os.O_RDONLY, dir_fd=self._at
        )
        try:
            yield opened
        finally:
            self._files.close(opened)

    def _of(self, name: str) -> str:
        """Return the name as the calls of ``os`` take it."""
        if self._at is None:
            return os.path.join(self._path, name)
        if os.sep in name or name == os.pardir or "\0" in name:
            raise InvalidArgumentError(f"{name!r:.200} is not a name in a folder")
        return name or os.curdir

    @contextlib.contextmanager
    def _no_link(self, name: str) -> Iterator[None]:
        """Tell of a link in place of what was judged; there was none."""
        try:
            yield
        except OSError as exc:
            if exc.errno in _LINK and _is_link(name, self._at):
                raise _replaced(os.path.join(self._path, name)) from exc
            raise


def check_regular(path: str, mode: int) -> None:
    """Check that a name belongs to a regular file, by its mode.

    Raises:
        FailedPreconditionError: it belongs to something else.
    """
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
        kind = next((name for holds, name in kinds if holds(mode)), "a device")
        raise FailedPreconditionError(f"{path!r} is {kind}, and no regular file")


def _is_link(name: str, at: int | None) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(current_host().files.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    return False


def _replaced(path: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        f"{path!r} was replaced by a symbolic link while it was being opened: it is not followed"
    )


class FileRoots:
    """The folders where operations may open files.

    Args:
        roots: folders; ``None`` for the whole file system. Relative ones are relative to the process's.
        owner: the owner of the roots for messages, such as a task.

    Raises:
        TypeError: one folder is given instead of several.
    """

    __slots__ = ("_owner", "roots")

    def __init__(self, roots: Iterable[str | os.PathLike[str]] | None, owner: str = "the server") -> None:
        if isinstance(roots, (str, bytes, os.PathLike)):
            raise TypeError(f"file roots must be a list of folders, got the single name {roots!r:.100}")
        self.roots = None if roots is None else tuple(current_host().files.realpath(os.fspath(root)) for root in roots)
        self._owner = owner

    def real(self, path: str) -> str:
        """Return the target of a name, which need not exist; the name itself if all files may be opened.

        Raises:
            PermissionDeniedError: the target is outside of the roots; the message names both.
            InvalidArgumentError: no file can have the name.
        """
        return path if self.roots is None else self._resolve(path)[1]

    def prefix(self, path: str) -> str:
        """Return a prefix of names in one folder, with the folder as returned by ``real``.

        Raises:
            PermissionDeniedError: the folder is outside of the roots.
        """
        folder, name = os.path.split(path)
        return path if self.roots is None else os.path.join(self.real(folder or "."), name)

    def opener(self, path: str, flags: int, mode: int = FILE, *, make: bool = False) -> int:
        """Open a file, as the ``opener`` of ``open``.

        Args:
            path: the file.
            flags: as for ``os.open``.
            mode: of a new file, before the umask.
            make: whether missing folders are made.

        Raises:
            PermissionDeniedError: the target of the name is outside of the roots.
            FailedPreconditionError: it is neither a file nor a folder, and there are roots.
            OSError: the system refuses.
        """
        if self.roots is None:
            if make:
                _make(os.path.dirname(os.path.abspath(path)), FOLDER)
            return current_host().files.open(path, flags, mode)
        with self._parent(path, FOLDER if make else None) as (folder, name):
            return folder.open(name, flags, mode)

    @contextlib.contextmanager
    def folder(self, path: str, *, make: int | None = None) -> Iterator[Folder]:
        """Open a folder for the length of the block.

        Args:
            path: the folder; empty for the current one.
            make: if it is missing, it is made with this mode, as are those above it; they survive a crash of
                the machine, as files do. ``None`` to make none.

        Raises:
            PermissionDeniedError: it is outside of the roots.
            OSError: the system refuses, as it does if there is no such folder.
        """
        if self.roots is None:
            if make is not None:
                _make(os.path.abspath(path), make)
            yield Folder(path or os.curdir)
            return
        root, real = self._resolve(path or os.curdir)
        with _opened(root, real, make) as folder:
            yield folder

    def stat(self, path: str) -> os.stat_result:
        """Return the status of the target of a name.

        Raises:
            PermissionDeniedError: the target is outside of the roots.
            OSError: the system refuses, as it does if there is nothing.
        """
        if self.roots is None:
            return current_host().files.stat(path)
        with self._parent(path) as (folder, name):
            status = folder.stat(name)
        if stat.S_ISLNK(status.st_mode):
            raise _replaced(path)
        return status

    def unlink(self, path: str) -> None:
        """Remove a file, or a link, if it exists.

        Raises:
            PermissionDeniedError: its folder is outside of the roots.
            OSError: the system refuses.
        """
        above, name = os.path.split(path)
        with contextlib.suppress(FileNotFoundError), self.folder(above) as folder:
            folder.unlink(name)

    def replace(self, source: str, destination: str) -> None:
        """Move a file to another name, where it replaces any other file.

        Raises:
            PermissionDeniedError: one of the two folders is outside of the roots.
            OSError: the system refuses.
        """
        with self._two(source, destination) as (old, name, new, new_name):
            old.replace(name, new, new_name)

    def link(self, source: str, destination: str) -> None:
        """Give a file another name, which must not exist; errors are those of ``replace``."""
        with self._two(source, destination) as (old, name, new, new_name):
            old.link(name, new, new_name)

    @contextlib.contextmanager
    def _two(self, source: str, destination: str) -> Iterator[tuple[Folder, str, Folder, str]]:
        (above, name), (beside, new_name) = os.path.split(source), os.path.split(destination)
        with self.folder(above) as old, self.folder(beside) as new:
            yield old, name, new, new_name

    def remove_empty(self, path: str) -> None:
        """Remove a folder if it is empty, and neither a root nor above one; what cannot be removed stays.

        Raises:
            PermissionDeniedError: it is outside of the roots.
        """
        with contextlib.suppress(OSError):
            if self.roots is None:
                current_host().files.rmdir(path)
                return
            real = self.real(path)
            if any(_is_in(root, real) for root in self.roots):
                return
            with self.folder(os.path.dirname(real)) as folder:
                # By another name, as on a file system that ignores case.
                name = os.path.basename(real)
                status = folder.stat(name)
                if not any(_is_same(status, root) for root in self.roots):
                    folder.rmdir(name)

    def matching(self, pattern: str) -> Iterator[str]:
        """Yield the paths that match a pattern, in any order; ``glob`` would skip names with a dot and
        search folders.

        Raises:
            PermissionDeniedError: a folder that would be searched is outside of the roots.
            OSError: the system refuses.
        """
        head, name = os.path.split(pattern)
        if not _has_marks(pattern):
            if self.exists(pattern):
                yield pattern
            return
        for path_above in self.matching(head) if _has_marks(head) else [head]:
            try:
                with self.folder(path_above) as folder:
                    names = folder.names()
            except (FileNotFoundError, NotADirectoryError):
                continue
            for each in fnmatch.filter(names, name) if name else [""]:
                yield os.path.join(path_above, each)

    def exists(self, path: str) -> bool:
        """Return whether there is something with a name, be it a link.

        Raises:
            PermissionDeniedError: its folder is outside of the roots.
        """
        above, name = os.path.split(path)
        with contextlib.suppress(OSError):
            if self.roots is None:
                current_host().files.stat(path, follow_symlinks=False)
            elif name in ("", os.curdir, os.pardir):
                self.stat(path)
            else:
                with self.folder(above) as folder:
                    folder.stat(name)
            return True
        return False

    @contextlib.contextmanager
    def _parent(self, path: str, make: int | None = None) -> Iterator[tuple[Folder, str]]:
        """Open the folder of the target of a name, and yield it with the target's name in it."""
        root, real = self._resolve(path)
        above, name = (root, "") if real == root else os.path.split(real)
        with _opened(root, above, make) as folder:
            yield folder, name

    def _resolve(self, path: str) -> tuple[str, str]:
        """Return the root that contains the target of a name, and the target."""
        assert self.roots is not None
        real = _real(path)
        # The outermost, for who may write in it may replace one that lies in it.
        for root in sorted(self.roots, key=len):
            if _is_in(real, root):
                return root, real
        where = repr(path) if real == path else f"{path!r}, which resolves to {real!r},"
        if self.roots:
            has = f"is outside the file roots of {self._owner}: {', '.join(self.roots)}"
        else:
            has = (
                f"cannot be opened at {self._owner}, which has no file roots; a server that "
                "other machines can reach has none by default"
            )
        _log.warning("%s %s", where, has, extra={"peer": self._owner})
        raise PermissionDeniedError(f"{where} {has}. {_HINT}")

    def __repr__(self) -> str:
        return f"FileRoots({self.roots})"


@contextlib.contextmanager
def _opened(root: str, path: str, make: int | None) -> Iterator[Folder]:
    """Open a folder of a root, and each above it, without following a link."""
    start = os.sep if _SEARCHES else root  # folders above need not be readable
    if make is not None and start is root:
        _make(root, make)
    at = current_host().files.open(start, _FOLDER)
    try:
        above = start
        for name in filter(None, path[len(start) :].split(os.sep)):
            inner = _inner(Folder(above, at), name, at, make)
            current_host().files.close(at)
            at, above = inner, os.path.join(above, name)
        yield Folder(path, at)
    finally:
        current_host().files.close(at)


def _inner(folder: Folder, name: str, at: int, make: int | None) -> int:
    with folder._no_link(name):
        try:
            return current_host().files.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
        except FileNotFoundError:
            if make is None:
                raise
        with contextlib.suppress(FileExistsError):
            folder.mkdir(name, make)
            folder.sync()
        return current_host().files.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)


def path_text(path: Any, what: str = "the path") -> str:
    """Return a path that a program gives as text, bytes or an object, as text.

    Args:
        path: the path.
        what: its name, for messages.

    Raises:
        RequestTypeError: if it is something else.
        RequestValueError: if no file can have that name.
    """
    try:
        text: str = os.fsdecode(path)
        if b"\0" not in os.fsencode(text):
            return text
    except TypeError:
        raise RequestTypeError(f"{what} is a path as text or bytes, got {path!r:.100}") from None
    except ValueError:  # a half of a surrogate pair
        pass
    raise RequestValueError(f"{what}: no file can have the name {path!r:.200}")


def is_bad_name(error: ValueError) -> bool:
    """Return whether an error is that of a call of the system for a name that no file can have."""
    return isinstance(error, UnicodeEncodeError) or str(error).startswith("embedded null")


def _real(path: str) -> str:
    """Return the target of a name, with links resolved, whatever changes meanwhile."""
    for _ in range(_TRIES):
        try:
            return current_host().files.realpath(path)
        except OSError:  # what was a link when it was looked at is none when it is read
            continue
        except ValueError as exc:
            raise InvalidArgumentError(f"{path!r:.200} is not the name of a file") from exc
    raise AbortedError(f"{path!r} is moved all the time while it is looked for")


def _make(path: str, mode: int) -> None:
    """Make a folder and those above it, as far as they are missing; where there are no roots."""
    above = os.path.dirname(path)
    if current_host().files.isdir(path) or above == path:
        return
    _make(above, mode)
    try:
        current_host().files.mkdir(path, mode)
    except FileExistsError:  # by another process, meanwhile
        if not current_host().files.isdir(path):
            raise
    Folder(above).sync()


def _is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or in it; both have no links."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_same(status: os.stat_result, path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(status, current_host().files.stat(path))
    return False


def _has_marks(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


ANYWHERE = FileRoots(None)
"""The whole file system: for sessions in this process, and for servers that only this machine can reach."""

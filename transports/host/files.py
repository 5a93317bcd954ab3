"""The files of a host. Its methods have the names that they have in ``os``."""

from __future__ import annotations

import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, BinaryIO, TypeAlias, cast

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["AnyPath", "Files"]

AnyPath: TypeAlias = str | os.PathLike[str]


class Files:
    """The file systems of this machine; a derived class is a disk that can fail.

    What is asked of them is what atomic files, their locks and folders that are opened one in the other need.
    A descriptor is a number that only its own ``Files`` know. Symbolic links are followed, not made.
    """

    def open(self, path: AnyPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Return the descriptor of a file; ``mode`` is that of a new one before the umask."""
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def dup(self, descriptor: int) -> int:
        """Return another descriptor of the same open file."""
        return os.dup(descriptor)

    def write(self, descriptor: int, data: ReadableBuffer) -> int:
        """Write bytes, and return how many there was room for."""
        return os.write(descriptor, data)

    def ftruncate(self, descriptor: int, length: int) -> None:
        """Cut or extend an open file."""
        os.ftruncate(descriptor, length)

    def fstat(self, descriptor: int) -> os.stat_result:
        """Return the status of an open file."""
        return os.fstat(descriptor)

    def fchmod(self, descriptor: int, mode: int) -> None:
        """Set the mode of an open file, where files have one."""
        if sys.platform != "win32":
            os.fchmod(descriptor, mode)

    def fchown(self, descriptor: int, uid: int, gid: int) -> None:
        """Give an open file to another owner, where files have one."""
        if sys.platform != "win32":
            os.fchown(descriptor, uid, gid)

    def utime(self, path: AnyPath | int, *, ns: tuple[int, int]) -> None:
        """Set the times of the last read and the last change, in nanoseconds since 1970."""
        os.utime(path, ns=ns)

    def stat(self, path: AnyPath | int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """Return the status of what has a name."""
        return os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def mkdir(self, path: AnyPath, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Make a folder; ``mode`` is that before the umask."""
        os.mkdir(path, mode, dir_fd=dir_fd)

    def rmdir(self, path: AnyPath, *, dir_fd: int | None = None) -> None:
        """Remove an empty folder."""
        os.rmdir(path, dir_fd=dir_fd)

    def unlink(self, path: AnyPath, *, dir_fd: int | None = None) -> None:
        """Take a name from a file."""
        os.unlink(path, dir_fd=dir_fd)

    def link(
        self,
        source: AnyPath,
        path: AnyPath,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """Give a file another name, which must not exist."""
        os.link(source, path, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)

    def replace(
        self, source: AnyPath, path: AnyPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Give a file another name, in place of what has it."""
        os.replace(source, path, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def fsync(self, descriptor: int) -> None:
        """Make a file, or the names in a folder, survive a crash of the machine."""
        os.fsync(descriptor)

    def listdir(self, path: AnyPath | int) -> list[str]:
        """Return the names of what is in a folder, in any order."""
        return os.listdir(path)

    def realpath(self, path: str) -> str:
        """Return the target of a name, which need not exist."""
        return os.path.realpath(path)

    def open_file(
        self,
        path: AnyPath | int,
        mode: str = "rb",
        buffering: int = -1,
        *,
        opener: Callable[[str, int], int] | None = None,
    ) -> BinaryIO:
        """Open a file of bytes as the function ``open`` does.

        Args:
            path: the file; or a descriptor, which the file closes.
            mode: as for ``open``, with a ``b``.
            buffering: as for ``open``.
            opener: opens the descriptor; by default ``open`` of this host.
        """
        return cast(BinaryIO, open(path, mode, buffering, opener=opener))

    def temporary_file(self, folder: AnyPath) -> IO[bytes]:
        """Return a new file in a folder which has no name and ends when it is closed."""
        return tempfile.TemporaryFile(dir=folder)

    def map(self, descriptor: int, size: int) -> mmap.mmap | bytes:
        """Return the first bytes of an open file, which may be read where they lie as long as the result lives."""
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) if size else b""

    def lock(self, descriptor: int, *, shared: bool = False) -> bool | None:
        """Lock an open file unless another has locked it; the lock ends with the descriptor and its copies.

        Args:
            descriptor: the open file.
            shared: whether others may lock it in this way, too.

        Returns:
            Whether that was possible; ``None`` if the file system has no locks.
        """
        if sys.platform == "win32":
            return None
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    def unlock(self, descriptor: int) -> None:
        """Unlock an open file, also for the copies of its descriptor in other processes.

        Raises:
            OSError: the system refuses.
        """
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def exists(self, path: AnyPath) -> bool:
        """Return whether there is something with a name."""
        return self._mode(path) is not None

    def isfile(self, path: AnyPath) -> bool:
        """Return whether a name belongs to a file."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISREG(mode)

    def isdir(self, path: AnyPath) -> bool:
        """Return whether a name belongs to a folder."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def _mode(self, path: AnyPath) -> int | None:
        try:
            return self.stat(path).st_mode
        except (OSError, ValueError):
            return None

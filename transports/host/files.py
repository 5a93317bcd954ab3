"""The files of a host. Its methods have the names that they have in ``os``."""

from __future__ import annotations

import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import IO, BinaryIO, cast

if sys.platform != "win32":
    import fcntl

__all__ = ["Files"]


class Files:
    """The file systems of this machine; a derived class is a disk that can fail.

    What is asked of them is what atomic files, their locks and folders that are opened one in the other need.
    A descriptor is a number that only its own ``Files`` know. Symbolic links are followed, not made.
    """

    close = staticmethod(os.close)
    dup = staticmethod(os.dup)
    fstat = staticmethod(os.fstat)
    ftruncate = staticmethod(os.ftruncate)
    link = staticmethod(os.link)
    mkdir = staticmethod(os.mkdir)
    open = staticmethod(os.open)
    read = staticmethod(os.read)
    replace = staticmethod(os.replace)
    rmdir = staticmethod(os.rmdir)
    stat = staticmethod(os.stat)
    unlink = staticmethod(os.unlink)
    utime = staticmethod(os.utime)
    write = staticmethod(os.write)
    if sys.platform != "win32":
        fchmod = staticmethod(os.fchmod)
        fchown = staticmethod(os.fchown)

    def fsync(self, descriptor: int) -> None:
        """Make a file, or the names in a folder, survive a crash of the machine."""
        os.fsync(descriptor)

    def listdir(self, path: str | os.PathLike[str] | int) -> list[str]:
        """Return the names of what is in a folder, in any order."""
        return os.listdir(path)

    def realpath(self, path: str) -> str:
        """Return the target of a name, which need not exist."""
        return os.path.realpath(path)

    def open_file(
        self,
        path: str | os.PathLike[str] | int,
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

    def temporary_file(self, folder: str | os.PathLike[str]) -> IO[bytes]:
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

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Return whether there is something with a name."""
        return self._mode(path) is not None

    def isdir(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a name belongs to a folder."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def _mode(self, path: str | os.PathLike[str]) -> int | None:
        try:
            return self.stat(path).st_mode
        except (OSError, ValueError):
            return None

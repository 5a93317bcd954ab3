"""File roots: the folders of a server in which operations of its sessions may read and write.

Owned by the server; kernels that open files by names they are given find it at their device
(``ResourceHost.files``) and open through it. A name counts by where it leads: ``..`` and symbolic links are
followed first, and the way down from the root is then walked without following any, so that a link which
somebody puts there meanwhile leads nowhere. Files under other names of theirs (hard links) cannot be told.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import TypeAlias

from actorsession.errors import InvalidArgumentError, PermissionDeniedError

__all__ = ["ANYWHERE", "FileRoots", "Opener"]

Opener: TypeAlias = Callable[[str, int], int]
"""Opens a file by its path and flags, as the ``opener`` of ``open``."""

_log = logging.getLogger("actorsession.config")
# Enough to look a name up in a folder; reading the folder is another right.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_HINT = (
    "--file-root DIR of its command, or Server(file_roots=[...]), names a folder for its sessions"
)


class FileRoots:
    """Where operations may open files.

    Args:
        roots: folders; ``None`` for the whole file system. Relative ones are those of the process.
        owner: who has them, for messages, such as a task.

    Raises:
        TypeError: for one folder in place of several.
    """

    __slots__ = ("_owner", "roots")

    def __init__(
        self, roots: Iterable[str | os.PathLike[str]] | None, owner: str = "the server"
    ) -> None:
        if isinstance(roots, (str, bytes, os.PathLike)):
            raise TypeError(f"file roots are a list of folders, got {roots!r:.100} alone")
        self.roots = None if roots is None else tuple(os.path.realpath(root) for root in roots)
        self._owner = owner

    def real(self, path: str) -> str:
        """Return where a name leads, which need not exist; the name itself where all may be opened.

        Raises:
            PermissionDeniedError: if that is outside of the roots; names it, and them.
            InvalidArgumentError: for a name that no file can have.
        """
        return path if self.roots is None else self._found(path)[1]

    def prefix(self, path: str) -> str:
        """Return the beginning of names in one folder, with the folder as ``real`` gives it.

        Raises:
            PermissionDeniedError: if the folder is outside of the roots.
        """
        folder, name = os.path.split(path)
        return path if self.roots is None else os.path.join(self.real(folder or "."), name)

    def opener(self, path: str, flags: int) -> int:
        """Open a file, as the ``opener`` of ``open``; new ones get the usual mode.

        Raises:
            PermissionDeniedError: if its name leads out of the roots.
            OSError: if the system refuses.
        """
        if self.roots is None:
            return os.open(path, flags, 0o666)
        root, real = self._found(path)
        *folders, name = os.path.relpath(real, root).split(os.sep)
        at = os.open(root, _FOLDER)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            return os.open(name, flags | os.O_NOFOLLOW, 0o666, dir_fd=at)
        finally:
            os.close(at)

    def _found(self, path: str) -> tuple[str, str]:
        """Return the root that a name leads into, and where it leads."""
        assert self.roots is not None
        if "\0" in path:
            raise InvalidArgumentError(f"{path!r:.200} is no name of a file")
        real = os.path.realpath(path)
        for root in self.roots:
            if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
                return root, real
        where = repr(path) if real == path else f"{path!r}, which leads to {real!r},"
        if self.roots:
            has = f"is outside of the file roots of {self._owner}: {', '.join(self.roots)}"
        else:
            has = (
                f"cannot be opened at {self._owner}, which has no file roots; there are none by default "
                "where other machines reach a server"
            )
        _log.warning("%s %s", where, has, extra={"peer": self._owner})
        raise PermissionDeniedError(f"{where} {has}. {_HINT}")

    def __repr__(self) -> str:
        return f"FileRoots({self.roots})"


ANYWHERE = FileRoots(None)
"""The whole file system: of sessions in this process, and of servers that this machine alone reaches."""

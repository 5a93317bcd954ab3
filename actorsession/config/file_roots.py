"""File roots: the folders of a server in which operations of its sessions may read and write.

The server owns them. Kernels that open files by name get the roots from their device
(``ResourceHost.files``) and open files through them. A name is judged by its target: ``..`` and symbolic
links are resolved first, and the path from the root is then walked without following any link, so that a
link which is placed there meanwhile has no effect. Hard links to files outside cannot be detected.
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
# Enough to look up a name in a folder; reading the folder needs another permission.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_HINT = (
    "--file-root DIR of its command, or Server(file_roots=[...]), names a folder for its sessions"
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

    def __init__(
        self, roots: Iterable[str | os.PathLike[str]] | None, owner: str = "the server"
    ) -> None:
        if isinstance(roots, (str, bytes, os.PathLike)):
            raise TypeError(
                f"file roots must be a list of folders, got the single name {roots!r:.100}"
            )
        self.roots = None if roots is None else tuple(os.path.realpath(root) for root in roots)
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

    def opener(self, path: str, flags: int, mode: int = 0o666) -> int:
        """Open a file, as the ``opener`` of ``open``; ``mode`` is that of new ones before the umask.

        Raises:
            PermissionDeniedError: the target of the name is outside of the roots.
            OSError: the system refuses.
        """
        if self.roots is None:
            return os.open(path, flags, mode)
        root, real = self._resolve(path)
        *folders, name = os.path.relpath(real, root).split(os.sep)
        at = os.open(root, _FOLDER)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=at)
        finally:
            os.close(at)

    def _resolve(self, path: str) -> tuple[str, str]:
        """Return the root that contains the target of a name, and the target."""
        assert self.roots is not None
        if "\0" in path:
            raise InvalidArgumentError(f"{path!r:.200} is not the name of a file")
        real = os.path.realpath(path)
        for root in self.roots:
            if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
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


ANYWHERE = FileRoots(None)
"""The whole file system: for sessions in this process, and for servers that only this machine can reach."""

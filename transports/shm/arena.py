"""Arenas: memory of one process that others on its host can map, in parts that are taken and put back.

``lane`` has one arena for the segments that it writes, and opens those of its peers. The module imports
nothing of this project. An arena is an anonymous file. Invariants: its size never changes, free parts never
overlap taken ones, and a page that exists belongs to a part that is or recently was taken.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from contextlib import suppress

# No page of an arena exists before it is used. A reader that keeps all its buffers, or that stalls,
# occupies at most this much memory of its writer.
ARENA_SIZE = 2**30
TOKEN_SIZE = 16

# Linux defines these numbers; Python has names for them on some platforms only.
_F_ADD_SEALS, _F_GET_SEALS, _SEALS = 1033, 1034, 2 | 4  # neither shrink nor grow


class Arena:
    """Memory of this end that the peer maps, with a list of its free parts."""

    def __init__(self) -> None:
        """Make an arena without a page.

        Raises:
            OSError: No arena can be made.
        """
        self.token = secrets.token_bytes(TOKEN_SIZE)
        self.size = ARENA_SIZE
        self.descriptor = _make_file(self.token, self.size)
        self._memory: mmap.mmap | None = None
        self._free = [(0, self.size)]  # offset and size, in order; no two are adjacent
        self._touched = 0  # no page at or after this offset exists

    def take(self, length: int) -> tuple[int, memoryview] | None:
        """Return the offset and the memory of a part of this many bytes, or None if there is no space.

        The first part that fits is taken: low parts are reused, and their pages exist.
        """
        size = _whole_pages(length)
        for at, (offset, extent) in enumerate(self._free):
            if size <= extent:
                self._free[at : at + 1] = [(offset + size, extent - size)] if size < extent else []
                self._touched = max(self._touched, offset + size)
                return offset, memoryview(self._mapped())[offset : offset + length]
        return None

    def free(self, offset: int, length: int) -> None:
        """Free a part."""
        size = _whole_pages(length)
        joined: list[tuple[int, int]] = []
        for begin, extent in sorted([*self._free, (offset, size)]):
            if joined and sum(joined[-1]) == begin:
                joined[-1] = (joined[-1][0], joined[-1][1] + extent)
            else:
                joined.append((begin, extent))
        self._free = joined

    def release_pages(self) -> None:
        """Return the pages of all free parts to the operating system."""
        for offset, extent in self._free:
            size = min(offset + extent, self._touched) - offset
            if size > 0:
                self._mapped().madvise(mmap.MADV_REMOVE, offset, size)
        if self._free and sum(self._free[-1]) == self.size:
            self._touched = min(self._touched, self._free[-1][0])

    def close(self) -> None:
        """Close the arena; parts that the peer still maps exist until it releases them."""
        with suppress(OSError):  # pages that stay only cost memory
            self.release_pages()
        if self._memory is not None:
            with suppress(BufferError):  # a copy was interrupted; its end closes the mapping
                self._memory.close()
        os.close(self.descriptor)

    def _mapped(self) -> mmap.mmap:
        if self._memory is None:
            self._memory = mmap.mmap(self.descriptor, self.size)
        return self._memory


def _whole_pages(length: int) -> int:
    return -(-length // mmap.PAGESIZE) * mmap.PAGESIZE


def _file_name(token: bytes) -> str:
    return f"actorsession {token.hex()}"


def _make_file(token: bytes, size: int) -> int:
    """Return the descriptor of a new file in memory whose size is fixed.

    Raises:
        OSError: There are no descriptors left, or the system has no such files.
    """
    descriptor = os.memfd_create(_file_name(token), os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, _F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_arena(pid: int, descriptor: int, token: bytes) -> int:
    """Open the arena of another process, after checking that it is one.

    Args:
        pid: The process.
        descriptor: The descriptor of the arena in that process.
        token: The token that the name of the file must contain.

    Returns:
        A descriptor of the arena in this process, which the caller must close.

    Raises:
        OSError: The file is missing, may not be opened, or is another file.
    """
    where, expected = f"/proc/{pid}/fd/{descriptor}", f"/memfd:{_file_name(token)} (deleted)"
    # Checked before it is opened, because opening can have side effects, and again afterwards.
    if os.readlink(where) != expected:
        raise FileNotFoundError(f"descriptor {descriptor} of process {pid} is another file")
    opened = os.open(where, os.O_RDWR | os.O_CLOEXEC)
    try:
        if os.readlink(f"/proc/self/fd/{opened}") != expected:
            raise FileNotFoundError(f"descriptor {descriptor} of process {pid} is another file")
        if fcntl.fcntl(opened, _F_GET_SEALS) & _SEALS != _SEALS:
            raise PermissionError(f"descriptor {descriptor} of process {pid} is not sealed")
    except BaseException:
        os.close(opened)
        raise
    return opened

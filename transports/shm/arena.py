"""Arenas: memory of one process that others on its host can map, in parts that are taken and put back.

`lane` has one for what it writes, and opens those of its peers. It imports nothing of ours. An arena is an
anonymous file; invariants: its size never changes, free parts never overlap those that are taken, and a page
that exists belongs to a part that is or lately was taken.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from contextlib import suppress

# Of an arena no page exists before it is used. A reader that keeps all that it gets has this much of its
# writer's, and so has one that stands still.
ARENA_SIZE = 2**30
TOKEN_SIZE = 16

# Linux has these numbers; Python has names for them on some platforms only.
_F_ADD_SEALS, _F_GET_SEALS, _SEALS = 1033, 1034, 2 | 4  # neither shrink nor grow


class Arena:
    """Memory of this end that the peer maps, and which parts of it are free."""

    def __init__(self) -> None:
        """Make an arena without a page.

        Raises:
            OSError: There is none to be had.
        """
        self.token = secrets.token_bytes(TOKEN_SIZE)
        self.size = ARENA_SIZE
        self.descriptor = _make_file(self.token, self.size)
        self._memory: mmap.mmap | None = None
        self._free = [(0, self.size)]  # offset and size, in order; no two touch
        self._touched = 0  # no page from here on exists

    def take(self, length: int) -> tuple[int, memoryview] | None:
        """Return where a part of this many bytes begins, and its memory; None if there is no room.

        The first that fits: low parts are used again and again, and their pages exist.
        """
        size = _whole_pages(length)
        for at, (offset, room) in enumerate(self._free):
            if size <= room:
                self._free[at : at + 1] = [(offset + size, room - size)] if size < room else []
                self._touched = max(self._touched, offset + size)
                return offset, memoryview(self._mapped())[offset : offset + length]
        return None

    def put_back(self, offset: int, length: int) -> None:
        """Make a part free."""
        size = _whole_pages(length)
        joined: list[tuple[int, int]] = []
        for begin, room in sorted([*self._free, (offset, size)]):
            if joined and sum(joined[-1]) == begin:
                joined[-1] = (joined[-1][0], joined[-1][1] + room)
            else:
                joined.append((begin, room))
        self._free = joined

    def give_up_pages(self) -> None:
        """Give the pages of all free parts back to the machine."""
        for offset, room in self._free:
            size = min(offset + room, self._touched) - offset
            if size > 0:
                self._mapped().madvise(mmap.MADV_REMOVE, offset, size)
        if self._free and sum(self._free[-1]) == self.size:
            self._touched = min(self._touched, self._free[-1][0])

    def close(self) -> None:
        """Let go of it; parts that the peer looks at stay until it does not."""
        with suppress(OSError):  # pages that stay are a pity, and no more
            self.give_up_pages()
        if self._memory is not None:
            with suppress(BufferError):  # a copy that was broken off; its end closes the mapping
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
    """Return the descriptor of a new file in memory that keeps its size for ever.

    Raises:
        OSError: There are no descriptors left, or no such files here.
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
    """Open the arena of another process, having made sure that it is one.

    Args:
        pid: The process.
        descriptor: The arena's, over there.
        token: What its file must be called by.

    Returns:
        A descriptor of it here, the caller's.

    Raises:
        OSError: It is not there, not ours to open, or another file.
    """
    where, expected = f"/proc/{pid}/fd/{descriptor}", f"/memfd:{_file_name(token)} (deleted)"
    # Looked at before it is opened, which can have effects of its own, and again after.
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

"""The arena: memory of this process that others on its host can map, in places that are taken and freed.

``lane`` writes segments to it, lends the arrays that lie in it, and opens the arenas of its peers. The
module imports nothing of this project. A process has one arena, which all its lanes share, so that one array
can be lent to several peers. An arena is an anonymous file.

Invariants: its size never changes, free parts never overlap taken ones, and a page that exists belongs to a
part that is or recently was taken. A place is taken as long as anything in this process refers to it, and as
long as a peer to which it was lent may read it: whoever reads an arena has a lock on it, which ends with the
last buffer of that reader or with its process.
"""

from __future__ import annotations

import fcntl
import itertools
import mmap
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

# No page of an arena exists before it is used, so its size costs address space only. It is the machine's
# memory: the arrays of all variables fit into it.
ARENA_SIZE = max(2**30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
TOKEN_SIZE = 16

# Linux defines these numbers; Python has names for them on some platforms only.
_F_ADD_SEALS, _F_GET_SEALS, _SEALS = 1033, 1034, 2 | 4  # neither shrink nor grow

# ``struct flock``: type, whence, start, length, pid. Locks belong to the open file, not to the process, so
# they last as long as a mapping of it.
_LOCK = Struct("@hhqqi4x")

_Part: TypeAlias = tuple[int, int]  # offset and size

_OVERCOMMIT = "/proc/sys/vm/overcommit_memory"


class Place(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """The bytes of a place in an arena; the place is free when nothing refers to them any more.

    It is a class of its own because of the arrays that are made over a place. A view of such an array refers
    to that array; if the place was a plain array, the view would refer to the place instead, and references
    to the array would show nothing.

    Attributes:
        arena: the arena.
        offset: where the place begins in it.
    """

    arena: Arena
    offset: int


class Arena:
    """Memory of this process that peers map, with a list of its free parts; thread-safe.

    Attributes:
        token: What the name of the file contains.
        size: In bytes.
        descriptor: The file, until the arena is closed.
        readers: How many peers have opened it.
    """

    def __init__(self, size: int | None = None) -> None:
        """Make an arena without a page.

        Args:
            size: In bytes; ``ARENA_SIZE`` if left out.

        Raises:
            OSError: No arena can be made.
        """
        self.token = secrets.token_bytes(TOKEN_SIZE)
        self.size = ARENA_SIZE if size is None else size
        self.descriptor = _make_file(self.token, self.size)
        self.readers = 0
        self._numbers = itertools.count()
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._memory: mmap.mmap | None = None
        self._base = 0  # address of the mapping
        self._free = [(0, self.size)]  # in order; no two are adjacent
        self._touched = 0  # no page at or after this offset exists
        self._reserves = _may_lack_pages()
        self._idle: list[_Part] = []  # parts that were free at the last trim, and since
        self._places: dict[int, weakref.ref[Place]] = {}  # by offset
        self._freed: deque[_Part] = deque()  # not in the list of free parts yet
        self._has_freed = False  # since the last trim
        self._trims: list[Callable[[], None]] = []
        self._trim_due = False
        self._unreturned: list[tuple[int, Sequence[object]]] = []

    def belongs_to(self, pid: int) -> bool:
        """Return whether the arena is that of a process."""
        return self._owner == pid

    # -- places ------------------------------------------------------------------------------------

    def allocate(self, length: int) -> Place | None:
        """Return a new place of this many bytes with any contents, or None if there is no space."""
        if self._unreturned:
            self.sweep()
        try:
            with self._lock:
                self._collect_freed()
                taken = self.take(length)
        except (OSError, ValueError, MemoryError):  # no pages, or no address space to map the arena
            return None
        if taken is None:
            return None
        offset, memory = taken
        place = Place(length, np.uint8, memory)
        place.arena, place.offset = self, offset

        # Called by the thread that drops the last reference, which may be in the garbage collector.
        def over(_: object) -> None:
            self._places.pop(offset, None)
            self._on_free((offset, length))

        self._places[offset] = weakref.ref(place, over)
        return place

    def find(self, segment: Any) -> int | None:
        """Return the offset of a buffer of bytes, or None if it does not lie in the arena."""
        if not self._base:
            return None
        address: int = np.frombuffer(segment, np.uint8).__array_interface__["data"][0]
        at = address - self._base
        return at if 0 <= at <= self.size - len(segment) else None

    def take(self, length: int) -> tuple[int, memoryview] | None:
        """Return the offset and the memory of a part of this many bytes, or None if there is no space.

        The first part that fits is taken: low parts are reused, and their pages exist.

        Raises:
            OSError: There are no pages for it, or no address space for the arena.
        """
        size = _whole_pages(length)
        for at, (offset, extent) in enumerate(self._free):
            if size <= extent:
                if self._reserves:
                    os.posix_fallocate(self.descriptor, offset, size)
                memory = memoryview(self._mapped())[offset : offset + length]
                self._free[at : at + 1] = [(offset + size, extent - size)] if size < extent else []
                self._touched = max(self._touched, offset + size)
                if self._idle:
                    self._idle = _without(self._idle, (offset, size))
                return offset, memory
        return None

    def free(self, offset: int, length: int) -> None:
        """Free a part."""
        size = _whole_pages(length)
        joined: list[_Part] = []
        for begin, extent in sorted([*self._free, (offset, size)]):
            if joined and sum(joined[-1]) == begin:
                joined[-1] = (joined[-1][0], joined[-1][1] + extent)
            else:
                joined.append((begin, extent))
        self._free = joined

    def _on_free(self, part: _Part) -> None:
        """Record that a place is free; called in any thread and at any point, so it waits for nothing."""
        self._freed.append(part)
        self._has_freed = True
        if self.descriptor < 0:
            self._release_all()
        elif not self._trim_due:
            self._begin_trims()

    def _collect_freed(self) -> None:
        while self._freed:
            self.free(*self._freed.popleft())

    # -- pages -------------------------------------------------------------------------------------

    def trim(self) -> bool:
        """Return pages that were unused since the last call to the operating system.

        Returns:
            Whether there are more unused pages, so that it has to be called again.
        """
        with self._lock:
            self._collect_freed()
            self._remove(self._idle)
            had_freed, self._has_freed = self._has_freed, False
            self._idle = list(self._free) if had_freed else []
            self._trim_due = had_freed
            return had_freed

    def release_pages(self) -> None:
        """Return the pages of all free parts to the operating system."""
        self._remove(self._free)
        if self._free and sum(self._free[-1]) == self.size:
            self._touched = min(self._touched, self._free[-1][0])

    def _release_all(self) -> None:
        """Release the pages of free parts, unless another thread is about to."""
        while self._freed and self._lock.acquire(blocking=False):
            try:
                self._collect_freed()
                self.release_pages()
            finally:
                self._lock.release()

    def _remove(self, parts: Sequence[_Part]) -> None:
        if os.getpid() != self._owner:  # a forked child shares the pages with its parent
            return
        for offset, extent in parts:
            size = min(offset + extent, self._touched) - offset
            if size > 0:
                with suppress(OSError):  # pages that stay only cost memory
                    self._mapped().madvise(mmap.MADV_REMOVE, offset, size)

    # -- readers -----------------------------------------------------------------------------------

    def new_reader(self, trim: Callable[[], None]) -> int:
        """Return a number for one more peer, which locks the byte of that number while it reads.

        Args:
            trim: Sees to it that ``trim`` is called some time later; called in any thread.
        """
        self._trims.append(trim)
        return next(self._numbers)

    def end_reader(self, number: int, trim: Callable[[], None], buffers: Sequence[object]) -> None:
        """Give up a peer.

        Args:
            number: That of the peer.
            trim: As it was given for the peer.
            buffers: What was lent to it and not returned; kept until the peer cannot read it any more.
        """
        self._trims.remove(trim)
        if buffers:
            self._unreturned.append((number, buffers))
            self.sweep()
        if not self._trims:
            self._close_unless_used()
        elif self._trim_due:
            self._begin_trims()  # the peer's may have been the one that was asked

    def sweep(self) -> bool:
        """Free what was lent to former peers that have no lock any more.

        Returns:
            Whether there are others, so that it has to be called again.
        """
        with self._lock:
            if self.descriptor < 0:
                return False  # the file goes with the last reader's mapping
            left = [entry for entry in self._unreturned if is_locked(self.descriptor, entry[0])]
            ended, self._unreturned = self._unreturned, left
        del ended
        return bool(left)

    def _begin_trims(self) -> None:
        self._trim_due = True
        for trim in tuple(self._trims):
            try:
                trim()
            except RuntimeError:  # its event loop is closed
                continue
            return
        self._trim_due = False

    # -- the end -----------------------------------------------------------------------------------

    def _close_unless_used(self) -> None:
        """Close the arena behind its last reader."""
        global _current
        with _CURRENT:
            if self._trims:
                return
            if _current is self:
                _current = None
        self.close()

    def close(self) -> None:
        """Close the arena. Its arrays stay, and their pages are released with them.

        What peers may still read, and pages that they map, exist until they let go.
        """
        with self._lock:
            descriptor, self.descriptor = self.descriptor, -1
            self._collect_freed()
            self.release_pages()
            if self._unreturned:
                self._owner = -1  # pages that a peer may read are not released any more
            unreturned, self._unreturned = self._unreturned, []
        del unreturned  # without the lock, for its places are freed
        if descriptor >= 0:
            os.close(descriptor)

    def _mapped(self) -> mmap.mmap:
        # It is never closed: arrays refer to it without numbers of exports.
        if self._memory is None:
            memory = self._memory = mmap.mmap(self.descriptor, self.size)
            self._base = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
        return self._memory


def is_locked(descriptor: int, number: int) -> bool:
    """Return whether a reader has locked the byte of its number in the arena of a descriptor of its owner."""
    lock = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
    holder = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, lock)
    return bool(_LOCK.unpack(holder)[0] != fcntl.F_UNLCK)


_CURRENT = threading.Lock()
_current: Arena | None = None


def begin_reader(trim: Callable[[], None]) -> tuple[Arena, int]:
    """Return the arena of this process, which is made now if there is none, and ``Arena.new_reader`` of it.

    Raises:
        OSError: No arena can be made.
    """
    global _current
    with _CURRENT:
        if _current is None:
            _current = Arena()
        return _current, _current.new_reader(trim)


def current_arena() -> Arena | None:
    """Return the arena of this process, if it has one."""
    return _current


def _start_anew() -> None:
    """Leave the arena to the parent: a forked child maps the same pages."""
    global _CURRENT, _current
    _CURRENT, _current = threading.Lock(), None


os.register_at_fork(after_in_child=_start_anew)


def _whole_pages(length: int) -> int:
    return -(-length // mmap.PAGESIZE) * mmap.PAGESIZE


def _without(parts: Sequence[_Part], taken: _Part) -> list[_Part]:
    """Return parts without what is in another."""
    begin, end = taken[0], sum(taken)
    left: list[_Part] = []
    for offset, extent in parts:
        stop = offset + extent
        left += [(offset, min(begin, stop) - offset)] if offset < begin else []
        left += [(max(end, offset), stop - max(end, offset))] if stop > end else []
    return left


def _may_lack_pages() -> bool:
    """Return whether the system refuses pages of a file that it cannot back: a write to one ends the process.

    Elsewhere it finds pages, or ends a process of its choice. Nothing is reserved there, because that makes
    all pages of a large array at once, while the event loop waits.
    """
    try:
        with open(_OVERCOMMIT, "rb") as file:
            return file.read(1) == b"2"
    except OSError:  # not Linux, or hidden
        return False


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


def open_arena(pid: int, descriptor: int, token: bytes, number: int) -> int:
    """Open the arena of another process for reading, after checking that it is one, and lock a byte of it.

    Args:
        pid: The process.
        descriptor: The descriptor of the arena in that process.
        token: The token that the name of the file must contain.
        number: The number of the byte, which tells its owner that the arena is read.

    Returns:
        A descriptor of the arena in this process, which the caller must close. The lock ends when neither
        that nor a mapping of it exists any more.

    Raises:
        OSError: The file is missing, may not be opened, or is another file.
    """
    where, expected = f"/proc/{pid}/fd/{descriptor}", f"/memfd:{_file_name(token)} (deleted)"
    # Checked before it is opened, because opening can have side effects, and again afterwards.
    if os.readlink(where) != expected:
        raise FileNotFoundError(f"descriptor {descriptor} of process {pid} is another file")
    opened = os.open(where, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.readlink(f"/proc/self/fd/{opened}") != expected:
            raise FileNotFoundError(f"descriptor {descriptor} of process {pid} is another file")
        if fcntl.fcntl(opened, _F_GET_SEALS) & _SEALS != _SEALS:
            raise PermissionError(f"descriptor {descriptor} of process {pid} is not sealed")
        lock = _LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, number, 1, 0)
        fcntl.fcntl(opened, fcntl.F_OFD_SETLK, lock)
    except BaseException:
        os.close(opened)
        raise
    return opened

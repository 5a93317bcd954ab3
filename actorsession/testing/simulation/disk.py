"""The disk of a simulated machine: files in memory that forget, tear, fill up and fail as those of Linux do.

Each file has the bytes that were written and those that are durable, each folder the names that were given and
those that are durable. ``fsync`` makes the one equal to the other. At a ``crash`` everything between the two is
drawn. Each block of a file is as it was after some number of the writes since the last ``fsync``, and so is the
size; of the changes of names since a folder was synced, a beginning is kept in each folder, where a rename
between two folders is one change of both.

Called through ``current_host().files``; imports no code that writes files. Paths begin at the root of the disk,
whose folder is also the current one. There are no links of names, users or permissions.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import math
import os
import stat
from collections.abc import Callable, Collection, Iterator
from random import Random
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeAlias, TypeVar, cast

from actorsession.process_bound import ProcessBound
from actorsession.testing.simulation.host import HostCrash
from transports.host import AnyPath, Files, Host, current_host

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

__all__ = ["SimulatedDisk"]

T = TypeVar("T")

# What an error names: nothing, a path or two.
_Named: TypeAlias = AnyPath | int | tuple[AnyPath, AnyPath] | None

# What a disk writes in one piece: a sector.
_BLOCK = 512
# Descriptors begin where no process has its own, so that one of another machine is an error and no other file.
_FIRST_DESCRIPTOR = 1 << 24
_LONGEST_NAME = 255
_PATH_ONLY = getattr(os, "O_PATH", 0)


class _Node:
    """A file or a folder, whatever its names."""

    __slots__ = (
        "changed",
        "data",
        "durable",
        "durable_entries",
        "entries",
        "links",
        "locks",
        "mode",
        "number",
        "opened",
        "parent",
        "pending",
    )

    def __init__(self, number: int, mode: int, changed: int) -> None:
        self.number = number
        self.mode = mode
        self.changed = changed  # nanoseconds since 1970
        self.links = 0
        self.opened = 0
        self.locks: dict[_Opened, bool] = {}  # who has locked it, and whether shared
        # Of a file: the bytes, those that are durable, and the changes from these to those: bytes and where they
        # begin, or the size to which it was cut.
        self.data = bytearray()
        self.durable = b""
        self.pending: list[tuple[int, bytes | None]] = []
        # Of a folder.
        self.parent = self
        self.entries: dict[str, _Node] = {}
        self.durable_entries: dict[str, _Node] = {}

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def status(self) -> os.stat_result:
        subfolders = sum(node.is_folder for node in self.entries.values())
        links = (2 + subfolders if self.links else 0) if self.is_folder else self.links
        seconds = self.changed // 10**9
        times: dict[str, Any] = {f"st_{which}time_ns": self.changed for which in "amc"}
        times |= {f"st_{which}time": self.changed / 1e9 for which in "amc"}
        fields = (self.mode, self.number, 1, links, 0, 0, len(self.data), seconds, seconds, seconds)
        return os.stat_result(fields, times)

    def after_crash(self, random: Random, fate: str) -> bytes:
        """Return what is left of a file: each block, and the size, after some number of its pending changes."""
        last = len(self.pending)
        touched: set[int] = set()
        for begin, data in self.pending:
            end = max(len(self.data), len(self.durable)) if data is None else begin + len(data)
            touched.update(range(begin // _BLOCK, -(-end // _BLOCK)))
        if fate == "mixed":
            versions = {block: random.randint(0, last) for block in sorted(touched)}
            size_version = random.randint(0, last)
        else:
            size_version = last if fate == "kept" else 0
            versions = dict.fromkeys(sorted(touched), size_version)
        left, state, size = bytearray(self.durable), bytearray(self.durable), len(self.durable)
        for version in range(last + 1):
            if version:
                _apply(state, *self.pending[version - 1])
            if version == size_version:
                size = len(state)
            for block in [block for block, its in versions.items() if its == version]:
                piece = state[block * _BLOCK : (block + 1) * _BLOCK].ljust(_BLOCK, b"\0")
                _apply(left, block * _BLOCK, bytes(piece))
        return bytes(left[:size]).ljust(size, b"\0")


def _apply(data: bytearray, begin: int, piece: bytes | None) -> None:
    """Write a piece of a file, or cut or extend it to a size."""
    if len(data) < begin:
        data.extend(bytes(begin - len(data)))
    if piece is None:
        del data[begin:]
    else:
        data[begin : begin + len(piece)] = piece


class _Opened:
    """An open file, which several descriptors may share.

    Attributes:
        is_lost: whether its process or machine has ended.
    """

    __slots__ = ("descriptors", "flags", "host", "is_lost", "node", "position")

    def __init__(self, node: _Node, flags: int) -> None:
        self.node = node
        self.flags = flags
        self.host = current_host()
        self.position = 0
        self.is_lost = False
        self.descriptors = 1

    @property
    def reads(self) -> bool:
        return not self.flags & _PATH_ONLY and self.flags & os.O_ACCMODE in (os.O_RDONLY, os.O_RDWR)

    @property
    def writes(self) -> bool:
        return not self.flags & _PATH_ONLY and self.flags & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)

    def seek(self, offset: int, whence: int) -> int:
        """Move to where the next call reads or writes."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: len(self.node.data)}[whence]
        if base + offset < 0:
            _refuse(errno.EINVAL)
        self.position = base + offset
        return self.position


def _kept(items: list[T], item: T) -> Callable[[], None]:
    """Add an item to a list; return what takes it out again, unless it is gone."""
    items.append(item)

    def take_out() -> None:
        with contextlib.suppress(ValueError):
            items.remove(item)

    return take_out


# Changes of names that happen together: folder, name, and what has the name afterwards.
_Change: TypeAlias = list[tuple[_Node, str, _Node | None]]


class _Fault:
    """What makes calls fail."""

    def __init__(self, number: int, after: int, times: float, only: Collection[str]) -> None:
        self._number = number
        self._after = after
        self._times = times
        self._only = only

    def meets(self, call: str) -> int:
        """Return the number of the error of a call; 0 if it succeeds."""
        if self._only and call not in self._only:
            return 0
        if self._after:
            self._after -= 1
            return 0
        self._times -= 1
        return self._number if self._times >= 0 else 0


class _FaultyFiles(Files):
    """Files whose calls fail, take time and crash their host, as told.

    What begins a fault returns what ends it, and no other.

    Attributes:
        calls: how many calls so far have changed something, or were to.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._limits: list[int] = []  # how many bytes there may be at most
        self._faults: list[_Fault] = []
        self._delays: list[float] = []
        self._planned: list[tuple[int, Callable[[], object]]] = []
        self._dead: set[Host] = set()

    def crash_after(self, calls: int, crash: Callable[[], object]) -> Callable[[], None]:
        """Crash the machine that makes the call after so many calls that change something.

        The call has no effect and raises ``HostCrash``, as does every later one of the same host.

        Args:
            calls: how many succeed before.
            crash: crashes the host, and this disk by ``crash``.
        """
        return _kept(self._planned, (self.calls + calls, crash))

    def fail(
        self, number: int = errno.EIO, *, after: int = 0, times: float = math.inf, only: Collection[str] = ()
    ) -> Callable[[], None]:
        """Let calls fail.

        After an ``fsync`` that has failed, what was to be synced is in no later one either, as in Linux, which
        keeps it in memory alone.

        Args:
            number: the number of the error, of ``errno``.
            after: how many of the calls succeed before.
            times: how many fail.
            only: the names of the calls that fail, such as ``fsync``; empty for all that change something, and
                ``read``.
        """
        return _kept(self._faults, _Fault(number, after, times, only))

    def slow(self, seconds: float) -> Callable[[], None]:
        """Let each call that changes something, and each ``read``, take some more time of the host's clock."""
        return _kept(self._delays, seconds)

    def heal(self) -> None:
        """End all faults: the disk has room, works and is quick."""
        for faults in (self._limits, self._faults, self._delays, self._planned):
            faults.clear()

    @contextlib.contextmanager
    def sound(self) -> Iterator[None]:
        """Let nothing fail or take time in a block, for what changes files beside all processes."""
        kept = self._limits, self._faults, self._delays, self._planned
        self._limits, self._faults, self._delays, self._planned = [], [], [], []
        try:
            yield
        finally:
            self._limits, self._faults, self._delays, self._planned = kept

    def _begin(self, call: str, path: _Named = None) -> None:
        """Let a call begin, unless the host is dead or a fault meets it."""
        host = current_host()
        if host in self._dead:
            raise HostCrash(host.name)
        due = next((planned for planned in self._planned if self.calls >= planned[0]), None)
        if due is not None and call != "read":
            self._planned.remove(due)
            self._dead.add(host)
            due[1]()
            raise HostCrash(host.name)
        self.calls += call != "read"
        if self._delays:
            host.clock.sleep(sum(self._delays))
        for fault in self._faults:
            if number := fault.meets(call):
                _refuse(number, path)


class _Medium:
    """What is on a disk: files and folders, and which changes of them are not durable.

    Attributes:
        root: the folder at the root.
        used: how many bytes there are.
    """

    def __init__(self) -> None:
        self.root = _Node(1, stat.S_IFDIR | 0o755, 0)
        self.root.links = 1
        self.used = 0
        self._numbers = itertools.count(2)
        self._changes: list[_Change] = []
        self._unsynced: dict[_Node, None] = {}  # files with pending changes, in a fixed order

    def new_node(self, mode: int) -> _Node:
        """Return a new file or folder without a name."""
        return _Node(next(self._numbers), mode & ~0o022, _now())

    def put(self, node: _Node, begin: int, piece: bytes | None) -> None:
        """Change the bytes of a file."""
        before = len(node.data)
        _apply(node.data, begin, piece)
        self.used += len(node.data) - before
        node.pending.append((begin, piece))
        node.changed = _now()
        self._unsynced[node] = None

    def cut(self, node: _Node, size: int) -> None:
        """Cut or extend a file."""
        if size != len(node.data):
            self.put(node, size, None)

    def change(self, path: _Named, *change: tuple[_Node, str, _Node | None]) -> None:
        """Change names, for which there are folders."""
        for folder, _, _ in change:
            if not folder.links:
                _refuse(errno.ENOENT, path)
        gone: list[_Node] = []
        for folder, name, node in change:
            before = folder.entries.pop(name, None)
            if node is not None:
                folder.entries[name] = node
                node.links += 1
            if before is not None:
                before.links -= 1
                gone.append(before)
            folder.changed = _now()
        for before in gone:
            self.drop(before)
        self._changes.append(list(change))

    def drop(self, node: _Node) -> None:
        """Forget the bytes of a file that has neither names nor descriptors."""
        if not node.links and not node.opened:
            self.used -= len(node.data)

    def sync(self, node: _Node) -> None:
        """Make the bytes of a file, or the names in a folder, durable."""
        if node.is_folder:
            self._sync_names(node)
            return
        # What a failed call was to write stays out of what is durable.
        durable = bytearray(node.durable)
        for begin, piece in node.pending:
            _apply(durable, begin, piece)
        node.durable = bytes(durable)
        node.pending.clear()
        if node.durable == node.data:
            self._unsynced.pop(node, None)

    def _sync_names(self, folder: _Node) -> None:
        """Make the changes of a folder durable, with those of others on which they rest."""
        needed, left = {folder}, []
        durable: list[_Change] = []
        for change in reversed(self._changes):
            folders = {folder for folder, _, _ in change}
            if needed & folders:
                needed |= folders
                durable.append(change)
            else:
                left.append(change)
        for change in reversed(durable):
            _make_durable(change)
        self._changes = left[::-1]

    def crash(self, random: Random) -> None:
        """Keep what is durable, and of the rest what is drawn."""
        fate = random.choice(["lost", "kept", "mixed", "mixed"])
        changed = {folder: None for change in self._changes for folder, _, _ in change}
        broken: set[_Node] = set()
        for change in self._changes:
            folders = {folder for folder, _, _ in change}
            if fate == "lost" or broken & folders or (fate == "mixed" and random.random() < 0.3):
                broken |= folders
            else:
                _make_durable(change)
        self._changes.clear()
        for folder in changed:
            folder.entries = dict(folder.durable_entries)
        for node in self._unsynced:
            node.data = bytearray(node.after_crash(random, fate))
            node.durable = bytes(node.data)
            node.pending.clear()
        self._unsynced.clear()
        self._count()

    def rot(self, node: _Node, bit: int) -> None:
        """Change a bit of a file."""
        node.data[bit // 8] ^= 1 << bit % 8
        node.durable, node.pending = bytes(node.data), []
        self._unsynced.pop(node, None)

    def _count(self) -> None:
        """Count names and bytes after a crash."""
        nodes = [self.root, *self._below(self.root)]
        for node in nodes:
            node.links = 0
        self.root.links = 1
        for node in nodes:
            for inner in node.entries.values():
                inner.links += 1
                if inner.is_folder:
                    inner.parent = node
        self.used = sum(len(node.data) for node in dict.fromkeys(nodes))

    def _below(self, folder: _Node) -> Iterator[_Node]:
        for node in folder.entries.values():
            yield node
            if node.is_folder:
                yield from self._below(node)


class _Descriptors:
    """What is open, and what names lead to."""

    def __init__(self, root: _Node) -> None:
        self._root = root
        self._numbers = itertools.count(_FIRST_DESCRIPTOR)
        self._opened: dict[int, _Opened] = {}
        self._lost: set[int] = set()  # descriptors of processes that have ended

    def add(self, opened: _Opened) -> int:
        """Return a descriptor of an open file."""
        descriptor = next(self._numbers)
        self._opened[descriptor] = opened
        opened.node.opened += 1
        return descriptor

    def remove(self, descriptor: int) -> _Node:
        """Close a descriptor, and return what it was of."""
        opened = self._opened.pop(descriptor)
        node = opened.node
        opened.descriptors -= 1
        node.opened -= 1
        if not opened.descriptors:
            node.locks.pop(opened, None)
        return node

    def end(self, host: Host) -> list[_Node]:
        """Close what a host has opened, and return what that was."""
        theirs = [descriptor for descriptor, opened in self._opened.items() if opened.host is host]
        self._lost.update(theirs)
        for descriptor in theirs:
            self._opened[descriptor].is_lost = True
        return [self.remove(descriptor) for descriptor in theirs]

    def crash(self) -> None:
        """Close everything."""
        self._lost.update(self._opened)
        for opened in self._opened.values():
            opened.is_lost = True
            opened.node.opened = 0
            opened.node.locks.clear()
        self._opened.clear()

    def is_lost(self, descriptor: int) -> bool:
        """Return whether a descriptor was opened before a crash, or by a process that has ended."""
        return descriptor in self._lost

    def of(self, descriptor: int) -> _Opened:
        """Return the open file of a descriptor."""
        opened = self._opened.get(descriptor)
        if opened is None:
            if descriptor in self._lost:
                raise HostCrash(current_host().name)
            _refuse(errno.EBADF)
        return opened

    def find(self, path: AnyPath | int, dir_fd: int | None = None, named: _Named = None) -> _Node:
        """Return what has a name."""
        if isinstance(path, int):
            return self.of(path).node
        named = named or path
        folder, name, slash = self.place(path, dir_fd, named)
        node = _at(folder, name, named)
        if node is None:
            _refuse(errno.ENOENT, named)
        if slash and not node.is_folder:
            _refuse(errno.ENOTDIR, named)
        return node

    def existing(self, folder: _Node, name: str, path: AnyPath) -> _Node:
        """Return what has a name that is to be removed."""
        if name in ("", os.curdir, os.pardir):
            _refuse(errno.EBUSY, path)
        node = _at(folder, name, path)
        if node is None:
            _refuse(errno.ENOENT, path)
        return node

    def place(self, path: AnyPath, dir_fd: int | None = None, named: _Named = None) -> tuple[_Node, str, bool]:
        """Return the folder of a name, the name in it, and whether it must be that of a folder."""
        named, text = named or path, os.fsdecode(path)
        if "\0" in text:
            raise ValueError("embedded null byte")
        if not text:
            _refuse(errno.ENOENT, named)
        folder = self._root if dir_fd is None or text.startswith("/") else self.of(dir_fd).node
        *above, name = [part for part in text.split("/") if part] or [""]
        for part in above:
            inner = _at(folder, part, named)
            if inner is None:
                _refuse(errno.ENOENT, named)
            folder = inner
        if not folder.is_folder:
            _refuse(errno.ENOTDIR, named)
        return folder, name, text.endswith("/")


class SimulatedDisk(_FaultyFiles, ProcessBound):
    """The disk of a machine. Hosts of several processes may have the same one."""

    def __init__(self) -> None:
        super().__init__()
        self._medium = _Medium()
        self._open = _Descriptors(self._medium.root)

    # -- faults --------------------------------------------------------------------------------

    def crash(self, random: Random) -> None:
        """Lose power: what is not durable is kept, lost or torn as drawn; nothing is open or locked afterwards.

        Args:
            random: draws what is left.
        """
        self._open.crash()
        self._medium.crash(random)

    def killed(self, host: Host) -> None:
        """Close what a process has opened, as at its end: its locks are released, and nothing written is lost.

        Args:
            host: the process, whose calls raise ``HostCrash`` from now on.
        """
        self._dead.add(host)
        for node in self._open.end(host):
            self._medium.drop(node)

    def fill(self, free: int = 0) -> Callable[[], None]:
        """Let the disk be full after some more bytes.

        Args:
            free: the bytes.
        """
        return _kept(self._limits, self._medium.used + free)

    def rot(self, path: AnyPath, random: Random) -> None:
        """Change one bit of a file that has bytes.

        Args:
            path: the file.
            random: draws the bit.
        """
        node = self._open.find(path)
        self._medium.rot(node, random.randrange(8 * len(node.data)))

    # -- descriptors ---------------------------------------------------------------------------

    def open(self, path: AnyPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Open a file, as ``os.open`` does."""
        creates = flags & os.O_CREAT and not flags & _PATH_ONLY
        self._begin("open" if creates or flags & os.O_TRUNC else "read", path)
        writes = flags & os.O_ACCMODE != os.O_RDONLY
        folder, name, slash = self._open.place(path, dir_fd)
        node = _at(folder, name, path)
        if node is None:
            if not creates:
                _refuse(errno.ENOENT, path)
            if slash:
                _refuse(errno.EISDIR, path)
            node = self._medium.new_node(stat.S_IFREG | mode)
            self._medium.change(path, (folder, name, node))
        else:
            if creates and flags & os.O_EXCL:
                _refuse(errno.EEXIST, path)
            if node.is_folder and (creates or (writes and not flags & _PATH_ONLY)):
                _refuse(errno.EISDIR, path)
            if not node.is_folder and (slash or flags & os.O_DIRECTORY):
                _refuse(errno.ENOTDIR, path)
            if flags & os.O_TRUNC and writes:
                self._medium.cut(node, 0)
        return self._open.add(_Opened(node, flags))

    def close(self, descriptor: int) -> None:
        """Close a descriptor, as ``os.close`` does; one of before a crash is closed already."""
        if not self._open.is_lost(descriptor):
            self._open.of(descriptor)
            self._medium.drop(self._open.remove(descriptor))

    def dup(self, descriptor: int) -> int:
        """Return another descriptor of an open file."""
        opened = self._open.of(descriptor)
        opened.descriptors += 1
        return self._open.add(opened)

    def read(self, descriptor: int, length: int) -> bytes:
        """Read at most so many bytes from where the last call has ended."""
        opened = self._open.of(descriptor)
        self._begin("read")
        if not opened.reads:
            _refuse(errno.EBADF)
        if opened.node.is_folder:
            _refuse(errno.EISDIR)
        data = bytes(opened.node.data[opened.position : opened.position + length])
        opened.position += len(data)
        return data

    def write(self, descriptor: int, data: ReadableBuffer) -> int:
        """Write bytes, and return how many there was room for."""
        opened = self._open.of(descriptor)
        self._begin("write")
        if not opened.writes:
            _refuse(errno.EBADF)
        node, piece = opened.node, bytes(memoryview(data).cast("B"))
        begin = len(node.data) if opened.flags & os.O_APPEND else opened.position
        room = max(0, len(node.data) - begin) + min(self._limits, default=math.inf) - self._medium.used
        if len(piece) > room:
            if room <= 0:
                _refuse(errno.ENOSPC)
            piece = piece[: int(room)]
        if piece:
            self._medium.put(node, begin, piece)
            opened.position = begin + len(piece)
        return len(piece)

    def ftruncate(self, descriptor: int, length: int) -> None:
        """Cut or extend an open file."""
        opened = self._open.of(descriptor)
        self._begin("ftruncate")
        if length < 0 or not opened.writes:
            _refuse(errno.EINVAL)
        self._medium.cut(opened.node, length)

    def fsync(self, descriptor: int) -> None:
        """Make a file, or the names in a folder, durable."""
        opened = self._open.of(descriptor)
        node = opened.node
        try:
            self._begin("fsync")
        except OSError:
            node.pending.clear()
            raise
        if opened.flags & _PATH_ONLY:
            _refuse(errno.EBADF)
        self._medium.sync(node)

    def fstat(self, descriptor: int) -> os.stat_result:
        """Return the status of an open file."""
        return self._open.of(descriptor).node.status()

    def fchmod(self, descriptor: int, mode: int) -> None:
        """Set the mode of an open file."""
        node = self._open.of(descriptor).node
        self._begin("fchmod")
        node.mode = stat.S_IFMT(node.mode) | mode

    def fchown(self, descriptor: int, uid: int, gid: int) -> None:
        """Do nothing: all files have one owner."""
        self._open.of(descriptor)

    def lock(self, descriptor: int, *, shared: bool = False) -> bool | None:
        """Lock an open file unless another has; see ``Files.lock``."""
        opened = self._open.of(descriptor)
        locks = opened.node.locks
        if locks.pop(opened, None) is not shared and any(not (shared and its) for its in locks.values()):
            return False
        locks[opened] = shared
        return True

    def unlock(self, descriptor: int) -> None:
        """Unlock an open file."""
        opened = self._open.of(descriptor)
        opened.node.locks.pop(opened, None)

    def map(self, descriptor: int, size: int) -> bytes:
        """Return the first bytes of an open file, as they are now."""
        return bytes(self._open.of(descriptor).node.data[:size])

    # -- files ---------------------------------------------------------------------------------

    def open_file(
        self,
        path: AnyPath | int,
        mode: str = "rb",
        buffering: int = -1,
        *,
        opener: Callable[[str, int], int] | None = None,
    ) -> BinaryIO:
        """Open a file of bytes, as the function ``open`` does."""
        kind, both = next(sign for sign in mode if sign in "rwxa"), "+" in mode
        flags = {"r": 0, "w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND}
        access = os.O_RDWR if both else os.O_RDONLY if kind == "r" else os.O_WRONLY
        if isinstance(path, int):
            descriptor = path
        elif opener is None:
            descriptor = self.open(path, flags[kind] | access | os.O_CLOEXEC, 0o666)
        else:
            descriptor = opener(cast(str, path), flags[kind] | access | os.O_CLOEXEC)
        opened = self._open.of(descriptor)
        if opened.node.is_folder:
            self.close(descriptor)
            _refuse(errno.EISDIR, path)
        if kind == "a":
            opened.seek(0, os.SEEK_END)
        raw = _File(self, opened, descriptor, path, reads=both or kind == "r", writes=both or kind != "r")
        if not buffering:
            return cast(BinaryIO, raw)
        size = io.DEFAULT_BUFFER_SIZE if buffering < 0 else buffering
        if both:
            return io.BufferedRandom(raw, size)
        return io.BufferedReader(raw, size) if kind == "r" else io.BufferedWriter(raw, size)

    def temporary_file(self, folder: str | os.PathLike[str]) -> IO[bytes]:
        """Return a new file without a name."""
        self._begin("open", folder)
        above = self._open.find(folder)
        if not above.is_folder:
            _refuse(errno.ENOTDIR, folder)
        return self.open_file(self._open.add(_Opened(self._medium.new_node(stat.S_IFREG | 0o600), os.O_RDWR)), "w+b")

    # -- names ---------------------------------------------------------------------------------

    def realpath(self, path: str) -> str:
        """Return a path without dots."""
        return os.path.normpath(os.path.join("/", path))

    def stat(self, path: AnyPath | int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """Return the status of what has a name."""
        return self._open.find(path, dir_fd).status()

    def listdir(self, path: AnyPath | int) -> list[str]:
        """Return the names in a folder."""
        node = self._open.find(path)
        self._begin("read", path)
        if not node.is_folder:
            _refuse(errno.ENOTDIR, path)
        return list(node.entries)

    def utime(self, path: AnyPath | int, *, ns: tuple[int, int]) -> None:
        """Set the time of the last change."""
        node = self._open.find(path)
        self._begin("utime", path)
        node.changed = ns[1]

    def mkdir(self, path: AnyPath, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Make a folder."""
        self._begin("mkdir", path)
        folder, name, _ = self._open.place(path, dir_fd)
        if _at(folder, name, path) is not None:
            _refuse(errno.EEXIST, path)
        node = self._medium.new_node(stat.S_IFDIR | mode)
        node.parent = folder
        self._medium.change(path, (folder, name, node))

    def rmdir(self, path: AnyPath, *, dir_fd: int | None = None) -> None:
        """Remove an empty folder."""
        self._begin("rmdir", path)
        folder, name, _ = self._open.place(path, dir_fd)
        node = self._open.existing(folder, name, path)
        if not node.is_folder:
            _refuse(errno.ENOTDIR, path)
        if node.entries:
            _refuse(errno.ENOTEMPTY, path)
        self._medium.change(path, (folder, name, None))

    def unlink(self, path: AnyPath, *, dir_fd: int | None = None) -> None:
        """Take a name from a file."""
        self._begin("unlink", path)
        folder, name, slash = self._open.place(path, dir_fd)
        node = self._open.existing(folder, name, path)
        if node.is_folder:
            _refuse(errno.EISDIR, path)
        if slash:
            _refuse(errno.ENOTDIR, path)
        self._medium.change(path, (folder, name, None))

    def link(
        self,
        source: AnyPath,
        path: AnyPath,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """Give a file another name."""
        both = (source, path)
        self._begin("link", both)
        node = self._open.find(source, src_dir_fd, both)
        folder, name, slash = self._open.place(path, dst_dir_fd, both)
        if _at(folder, name, both) is not None:
            _refuse(errno.EEXIST, both)
        if slash:
            _refuse(errno.ENOENT, both)
        if node.is_folder:
            _refuse(errno.EPERM, both)
        self._medium.change(both, (folder, name, node))

    def replace(
        self, source: AnyPath, path: AnyPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Give a file another name, in place of what has it."""
        both = (source, path)
        self._begin("replace", both)
        old, name, slash = self._open.place(source, src_dir_fd, both)
        new, new_name, new_slash = self._open.place(path, dst_dir_fd, both)
        node, other = _at(old, name, both), _at(new, new_name, both)
        if node is None:
            _refuse(errno.ENOENT, both)
        if node.is_folder and node in _above(new):
            _refuse(errno.EINVAL, both)
        if other is not None and other in _above(old):
            _refuse(errno.ENOTEMPTY, both)
        if not node.is_folder and (slash or new_slash):
            _refuse(errno.ENOTDIR, both)
        if node is other:
            return
        if other is not None:
            if node.is_folder and not other.is_folder:
                _refuse(errno.ENOTDIR, both)
            if other.is_folder and not node.is_folder:
                _refuse(errno.EISDIR, both)
            if other.entries:
                _refuse(errno.ENOTEMPTY, both)
        self._medium.change(both, (old, name, None), (new, new_name, node))
        if node.is_folder:
            node.parent = new


def _now() -> int:
    return current_host().clock.time_ns()


def _make_durable(change: _Change) -> None:
    for folder, name, node in change:
        if node is None:
            folder.durable_entries.pop(name, None)
        else:
            folder.durable_entries[name] = node


def _at(folder: _Node, name: str, path: _Named) -> _Node | None:
    """Return what has a name in a folder; ``None`` if there is nothing."""
    if not folder.is_folder:
        _refuse(errno.ENOTDIR, path)
    if 4 * len(name) > _LONGEST_NAME and len(os.fsencode(name)) > _LONGEST_NAME:
        _refuse(errno.ENAMETOOLONG, path)
    if name in ("", os.curdir):
        return folder
    return folder.parent if name == os.pardir else folder.entries.get(name)


def _above(folder: _Node) -> Iterator[_Node]:
    """Yield a folder and those in which it lies."""
    yield folder
    while folder.parent is not folder:
        folder = folder.parent
        yield folder


def _refuse(number: int, named: _Named = None) -> NoReturn:
    """Raise the error of a number, which names paths as the calls of ``os`` do."""
    if isinstance(named, tuple):
        raise OSError(number, os.strerror(number), named[0], None, named[1])
    raise OSError(number, os.strerror(number), *[] if named is None else [named])


class _File(io.RawIOBase):
    """An open file without a buffer."""

    def __init__(
        self, disk: SimulatedDisk, opened: _Opened, descriptor: int, name: AnyPath | int, *, reads: bool, writes: bool
    ) -> None:
        super().__init__()
        self._disk = disk
        self._opened = opened
        self._descriptor = descriptor
        self._reads = reads
        self._writes = writes
        self.name = name

    def fileno(self) -> int:
        self._checked()
        return self._descriptor

    def readable(self) -> bool:
        return self._reads

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._checked()
        if not self._reads:
            raise io.UnsupportedOperation("File not open for reading")
        view = memoryview(buffer).cast("B")
        data = self._disk.read(self._descriptor, len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, data: ReadableBuffer, /) -> int:
        self._checked()
        if not self._writes:
            raise io.UnsupportedOperation("File not open for writing")
        if self._opened.is_lost:  # its buffer is emptied when the object ends
            return memoryview(data).nbytes
        return self._disk.write(self._descriptor, data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._checked()
        return self._opened.seek(offset, whence)

    def truncate(self, size: int | None = None, /) -> int:
        self._checked()
        size = self.tell() if size is None else size
        self._disk.ftruncate(self._descriptor, size)
        return size

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(ValueError):
                super().close()
            self._disk.close(self._descriptor)

    def _checked(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

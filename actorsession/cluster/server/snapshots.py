"""Snapshots: the variables of a server on disk, so that they come back when its process does.

Owns the file format and the child that writes. A snapshot holds every variable of the server's own devices
that has a value, with the number of steps that had ended there; it is taken between two steps if one ends
within a second, and says so otherwise. One is written when anything has changed since the last, whatever did
it: a step, or a container that was cleared. A file is written beside the others, synced and then renamed, so
that a crash leaves whole ones only; each carries a checksum, and one that is damaged is passed over for the
one before. Servers call it; state of isolated sessions is not kept, because it ends with them.

Whatever goes wrong with writing one costs a warning: the next is taken as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from actorsession.checkpoints.atomic import UNFINISHED, remove_abandoned, write_whole
from actorsession.errors import InvalidArgumentError
from actorsession.graph.codec import Buffer, pack, unpack
from actorsession.graph.dtypes import DType
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass
from actorsession.runtime.devices import Device

__all__ = ["Snapshot", "SnapshotStore", "Snapshots"]

_log = logging.getLogger("actorsession.cluster")

_MAGIC = b"acts-snapshot-1\n"
_NUMBER = struct.Struct("<I")
_KEPT = 2
# Seconds to wait for a moment without steps, and between looks for one.
_QUIET, _LOOK = 1.0, 0.005


@dataclass(frozen=True, slots=True)
class Saved:
    """One variable of a snapshot.

    Attributes:
        device: its device within the task, such as ``CPU:0``.
        container: its container.
        name: its name there.
        spec: its static type.
        value: its value.
    """

    device: str
    container: str
    name: str
    spec: TensorSpec
    value: Any


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a server at one moment.

    Attributes:
        steps: how many steps had ended there, over all its lives.
        micros: when, in microseconds since 1970.
        quiet: whether no step ran at that moment.
        variables: those with a value.
    """

    steps: int
    micros: int
    quiet: bool
    variables: Sequence[Saved]

    def to_wire(self) -> dict[str, Any]:
        """Return what others are told of it: when it is from, and of which variables; not their values."""
        names = [[v.container, v.name] for v in self.variables]
        return {
            "steps": self.steps,
            "micros": self.micros,
            "quiet": self.quiet,
            "variables": names,
        }


class SnapshotStore:
    """The snapshots of one task in a directory.

    Args:
        directory: made if it does not exist.
        task: the task; tasks may share a directory.

    Raises:
        InvalidArgumentError: if the directory cannot be written to.
    """

    def __init__(self, directory: str | os.PathLike[str], task: str) -> None:
        self._directory = Path(directory)
        self._prefix = re.sub(r"\W+", "-", task, flags=re.ASCII).strip("-")
        # Earlier versions had no nonce, and took an underscore for a sign like any other.
        former = re.escape(self._prefix.replace("_", "-"))
        prefix = re.escape(self._prefix)
        self._form = re.compile(
            rf"(?:{former}\.(\d{{12}})|{prefix}\.(\d+)-[0-9a-f]{{8}})\.snapshot"
        )
        self._unfinished = re.compile(
            rf"{former}\.\d{{12}}\.partial|\.{prefix}\.\d+-[0-9a-f]{{8}}\.snapshot{UNFINISHED}"
        )
        self._damaged: set[Path] = set()
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._directory):
                pass
        except OSError as exc:
            raise InvalidArgumentError(f"snapshot_dir cannot be written to: {exc}") from exc

    def _files(self) -> list[tuple[int, Path]]:
        """Return the snapshots there are with their numbers, the latest first; files of others are none."""
        found = [(self._form.fullmatch(path.name), path) for path in self._directory.iterdir()]
        return sorted([(int(m[1] or m[2]), p) for m, p in found if m is not None], reverse=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Write a snapshot, and remove those before the last.

        Raises:
            OpError: if it cannot; the snapshots that there are stay.
        """
        saved = [
            [v.device, v.container, v.name, v.spec.dtype, v.spec.shape, v.value]
            for v in snapshot.variables
        ]
        segments: list[Buffer] = []
        parts = [
            pack([snapshot.steps, snapshot.micros, snapshot.quiet, saved], segments),
            *segments,
        ]
        remove_abandoned(os.fspath(self._directory), self._unfinished)
        # The clock keeps those of two processes of one task apart, should the lives of the two overlap.
        number = max([time.time_ns() // 1000, *[1 + n for n, _ in self._files()[:1]]])
        path = self._directory / f"{self._prefix}.{number:016d}-{secrets.token_hex(4)}.snapshot"
        write_whole(os.fspath(path), lambda file: _write_parts(file, parts))
        self._remove_old()
        _log.info("%d variables are in the snapshot %s", len(saved), path)
        return path

    def _remove_old(self) -> None:
        """Remove what came before the last whole ones."""
        whole = 0
        for _, path in self._files():
            if whole >= _KEPT:
                try:
                    path.unlink(missing_ok=True)
                except OSError as exc:
                    _log.warning("snapshot %s is not removed: %s", path, exc)
            whole += path not in self._damaged

    def latest(self) -> Snapshot | None:
        """Return the latest snapshot that is whole; ``None`` if there is none."""
        for _, path in self._files():
            try:
                with path.open("rb") as file:
                    return _read(_read_parts(file))
            except Exception as exc:  # whatever is in it
                _log.warning("snapshot %s is passed over: %s", path, exc)
                self._damaged.add(path)
        return None


def _write_parts(file: BinaryIO, parts: Sequence[Buffer]) -> None:
    views = [memoryview(part).cast("B") for part in parts]
    head = struct.pack(f"<I{len(views)}Q", len(views), *[view.nbytes for view in views])
    checksum = zlib.crc32(head)
    file.write(_MAGIC)
    file.write(head)
    for view in views:
        file.write(view)
        checksum = zlib.crc32(view, checksum)
    file.write(_NUMBER.pack(checksum))


def _read_parts(file: BufferedReader) -> list[bytearray]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it is no snapshot")
    left = os.fstat(file.fileno()).st_size
    count = file.read(_NUMBER.size)
    (number,) = _NUMBER.unpack(count)
    if number * 8 > left:
        raise ValueError(f"it is damaged: {number} parts in {left} bytes")
    sizes = file.read(number * 8)
    checksum = zlib.crc32(sizes, zlib.crc32(count))
    parts = []
    for size in struct.unpack(f"<{number}Q", sizes):
        if size > left:
            raise ValueError(f"it is damaged: a part of {size} bytes in {left}")
        part = bytearray(size)
        if file.readinto(part) != size:
            raise ValueError("it is damaged: its end is missing")
        checksum = zlib.crc32(part, checksum)
        parts.append(part)
    if file.read() != _NUMBER.pack(checksum):
        raise ValueError("it is damaged: another checksum")
    return parts


def _read(parts: Sequence[bytearray]) -> Snapshot:
    if not parts:
        raise ValueError("it is empty")
    match unpack(parts[0], parts[1:]):
        case [int(steps), int(micros), bool(quiet), list(saved)]:
            return Snapshot(steps, micros, quiet, [_saved(entry) for entry in saved])
    raise ValueError("it has another form")


def _saved(entry: Any) -> Saved:
    match entry:
        case [
            str(device),
            str(container),
            str(name),
            DType() as dtype,
            TensorShape() as shape,
            value,
        ]:
            return Saved(device, container, name, TensorSpec(dtype, shape), value)
    raise ValueError(f"it has a variable of another form: {entry!r:.100}")


class Snapshots:
    """Takes the snapshots of one server.

    Args:
        store: where to.
        devices: whose variables.
        every: seconds between two of them.
        steps: how many steps have ended in this life.
        running: how many run now.

    Attributes:
        restored: the snapshot that the variables come from.
        taken: how many were written.
    """

    def __init__(
        self,
        store: SnapshotStore,
        devices: Sequence[Device],
        every: float,
        steps: Callable[[], int],
        running: Callable[[], int],
    ) -> None:
        self._store = store
        self._devices = devices
        self._every = every
        self._steps = steps
        self._running = running
        self._before = 0  # steps of former lives
        self._writing = threading.Lock()  # one file at a time, whoever writes
        self._written = -1  # how many changes the last file holds
        self.restored: Snapshot | None = None
        self.taken = 0

    def restore(self) -> None:
        """Give the devices the variables of the latest snapshot."""
        found = self._store.latest()
        if found is None:
            return
        local = {d.name.rpartition("/device:")[2]: d for d in self._devices}
        for saved in found.variables:
            device = local.get(saved.device)
            if device is None:
                _log.warning("variable %r was on %s, which is not here", saved.name, saved.device)
                continue
            device.resources.variable(saved.container, saved.name, saved.spec).assign(saved.value)
        self._before = found.steps
        self._written = self._changes()
        self.restored = found
        _log.info(
            "%d variables are back from the snapshot after %d steps",
            len(found.variables), found.steps,
        )  # fmt: skip

    async def run(self) -> None:
        """Take snapshots until it is cancelled."""
        while True:
            await asyncio.sleep(self._every)
            await self._until_quiet()
            await self.take()

    async def _until_quiet(self) -> None:
        end = time.monotonic() + _QUIET
        # No event tells of it: steps end in many places, and none should pay for being watched.
        while self._running() and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)

    async def take(self) -> None:
        """Take a snapshot now, unless nothing has changed since the last one; warns if it cannot.

        A call that is cancelled does not keep the file from being written.
        """
        with self._faults_told():
            changes = self._changes()
            if changes > self._written:
                snapshot = self._collect()
                # Writing and syncing may take seconds; the values are held as they are meanwhile.
                await asyncio.to_thread(self._write, changes, snapshot)

    def take_now(self) -> None:
        """``take`` without an event loop's help, in any thread; waits for a file that is being written."""
        with self._faults_told():
            changes = self._changes()
            self._write(changes, self._collect())

    def _write(self, changes: int, snapshot: Snapshot) -> None:
        """Write a snapshot, unless one with as many changes was written meanwhile."""
        with self._writing:
            if changes > self._written:
                self._store.write(snapshot)
                self._written = changes
                self.taken += 1

    @contextlib.contextmanager
    def _faults_told(self) -> Iterator[None]:
        try:
            yield
        except (
            Exception
        ) as exc:  # of packing, for lack of memory, of the disk: the next may succeed
            _log.warning("no snapshot is written: %s: %s", type(exc).__name__, exc)

    def _changes(self) -> int:
        """Return how many times any variable was changed; grows, and stays while nothing changes."""
        variables = [v for d in self._devices for _, _, v in d.resources.variables()]
        return sum([variable.changes for variable in variables])

    def _collect(self) -> Snapshot:
        saved = [
            Saved(
                device.name.rpartition("/device:")[2],
                container,
                name,
                variable.spec,
                value,
            )
            for device in self._devices
            for container, name, variable in device.resources.variables()
            if (value := variable.value) is not None
        ]
        steps = self._before + self._steps()
        return Snapshot(steps, time.time_ns() // 1000, not self._running(), saved)

"""Snapshots: the variables of a server on disk, so that a restarted process can restore them.

Holds the file format and the child that writes. A snapshot contains every variable of the server's own
devices that has a value, with the number of steps that had ended there. It is taken between two steps if
there is a moment without steps within a second; otherwise it records that steps were running. A snapshot is
written when anything has changed since the last one, whatever the cause: a step, or a container that was
cleared. A file is written under another name, synced and then renamed, so that a crash leaves only complete
files. Each file carries a checksum, and a damaged one is skipped in favour of the one before. Used by
servers; state of isolated sessions is not kept, because it ends with them.

A failure to write a snapshot causes a warning; the next snapshot is taken as usual.
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
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from actorsession.checkpoints.atomic import UNFINISHED, remove_abandoned, write_whole
from actorsession.errors import InvalidArgumentError
from actorsession.graph.codec import Buffer, pack, unpack
from actorsession.graph.dtypes import DType
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass
from actorsession.runtime.devices import Device

__all__ = ["Snapshot", "SnapshotStore", "Snapshots", "StepCounts", "restore_latest"]

_log = logging.getLogger("actorsession.cluster")

_MAGIC = b"acts-snapshot-1\n"
_NUMBER = struct.Struct("<I")
_KEPT = 2
# Seconds to wait for a moment without steps, and between two checks for one.
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
        steps: the number of steps that had ended there, over all incarnations.
        micros: the time, in microseconds since 1970.
        quiet: whether no step ran at that moment.
        variables: the variables that had a value.
    """

    steps: int
    micros: int
    quiet: bool
    variables: Sequence[Saved]

    def to_wire(self) -> dict[str, Any]:
        """Return a description for other tasks: the time and the names of the variables, without values."""
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
        directory: created if it does not exist.
        task: the task; tasks may share a directory.

    Raises:
        InvalidArgumentError: if the directory is not writable.
    """

    def __init__(self, directory: str | os.PathLike[str], task: str) -> None:
        self._directory = Path(directory)
        self._prefix = re.sub(r"\W+", "-", task, flags=re.ASCII).strip("-")
        # Earlier versions had no nonce, and replaced an underscore like any other sign.
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
        """Return the snapshots with their numbers, the latest first; other files are ignored."""
        found = [(self._form.fullmatch(path.name), path) for path in self._directory.iterdir()]
        return sorted([(int(m[1] or m[2]), p) for m, p in found if m is not None], reverse=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Write a snapshot, and remove those before the last one.

        Raises:
            OpError: if that fails; the existing snapshots stay.
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
        # The clock separates the files of two processes of one task, should their lifetimes overlap.
        number = max([time.time_ns() // 1000, *[1 + n for n, _ in self._files()[:1]]])
        path = self._directory / f"{self._prefix}.{number:016d}-{secrets.token_hex(4)}.snapshot"
        write_whole(os.fspath(path), lambda file: _write_parts(file, parts))
        self._remove_old()
        _log.info("%d variables are in the snapshot %s", len(saved), path)
        return path

    def _remove_old(self) -> None:
        """Remove the files before the last complete ones."""
        whole = 0
        for _, path in self._files():
            if whole >= _KEPT:
                try:
                    path.unlink(missing_ok=True)
                except OSError as exc:
                    _log.warning("snapshot %s is not removed: %s", path, exc)
            whole += path not in self._damaged

    def latest(self) -> Snapshot | None:
        """Return the latest complete snapshot; ``None`` if there is none."""
        for _, path in self._files():
            try:
                with path.open("rb") as file:
                    return _read(_read_parts(file))
            except Exception as exc:  # whatever the file contains
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


def restore_latest(store: SnapshotStore, devices: Sequence[Device]) -> Snapshot | None:
    """Restore the variables of devices from the latest snapshot, and return it if there is one."""
    found = store.latest()
    if found is None:
        return None
    local = {d.name.rpartition("/device:")[2]: d for d in devices}
    for saved in found.variables:
        device = local.get(saved.device)
        if device is None:
            _log.warning("variable %r was on %s, which is not here", saved.name, saved.device)
            continue
        device.resources.variable(saved.container, saved.name, saved.spec).assign(saved.value)
    _log.info(
        "%d variables are back from the snapshot after %d steps",
        len(found.variables), found.steps,
    )  # fmt: skip
    return found


class StepCounts(Protocol):
    """The steps of a worker."""

    @property
    def runs(self) -> int:
        """The number of steps started so far in this incarnation."""

    @property
    def running(self) -> int:
        """The number of steps that run now."""


class Snapshots:
    """Takes the snapshots of one server.

    Args:
        store: the store to write to.
        devices: the devices whose variables are saved.
        every: seconds between two snapshots.
        steps: the steps of the worker.
        restored: the snapshot that the variables were restored from.

    Attributes:
        taken: the number of snapshots written.
        every: seconds between two snapshots.
    """

    def __init__(
        self,
        store: SnapshotStore,
        devices: Sequence[Device],
        every: float,
        steps: StepCounts,
        restored: Snapshot | None = None,
    ) -> None:
        self._store = store
        self._devices = devices
        self._steps = steps
        self._before = 0 if restored is None else restored.steps  # steps of former incarnations
        self._writing = threading.Lock()  # one file at a time, from any thread
        # The number of changes in the last file.
        self._written = -1 if restored is None else self._changes()
        self.taken = 0
        self.every = every
        self._saved = time.monotonic()  # when the variables were as the last file has them

    @property
    def age(self) -> float:
        """Seconds since a snapshot was taken, or nothing had changed since the last one."""
        return time.monotonic() - self._saved

    async def run(self) -> None:
        """Take snapshots until this is cancelled."""
        while True:
            await asyncio.sleep(self.every)
            await self._until_quiet()
            await self.take()

    async def _until_quiet(self) -> None:
        end = time.monotonic() + _QUIET
        # There is no event for this: steps end in many places, and none should pay for being watched.
        while self._steps.running and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)

    async def take(self) -> None:
        """Take a snapshot now, unless nothing has changed since the last one; log a warning if that fails.

        Cancelling the call does not prevent the file from being written.
        """
        with self._faults_told():
            now, changes = time.monotonic(), self._changes()
            if changes > self._written:
                snapshot = self._collect()
                # Writing and syncing may take seconds; meanwhile the snapshot references the values as they
                # were.
                await asyncio.to_thread(self._write, changes, snapshot)
            self._saved = now

    def take_now(self) -> None:
        """Take a snapshot as ``take`` does, without an event loop; waits for a file that is being written."""
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
        except Exception as exc:  # from packing, memory or disk: the next may succeed
            _log.warning("no snapshot is written: %s: %s", type(exc).__name__, exc)

    def _changes(self) -> int:
        """Return how often variables have changed in total; grows with each change and stays otherwise."""
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
        steps = self._before + self._steps.runs - self._steps.running
        return Snapshot(steps, time.time_ns() // 1000, not self._steps.running, saved)

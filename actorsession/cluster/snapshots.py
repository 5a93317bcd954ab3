"""Snapshots: the variables of a server on disk, so that they come back when its process does.

Owns the file format and the child that writes. A snapshot holds every variable of the server's own devices
that has a value, with the number of steps that had begun there; it is taken between two steps if one ends
within a second, and says so otherwise. A file is written beside the others, synced and then renamed, so
that a crash leaves whole ones only; each carries a checksum, and one that is damaged is passed over for the
one before. Servers call it; state of isolated sessions is not kept, because it ends with them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import struct
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.graph.codec import Buffer, pack, unpack
from actorsession.graph.dtypes import DType
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
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
        steps: how many steps had begun there, over all its lives.
        micros: when, in microseconds since 1970.
        quiet: whether no step ran at that moment.
        variables: those with a value.
    """

    steps: int
    micros: int
    quiet: bool
    variables: Sequence[Saved]

    def to_wire(self) -> dict[str, Any]:
        """What others are told of it: when it is from, and of which variables; not their values."""
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
        self._prefix = re.sub(r"[^A-Za-z0-9]+", "-", task).strip("-")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            probe = self._directory / f"{self._prefix}.probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as exc:
            raise InvalidArgumentError(f"snapshot_dir cannot be written to: {exc}") from exc

    def _files(self) -> list[Path]:
        """The snapshots there are, the latest first."""
        return sorted(self._directory.glob(f"{self._prefix}.*.snapshot"), reverse=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Writes a snapshot, and removes those before the last.

        Raises:
            OSError: if it cannot; the snapshots that there are stay.
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
        latest = self._files()
        number = 1 + (int(latest[0].name.split(".")[-2]) if latest else 0)
        path = self._directory / f"{self._prefix}.{number:012d}.snapshot"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            _write_parts(file, parts)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        for old in self._files()[_KEPT:]:
            old.unlink(missing_ok=True)
        _log.info("%d variables are in the snapshot %s", len(saved), path)
        return path

    def latest(self) -> Snapshot | None:
        """The latest snapshot that is whole; ``None`` if there is none."""
        for path in self._files():
            try:
                with path.open("rb") as file:
                    return _read(_read_parts(file))
            except (OSError, ValueError, struct.error, OpError) as exc:
                _log.warning("snapshot %s is passed over: %s", path, exc)
        return None


def _write_parts(file: BufferedWriter, parts: Sequence[Buffer]) -> None:
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
        steps: how many steps have begun in this life.
        running: how many run now.
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
        self._written = -1
        self.restored: Snapshot | None = None
        self.taken = 0

    def restore(self) -> None:
        """Gives the devices the variables of the latest snapshot."""
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
        self.restored = found
        _log.info(
            "%d variables are back from the snapshot after %d steps",
            len(found.variables), found.steps,
        )  # fmt: skip

    async def run(self) -> None:
        """Takes snapshots until it is cancelled."""
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
        """Takes a snapshot now, unless no step has begun since the last one."""
        snapshot = self._collect()
        if snapshot.steps == self._written:
            return
        try:
            # Writing and syncing may take seconds; the values are held as they are meanwhile.
            await asyncio.to_thread(self._store.write, snapshot)
        except OSError as exc:
            _log.error("no snapshot after %d steps: %s", snapshot.steps, exc)
            return
        self._written = snapshot.steps
        self.taken += 1

    def take_now(self) -> None:
        """``take`` without an event loop's help, for a server that stops."""
        snapshot = self._collect()
        if snapshot.steps == self._written:
            return
        try:
            self._store.write(snapshot)
        except OSError as exc:
            _log.error("no snapshot after %d steps: %s", snapshot.steps, exc)

    def _collect(self) -> Snapshot:
        saved = [
            Saved(
                device.name.rpartition("/device:")[2],
                container,
                name,
                variable.spec,
                variable.read(),
            )
            for device in self._devices
            for container, name, variable in device.resources.variables()
            if variable.initialized
        ]
        steps = self._before + self._steps()
        return Snapshot(steps, time.time_ns() // 1000, not self._running(), saved)

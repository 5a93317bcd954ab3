"""Snapshots: the variables of a server on disk, so that a restarted process can restore them.

Holds the file format and the child that writes. A snapshot contains every variable of the server's own
devices that has a value, with the number of steps that had ended there. It is taken between two steps if
there is a moment without steps within a second; otherwise it records that steps were running. A snapshot is
written when anything has changed since the last one, whatever the cause: a step, or a container that was
cleared. A file is written under another name, synced and then renamed, so that a crash leaves only complete
files. Each file carries a checksum, and a damaged one is skipped in favour of the one before. Used by
servers; state of isolated sessions is not kept, because it ends with them.

A failure to write a snapshot causes a warning; the next snapshot is taken as usual. After the last one
``Snapshots.lost`` says which changes no file holds.

Invariants: A folder belongs to one cluster. Each file names the cluster and the task that have written it,
and a store neither restores nor removes files of another one. A server holds a lock on its part of the folder
from before it looks at the files until it has written its last one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import stat
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

from actorsession.actors.loops import in_thread
from actorsession.checkpoints.atomic import (
    UNFINISHED,
    LockedFile,
    file_errors,
    make_private_folder,
    open_file,
    remove_abandoned,
    write_whole,
)
from actorsession.cluster.worker.worker import Worker
from actorsession.config.file_roots import path_text
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
    exhausted,
    from_exception,
)
from actorsession.graph.codec import Buffer, pack, unpack
from actorsession.graph.device import device_in_task
from actorsession.graph.dtypes import DType
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.json_text import read_json
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.resources import Variable
from transports.host import current_host

__all__ = ["Owner", "Snapshot", "SnapshotStore", "Snapshots", "restore_latest", "stored_cluster_id"]

_log = logging.getLogger("actorsession.cluster")

_MAGIC = b"acts-snapshot-2\n"
# Files of earlier versions, which do not name their owner.
_UNOWNED = b"acts-snapshot-1\n"
_NUMBER = struct.Struct("<I")
_KEPT = 2
# Seconds to wait for a moment without steps, and between two checks for one.
_QUIET, _LOOK = 1.0, 0.005
# Seconds for a process that this one replaces to end and to release its files, and between two tries.
_REPLACED, _TRY = 10.0, 0.05
# The locks of tasks, and the one that is held while one of them is taken.
_LOCKS = re.compile(r"\.job-[\w-]+\.lock", re.ASCII)
_TAKING = ".snapshots.lock"
_ANY = re.compile(r"job-[\w-]+\.(?:\d{12}|\d+-[0-9a-f]{8})\.snapshot", re.ASCII)
# Variables that a message names.
_NAMED = 20


class Owner(NamedTuple):
    """Whose a snapshot or a lock is.

    Attributes:
        cluster_id: the id of the cluster; "" for one without an id.
        task: the task.
        process: the process of a lock, such as ``process 4711 on node3``; "" for a file.
    """

    cluster_id: str
    task: str
    process: str = ""

    def __str__(self) -> str:
        where = f" ({self.process})" if self.process else ""
        return f"{self.task} of {_called(self.cluster_id)}{where}"

    def to_text(self) -> str:
        """Return the text of a lock."""
        return json.dumps(self._asdict())

    @classmethod
    def of_text(cls, text: str) -> Owner | None:
        """Return the owner that the text of a lock names; ``None`` if it names none, for a full disk."""
        with contextlib.suppress(ValueError):
            match read_json(text):
                case {"cluster_id": str(cluster_id), "task": str(task), "process": str(process)}:
                    return cls(cluster_id, task, process)
        return None


def _called(cluster_id: str) -> str:
    return f"cluster {cluster_id!r}" if cluster_id else "a cluster without an id"


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
        path: the file that it was read from; "" if it is not from a file.
        owner: who wrote the file; ``None`` if it does not say so, as those of earlier versions.
    """

    steps: int
    micros: int
    quiet: bool
    variables: Sequence[Saved]
    path: str = ""
    owner: Owner | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return a description for other tasks: the time and the names of the variables, without values."""
        names = [[v.container, v.name] for v in self.variables]
        return {"steps": self.steps, "micros": self.micros, "quiet": self.quiet, "variables": names, "path": self.path}


class SnapshotStore:
    """The snapshots of one task in a directory.

    Args:
        directory: created if it does not exist, for this user alone.
        task: the task; tasks of one cluster may share a directory.
        cluster_id: the cluster of the task, "" for one without an id. If left out, files of any cluster are
            read, and those that are written belong to a cluster without an id.

    Raises:
        InvalidArgumentError: if the directory is not writable.
    """

    def __init__(self, directory: str | os.PathLike[str], task: str, cluster_id: str | None = None) -> None:
        # Absolute, also for when the process has gone elsewhere.
        self._directory = Path(os.path.abspath(path_text(directory, "snapshot_dir")))
        self._cluster_id = cluster_id
        self._task = task
        self._lock: LockedFile | None = None
        self._prefix = re.sub(r"\W+", "-", task, flags=re.ASCII).strip("-")
        # Earlier versions had no nonce, and replaced an underscore like any other sign.
        former = re.escape(self._prefix.replace("_", "-"))
        prefix = re.escape(self._prefix)
        self._form = re.compile(rf"(?:{former}\.(\d{{12}})|{prefix}\.(\d+)-[0-9a-f]{{8}})\.snapshot")
        self._unfinished = re.compile(
            rf"{former}\.\d{{12}}\.partial|\.{prefix}\.\d+-[0-9a-f]{{8}}\.snapshot{UNFINISHED}"
        )
        self._damaged: set[Path] = set()
        try:
            make_private_folder(os.fspath(self._directory))
            current_host().files.temporary_file(self._directory).close()
        except OSError as exc:
            raise InvalidArgumentError(f"snapshot_dir cannot be written to: {exc}") from exc

    # -- the owner of the directory ------------------------------------------------------------

    async def take(self) -> None:
        """Take the directory for this task, until ``release``; comes before anything else.

        A process of the same task that is ending is waited for.

        Raises:
            FailedPreconditionError: if another cluster uses the directory or has stored its variables there,
                or this task is served by another process; the message has both names.
        """
        now = current_host().clock.monotonic
        until = now() + _REPLACED
        while True:
            try:
                self._lock = self._taken()
                return
            except UnavailableError as error:
                if now() >= until:
                    raise FailedPreconditionError(error.message) from None
            await asyncio.sleep(_TRY)

    def _taken(self) -> LockedFile:
        """Return the lock of this task.

        Raises:
            UnavailableError: if a process of this cluster holds it, which may end soon.
            FailedPreconditionError: if the directory is another cluster's.
        """
        folder = os.fspath(self._directory)
        host = current_host()
        process = f"process {host.processes.getpid()} on {host.network.gethostname()}"
        own = Owner(self._cluster_id or "", self._task, process)
        taking = _locked(os.path.join(folder, _TAKING), own)
        if taking is None:
            raise UnavailableError(f"{self._directory} is being taken by another process")
        try:
            if taking.is_locked:
                self._refuse_living(own)
            else:
                _log.warning(
                    "%s is on a file system without locks: nothing keeps a second process of %s from writing "
                    "there, too",
                    self._directory,
                    own,
                )
            self._refuse_stored(own)
            lock = _locked(os.path.join(folder, f".{self._prefix}.lock"), own)
            if lock is None:
                raise UnavailableError(f"{self._directory} is in use by another process of {own}")
            return lock
        finally:
            taking.release()

    def _refuse_living(self, own: Owner) -> None:
        """Refuse a directory that another cluster, or another process of this task, uses."""
        folder = os.fspath(self._directory)
        remove_abandoned(folder, _LOCKS)  # those that are left are locked
        for name in _locks(folder):
            holder = Owner.of_text(LockedFile.text_of(os.path.join(folder, name)))
            if holder is not None and holder.cluster_id != own.cluster_id:
                raise _not_ours(folder, own, f"is used by {holder}")
            if name == f".{self._prefix}.lock":
                who = holder or "another process"
                raise UnavailableError(f"the snapshot_dir {folder!r} is used by {who}, and {own} needs it")

    def _refuse_stored(self, own: Owner) -> None:
        """Refuse a directory that holds the state of another cluster."""
        for path, owner in _owners(self._directory):
            if owner is not None and owner.cluster_id != own.cluster_id and _is_whole(path):
                raise _not_ours(os.fspath(self._directory), own, f"holds the variables of {owner} ({path.name})")

    def release(self) -> None:
        """Let others have the directory; may be called twice."""
        if self._lock is not None:
            self._lock.release()

    def _is_ours(self, owner: Owner | None) -> bool:
        """Return whether files of an owner are this store's to restore and to remove."""
        if owner is None:  # by an earlier version, which only knew tasks
            return True
        return owner.task == self._task and self._cluster_id in (None, owner.cluster_id)

    # -- the files -----------------------------------------------------------------------------

    def _files(self) -> list[tuple[int, Path]]:
        """Return the snapshots with their numbers, the latest first; other files are ignored."""
        names = current_host().files.listdir(self._directory)
        matches = [match for name in names if (match := self._form.fullmatch(name))]
        return sorted([(int(m[1] or m[2]), self._directory / m[0]) for m in matches], reverse=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Write a snapshot, and remove those before the last one.

        Raises:
            OpError: if that fails; the existing snapshots stay.
        """
        saved = [[v.device, v.container, v.name, v.spec.dtype, v.spec.shape, v.value] for v in snapshot.variables]
        owner: list[Buffer] = [pack([self._cluster_id or "", self._task], [])]
        segments: list[Buffer] = []
        parts = [pack([snapshot.steps, snapshot.micros, snapshot.quiet, saved], segments), *segments]
        remove_abandoned(os.fspath(self._directory), self._unfinished)
        # The clock separates the files of two processes of one task, should their lifetimes overlap.
        number = max([current_host().clock.time_ns() // 1000, *[1 + n for n, _ in self._files()[:1]]])
        path = self._directory / f"{self._prefix}.{number:016d}-{current_host().entropy.token_hex(4)}.snapshot"
        write_whole(os.fspath(path), lambda file: _write_parts(file, [*owner, *parts]), private=True)
        self._remove_old()
        _log.info("%d variables are in the snapshot %s", len(saved), path)
        return path

    def _remove_old(self) -> None:
        """Remove the files before the last complete ones; those of others stay."""
        whole = 0
        for _, path in self._files():
            damaged = path in self._damaged
            if not damaged:
                try:
                    if not self._is_ours(_read_owner(path)):
                        continue
                except Exception:
                    continue  # what cannot be read is not ours to remove
            if whole >= _KEPT:
                try:
                    current_host().files.unlink(path)
                except FileNotFoundError:
                    pass
                except OSError as exc:
                    _log.warning("snapshot %s is not removed: %s", path, exc)
            whole += not damaged

    def latest(self) -> Snapshot | None:
        """Return the latest complete snapshot of this task and cluster; ``None`` if there is none.

        Raises:
            ResourceExhaustedError: if there is no memory for it, or no file descriptor. It is not passed
                over, because an older one would take its place.
        """
        for _, path in self._files():
            try:
                with _opened(path) as file:
                    owner, parts = _read_parts(file)
                if self._is_ours(owner):
                    return replace(_read(parts), path=os.fspath(path), owner=owner)
            except Exception as exc:  # whatever the file contains
                if exhausted(exc) or isinstance(exc, ResourceExhaustedError):
                    raise from_exception(exc) from exc
                _log.warning("snapshot %s is passed over: %s", path, exc)
                if not isinstance(exc, (_ForeignError, OpError, OSError)):  # not ours to remove
                    self._damaged.add(path)
        return None


def _not_ours(folder: str, own: Owner, whose: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"the snapshot_dir {folder!r} {whose}, and {own} cannot use it: a folder belongs to one cluster. "
        "Name another folder, or start the task with the cluster id of the folder's variables to go on with "
        "them"
    )


def _locked(path: str, own: Owner) -> LockedFile | None:
    """Lock a file for an owner; return ``None`` if another one holds it.

    Raises:
        OpError: if it is no file, or cannot be made.
    """
    with file_errors(f"cannot lock {path!r}"):
        return LockedFile.take(path, own.to_text())


def _locks(folder: str) -> list[str]:
    """Return the names of the locks of tasks; what is no file was not made by one."""
    return [
        name
        for name in sorted(current_host().files.listdir(folder))
        if _LOCKS.fullmatch(name) and _is_file(folder, name)
    ]


def _is_file(folder: str, name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        status = current_host().files.stat(os.path.join(folder, name), follow_symlinks=False)
        return stat.S_ISREG(status.st_mode)
    return False


def _owners(directory: Path) -> Iterator[tuple[Path, Owner | None]]:
    """Yield the snapshots of all tasks that can be read with their owners; nothing is changed."""
    for name in sorted(current_host().files.listdir(directory)):
        if _ANY.fullmatch(name):
            path = directory / name
            with contextlib.suppress(Exception):  # damaged, or no snapshot: nobody's state
                yield path, _read_owner(path)


def stored_cluster_id(directory: str | os.PathLike[str]) -> str | None:
    """Return the id of the cluster whose variables a directory holds.

    Returns:
        The id; ``None`` if there is no owner, or more than one.

    Raises:
        UnavailableError: if a process uses the directory.
    """
    folder = path_text(directory, "snapshot_dir")
    try:
        taking = LockedFile.take(os.path.join(folder, _TAKING), "")
        if taking is None:
            raise UnavailableError(f"{folder!r} is being taken by another process")
        try:
            if taking.is_locked:
                remove_abandoned(folder, _LOCKS)
            if locks := _locks(folder):
                raise UnavailableError(f"{folder!r} is in use: {', '.join(locks)}")
            owners = {path: owner.cluster_id for path, owner in _owners(Path(folder)) if owner is not None}
            ids = set(owners.values())
            if len(ids) > 1:
                ids = {owner for path, owner in owners.items() if _is_whole(path)}
        finally:
            taking.release()
    except (OSError, FailedPreconditionError):  # it is missing, or on another machine
        return None
    return ids.pop() if len(ids) == 1 else None


class _ForeignError(ValueError):
    """A file is no snapshot, or one of a form that this version does not know; it is left alone."""


def _opened(path: Path) -> BufferedReader:
    return cast(BufferedReader, open_file(path))


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


def _read_head(file: BufferedReader) -> tuple[bool, bytes, Sequence[int]]:
    """Return whether a file names its owner, and its head: the bytes, and the sizes of the parts in it."""
    magic = file.read(len(_MAGIC))
    if magic not in (_MAGIC, _UNOWNED):
        raise _ForeignError("it is no snapshot") if magic else ValueError("it is empty")
    left = current_host().files.fstat(file.fileno()).st_size
    count = file.read(_NUMBER.size)
    (number,) = _NUMBER.unpack(count)
    if number * 8 > left:
        raise ValueError(f"it is damaged: {number} parts in {left} bytes")
    sizes = file.read(number * 8)
    lengths = struct.unpack(f"<{number}Q", sizes)
    if max(lengths, default=0) > left:
        raise ValueError(f"it is damaged: a part of {max(lengths)} bytes in {left}")
    return magic == _MAGIC, count + sizes, lengths


def _read_part(file: BufferedReader, size: int) -> bytearray:
    part = bytearray(size)
    if file.readinto(part) != size:
        raise ValueError("it is damaged: its end is missing")
    return part


def _read_parts(file: BufferedReader) -> tuple[Owner | None, list[bytearray]]:
    """Return the owner of a file and its other parts, after checking the whole file."""
    owned, head, sizes = _read_head(file)
    checksum = zlib.crc32(head)
    parts = []
    for size in sizes:
        parts.append(_read_part(file, size))
        checksum = zlib.crc32(parts[-1], checksum)
    if file.read() != _NUMBER.pack(checksum):
        raise ValueError("it is damaged: another checksum")
    return (_owner(parts.pop(0)), parts) if owned and parts else (None, parts)


def _read_owner(path: Path) -> Owner | None:
    """Return the owner that a file names, without reading its values.

    Raises:
        ValueError: if the file is damaged, or is no snapshot.
        OpError: if it is no regular file.
        OSError: if it cannot be read.
    """
    with _opened(path) as file:
        owned, _, sizes = _read_head(file)
        return _owner(_read_part(file, sizes[0])) if owned and sizes else None


def _is_whole(path: Path) -> bool:
    """Return whether a file is there as it was written: who owns one that is damaged is not known."""
    try:
        with _opened(path) as file:
            _read_parts(file)
    except (ValueError, FileNotFoundError):
        return False
    return True


def _owner(part: bytearray) -> Owner:
    match unpack(part, []):
        case [str(cluster_id), str(task)]:
            return Owner(cluster_id, task)
    raise ValueError("it has an owner of another form")


def _read(parts: Sequence[bytearray]) -> Snapshot:
    if not parts:
        raise ValueError("it is empty")
    match unpack(parts[0], parts[1:]):
        case [int(steps), int(micros), bool(quiet), list(saved)]:
            return Snapshot(steps, micros, quiet, [_saved(entry) for entry in saved])
    raise ValueError("it has another form")


def _saved(entry: Any) -> Saved:
    match entry:
        case [str(device), str(container), str(name), DType() as dtype, TensorShape() as shape, value]:
            return Saved(device, container, name, TensorSpec(dtype, shape), value)
    raise ValueError(f"it has a variable of another form: {entry!r:.100}")


def restore_latest(store: SnapshotStore, devices: Sequence[Device]) -> Snapshot | None:
    """Restore the variables of devices from the latest snapshot, and return it if there is one."""
    snapshot = store.latest()
    if snapshot is None:
        return None
    local = {device_in_task(d.name): d for d in devices}
    for saved in snapshot.variables:
        device = local.get(saved.device)
        if device is None:
            _log.warning("variable %r was on %s, which is not here", saved.name, saved.device)
            continue
        device.resources.variable(saved.container, saved.name, saved.spec).assign(saved.value)
    if snapshot.owner is None:
        _log.warning(
            "the snapshot %s is of an earlier version and does not name its cluster; it is taken over", snapshot.path
        )
    _log.info(
        "%d variables are back from the snapshot after %d steps, %s of %s",
        len(snapshot.variables),
        snapshot.steps,
        snapshot.path,
        snapshot.owner or "an earlier version",
    )
    return snapshot


# Device, container and name of a variable.
_Place: TypeAlias = tuple[str, str, str]


class Snapshots:
    """Takes the snapshots of one server.

    Args:
        store: the store to write to.
        devices: the devices whose variables are saved.
        every: seconds between two snapshots.
        worker: the worker, whose steps are counted.
        restored: the snapshot that the variables were restored from.

    Attributes:
        taken: the number of snapshots written.
        every: seconds between two snapshots.
        restored: the file that the variables were restored from; "" if they were not.
    """

    def __init__(
        self,
        store: SnapshotStore,
        devices: Sequence[Device],
        every: float,
        worker: Worker,
        restored: Snapshot | None = None,
    ) -> None:
        self._store = store
        self._devices = devices
        self._worker = worker
        self._before = 0 if restored is None else restored.steps  # steps of former incarnations
        self._writing = threading.Lock()  # one file at a time, from any thread
        # The number of changes of each variable in the last file; ``None`` before there is one.
        self._written: Counter[_Place] | None = None if restored is None else self._changes()
        self._last = restored
        # A file without an owner gets a successor with one, whether anything changes or not.
        self._adopts = restored is not None and restored.owner is None
        self._fault = ""  # why the last attempt has failed
        self._closed = False
        self.taken = 0
        self.every = every
        self.restored = "" if restored is None else restored.path
        self._now = current_host().clock.monotonic
        self._saved = self._now()  # when the variables were as the last file has them

    @property
    def age(self) -> float:
        """Seconds since a snapshot was taken, or nothing had changed since the last one."""
        return self._now() - self._saved

    async def run(self) -> None:
        """Take snapshots until this is cancelled."""
        while True:
            await asyncio.sleep(self.every)
            await self._until_quiet()
            await self.take()

    async def _until_quiet(self) -> None:
        end = self._now() + _QUIET
        # There is no event for this: steps end in many places, and none should pay for being watched.
        while self._worker.running and self._now() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)

    async def take(self) -> None:
        """Take a snapshot now, unless nothing has changed since the last one; log a warning if that fails.

        Cancelling the call does not prevent the file from being written.
        """
        with self._faults_told():
            now, changes = self._now(), self._changes()
            if self._has_more(changes):
                snapshot = self._collect()
                # Writing and syncing may take seconds; meanwhile the snapshot references the values as they
                # were.
                await in_thread(self._write, changes, snapshot)
            self._saved = now

    def take_now(self) -> None:
        """Take a snapshot as ``take`` does, without an event loop; waits for a file that is being written."""
        with self._faults_told():
            changes = self._changes()
            self._write(changes, self._collect())

    def close(self) -> None:
        """Take no more snapshots, and let others have the folder; may be called twice."""
        with self._writing:
            self._closed = True
            self._store.release()

    def lost(self) -> str:
        """Return which changes no file holds, in a sentence for the server's end; "" if there are none."""
        changes, written = self._changes(), self._written or Counter()
        missing = {place: n - written[place] for place, n in changes.items() if n > written[place]}
        if not missing:
            return ""
        words = [
            f"{name} ({n} change{'s' * (n != 1)})"
            for (_, _, name), n in sorted(missing.items(), key=lambda item: item[0][2])
        ]
        if len(words) > _NAMED:
            words[_NAMED:] = [f"{len(words) - _NAMED} more variables"]
        since = "its start, and no snapshot was ever written"
        if self._last is not None:
            since = f"the snapshot after {self._last.steps} steps, {self._last.path}"
        reason = f": {self._fault}" if self._fault else ""
        changed = ", ".join(words)
        return f"the last snapshot was not written{reason}. Lost is what changed since {since}: {changed}"

    def _write(self, changes: Counter[_Place], snapshot: Snapshot) -> None:
        """Write a snapshot, unless one with as many changes was written meanwhile."""
        with self._writing:
            if self._has_more(changes) and not self._closed:
                path = self._store.write(snapshot)
                self._written, self._adopts = changes, False
                self._last = replace(snapshot, path=os.fspath(path), variables=())  # they may be large
                self._fault = ""
                self.taken += 1

    @contextlib.contextmanager
    def _faults_told(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # from packing, memory or disk: the next may succeed
            self._fault = f"{type(exc).__name__}: {exc}"
            _log.warning("no snapshot is written: %s", self._fault)

    def _changes(self) -> Counter[_Place]:
        """Return how often each variable has changed; grows with each change and stays otherwise."""
        return Counter({place: variable.changes for place, variable in self._variables()})

    def _has_more(self, changes: Mapping[_Place, int]) -> bool:
        """Return whether there are changes that the last file does not have."""
        written = self._written
        return self._adopts or written is None or any(n > written[place] for place, n in changes.items())

    def _variables(self) -> Iterator[tuple[_Place, Variable]]:
        for device in self._devices:
            short = device_in_task(device.name)
            for container, name, variable in device.resources.variables():
                yield (short, container, name), variable

    def _collect(self) -> Snapshot:
        saved = [
            Saved(*place, variable.spec, value)
            for place, variable in self._variables()
            if (value := variable.value) is not None
        ]
        counts = self._worker.counts()
        steps = self._before + counts.runs - counts.steps
        return Snapshot(steps, current_host().clock.time_ns() // 1000, not counts.steps, saved)

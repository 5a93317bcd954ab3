"""The simulated disk behaves as a folder of Linux does, and forgets at a crash what was not synced."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import tempfile
from collections.abc import Callable
from random import Random
from typing import Any, BinaryIO, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorsession.checkpoints import write_whole
from actorsession.errors import DataLossError, ResourceExhaustedError
from actorsession.testing import HostCrash, SimulatedDisk, StillClock
from transports.host import Files, Host, on_host

PATHS = ["a", "b", "a/x", "a/y", "b/x", "a/x/z", "a/./x", "a/../b", "missing/x", "n" * 256]
PATH = st.sampled_from(PATHS)
WHICH = st.integers(0, 3)
ACCESS = st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
FLAGS = st.sampled_from([0, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_TRUNC, os.O_CREAT | os.O_TRUNC, os.O_APPEND])
NUMBER = st.integers(-1, 600)
DATA = st.binary(max_size=40) | st.just(b"x" * 700)

# A call: its name, and its arguments; paths are strings, and numbers of open files stand in ``Which``.
Step: TypeAlias = tuple[Any, ...]
STEP = st.one_of(
    st.tuples(st.just("open"), PATH, st.builds(int.__or__, ACCESS, FLAGS)),
    st.tuples(st.just("close"), WHICH),
    st.tuples(st.just("dup"), WHICH),
    st.tuples(st.just("read"), WHICH, st.integers(0, 50)),
    st.tuples(st.just("write"), WHICH, DATA),
    st.tuples(st.just("ftruncate"), WHICH, NUMBER),
    st.tuples(st.just("fsync"), WHICH),
    st.tuples(st.just("fstat"), WHICH),
    st.tuples(st.just("fchmod"), WHICH, st.sampled_from([0o600, 0o644])),
    st.tuples(st.just("lock"), WHICH, st.booleans()),
    st.tuples(st.just("unlock"), WHICH),
    st.tuples(st.just("open_file"), PATH, st.sampled_from(["rb", "wb", "xb", "ab", "r+b", "w+b", "a+b"]), DATA),
    st.tuples(st.just("stat"), PATH),
    st.tuples(st.just("listdir"), PATH),
    st.tuples(st.just("utime"), PATH, st.integers(0, 10**18)),
    st.tuples(st.just("mkdir"), PATH),
    st.tuples(st.just("rmdir"), PATH),
    st.tuples(st.just("unlink"), PATH),
    st.tuples(st.just("link"), PATH, PATH),
    st.tuples(st.just("replace"), PATH, PATH),
)


class Caller:
    """Makes calls of one kind of files, and says what comes of them."""

    def __init__(self, files: Files, root: str) -> None:
        self.files = files
        self.root = root
        self.opened: list[int] = []

    def __call__(self, name: str, *args: Any) -> Any:
        try:
            return self._result(name, *args)
        except OSError as exc:
            paths = [str(path).removeprefix(self.root) for path in (exc.filename, exc.filename2)]
            # The error of ``os.utime`` names no file.
            return exc.errno, paths if isinstance(exc.filename, str) and name != "utime" else None
        except ValueError as exc:  # such as reading of a file that is open for writing
            return type(exc)

    def _result(self, name: str, *args: Any) -> Any:
        call: Any = getattr(self.files, name, os.read)  # which only files of the disk need
        match name, *args:
            case "open", path, flags:
                self.opened.append(call(self._path(path), flags, 0o644))
            case "open_file", path, mode, data:
                with call(self._path(path), mode) as file:
                    return file.read(3), file.write(data), file.tell(), file.seek(1), file.read()
            case "listdir" | "mkdir" | "rmdir" | "unlink", path:
                result = call(self._path(path))
                return sorted(result) if name == "listdir" else result
            case "stat", path:
                return _told(call(self._path(path)))
            case "utime", path, time:
                call(self._path(path), ns=(time, time))
                return self.files.stat(self._path(path)).st_mtime_ns
            case "link" | "replace", path, other:
                return call(self._path(path), self._path(other))
            case _, int(which), *rest if which < len(self.opened):
                descriptor = self.opened[which]
                if name == "close":
                    del self.opened[which]
                result = call(descriptor, shared=rest[0]) if name == "lock" else call(descriptor, *rest)
                if name == "dup":
                    self.opened.append(result)
                    return None
                return _told(result) if name == "fstat" else result
        return None

    def _path(self, path: str) -> str:
        return f"{self.root}/{path}"

    def close(self) -> None:
        for descriptor in self.opened:
            self.files.close(descriptor)


def _told(status: os.stat_result) -> Any:
    """Return what does not depend on the file system."""
    links = None if stat.S_ISDIR(status.st_mode) else status.st_nlink
    return status.st_mode, links, 0 if stat.S_ISDIR(status.st_mode) else status.st_size


@given(st.lists(STEP, max_size=40))
@settings(max_examples=300, deadline=None)
def test_the_disk_answers_each_call_as_a_real_folder_does(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        real, simulated = Caller(Files(), folder), Caller(SimulatedDisk(), "")
        before = os.umask(0o022)
        try:
            for step in steps:
                assert simulated(*step) == real(*step), step
        finally:
            os.umask(before)
            real.close()


# -- crashes ---------------------------------------------------------------------------------------

SEEDS = range(40)


def content(disk: SimulatedDisk, path: str) -> bytes | None:
    """What a process that starts now reads; ``None`` if there is no such file."""
    if not disk.exists(path):
        return None
    with disk.open_file(path) as file:
        return file.read()


def crashed_while(work: Callable[[], object], disk: SimulatedDisk, calls: int, seed: int) -> bool:
    """Does some work on a host that crashes after some calls of its disk, or after the work; whether it was done."""
    random = Random(seed)
    disk.crash_after(calls, lambda: disk.crash(random))
    try:
        with on_host(Host(files=disk)):
            work()
    except HostCrash:
        return False
    disk.heal()
    disk.crash(random)
    return True


def write_all(path: str, data: bytes) -> None:
    def write(file: BinaryIO) -> None:
        for at in range(0, len(data), 700):  # more moments in which it can be cut off
            file.write(data[at : at + 700])
            file.flush()

    write_whole(path, write)


def whole_files_of(disk_type: type[SimulatedDisk]) -> list[str]:
    """Overwrites a file with a crash after each call, and many draws; what was wrong then."""
    wrong = []
    for old, seed in itertools.product((None, b"old" * 500), SEEDS):
        new, calls, done = b"new" * 800, 0, False
        while not done:
            disk = disk_type()
            if old is not None:
                with on_host(Host(files=disk)):
                    write_all("/folder/file", old)
            done = crashed_while(lambda: write_all("/folder/file", b"new" * 800), disk, calls, seed)
            if (read := content(disk, "/folder/file")) not in ((new,) if done else (old, new)):
                wrong.append(f"{seed}: after {calls} calls {'' if read is None else read[:9]!r} is left")
            with on_host(Host(files=disk)):
                write_all("/folder/file", b"next")
            if content(disk, "/folder/file") != b"next" or disk.listdir("/folder") != ["file"]:
                wrong.append(f"{seed}: after {calls} calls the next writer leaves {disk.listdir('/folder')}")
            calls += 1
    return wrong


def test_a_file_that_is_written_whole_is_the_old_or_the_new_one_after_any_crash() -> None:
    assert whole_files_of(SimulatedDisk) == []


class UnsyncedDisk(SimulatedDisk):
    """A disk whose files are renamed before they are synced."""

    def fsync(self, descriptor: int) -> None:
        if stat.S_ISDIR(self.fstat(descriptor).st_mode):
            super().fsync(descriptor)


class UnsyncedFolders(SimulatedDisk):
    """A disk whose folders are never synced."""

    def fsync(self, descriptor: int) -> None:
        if not stat.S_ISDIR(self.fstat(descriptor).st_mode):
            super().fsync(descriptor)


@pytest.mark.parametrize("disk", [UnsyncedDisk, UnsyncedFolders])
def test_a_rename_before_the_sync_and_a_folder_that_is_not_synced_are_found(disk: type[SimulatedDisk]) -> None:
    assert whole_files_of(disk)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_write_that_the_disk_refuses_leaves_the_old_file_and_nothing_else(number: int) -> None:
    refused = []
    for after in range(20):
        disk = SimulatedDisk()
        with on_host(Host(files=disk)):
            write_all("/file", b"old")
            disk.fail(number, after=after, times=1)
            with contextlib.suppress(DataLossError, ResourceExhaustedError):
                write_all("/file", b"new" * 500)
        disk.heal()
        assert disk.listdir("/") == ["file"]
        refused.append(content(disk, "/file") == b"old")
        assert refused[-1] or content(disk, "/file") == b"new" * 500
    # Refused are the new file, each of its writes, its sync and the rename; not what comes before and after.
    assert [refused.index(True), refused.count(True), refused[-1]] == [1, 6, False]


def disk_with(**files: bytes) -> SimulatedDisk:
    """A disk with durable files at its root."""
    disk = SimulatedDisk()
    for name, data in files.items():
        with disk.open_file(f"/{name}", "wb") as file:
            file.write(data)
            file.flush()
            disk.fsync(file.fileno())
    sync_root(disk)
    return disk


def sync_root(disk: SimulatedDisk) -> None:
    root = disk.open("/", os.O_RDONLY)
    disk.fsync(root)
    disk.close(root)


def test_what_is_synced_outlives_every_crash() -> None:
    for seed in SEEDS:
        disk = disk_with(a=b"x" * 3000)
        disk.crash(Random(seed))
        assert content(disk, "/a") == b"x" * 3000


def test_of_unsynced_writes_each_block_is_as_it_was_at_some_moment() -> None:
    left = set()
    for seed in SEEDS:
        disk = disk_with(a=b"a" * 1024)
        with disk.open_file("/a", "r+b", 0) as file:
            file.write(b"b" * 1024)
            file.seek(0)
            file.write(b"c" * 600)
        disk.crash(Random(seed))
        data = content(disk, "/a")
        assert data is not None
        assert len(data) == 1024
        assert data[:512] in (b"a" * 512, b"b" * 512, b"c" * 512)
        assert data[512:] in (b"a" * 512, b"b" * 512, b"c" * 88 + b"b" * 424)
        left.add(data)
    assert len(left) > 5  # old, new, and mixtures


def test_names_of_one_folder_are_lost_from_the_last_one_back() -> None:
    left = set()
    for seed in SEEDS:
        disk = disk_with()
        for name in "abc":
            disk.mkdir(f"/{name}")
        disk.crash(Random(seed))
        left.add("".join(disk.listdir("/")))
    assert left == {"", "a", "ab", "abc"}


def test_a_file_that_moves_between_folders_is_in_one_of_them() -> None:
    left = set()
    for seed in SEEDS:
        disk = disk_with()
        disk.mkdir("/a")
        disk.mkdir("/b")
        disk.mkdir("/a/x")
        sync_root(disk)
        folder = disk.open("/a", os.O_RDONLY)
        disk.fsync(folder)
        disk.replace("/a/x", "/b/x")
        disk.crash(Random(seed))
        left.add((*disk.listdir("/a"), *disk.listdir("/b"), disk.exists("/a/x")))
    assert left == {("x", True), ("x", False)}


def test_syncing_one_folder_keeps_what_its_names_rest_on() -> None:
    """A file moves from one folder to the other, of which only the second is synced."""
    for seed in SEEDS:
        disk = disk_with(x=b"1")
        disk.mkdir("/a")
        disk.replace("/x", "/a/x")
        folder = disk.open("/a", os.O_RDONLY)
        disk.fsync(folder)
        disk.crash(Random(seed))
        assert content(disk, "/a/x") == b"1"


def test_what_a_failed_sync_was_to_write_is_in_no_later_one() -> None:
    disk = disk_with(a=b"1" * 512)
    with disk.open_file("/a", "r+b", 0) as file:
        file.write(b"2" * 512)
        disk.fail(errno.EIO, only=("fsync",), times=1)
        with pytest.raises(OSError, match="Input/output error"):
            disk.fsync(file.fileno())
        disk.fsync(file.fileno())
        assert content(disk, "/a") == b"2" * 512
    disk.crash(Random(0))
    assert content(disk, "/a") == b"1" * 512


def test_the_end_of_a_fault_ends_no_other() -> None:
    disk = disk_with(a=b"1" * 100)
    clock = StillClock()
    full, fuller, slow, slower = disk.fill(50), disk.fill(10), disk.slow(1.0), disk.slow(2.0)
    failing = [disk.fail(errno.EIO, only=["ftruncate"]), disk.fail(errno.EIO, only=["ftruncate"])]
    with on_host(Host(files=disk, clock=clock)), disk.open_file("/b", "wb", 0) as file:
        assert clock.monotonic() == 3.0
        slower()
        assert file.write(b"2" * 100) == 10
        fuller()
        assert file.write(b"2" * 100) == 40
        assert clock.monotonic() == 5.0
        failing[0]()
        with pytest.raises(OSError, match="Input/output error"):
            file.truncate(1)
        with disk.sound():
            file.truncate(1)
            assert clock.monotonic() == 6.0
        for end in (failing[1], full, slow, slow):
            end()
        assert file.write(b"2" * 100) == 100
        assert clock.monotonic() == 6.0


def test_a_full_disk_takes_what_there_is_room_for_and_removed_files_make_room() -> None:
    disk = disk_with(a=b"1" * 100)
    disk.fill(10)
    with disk.open_file("/b", "wb", 0) as file:
        assert file.write(b"2" * 20) == 10
        with pytest.raises(OSError, match="No space left"):
            file.write(b"2")
        disk.unlink("/a")
        assert file.write(b"2" * 200) == 100
    disk.heal()
    with disk.open_file("/b", "ab") as file:
        assert file.write(b"2" * 200) == 200


def test_the_end_of_a_process_releases_its_locks_and_loses_nothing() -> None:
    disk, first = disk_with(), Host(files=SimulatedDisk())
    with on_host(first):
        descriptor = disk.open("/a", os.O_CREAT | os.O_RDWR)
        disk.write(descriptor, b"unsynced")
        assert disk.lock(descriptor)
    other = disk.open("/a", os.O_RDWR)
    assert disk.lock(other) is False
    disk.killed(first)
    assert disk.lock(other) is True
    assert content(disk, "/a") == b"unsynced"
    with on_host(first):
        disk.close(descriptor)  # as when its objects end
        with pytest.raises(HostCrash):
            disk.write(descriptor, b"x")
        with pytest.raises(HostCrash):
            disk.unlink("/a")


def test_a_buffer_that_ends_after_a_crash_writes_nothing() -> None:
    disk = disk_with(a=b"1")
    file = disk.open_file("/a", "r+b")
    file.write(b"2")
    disk.crash(Random(0))
    file.close()
    assert content(disk, "/a") == b"1"


def test_a_rotten_file_differs_in_one_bit() -> None:
    disk = disk_with(a=bytes(100))
    disk.rot("/a", Random(0))
    read = content(disk, "/a")
    assert read is not None
    assert sum(byte.bit_count() for byte in read) == 1


def test_a_slow_disk_takes_the_time_of_its_host() -> None:
    clock = StillClock()
    disk = SimulatedDisk()
    disk.slow(0.5)
    with on_host(Host(files=disk, clock=clock)):
        write_all("/a", b"x")
    # What others have left is looked for in an open folder.
    assert clock.monotonic() == (disk.calls + 2) * 0.5

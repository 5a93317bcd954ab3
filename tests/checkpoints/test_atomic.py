"""Files that are there whole or not at all: who may write beside them, and how file systems fail."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import float64
from actorsession.checkpoints import CheckpointReader, file_errors, write_whole
from actorsession.checkpoints.atomic import LockedFile, keep_file, make_private_folder, open_regular, remove_unused
from actorsession.checkpoints.bundle_writer import write_bundle
from actorsession.checkpoints.nonce import has_ended, nonce_held
from actorsession.errors import (
    AbortedError,
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
)
from tests.irregular_files import OBSTACLES

LEFT = ".m.0123456789ab.tmp"


def put(path: Path, content: bytes = b"new") -> None:
    write_whole(str(path), lambda file: file.writelines([content]))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# -- who writes ------------------------------------------------------------------------------------


def test_what_a_dead_writer_left_is_removed_by_the_next_of_that_file_and_no_other(tmp_path: Path) -> None:
    for name in (LEFT, ".m.0123.tmp", ".n.0123456789ab.tmp", "m.0123456789ab.tmp"):
        (tmp_path / name).touch()
    put(tmp_path / "m")
    assert names(tmp_path) == [".m.0123.tmp", ".n.0123456789ab.tmp", "m", "m.0123456789ab.tmp"]


def test_a_writer_that_lives_is_left_alone(tmp_path: Path) -> None:
    """The later of two names its file last, whoever began first."""

    def write(file: Any) -> None:
        put(tmp_path / "m", b"inner")
        assert len(names(tmp_path)) == 2
        file.write(b"outer")

    write_whole(str(tmp_path / "m"), write)
    assert (tmp_path / "m").read_bytes() == b"outer"
    assert names(tmp_path) == ["m"]


def test_a_file_that_is_taken_for_abandoned_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock
    taken: list[list[str]] = []

    def late(descriptor: int, operation: int) -> None:
        if not taken:
            taken.append(names(tmp_path))
            for name in names(tmp_path):
                remove_unused(str(tmp_path / name))
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    put(tmp_path / "m")
    assert taken
    assert names(tmp_path) == ["m"]


def test_a_file_that_is_kept_is_not_removed_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.touch()
    with keep_file(str(path)), keep_file(str(path)):
        remove_unused(str(path))
        assert path.exists()
    remove_unused(str(path), lambda: True)
    assert path.exists()
    remove_unused(str(path))
    assert not path.exists()
    with pytest.raises(NotFoundError, match="m'"), keep_file(str(path)):
        pass


def test_a_file_that_somebody_removes_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.touch()

    def keeps() -> bool:
        with pytest.raises(AbortedError, match="m' is being removed"), keep_file(str(path)):
            pass
        return False

    remove_unused(str(path), keeps)
    assert not path.exists()


def test_a_file_removed_before_it_is_locked_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. It is opened. 2. Another process locks it, removes it and is done. 3. It is locked."""
    path, lock = tmp_path / "m", fcntl.flock
    path.touch()

    def late(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        remove_unused(str(path))
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(AbortedError, match="m' is being removed"), keep_file(str(path)):
        pass


def test_a_save_of_this_process_has_ended_when_its_block_has() -> None:
    with nonce_held() as first, nonce_held() as second:
        assert first != second
        assert not has_ended(first)
    assert has_ended(first)
    # Of a save of another host nothing is known.
    with nonce_held() as nonce:
        pass
    assert has_ended(nonce)
    assert not has_ended(f"{int(nonce[:8], 16) ^ 1:08x}{nonce[8:]}")


def test_a_save_of_another_process_has_ended_when_the_process_has() -> None:
    script = (
        "from actorsession.checkpoints.nonce import nonce_held\n"
        "with nonce_held() as nonce: print(nonce, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        nonce = child.stdout.readline().strip()
        assert not has_ended(nonce)
        child.kill()
        child.wait()
        assert has_ended(nonce)


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EIO, DataLossError),
        (errno.EFBIG, ResourceExhaustedError),
        (errno.ENOSPC, ResourceExhaustedError),
        (errno.EDQUOT, ResourceExhaustedError),
    ],
)
def test_a_failing_file_system_is_an_error_of_its_kind_with_the_name_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[OpError]
) -> None:
    put(tmp_path / "m", b"old")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(kind, match=rf"{tmp_path}/m': {os.strerror(number)}") as info:
        put(tmp_path / "m")
    assert type(info.value) is kind
    assert names(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == b"old"


def test_a_limit_on_the_size_of_files_is_resource_exhausted_and_leaves_what_was(tmp_path: Path) -> None:
    put(tmp_path / "m", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ResourceExhaustedError, match="m': File too large"):
            put(tmp_path / "m", b"x" * 20_000)
        with pytest.raises(ResourceExhaustedError, match=r"m\.data.*File too large"):
            write_bundle(str(tmp_path / "m"), [("x", float64, np.zeros(2000))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == b"old"


def test_other_errors_of_a_file_system_are_unknown_errors_with_their_words() -> None:
    with pytest.raises(OpError, match="cannot do it: Too many links"), file_errors("cannot do it"):
        raise OSError(errno.EMLINK, "Too many links")


# -- what others have put there --------------------------------------------------------------------


@pytest.mark.parametrize("what", OBSTACLES)
def test_what_is_no_regular_file_is_refused_without_waiting_and_stays(what: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    OBSTACLES[what](path)
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT):
        with pytest.raises(FailedPreconditionError, match=f"m' is {what}, and no regular file"):
            open_regular(str(path), flags)
    with pytest.raises(FailedPreconditionError), keep_file(str(path)):
        pass
    remove_unused(str(path))
    assert path.exists()


@pytest.mark.parametrize("name", ["m.index", "m.safetensors", "m.safetensors.index.json", "m"])
@pytest.mark.parametrize("what", ["a FIFO", "a folder"])
def test_a_checkpoint_that_is_no_file_is_an_error_and_not_waited_for(what: str, name: str, tmp_path: Path) -> None:
    OBSTACLES[what](tmp_path / name)
    with pytest.raises((FailedPreconditionError, NotFoundError)):
        CheckpointReader(str(tmp_path / "m"))


@pytest.mark.parametrize("private", [False, True])
def test_a_private_file_and_its_folders_are_so_at_once_whatever_the_umask(private: bool, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "m"
    modes: list[int] = []

    def write(file: Any) -> None:
        modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))

    before = os.umask(0)
    try:
        make_private_folder(str(path.parent))
        write_whole(str(path), write, private=private)
    finally:
        os.umask(before)
    assert modes == [stat.S_IMODE(path.stat().st_mode)] == [0o600 if private else 0o666]
    assert {stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path.parent.parent)} == {0o700}


def test_a_folder_that_is_there_keeps_its_mode_and_a_file_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    make_private_folder(str(tmp_path / "open"))
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755
    (tmp_path / "file").touch()
    for taken in ("file", "file/below"):
        with pytest.raises(OSError, match=r"File exists|Not a directory"):
            make_private_folder(str(tmp_path / taken))


def test_of_two_owners_one_has_the_lock_until_it_is_released(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first = LockedFile.take(path, "the first")
    assert first is not None
    assert first.is_locked
    assert LockedFile.take(path, "the second") is None
    assert LockedFile.text_of(path) == "the first"
    first.release()
    first.release()
    assert not names(tmp_path)
    second = LockedFile.take(path, "the second")
    assert second is not None
    second.release()


# Takes the lock, forks a child that waits for its input, and is killed.
FORKS = """
import os, signal, sys
from actorsession.checkpoints.atomic import LockedFile
lock = LockedFile.take(sys.argv[1], "mine")
if not os.fork():
    print("forked", flush=True)
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.process
def test_a_child_that_a_killed_owner_has_forked_does_not_keep_its_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    command = [sys.executable, "-c", FORKS, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"forked\n"
        process.wait()
        lock = LockedFile.take(path, "another's")
        assert lock is not None
        lock.release()
        process.communicate()

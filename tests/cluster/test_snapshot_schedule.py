"""When snapshots are written, and what they survive: long steps, resets, failures, foreign files."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, Session, TensorShape, float32, ops
from actorsession.checkpoints import atomic
from actorsession.cluster.launch import child, worker_process
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.cluster.server import snapshots
from actorsession.cluster.server.snapshots import Saved, Snapshot, SnapshotStore
from actorsession.config import ConfigProto
from actorsession.errors import DataLossError, InvalidArgumentError, OpError
from actorsession.extend import TensorSpec
from tests.cluster.kit import PATIENCE, W0, Gate, eventually, on, soon

ROOT = Path(__file__).resolve().parents[2]
SPEC = TensorSpec(float32, TensorShape([]))


@asynccontextmanager
async def serving(folder: Path, every: float = 1000.0) -> AsyncIterator[Server]:
    config = ConfigProto(inter_op_parallelism_threads=4)
    settings = ServerSettings(config=config, snapshot_dir=folder, snapshot_every=every)
    server = Server({"worker": ["127.0.0.1:0"]}, "worker", settings=settings)
    async with server:
        yield server


def kept(folder: Path) -> dict[str, Any]:
    """The values of the last snapshot."""
    found = SnapshotStore(folder, W0).latest()
    return {} if found is None else {saved.name: saved.value for saved in found.variables}


def one(value: float) -> Snapshot:
    return Snapshot(1, 1, True, [Saved("CPU:0", "localhost", "v", SPEC, np.float32(value))])


def taker(server: Server) -> snapshots.Snapshots:
    assert server.actors.snapshots is not None
    return server.actors.snapshots


# -- what counts -----------------------------------------------------------------------------------


async def test_a_snapshot_in_the_middle_of_a_step_does_not_hide_its_effects(tmp_path: Path, graph: Graph) -> None:
    """1. A step is held before it changes a variable. 2. A snapshot is taken. 3. The step is acknowledged.
    4. No other step begins, and the server stops."""
    gate = Gate("before the effects of a long step")
    with on(W0):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(gate(ops.constant(1.0)))
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        run = asyncio.create_task(session.run(add))
        await soon(gate.wait_entered())
        await soon(taker(server).take())
        assert kept(tmp_path) == {"v": 0.0}
        gate.open()
        assert await soon(run) == 1.0
    assert kept(tmp_path) == {"v": 1.0}


async def test_the_number_of_steps_is_of_those_that_had_ended(tmp_path: Path, graph: Graph) -> None:
    gate = Gate("a step that has not ended")
    with on(W0):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(gate(ops.constant(1.0)))
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        run = asyncio.create_task(session.run(add))
        await soon(gate.wait_entered())
        await soon(taker(server).take())
        found = SnapshotStore(tmp_path, W0).latest()
        assert found is not None
        assert (found.steps, found.quiet) == (1, False)
        gate.open()
        await soon(run)


async def test_the_steps_of_servers_that_were_restored_are_counted_on(tmp_path: Path, graph: Graph) -> None:
    with on(W0):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(1.0)
    for life in range(3):
        async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
            await soon(session.run(add if life else v.initializer))
        found = SnapshotStore(tmp_path, W0).latest()
        assert found is not None
        assert found.steps == life + 1


async def test_variables_that_were_reset_do_not_come_back(tmp_path: Path, graph: Graph) -> None:
    with on(W0):
        v = ops.Variable(1.0, name="v")
        there = v.is_initialized()
    async with serving(tmp_path) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await soon(session.run(v.initializer))
            await soon(taker(server).take())
        await soon(AsyncSession.reset(server.target))
    assert kept(tmp_path) == {}
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        assert not await soon(session.run(there))


async def test_what_the_last_file_holds_is_not_written_again(tmp_path: Path, graph: Graph) -> None:
    """Neither after steps that only read, nor by a server that only came back."""
    with on(W0):
        v = ops.Variable(1.0, name="v")
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        await soon(taker(server).take())
        before = sorted(tmp_path.glob("*.snapshot"))
        assert await soon(session.run(v.read_value())) == 1.0
        await soon(taker(server).take())
    async with serving(tmp_path) as server:
        await soon(taker(server).take())
    assert list(tmp_path.iterdir()) == before
    assert len(before) == 1


# -- what may go wrong -----------------------------------------------------------------------------


async def test_foreign_files_are_no_snapshots_and_stay(
    tmp_path: Path, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = "job-worker-replica-0-task-0"
    foreign = [
        f"{prefix}.before-the-upgrade.snapshot",
        f"{prefix}.snapshot",
        f"{prefix}0.000000000009.snapshot",
        f"x{prefix}.000000000009.snapshot",
        f"{prefix}.000000000009.snapshot.bak",
    ]
    for name in foreign:
        (tmp_path / name).write_text("mine")
    (tmp_path / f"{prefix}.000000000008.snapshot").mkdir()
    with on(W0):
        v = ops.Variable(1.0, name="v")
        add = v.assign_add(1.0)
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        for _ in range(3):
            await soon(session.run(add))
            await soon(taker(server).take())
        assert taker(server).taken == 3
    assert kept(tmp_path) == {"v": 4.0}
    assert {p.name for p in tmp_path.iterdir()} >= set(foreign)
    assert "no snapshot is written" not in caplog.text


@pytest.mark.parametrize(
    "fault", [ValueError("odd"), MemoryError(), OSError(errno.EIO, "Input/output error"), KeyError("x")]
)
async def test_whatever_goes_wrong_costs_a_warning_and_the_next_snapshot_is_taken(
    fault: Exception, tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with on(W0):
        v = ops.Variable(1.0, name="v")
        add = v.assign_add(1.0)

    def fail(*arguments: Any) -> Any:
        raise fault

    async with serving(tmp_path, every=0.01) as server, AsyncSession(server.target, graph=graph) as session:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            await soon(session.run(v.initializer))
            await eventually(lambda: "no snapshot is written" in caplog.text)
        await eventually(lambda: taker(server).taken == 1)
        await soon(session.run(add))
        await eventually(lambda: taker(server).taken == 2)
    warnings = [r for r in caplog.records if "no snapshot is written" in r.message]
    assert {r.levelname for r in warnings} == {"WARNING"}
    assert kept(tmp_path) == {"v": 2.0}
    assert len(list(tmp_path.iterdir())) == 2


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no file written any more."""

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)


async def test_a_server_whose_last_snapshot_fails_stops_all_the_same(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with on(W0):
        v = ops.Variable(1.0, name="v")
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        full_disk(monkeypatch)
    assert caplog.text.count("no snapshot is written: ResourceExhaustedError") == 1
    assert not list(tmp_path.iterdir())
    assert re.fullmatch(
        rf"{W0}: the last snapshot was not written: ResourceExhaustedError: cannot write '\S+': No space left on "
        r"device\. Lost is what changed since its start, and no snapshot was ever written: v \(1 change\)",
        server.lost,
    )
    assert server.lost in caplog.text


async def test_what_is_lost_is_what_changed_since_the_last_snapshot(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on(W0):
        v, w = ops.Variable(1.0, name="v"), ops.Variable(1.0, name="w")
        add = v.assign_add(1.0)
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run([v.initializer, w.initializer]))
        await soon(taker(server).take())
        (path,) = tmp_path.glob("*.snapshot")
        assert server.lost == ""
        full_disk(monkeypatch)
        for _ in range(3):
            await soon(session.run(add))
    assert server.lost.endswith(f"since the snapshot after 1 steps, {path}: v (3 changes)")
    assert kept(tmp_path) == {"v": 1.0, "w": 1.0}


async def test_nothing_is_lost_by_a_snapshot_that_fails_when_nothing_has_changed(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as server:
        full_disk(monkeypatch)
    assert server.lost == ""


async def test_a_stop_waits_for_the_file_that_is_being_written_and_writes_what_came_later(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A snapshot is being written in its thread. 2. A step changes the variable. 3. The server stops."""
    with on(W0):
        v = ops.Variable(1.0, name="v")
        add = v.assign_add(1.0)
    begun, go_on = threading.Event(), threading.Event()
    running: list[int] = []

    def slowly(descriptor: int) -> None:
        running.append(descriptor)
        begun.set()
        assert go_on.wait(PATIENCE)
        assert len(running) == 1  # not two at once
        running.pop()

    monkeypatch.setattr(os, "fsync", slowly)
    async with serving(tmp_path) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await soon(session.run(v.initializer))
            first = asyncio.create_task(taker(server).take())
            await eventually(begun.is_set)
            await soon(session.run(add))
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        go_on.set()
        await soon(asyncio.gather(first, stopping))
    assert kept(tmp_path) == {"v": 2.0}
    assert len(list(tmp_path.iterdir())) == 2


async def test_no_step_is_acknowledged_behind_the_last_snapshot(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. The server stops, and writes its last snapshot. 2. Meanwhile a step is asked for."""
    with on(W0):
        v = ops.Variable(1.0, name="v")
        add = v.assign_add(1.0)
    begun, go_on = threading.Event(), threading.Event()

    def slowly(descriptor: int) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        monkeypatch.setattr(os, "fsync", slowly)
        stopping = asyncio.create_task(server.stop())
        await eventually(begun.is_set)
        try:
            with pytest.raises(OpError):
                await soon(session.run(add))
        finally:
            go_on.set()
        await soon(stopping)
    assert kept(tmp_path) == {"v": 1.0}


# -- files -----------------------------------------------------------------------------------------


def test_two_writers_of_one_task_never_share_a_file(tmp_path: Path) -> None:
    """Such as the process that ends and the one that begins."""
    stores = [SnapshotStore(tmp_path, W0) for _ in range(2)]
    barrier = threading.Barrier(2)

    def write(store: SnapshotStore, value: float) -> None:
        for _ in range(20):
            barrier.wait(PATIENCE)
            store.write(one(value))

    threads = [threading.Thread(target=write, args=(s, i)) for i, s in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert kept(tmp_path) in ({"v": 0.0}, {"v": 1.0})
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".snapshot"]


def test_the_later_file_counts_even_if_the_clock_was_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SnapshotStore(tmp_path, W0)
    store.write(one(1.0))
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000)
    store.write(one(2.0))
    assert kept(tmp_path) == {"v": 2.0}


def test_files_of_the_former_form_are_read_and_replaced(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, W0)
    for number, value in ((1, 1.0), (2, 2.0)):
        path = store.write(one(value))
        path.rename(tmp_path / f"job-worker-replica-0-task-0.{number:012d}.snapshot")
    (tmp_path / "job-worker-replica-0-task-0.000000000003.partial").touch()
    assert kept(tmp_path) == {"v": 2.0}
    for value in (3.0, 4.0):
        store.write(one(value))
        assert kept(tmp_path) == {"v": value}
    assert len(list(tmp_path.iterdir())) == 2


def test_tasks_whose_names_look_alike_keep_apart(tmp_path: Path) -> None:
    stores = [SnapshotStore(tmp_path, f"/job:{job}/replica:0/task:0") for job in ("a_b", "a__b")]
    for value, store in enumerate(stores):
        store.write(one(value))
    for value, store in enumerate(stores):
        found = store.latest()
        assert found is not None
        assert found.variables[0].value == value


def test_a_whole_file_stays_until_there_are_two_later_ones_that_are_whole(tmp_path: Path) -> None:
    """Damaged ones do not count."""
    store = SnapshotStore(tmp_path, W0)
    good = store.write(one(1.0))
    store.write(one(2.0)).write_bytes(b"damaged")
    assert kept(tmp_path) == {"v": 1.0}
    assert store.latest() is not None
    last = store.write(one(3.0))
    assert good.exists()
    last.write_bytes(b"damaged")
    assert kept(tmp_path) == {"v": 1.0}


def test_a_directory_that_is_full_is_refused_and_nothing_is_left_in_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SnapshotStore(tmp_path, W0)
    assert not list(tmp_path.iterdir())

    def full(**options: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(InvalidArgumentError, match="No space left"):
        SnapshotStore(tmp_path, W0)


# -- a process -------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_process_that_is_told_to_stop_writes_what_it_acknowledged(tmp_path: Path, graph: Graph) -> None:
    """With files of others in its folder, and more than once: by SIGTERM, and by the command."""
    with on(W0):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(1.0)
    (tmp_path / "job-worker-replica-0-task-0.mine.snapshot").touch()
    command = [
        sys.executable,
        "-m",
        "actorsession",
        "worker",
        "--cluster",
        '{"worker": ["127.0.0.1:0"]}',
        "--json",
        "--snapshot-dir",
        str(tmp_path),
        "--snapshot-every",
        "1000",
    ]
    for life, by_command in enumerate((False, True)):
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            target = json.loads(process.stdout.readline())["address"]
            with Session(target, graph=graph) as session:
                if not life:
                    session.run(v.initializer)
                session.run(add)
            if by_command:
                stop = [sys.executable, "-m", "actorsession", "stop", target]
                subprocess.run(stop, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
            else:
                process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        assert kept(tmp_path) == {"v": life + 1.0}


def fill_disk(pid: int) -> None:
    """Let a process write no more than a few bytes to a file, as on a disk that is full."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.process
@pytest.mark.parametrize("by_command", [False, True])
def test_a_process_that_cannot_write_its_last_snapshot_fails_and_says_what_is_lost(
    by_command: bool, tmp_path: Path, graph: Graph
) -> None:
    with on(W0):
        v = ops.Variable(0.0, name="v")
        add = v.assign_add(1.0)
    command = [
        sys.executable,
        "-m",
        "actorsession",
        "worker",
        "--cluster",
        '{"worker": ["127.0.0.1:0"]}',
        "--json",
        "--snapshot-dir",
        str(tmp_path),
        "--snapshot-every",
        "1000",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        target = json.loads(process.stdout.readline())["address"]
        with Session(target, graph=graph) as session:
            session.run(v.initializer)
            session.run(add)
        fill_disk(process.pid)
        lost = "Lost is what changed since its start, and no snapshot was ever written: v (2 changes)"
        if by_command:
            stop = [sys.executable, "-m", "actorsession", "stop", target]
            told = subprocess.run(stop, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
            assert told.returncode == 1
            assert f"actorsession stop: {target}: {W0}: the last snapshot was not" in told.stderr
            assert told.stderr.endswith(f"{lost}\n")
        else:
            process.send_signal(signal.SIGTERM)
        _, words = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    last = words.splitlines()[-1]
    assert last.startswith(f"actorsession worker: {W0}: the last snapshot was not written")
    assert "File too large" in last
    assert last.endswith(lost)


@pytest.mark.process
@pytest.mark.parametrize("ending", ["stop", "remove", "with"])
async def test_a_cluster_that_cannot_write_its_last_snapshots_says_what_is_lost(
    ending: str, tmp_path: Path, graph: Graph
) -> None:
    with on(W0):
        v = ops.Variable(0.0, name="v")
    jobs = {"worker": 1, **({"ps": 1} if ending == "remove" else {})}
    cluster = LocalCluster(jobs, snapshot_dir=tmp_path, snapshot_every=1000.0)
    mark = ValueError("what the program has to say")

    async def program() -> None:
        async with cluster:
            async with AsyncSession(cluster.target("worker"), graph=graph) as session:
                await soon(session.run(v.initializer))
            fill_disk(cluster.process("worker").pid)
            if ending == "remove":
                await cluster.remove("worker")
            if ending == "with":
                raise mark
            await cluster.stop()

    with pytest.raises(ValueError if ending == "with" else DataLossError) as info:
        await program()
    said = "\n".join(info.value.__notes__) if ending == "with" else str(info.value)
    assert f"{W0}: the last snapshot was not written" in said
    assert said.endswith("v (1 change)")
    assert not any(process.alive for process in cluster.processes.values())


def test_a_writer_that_is_killed_leaves_nothing_that_the_next_does_not_remove(tmp_path: Path) -> None:
    """Where it is killed is for the crash points; here it is what others leave that are still alive."""
    store = SnapshotStore(tmp_path, W0)
    name = "job-worker-replica-0-task-0.0000000000000001-01234567.snapshot"
    (tmp_path / f".{name}.0123456789ab.tmp").touch()

    def write(file: Any) -> None:
        store.write(one(1.0))
        file.write(b"mine")

    atomic.write_whole(str(tmp_path / name.replace("01-", "02-")), write)
    assert len(list(tmp_path.iterdir())) == 2


# -- how long an end may take ----------------------------------------------------------------------

# Ends as a worker does that keeps snapshots: when its input is closed, and only when it is done.
SAVES_LONG = """
import os, sys
sys.stdin.read()
os.write(1, b'{"saving": true}\\n')
open(sys.argv[1]).read()
"""


@pytest.mark.process
async def test_a_process_that_writes_its_last_snapshot_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. Its grace is over. 2. It has said that it is writing. 3. It ends by itself."""
    process, pipe, asked = WorkerProcess("ps", 0), str(tmp_path / "pipe"), asyncio.Event()
    os.mkfifo(pipe)
    is_saving = process._is_saving

    async def noted() -> bool:
        saving = await is_saving()
        asked.set()
        return saving

    monkeypatch.setattr(process, "_is_saving", noted)
    monkeypatch.setattr(worker_process, "_LAST_WORDS", PATIENCE)
    await process._spawn([sys.executable, "-c", SAVES_LONG, pipe])
    stopping = asyncio.create_task(process.stop(0.01))
    await soon(asked.wait())
    Path(pipe).write_text("done")
    await soon(stopping)
    assert process.exit_code == 0


@pytest.mark.parametrize(("lost", "code"), [("", 0), ("the last snapshot was not written", 1)])
def test_a_process_whose_loop_stands_still_writes_its_last_snapshot_before_it_ends(
    lost: str, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    done: list[Any] = []
    over = threading.Event()

    class Held:
        def take_last_snapshot(self) -> str:
            done.append("snapshot")
            return lost

    def leave(code: int) -> None:
        done.append(code)
        over.set()

    monkeypatch.setattr(os, "_exit", leave)
    child._end_in(0.0, Held())  # type: ignore[arg-type]
    assert over.wait(PATIENCE)
    assert done == ["snapshot", code]
    assert capfd.readouterr().err == (f"actorsession: {lost}\n" if lost else "")

"""Snapshots: variables that outlive the process of their server, and files that may be damaged."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import resource
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import actorsession.errors as errors
from actorsession import (
    AsyncSession,
    Graph,
    LocalCluster,
    Server,
    ServerSettings,
    Session,
    TensorShape,
    as_dtype,
    float32,
    ops,
)
from actorsession.checkpoints import atomic
from actorsession.cluster.launch import child, managed_cluster, worker_process
from actorsession.cluster.launch.managed_cluster import _stored_id
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.cluster.master.restart_losses import restart_losses
from actorsession.cluster.server import snapshots
from actorsession.cluster.server.snapshots import Owner, Saved, Snapshot, SnapshotStore, stored_cluster_id
from actorsession.config import ConfigProto
from actorsession.extend import TensorSpec
from actorsession.runtime.resources import DEFAULT_CONTAINER
from actorsession.testing import HostCrash, SimulatedCluster, SimulatedDisk, StillClock
from tests.cli import kit as commands
from tests.cluster.kit import PATIENCE, PS0, W0, W1, Gate, eventually, on, soon
from tests.irregular_files import OBSTACLES
from tests.plan.kit import node
from tests.ports import HoldPorts
from tests.rows import few_of
from transports.host import Host, on_host


def a_snapshot(*values: Any, steps: int = 7) -> Snapshot:
    saved = []
    for i, value in enumerate(values):
        array = np.asarray(value)
        spec = TensorSpec(as_dtype(array.dtype), TensorShape(array.shape))
        saved.append(Saved("CPU:0", "localhost", f"v{i}", spec, value))
    return Snapshot(steps, 1_000_000, True, saved)


def latest(store: SnapshotStore) -> Snapshot:
    found = store.latest()
    assert found is not None
    return found


def variable(value: float, gate: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
    """A variable of worker 0, and what adds 1 to it, through a gate if there is one."""
    with on(W0):
        v = ops.Variable(value, name="v")
        return v, v.assign_add(gate(ops.constant(1.0)))


VALUES = (
    np.float32(1.5),
    np.arange(6, dtype=np.int64).reshape(2, 3),
    np.zeros([0, 3], np.float32),
    np.array([1, 2], ml_dtypes.bfloat16),
    np.array([b"a", b"longer"], object),
    np.ones([300, 100], np.float64),
)


def test_values_of_all_types_and_sizes_come_back_as_they_were(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, W0)
    store.write(a_snapshot(*VALUES))
    found = latest(store)
    assert (found.steps, found.micros, found.quiet) == (7, 1_000_000, True)
    assert [v.name for v in found.variables] == [f"v{i}" for i in range(len(VALUES))]
    for saved, value in zip(found.variables, VALUES, strict=True):
        np.testing.assert_array_equal(np.asarray(saved.value), np.asarray(value))
        assert saved.spec.dtype.np_dtype == np.asarray(value).dtype


def test_the_last_two_are_kept_and_tasks_may_share_a_directory(tmp_path: Path) -> None:
    mine, other = SnapshotStore(tmp_path, W0), SnapshotStore(tmp_path, W1)
    other.write(a_snapshot(np.float32(9)))
    for steps in range(5):
        mine.write(a_snapshot(np.float32(steps), steps=steps))
    assert len(list(tmp_path.iterdir())) == 3
    assert (latest(mine).steps, latest(other).variables[0].value) == (4, 9)


@pytest.mark.parametrize("kept", [0, 1, 10, 16, 20, 60, -1, -5])
def test_a_file_that_is_cut_short_is_passed_over_for_the_one_before(kept: int, tmp_path: Path, caplog: Any) -> None:
    store = SnapshotStore(tmp_path, W0)
    store.write(a_snapshot(*VALUES, steps=1))
    path = store.write(a_snapshot(*VALUES, steps=2))
    path.write_bytes(path.read_bytes()[:kept])
    assert latest(store).steps == 1
    assert f"{path} is passed over" in caplog.text


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EMFILE, "Too many open files")])
def test_a_snapshot_that_there_is_no_memory_for_is_not_passed_over_for_the_one_before(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SnapshotStore(tmp_path, W0)
    for steps in (1, 2):
        store.write(a_snapshot(*VALUES, steps=steps))
    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", mock.Mock(side_effect=error))
        with pytest.raises(errors.ResourceExhaustedError):
            store.latest()
    assert latest(store).steps == 2


def test_no_single_wrong_byte_goes_unnoticed(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, W0)
    path = store.write(a_snapshot(np.float32(1), np.arange(3)))
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x41
        path.write_bytes(damaged)
        assert store.latest() is None, position
    path.write_bytes(whole)
    assert store.latest() is not None


async def test_a_wrong_bit_in_a_cluster_id_makes_no_other_cluster_of_it(tmp_path: Path) -> None:
    """Found by the simulated disk: the task refused to start, as if its folder belonged to somebody else."""
    store = SnapshotStore(tmp_path, W0, "cluster-a")
    store.write(one(1.0))
    last = store.write(one(2.0))
    last.write_bytes(last.read_bytes().replace(b"cluster-a", b"cluster-c"))
    assert stored_cluster_id(tmp_path) == "cluster-a"
    again = SnapshotStore(tmp_path, W0, "cluster-a")
    await again.take()
    try:
        assert latest(again).variables[0].value == 1.0
    finally:
        again.release()


def test_a_variable_has_come_back_if_its_container_has_its_shared_name() -> None:
    saved = [(DEFAULT_CONTAINER, "common"), ("box", "apart"), (DEFAULT_CONTAINER, "renamed")]
    spec = TensorSpec(as_dtype("float32"), TensorShape([]))
    values = [Saved("CPU:0", box, name, spec, np.float32(1)) for box, name in saved]
    nodes = [
        node("shared", op="VarHandleOp", shared_name="common", container=""),
        node("apart", op="VarHandleOp", shared_name="", container="box"),
        node("renamed", op="VarHandleOp", shared_name="another"),
        node("elsewhere", op="VarHandleOp", shared_name="common", container="box"),
    ]
    found = restart_losses(nodes, Snapshot(1, 1, True, values).to_wire())
    assert found == (["shared", "apart"], ["renamed", "elsewhere"])


def test_without_any_there_is_none(tmp_path: Path) -> None:
    assert SnapshotStore(tmp_path / "new" / "place", W0).latest() is None


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InvalidArgumentError, match="snapshot_dir cannot be written to"):
        SnapshotStore(tmp_path / "file", W0)


@pytest.mark.parametrize("every", [0.0, -1.0])
def test_a_period_that_is_none_is_refused(every: float, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="snapshot_every is more than 0"):
        server([0], 0, snapshot_dir=tmp_path, snapshot_every=every)


def server(ports: list[int], index: int, **more: Any) -> Server:
    return Server({"worker": [f"127.0.0.1:{port}" for port in ports]}, "worker", index, settings=ServerSettings(**more))


def two_variables() -> tuple[Any, Any]:
    with on(W1):
        return ops.Variable([1.0, 2.0], name="a"), ops.Variable(10, name="b")


async def test_variables_come_back_with_the_server_and_the_error_says_of_which_step(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
    """1. Two variables, trained. 2. The server stops, which takes a snapshot, and starts again.
    3. The session is told what came back; attached anew, it goes on where it was."""
    a, b = two_variables()
    add = a.assign_add([1.0, 1.0])
    ports = hold_ports(2)
    async with server(ports, 0):
        second = server(ports, 1, snapshot_dir=tmp_path)
        await second.start()
        async with AsyncSession(f"tcp://127.0.0.1:{ports[0]}", graph=graph) as session:
            await soon(session.run([a.initializer, b.initializer]))
            for _ in range(3):
                await soon(session.run(add))
            await second.stop()
            async with server(ports, 1, snapshot_dir=tmp_path) as again:
                with pytest.raises(errors.WorkerRestartedError) as info:
                    await soon(session.run(add))
                (path,) = tmp_path.glob("*.snapshot")
                said = f"Variables lost: none; back from the snapshot after 4 steps: a, b (from {path})"
                assert said in info.value.message
                assert again.statistics().restored_from == str(path)
                found = await soon(session.reattach())
                assert (found.restarted, found.lost, found.restored) == ((W1,), (), ("a", "b"))
                np.testing.assert_array_equal(await soon(session.run(add)), [5.0, 6.0])
                assert await soon(session.run(b.read_value())) == 10
                assert again.statistics().steps == 0


async def test_what_the_snapshot_does_not_have_is_lost(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    a, b = two_variables()
    ports = hold_ports(2)
    async with server(ports, 0):
        second = server(ports, 1, snapshot_dir=tmp_path)
        await second.start()
        session = AsyncSession(f"tcp://127.0.0.1:{ports[0]}", graph=graph)
        await soon(session.run(a.initializer))
        await second.stop()
        async with server(ports, 1, snapshot_dir=tmp_path):
            with pytest.raises(errors.WorkerRestartedError, match=r"lost: b; back .* after 1 steps: a"):
                await soon(session.run(a.read_value()))
            found = await soon(session.reattach(restore=b.initializer))
            assert (found.lost, found.restored) == (("b",), ("a",))
            assert await soon(session.run(b.read_value())) == 10
            await session.close()


async def test_snapshots_are_taken_at_times_after_steps(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    a, _ = two_variables()
    ports = hold_ports(2)
    async with server(ports, 0), server(ports, 1, snapshot_dir=tmp_path, snapshot_every=0.01):
        store = SnapshotStore(tmp_path, W1)
        async with AsyncSession(f"tcp://127.0.0.1:{ports[0]}", graph=graph) as session:
            await soon(session.run(a.initializer))
            await eventually(lambda: (found := store.latest()) is not None and found.steps == 1)
            first = sorted(p.name for p in tmp_path.iterdir())
            await soon(session.run(a.assign_add([1.0, 1.0])))
            await eventually(lambda: (found := store.latest()) is not None and found.steps == 2)
        assert sorted(p.name for p in tmp_path.iterdir()) != first
    found = latest(store)
    np.testing.assert_array_equal(found.variables[0].value, [2.0, 3.0])


async def test_a_snapshot_never_holds_half_an_update(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    """Values are changed in place all the time; what was written is always one whole state."""
    with on(W0):
        v = ops.Variable(np.zeros(200_000, np.float32), name="v")
        add = v.assign_add(np.ones(200_000, np.float32)).op
    (port,) = hold_ports(1)
    async with server([port], 0, snapshot_dir=tmp_path, snapshot_every=0.005):
        store = SnapshotStore(tmp_path, W0)
        async with AsyncSession(f"tcp://127.0.0.1:{port}", graph=graph) as session:
            await soon(session.run(v.initializer))
            seen: set[float] = set()
            steps = 0
            async with asyncio.timeout(PATIENCE):
                while steps < 300 or len(seen) < 2:
                    await session.run(add)
                    await asyncio.sleep(0)
                    steps += 1
                    found = store.latest()
                    if found is not None and found.variables:
                        values = np.unique(found.variables[0].value)
                        assert values.size == 1
                        seen.add(float(values[0]))


async def test_state_of_isolated_sessions_is_not_kept(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    v = on(W0, lambda: ops.Variable(1.0))
    (port,) = hold_ports(1)
    async with server([port], 0, snapshot_dir=tmp_path):
        config = ConfigProto(isolate_session_state=True)
        target = f"tcp://127.0.0.1:{port}"
        async with AsyncSession(target, graph=graph, config=config) as session:
            await soon(session.run(v.initializer))
    found = latest(SnapshotStore(tmp_path, W0))
    assert found.variables == []
    async with server([port], 0, snapshot_dir=tmp_path), AsyncSession(target, graph=graph) as session:
        with pytest.raises(errors.FailedPreconditionError):
            await soon(session.run(v.read_value()))


# -- owners ----------------------------------------------------------------------------------------
@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the same task is not waited for."""
    for module, name in ((snapshots, "_REPLACED"), (managed_cluster, "_ENDING")):
        monkeypatch.setattr(module, name, 0.0)


@pytest.mark.parametrize(
    ("task", "cluster", "refused"),
    [(W0, "B", True), (W1, "B", True), (W0, "", True), (W0, "A", True), (W1, "A", False)],
)
async def test_a_folder_in_use_is_for_other_tasks_of_the_same_cluster(
    task: str, cluster: str, refused: bool, tmp_path: Path, no_patience: None
) -> None:
    first, second = SnapshotStore(tmp_path, W0, "A"), SnapshotStore(tmp_path, task, cluster)
    await first.take()
    if not refused:
        await second.take()
    else:
        with pytest.raises(errors.FailedPreconditionError) as info:
            await second.take()
        holder = f"is used by {W0} of cluster 'A' (process {os.getpid()} on "
        assert holder in info.value.message
        assert str(Owner(cluster, task)) in info.value.message
        first.release()
        await second.take()  # A has left nothing
    for store in (first, second):
        store.release()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("task", "cluster"), [(W0, "B"), (W1, "B"), (W0, "")])
async def test_state_of_another_cluster_is_not_restored_nor_removed(task: str, cluster: str, tmp_path: Path) -> None:
    paths = [SnapshotStore(tmp_path, W0, "A").write(a_snapshot(np.float32(i))) for i in range(2)]
    store = SnapshotStore(tmp_path, task, cluster)
    with pytest.raises(errors.FailedPreconditionError) as info:
        await store.take()
    assert f"holds the variables of {W0} of cluster 'A' ({paths[0].name}), and " in info.value.message
    assert str(Owner(cluster, task)) in info.value.message
    # Nor by a store on a file system without locks, which may have begun at the same moment.
    assert store.latest() is None
    for i in range(3):
        store.write(a_snapshot(np.float32(10 + i)))
    assert set(paths) <= set(tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 4
    found = latest(SnapshotStore(tmp_path, W0, "A"))
    assert found.variables[0].value == 1
    assert (found.path, found.owner) == (str(paths[1]), Owner("A", W0))


def without_owner(path: Path) -> None:
    """Turn a snapshot into one of an earlier version, which named no owner."""
    with open(path, "rb") as file:
        _, parts = snapshots._read_parts(file)
    with open(path, "wb") as file:
        snapshots._write_parts(file, parts)
    path.write_bytes(snapshots._UNOWNED + path.read_bytes()[len(snapshots._MAGIC) :])


async def test_snapshots_of_earlier_versions_are_taken_over_by_the_first_cluster_that_comes(
    tmp_path: Path, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    path = SnapshotStore(tmp_path, W0).write(a_snapshot(np.float32(5)))
    without_owner(path)
    for cluster in ("A", "A", "B"):
        made = server([0], 0, snapshot_dir=tmp_path, cluster_id=cluster)
        if cluster == "B":
            with pytest.raises(errors.FailedPreconditionError, match=f"holds the variables of {W0} of cluster 'A'"):
                await made.start()
            break
        async with made:
            (device,) = made.actors.devices
            assert device.resources.variables()[0][2].value == 5
    assert f"the snapshot {path} is of an earlier version and does not name its cluster" in caplog.text
    assert path.exists()
    assert len(list(tmp_path.iterdir())) == 2


async def test_a_lock_that_a_killed_process_left_keeps_nobody_out(tmp_path: Path) -> None:
    for name in (".snapshots.lock", ".job-worker-replica-0-task-0.lock", ".job-ps-replica-0-task-0.lock"):
        (tmp_path / name).write_text(Owner("A", W0, "process 1 on here").to_text())
    store = SnapshotStore(tmp_path, W0, "B")
    await store.take()
    store.release()
    assert not list(tmp_path.iterdir())


async def test_a_process_of_the_same_task_that_is_ending_is_waited_for(tmp_path: Path) -> None:
    first, second = SnapshotStore(tmp_path, W0, "A"), SnapshotStore(tmp_path, W0, "A")
    await first.take()
    taking = asyncio.create_task(second.take())
    await asyncio.sleep(0)
    first.release()
    await soon(taking)
    second.release()


async def test_without_locks_files_are_told_apart_by_their_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    store = SnapshotStore(tmp_path, W0, "A")
    await store.take()
    assert "is on a file system without locks" in caplog.text
    store.write(a_snapshot(np.float32(1)))
    with pytest.raises(errors.FailedPreconditionError, match="of cluster 'A'"):
        await SnapshotStore(tmp_path, W0, "B").take()
    with pytest.raises(errors.UnavailableError, match="is in use"):  # the lock may be a living process's
        stored_cluster_id(tmp_path)
    store.release()
    assert stored_cluster_id(tmp_path) == "A"


async def test_a_cluster_without_an_id_goes_on_with_variables_of_a_generated_id_alone(tmp_path: Path) -> None:
    """Ids that were chosen have to be given again."""
    generated = LocalCluster({"ps": 1}).cluster_id
    assert await _stored_id(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    for cluster, found in ((generated, generated), ("mine", None), ("", None)):
        folder = tmp_path / (cluster or "without")
        SnapshotStore(folder, W0, cluster).write(a_snapshot(np.float32(1)))
        assert await _stored_id(folder) == found
    assert LocalCluster({"ps": 1}, cluster_id="mine").cluster_id == "mine"
    with pytest.raises(TypeError, match="a cluster id is a string, got 7"):
        LocalCluster({"ps": 1}, cluster_id=7)  # type: ignore[arg-type]


async def test_a_cluster_without_an_id_waits_for_processes_of_its_former_life(tmp_path: Path) -> None:
    """Which have lost their program a moment ago, and write their last snapshots."""
    generated = LocalCluster({"ps": 1}).cluster_id
    former = SnapshotStore(tmp_path, W0, generated)
    await former.take()
    finding = asyncio.create_task(_stored_id(tmp_path))
    await asyncio.sleep(0)
    former.write(a_snapshot(np.float32(1)))
    former.release()
    assert await soon(finding) == generated


async def test_the_id_of_a_cluster_that_lives_is_not_taken(tmp_path: Path, no_patience: None) -> None:
    store = SnapshotStore(tmp_path, W0, LocalCluster({"ps": 1}).cluster_id)
    await store.take()
    store.write(a_snapshot(np.float32(1)))
    assert await _stored_id(tmp_path) is None
    store.release()


async def test_on_a_full_disk_a_server_starts_with_its_variables(
    tmp_path: Path, no_patience: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock has no text then, and keeps others of its task out as ever."""
    SnapshotStore(tmp_path, W0, "A").write(a_snapshot(np.float32(5)))

    def full(*arguments: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    stores = [SnapshotStore(tmp_path, task, "A") for task in (W0, W0, W1)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        await stores[0].take()
        found = stores[0].latest()
        with pytest.raises(errors.FailedPreconditionError, match="is used by another process, and "):
            await stores[1].take()
        await stores[2].take()
    assert found is not None
    assert found.variables[0].value == 5
    for store in stores:
        store.release()


# -- names that others have taken ------------------------------------------------------------------
LINKS: Mapping[str, Callable[[Path], object]] = {
    **OBSTACLES,
    "a link to nothing": lambda path: path.symlink_to("/nowhere"),
}


@pytest.mark.parametrize("what", LINKS)
async def test_what_is_no_file_is_no_snapshot_and_keeps_no_server_from_starting(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = "job-worker-replica-0-task-0"
    SnapshotStore(tmp_path, W0, "A").write(a_snapshot(np.float32(5)))
    taken = [
        f"{prefix}.9999999999999999-00000000.snapshot",
        f"{prefix}.000000000009.partial",
        "job-ps-replica-0-task-0.9999999999999999-00000000.snapshot",
        ".job-ps-replica-0-task-0.lock",
    ]
    for name in taken:
        LINKS[what](tmp_path / name)
    made = server([0], 0, snapshot_dir=tmp_path, cluster_id="A")
    await soon(made.start())
    (device,) = made.actors.devices
    held = device.resources.variables()[0][2]
    assert held.value == 5
    for value in range(3):
        held.assign(np.float32(value))
        await taker(made).take()
    await soon(made.stop())
    assert made.lost == ""
    assert f"{taken[0]} is passed over" in caplog.text
    assert set(taken) <= {p.name for p in tmp_path.iterdir()}


@pytest.mark.parametrize("what", LINKS)
@pytest.mark.parametrize("name", [".snapshots.lock", ".job-worker-replica-0-task-0.lock"])
async def test_a_lock_whose_name_is_taken_is_refused_at_once(name: str, what: str, tmp_path: Path) -> None:
    LINKS[what](tmp_path / name)
    with pytest.raises((errors.InvalidArgumentError, errors.FailedPreconditionError), match=re.escape(name)):
        await soon(SnapshotStore(tmp_path, W0, "A").take())


async def test_snapshots_and_their_folders_are_their_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SnapshotStore(tmp_path / "a" / "b", W0, "A")
        await store.take()
        store.write(a_snapshot(np.float32(1)))
        modes = [(p.is_dir(), stat.S_IMODE(p.stat().st_mode)) for p in tmp_path.rglob("*")]
    finally:
        os.umask(before)
    store.release()
    # Two folders, the snapshot, and the lock.
    assert sorted(modes) == [(False, 0o600)] * 2 + [(True, 0o700)] * 2


# -- clusters --------------------------------------------------------------------------------------
@pytest.mark.process
async def test_two_clusters_never_exchange_their_variables_by_a_folder(tmp_path: Path, graph: Graph) -> None:
    """1. A has trained, in this process. 2. B is refused while A lives. 3. A has ended, and another cluster without an
    id goes on with its value, also after a restart."""
    v = on(PS0, lambda: ops.Variable(2.0, name="v"))
    former = LocalCluster({"ps": 1})
    store = SnapshotStore(tmp_path, PS0, former.cluster_id)
    await store.take()
    store.write(one(1.0))
    with pytest.raises(errors.UnavailableError) as info:
        async with LocalCluster({"ps": 1}, snapshot_dir=tmp_path, cluster_id="B"):
            pass
    for cluster in (former.cluster_id, "B"):
        assert f"{PS0} of cluster '{cluster}' (process " in str(info.value)
    store.release()
    async with LocalCluster({"ps": 1}, snapshot_dir=tmp_path) as again:
        (counters,) = (await again.statistics()).values()
        assert Path(counters.restored_from).parent == tmp_path
        async with AsyncSession(again.target("ps"), graph=graph) as session:
            assert await soon(session.run(v.read_value())) == 1.0
            await again.restart("ps")
            assert (await soon(session.reattach())).restored == ("v",)
            assert await soon(session.run(v.read_value())) == 1.0


SPEC = TensorSpec(float32, TensorShape([]))


@asynccontextmanager
async def serving(folder: Path, every: float = 1000.0) -> AsyncIterator[Server]:
    config = ConfigProto(inter_op_parallelism_threads=4)
    async with server([0], 0, config=config, snapshot_dir=folder, snapshot_every=every) as made:
        yield made


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
    v, add = variable(0.0, gate)
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
    v, add = variable(0.0, gate)
    async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
        await soon(session.run(v.initializer))
        run = asyncio.create_task(session.run(add))
        await soon(gate.wait_entered())
        await soon(taker(server).take())
        found = latest(SnapshotStore(tmp_path, W0))
        assert (found.steps, found.quiet) == (1, False)
        gate.open()
        await soon(run)


async def test_the_steps_of_servers_that_were_restored_are_counted_on(tmp_path: Path, graph: Graph) -> None:
    v, add = variable(0.0)
    for life in range(3):
        async with serving(tmp_path) as server, AsyncSession(server.target, graph=graph) as session:
            await soon(session.run(add if life else v.initializer))
        assert latest(SnapshotStore(tmp_path, W0)).steps == life + 1


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
    v, _ = variable(1.0)
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
async def test_foreign_files_are_no_snapshots_and_stay(tmp_path: Path, graph: Graph, caplog: Any) -> None:
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
    v, add = variable(1.0)
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
    v, add = variable(1.0)

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
    v, _ = variable(1.0)
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
    v, add = variable(1.0)
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


async def test_no_step_is_confirmed_after_the_last_snapshot(tmp_path: Path, graph: Graph, monkeypatch: Any) -> None:
    """1. The server stops, and writes its last snapshot. 2. Meanwhile a step is asked for."""
    v, add = variable(1.0)
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
            with pytest.raises(errors.OpError):
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


def test_the_later_file_counts_even_if_the_clock_was_put_back(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, W0)
    store.write(one(1.0))
    with on_host(Host(clock=StillClock(1.0))):
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
        assert latest(store).variables[0].value == value


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
    with pytest.raises(errors.InvalidArgumentError, match="No space left"):
        SnapshotStore(tmp_path, W0)


# -- a process -------------------------------------------------------------------------------------
KEEPING = ("worker", "--cluster", '{"worker": ["127.0.0.1:0"]}', "--snapshot-every", "1000", "--snapshot-dir")


@pytest.mark.process
def test_a_process_that_is_told_to_stop_writes_what_it_acknowledged(tmp_path: Path, graph: Graph) -> None:
    """With files of others in its folder, and more than once: by SIGTERM, and by the command."""
    v, add = variable(0.0)
    (tmp_path / "job-worker-replica-0-task-0.mine.snapshot").touch()
    for life, by_command in enumerate((False, True)):
        with commands.serving(*KEEPING, str(tmp_path)) as (process, said):
            with Session(said["address"], graph=graph) as session:
                if not life:
                    session.run(v.initializer)
                session.run(add)
            if by_command:
                assert commands.called("stop", said["address"])[0] == 0
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
    v, add = variable(0.0)
    lost = "Lost is what changed since its start, and no snapshot was ever written: v (2 changes)"
    with commands.serving(*KEEPING, str(tmp_path)) as (process, said):
        with Session(said["address"], graph=graph) as session:
            session.run(v.initializer)
            session.run(add)
        fill_disk(process.pid)
        if by_command:
            code, _, told = commands.called("stop", said["address"])
            assert code == 1
            assert f"actorsession stop: {said['address']}: {W0}: the last snapshot was not" in told
            assert told.endswith(f"{lost}\n")
        else:
            process.send_signal(signal.SIGTERM)
        code, _, words = commands.rest(process)
    assert code == 1
    last = words.splitlines()[-1]
    assert last.startswith(f"actorsession worker: {W0}: the last snapshot was not written")
    assert "File too large" in last
    assert last.endswith(lost)


@pytest.mark.parametrize("ending", ["stop", "remove", "with"])
def test_a_cluster_without_last_snapshots_says_what_is_lost(ending: str, graph: Graph) -> None:
    v, _ = variable(0.0)
    jobs = {"worker": 1, **({"ps": 1} if ending == "remove" else {})}
    mark = ValueError("what the program has to say")

    async def program(cluster: SimulatedCluster) -> None:
        async with cluster:
            async with cluster.session(graph, "worker") as session:
                await session.run(v.initializer)
            cluster.process("worker").disk.fill()
            if ending == "remove":
                await cluster.remove("worker")
            if ending == "with":
                raise mark
            await cluster.stop()

    cluster = SimulatedCluster(1, jobs, snapshot_every=1000.0)
    with pytest.raises(ValueError if ending == "with" else errors.DataLossError) as info:
        cluster.run(program)
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


# -- machines that lose power ----------------------------------------------------------------------
def written_until(calls: int, seed: int) -> tuple[bool, list[int]]:
    """Write a third snapshot on a disk that loses power after some calls; whether it was written, and the steps of
    the one that is found afterwards, and again when the next process has written a fourth."""
    disk, random, steps = SimulatedDisk(), Random(seed), []
    with on_host(Host(files=disk)):
        store = SnapshotStore("/snapshots", W0)
        for number in (1, 2):
            store.write(a_snapshot(np.full(500, number, np.float64), steps=number))
        disk.crash_after(calls, lambda: disk.crash(random))
        try:
            store.write(a_snapshot(np.full(500, 3.0), steps=3))
        except HostCrash:
            is_written = False
        else:
            is_written = True
            disk.heal()
            disk.crash(random)
    with on_host(Host(files=disk)):
        store = SnapshotStore("/snapshots", W0)
        for number in (4, 5):
            found = latest(store)
            assert set(found.variables[0].value) == {float(found.steps)}
            steps.append(found.steps)
            store.write(a_snapshot(np.full(500, number, np.float64), steps=number))
        assert len(disk.listdir("/snapshots")) == 2  # nothing of the unfinished one is left
    return is_written, steps


@pytest.mark.parametrize("seed", few_of(range(20), 5))
def test_after_a_loss_of_power_the_last_snapshot_or_the_one_before_is_there(seed: int) -> None:
    for calls in range(30):
        is_written, steps = written_until(calls, seed)
        assert steps in ([3, 4], [2, 4])
        assert steps[0] == 3 or not is_written
        if is_written:
            return
    pytest.fail("a snapshot takes 30 calls")


@pytest.mark.parametrize("seed", few_of(range(8), 4))
def test_what_a_cluster_restores_after_a_loss_of_power_is_whole_and_no_older_than_its_last_snapshot(
    seed: int, graph: Graph
) -> None:
    """Each step adds 1 to two variables; the power of their machine goes at a drawn call of its disk."""
    with on(PS0):
        v, w = ops.Variable(np.zeros(300, np.float32), name="v"), ops.Variable(0.0, name="w")
        with graph.control_dependencies([v.assign_add(np.ones(300, np.float32))]):
            add = w.assign_add(1.0)
    acknowledged: list[float] = []  # when each step was, by the clock of its server
    at_least = 0

    async def train(session: AsyncSession, process: Any) -> None:
        nonlocal at_least
        assert process.host is not None
        assert process.server is not None
        while True:
            await session.run(add)
            acknowledged.append(process.host.clock.monotonic())
            saved = acknowledged[-1] - process.server.statistics().snapshot_age
            at_least = sum(moment <= saved for moment in acknowledged)
            await asyncio.sleep(0.01)

    async def program(cluster: SimulatedCluster) -> None:
        async with cluster:
            process = cluster.process("ps")
            async with cluster.session(graph, "ps") as session:
                await session.run([v.initializer, w.initializer])
                await asyncio.sleep(0.2)  # until there is a snapshot
                process.disk.crash_after(Random(seed).randrange(40), process.power_off)
                with pytest.raises((errors.UnavailableError, errors.WorkerRestartedError)):
                    await train(session, process)
            await asyncio.sleep(10.0)  # until the machine is back
            async with cluster.session(graph, "ps") as session:
                values, count = await session.run([v, w])
        assert set(values) == {count}
        assert at_least <= count <= len(acknowledged) + 1

    SimulatedCluster(seed, {"ps": 1}, snapshot_every=0.05, restart=1).run(program)


# -- how long an end may take ----------------------------------------------------------------------
# Ends as a worker does that keeps snapshots: when its input is closed, and only when it is done.
SAVES_LONG = """
import os, sys
sys.stdin.read()
os.write(1, b'{"saving": true}\\n')
open(sys.argv[1]).read()
"""


@pytest.mark.process
async def test_a_process_at_its_last_snapshot_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

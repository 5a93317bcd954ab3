"""Snapshots: variables that outlive the process of their server, and files that may be damaged."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, TensorShape, as_dtype, ops
from actorsession.cluster.launch import managed_cluster
from actorsession.cluster.launch.managed_cluster import _stored_id
from actorsession.cluster.master.restart_losses import restart_losses
from actorsession.cluster.server import snapshots
from actorsession.cluster.server.snapshots import Owner, Saved, Snapshot, SnapshotStore, stored_cluster_id
from actorsession.config import ConfigProto
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnavailableError,
    WorkerRestartedError,
)
from actorsession.extend import TensorSpec
from actorsession.runtime.resources import DEFAULT_CONTAINER
from tests.cluster.kit import PATIENCE, W0, W1, eventually, on, soon
from tests.irregular_files import OBSTACLES
from tests.plan.kit import node
from tests.ports import HoldPorts


def a_snapshot(*values: Any, steps: int = 7) -> Snapshot:
    saved = []
    for i, value in enumerate(values):
        array = np.asarray(value)
        spec = TensorSpec(as_dtype(array.dtype), TensorShape(array.shape))
        saved.append(Saved("CPU:0", "localhost", f"v{i}", spec, value))
    return Snapshot(steps, 1_000_000, True, saved)


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
    found = store.latest()
    assert found is not None
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
    found, others = mine.latest(), other.latest()
    assert found is not None
    assert others is not None
    assert (found.steps, others.variables[0].value) == (4, 9)


@pytest.mark.parametrize("kept", [0, 1, 10, 16, 20, 60, -1, -5])
def test_a_file_that_is_cut_short_is_passed_over_for_the_one_before(
    kept: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SnapshotStore(tmp_path, W0)
    store.write(a_snapshot(*VALUES, steps=1))
    path = store.write(a_snapshot(*VALUES, steps=2))
    path.write_bytes(path.read_bytes()[:kept])
    found = store.latest()
    assert found is not None
    assert found.steps == 1
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
        with pytest.raises(ResourceExhaustedError):
            store.latest()
    found = store.latest()
    assert found is not None
    assert found.steps == 2


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
    with pytest.raises(InvalidArgumentError, match="snapshot_dir cannot be written to"):
        SnapshotStore(tmp_path / "file", W0)


@pytest.mark.parametrize("every", [0.0, -1.0])
def test_a_period_that_is_none_is_refused(every: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="snapshot_every is more than 0"):
        Server(
            {"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(snapshot_dir=tmp_path, snapshot_every=every)
        )


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
                with pytest.raises(WorkerRestartedError) as info:
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
            with pytest.raises(WorkerRestartedError, match=r"lost: b; back .* after 1 steps: a"):
                await soon(session.run(a.read_value()))
            found = await soon(session.reattach(restore=b.initializer))
            assert (found.lost, found.restored) == (("b",), ("a",))
            assert await soon(session.run(b.read_value())) == 10
            await session.close()


async def test_snapshots_are_taken_from_time_to_time_and_only_after_steps(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
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
    found = store.latest()
    assert found is not None
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
    with on(W0):
        v = ops.Variable(1.0)
    (port,) = hold_ports(1)
    async with server([port], 0, snapshot_dir=tmp_path):
        config = ConfigProto(isolate_session_state=True)
        target = f"tcp://127.0.0.1:{port}"
        async with AsyncSession(target, graph=graph, config=config) as session:
            await soon(session.run(v.initializer))
    found = SnapshotStore(tmp_path, W0).latest()
    assert found is not None
    assert found.variables == []
    async with server([port], 0, snapshot_dir=tmp_path), AsyncSession(target, graph=graph) as session:
        with pytest.raises(FailedPreconditionError):
            await soon(session.run(v.read_value()))


# -- owners ----------------------------------------------------------------------------------------


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the same task is not waited for."""
    monkeypatch.setattr(snapshots, "_REPLACED", 0.0)


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
        with pytest.raises(FailedPreconditionError) as info:
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
async def test_the_state_of_another_cluster_is_neither_restored_nor_removed(
    task: str, cluster: str, tmp_path: Path
) -> None:
    paths = [SnapshotStore(tmp_path, W0, "A").write(a_snapshot(np.float32(i))) for i in range(2)]
    store = SnapshotStore(tmp_path, task, cluster)
    with pytest.raises(FailedPreconditionError) as info:
        await store.take()
    assert f"holds the variables of {W0} of cluster 'A' ({paths[0].name}), and " in info.value.message
    assert str(Owner(cluster, task)) in info.value.message
    # Nor by a store on a file system without locks, which may have begun at the same moment.
    assert store.latest() is None
    for i in range(3):
        store.write(a_snapshot(np.float32(10 + i)))
    assert set(paths) <= set(tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 4
    found = SnapshotStore(tmp_path, W0, "A").latest()
    assert found is not None
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
        server = Server(
            {"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(snapshot_dir=tmp_path, cluster_id=cluster)
        )
        if cluster == "B":
            with pytest.raises(FailedPreconditionError, match=f"holds the variables of {W0} of cluster 'A'"):
                await server.start()
            break
        async with server:
            (device,) = server.actors.devices
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
    with pytest.raises(FailedPreconditionError, match="of cluster 'A'"):
        await SnapshotStore(tmp_path, W0, "B").take()
    with pytest.raises(UnavailableError, match="is in use"):  # the lock may be a living process's
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


async def test_the_id_of_a_cluster_that_lives_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed_cluster, "_ENDING", 0.0)
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
        with pytest.raises(FailedPreconditionError, match="is used by another process, and "):
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
    server = Server(
        {"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(snapshot_dir=tmp_path, cluster_id="A")
    )
    await soon(server.start())
    (device,) = server.actors.devices
    variable = device.resources.variables()[0][2]
    assert variable.value == 5
    for value in range(3):
        variable.assign(np.float32(value))
        assert server.actors.snapshots is not None
        await server.actors.snapshots.take()
    await soon(server.stop())
    assert server.lost == ""
    assert f"{taken[0]} is passed over" in caplog.text
    assert set(taken) <= {p.name for p in tmp_path.iterdir()}


@pytest.mark.parametrize("what", LINKS)
@pytest.mark.parametrize("name", [".snapshots.lock", ".job-worker-replica-0-task-0.lock"])
async def test_a_lock_whose_name_is_taken_is_refused_at_once(name: str, what: str, tmp_path: Path) -> None:
    LINKS[what](tmp_path / name)
    with pytest.raises((InvalidArgumentError, FailedPreconditionError), match=re.escape(name)):
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
    """1. A trains. 2. B is refused while A lives, and A has its own value after a restart. 3. A has
    ended, and another cluster without an id goes on with its value."""
    with on("/job:ps/replica:0/task:0"):
        v = ops.Variable(1.0, name="v")
    async with LocalCluster({"ps": 1}, snapshot_dir=tmp_path, snapshot_every=0.05) as a:
        async with AsyncSession(a.target("ps"), graph=graph) as session:
            await soon(session.run(v.initializer))
            await eventually(lambda: bool(list(tmp_path.glob("*.snapshot"))))
            with pytest.raises(UnavailableError) as info:
                async with LocalCluster({"ps": 1}, snapshot_dir=tmp_path, cluster_id="B"):
                    pass
            for cluster in (a.cluster_id, "B"):
                assert f"/job:ps/replica:0/task:0 of cluster '{cluster}' (process " in str(info.value)
            await a.restart("ps")
            assert (await soon(session.reattach())).restored == ("v",)
            assert await soon(session.run(v.read_value())) == 1.0
    async with LocalCluster({"ps": 1}, snapshot_dir=tmp_path) as c:
        (counters,) = (await c.statistics()).values()
        assert Path(counters.restored_from).parent == tmp_path
        async with AsyncSession(c.target("ps"), graph=graph) as session:
            assert await soon(session.run(v.read_value())) == 1.0

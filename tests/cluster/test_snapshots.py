"""Snapshots: variables that outlive the process of their server, and files that may be damaged."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import ops
from actorsession.cluster import Server
from actorsession.cluster.master.restart_losses import restart_losses
from actorsession.cluster.server.snapshots import Saved, Snapshot, SnapshotStore
from actorsession.config import ConfigProto
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, WorkerRestartedError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.runtime.resources import DEFAULT_CONTAINER
from actorsession.session import AsyncSession
from tests.cluster.kit import PATIENCE, W0, W1, eventually, on, soon
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
        Server({"worker": ["127.0.0.1:0"]}, "worker", snapshot_dir=tmp_path, snapshot_every=every)


def server(ports: list[int], index: int, **more: Any) -> Server:
    return Server({"worker": [f"127.0.0.1:{port}" for port in ports]}, "worker", index, **more)


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
                said = "Variables lost: none; back from the snapshot after 4 steps: a, b"
                assert said in info.value.message
                found = await soon(session.reattach())
                assert (found.restarted, found.lost, found.restored) == ((W1,), (), ("a", "b"))
                np.testing.assert_array_equal(await soon(session.run(add)), [5.0, 6.0])
                assert await soon(session.run(b.read_value())) == 10
                assert again.statistics().steps == 0


async def test_what_the_snapshot_does_not_have_is_lost(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
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


async def test_a_snapshot_never_holds_half_an_update(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
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


async def test_state_of_isolated_sessions_is_not_kept(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
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
    async with server([port], 0, snapshot_dir=tmp_path):
        async with AsyncSession(target, graph=graph) as session:
            with pytest.raises(FailedPreconditionError):
                await soon(session.run(v.read_value()))

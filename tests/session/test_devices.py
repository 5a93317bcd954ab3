"""The devices of a local session: how many, what is known of them, and types from outside (A3.7)."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, Session, TraceLevel, get_default_graph, ops
from actorsession import RunMetadata as Metadata
from actorsession.errors import CancelledError, FailedPreconditionError, InvalidArgumentError
from actorsession.extend import DeviceAttributes, register_device_factory
from actorsession.runtime.devices import CPU_PRIORITY
from tests.runtime.toy import PLUGIN, Toys, write_distribution

ROOT = Path(__file__).resolve().parents[2]
LOCAL = "/job:localhost/replica:0/task:0/device:"


pytestmark = pytest.mark.usefixtures("registrations")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: Any) -> Iterator[None]:
    """An installed distribution whose entry point brings devices of type TOY."""
    write_distribution(tmp_path, "toy_plugin", PLUGIN, ["TOY = toy_plugin:Toys"])
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("toy_plugin", None)


async def devices_of(face: Any) -> list[DeviceAttributes]:
    found = face.session.list_devices()
    return list(await found if inspect.isawaitable(found) else found)


async def names_of(face: Any) -> list[str]:
    return [d.name.removeprefix(LOCAL) for d in await devices_of(face)]


async def nodes_by_device(face: Any, fetches: Any, feeds: Any = None) -> dict[str, set[str]]:
    """What a step runs where, as the partition graphs of the run say."""
    metadata = Metadata()
    options = RunOptions(output_partition_graphs=True, trace_level=TraceLevel.NO_TRACE)
    await face.run(fetches, feeds, options=options, run_metadata=metadata)
    graphs: Any = metadata.partition_graphs
    if not isinstance(graphs, dict):
        graphs = dict(zip([g.nodes[0].device for g in graphs], graphs, strict=True))
    return {device.removeprefix(LOCAL): {node.name for node in part.nodes} for device, part in graphs.items()}


# -- A3.7 ----------------------------------------------------------------------------------------


async def test_device_count_gives_that_many_cpu_devices(make_session: Any) -> None:
    assert await names_of(make_session()) == ["CPU:0"]
    assert await names_of(make_session(ConfigProto(device_count={"CPU": 3}))) == ["CPU:0", "CPU:1", "CPU:2"]


async def test_list_devices_gives_name_type_memory_limit_and_incarnation(session: Any) -> None:
    [device] = await devices_of(session)
    assert device.name == f"{LOCAL}CPU:0"
    assert device.device_type == "CPU"
    assert device.memory_limit_bytes == device.memory_limit > 0
    assert 0 < device.incarnation < 2**64


async def test_incarnations_stay_and_are_different_in_every_session(make_session: Any) -> None:
    two = ConfigProto(device_count={"CPU": 2})
    first, second = make_session(two), make_session(two)
    before = [d.incarnation for d in (*await devices_of(first), *await devices_of(second))]
    await first.run(ops.constant(1.0) + 1.0)
    after = [d.incarnation for d in (*await devices_of(first), *await devices_of(second))]
    assert before == after
    assert len(set(before)) == 4


async def test_list_devices_of_a_closed_session_is_cancelled(session: Any) -> None:
    await session.close()
    with pytest.raises(CancelledError, match=r"Session has been closed\."):
        await devices_of(session)


# -- types from outside --------------------------------------------------------------------------


@pytest.mark.usefixtures("plugin")
async def test_operations_run_on_devices_of_a_plug_in(make_session: Any) -> None:
    face, graph = make_session(ConfigProto(device_count={"TOY": 2})), get_default_graph()
    assert await names_of(face) == ["CPU:0", "TOY:0", "TOY:1"]
    x = ops.placeholder("float32", [2])
    with graph.device("/device:TOY:0"):
        doubled = ops.multiply(x, 2.0, name="doubled")
    with graph.device("/device:TOY:1"):
        total = ops.reduce_sum(doubled, name="total")
    fed = {x: np.array([1, 2], np.float32)}
    assert await face.run(total, fed) == 6
    found = await nodes_by_device(face, [total, ops.identity(x, name="here")], fed)
    assert "doubled" in found["TOY:0"]
    assert "total" in found["TOY:1"]
    assert "here" in found["CPU:0"]


@pytest.mark.usefixtures("plugin")
async def test_state_lives_on_a_device_of_a_plug_in(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"TOY": 1}))
    with get_default_graph().device("/device:TOY:0"):
        v = ops.Variable([1.0, 2.0])
    await face.run(v.initializer)
    np.testing.assert_array_equal(await face.run(v.assign_add([1.0, 1.0])), [2, 3])
    by_name = {d.name: d for d in face.session._session._devices}
    assert by_name[f"{LOCAL}TOY:0"].resources.statistics().variables == 1
    assert by_name[f"{LOCAL}CPU:0"].resources.statistics().variables == 0


@pytest.mark.usefixtures("plugin")
async def test_a_plug_in_that_nobody_asked_for_is_not_loaded(make_session: Any) -> None:
    face = make_session()
    assert await names_of(face) == ["CPU:0"]
    assert "toy_plugin" not in sys.modules
    with get_default_graph().device("/device:TOY:0"):
        x = ops.constant(1.0) * 2.0
    with pytest.raises(InvalidArgumentError, match=r"TOY:0, which does not exist here; .*CPU:0"):
        await face.run(x)


@pytest.mark.usefixtures("plugin")
async def test_soft_placement_goes_from_a_missing_device_of_a_plug_in_to_what_there_is(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"TOY": 1}, allow_soft_placement=True))
    graph = get_default_graph()
    with graph.device("/device:TOY:7"):
        missing = ops.multiply(ops.placeholder("float32", [], name="x"), 2.0, name="missing")
    with graph.device("/device:TOY:0"):
        product = ops.matmul(ops.ones([2, 2]), ops.ones([2, 2]), name="product")
    assert await face.run(missing, {"x:0": 2}) == 4
    assert "missing" in (await nodes_by_device(face, missing, {"x:0": 2}))["CPU:0"]
    found = await nodes_by_device(face, product)  # there is no kernel for it on a TOY
    assert "product" in found["CPU:0"]


@pytest.mark.usefixtures("plugin")
async def test_an_operation_without_a_kernel_on_its_device_is_named(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"TOY": 1}))
    with get_default_graph().device("/device:TOY:0"):
        fine = ops.ones([2, 2]) + 1.0
        product = ops.matmul(fine, fine, name="product")
    with pytest.raises(
        InvalidArgumentError,
        match=r"'product' requests /device:TOY:0, but there is no kernel for MatMul\. "
        r"Devices that have one: /job:localhost.*CPU:0\.",
    ) as caught:
        await face.run(product)
    assert caught.value.node == "product"


async def test_a_group_goes_where_all_of_it_can_run(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=1, without=["Tanh"]), priority=CPU_PRIORITY + 1)
    face, graph = make_session(), get_default_graph()
    x = ops.placeholder("float32", [2])
    first = ops.multiply(x, 2.0, name="first")
    with graph.colocate_with(first):
        second = ops.tanh(first, name="second")
    third = ops.multiply(second, 2.0, name="third")
    found = await nodes_by_device(face, third, {x: np.ones(2, np.float32)})
    assert {"first", "second"} <= found["CPU:0"]
    assert "third" in found["TOY:0"]


async def test_what_must_share_a_device_with_state_that_cannot_run_it_is_named(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=1, without=["AssignAddVariableOp"]))
    face = make_session()
    with get_default_graph().device("/device:TOY:0"):
        v = ops.Variable(1.0, name="v")
    await face.run(v.initializer)
    update = v.assign_add(1.0, name="update", read_value=False)  # built after the variable was placed
    with pytest.raises(InvalidArgumentError, match="no kernel for AssignAddVariableOp") as caught:
        await face.run(update)
    assert caught.value.node == update.name


async def test_what_asks_for_no_device_goes_to_a_preferred_type_and_feeds_enter_by_a_cpu(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=2), priority=CPU_PRIORITY + 1)
    face = make_session()
    assert (await names_of(face))[0] == "CPU:0"
    x = ops.placeholder("float32", [2])
    doubled = ops.multiply(x, 2.0, name="doubled")
    with get_default_graph().device("/cpu:0"):
        total = ops.reduce_sum(doubled, name="total")
    fed = {x: np.array([1, 2], np.float32)}
    found = await nodes_by_device(face, total, fed)
    assert "doubled" in found["TOY:0"]
    assert "total" in found["CPU:0"]
    assert await face.run(total, fed) == 6


async def test_what_asks_for_no_device_stays_on_the_cpu_beside_a_type_of_low_priority(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=2))
    found = await nodes_by_device(make_session(), ops.tanh(ops.placeholder("float32", [], name="x")), {"x:0": 1})
    assert list(found) == ["CPU:0"]


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_broken_plug_in_is_named_by_who_asks_for_it_and_harms_nobody_else(
    kind: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    write_distribution(tmp_path, "toy_broken", "raise OSError('no driver')", ["TOY = toy_broken:T"])
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FailedPreconditionError, match=r"toy_broken 1\.0 is broken: OSError: no driver"):
        kind(graph=Graph(), config=ConfigProto(device_count={"TOY": 1}))
    graph = Graph()
    with graph.as_default():
        x = ops.constant(1.0) + 1.0
    with Session(graph=graph) as session:
        assert session.run(x) == 2


# A program that knows nothing of tests: its devices come from what is installed.
PROGRAM = """
import asyncio
import sys

import actorsession as acts

x, b = acts.placeholder("float32", [2]), acts.placeholder("float32", [])
with acts.device("/device:TOY:1"):
    v = acts.Variable([1.0, 2.0])
    y = x * 2.0 + v
with acts.device("/device:TOY:0"):
    total = acts.reduce_sum(y)
with acts.device("/cpu:1"):
    last = total * b
config = acts.ConfigProto(device_count={"TOY": 2, "CPU": 2})
with acts.Session() as session:
    assert [d.device_type for d in session.list_devices()] == ["CPU"]
assert "toy_plugin" not in sys.modules
with acts.Session(config=config) as session:
    devices = session.list_devices()
    assert [d.name.rpartition(":")[0][-3:] for d in devices] == ["CPU", "CPU", "TOY", "TOY"]
    assert {d.memory_limit for d in devices if d.device_type == "TOY"} == {1 << 20}
    assert len({d.incarnation for d in devices}) == 4
    session.run(v.initializer)
    assert session.make_callable(last, [x, b])([1, 2], 2) == 18
    with session.partial([total, last], [x, b]) as step:
        assert step.run(last, {b: step.run(total, {x: [1, 2]})}) == 81
    kept = session.run(acts.get_session_handle(y), {x: [1, 2]})
    assert kept.handle.endswith("/device:TOY:1")
    near = f"nobody;0;{devices[1].name}"
    holder, moved = acts.get_session_tensor(near, "float32")
    assert session.run(moved, {holder: kept.handle}).tolist() == [3, 6]


async def main():
    async with acts.AsyncSession(config=config) as session:
        await session.run(v.initializer)
        async with session.partial([total, last], [x, b]) as step:
            seen = await step.run(total, {x: [1, 2]})
            return await step.run(last, {b: seen})


print(asyncio.run(main()))
"""


@pytest.mark.process
def test_a_program_uses_the_devices_of_an_installed_distribution(tmp_path: Path) -> None:
    """Values, state, callables, partial runs and tensor handles, in both faces."""
    write_distribution(tmp_path / "site", "toy_plugin", PLUGIN, ["TOY = toy_plugin:Toys"])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path / 'site'}", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "81.0\n")

"""The devices of a local session: how many, what is known of them, and types from outside (A3.7)."""

from __future__ import annotations

import asyncio
import inspect
import logging
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import (
    AsyncInteractiveSession,
    AsyncSession,
    ConfigProto,
    Graph,
    GraphOptions,
    InteractiveSession,
    RunOptions,
    Session,
    TraceLevel,
    errors,
    get_default_graph,
    ops,
)
from actorsession import RunMetadata as Metadata
from actorsession.extend import CPU_PRIORITY, DeviceAttributes, register_device_factory
from actorsession.session.targets import is_local, master_addresses, names_master
from tests.default_device import BESIDE, HERE, HOME, LOCAL
from tests.forked_programs import warm_process
from tests.rows import for_each
from tests.runtime.toy import PLUGIN, Toys, write_distribution

ROOT = Path(__file__).resolve().parents[2]


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
    assert await names_of(make_session()) == ["CPU:0", *BESIDE]
    three = make_session(ConfigProto(device_count={"CPU": 3}))
    assert await names_of(three) == ["CPU:0", "CPU:1", "CPU:2", *BESIDE]


async def test_list_devices_gives_name_type_memory_limit_and_incarnation(session: Any) -> None:
    device, *beside = await devices_of(session)
    assert len(beside) == len(BESIDE)
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
    assert len(set(before)) == 2 * (2 + len(BESIDE))


async def test_list_devices_of_a_closed_session_is_cancelled(session: Any) -> None:
    await session.close()
    with pytest.raises(errors.CancelledError, match=r"Session has been closed\."):
        await devices_of(session)


# -- types from outside --------------------------------------------------------------------------
@pytest.mark.usefixtures("plugin")
async def test_operations_run_on_devices_of_a_plug_in(make_session: Any) -> None:
    face, graph = make_session(ConfigProto(device_count={"TOY": 2})), get_default_graph()
    assert await names_of(face) == ["CPU:0", *BESIDE, "TOY:0", "TOY:1"]
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
    assert "here" in found[HOME]


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
    assert await names_of(face) == ["CPU:0", *BESIDE]
    assert "toy_plugin" not in sys.modules
    with get_default_graph().device("/device:TOY:0"):
        x = ops.constant(1.0) * 2.0
    with pytest.raises(errors.InvalidArgumentError, match=r"TOY:0, which does not exist here; .*CPU:0"):
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
    assert "missing" in (await nodes_by_device(face, missing, {"x:0": 2}))[HOME]
    found = await nodes_by_device(face, product)  # there is no kernel for it on a TOY
    assert "product" in found[HOME]


@pytest.mark.usefixtures("plugin")
async def test_an_operation_without_a_kernel_on_its_device_is_named(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"TOY": 1}))
    with get_default_graph().device("/device:TOY:0"):
        fine = ops.ones([2, 2]) + 1.0
        product = ops.matmul(fine, fine, name="product")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"'product' requests /device:TOY:0, but there is no kernel for MatMul\. "
        r"Devices that have one: /job:localhost.*CPU:0\.",
    ) as caught:
        await face.run(product)
    assert caught.value.node == "product"


async def test_a_group_goes_where_all_of_it_can_run(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=1, without=["Tanh"]), priority=CPU_PRIORITY + 2)
    face, graph = make_session(), get_default_graph()
    x = ops.placeholder("float32", [2])
    first = ops.multiply(x, 2.0, name="first")
    with graph.colocate_with(first):
        second = ops.tanh(first, name="second")
    third = ops.multiply(second, 2.0, name="third")
    found = await nodes_by_device(face, third, {x: np.ones(2, np.float32)})
    assert {"first", "second"} <= found[HOME]
    assert "third" in found["TOY:0"]


async def test_what_must_share_a_device_with_state_that_cannot_run_it_is_named(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=1, without=["AssignAddVariableOp"]))
    face = make_session()
    with get_default_graph().device("/device:TOY:0"):
        v = ops.Variable(1.0, name="v")
    await face.run(v.initializer)
    update = v.assign_add(1.0, name="update", read_value=False)  # built after the variable was placed
    with pytest.raises(errors.InvalidArgumentError, match="no kernel for AssignAddVariableOp") as caught:
        await face.run(update)
    assert caught.value.node == update.name


async def test_what_asks_for_no_device_goes_to_a_preferred_type_and_feeds_enter_by_a_cpu(make_session: Any) -> None:
    register_device_factory("TOY", Toys(physical=2), priority=CPU_PRIORITY + 2)
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
    y = ops.tanh(ops.placeholder("float32", [], name="x"), name="y")
    found = await nodes_by_device(make_session(), y, {"x:0": 1})
    assert "y" in found[HOME]
    assert set(found) == {"CPU:0", HOME}


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_broken_plug_in_is_named_where_asked_for_and_alone_fails(kind: Any, tmp_path: Path, monkeypatch: Any) -> None:
    write_distribution(tmp_path, "toy_broken", "raise OSError('no driver')", ["TOY = toy_broken:T"])
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(errors.FailedPreconditionError, match=r"toy_broken 1\.0 is broken: OSError: no driver"):
        kind(graph=Graph(), config=ConfigProto(device_count={"TOY": 1}))
    with Graph().as_default() as graph:
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


DEVICE = "/job:localhost/replica:0/task:0/device:CPU:{}"
NOWHERE = "/job:nowhere/task:3"
Make = Callable[..., Any]


# -- devices ---------------------------------------------------------------------------------------
def devices_in(session: Any) -> list[str]:
    return [d.name for d in session.session._session.list_devices() if d.device_type == "CPU"]


@for_each(
    "filters, seen",
    [
        ([], [0, 1, 2]),
        (["/job:localhost"], [0, 1, 2]),
        (["/device:CPU:2"], [0, 2]),
        (["/cpu:1", "/cpu:2"], [0, 1, 2]),
        (["/job:ps", "/job:worker/task:1"], [0]),
    ],
)
async def test_a_session_sees_the_devices_that_its_filters_allow_and_its_client_device(
    filters: list[str], seen: list[int], make_session: Make, graph: Graph
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 3}, device_filters=filters))
    assert devices_in(session) == [DEVICE.format(i) for i in seen]


async def test_an_op_cannot_be_placed_on_a_device_that_is_filtered_out(make_session: Make, graph: Graph) -> None:
    with graph.device("/cpu:1"):
        y = ops.constant(1.0) + 1.0
    session = make_session(ConfigProto(device_count={"CPU": 2}, device_filters=["/cpu:0"]))
    with pytest.raises(errors.InvalidArgumentError, match=r"device:CPU:1, which does not exist"):
        await session.run(y)


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_malformed_filter_is_an_invalid_argument(kind: Any, graph: Graph) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"invalid device filter: .*'nonsense::'"):
        kind(graph=graph, config=ConfigProto(device_filters=["nonsense::"]))


# -- placement -------------------------------------------------------------------------------------
async def test_soft_placement_takes_types_and_numbers_there_are_but_keeps_tasks(
    make_session: Make, graph: Graph
) -> None:
    with graph.device("/device:GPU:7"):
        y = ops.constant(1.0) + 1.0
    with pytest.raises(errors.InvalidArgumentError, match="GPU:7"):
        await make_session().run(y)
    soft = ConfigProto(allow_soft_placement=True)
    assert await make_session(soft).run(y) == 2.0
    with graph.device(NOWHERE):
        z = y + 1.0
    with pytest.raises(errors.InvalidArgumentError, match="/job:nowhere"):
        await make_session(soft).run(z)


async def test_log_device_placement_logs_the_devices_and_a_line_for_each_node(
    make_session: Make, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    a = ops.constant(1.0, name="a")
    with graph.device("/cpu:1"):
        ops.add(a, a, name="b")
    with caplog.at_level(logging.INFO, "actorsession.session"):
        session = make_session(ConfigProto(device_count={"CPU": 2}, log_device_placement=True))
        await session.run("b:0")
    mapping, *lines = [r.message for r in caplog.records if r.name == "actorsession.session.placement"]
    first, *devices = mapping.splitlines()
    assert first == "Device mapping:"
    told = [d.partition(" -> ")[0] for d in devices]
    assert told == [DEVICE.format(0), DEVICE.format(1), *[LOCAL + name for name in BESIDE]]
    assert all(f"device type: {d.rpartition('/device:')[2].partition(':')[0]}" in d for d in devices)
    assert lines == [
        f"a: (Const): {DEVICE.format(1)} (no device requested: placed with its consumer)",
        f"b: (AddV2): {DEVICE.format(1)} (requested /device:CPU:1)",
    ]


@pytest.mark.process
@for_each("level", ["", "INFO", "WARNING"])
def test_placement_that_was_asked_for_is_seen_whatever_logging_a_program_has_set_up(level: str, tmp_path: Path) -> None:
    program = f"""
import logging
import actorsession as acts
if "{level}":
    logging.basicConfig(level="{level}")
with acts.Session(config=acts.ConfigProto(log_device_placement=True)) as session:
    session.run(acts.constant(1.0, name="a") + 1.0)
"""
    with warm_process() as process:
        ended = process.run(program, tmp_path)
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.count("Device mapping:\n") == 1
    assert ended.err.count("a: (Const): /job:localhost/replica:0/task:0/device:CPU:0 (") == 1


async def test_without_log_device_placement_nothing_is_logged(make_session: Make, graph: Graph, caplog: Any) -> None:
    y = ops.constant(1.0) + 1.0
    with caplog.at_level(logging.INFO, "actorsession.session"):
        await make_session().run(y)
    assert caplog.records == []


def pruned(**settings: Any) -> ConfigProto:
    return ConfigProto(device_count={"CPU": 2}, graph_options=GraphOptions(place_pruned_graph=True), **settings)


async def test_place_pruned_graph_forgives_a_bad_device_of_an_unneeded_node(make_session: Make, graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    with graph.device(NOWHERE):
        z = y + 1.0
    session = make_session(pruned())
    assert await session.run(y) == 2.0
    with pytest.raises(errors.InvalidArgumentError, match="/job:nowhere"):
        await session.run(z)
    assert await session.run(y) == 2.0
    with pytest.raises(errors.InvalidArgumentError, match="/job:nowhere"):
        await make_session().run(y)


async def test_under_place_pruned_graph_state_stays_where_it_was_placed_first(make_session: Make, graph: Graph) -> None:
    """1. The first run needs the variable and no reader: it goes to the client device.
    2. A later run reads it under another device: the reader goes where the state is.
    3. The graph grows by a node that must be with the variable: it goes there as well."""
    v = ops.Variable(3.0, name="v")
    with graph.device("/cpu:1"):
        read = v.read_value()
    session = make_session(pruned())
    await session.run(v.initializer)
    assert await session.run(read) == 3.0
    with graph.colocate_with(v.op):
        tied = ops.identity(read, name="tied")
    assert await session.run(tied) == 3.0
    placed = session.session._session.placement()
    assert {placed[n].device for n in ("v", read.op.name, "tied")} == {HERE}


async def test_under_place_pruned_graph_runs_place_what_is_stateless_anew(make_session: Make, graph: Graph) -> None:
    """1. Alone, ``a`` goes to the client device. 2. With ``c``, which must be where ``a`` is and asks
    for the other device, both go there."""
    a = ops.add(ops.constant(1.0), 1.0, name="a")
    with graph.colocate_with(a.op), graph.device("/cpu:1"):
        c = ops.identity(a, name="c")
    session = make_session(pruned())
    assert await session.run(a) == 2.0
    assert session.session._session.placement()["a"].device == HERE
    assert await session.run(c) == 2.0
    placed = session.session._session.placement()
    assert placed["a"].device == placed["c"].device == DEVICE.format(1)


# A target, and what its error says is wrong.
MALFORMED = {
    "tcp://loft": r"tcp takes host:port and nothing after it",
    "tcp://": r"ends after its scheme",
    "tcp://loft:port": r"the port 'port' is not a number from 0 to 65535",
    "loft:70000": r"the port 70000 is not a number from 0 to 65535",
    ":7000": r"the host is empty",
    "::1:7000": r"IPv6 host in brackets: tcp://\[::1\]:7000",
    "grpc://loft": r"host:port",
    "unix://relative/s": r"the path 'relative/s' is not absolute|takes a path",
    "tcp://a:1,": r"one of its addresses is empty",
    "tcp://a:1,,tcp://b:2": r"one of its addresses is empty",
    "tcp://a:1,local": r"'local' is this process and no address of a master",
    "tcp://a:1,loft": r"tcp://loft.*host:port",
    "a:1,pigeon://loft": r"no transport is registered for 'pigeon://loft', only for abstract, inproc",
}


def test_nobody_is_at_port_0() -> None:
    with pytest.raises(errors.UnavailableError, match="nobody can be reached at port 0 of 'tcp://loft:0'"):
        master_addresses("tcp://loft:0")
    with pytest.raises(errors.UnavailableError, match="port 0"):
        Session.reset("grpc://localhost:0")
    with pytest.raises(errors.DeadlineExceededError, match="port 0"):
        tf.Session.reset("grpc://localhost:0", ["c"], tf.ConfigProto(operation_timeout_in_ms=5))


@pytest.mark.parametrize("target", ["", "local"])
def test_this_process_has_two_names(target: str, graph: Graph) -> None:
    assert is_local(target)
    assert not names_master(target)
    with Session(target, graph=graph) as session:
        assert session.run(ops.constant(1) + 1) == 2
        assert session.target == target
        assert session.list_devices()[0].name.startswith("/job:localhost")


@for_each("target", ["", "local"])
async def test_this_process_has_two_names_on_a_loop(target: str, graph: Graph) -> None:
    async with AsyncSession(target, graph=graph) as session:
        assert await session.run(ops.constant(1) + 1) == 2
        await AsyncSession.reset(target)
        with pytest.raises(errors.CancelledError, match="Session has been closed"):
            await session.list_devices()


def test_an_interactive_session_of_the_local_target_places_what_runs() -> None:
    with tf.Graph().as_default():
        with tf.device("/device:GPU:0"):
            tf.constant(1.0)
        session = tf.InteractiveSession("local")
        assert tf.constant(2.0).eval() == 2.0
        session.close()


@for_each(
    "target, addresses",
    [
        ("tcp://a:1", ("tcp://a:1",)),
        ("grpc://a:1", ("tcp://a:1",)),
        ("a:1", ("tcp://a:1",)),
        ("127.0.0.1:7000", ("tcp://127.0.0.1:7000",)),
        ("[::1]:7000", ("tcp://[::1]:7000",)),
        ("a:1,b:2, grpc://c:3", ("tcp://a:1", "tcp://b:2", "tcp://c:3")),
        ("a:1,grpc://a:1,tcp://a:1", ("tcp://a:1",)),
        ("tls://a:1,unix:///run/s,inproc://n", ("tls://a:1", "unix:///run/s", "inproc://n")),
        ("unix:///tmp/a,b/s", ("unix:///tmp/a,b/s",)),
        ("unix:///a, b/s , unix:///c,d,e:1", ("unix:///a, b/s", "unix:///c,d", "tcp://e:1")),
    ],
)
def test_the_addresses_of_a_target_are_read(target: str, addresses: tuple[str, ...]) -> None:
    assert names_master(target)
    assert master_addresses(target) == addresses


def makers() -> dict[str, Callable[[str], Any]]:
    """Everything that takes a target."""

    def awaited(make: Callable[[str], Coroutine[Any, Any, Any]]) -> Callable[[str], Any]:
        return lambda target: asyncio.run(make(target))

    return {
        "Session": Session,
        "AsyncSession": AsyncSession,
        "InteractiveSession": InteractiveSession,
        "AsyncInteractiveSession": AsyncInteractiveSession,
        "compat Session": tf.Session,
        "compat InteractiveSession": tf.InteractiveSession,
        "reset": Session.reset,
        "async reset": awaited(AsyncSession.reset),
    }


@for_each("maker", makers())
@for_each("target", MALFORMED)
def test_a_malformed_target_is_refused_where_it_is_given(target: str, maker: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=MALFORMED[target]) as refused:
        makers()[maker](target)
    assert f"malformed target {target!r}" in refused.value.message
    assert "Targets are '' or 'local' for this process; host:port, tcp://" in refused.value.message

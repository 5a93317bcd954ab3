"""Settings of a session that its master follows, ignores or refuses."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, GraphDef, Server, ServerSettings, Session, ops
from actorsession.actors import Deadline, registry
from actorsession.config import (
    ConfigProto,
    Experimental,
    GraphOptions,
    OptimizerOptions,
    OptLevel,
    RPCOptions,
    RunMetadata,
    RunOptions,
    ThreadPoolOptionProto,
)
from actorsession.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, InvalidArgumentError
from actorsession.messages import CreateSession
from actorsession.ops.blas_threads import blas_threads
from tests.cluster.kit import PS0, W0, W1, W2, InProcess, chain, eventually, in_process, on, soon
from tests.ports import HoldPorts
from tests.session.probe import Probe
from tests.session.test_kernel_threads import Counter


def device(task: str, index: int = 0) -> str:
    return f"{task}/device:CPU:{index}"


# -- what only local sessions have -----------------------------------------------------------------
LOCAL = {
    "use_per_session_threads": ConfigProto(use_per_session_threads=True),
    "session_inter_op_thread_pool": ConfigProto(session_inter_op_thread_pool=[ThreadPoolOptionProto(num_threads=1)]),
}


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_remote_session_refuses_what_only_local_ones_have(name: str, kind: Any, graph: Graph) -> None:
    with pytest.raises(InvalidArgumentError, match=f"a remote session does not support {name}: "):
        kind("tcp://127.0.0.1:1", graph=graph, config=LOCAL[name])


@pytest.mark.parametrize("name", LOCAL)
def test_a_server_refuses_them_for_its_sessions(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"a remote session does not support {name}: "):
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(config=LOCAL[name]))


async def test_a_server_of_one_thread_runs_one_kernel_at_a_time_for_all_sessions() -> None:
    """First and second runs of one plan and of eight, of two sessions at once."""
    counter = Counter()
    probe = Probe("one at a time at a server", counter)
    with Graph().as_default() as graph:
        values = [probe(ops.constant(float(k))) for k in range(8)]
    one = ConfigProto(inter_op_parallelism_threads=1)
    async with (
        in_process({"worker": 1}, config=one) as cluster,
        AsyncSession(cluster.target(), graph) as session,
        AsyncSession(cluster.target(), graph) as other,
    ):
        for _ in range(2):
            runs = [s.run(y) for s in (session, other) for y in (*values, values[0])]
            assert await soon(asyncio.gather(*runs)) == 2 * [*map(float, range(8)), 0.0]
    assert counter.most == 1
    assert len(probe.threads) == 2 * 2 * 9


@pytest.mark.skipif(blas_threads() is None, reason="numpy's BLAS is no OpenBLAS here")
async def test_a_server_holds_the_number_of_blas_threads_that_it_was_given_until_it_stops() -> None:
    before = blas_threads()
    config = ConfigProto(intra_op_parallelism_threads=1)
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(config=config)):
        assert blas_threads() == 1
    assert blas_threads() == before


TASKS = {
    "none": (["127.0.0.1:0"], 1),
    "unknown": (["127.0.0.1:0", "127.0.0.1:0"], 1),
    "elsewhere": (["127.0.0.1:0", "192.0.2.1:7000"], 1),
    "one": (["127.0.0.1:0", "localhost:7000"], 2),
    "three": (["127.0.0.1:0", *[f"127.0.0.1:{port}" for port in (7000, 7001, 7002)]], 4),
}


@pytest.mark.skipif(blas_threads() is None, reason="numpy's BLAS is no OpenBLAS here")
@pytest.mark.parametrize("others", TASKS)
async def test_a_server_takes_a_share_of_the_cores_beside_other_tasks_of_its_host(
    others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8))
    before = blas_threads()
    addresses, processes = TASKS[others]
    async with Server({"worker": addresses}, "worker", 0):
        assert blas_threads() == (before if processes == 1 else 8 // processes)
    assert blas_threads() == before


@pytest.mark.skipif(blas_threads() is None, reason="numpy's BLAS is no OpenBLAS here")
@pytest.mark.parametrize("how", ["environment", "config"])
async def test_a_choice_of_the_user_is_left_as_it_is(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8))
    before, config = blas_threads(), ConfigProto()
    if how == "environment":
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
    else:
        config = ConfigProto(intra_op_parallelism_threads=3)
    async with Server(
        {"worker": ["127.0.0.1:0", "localhost:7000"]}, "worker", 0, settings=ServerSettings(config=config)
    ):
        assert blas_threads() == (before if how == "environment" else 3)
    assert blas_threads() == before


async def test_servers_of_one_process_are_no_neighbours(cluster: InProcess) -> None:
    assert [server._cluster_view.neighbours() for server in cluster.servers] == [0, 0]


REFUSED = {
    **{name: (config, f"does not support {name}: ") for name, config in LOCAL.items()},
    "device_filters": (ConfigProto(device_filters=["nonsense::"]), "invalid device filter"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_master_refuses_them_whoever_asks(name: str, cluster: InProcess) -> None:
    config, said = REFUSED[name]
    master: Any = registry.lookup(cluster.target())
    message = CreateSession(graph=GraphDef(()).to_wire(), config=config.to_wire(), target="", request_id="r")
    with pytest.raises(InvalidArgumentError, match=said):
        await master.ask(message, Deadline.after(10))
    assert all(not s.sessions for s in cluster.statistics().values())


async def test_the_pool_index_of_a_run_is_ignored(session: AsyncSession, way: str) -> None:
    y = ops.constant(1.0) + 1.0
    for index in (-7, -1, 7):
        options = RunOptions(inter_op_thread_pool=index)
        assert await soon(session.run(y, options=options)) == 2.0


async def test_device_count_of_a_remote_session_is_ignored(cluster: InProcess, graph: Graph) -> None:
    config = ConfigProto(device_count={"CPU": 5})
    async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
        assert [d.name for d in await session.list_devices()] == [device(W0), device(W1)]


async def test_place_pruned_graph_of_a_remote_session_places_what_a_run_needs(cluster: InProcess, graph: Graph) -> None:
    """1. A bad device of a node that the run does not need is no error; 2. of one that it needs, it is.
    3. State stays where its first run has placed it, though a later run asks for another device."""
    y = ops.constant(1.0) + 1.0
    z = on("/job:nowhere", lambda: y + 1.0)
    v = ops.Variable(3.0, name="v")
    read = on(W1, lambda: v.read_value())
    config = ConfigProto(graph_options=GraphOptions(place_pruned_graph=True))
    async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
        assert await soon(session.run(y)) == 2.0
        with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
            await soon(session.run(z))
        await soon(session.run(v.initializer))
        options, metadata = RunOptions(output_partition_graphs=True), RunMetadata()
        assert await soon(session.run(read, options=options, run_metadata=metadata)) == 3.0
        assert {n.device for g in metadata.partition_graphs for n in g.nodes} == {device(W0)}


# -- device filters --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("filters", "seen"),
    [
        ([], [device(W0), device(W0, 1), device(W1), device(W1, 1)]),
        (["/job:worker/task:0"], [device(W0), device(W0, 1)]),
        (["/job:worker/task:1"], [device(W0), device(W0, 1), device(W1), device(W1, 1)]),
        (["/job:worker/task:1/device:CPU:1"], [device(W0), device(W0, 1), device(W1, 1)]),
        (["/cpu:1"], [device(W0), device(W0, 1), device(W1, 1)]),
        (["/job:none"], [device(W0), device(W0, 1)]),
    ],
)
async def test_a_session_sees_the_masters_own_devices_and_those_that_its_filters_allow(
    filters: list[str], seen: list[str], way: str, graph: Graph
) -> None:
    config = ConfigProto(device_filters=filters)
    async with in_process(config=ConfigProto(device_count={"CPU": 2})) as cluster:
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            assert [d.name for d in await session.list_devices()] == seen


@pytest.mark.usefixtures("hasty_masters")
async def test_a_session_waits_only_for_the_tasks_that_its_filters_allow(graph: Graph, hold_ports: HoldPorts) -> None:
    """1. Of two tasks one is never started. 2. A session that waits for all tasks, and may see both, does so
    in vain. 3. One whose filters leave the missing task out runs."""
    (port,) = hold_ports(1)
    cluster = {"worker": ["127.0.0.1:0"], "ps": [f"127.0.0.1:{port}"]}
    y = on(W0, lambda: ops.constant(1.0) + 1.0)
    async with Server(cluster, "worker", 0) as server:
        waits = ConfigProto(wait_for_all_tasks=True)
        session = AsyncSession(server.target, graph=graph, config=waits)
        with pytest.raises(DeadlineExceededError, match=PS0):
            await soon(session.run(y))
        await session.close()
        config = ConfigProto(device_filters=["/job:worker"], wait_for_all_tasks=True)
        async with AsyncSession(server.target, graph=graph, config=config) as session:
            assert await soon(session.run(y)) == 2.0


async def test_a_node_on_a_task_that_is_filtered_out_cannot_be_placed(cluster: InProcess, graph: Graph) -> None:
    y = on(W1, lambda: ops.constant(1.0) + 1.0)
    config = ConfigProto(device_filters=[W0])
    session = AsyncSession(cluster.target(), graph=graph, config=config)
    with pytest.raises(InvalidArgumentError, match="task:1, which does not exist here"):
        await soon(session.run(y))
    await session.close()


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_malformed_filter_is_an_invalid_argument(kind: Any, graph: Graph) -> None:
    config = ConfigProto(device_filters=["nonsense::"])
    with pytest.raises(InvalidArgumentError, match=r"invalid device filter: .*'nonsense::'"):
        kind("tcp://127.0.0.1:1", graph=graph, config=config)


# -- placement, transfers, the way to the master ---------------------------------------------------
async def test_the_master_logs_the_devices_and_the_placement_of_a_session_that_asks(
    cluster: InProcess, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    y = on(W1, lambda: ops.add(ops.constant(1.0, name="a"), 1.0, name="y"))
    config = ConfigProto(log_device_placement=True)
    with caplog.at_level(logging.INFO, "actorsession.session"):
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            await soon(session.run(y))
    messages = [r.message for r in caplog.records if r.name == "actorsession.session.placement"]
    assert messages[0].startswith(f"Device mapping:\n{device(W0)} -> device type: CPU")
    assert f"y: (AddV2): {device(W1)} (requested {W1})" in messages


@pytest.mark.parametrize(("level", "found"), [(OptLevel.L1, "Const"), (OptLevel.L0, "AddV2")])
async def test_the_master_optimises_as_the_session_asks(
    level: OptLevel, found: str, cluster: InProcess, way: str, graph: Graph
) -> None:
    total = on(W1, lambda: ops.add(ops.constant(1.0), ops.constant(2.0), name="sum"))
    optimizer = OptimizerOptions(opt_level=level)
    config = ConfigProto(graph_options=GraphOptions(optimizer_options=optimizer))
    metadata = RunMetadata()
    async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
        options = RunOptions(output_partition_graphs=True)
        assert await soon(session.run(total, options=options, run_metadata=metadata)) == 3.0
    types = {n.name: n.op for g in metadata.partition_graphs for n in g.nodes}
    assert types["sum"] == found


EXACT = np.array([1.0001, 3.14159, 7e-3], np.float32)
# What TensorFlow gives for the same graph and settings.
NARROWED = np.array([1.0, 3.140625, 0.00698853], np.float32)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("narrow", [False, True])
async def test_enable_bfloat16_sendrecv_narrows_what_goes_from_task_to_task(narrow: bool, graph: Graph) -> None:
    x = ops.placeholder("float32", [3])
    with on(f"{W0}/cpu:0"):
        a = x * 2.0
        whole = ops.cast(a * 500.0, "int32")
    same_task = on(f"{W0}/cpu:1", lambda: a + 0.0)
    with on(W1):
        other_task = a + 0.0
        integers = whole + 0
    config = ConfigProto(graph_options=GraphOptions(enable_bfloat16_sendrecv=narrow))
    async with in_process(config=ConfigProto(device_count={"CPU": 2})) as cluster:
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            fetches = [same_task, other_task, integers]
            near, far, numbers = await soon(session.run(fetches, {x: EXACT}))
    np.testing.assert_array_equal(near, 2 * EXACT)
    np.testing.assert_allclose(far, 2 * (NARROWED if narrow else EXACT), rtol=1e-6)
    np.testing.assert_array_equal(numbers, (EXACT * 1000).astype(np.int32))


async def test_an_inproc_master_is_dialled_as_well_when_asked(graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    config = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True))
    async with Server({"worker": ["inproc://options-test"]}, "worker", 0) as server:
        async with AsyncSession(server.target, graph=graph, config=config) as session:
            assert await soon(session.run(y)) == 2.0
            assert session.statistics().link is not None


# -- a graph that does not grow --------------------------------------------------------------------
STATIC = ConfigProto(experimental=Experimental(optimize_for_static_graph=True))


async def test_a_static_graph_is_sent_by_the_first_run_and_does_not_grow_after_it(
    cluster: InProcess, way: str, graph: Graph
) -> None:
    """1. Nodes are added after the session was entered. 2. After the first run they are refused. 3. What was
    planned before goes on."""
    x = ops.placeholder("float32", [])
    async with AsyncSession(cluster.target(), graph=graph, config=STATIC) as session:
        y = on(W1, lambda: x * 2.0)
        assert await soon(session.run(y, {x: 1.0})) == 2.0
        late = ops.add(y, 1.0, name="late")
        with pytest.raises(FailedPreconditionError, match=r"'late'.*optimize_for_static_graph=True"):
            await soon(session.run(late, {x: 1.0}))
        with pytest.raises(FailedPreconditionError, match="'late'"):
            await soon(session.warm_up(late, [x]))
        assert await soon(session.run(y, {x: 2.0})) == 4.0


async def test_a_static_graph_is_sent_again_when_its_master_was_lost(graph: Graph) -> None:
    v = ops.Variable(1.0, name="v")
    add = v.assign_add(1.0)
    async with in_process({"worker": 1}) as cluster:
        async with AsyncSession(cluster.target(), graph=graph, config=STATIC) as session:
            await soon(session.run(v.initializer))
            why = AbortedError("the master restarts")
            await cluster.server(W0).actors.master._close_all(why)
            found = await soon(session.reattach())
            assert found.lost == ()
            assert await soon(session.run(add)) == 2.0


async def test_a_master_refuses_the_growth_of_a_graph_that_its_own_settings_call_static(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    async with in_process(config=STATIC) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        assert await soon(session.run(y, {x: 1.0})) == 2.0
        late = ops.add(y, 1.0, name="late")
        with pytest.raises(FailedPreconditionError, match="'late'"):
            await soon(session.run(late, {x: 1.0}))


# -- devices that workers know ---------------------------------------------------------------------
SHARED_DEVICES = {
    "share_cluster_devices_in_session": ConfigProto(share_cluster_devices_in_session=True),
    "its earlier name": ConfigProto(experimental=Experimental(share_cluster_devices_in_session=True)),
}


def known_at(server: Server, session: AsyncSession) -> list[str]:
    """The devices of the whole cluster that a worker knows for a session."""
    return list(server.actors.worker._sessions.find(session._session.connection.handle).graphs.cluster_devices)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SHARED_DEVICES)
async def test_the_workers_of_a_session_that_shares_them_know_the_devices_of_all_tasks(name: str, graph: Graph) -> None:
    y = chain(ops.placeholder("float32", [], name="x"), 4)
    async with in_process(config=ConfigProto(device_count={"CPU": 2})) as cluster:
        config = SHARED_DEVICES[name]
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            for server in cluster.servers:
                assert known_at(server, session) == [device(W0), device(W0, 1), device(W1), device(W1, 1)]
            assert await soon(session.run(y, {"x:0": 1.0})) == 5.0


async def test_workers_know_no_devices_but_their_own_unless_they_are_shared(cluster: InProcess, graph: Graph) -> None:
    async with AsyncSession(cluster.target(), graph=graph) as session:
        assert [known_at(server, session) for server in cluster.servers] == [[], []]


async def test_shared_devices_are_named_after_the_cluster_of_the_session(cluster: InProcess, graph: Graph) -> None:
    jobs = {"trainer": [cluster.target()], "ps": [cluster.target(W1)]}
    config = ConfigProto(cluster_def=jobs, share_cluster_devices_in_session=True)
    async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
        for server in cluster.servers:
            names = [device(PS0), device("/job:trainer/replica:0/task:0")]
            assert known_at(server, session) == names


async def test_shared_devices_follow_the_cluster(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    async with in_process() as cluster:
        config = SHARED_DEVICES["share_cluster_devices_in_session"]
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            spec = {"worker": [*cluster.spec.job_tasks("worker"), "127.0.0.1:0"]}
            async with Server(spec, "worker", 2) as third:
                spec["worker"][2] = third.target
                for server in (*cluster.servers, third):
                    server.learn_peers(spec)
                y = on(W2, lambda: x * 2.0)
                z = on(W1, lambda: y + 1.0)
                assert await soon(session.run(z, {x: 1.0})) == 3.0
                seen = [device(task) for task in (W0, W1, W2)]
                for server in (*cluster.servers, third):
                    assert known_at(server, session) == seen


# Long enough for the creation of a session on a busy machine, which it limits as well.
LIMIT, LONG = 1500, 60_000


def waiting_step() -> tuple[Any, Any]:
    """A step that waits for an element, and the operation that adds one."""
    queue = ops.FIFOQueue(10, "float32", shapes=[], shared_name="elements")
    return queue.dequeue(), queue.enqueue(1.0)


# -- each setting acts -----------------------------------------------------------------------------
async def test_allow_soft_placement(way: str, graph: Graph) -> None:
    with graph.device(f"{W0}/device:CPU:7"):
        y = ops.constant(1.0) + 1.0
    async with in_process(config=ConfigProto(allow_soft_placement=True)) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            assert await soon(session.run(y)) == 2.0


@pytest.mark.parametrize(
    ("of_session", "seen"), [([], [W0, W1]), (["/job:ps"], [W0, PS0, W1])], ids=["of the server alone", "of both"]
)
async def test_device_filters_of_the_server_come_before_those_of_the_session(
    of_session: list[str], seen: list[str], graph: Graph
) -> None:
    defaults = ConfigProto(device_filters=["/job:worker/task:1"])
    async with in_process({"ps": 1, "worker": 2}, config=defaults) as cluster:
        config = ConfigProto(device_filters=of_session)
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            found = [d.name for d in await session.list_devices()]
    assert found == [f"{task}/device:CPU:0" for task in seen]


@pytest.mark.usefixtures("patient_clients")
async def test_operation_timeout_in_ms_limits_the_runs_of_a_session_without_one(graph: Graph) -> None:
    element, _ = waiting_step()
    async with in_process(config=ConfigProto(operation_timeout_in_ms=LIMIT)) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            with pytest.raises(DeadlineExceededError, match=f"still at work on it: {W0}"):
                await soon(session.run(element))
            handle = await session.partial_run_setup([element], [])
            with pytest.raises(DeadlineExceededError):
                await soon(session.partial_run(handle, element))


@pytest.mark.parametrize("by", ["options", "config"])
async def test_the_limit_of_a_session_or_of_a_run_takes_its_place(by: str, graph: Graph) -> None:
    """1. A run with a limit of its own waits for an element. 2. One of a session without a limit, which began
    later, has reached the server's. 3. The first one is still there and gets its element."""
    element, add = waiting_step()
    config = ConfigProto(operation_timeout_in_ms=LONG) if by == "config" else None
    options = RunOptions(timeout_in_ms=LONG) if by == "options" else None
    async with in_process(config=ConfigProto(operation_timeout_in_ms=LIMIT)) as cluster:
        async with (
            AsyncSession(cluster.target(), graph=graph, config=config) as session,
            AsyncSession(cluster.target(), graph=graph) as plain,
        ):
            first = asyncio.create_task(session.run(element, options=options))
            await eventually(lambda: cluster.statistics()[W0].steps == 1)
            with pytest.raises(DeadlineExceededError):
                await soon(plain.run(element))
            assert not first.done()
            await soon(plain.run(add))
            assert await soon(first) == 1.0


async def test_graph_options_field_by_field(way: str, graph: Graph) -> None:
    """The server turns optimisation off, and the session asks for shapes: both act."""
    total = on(W1, lambda: ops.add(ops.constant([1.0]), ops.constant([2.0]), name="sum"))
    defaults = GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptLevel.L0))
    config = ConfigProto(graph_options=GraphOptions(infer_shapes=True))
    metadata = RunMetadata()
    async with in_process(config=ConfigProto(graph_options=defaults)) as cluster:
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            options = RunOptions(output_partition_graphs=True)
            found = await soon(session.run(total, options=options, run_metadata=metadata))
    np.testing.assert_array_equal(found, [3.0])
    (node,) = [n for g in metadata.partition_graphs for n in g.nodes if n.name == "sum"]
    assert (node.op, "_output_shapes" in node.attrs) == ("AddV2", True)


async def test_cluster_def(graph: Graph, hold_ports: HoldPorts) -> None:
    """Every session of the server sees its devices under the names that the server's settings give them."""
    (port,) = hold_ports(1)
    address = f"127.0.0.1:{port}"
    config = ConfigProto(cluster_def={"trainer": [address]})
    async with Server({"worker": [address]}, "worker", settings=ServerSettings(config=config)) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            (device,) = await session.list_devices()
    assert device.name == "/job:trainer/replica:0/task:0/device:CPU:0"


async def test_experimental_settings(graph: Graph) -> None:
    """A session that isolates its state shares it nevertheless, because the server's settings say so."""
    with on(W1):
        v = ops.Variable(0.0)
        add = v.assign_add(1.0)
    shared = Experimental(share_session_state_in_clusterspec_propagation=True)
    isolated = ConfigProto(isolate_session_state=True)
    async with in_process(config=ConfigProto(experimental=shared)) as cluster:
        async with (
            AsyncSession(cluster.target(), graph=graph, config=isolated) as one,
            AsyncSession(cluster.target(), graph=graph) as other,
        ):
            await soon(one.run(v.initializer))
            assert await soon(other.run(add)) == 1.0
            assert await soon(one.run(add)) == 2.0


async def test_what_a_session_sets_wins(graph: Graph) -> None:
    total = ops.add(ops.constant(1.0), 2.0, name="sum")
    level = OptimizerOptions(opt_level=OptLevel.L0)
    config = ConfigProto(graph_options=GraphOptions(optimizer_options=level))
    metadata = RunMetadata()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph=graph, config=config) as session:
        options = RunOptions(output_partition_graphs=True)
        await soon(session.run(total, options=options, run_metadata=metadata))
    assert "AddV2" in [n.op for g in metadata.partition_graphs for n in g.nodes]


async def test_the_masters_settings_count_and_not_those_of_the_other_tasks(graph: Graph) -> None:
    with graph.device(f"{W0}/device:CPU:7"):
        y = ops.constant(1.0) + 1.0
    soft = ConfigProto(allow_soft_placement=True)
    bind = {"worker": ["127.0.0.1:0"] * 2}
    async with (
        Server(bind, "worker", 0) as strict,
        Server({"worker": {1: "127.0.0.1:0"}}, "worker", 1, settings=ServerSettings(config=soft)) as lenient,
    ):
        spec = {"worker": [strict.target, lenient.target]}
        for server in (strict, lenient):
            server.learn_peers(spec)
        async with AsyncSession(lenient.target, graph=graph) as session:
            assert await soon(session.run(y)) == 2.0
        session = AsyncSession(strict.target, graph=graph)
        with pytest.raises(InvalidArgumentError, match="CPU:7"):
            await soon(session.run(y))
        await session.close()


# -- what a server refuses -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ConfigProto(device_filters=["nonsense::"]), r"invalid device filter: .*'nonsense::'"),
        (ConfigProto(graph_options=GraphOptions(build_cost_model_after=1)), "build_cost_model"),
        (
            ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True)),
            "a server's config has no rpc_options, got RPCOptions.use_rpc_for_inprocess_master=True",
        ),
    ],
    ids=["device_filters", "build_cost_model_after", "rpc_options"],
)
def test_a_server_refuses_what_no_session_of_it_could_have(config: ConfigProto, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(config=config))

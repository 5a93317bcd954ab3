"""``ServerSettings(config=...)`` as the default of the sessions whose master is there."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Server, ServerSettings, ops
from actorsession.config import (
    ConfigProto,
    Experimental,
    GraphOptions,
    OptimizerOptions,
    OptLevel,
    RPCOptions,
    RunMetadata,
    RunOptions,
)
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from tests.cluster.kit import PS0, W0, W1, eventually, in_process, on, soon
from tests.ports import HoldPorts

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
    with on(W1):
        total = ops.add(ops.constant([1.0]), ops.constant([2.0]), name="sum")
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

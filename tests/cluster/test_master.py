"""The master and its sessions, asked as clients do: handles, versions, repeats, collection, reset."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, GraphDef, errors, ops
from actorsession.actors import Children, Deadline, LocalRef, registry
from actorsession.config import ConfigProto
from actorsession.messages import MASTER, CloseSession, CreateSession, Done, ExtendSession, ListDevices, ResetContainers
from actorsession.rpc import Link
from actorsession.rpc.local_calls import LocalCalls
from tests.cluster.kit import PATIENCE, W0, W1, Gate, InProcess, eventually, in_process, on, run_by_frame, soon
from transports import Hello, connect


class Client:
    """Speaks to a master in messages."""

    def __init__(self, cluster: InProcess) -> None:
        ref = registry.lookup(cluster.target())
        assert isinstance(ref, LocalRef)
        self.ref = ref
        self.calls: LocalCalls | None = None
        self.sent = 0

    async def ask(self, message: Any) -> Any:
        return await (self.calls or self.ref).ask(message, Deadline.after(PATIENCE))

    async def run(self, handle: str, fetches: list[str], **more: Any) -> list[Any]:
        calls = LocalCalls(self.ref, "")
        return await soon(run_by_frame(calls, handle, fetches, **more))

    async def create(self, graph: Graph, request: str = "", **config: Any) -> Any:
        nodes = graph.get_operations()
        self.sent = len(nodes)
        return await self.ask(
            CreateSession(
                graph=GraphDef(tuple(op.plain for op in nodes)).to_wire(),
                config=ConfigProto(**config).to_wire(),
                target="",
                request_id=request,
            )
        )

    def extension(self, graph: Graph, handle: str, version: int, request: str = "") -> ExtendSession:
        new = tuple(op.plain for op in graph.get_operations()[self.sent :])
        return ExtendSession(
            session_handle=handle, graph=GraphDef(new).to_wire(), current_graph_version=version, request_id=request
        )


@pytest.fixture
def client(cluster: InProcess) -> Client:
    return Client(cluster)


# -- handles ---------------------------------------------------------------------------------------
async def test_an_unknown_session_is_aborted_for_every_call_and_fine_to_close(client: Client) -> None:
    extension = ExtendSession(session_handle="h", graph=[], current_graph_version=0, request_id="")
    unknown = f"'h' is not known to the master {W0}"
    for message in (extension, ListDevices(session_handle="h")):
        with pytest.raises(errors.AbortedError, match=unknown):
            await client.ask(message)
    with pytest.raises(errors.AbortedError, match=unknown):
        await client.run("h", ["x:0"])
    assert await client.ask(CloseSession(session_handle="h")) == Done()


# -- graphs ----------------------------------------------------------------------------------------
async def test_a_graph_that_cannot_be_right_makes_no_session(client: Client, graph: Graph, cluster: InProcess) -> None:
    with graph.device("/job:worker/task:9"):
        ops.constant(1.0)
    with pytest.raises(errors.InvalidArgumentError, match="task:9"):
        await client.create(graph)
    assert all(s.sessions == s.worker_sessions == 0 for s in cluster.statistics().values())


@pytest.mark.parametrize("wire", [[], [1], ["x", None, []], [1, None, [["n"]]]])
async def test_a_graph_in_another_form_is_a_protocol_error(client: Client, wire: list[Any]) -> None:
    with pytest.raises(errors.ProtocolError):
        await client.ask(CreateSession(graph=wire, config={}, target="", request_id=""))


async def test_a_setting_that_does_not_exist_is_an_invalid_argument(client: Client) -> None:
    message = CreateSession(graph=GraphDef(()).to_wire(), config={"colour": 1}, target="", request_id="")
    with pytest.raises(errors.InvalidArgumentError, match="colour"):
        await client.ask(message)


async def test_of_two_extensions_of_one_version_one_wins(client: Client, graph: Graph) -> None:
    created = await client.create(graph)
    ops.constant(1.0)
    messages = [client.extension(graph, created.session_handle, created.graph_version)] * 2
    outcomes: list[Any] = await asyncio.gather(*map(client.ask, messages), return_exceptions=True)
    first, second = outcomes
    assert first.graph_version == created.graph_version + 1
    assert isinstance(second, errors.AbortedError)
    assert f"version {first.graph_version}" in second.message
    assert f"made for {created.graph_version}" in second.message


async def test_a_node_that_exists_or_reads_what_does_not_is_refused_as_a_whole(client: Client, graph: Graph) -> None:
    created = await client.create(graph)
    handle, version = created.session_handle, created.graph_version
    a = ops.placeholder("float32", [], name="a")
    b = ops.identity(a, name="b")
    everything = client.extension(graph, handle, version)
    client.sent += 1
    with pytest.raises(errors.InvalidArgumentError, match="'b' reads 'a:0'") as info:
        await client.ask(client.extension(graph, handle, version))
    assert info.value.node == "b"
    assert "test_master.py:" in str(info.value.source)
    version = (await client.ask(everything)).graph_version
    with pytest.raises(errors.InvalidArgumentError, match="'b' has a name that already exists"):
        await client.ask(client.extension(graph, handle, version))
    assert await client.run(handle, [b.name], a=np.float32(3)) == [3.0]


# -- steps -----------------------------------------------------------------------------------------
async def test_an_extension_that_comes_twice_is_made_once(client: Client, graph: Graph) -> None:
    ops.constant(1.0)
    created = await client.create(graph, "r-0")
    handle = created.session_handle
    ops.constant(2.0, name="two")
    message = client.extension(graph, handle, created.graph_version, "r-1")
    assert await client.ask(message) == await client.ask(message)
    assert (await client.create(graph, "r-0")).session_handle == handle
    assert await client.run(handle, ["two:0"]) == [2.0]


async def test_names_that_are_not_in_the_graph_are_invalid_arguments(client: Client, graph: Graph) -> None:
    ops.placeholder("float32", [], name="a")
    handle = (await client.create(graph)).session_handle
    for fetch, feeds in (("b:0", {}), ("a:1", {}), ("a:0", {"b": np.float32(1.0)})):
        with pytest.raises(errors.InvalidArgumentError, match="is not a tensor of the graph"):
            await client.run(handle, [fetch], **feeds)
    with pytest.raises(errors.InvalidArgumentError, match="'b' is not an operation"):
        await client.run(handle, [], targets=["b"])
    with pytest.raises(errors.InvalidArgumentError, match="needs a fetch or a target"):
        await client.run(handle, [])


async def test_an_option_that_does_not_exist_is_an_invalid_argument(client: Client, graph: Graph) -> None:
    a = ops.constant(1.0)
    handle = (await client.create(graph)).session_handle
    with pytest.raises(errors.InvalidArgumentError, match="colour"):
        await client.run(handle, [a.name], options={"colour": 1})


async def test_nothing_can_be_told_to_a_master(client: Client, graph: Graph) -> None:
    handle = (await client.create(graph)).session_handle
    for message in (CloseSession(session_handle=handle), Done()):
        with pytest.raises(errors.UnimplementedError):
            client.ref.tell(message)
    assert len((await client.ask(ListDevices(session_handle=handle))).devices) == 2


# -- ends ------------------------------------------------------------------------------------------
async def test_a_session_ends_with_the_connection_of_its_client(cluster: InProcess, graph: Graph) -> None:
    gate = Gate("of a client that goes")
    a = ops.placeholder("float32", [], name="a")
    held = on(W1, lambda: gate(a))
    end = on(W0, lambda: held + 1.0)
    hello = Hello(cluster_id="", task="client", incarnation=1, pid=1)
    connection = await connect(cluster.target(), hello)
    link, children = Link(connection, serves={}), Children("a client")
    _ = children.start(link.run(), name="link")
    message = CreateSession(
        graph=graph.as_graph_def().to_wire(), config=ConfigProto().to_wire(), target="", request_id=""
    )
    handle = (await soon(link.ask(MASTER, message))).session_handle
    step = run_by_frame(link.steps, handle, [end.name], a=np.float32(1))
    run = children.start(step, name="a run", awaited=True)
    await gate.wait_entered()
    assert [s.worker_sessions for s in cluster.statistics().values()] == [1, 1]
    connection.abort()
    assert isinstance((await asyncio.gather(run, return_exceptions=True))[0], errors.OpError)
    gate.open()
    await eventually(lambda: cluster.server(W0).statistics().sessions == 0)
    await eventually(lambda: all(not s.worker_sessions for s in cluster.statistics().values()))
    await cluster.until_idle()
    await children.stop()


async def test_a_reset_names_a_task_that_is_not_there_and_does_not_wait_for_it(graph: Graph) -> None:
    async with in_process() as cluster:
        client = Client(cluster)
        assert await client.ask(ResetContainers(containers=[])) == Done()
        await cluster.server(W1).stop()
        with pytest.raises(errors.UnavailableError, match=f"containers were not cleared on {W1}: ") as told:
            await client.ask(ResetContainers(containers=[]))
        assert f"the sessions of {W0} are closed" in told.value.message
        assert f"{W0}: " not in told.value.message


async def test_a_creation_that_is_given_up_leaves_no_session(cluster: InProcess, graph: Graph) -> None:
    """Also one whose answer is under way, and one that the master has refused and is ending."""
    for sound in (True, False):
        if not sound:
            with on(f"{W0}/device:CPU:9"):
                ops.constant(1.0)
        for turns in range(30):
            client = Client(cluster)
            client.calls = LocalCalls(client.ref, "")
            creating = asyncio.create_task(client.create(graph))
            for _ in range(turns):
                await asyncio.sleep(0)
            creating.cancel()
            await asyncio.wait([creating])
            client.calls.end()
            await eventually(lambda: all(s.sessions == s.worker_sessions == 0 for s in cluster.statistics().values()))
    assert len((await Client(cluster).create(Graph())).session_handle) == 16
    assert W1 in cluster.statistics()

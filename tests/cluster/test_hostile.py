"""Peers who are let in and mean harm, or die at a bad moment: what they leave is put right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from actorsession import ops
from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.master.master_session import MasterSession
from actorsession.cluster.server.process_memory import process_memory
from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError, OpError, ProtocolError
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.messages.done import Done
from actorsession.messages.session import MASTER, CloseSession, CreateSession
from actorsession.messages.worker import (
    WORKER,
    CreateWorkerSession,
    GetStatus,
    RegisterGraph,
    WorkerStatus,
)  # fmt: skip
from actorsession.plan.partition import RECV
from actorsession.rpc.link import Link
from actorsession.session import AsyncSession
from tests.cluster.kit import W0, W1, InProcess, eventually, is_empty, on, soon, until_all
from transports import Hello, connect
from transports.frame import MAGIC, PREFIX, WIRE_VERSION

HOSTILE = Hello(cluster_id="", task="client", incarnation=1, pid=1)


@asynccontextmanager
async def linked(target: str) -> AsyncIterator[Link]:
    """Yields a link of somebody who may say anything."""
    link, children = Link(await connect(target, HOSTILE), serves={}), Children("hostile")
    _ = children.start(link.run(), name="hostile")
    try:
        yield link
    finally:
        await link.aclose(1.0)
        await children.stop(1.0)


async def runs(target: str) -> None:
    """Checks that sessions get right answers over both tasks."""
    with Graph().as_default() as graph:
        with on(W0):
            a = ops.constant([1.0, 2.0]) * 2.0
        with on(W1):
            b = ops.reduce_sum(a)
        options = ConfigProto(operation_timeout_in_ms=10_000)
        async with AsyncSession(target, graph, options) as session:
            assert await soon(session.run(b)) == 6.0


def create(graph: Graph) -> CreateSession:
    nodes = graph.as_graph_def()
    return CreateSession(
        graph=nodes.to_wire(), config=ConfigProto().to_wire(), target="", request_id=""
    )


def register(handle: str, *nodes: NodeDef, device: str = f"{W0}/device:CPU:0") -> RegisterGraph:
    wire = [[device, [node.to_wire() for node in nodes], []]]
    return RegisterGraph(session_handle=handle, partitions=wire)


def worker_session(handle: str, peers: dict[str, str]) -> CreateWorkerSession:
    return CreateWorkerSession(
        session_handle=handle, master_task="/job:x/replica:0/task:0", master_incarnation=1,
        isolate_session_state=False, peers=peers, task="",
    )  # fmt: skip


# -- what a graph may not do -------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", ";;;;", "a;b;c;d;e", "x" * 10**5, f"{W0};0;{W1};e;0:0"])
async def test_a_partition_with_a_key_that_is_none_is_refused_and_the_device_serves_on(
    cluster: InProcess, key: str
) -> None:
    spec = TensorSpec(float32, TensorShape([]))
    node = NodeDef(name="r", op=RECV, attrs={"key": key}, outputs=(spec,))
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", {}))
        with pytest.raises(ProtocolError, match=r"not a partition: invalid rendezvous key"):
            await link.ask(WORKER, register("h", node))
    await runs(cluster.target())


async def test_values_nested_as_deep_as_the_wire_allows_are_refused_or_carried(
    cluster: InProcess, graph: Graph
) -> None:
    nested: Any = []
    for _ in range(480):
        nested = [nested]
    ops.constant(1.0, name="c")
    message = create(graph)
    message.graph[2][0][5]["nested"] = nested
    async with linked(cluster.target()) as link:
        with suppress(OpError):
            await link.ask(MASTER, message)
    await runs(cluster.target())


# -- what a session may not do -----------------------------------------------------------------------


async def test_a_session_that_tells_wrong_addresses_cuts_no_task_off(cluster: InProcess) -> None:
    wrong = {
        W0: "tcp://127.0.0.1:1",
        W1: "tcp://127.0.0.1:1",
        "/job:x/replica:0/task:9": "tcp://h:1",
    }
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", wrong))
    await runs(cluster.target())


async def test_a_session_cannot_tell_of_tasks_without_end(cluster: InProcess) -> None:
    many = {f"/job:x/replica:0/task:{i}": "tcp://127.0.0.1:1" for i in range(20_000)}
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", many))
    assert len(cluster.server(W0)._cache._reported) < 5000


async def test_a_client_that_is_gone_while_its_session_closes_leaves_nothing(
    cluster: InProcess, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. The client asks for the end of its session. 2. The master begins to end it. 3. The client's link
    is lost, which cancels what it has asked for. 4. The workers are told nevertheless."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    stop = MasterSession.stop

    async def stop_late(self: MasterSession, *arguments: Any) -> None:
        begun.set()
        await go_on.wait()
        await stop(self, *arguments)

    ops.constant(1.0, name="c")
    async with linked(cluster.target()) as link:
        created = await link.ask(MASTER, create(graph))
        monkeypatch.setattr(MasterSession, "stop", stop_late)
        closing = link.ask(MASTER, CloseSession(session_handle=created.session_handle))
        asking = asyncio.get_running_loop().create_task(closing)
        await soon(begun.wait())
    await asyncio.wait({asking})
    assert asking.exception() is not None
    own = cluster.server(W0)._cache
    await eventually(lambda: all(k.peer != "client" for k in own.statistics()))
    go_on.set()
    await until_all([cluster.target(W0), cluster.target(W1)], is_empty)


class Impostor(Actor):
    """Says of itself that it is a worker with a device that cannot be."""

    @handles(GetStatus)
    def on_get_status(self, message: GetStatus, call: CallContext) -> WorkerStatus:
        devices = [["no:device/at:all", "CPU", 1, 0]]
        return WorkerStatus(task=W1, incarnation=5, devices=devices, statistics={}, restored=None)

    @handles(CreateWorkerSession)
    def on_create_session(self, message: CreateWorkerSession, call: CallContext) -> Done:
        return Done()


async def test_a_worker_with_impossible_devices_fails_the_creation_and_nothing_is_left(
    cluster: InProcess, graph: Graph
) -> None:
    """In a cluster without an id, a token or TLS anybody may say to be any task."""
    ops.constant(1.0, name="c")
    serves = {WORKER: Impostor("impostor").ref}
    hello = Hello(cluster_id="", task=W1, incarnation=5, pid=1)
    link, children = Link(await connect(cluster.target(), hello), serves=serves), Children("x")
    _ = children.start(link.run(), name="impostor")
    async with linked(cluster.target()) as client:
        with pytest.raises(OpError):
            await client.ask(MASTER, create(graph), Deadline.after(10))
    await link.aclose(1.0)
    await children.stop(1.0)
    await until_all([cluster.target(W0), cluster.target(W1)], is_empty)
    await runs(cluster.target())


async def test_graphs_without_a_session_go_with_whoever_registered_them(
    cluster: InProcess,
) -> None:
    """The legacy session, which has the empty handle, never ends."""
    async with linked(cluster.target()) as link:
        for _ in range(3):
            registered = await link.ask(WORKER, register("", NodeDef(name="n", op="NoOp")))
            assert registered.graph_handle
        assert cluster.server(W0).statistics().graphs == 3
    await until_all([cluster.target(W0)], is_empty)


# -- what a frame may not do -------------------------------------------------------------------------


async def test_an_announced_array_takes_memory_only_as_it_comes(cluster: InProcess) -> None:
    """8 GiB are announced and a MiB is sent: what is not sent is not held."""
    before = process_memory().resident
    connections = [await connect(cluster.target(), HOSTILE) for _ in range(4)]
    for connection in connections:
        start = PREFIX.pack(MAGIC, WIRE_VERSION, 0, 1, 1) + (8 * 2**30).to_bytes(8, "big") + b"\x90"
        connection._transport.write(start + bytes(2**20))  # type: ignore[attr-defined]
    async with linked(cluster.target()) as link:
        status = await link.ask(WORKER, GetStatus(), Deadline.after(10))
        assert status.task == W0
    assert process_memory().resident - before < 256 * 2**20
    for connection in connections:
        connection.abort()
    await runs(cluster.target())


async def test_a_graph_that_cannot_be_is_refused_with_an_error_of_the_caller(
    cluster: InProcess,
) -> None:
    async with linked(cluster.target()) as link:
        graphs: list[list[Any]] = [[], [1, None, [[1]]], [7, None, []], ["x"], [1, None, [None]]]
        for graph in graphs:
            message = CreateSession(graph=graph, config={}, target="", request_id="")
            with pytest.raises((ProtocolError, InvalidArgumentError)):
                await link.ask(MASTER, message)
    await runs(cluster.target())

"""Peers who are let in and mean harm, or die at a bad moment: what they leave is put right."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import actorsession.ops as ops
from actorsession.actors.deadline import Deadline
from actorsession.actors.link import Link
from actorsession.actors.supervision import Children
from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError, OpError, ProtocolError
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.messages import Call, encode
from actorsession.messages.session import MASTER, CloseSession, CreateSession
from actorsession.messages.worker import WORKER, CreateWorkerSession, GetStatus, RegisterGraph
from actorsession.plan.partition import RECV
from actorsession.session import AsyncSession
from tests.cluster.kit import W0, W1, InProcess, is_empty, on, soon, until_all
from transports import Frame, Hello, connect
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
    assert len(cluster.server(W0)._cache._heard) < 5000


async def test_a_client_that_closes_its_session_and_is_gone_at_once_leaves_nothing(
    cluster: InProcess, graph: Graph
) -> None:
    """1. The client asks for the end of its session. 2. The master asks the workers. 3. The client's
    connection ends, and with it the asking. 4. The workers are asked nevertheless."""
    ops.constant(1.0, name="c")
    for _ in range(5):
        connection = await connect(cluster.target(), HOSTILE)
        for number, message in enumerate((create(graph), CloseSession(session_handle="?"))):
            if number:
                handle = await _first_handle(cluster)
                message = CloseSession(session_handle=handle)
            header, segments = encode(Call(number, MASTER, 5.0, message))
            connection.write(Frame(header, segments))
            await connection.drain()
        await asyncio.sleep(0)
        connection.abort()
        await until_all([cluster.target(W0), cluster.target(W1)], is_empty)


async def _first_handle(cluster: InProcess) -> str:
    master = cluster.server(W0)._master
    assert master is not None
    async with asyncio.timeout(10):
        while not master._sessions:  # noqa: ASYNC110
            await asyncio.sleep(0)
    return next(iter(master._sessions))


# -- what a frame may not do -------------------------------------------------------------------------


def resident() -> float:
    """The memory of this process in MiB."""
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    (line,) = [text for text in status.splitlines() if text.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


async def test_an_announced_array_takes_memory_only_as_it_comes(cluster: InProcess) -> None:
    """8 GiB are announced and a MiB is sent: what is not sent is not held."""
    before = resident()
    connections = [await connect(cluster.target(), HOSTILE) for _ in range(4)]
    for connection in connections:
        start = PREFIX.pack(MAGIC, WIRE_VERSION, 0, 1, 1) + (8 * 2**30).to_bytes(8, "big") + b"\x90"
        connection._transport.write(start + bytes(2**20))  # type: ignore[attr-defined]
    async with linked(cluster.target()) as link:
        status = await link.ask(WORKER, GetStatus(), Deadline.after(10))
        assert status.task == W0
    assert resident() - before < 256
    for connection in connections:
        connection.abort()
    await runs(cluster.target())


async def test_a_graph_that_cannot_be_is_refused_with_an_error_of_the_caller(
    cluster: InProcess,
) -> None:
    async with linked(cluster.target()) as link:
        for graph in ([], [1, None, [[1]]], [7, None, []], ["x"], [1, None, [None]]):
            message = CreateSession(graph=graph, config={}, target="", request_id="")
            with pytest.raises((ProtocolError, InvalidArgumentError)):
                await link.ask(MASTER, message)
    await runs(cluster.target())

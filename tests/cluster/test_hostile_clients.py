"""Peers who are let in and mean harm, or die at a bad moment: what they leave is put right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, GraphDef, NodeDef, TensorShape, float32, int32, ops
from actorsession.actors import Actor, CallContext, Children, Deadline, handles
from actorsession.cluster.master.master_session import MasterSession
from actorsession.cluster.server.process_memory import process_memory
from actorsession.config import ConfigProto
from actorsession.config.limits import MAX_RUN_NAMES
from actorsession.errors import InvalidArgumentError, OpError, ProtocolError, ResourceExhaustedError
from actorsession.extend import TensorSpec
from actorsession.graph.function import FunctionDef
from actorsession.messages import (
    MASTER,
    WORKER,
    CloseSession,
    CreateSession,
    CreateWorkerSession,
    Done,
    ExtendSession,
    GetStatus,
    PrepareStep,
    RegisterGraph,
    WorkerStatus,
)
from actorsession.plan.partition import RECV
from actorsession.rpc import Link
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
        a = on(W0, lambda: ops.constant([1.0, 2.0]) * 2.0)
        b = on(W1, lambda: ops.reduce_sum(a))
        options = ConfigProto(operation_timeout_in_ms=10_000)
        async with AsyncSession(target, graph, options) as session:
            assert await soon(session.run(b)) == 6.0


def create(graph: Graph) -> CreateSession:
    nodes = graph.as_graph_def()
    return CreateSession(graph=nodes.to_wire(), config=ConfigProto().to_wire(), target="", request_id="")


def register(handle: str, *nodes: NodeDef, device: str = f"{W0}/device:CPU:0") -> RegisterGraph:
    wire = [[device, [node.to_wire() for node in nodes], []]]
    return RegisterGraph(session_handle=handle, partitions=wire)


def worker_session(handle: str, peers: dict[str, str]) -> CreateWorkerSession:
    return CreateWorkerSession(
        session_handle=handle,
        master_task="/job:x/replica:0/task:0",
        master_incarnation=1,
        isolate_session_state=False,
        peers=peers,
        task="",
    )


# -- what a graph may not do -------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["", ";;;;", "a;b;c;d;e", "x" * 10**5, f"{W0};0;{W1};e;0:0"])
async def test_a_partition_with_a_wrong_key_is_refused_and_the_device_serves_on(cluster: InProcess, key: str) -> None:
    spec = TensorSpec(float32, TensorShape([]))
    node = NodeDef(name="r", op=RECV, attrs={"key": key}, outputs=(spec,))
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", {}))
        with pytest.raises(ProtocolError, match=r"not a partition: invalid rendezvous key"):
            await link.ask(WORKER, register("h", node))
    await runs(cluster.target())


def _renamed(nodes: Any, name: Any) -> None:
    nodes[2][0] = name


def _with(nodes: Any, number: int, **attrs: Any) -> None:
    nodes[number][5].update(attrs)


def _inside(nodes: Any, change: Callable[[Any], None]) -> None:
    """Changes the function of the branch."""
    function = nodes[3][5]["then_branch"].to_wire()
    change(function[2])
    nodes[3][5]["then_branch"] = FunctionDef.from_wire(function)


NO_GRAPHS: dict[str, tuple[Callable[[Any], None], str]] = {
    "two nodes of one name": (lambda n: n.append(n[0]), "is not unique"),
    "a name with a space": (lambda n: _renamed(n, "a b"), "does not match"),
    "no name": (lambda n: _renamed(n, ""), "does not match"),
    "a name of control characters": (lambda n: _renamed(n, "a\x1b[2J"), "does not match"),
    "a reserved name": (lambda n: _renamed(n, "_send"), "does not match"),
    "an unknown input": (lambda n: n[2][2].append(["nobody", 0]), "nobody:0"),
    "an input that is no name": (lambda n: n[2][2].append(["a b", 0]), "'a b'"),
    "a negative index": (lambda n: n[2][2].append(["a", -1]), "a:-1"),
    "an unknown control input": (lambda n: n[2][3].append("nobody"), "nobody"),
    "a control input that is no name": (lambda n: n[2][3].append("^a"), "'\\^a'"),
    "one input too many": (lambda n: n[2][2].append(["a", 0]), "takes the inputs x, y"),
    "one output too many": (lambda n: n[2][6].append(n[2][6][0]), "outputs of the types"),
    "outputs of another type": (lambda n: n[2][6].__setitem__(0, [int32, TensorShape([])]), "int32"),
    "groups of bytes": (lambda n: _with(n, 2, _class=[b"loc:@a"]), "_class"),
    "groups that are no list": (lambda n: _with(n, 2, _class=5), "_class"),
    "a constant that is text": (lambda n: _with(n, 0, value="text"), "of type tensor, got str"),
    "a constant that is none": (lambda n: n[0][5].clear(), "no attribute 'value'"),
    "a constant of another type": (lambda n: _with(n, 0, value=np.int32(1)), "types int32, got float32"),
    "a number for a type": (lambda n: _with(n, 1, dtype=1), "of type type, got int"),
    "text for a shape": (lambda n: _with(n, 1, shape="[2]"), "of type shape"),
    "a function that is none": (lambda n: _with(n, 3, else_branch=[]), "else_branch"),
    "two nodes of one name in a branch": (
        lambda n: _inside(n, lambda inner: inner.append(inner[0])),
        "is taken or reserved",
    ),
    "a constant in a branch that is text": (
        lambda n: _inside(n, lambda inner: inner[0][5].update(value="text")),
        "got str",
    ),
    "a name in a branch with a space": (
        lambda n: _inside(n, lambda inner: inner[0].__setitem__(0, "a b")),
        "does not match",
    ),
    "groups of bytes in a branch": (
        lambda n: _inside(n, lambda inner: inner[0][5].update(_class=[b"loc:@a"])),
        "_class",
    ),
}


def _small_graph() -> Any:
    """Returns a constant, a placeholder, their sum, a branch, and nothing else, in wire form."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [], name="x")
        total = ops.raw.Add(ops.constant(1.0, name="a"), x)
        ops.cond(ops.raw.IsFinite(total), lambda: ops.constant(1.0), lambda: ops.constant(2.0))
    by_type = {node.op: node for node in graph.as_graph_def().nodes}
    types = ("Const", "Placeholder", "Add", "If", "IsFinite")
    return GraphDef(tuple(by_type[op] for op in types)).to_wire()


async def test_a_graph_that_is_none_is_refused_by_the_master_with_the_node(cluster: InProcess) -> None:
    async with linked(cluster.target()) as link:
        created = await link.ask(MASTER, create(Graph()))
        for name, (change, told) in NO_GRAPHS.items():
            wrong = _small_graph()
            change(wrong[2])
            extend = ExtendSession(
                session_handle=created.session_handle,
                graph=wrong,
                request_id=name,
                current_graph_version=created.graph_version,
            )
            for message in (replace(create(Graph()), graph=wrong), extend):
                with pytest.raises(InvalidArgumentError, match=told):
                    await link.ask(MASTER, message)
        await link.ask(MASTER, replace(extend, graph=_small_graph(), request_id="right"))


async def test_a_partition_that_is_none_is_refused_by_the_worker(cluster: InProcess) -> None:
    device = f"{W0}/device:CPU:0"
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", {}))
        for name, (change, _) in NO_GRAPHS.items():
            nodes = _small_graph()[2]
            change(nodes)
            is_finite = next(node for node in nodes if node[1] == "IsFinite")
            nodes.remove(is_finite)
            nodes.insert(3, is_finite)  # producers come first
            message = RegisterGraph(session_handle="h", partitions=[[device, nodes, []]])
            if "a name" in name or name in ("no name", "a reserved name"):
                continue  # nodes of plans have names of their own
            with pytest.raises(ProtocolError, match="not a partition"):
                await link.ask(WORKER, message)


async def test_a_run_of_too_many_names_is_refused_and_told_how_to_raise_that(cluster: InProcess, graph: Graph) -> None:
    ops.constant(1.0, name="c")
    names = ["c:0"] * (MAX_RUN_NAMES + 1)
    told = r"the run has 65537 feeds, .* limit is 65536: .* ACTORSESSION_MAX_RUN_NAMES raises it"
    async with linked(cluster.target()) as link:
        created = await link.ask(MASTER, create(graph))
        step = PrepareStep(session_handle=created.session_handle, feeds=[], fetches=names, targets=[], partial=False)
        with pytest.raises(ResourceExhaustedError, match=told):
            await link.ask(MASTER, step)


async def test_values_as_deep_as_the_wire_allows_are_refused_or_carried(cluster: InProcess, graph: Graph) -> None:
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
    wrong = {W0: "tcp://127.0.0.1:1", W1: "tcp://127.0.0.1:1", "/job:x/replica:0/task:9": "tcp://h:1"}
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", wrong))
    await runs(cluster.target())


async def test_a_session_cannot_tell_of_tasks_without_end(cluster: InProcess) -> None:
    many = {f"/job:x/replica:0/task:{i}": "tcp://127.0.0.1:1" for i in range(20_000)}
    async with linked(cluster.target()) as link:
        await link.ask(WORKER, worker_session("h", many))
    assert len(cluster.server(W0)._cache.addresses._reported) < 5000


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


async def test_a_worker_with_impossible_devices_fails_the_creation_alone(cluster: InProcess, graph: Graph) -> None:
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


async def test_graphs_without_a_session_go_with_whoever_registered_them(cluster: InProcess) -> None:
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


async def test_a_graph_that_cannot_be_is_refused_with_an_error_of_the_caller(cluster: InProcess) -> None:
    async with linked(cluster.target()) as link:
        graphs: list[list[Any]] = [[], [1, None, [[1]]], [7, None, []], ["x"], [1, None, [None]]]
        for graph in graphs:
            message = CreateSession(graph=graph, config={}, target="", request_id="")
            with pytest.raises((ProtocolError, InvalidArgumentError)):
                await link.ask(MASTER, message)
    await runs(cluster.target())

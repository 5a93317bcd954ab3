"""Requests that come twice: asked again over a proxy that has lost the reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actorsession import ops
from actorsession.actors import Children, Deadline
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, InvalidArgumentError, UnavailableError
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.messages import (
    MASTER,
    CloseSession,
    CreateSession,
    ExtendSession,
    PartialRun,
    PartialRunReady,
    PartialRunSetup,
    RunStep,
    SessionCreated,
    StepDone,
)
from actorsession.rpc import Link
from actorsession.session import AsyncSession
from tests.cluster.kit import PATIENCE, W0, W1, Gate, InProcess, eventually, on, soon
from tests.cluster.lost_replies import LossyProxy, lossy_proxy
from transports import Hello, connect


@pytest.fixture
async def proxy(cluster: InProcess) -> AsyncIterator[LossyProxy]:
    async with lossy_proxy(cluster.target()) as made:
        yield made


class Client:
    """Speaks to a master in messages, over connections of its own."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.children = Children("a client")
        self.link: Link | None = None

    async def dial(self) -> Link:
        """A new connection, in place of the one there was."""
        hello = Hello(cluster_id="", task="client", incarnation=1, pid=1)
        self.link = Link(await connect(self.target, hello), serves={})
        _ = self.children.start(self.link.run(), name="link")
        return self.link

    async def ask(self, message: Any) -> Any:
        link = self.link or await self.dial()
        return await link.ask(MASTER, message, Deadline.after(PATIENCE))

    async def ask_twice(self, proxy: LossyProxy, answer: str, message: Any) -> Any:
        """Asks, and asks again over another connection when the master has answered in vain.

        The old connection is half open: the master does not hear of its end.
        """
        proxy.lose(answer)
        first = asyncio.create_task(self.ask(message))
        await soon(proxy.until_lost())
        proxy.cut(half=True)
        with pytest.raises(UnavailableError):
            await soon(first)
        await self.dial()
        return await self.ask(message)


@asynccontextmanager
async def client_of(target: str) -> AsyncIterator[Client]:
    made = Client(target)
    try:
        yield made
    finally:
        if made.link is not None:
            await made.link.aclose()
        await made.children.stop()


@pytest.fixture
async def client(proxy: LossyProxy) -> AsyncIterator[Client]:
    async with client_of(proxy.target) as made:
        yield made


def create(graph: Graph, request_id: str = "create") -> CreateSession:
    nodes = tuple(op.plain for op in graph.get_operations())
    return CreateSession(
        graph=GraphDef(nodes).to_wire(), config=ConfigProto().to_wire(), target="",
        request_id=request_id,
    )  # fmt: skip


def run(handle: str, fetch: str, request_id: str = "run", **feeds: Any) -> RunStep:
    return RunStep(
        session_handle=handle, feeds={f"{name}:0": value for name, value in feeds.items()},
        fetches=[fetch], targets=[], options={}, request_id=request_id,
    )  # fmt: skip


class Counter:
    """A variable that counts how often ``count`` has run."""

    def __init__(self) -> None:
        with on(W1):
            v = ops.Variable(0.0, name="v")
            self.init = ops.identity(v.assign(0.0), name="init")
            self.count = ops.identity(v.assign_add(1.0), name="count")
            self.read = ops.identity(v, name="read")

    async def start(self, client: Client, graph: Graph) -> str:
        created = await client.ask(create(graph, "start"))
        await client.ask(run(created.session_handle, "init:0", "init"))
        return str(created.session_handle)

    async def counted(self, client: Client, handle: str) -> float:
        return float((await client.ask(run(handle, "read:0", ""))).values[0])


# -- sessions --------------------------------------------------------------------------------------


async def test_a_session_that_is_asked_for_again_is_the_same_one(
    cluster: InProcess, proxy: LossyProxy, client: Client, graph: Graph
) -> None:
    """1. The master makes the session; its answer is lost. 2. The client asks again over another
    connection. 3. It is given that session, which outlives the old connection."""
    ops.constant(1.0, name="one")
    created = await client.ask_twice(proxy, "session_created", create(graph))
    assert isinstance(created, SessionCreated)
    assert cluster.server(W0).statistics().sessions == 1
    proxy.cut_other_half()
    await eventually(
        lambda: len(cluster.server(W0).statistics().links) == 2
    )  # worker 1, and the new one
    assert (await client.ask(run(created.session_handle, "one:0"))).values == [1.0]
    await client.ask(CloseSession(session_handle=created.session_handle))


async def test_a_repeat_waits_for_a_session_that_is_being_made(
    cluster: InProcess, client: Client, graph: Graph
) -> None:
    ops.constant(1.0)
    message = create(graph)
    first, second = await asyncio.gather(client.ask(message), client.ask(message))
    assert first == second
    assert cluster.server(W0).statistics().sessions == 1
    await client.ask(CloseSession(session_handle=first.session_handle))


async def test_a_repeat_after_the_end_of_a_session_makes_a_new_one(
    client: Client, graph: Graph
) -> None:
    ops.constant(1.0)
    first = await client.ask(create(graph))
    await client.ask(CloseSession(session_handle=first.session_handle))
    second = await client.ask(create(graph))
    assert first.session_handle != second.session_handle
    await client.ask(CloseSession(session_handle=second.session_handle))


async def test_a_client_asks_again_by_itself_for_a_session_whose_answer_was_lost(
    cluster: InProcess, proxy: LossyProxy, graph: Graph
) -> None:
    a = ops.placeholder("float32", [], name="a")
    proxy.lose("session_created")
    session = AsyncSession(proxy.target, graph=graph)
    value = asyncio.create_task(session.run(a + 1.0, {a: 1.0}))
    await soon(proxy.until_lost())
    proxy.cut()
    assert await soon(value) == 2.0
    assert proxy.connections == 2
    await eventually(lambda: cluster.server(W0).statistics().sessions == 1)
    await session.close()


async def test_a_client_does_not_ask_for_a_session_for_ever(
    proxy: LossyProxy, graph: Graph
) -> None:
    a = ops.placeholder("float32", [], name="a")
    session = AsyncSession(proxy.target, graph=graph)
    value = asyncio.create_task(session.run(a + 1.0, {a: 1.0}))
    for _ in range(3):
        proxy.lose("session_created")
        await soon(proxy.until_lost())
        proxy.cut()
    with pytest.raises(UnavailableError):
        await soon(value)
    assert proxy.connections == 3
    assert await soon(session.run(a + 1.0, {a: 1.0})) == 2.0
    await session.close()


async def test_an_extension_that_is_sent_again_is_made_once(
    proxy: LossyProxy, client: Client, graph: Graph
) -> None:
    ops.constant(1.0, name="one")
    created = await client.ask(create(graph))
    new = ops.constant(2.0, name="two").op.plain
    message = ExtendSession(
        session_handle=created.session_handle, graph=GraphDef((new,)).to_wire(),
        current_graph_version=created.graph_version, request_id="extend",
    )  # fmt: skip
    first = await client.ask(message)
    assert await client.ask(message) == first
    assert (await client.ask(run(created.session_handle, "two:0"))).values == [2.0]
    stale = ExtendSession(
        session_handle=created.session_handle, graph=[],
        current_graph_version=created.graph_version, request_id="another",
    )  # fmt: skip
    with pytest.raises(AbortedError, match="the extension was made for"):
        await client.ask(stale)
    await client.ask(CloseSession(session_handle=created.session_handle))


# -- runs ------------------------------------------------------------------------------------------


async def test_a_run_whose_answer_was_lost_is_not_run_again(
    proxy: LossyProxy, client: Client, graph: Graph
) -> None:
    counter = Counter()
    handle = await counter.start(client, graph)
    with pytest.raises(AbortedError, match="'run' was run already"):
        await client.ask_twice(proxy, "step_done", run(handle, "count:0"))
    assert await counter.counted(client, handle) == 1.0
    assert (await client.ask(run(handle, "count:0", "another"))).values == [2.0]


async def test_a_repeat_of_a_run_under_way_joins_it(
    cluster: InProcess, client: Client, graph: Graph
) -> None:
    gate, counter = Gate("retries"), Counter()
    with on(W1):
        ops.identity(gate(counter.count), name="held")
    handle = await counter.start(client, graph)
    message = run(handle, "held:0")
    first = asyncio.create_task(client.ask(message))
    await gate.wait_entered()
    second = asyncio.create_task(client.ask(message))
    third = asyncio.create_task(client.ask(message))
    await asyncio.sleep(0)
    third.cancel()  # whoever has joined may leave; the run goes on
    gate.open()
    done, again = await soon(asyncio.gather(first, second))
    assert done.values == again.values == [1.0]
    assert gate.entered == 1
    with pytest.raises(AbortedError, match="was run already"):
        await client.ask(message)
    await cluster.until_idle()


async def test_a_repeat_of_a_run_that_fails_is_told_the_same_or_that_it_was_run(
    client: Client, graph: Graph
) -> None:
    ops.placeholder("float32", [], name="a")
    created = await client.ask(create(graph))
    message = run(created.session_handle, "a:0")
    with pytest.raises(InvalidArgumentError, match="feed a value"):
        await client.ask(message)
    with pytest.raises(AbortedError, match="was run already"):
        await client.ask(message)
    await client.ask(CloseSession(session_handle=created.session_handle))


# -- partial runs ----------------------------------------------------------------------------------


async def test_a_partial_run_that_is_set_up_again_is_the_same_one(
    cluster: InProcess, proxy: LossyProxy, client: Client, graph: Graph
) -> None:
    counter = Counter()
    a = ops.placeholder("float32", [], name="a")
    with on(W1):
        ops.add(counter.count, a, name="sum")
    handle = await counter.start(client, graph)
    setup = PartialRunSetup(
        session_handle=handle, feeds=["a:0"], fetches=["count:0", "sum:0"], targets=[],
        request_id="setup",
    )  # fmt: skip
    ready: PartialRunReady = await client.ask_twice(proxy, "partial_run_ready", setup)
    assert await client.ask(setup) == ready
    assert [s.steps for s in cluster.statistics().values()] == [0, 1]

    def call(fetch: str, request_id: str, **feeds: Any) -> PartialRun:
        return PartialRun(
            session_handle=handle, partial_run_handle=ready.partial_run_handle,
            feeds={f"{name}:0": value for name, value in feeds.items()}, fetches=[fetch],
            timeout_in_ms=0, request_id=request_id,
        )  # fmt: skip

    with pytest.raises(AbortedError, match="'first' was run already"):
        await client.ask_twice(proxy, "step_done", call("count:0", "first"))
    assert await client.ask(call("sum:0", "last", a=10.0)) == StepDone(values=[11.0], metadata=None)
    assert await counter.counted(client, handle) == 1.0

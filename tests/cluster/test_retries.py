"""Requests that come twice: asked again over a proxy that has lost the reply. Runs are not asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, GraphDef, ops
from actorsession.actors import Children, Deadline
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, UnavailableError
from actorsession.messages import MASTER, CloseSession, CreateSession, ExtendSession, SessionCreated
from actorsession.rpc import Link
from tests.cluster.kit import PATIENCE, W0, InProcess, eventually, run_by_frame, soon
from transports import Hello, connect


class LossyProxy:
    """Passes everything on, until it is told to lose the answers of the server.

    Attributes:
        connections: how many clients have connected so far.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listening: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()
        self._servers: set[asyncio.StreamWriter] = set()
        self._tag: bytes | None = None
        self._losing = False
        self._half_open: set[asyncio.StreamWriter] = set()  # to the server, without a client
        self._lost = asyncio.Event()
        self.connections = 0

    async def start(self) -> None:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    @property
    def target(self) -> str:
        assert self._listening is not None
        return f"tcp://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    def lose(self, tag: str) -> None:
        """Loses the next answer of this tag, and all that the server says after it."""
        self._tag = tag.encode()
        self._lost.clear()

    async def until_lost(self) -> None:
        """Waits until that answer was given, and lost."""
        await self._lost.wait()

    def cut(self, *, half: bool = False) -> None:
        """Ends all connections, or the client's half of each: the server does not hear of it. Later connections are
        passed on as they are."""
        self._tag, self._losing = None, False
        if half:
            self._half_open |= self._servers
        for writer in self._clients if half else self._clients | self._servers:
            writer.transport.abort()

    def cut_other_half(self) -> None:
        """Ends the connections to the server whose clients are gone."""
        for writer in self._half_open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answers, server = await asyncio.open_connection(*self._server)
        self._clients.add(writer)
        self._servers.add(server)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._ask(reader, server))
                group.create_task(self._answer(answers, writer))
        finally:
            self._clients.discard(writer)
            self._servers.discard(server)
            writer.close()
            server.close()

    async def _ask(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                server.write(data)
                await server.drain()
        if server not in self._half_open:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self._tag is not None and self._tag in data:
                    self._losing = True
                    self._lost.set()
                if not (self._losing or client.transport.is_closing()):
                    client.write(data)
                    await client.drain()
        client.close()

    async def aclose(self) -> None:
        assert self._listening is not None
        self._listening.close()
        self.cut()
        async with asyncio.timeout(60):
            while self._servers:  # noqa: ASYNC110 - the ends of its own children
                await asyncio.sleep(0)
        await self._listening.wait_closed()


@asynccontextmanager
async def lossy_proxy(target: str) -> AsyncIterator[LossyProxy]:
    """A proxy in front of a tcp server."""
    host, _, port = target.removeprefix("tcp://").rpartition(":")
    proxy = LossyProxy(host, int(port))
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.aclose()


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

    async def run(self, handle: str, fetch: str) -> list[Any]:
        link = self.link or await self.dial()
        return await soon(run_by_frame(link.steps, handle, [fetch]))

    async def ask_twice(self, proxy: LossyProxy, answer: str, message: Any) -> Any:
        """Asks, and asks again over another connection when the master has answered in vain. The old connection is half
        open: the master does not hear of its end."""
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
        graph=GraphDef(nodes).to_wire(), config=ConfigProto().to_wire(), target="", request_id=request_id
    )


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
    await eventually(lambda: len(cluster.server(W0).statistics().links) == 2)  # worker 1, and the new one
    assert await client.run(created.session_handle, "one:0") == [1.0]
    await client.ask(CloseSession(session_handle=created.session_handle))


async def test_a_repeat_waits_for_the_session_being_made(cluster: InProcess, client: Client, graph: Graph) -> None:
    ops.constant(1.0)
    message = create(graph)
    first, second = await asyncio.gather(client.ask(message), client.ask(message))
    assert first == second
    assert cluster.server(W0).statistics().sessions == 1
    await client.ask(CloseSession(session_handle=first.session_handle))


async def test_a_repeat_after_the_end_of_a_session_makes_a_new_one(client: Client, graph: Graph) -> None:
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


async def test_a_client_does_not_ask_for_a_session_for_ever(proxy: LossyProxy, graph: Graph) -> None:
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


async def test_an_extension_that_is_sent_again_is_made_once(proxy: LossyProxy, client: Client, graph: Graph) -> None:
    ops.constant(1.0, name="one")
    created = await client.ask(create(graph))
    new = ops.constant(2.0, name="two").op.plain
    message = ExtendSession(
        session_handle=created.session_handle,
        graph=GraphDef((new,)).to_wire(),
        current_graph_version=created.graph_version,
        request_id="extend",
    )
    first = await client.ask(message)
    assert await client.ask(message) == first
    assert await client.run(created.session_handle, "two:0") == [2.0]
    stale = ExtendSession(
        session_handle=created.session_handle,
        graph=[],
        current_graph_version=created.graph_version,
        request_id="another",
    )
    with pytest.raises(AbortedError, match="the extension was made for"):
        await client.ask(stale)
    await client.ask(CloseSession(session_handle=created.session_handle))

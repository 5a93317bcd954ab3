"""A proxy between a client and a master that loses replies: a real one, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

__all__ = ["LossyProxy", "lossy_proxy"]


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

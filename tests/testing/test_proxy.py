"""The network of the fault tests does what it says: otherwise they would prove nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actorsession.testing.faults import CHUNK, Proxy, Way
from tests.cluster.kit import eventually, soon


class Ends:
    """A dialler and a server, joined by a proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.heard = b""
        self.ended: BaseException | str | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK):
                self.heard += data
                writer.write(data.upper())
            self.ended = "in order"
        except OSError as exc:
            self.ended = exc
        writer.close()


@asynccontextmanager
async def joined() -> AsyncIterator[tuple[Ends, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that shouts back what it hears."""
    ends: list[Ends] = []
    server = await asyncio.start_server(lambda r, w: ends[0].serve(r, w), "127.0.0.1", 0)
    async with server:
        target = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with Proxy(target) as proxy:
            ends.append(Ends(proxy))
            port = int(proxy.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"a")
                assert await soon(reader.read(CHUNK)) == b"A"
                yield ends[0], reader, writer
            finally:
                writer.transport.abort()
        await eventually(lambda: ends[0].ended is not None)


async def test_bytes_of_a_long_way_come_later_and_as_many_at_once() -> None:
    async with joined() as (ends, reader, writer):
        ends.proxy.delay(0.05)
        begin = asyncio.get_running_loop().time()
        writer.write(b"bc" * 10 * CHUNK)
        assert await soon(reader.readexactly(20 * CHUNK)) == b"BC" * 10 * CHUNK
        assert asyncio.get_running_loop().time() - begin >= 0.1
        ends.proxy.heal()
        writer.write(b"d")
        assert await soon(reader.readexactly(1)) == b"D"


async def test_bytes_and_ends_pass_in_both_directions() -> None:
    async with joined() as (ends, reader, writer):
        writer.write(b"bc" * CHUNK)
        assert await soon(reader.readexactly(2 * CHUNK)) == b"BC" * CHUNK
        writer.write_eof()
        assert await soon(reader.read()) == b""
        assert ends.ended == "in order"
        assert ends.proxy.passed == {Way.THERE: 2 * CHUNK + 1, Way.BACK: 2 * CHUNK + 1}


async def test_what_is_swallowed_on_the_way_there_never_arrives_and_healing_resets() -> None:
    async with joined() as (ends, reader, writer):
        ends.proxy.swallow(Way.THERE)
        writer.write(b"lost")
        writer.write_eof()
        await eventually(lambda: any(pair.lost for pair in ends.proxy._pairs))
        assert (ends.heard, ends.ended) == (b"a", None)
        ends.proxy.heal()
        with pytest.raises(ConnectionResetError):
            await soon(reader.read(CHUNK))
        assert ends.heard == b"a"


async def test_what_is_swallowed_on_the_way_back_is_heard_by_the_server_alone() -> None:
    async with joined() as (ends, reader, writer):
        ends.proxy.swallow(Way.BACK)
        writer.write(b"b")
        await eventually(lambda: ends.heard == b"ab")
        await eventually(lambda: any(pair.lost for pair in ends.proxy._pairs))
        ends.proxy.heal()
        with pytest.raises(ConnectionResetError):
            await soon(reader.read(CHUNK))


async def test_what_is_held_back_goes_on() -> None:
    async with joined() as (ends, reader, writer):
        ends.proxy.hold()
        writer.write(b"b")
        ends.proxy.heal()
        assert await soon(reader.read(CHUNK)) == b"B"


async def test_only_connections_of_one_dialler_are_swallowed() -> None:
    """Whoever dials is known by what it says first."""
    async with joined() as (ends, reader, writer):
        ends.proxy.swallow(of="somebody else")
        writer.write(b"b")
        assert await soon(reader.read(CHUNK)) == b"B"
        ends.proxy.swallow(of="a")
        writer.write(b"c")
        await eventually(lambda: any(pair.lost for pair in ends.proxy._pairs))
        assert ends.heard == b"ab"


async def test_a_cut_resets_what_there_is_and_what_comes() -> None:
    async with joined() as (ends, reader, _):
        ends.proxy.cut()
        with pytest.raises(ConnectionResetError):
            await soon(reader.read(CHUNK))
        await eventually(lambda: ends.ended is not None)
        port = int(ends.proxy.address.rpartition(":")[2])
        other, writer = await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises(ConnectionResetError):
            await soon(other.read(CHUNK))
        writer.transport.abort()


async def test_a_slow_link_passes_everything() -> None:
    async with joined() as (ends, reader, writer):
        ends.proxy.slow(50 * CHUNK)
        writer.write(b"b" * 4 * CHUNK)
        assert await soon(reader.readexactly(4 * CHUNK)) == b"B" * 4 * CHUNK


async def test_a_proxy_that_shuts_refuses_once_nobody_is_at_home_until_it_is_opened() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    async def dial(proxy: Proxy) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.address.rpartition(":")[2]))
        try:
            return await soon(reader.read())
        finally:
            writer.transport.abort()

    async with Proxy(f"tcp://127.0.0.1:{port}", shuts=True) as proxy:
        with pytest.raises(ConnectionResetError):
            await dial(proxy)
        with pytest.raises(ConnectionRefusedError):
            await dial(proxy)
        again = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)
        async with again:
            proxy.open()
            assert await dial(proxy) == b""

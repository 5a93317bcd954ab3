"""Strangers at a listener: how many it holds, how long, and how much they may say."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from errno import EMFILE
from typing import Any

import pytest

from tests.transports.peers import PS, WORKER, echo, log_of_transports, numbered, open_raw, place, start, until
from transports import ConnectError, Frame, Listener, connect, encode_frame, listen, parse_address
from transports.decoder import READ_SIZE
from transports.frame import HANDSHAKE_VERSION, PREFIX
from transports.handshake import MAX_MESSAGE, NONCE_SIZE, Handshake, Role, Send
from transports.stream import descriptors, sockets
from transports.stream import listener as stream_listener
from transports.stream.bytestream import ByteStreams
from transports.stream.listener import STRANGER_LIMIT, StreamListener


async def assert_serves(listener: Listener) -> None:
    """Check that a listener still does what it is there for."""
    async with await connect(listener.address, WORKER, timeout=60) as connection:
        connection.write(numbered(1))
        assert await connection.recv() == numbered(1)


@pytest.fixture(params=["bound", "share of the descriptors"])
def room_for_three(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    limit: tuple[Any, str, Any] = (stream_listener, "MAX_HANDSHAKES", 3)
    if request.param != "bound":
        limit = (descriptors, "strangers_share", lambda: 3)
    monkeypatch.setattr(*limit)


async def wait_for_handshakes(listener: Listener, count: int) -> None:
    assert isinstance(listener, StreamListener)
    handshakes = listener._in_handshake
    await until(lambda: len(handshakes) == count)


@pytest.mark.usefixtures("room_for_three")
async def test_one_stranger_too_many_pushes_out_the_one_that_has_waited_longest(socket_address: str) -> None:
    with log_of_transports() as records:
        async with await listen(socket_address, PS, echo) as listener:
            streams = []
            for count in (1, 2, 3):
                streams.append(await open_raw(listener))
                await wait_for_handshakes(listener, count)
            streams.append(await open_raw(listener))
            with suppress(ConnectionResetError):
                assert await streams[0][0].read() == b""
            assert "has been in it longest" in (await records.get()).getMessage()
            readers = [await start(reader.read(), "read") for reader, _ in streams[1:]]
            await wait_for_handshakes(listener, 3)
            assert not any(reader.done() for reader in readers)
            for _, writer in streams:
                writer.transport.abort()
            await asyncio.gather(*readers, return_exceptions=True)


@pytest.mark.usefixtures("room_for_three")
async def test_idle_strangers_keep_no_peer_out(socket_address: str) -> None:
    async with await listen(socket_address, PS, echo) as listener:
        streams = [await open_raw(listener) for _ in range(10)]
        for _ in range(5):
            await assert_serves(listener)
        for _, writer in streams:
            writer.transport.abort()


@pytest.mark.usefixtures("room_for_three")
async def test_who_has_shaken_hands_is_no_stranger_and_takes_no_room(socket_address: str) -> None:
    async with await listen(socket_address, PS, echo) as listener:
        peers = [await connect(listener.address, WORKER, timeout=60) for _ in range(8)]
        await wait_for_handshakes(listener, 0)
        for number, peer in enumerate(peers):
            peer.write(numbered(number))
            assert await peer.recv() == numbered(number)
            await peer.aclose()


async def test_a_peer_that_would_take_a_descriptor_of_the_processs_own_is_told_so_and_may_come_later(
    socket_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await listen(socket_address, PS, echo) as listener, await connect(listener.address, WORKER, timeout=60):
        with monkeypatch.context() as patch:
            # The next descriptor is in the lower half of the kept ones, the last quarter.
            held = [os.dup(0) for _ in range(100)]
            patch.setattr(resource, "getrlimit", lambda which: 2 * (held[-1] * 5 // 4,))
            with pytest.raises(ConnectError, match="are kept for its files") as info:
                await connect(listener.address, WORKER, timeout=60)
            assert (info.value.phase, info.value.errno) == ("hello", EMFILE)
            for descriptor in held:
                os.close(descriptor)
        await assert_serves(listener)


async def test_where_hardly_a_descriptor_is_left_a_stranger_is_not_even_asked_who_he_is(
    socket_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await listen(socket_address, PS, echo) as listener:
        with monkeypatch.context() as patch, log_of_transports() as records:
            patch.setattr(resource, "getrlimit", lambda which: (1, 1))
            reader, writer = await open_raw(listener)
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            assert "are kept for its files" in (await records.get()).getMessage()
            writer.transport.abort()
        await assert_serves(listener)


@pytest.mark.parametrize(("limit", "strangers", "kept"), [(256, 64, 192), (1024, 256, 768), (10**6, 250_000, 998_976)])
def test_a_quarter_of_a_low_limit_is_the_processs_own_and_a_quarter_is_for_strangers(
    limit: int, strangers: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert (descriptors.strangers_share(), descriptors.kept_from()) == (strangers, kept)


async def test_a_stranger_that_floods_is_not_read_ahead(socket_address: str) -> None:
    """What the kernel holds is its own affair; this process takes a few buffers and no more."""
    reading: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> ByteStreams:
        reading.set_result(reader)
        await asyncio.Event().wait()
        raise AssertionError("an event that nobody sets was set")

    async with await _listen_by(socket_address, never) as listener:
        _, writer = await open_raw(listener)
        writer.write(bytes(2**26))
        stranger = await reading
        buffer: bytearray = stranger._buffer  # type: ignore[attr-defined]
        await until(lambda: len(buffer) > 2 * STRANGER_LIMIT)
        left = None
        while left != writer.transport.get_write_buffer_size():  # until the kernel takes no more
            left = writer.transport.get_write_buffer_size()
            for _ in range(100):
                await asyncio.sleep(0)
        assert left > 2**24
        assert len(buffer) <= 2 * STRANGER_LIMIT + READ_SIZE
        writer.transport.abort()


async def _listen_by(
    address: str, secure: Callable[[asyncio.StreamReader, asyncio.StreamWriter, str], Awaitable[ByteStreams]]
) -> Listener:
    family, name = place(address)
    sock = socket.socket(family)
    sock.bind(name)
    wanted = parse_address(address)
    found = wanted if wanted.port is None else sockets.tcp_address(wanted.scheme, sock)
    listener = StreamListener(found, PS, echo, token=None, handshake_timeout=10, secure=secure)
    await listener.start(sock)
    return listener


async def test_a_peer_may_say_more_than_a_stranger(socket_address: str) -> None:
    large = Frame(b"head", (bytes(8 * 2**20),))
    async with await listen(socket_address, PS, echo) as listener:
        async with await connect(listener.address, WORKER, timeout=60) as peer:
            peer.write(large)
            assert await peer.recv() == large


async def test_a_hello_of_the_largest_size_is_read_and_one_byte_more_is_not() -> None:
    """Measured against the limit itself, and not against what a hello of ours takes."""
    core = Handshake(Role.DIALLER, WORKER, nonce=bytes(NONCE_SIZE))
    (said,) = core.start()
    assert isinstance(said, Send)
    padded = said.header + bytes(MAX_MESSAGE - len(said.header))
    with log_of_transports() as records:
        async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
            for header, complaint in (
                (padded, "is not msgpack"),  # read whole; what follows a map is no msgpack
                (padded + b"x", f"the limit is {MAX_MESSAGE}"),
            ):
                reader, writer = await open_raw(listener)
                prefix = encode_frame(Frame(b""), HANDSHAKE_VERSION)[0]
                assert len(prefix) == PREFIX.size
                writer.writelines(encode_frame(Frame(header), HANDSHAKE_VERSION))
                with suppress(ConnectionResetError):
                    await reader.read()
                assert complaint in (await records.get()).getMessage()
                writer.transport.abort()

"""What is peculiar to streams: bad bytes, half frames, and a kernel between the two ends."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from errno import EMFILE
from pathlib import Path
from typing import Any

import pytest

import transports
from tests.transports.peers import (
    PS,
    WORKER,
    assert_echoes,
    echo,
    linked,
    log_of_transports,
    numbered,
    open_raw,
    place,
    raw_peer,
    recv_until_the_loop_turns,
    refuse_to_serve,
    start,
    until,
)
from tests.transports.world import World, simulate
from transports.decoder import READ_SIZE
from transports.delivery import FRAMES_PER_TURN
from transports.frame import HANDSHAKE_VERSION, JOIN_BELOW, MAGIC, PREFIX, WIRE_VERSION
from transports.handshake import MAX_MESSAGE, NONCE_SIZE, Establish, Handshake, Role, Send
from transports.host import current_host
from transports.stream import descriptors, sockets
from transports.stream import listener as stream_listener
from transports.stream.bytestream import ByteStreams
from transports.stream.handshake import shake_hands
from transports.stream.listener import STRANGER_LIMIT, StreamListener
from transports.stream.port_owner import port_owner


async def test_bytes_that_are_no_frame_end_the_connection(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, reader, writer):
        writer.writelines(transports.encode_frame(numbered(1)))
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await connection.recv() == numbered(1)
        with pytest.raises(transports.ProtocolError, match=r"received b'GET / HTTP/1'") as caught:
            await connection.recv()
        assert caught.value.address == connection.peer_address
        assert WORKER.task in str(caught.value)
        assert connection.closed
        with pytest.raises(transports.ConnectionClosed, match=r"by us: it sent data that is not a frame") as end:
            await connection.recv()
        assert end.value.by_us
        assert await reader.read() == b""


async def test_bytes_that_are_no_frame_do_not_wait_for_more(socket_address: str) -> None:
    """The bad byte comes in one read with a good frame, and nothing after it."""
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(b"".join([*transports.encode_frame(numbered(1)), bytes(PREFIX.size)]))
        assert await connection.recv() == numbered(1)
        with pytest.raises(transports.ProtocolError):
            await connection.recv()


@pytest.mark.parametrize("cut", [1, PREFIX.size, PREFIX.size + 10, -1])
async def test_a_peer_that_ends_inside_a_frame_has_closed_and_it_is_said_where(socket_address: str, cut: int) -> None:
    whole = b"".join(bytes(piece) for piece in transports.encode_frame(transports.Frame(b"head", (bytes(100),))))
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(whole)
        writer.write(whole[:cut])
        writer.write_eof()
        assert await connection.recv() == transports.Frame(b"head", (bytes(100),))
        with pytest.raises(transports.ConnectionClosed, match=r"truncated: the stream ended after") as caught:
            await connection.recv()
        assert not caught.value.by_us
        assert isinstance(caught.value.__cause__, transports.ProtocolError)


@pytest.mark.parametrize("bulk", [False, True], ids=["urgent", "bulk"])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_a_frame_is_on_the_wire_as_it_is_encoded_whichever_way_it_takes(
    socket_address: str, kind: Callable[[bytes], transports.Buffer], bulk: bool
) -> None:
    sizes = (0, 1, JOIN_BELOW - 1, JOIN_BELOW, JOIN_BELOW + 1)
    frames = [transports.Frame(kind(b"h" * size), s) for size in sizes for s in ((), (kind(b"s"),))]
    async with raw_peer(socket_address) as (connection, reader, _):
        for frame in frames:
            connection.write(frame, bulk=bulk)
        sent = b"".join(bytes(piece) for frame in frames for piece in transports.encode_frame(frame))
        assert await reader.readexactly(len(sent)) == sent
        assert connection.statistics().bytes_sent == len(sent)
        assert connection.statistics().frames_sent == len(frames)


async def test_a_frame_that_trickles_in_arrives(socket_address: str) -> None:
    frame = transports.Frame(b"head", (b"segment", b""))
    async with raw_peer(socket_address) as (connection, _, writer):
        receiving = await start(connection.recv(), "recv")
        for byte in b"".join(transports.encode_frame(frame)):
            assert not receiving.done()
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await receiving == frame


async def test_a_peer_that_vanishes_has_closed(socket_address: str) -> None:
    """It dies with bytes of ours unread: a reset, not an end, is what the kernel reports."""
    async with raw_peer(socket_address) as (connection, reader, writer):
        connection.write(transports.Frame(b"", (bytes(2**25),)))
        await reader.readexactly(100)
        draining = await start(connection.drain(), "drain")
        writer.transport.abort()
        with pytest.raises(transports.ConnectionClosed) as drained:
            await draining
        with pytest.raises(transports.ConnectionClosed) as received:
            await connection.recv()
        with pytest.raises(transports.ConnectionClosed) as written:
            connection.write(numbered(1))
        assert not drained.value.by_us
        assert not received.value.by_us
        assert not written.value.by_us
        assert connection.closed


async def test_a_frame_over_the_limit_is_refused_before_it_comes(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 2**32 - 1, 0))
        with pytest.raises(transports.ProtocolError, match=r"header of 4294967295 bytes is announced; the limit is"):
            await connection.recv()


async def test_decoded_frames_are_returned_without_awaiting(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, _, writer):
        burst = b"".join(bytes(p) for n in range(20) for p in transports.encode_frame(numbered(n)))
        writer.write(burst)
        assert await connection.recv() == numbered(0)
        for number in range(1, 20):
            step = connection.recv()
            with pytest.raises(StopIteration) as returned:
                step.send(None)
            assert returned.value.value == numbered(number)


async def test_a_flood_lets_the_loop_turn(socket_address: str) -> None:
    """Frames that have come are returned without awaiting, but not for ever."""
    async with raw_peer(socket_address) as (connection, _, writer):
        burst = (bytes(p) for n in range(3 * FRAMES_PER_TURN) for p in transports.encode_frame(numbered(n)))
        writer.write(b"".join(burst))
        assert await connection.recv() == numbered(0)
        assert FRAMES_PER_TURN / 2 < await recv_until_the_loop_turns(connection) <= FRAMES_PER_TURN + 1


async def test_cancelling_recv_while_it_lets_the_loop_turn_loses_no_frame(socket_address: str) -> None:
    found: list[transports.Frame] = []
    sent = [numbered(number) for number in range(3 * FRAMES_PER_TURN)]
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(b"".join(bytes(piece) for frame in sent for piece in transports.encode_frame(frame)))
        cancelled = 0
        while len(found) < len(sent):
            pending = await start(connection.recv(), "recv")
            if cancelled < 2 < len(found):
                cancelled += pending.cancel()
            await asyncio.wait([pending])
            if not pending.cancelled():
                found.append(pending.result())
    assert cancelled == 2
    assert found == sent


async def test_a_peer_that_never_hears_the_end_costs_a_close_little(socket_address: str) -> None:
    """Nothing of ours is queued, so the peer's silence is waited for briefly, not the grace."""
    async with linked(socket_address) as (dialled, _):
        loop = asyncio.get_running_loop()
        began = loop.time()
        await dialled.aclose(grace=30)
        assert loop.time() - began < 5


async def test_the_handshake_takes_no_byte_of_what_follows(socket_address: str) -> None:
    """A dialler's first frame may come in the same read as its confirm."""
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.writelines(transports.encode_frame(numbered(7)))
        assert await connection.recv() == numbered(7)


@pytest.mark.parametrize("chop", [1, 5])
async def test_a_handshake_that_trickles_in_succeeds(chop: int) -> None:
    """Two readers fed a few bytes at a time by two writers that are none."""
    ends = {role: asyncio.StreamReader() for role in Role}

    class Wire:
        """Stands for a writer: what is written to it arrives at the other end, chopped."""

        def __init__(self, role: Role) -> None:
            self.other = ends[role.other]

        def writelines(self, pieces: list[bytes]) -> None:
            data = b"".join(pieces)
            for at in range(0, len(data), chop):
                self.other.feed_data(data[at : at + chop])

    async with asyncio.TaskGroup() as group:
        shaking = [
            group.create_task(
                shake_hands(
                    ends[role],
                    Wire(role),  # type: ignore[arg-type]
                    Handshake(role, hello, nonce=bytes(NONCE_SIZE), token="secret"),
                )
            )
            for role, hello in ((Role.DIALLER, WORKER), (Role.LISTENER, PS))
        ]
    assert [child.result() for child in shaking] == [Establish(PS, WIRE_VERSION), Establish(WORKER, WIRE_VERSION)]


async def assert_serves(listener: transports.Listener) -> None:
    """Check that a listener still does what it is there for."""
    async with await transports.connect(listener.address, WORKER, timeout=60) as connection:
        await assert_echoes(connection)


@pytest.fixture(params=["bound", "share of the descriptors"])
def room_for_three(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    limit: tuple[Any, str, Any] = (stream_listener, "MAX_HANDSHAKES", 3)
    if request.param != "bound":
        limit = (descriptors, "strangers_share", lambda: 3)
    monkeypatch.setattr(*limit)


async def wait_for_handshakes(listener: transports.Listener, count: int) -> None:
    assert isinstance(listener, StreamListener)
    handshakes = listener._in_handshake
    await until(lambda: len(handshakes) == count)


@pytest.mark.usefixtures("room_for_three")
async def test_one_stranger_too_many_pushes_out_the_one_that_has_waited_longest(socket_address: str) -> None:
    with log_of_transports() as records:
        async with await transports.listen(socket_address, PS, echo) as listener:
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
    async with await transports.listen(socket_address, PS, echo) as listener:
        streams = [await open_raw(listener) for _ in range(10)]
        for _ in range(5):
            await assert_serves(listener)
        for _, writer in streams:
            writer.transport.abort()


@pytest.mark.usefixtures("room_for_three")
async def test_who_has_shaken_hands_is_no_stranger_and_takes_no_room(socket_address: str) -> None:
    async with await transports.listen(socket_address, PS, echo) as listener:
        peers = [await transports.connect(listener.address, WORKER, timeout=60) for _ in range(8)]
        await wait_for_handshakes(listener, 0)
        for number, peer in enumerate(peers):
            peer.write(numbered(number))
            assert await peer.recv() == numbered(number)
            await peer.aclose()


async def test_a_peer_that_would_take_a_descriptor_of_the_processs_own_is_told_so_and_may_come_later(
    socket_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        await transports.listen(socket_address, PS, echo) as listener,
        await transports.connect(listener.address, WORKER, timeout=60),
    ):
        with monkeypatch.context() as patch:
            # The next descriptor is in the lower half of the kept ones, the last quarter.
            held = [os.dup(0) for _ in range(100)]
            patch.setattr(resource, "getrlimit", lambda which: 2 * (held[-1] * 5 // 4,))
            with pytest.raises(transports.ConnectError, match="are kept for its files") as info:
                await transports.connect(listener.address, WORKER, timeout=60)
            assert (info.value.phase, info.value.errno) == ("hello", EMFILE)
            for descriptor in held:
                os.close(descriptor)
        await assert_serves(listener)


async def test_where_hardly_a_descriptor_is_left_a_stranger_is_not_even_asked_who_he_is(
    socket_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await transports.listen(socket_address, PS, echo) as listener:
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
) -> transports.Listener:
    family, name = place(address)
    sock = socket.socket(family)
    sock.bind(name)
    wanted = transports.parse_address(address)
    found = wanted if wanted.port is None else sockets.tcp_address(wanted.scheme, sock)
    listener = StreamListener(found, PS, echo, token=None, handshake_timeout=10, secure=secure)
    await listener.start(sock)
    return listener


async def test_a_peer_may_say_more_than_a_stranger(socket_address: str) -> None:
    large = transports.Frame(b"head", (bytes(8 * 2**20),))
    async with await transports.listen(socket_address, PS, echo) as listener:
        async with await transports.connect(listener.address, WORKER, timeout=60) as peer:
            peer.write(large)
            assert await peer.recv() == large


async def test_a_hello_of_the_largest_size_is_read_and_one_byte_more_is_not() -> None:
    """Measured against the limit itself, and not against what a hello of ours takes."""
    core = Handshake(Role.DIALLER, WORKER, nonce=bytes(NONCE_SIZE))
    (said,) = core.start()
    assert isinstance(said, Send)
    padded = said.header + bytes(MAX_MESSAGE - len(said.header))
    with log_of_transports() as records:
        async with await transports.listen("tcp://127.0.0.1:0", PS, echo) as listener:
            for header, complaint in (
                (padded, "is not msgpack"),  # read whole; what follows a map is no msgpack
                (padded + b"x", f"the limit is {MAX_MESSAGE}"),
            ):
                reader, writer = await open_raw(listener)
                prefix = transports.encode_frame(transports.Frame(b""), HANDSHAKE_VERSION)[0]
                assert len(prefix) == PREFIX.size
                writer.writelines(transports.encode_frame(transports.Frame(header), HANDSHAKE_VERSION))
                with suppress(ConnectionResetError):
                    await reader.read()
                assert complaint in (await records.get()).getMessage()
                writer.transport.abort()


TOKEN = "sixteen or more."

GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: ps0\r\n\r\n",
    "zeros": bytes(1000),
    "a header too long": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, MAX_MESSAGE + 1, 0),
    "segments": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, 0, 1),
    "a frame and no hello": PREFIX.pack(MAGIC, 1, 0, 0, 0),
    "no msgpack": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, 3, 0) + b"\xc1\xc1\xc1",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_a_stranger_that_sends_garbage_is_closed_and_the_listener_serves_on(
    socket_address: str, garbage: bytes
) -> None:
    with log_of_transports() as records:
        async with await transports.listen(socket_address, PS, echo) as listener:
            reader, writer = await open_raw(listener)
            writer.write(garbage)
            record = await records.get()
            assert "refused a connection" in record.getMessage()
            with suppress(ConnectionResetError):  # it had not read all when it closed
                await reader.read()
            writer.transport.abort()
            await assert_serves(listener)


def test_a_silent_stranger_is_dropped_after_the_handshake_timeout() -> None:
    async def main(world: World) -> None:
        listener = await world.on("b", transports.listen("tcp://127.0.0.1:0", PS, echo, handshake_timeout=60))
        with log_of_transports() as records:
            begin = world.loop.now
            await world.on("b", hears_nothing(transports.parse_address(listener.address).port or 0))
            assert 60 <= world.loop.now - begin < 61
            assert "no answer within 60 s" in (await records.get()).getMessage()
        await world.on("b", assert_serves(listener))
        await world.on("b", listener.aclose())

    async def hears_nothing(port: int) -> None:
        reader = asyncio.StreamReader()
        network = current_host().network
        transport, _ = await network.connect(
            lambda: asyncio.StreamReaderProtocol(reader), socket.AF_INET, "127.0.0.1", port
        )
        assert await reader.read() == b""
        transport.abort()

    simulate(main)


async def test_a_stranger_that_hangs_up_at_once_is_nothing_to_warn_of(socket_address: str, caplog: Any) -> None:
    with log_of_transports() as records:
        async with await transports.listen(socket_address, PS, echo) as listener:
            _, writer = await open_raw(listener)
            writer.close()
            await writer.wait_closed()
            assert "closed the connection" in (await records.get()).getMessage()
            await assert_serves(listener)
    ours = [record for record in caplog.records if record.name == "transports"]
    assert [record for record in ours if record.levelname == "WARNING"] == []


async def test_silent_strangers_do_not_hold_up_a_close(socket_address: str) -> None:
    listener = await transports.listen(socket_address, PS, echo)
    streams = [await open_raw(listener) for _ in range(3)]
    async with asyncio.timeout(60):
        await listener.aclose()
    for reader, writer in streams:
        with suppress(ConnectionResetError):  # the kernel's word for one that was not accepted yet
            assert await reader.read() == b""
        writer.transport.abort()


async def test_who_connects_while_a_listener_closes_is_hung_up_on(socket_address: str) -> None:
    """The stock loop accepts in two steps; a close may come before, between or after them."""
    for turns in range(6):
        listener = await transports.listen(socket_address, PS, echo)
        family, name = place(listener.address)
        with socket.socket(family) as stranger:
            stranger.connect(name)  # waits in the backlog
            for _ in range(turns):
                await asyncio.sleep(0)
            await listener.aclose()
            for _ in range(10):
                await asyncio.sleep(0)
            stranger.settimeout(60)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""


@pytest.mark.parametrize(
    ("answer", "kind", "complaint"),
    [
        (b"SSH-2.0-OpenSSH_9.7\r\n", transports.ProtocolError, "does not speak this protocol: received b'SSH-2.0"),
        (b"", transports.ConnectError, "closed the connection during the hello"),
    ],
    ids=["ssh", "nothing"],
)
async def test_a_server_of_another_kind_is_not_talked_to(answer: bytes, kind: type[Exception], complaint: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(PREFIX.size)
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(kind, match=complaint) as caught:
        await transports.connect(f"tcp://127.0.0.1:{port}", WORKER, timeout=60)
    server.close()
    if isinstance(caught.value, transports.ConnectError):
        assert caught.value.phase == "hello"


async def test_a_server_that_never_answers_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(transports.ConnectError, match=r"no answer within 0.05 s \(phase hello") as caught:
            await transports.connect(address, WORKER, timeout=0.05)
    assert (caught.value.errno, caught.value.address) == (errno.ETIMEDOUT, address)


async def test_a_timeout_of_the_caller_is_the_callers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await transports.connect(f"tcp://127.0.0.1:{silent.getsockname()[1]}", WORKER, timeout=30)


async def test_port_0_takes_a_free_port_of_loopback_and_tells_which() -> None:
    async with await transports.listen("tcp://127.0.0.1:0", PS, echo) as listener:
        address = transports.parse_address(listener.address)
        assert address.host == "127.0.0.1"
        assert address.port
        await assert_serves(listener)


async def test_a_host_name_is_resolved_and_listened_on_once() -> None:
    async with await transports.listen("tcp://localhost:0", PS, echo) as listener:
        assert transports.parse_address(listener.address).host in ("127.0.0.1", "::1")
        port = transports.parse_address(listener.address).port
        async with await transports.connect(f"tcp://localhost:{port}", WORKER) as connection:
            await assert_echoes(connection)


async def test_an_ipv6_address_is_served() -> None:
    async with await transports.listen("tcp://[::1]:0", PS, echo) as listener:
        assert listener.address.startswith("tcp://[::1]:")
        await assert_serves(listener)


async def test_a_host_that_does_not_resolve_says_so() -> None:
    with pytest.raises(transports.ConnectError, match=r"the host name does not resolve"):
        await transports.connect("tcp://no-such-host.invalid:1", WORKER)
    with pytest.raises(transports.BindError, match=r"the host name does not resolve"):
        await transports.listen("tcp://no-such-host.invalid:1", PS, echo)


async def test_a_refused_connection_by_name_keeps_its_number() -> None:
    async with await transports.listen("tcp://127.0.0.1:0", PS, echo) as listener:
        port = transports.parse_address(listener.address).port
    with pytest.raises(transports.ConnectError) as caught:
        await transports.connect(f"tcp://localhost:{port}", WORKER)
    assert caught.value.errno == errno.ECONNREFUSED


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
async def test_all_interfaces_need_a_token(host: str) -> None:
    with pytest.raises(transports.BindError, match=r"not a loopback address and there is no token"):
        await transports.listen(f"tcp://{host}:0", PS, refuse_to_serve)


async def test_all_interfaces_are_served_with_a_token() -> None:
    async with await transports.listen("tcp://0.0.0.0:0", PS, echo, token=TOKEN) as listener:
        port = transports.parse_address(listener.address).port
        async with await transports.connect(f"tcp://127.0.0.1:{port}", WORKER, token=TOKEN) as connection:
            await assert_echoes(connection)


async def test_a_bound_socket_is_taken_over_and_closed() -> None:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    async with await transports.listen("tcp://127.0.0.1:0", PS, echo, sock=sock) as listener:
        assert listener.address == f"tcp://127.0.0.1:{port}"
        await assert_serves(listener)
    assert sock.fileno() == -1


async def test_a_bound_socket_that_others_can_reach_needs_a_token_too() -> None:
    sock = socket.socket()
    sock.bind(("0.0.0.0", 0))
    with pytest.raises(transports.BindError, match=r"no token"):
        await transports.listen("tcp://127.0.0.1:0", PS, refuse_to_serve, sock=sock)
    assert sock.fileno() == -1


async def test_two_may_bind_a_port_and_one_may_listen() -> None:
    """Linux lets two sockets bind one port while neither listens: listen() decides."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    async with await transports.listen(f"tcp://127.0.0.1:{sock.getsockname()[1]}", PS, echo):
        with pytest.raises(transports.BindError) as caught:
            await transports.listen("tcp://127.0.0.1:0", PS, echo, sock=sock)
    assert caught.value.errno == errno.EADDRINUSE


async def test_neither_end_delays_small_frames() -> None:
    async with linked("tcp://127.0.0.1:0") as ends:
        for end in ends:
            sock = end._transport.get_extra_info("socket")  # type: ignore[attr-defined]
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_dialled_end_has_the_address_that_was_dialled() -> None:
    async with linked("tcp://127.0.0.1:0") as (dialled, accepted):
        assert dialled.peer_address == accepted.local_address
        assert accepted.peer_address == dialled.local_address
        assert (
            transports.parse_address(dialled.local_address).port != transports.parse_address(dialled.peer_address).port
        )


async def test_a_socket_file_is_gone_with_its_listener(socket_path: Path) -> None:
    async with await transports.listen(f"unix://{socket_path}", PS, echo):
        assert socket_path.exists()
    assert not socket_path.exists()


async def test_a_socket_file_that_is_anothers_by_now_is_left(socket_path: Path) -> None:
    first = await transports.listen(f"unix://{socket_path}", PS, echo)
    socket_path.rename(socket_path.with_name("moved"))
    async with await transports.listen(f"unix://{socket_path}", PS, echo) as second:
        await first.aclose()
        await assert_serves(second)


async def test_a_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/{'x' * 120}"
    with pytest.raises(transports.BindError, match=r"too long"):
        await transports.listen(address, PS, echo)
    with pytest.raises(transports.ConnectError, match=r"too long|No such file|Invalid argument"):
        await transports.connect(address, WORKER)


async def test_many_starts_and_stops_on_one_port_leak_no_descriptor(whole: bool) -> None:
    listener = await transports.listen("tcp://127.0.0.1:0", PS, echo)
    address = listener.address
    await assert_serves(listener)
    await listener.aclose()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200 if whole else 50):
        listener = await transports.listen(address, PS, echo)
        await assert_serves(listener)
        await listener.aclose()
    for _ in range(10):  # the last sockets go in the next turns of the loop
        await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= before


SERVER = """
import asyncio, sys
from tests.transports.peers import PS
from transports import Frame, listen

async def flood(connection):
    while True:
        connection.write(Frame(b"head", (bytes(2**20),)))
        await connection.drain()

async def main():
    async with await listen("tcp://127.0.0.1:0", PS, flood) as listener:
        print(listener.address, flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


@pytest.mark.process
async def test_a_peer_process_that_is_killed_has_closed() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().strip()
        async with await transports.connect(address, WORKER, timeout=60) as connection:
            assert await connection.recv() == transports.Frame(b"head", (bytes(2**20),))
            process.send_signal(signal.SIGKILL)
            with pytest.raises(transports.ConnectionClosed) as caught:
                await _recv_until_the_end(connection)
            assert not caught.value.by_us
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # its pipe, at once


async def _recv_until_the_end(connection: transports.Connection) -> None:
    """Receive for ever."""
    while True:
        await connection.recv()


LEFT_RUNNING = """
import asyncio, sys
from tests.transports.peers import PS, WORKER, echo
from transports import connect, listen

# The loop holds its children by weak references only.
children = []

async def main():
    for address in sys.argv[2:]:
        listener = await listen(address, PS, echo)
        connection = await connect(listener.address, WORKER)
        children.append(asyncio.get_running_loop().create_task(connection.recv()))
        await asyncio.sleep(0)

if sys.argv[1] == "uvloop":
    import uvloop
    factory = uvloop.new_event_loop
else:
    factory = asyncio.SelectorEventLoop
with asyncio.Runner(loop_factory=factory) as runner:
    runner.run(main())
"""


@pytest.mark.process
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_program_that_ends_unclosed_prints_nothing(socket_path: Path, socket_name: str, loop: str) -> None:
    """It has a listener and a connection on each kind of socket, the last of which it still reads."""
    addresses = ["tcp://127.0.0.1:0", f"unix://{socket_path}", f"abstract://{socket_name}"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        LEFT_RUNNING,
        loop,
        *addresses,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed = await process.communicate()
    assert printed == (b"", b"")
    assert process.returncode == 0


needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")


@needs_proc
async def test_the_error_of_a_port_that_is_taken_names_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(transports.BindError, match=rf"in use, by process {os.getpid()} \(") as caught:
            await transports.listen(f"tcp://127.0.0.1:{port}", PS, echo)
    assert caught.value.owner_pid == os.getpid()


@needs_proc
def test_a_port_of_nobody_has_no_owner() -> None:
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        assert port_owner(bound.getsockname()[1]) is None


def test_a_kernel_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    assert port_owner(80, tmp_path) is None
    assert port_owner(80, tmp_path / "none") is None


def test_a_process_that_may_not_be_looked_at_is_passed_over(tmp_path: Path) -> None:
    """Others are looked at nevertheless; who holds the socket is found in the links of its descriptors."""
    (tmp_path / "net").mkdir()
    line = "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1"
    (tmp_path / "net" / "tcp").write_text(f"  sl  local_address\n{line}\n")
    (tmp_path / "12").mkdir()
    folder = tmp_path / "34" / "fd"
    folder.mkdir(parents=True)
    (folder / "3").symlink_to("socket:[4711]")
    (tmp_path / "34" / "comm").write_text("postgres\n")
    assert port_owner(80, tmp_path) == (34, "postgres")
    assert port_owner(81, tmp_path) is None

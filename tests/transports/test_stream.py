"""What is peculiar to streams: bad bytes, half frames, and a kernel between the two ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.transports.peers import PS, WORKER, linked, numbered, raw_peer, recv_until_the_loop_turns, start
from transports import Buffer, ConnectionClosed, Frame, ProtocolError, encode_frame
from transports.delivery import FRAMES_PER_TURN
from transports.frame import JOIN_BELOW, MAGIC, PREFIX, WIRE_VERSION
from transports.handshake import NONCE_SIZE, Establish, Handshake, Role
from transports.stream.handshake import shake_hands


async def test_bytes_that_are_no_frame_end_the_connection(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, reader, writer):
        writer.writelines(encode_frame(numbered(1)))
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await connection.recv() == numbered(1)
        with pytest.raises(ProtocolError, match=r"received b'GET / HTTP/1'") as caught:
            await connection.recv()
        assert caught.value.address == connection.peer_address
        assert WORKER.task in str(caught.value)
        assert connection.closed
        with pytest.raises(ConnectionClosed, match=r"by us: it sent data that is not a frame") as end:
            await connection.recv()
        assert end.value.by_us
        assert await reader.read() == b""


async def test_bytes_that_are_no_frame_do_not_wait_for_more(socket_address: str) -> None:
    """The bad byte comes in one read with a good frame, and nothing after it."""
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(b"".join([*encode_frame(numbered(1)), bytes(PREFIX.size)]))
        assert await connection.recv() == numbered(1)
        with pytest.raises(ProtocolError):
            await connection.recv()


@pytest.mark.parametrize("cut", [1, PREFIX.size, PREFIX.size + 10, -1])
async def test_a_peer_that_ends_inside_a_frame_has_closed_and_it_is_said_where(socket_address: str, cut: int) -> None:
    whole = b"".join(bytes(piece) for piece in encode_frame(Frame(b"head", (bytes(100),))))
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(whole)
        writer.write(whole[:cut])
        writer.write_eof()
        assert await connection.recv() == Frame(b"head", (bytes(100),))
        with pytest.raises(ConnectionClosed, match=r"truncated: the stream ended after") as caught:
            await connection.recv()
        assert not caught.value.by_us
        assert isinstance(caught.value.__cause__, ProtocolError)


@pytest.mark.parametrize("bulk", [False, True], ids=["urgent", "bulk"])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_a_frame_is_on_the_wire_as_it_is_encoded_whichever_way_it_takes(
    socket_address: str, kind: Callable[[bytes], Buffer], bulk: bool
) -> None:
    sizes = (0, 1, JOIN_BELOW - 1, JOIN_BELOW, JOIN_BELOW + 1)
    frames = [Frame(kind(b"h" * size), s) for size in sizes for s in ((), (kind(b"s"),))]
    async with raw_peer(socket_address) as (connection, reader, _):
        for frame in frames:
            connection.write(frame, bulk=bulk)
        sent = b"".join(bytes(piece) for frame in frames for piece in encode_frame(frame))
        assert await reader.readexactly(len(sent)) == sent
        assert connection.statistics().bytes_sent == len(sent)
        assert connection.statistics().frames_sent == len(frames)


async def test_a_frame_that_trickles_in_arrives(socket_address: str) -> None:
    frame = Frame(b"head", (b"segment", b""))
    async with raw_peer(socket_address) as (connection, _, writer):
        receiving = await start(connection.recv(), "recv")
        for byte in b"".join(encode_frame(frame)):
            assert not receiving.done()
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await receiving == frame


async def test_a_peer_that_vanishes_has_closed(socket_address: str) -> None:
    """It dies with bytes of ours unread: a reset, not an end, is what the kernel reports."""
    async with raw_peer(socket_address) as (connection, reader, writer):
        connection.write(Frame(b"", (bytes(2**25),)))
        await reader.readexactly(100)
        draining = await start(connection.drain(), "drain")
        writer.transport.abort()
        with pytest.raises(ConnectionClosed) as drained:
            await draining
        with pytest.raises(ConnectionClosed) as received:
            await connection.recv()
        with pytest.raises(ConnectionClosed) as written:
            connection.write(numbered(1))
        assert not drained.value.by_us
        assert not received.value.by_us
        assert not written.value.by_us
        assert connection.closed


async def test_a_frame_over_the_limit_is_refused_before_it_comes(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(PREFIX.pack(MAGIC, WIRE_VERSION, 0, 2**32 - 1, 0))
        with pytest.raises(ProtocolError, match=r"header of 4294967295 bytes is announced; the limit is"):
            await connection.recv()


async def test_decoded_frames_are_returned_without_awaiting(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, _, writer):
        burst = b"".join(bytes(p) for n in range(20) for p in encode_frame(numbered(n)))
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
        burst = (bytes(p) for n in range(3 * FRAMES_PER_TURN) for p in encode_frame(numbered(n)))
        writer.write(b"".join(burst))
        assert await connection.recv() == numbered(0)
        assert FRAMES_PER_TURN / 2 < await recv_until_the_loop_turns(connection) <= FRAMES_PER_TURN + 1


async def test_cancelling_recv_while_it_lets_the_loop_turn_loses_no_frame(socket_address: str) -> None:
    found: list[Frame] = []
    sent = [numbered(number) for number in range(3 * FRAMES_PER_TURN)]
    async with raw_peer(socket_address) as (connection, _, writer):
        writer.write(b"".join(bytes(piece) for frame in sent for piece in encode_frame(frame)))
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
        writer.writelines(encode_frame(numbered(7)))
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

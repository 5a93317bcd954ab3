"""What every connection promises, whatever carries it: the conformance suite."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.transports.peers import PS, WORKER, linked, numbered, start
from transports import Connection, ConnectionClosed, Frame
from transports.connection import HIGH_WATER
from transports.frame import WIRE_VERSION, measure_frame

# More than both ends and the kernel between them take while nobody reads.
MUCH = bytes(2**24)


async def test_both_ends_know_who_the_other_is(dialled: Connection, accepted: Connection) -> None:
    assert (dialled.peer, accepted.peer) == (PS, WORKER)
    assert dialled.wire_version == accepted.wire_version == WIRE_VERSION
    assert dialled.peer_address == accepted.local_address
    assert dialled.local_address == accepted.peer_address
    assert not dialled.closed
    assert PS.task in repr(dialled)
    assert "open" in repr(dialled)


async def test_frames_arrive_equal_and_in_order_both_ways(dialled: Connection, accepted: Connection) -> None:
    for number in range(100):
        dialled.write(numbered(number))
        accepted.write(numbered(-number))
    for number in range(100):
        assert await accepted.recv() == numbered(number)
        assert await dialled.recv() == numbered(-number)


async def test_many_small_frames_arrive(address: str) -> None:
    count = 1500

    async def send(connection: Connection) -> None:
        for number in range(count):
            connection.write(numbered(number))
            await connection.drain()

    async with linked(address) as (dialled, accepted), asyncio.TaskGroup() as group:
        group.create_task(send(dialled))
        for number in range(count):
            assert await accepted.recv() == numbered(number)


async def test_large_segments_arrive_between_small_ones(dialled: Connection, accepted: Connection) -> None:
    large = os.urandom(2**20) * 12
    frame = Frame(b"head", (b"small", memoryview(large), b"", b"tail"))
    async with asyncio.TaskGroup() as group:
        received = group.create_task(accepted.recv())
        dialled.write(frame)
        dialled.write(numbered(1))
        await dialled.drain()
    assert received.result() == frame
    assert await accepted.recv() == numbered(1)


async def test_a_large_header_arrives(dialled: Connection, accepted: Connection) -> None:
    frame = Frame(os.urandom(3 * 2**20), (b"segment",))
    dialled.write(frame)
    assert await accepted.recv() == frame


async def test_after_our_close_every_call_says_by_us(dialled: Connection, accepted: Connection) -> None:
    accepted.write(numbered(1))
    await dialled.aclose()
    assert dialled.closed
    for _ in range(2):
        await _assert_closed(dialled, by_us=True)


async def test_after_our_abort_every_call_says_by_us(dialled: Connection) -> None:
    dialled.abort()
    dialled.abort()
    assert dialled.closed
    await _assert_closed(dialled, by_us=True)


async def test_after_the_peers_close_every_call_says_not_by_us(dialled: Connection, accepted: Connection) -> None:
    closing = await start(accepted.aclose(), "close the other end")
    for _ in range(2):
        await _assert_closed(dialled, by_us=False)
    assert dialled.closed
    await closing


async def test_frames_written_before_a_close_arrive_before_the_end(dialled: Connection, accepted: Connection) -> None:
    for number in range(3):
        accepted.write(numbered(number))
    closing = await start(accepted.aclose(), "close the other end")
    for number in range(3):
        assert not dialled.closed
        assert await dialled.recv() == numbered(number)
    await _assert_closed(dialled, by_us=False)
    await closing


async def test_queued_frames_arrive_though_the_peer_is_still_sending(dialled: Connection, accepted: Connection) -> None:
    """A close with unread bytes must not take back what is on its way. 1. We queue 8 MiB and close, having read nothing
    of the peer's megabytes. 2. The peer, which writes on, then reads: it gets all of ours, and then the end."""
    large = os.urandom(2**20) * 8
    dialled.write(Frame(b"", (bytes(2**23),)))
    accepted.write(Frame(b"why", (large,)))
    closing = await start(accepted.aclose(), "close the other end")
    assert await dialled.recv() == Frame(b"why", (large,))
    await _assert_closed(dialled, by_us=False)
    await closing


@pytest.mark.parametrize("end", ["aclose", "abort"])
async def test_a_pending_recv_ends_when_we_close(dialled: Connection, end: str) -> None:
    pending = await start(dialled.recv(), "recv")
    if end == "abort":
        dialled.abort()
    else:
        closing = await start(dialled.aclose(), "close")
    with pytest.raises(ConnectionClosed) as caught:
        await pending
    assert caught.value.by_us
    assert pending.cancelling() == 0
    if end == "aclose":
        await closing


async def test_a_pending_recv_ends_when_the_peer_closes(dialled: Connection, accepted: Connection) -> None:
    pending = await start(dialled.recv(), "recv")
    await accepted.aclose()
    with pytest.raises(ConnectionClosed) as caught:
        await pending
    assert not caught.value.by_us
    assert caught.value.address == dialled.peer_address
    assert PS.task in str(caught.value)


async def test_a_recv_that_is_cancelled_while_we_close_is_cancelled(dialled: Connection) -> None:
    pending = await start(dialled.recv(), "recv")
    pending.cancel()
    await dialled.aclose()
    with pytest.raises(asyncio.CancelledError):
        await pending


async def test_closing_twice_and_at_once_is_closing(dialled: Connection, accepted: Connection) -> None:
    await asyncio.gather(dialled.aclose(), dialled.aclose(), accepted.aclose())
    await dialled.aclose()
    dialled.abort()
    assert dialled.closed
    assert accepted.closed


async def test_closing_to_a_peer_that_does_not_read_ends_after_the_grace(address: str) -> None:
    async with linked(address) as (dialled, accepted):
        dialled.write(Frame(b"", (MUCH,)))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await dialled.aclose(grace=0.1)
        assert loop.time() - began < 5
        assert dialled.closed
        accepted.abort()


async def test_a_close_that_is_cancelled_aborts(dialled: Connection, accepted: Connection) -> None:
    dialled.write(Frame(b"", (MUCH,)))
    closing = await start(dialled.aclose(grace=30), "close")
    closing.cancel()
    await asyncio.wait([closing])
    assert dialled.closed
    await dialled.aclose()
    accepted.abort()


async def test_drain_waits_for_a_peer_that_does_not_read_and_ends_when_it_does(address: str) -> None:
    frame = Frame(b"", (bytes(2**20),))
    async with linked(address) as (dialled, accepted):
        await dialled.drain()
        for _ in range(16):
            dialled.write(frame)
        assert dialled.statistics().send_buffer > HIGH_WATER
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await dialled.drain()
        draining = await start(dialled.drain(), "drain")
        for _ in range(16):
            assert await accepted.recv() == frame
        await draining
        assert dialled.statistics().send_buffer <= HIGH_WATER


async def test_a_drain_lets_the_loop_run_where_lanes_exceed_the_mark_only_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing would be sent or received while it asks in vain."""
    async with linked("tcp://127.0.0.1:0") as (dialled, _):
        unsent = [HIGH_WATER + 1]
        monkeypatch.setattr(type(dialled), "unsent", property(lambda _: unsent[0]))
        draining = await start(dialled.drain(), "drain")
        assert not draining.done()
        unsent[0] = HIGH_WATER
        async with asyncio.timeout(10):
            await draining


@pytest.mark.parametrize("by_us", [True, False])
async def test_a_pending_drain_ends_with_the_connection(dialled: Connection, accepted: Connection, by_us: bool) -> None:
    dialled.write(Frame(b"", (MUCH,)))
    draining = await start(dialled.drain(), "drain")
    (dialled if by_us else accepted).abort()
    with pytest.raises(ConnectionClosed) as caught:
        await draining
    assert caught.value.by_us is by_us


async def test_cancelling_recv_loses_no_frame(address: str) -> None:
    """Cancel at every distance from the arrival of a frame; what comes out is what went in."""
    found: list[Frame] = []
    async with linked(address) as (dialled, accepted):
        for number in range(100):
            pending = await start(accepted.recv(), "recv")
            dialled.write(numbered(number))
            for _ in range(number % 7):
                await asyncio.sleep(0)
            pending.cancel()
            await asyncio.wait([pending])
            if not pending.cancelled():
                found.append(pending.result())
        while len(found) < 100:
            found.append(await accepted.recv())
    assert found == [numbered(number) for number in range(100)]


async def test_one_child_at_a_time_receives(dialled: Connection, accepted: Connection) -> None:
    pending = await start(accepted.recv(), "recv")
    with pytest.raises(RuntimeError, match="one"):
        await accepted.recv()
    dialled.write(numbered(1))
    assert await pending == numbered(1)


async def test_statistics_count_frames_and_bytes(dialled: Connection, accepted: Connection) -> None:
    sent = [numbered(number) for number in range(10)] + [Frame(b"", (bytes(100_000),))]
    size = sum(measure_frame(frame) for frame in sent)
    for frame in sent:
        dialled.write(frame)
    for frame in sent:
        assert await accepted.recv() == frame
    ours, theirs = dialled.statistics(), accepted.statistics()
    assert (ours.frames_sent, ours.bytes_sent) == (len(sent), size)
    assert (theirs.frames_received, theirs.bytes_received) == (len(sent), size)
    assert (ours.frames_received, ours.bytes_received, theirs.frames_sent) == (0, 0, 0)
    assert ours.send_buffer == 0


async def test_a_frame_that_no_receiver_takes_is_refused_and_the_connection_lives(address: str) -> None:
    async with linked(address) as (dialled, accepted):
        with pytest.raises(ValueError, match="not C-contiguous"):
            dialled.write(Frame(b"", (memoryview(b"abcdef")[::2],)))
        dialled.write(numbered(1))
        assert await accepted.recv() == numbered(1)
        assert dialled.statistics().frames_sent == 1


async def test_bulk_frames_arrive_whole_and_in_their_order_and_so_do_those_that_pass(address: str) -> None:
    large = [Frame(b"%d" % number, (os.urandom(1009) * 3000, b"x")) for number in range(6)]
    async with linked(address) as (dialled, accepted):
        for number, frame in enumerate(large):
            dialled.write(frame, bulk=True)
            dialled.write(numbered(number))
            dialled.write(numbered(100 + number), bulk=True)
        found = [await accepted.recv() for _ in range(18)]
        assert [frame for frame in found if frame in large] == large
        urgent = [numbered(number) for number in range(6)]
        assert [frame for frame in found if frame in urgent] == urgent
        assert not dialled.congested
        seen, other = dialled.statistics(), accepted.statistics()
        assert seen.frames_sent == other.frames_received == 18
        assert seen.bytes_sent == other.bytes_received
        assert seen.send_buffer == 0
        assert seen.bulk_bytes_sent == other.bulk_bytes_received
        lanes = seen.bulk_bytes_sent + seen.shared_bytes_sent
        passed_on = address.startswith("inproc")
        assert lanes == 0 if passed_on else sum(map(measure_frame, large)) <= lanes < seen.bytes_sent


async def test_an_urgent_frame_waits_for_no_more_than_the_high_water_mark(socket_address: str) -> None:
    """Fifty megabytes are on their way when it is written; it comes before most of them."""
    large = Frame(b"large", (bytes(17_000_000),))
    async with linked(socket_address) as (dialled, accepted):
        for _ in range(3):
            dialled.write(large, bulk=True)
        assert dialled.congested
        dialled.write(numbered(1))
        assert await accepted.recv() == numbered(1)
        assert accepted.statistics().bytes_received < 17_000_000
        assert [await accepted.recv() for _ in range(3)] == [large] * 3


async def test_drain_waits_for_bulk_frames_too(dialled: Connection, accepted: Connection) -> None:
    large = Frame(b"large", (MUCH,))
    dialled.write(large, bulk=True)
    draining = await start(dialled.drain(), "drain")
    assert not draining.done()
    assert await accepted.recv() == large
    await draining
    assert not dialled.congested


async def test_bulk_frames_that_were_queued_go_out_before_a_close(dialled: Connection, accepted: Connection) -> None:
    large = Frame(b"large", (MUCH,))
    dialled.write(large, bulk=True)
    closing = await start(dialled.aclose(), "close")
    assert await accepted.recv() == large
    with pytest.raises(ConnectionClosed):
        await accepted.recv()
    await closing


@pytest.mark.parametrize("how", ["abort", "lost"])
async def test_bulk_frames_are_dropped_with_the_connection(dialled: Connection, accepted: Connection, how: str) -> None:
    dialled.write(Frame(b"", (MUCH,)), bulk=True)
    draining = await start(dialled.drain(), "drain")
    (dialled if how == "abort" else accepted).abort()
    with pytest.raises(ConnectionClosed):
        await draining


async def _assert_closed(connection: Connection, *, by_us: bool) -> None:
    """Check that every call raises the same end."""
    with pytest.raises(ConnectionClosed) as received:
        await connection.recv()
    with pytest.raises(ConnectionClosed) as written:
        connection.write(numbered(1))
    with pytest.raises(ConnectionClosed) as drained:
        await connection.drain()
    for caught in (received, written, drained):
        assert caught.value.by_us is by_us
        assert caught.value.address == connection.peer_address

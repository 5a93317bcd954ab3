"""Large arrays between processes of one host: through memory that both see, if nothing forbids it."""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import signal
import struct
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.allocation_failures import Shortage
from tests.transports.peers import PS, WORKER, linked, raw_peer, start, until
from transports import (
    Connection,
    ConnectionClosed,
    Frame,
    FrameDecoder,
    LostFrame,
    ProtocolError,
    SecurityConfig,
    allocate_shared,
    encode_frame,
    listen,
)
from transports.connection import HIGH_WATER
from transports.frame import SHARED_FLAG, SharedFrame
from transports.shm import arena
from transports.shm import lane as shared
from transports.shm.lane import SHARE_FROM, SHARED_VARIABLE
from transports.stream import connection as stream
from transports.stream.bytestream import ByteReader

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")

LOOPBACK = "tcp://127.0.0.1:0"
# More than a writer may have unsent.
MUCH = 2 * HIGH_WATER


@asynccontextmanager
async def neighbours(address: str = LOOPBACK) -> AsyncIterator[tuple[Connection, Connection]]:
    """Yield both ends of a connection whose peers have found each other's memory."""
    ps, worker = replace(PS, pid=os.getpid()), replace(WORKER, pid=os.getpid())
    async with linked(address, ps=ps, worker=worker) as (dialled, accepted):
        for writer, reader in ((dialled, accepted), (accepted, dialled)):
            writer.write(large(0), bulk=True)  # with it comes the offer
            await reader.recv()
            reader.write(Frame(b"the answer to the offer has come before this"))
            await writer.recv()
        yield dialled, accepted


@pytest.fixture
async def ends() -> AsyncIterator[tuple[Connection, Connection]]:
    async with neighbours() as made:
        yield made


def large(fill: int, size: int = SHARE_FROM) -> Frame:
    """Make a frame with an array that is worth sharing."""
    return Frame(b"%d" % fill, (bytes([fill]) * size,))


async def carry(writer: Connection, reader: Connection, frame: Frame) -> Frame:
    """Send a frame as bulk, and return what arrives."""
    writer.write(frame, bulk=True)
    return await reader.recv()


def was_shared(segment: object) -> bool:
    """Whether a segment that was received is somebody else's memory; what is sent has memory of its own."""
    assert isinstance(segment, memoryview)
    return isinstance(segment.obj, np.ndarray) and segment.obj.base is not None


def pages(connection: Connection) -> int:
    """How much memory the arena of one end takes, in bytes."""
    arena = connection._shared._arena  # type: ignore[attr-defined]
    return os.fstat(arena.descriptor).st_blocks * 512


async def given_back(writer: Connection, reader: Connection) -> None:
    """Wait until the writer knows that nobody looks at what it has shared."""
    async with asyncio.timeout(60):
        while writer._shared._outstanding:  # type: ignore[attr-defined]
            reader.write(Frame(b"something to read"))
            await writer.recv()


async def test_a_large_array_comes_through_shared_memory_which_its_reader_cannot_write_to(socket_address: str) -> None:
    async with neighbours(socket_address) as (dialled, accepted):
        for writer, reader in ((dialled, accepted), (accepted, dialled)):
            (segment,) = (await carry(writer, reader, large(7))).segments
            assert was_shared(segment)
            assert segment == large(7).segments[0]
            assert memoryview(segment).readonly


async def test_a_connection_without_large_arrays_has_no_memory_to_share() -> None:
    ps, worker = replace(PS, pid=os.getpid()), replace(WORKER, pid=os.getpid())
    async with linked(LOOPBACK, ps=ps, worker=worker) as (dialled, accepted):
        before = os.listdir("/proc/self/fd")
        await carry(dialled, accepted, large(1, SHARE_FROM - 1))
        assert os.listdir("/proc/self/fd") == before


async def test_small_segments_of_the_same_frame_are_sent_and_each_keeps_its_place() -> None:
    segments = (b"first", b"\1" * SHARE_FROM, b"", b"\2" * (3 * SHARE_FROM), b"last")
    async with neighbours() as (dialled, accepted):
        came = await carry(dialled, accepted, Frame(b"header", segments))
        assert came.header == b"header"
        assert [bytes(segment) for segment in came.segments] == list(segments)
        assert [was_shared(s) for s in came.segments] == [False, True, False, True, False]


async def test_what_is_not_bulk_is_sent(dialled: Connection, accepted: Connection) -> None:
    dialled.write(large(1))
    assert not was_shared((await accepted.recv()).segments[0])


async def test_memory_is_used_again_when_nobody_looks_at_it_any_more(dialled: Connection, accepted: Connection) -> None:
    for fill in range(20):
        assert await carry(dialled, accepted, large(fill)) == large(fill)
        await given_back(dialled, accepted)
    assert pages(dialled) == SHARE_FROM


async def test_memory_is_left_alone_as_long_as_anybody_looks_at_it(dialled: Connection, accepted: Connection) -> None:
    kept = [await carry(dialled, accepted, large(fill)) for fill in range(5)]
    views = [memoryview(frame.segments[0])[100:200] for frame in kept]
    del kept
    for fill in range(5, 10):
        await carry(dialled, accepted, large(fill))
    assert [set(view) for view in views] == [{fill} for fill in range(5)]


async def test_what_was_received_outlives_the_connection() -> None:
    async with neighbours() as (dialled, accepted):
        await carry(dialled, accepted, large(8, 3 * SHARE_FROM))
        came = await carry(dialled, accepted, large(9))
    assert came == large(9)
    del came  # or it would hold a descriptor


async def test_what_was_sent_before_the_end_is_read_after_it(dialled: Connection, accepted: Connection) -> None:
    dialled.write(large(4), bulk=True)
    dialled.write(large(5), bulk=True)
    closing = await start(dialled.aclose(), "close")
    assert [await accepted.recv(), await accepted.recv()] == [large(4), large(5)]
    with pytest.raises(ConnectionClosed):
        await accepted.recv()
    await closing


async def test_the_end_of_a_buffer_in_another_thread_is_heard_of(dialled: Connection, accepted: Connection) -> None:
    held = [await carry(dialled, accepted, large(1))]
    await asyncio.get_running_loop().run_in_executor(None, held.clear)
    await given_back(dialled, accepted)


@given(sizes=st.lists(st.sampled_from([0, 10, 5000, SHARE_FROM, 5 * SHARE_FROM]), max_size=8))
def test_frames_come_in_the_order_in_which_they_were_written(sizes: list[int]) -> None:
    frames = [Frame(b"%d" % number, (bytes(size),)) for number, size in enumerate(sizes)]

    async def main() -> list[Frame]:
        async with neighbours() as (dialled, accepted):
            for frame in frames:
                dialled.write(frame, bulk=True)
            return [await accepted.recv() for _ in frames]

    assert asyncio.run(main()) == frames


async def test_both_ends_count_what_was_shared_as_if_it_had_been_sent() -> None:
    async with neighbours() as (dialled, accepted):
        sent, received = dialled.statistics(), accepted.statistics()
        await carry(dialled, accepted, large(1))
        more = dialled.statistics().bytes_sent - sent.bytes_sent
        assert more > SHARE_FROM
        assert dialled.statistics().frames_sent == sent.frames_sent + 1
        assert accepted.statistics().frames_received == received.frames_received + 1
        shared = dialled.statistics().shared_bytes_sent - sent.shared_bytes_sent
        assert 0.99 * SHARE_FROM < shared < more, "the message about it was sent"
        assert accepted.statistics().shared_bytes_received - received.shared_bytes_received == shared
        chunk_prefixes = 12
        overhead = accepted.statistics().bytes_received - received.bytes_received - more
        assert abs(overhead) <= chunk_prefixes


async def test_what_the_reader_has_not_read_counts_as_unsent_and_holds_its_writer_up() -> None:
    async with neighbours() as (dialled, accepted):
        dialled.write(large(1, MUCH), bulk=True)
        hearing = await start(dialled.recv(), "hear what was read")
        assert dialled.unsent >= MUCH
        assert dialled.congested
        draining = await start(dialled.drain(), "drain")
        kept = await accepted.recv()
        await draining
        assert dialled.unsent == 0
        accepted.write(Frame(b"end"))
        await hearing
        del kept


@pytest.mark.parametrize("end", ["abort", "aclose"])
async def test_who_drains_hears_of_the_end(dialled: Connection, end: str) -> None:
    dialled.write(large(1, MUCH), bulk=True)
    draining = await start(dialled.drain(), "drain")
    if end == "abort":
        dialled.abort()
    else:
        await dialled.aclose(grace=0.1)
    with pytest.raises(ConnectionClosed):
        await draining


# --- what speaks against it
async def test_there_is_a_variable_that_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_VARIABLE, "0")
    async with neighbours() as (dialled, accepted):
        came = await carry(dialled, accepted, large(1))
        assert came == large(1)
        assert not was_shared(came.segments[0])


@pytest.mark.parametrize("who", ["dialler", "listener"])
async def test_where_one_end_shares_nothing_everything_is_sent(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter([who == "dialler", who == "listener"])  # the listener's end is made first
    opened = shared.open_lane
    monkeypatch.setattr(stream, "open_lane", lambda pid, send: opened(pid, send) if next(asked) else None)
    async with neighbours() as (dialled, accepted):
        for writer, reader in ((dialled, accepted), (accepted, dialled)):
            came = await carry(writer, reader, large(1))
            assert came == large(1)
            assert not was_shared(came.segments[0])


async def test_an_end_that_shares_nothing_is_told_of_nothing_but_offers() -> None:
    async with raw_peer(LOOPBACK, shares=False) as (connection, _, writer):
        writer.write(word(b"r"))
        with pytest.raises(ProtocolError, match=r"about shared memory, although no memory is shared"):
            await connection.recv()


async def test_what_is_to_be_encrypted_is_not_shared(files: SecurityConfig) -> None:
    here = replace(PS, pid=os.getpid())
    async with linked("tls://127.0.0.1:0", ps=here, worker=here, security=files) as (dialled, accepted):
        assert not was_shared((await carry(dialled, accepted, large(1))).segments[0])


async def test_a_peer_elsewhere_is_not_found_and_is_sent_everything() -> None:
    async with linked(LOOPBACK) as (dialled, accepted):  # its process ids are of another host
        for _ in range(3):
            came = await carry(dialled, accepted, large(3))
            assert came == large(3)
            assert not was_shared(came.segments[0])


async def test_a_frame_that_cannot_be_sent_takes_no_place(dialled: Connection, accepted: Connection) -> None:
    uneven = memoryview(bytearray(2 * SHARE_FROM))[::2]
    with pytest.raises(ValueError, match="not C-contiguous"):
        dialled.write(Frame(b"", (bytes(SHARE_FROM), uneven)), bulk=True)
    assert dialled.unsent == 0
    assert await carry(dialled, accepted, large(1)) == large(1)


async def test_without_room_arrays_are_sent(limit: Callable[..., None]) -> None:
    limit(ARENA_SIZE=2 * SHARE_FROM, KEPT_SHARE=1)
    async with neighbours() as (dialled, accepted):
        held = [await carry(dialled, accepted, large(fill)) for fill in range(4)]
        assert [was_shared(f.segments[0]) for f in held] == [True, True, False, False]
        assert held == [large(fill) for fill in range(4)]


@pytest.fixture
def overcommit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the system says of memory that it has not got; the file is missing at first."""
    monkeypatch.setattr(arena, "_OVERCOMMIT", str(tmp_path / "overcommit"))
    return tmp_path / "overcommit"


async def test_where_the_system_may_refuse_pages_they_are_reserved_or_arrays_are_sent(overcommit: Path) -> None:
    """A write to a page that is refused would end the process."""
    overcommit.write_text("2\n")
    full = OSError(errno.ENOSPC, "No space left on device")
    async with neighbours() as (dialled, accepted):
        assert was_shared((await carry(dialled, accepted, large(1))).segments[0])
        with patch.object(os, "posix_fallocate", side_effect=full) as reserve:
            came = await carry(dialled, accepted, large(2))
        assert reserve.called
        assert not was_shared(came.segments[0])
        assert came == large(2)
        assert was_shared((await carry(dialled, accepted, large(3))).segments[0])


@pytest.mark.parametrize(("says", "expected"), [("0\n", False), ("1\n", False), ("2\n", True)])
def test_strict_overcommit_is_where_the_system_refuses_pages(says: str, expected: bool, overcommit: Path) -> None:
    assert not arena._may_lack_pages()
    overcommit.write_text(says)
    assert arena._may_lack_pages() == expected


@pytest.mark.parametrize("function", ["memfd_create", "open"])
async def test_without_descriptors_for_the_lane_arrays_are_sent(function: str) -> None:
    ps, worker = replace(PS, pid=os.getpid()), replace(WORKER, pid=os.getpid())
    none = OSError(errno.EMFILE, "Too many open files")
    async with linked(LOOPBACK, ps=ps, worker=worker) as (dialled, accepted):
        with patch.object(os, function, side_effect=none):
            for fill in range(3):
                assert await carry(dialled, accepted, large(fill)) == large(fill)
                await carry(accepted, dialled, Frame(b"read on"))


async def test_parts_that_were_given_back_make_room_for_a_larger_one(limit: Callable[..., None]) -> None:
    limit(ARENA_SIZE=4 * SHARE_FROM, KEPT_SHARE=1)
    async with neighbours() as (dialled, accepted):
        held = [await carry(dialled, accepted, large(fill)) for fill in range(4)]
        del held[::2], held[:]
        await given_back(dialled, accepted)
        came = await carry(dialled, accepted, large(2, 4 * SHARE_FROM))
        assert was_shared(came.segments[0])
        assert came == large(2, 4 * SHARE_FROM)


async def test_memory_that_is_not_used_goes_back_to_the_machine(limit: Callable[..., None]) -> None:
    limit(RELEASE_AFTER=0.0)
    async with neighbours() as (dialled, accepted):
        kept = await carry(dialled, accepted, large(3))
        await carry(dialled, accepted, large(1, 5 * SHARE_FROM))
        assert pages(dialled) >= 6 * SHARE_FROM
        reading = await start(dialled.recv(), "hear what is given back")
        await until(lambda: pages(dialled) == SHARE_FROM)
        accepted.write(Frame(b"end"))
        await reading
        assert kept == large(3)
        assert await carry(dialled, accepted, large(2)) == large(2)


@given(st.data())
def test_parts_of_an_arena_never_overlap_and_come_together_again(source: st.DataObject) -> None:
    page = 4096
    whole = arena.Arena(16 * page)
    taken: list[tuple[int, int]] = []
    try:
        for _ in range(source.draw(st.integers(0, 30))):
            if len(taken) > 0 and source.draw(st.booleans()):
                whole.free(*taken.pop(source.draw(st.integers(0, len(taken) - 1))))
                continue
            length = source.draw(st.integers(1, 6 * page))
            part = whole.take(length)
            used = sorted((at, at + -(-size // page) * page) for at, size in taken)
            assert all(one[1] <= other[0] for one, other in pairwise(used))
            edges = [0, *(edge for both in used for edge in both), 16 * page]
            gaps = [end - begin for begin, end in zip(edges[::2], edges[1::2], strict=True)]
            assert (part is None) == (max(gaps) < length)
            if part is not None:
                taken.append((part[0], length))
        for part_taken in taken:
            whole.free(*part_taken)
        everything: Any = whole.take(16 * page)
        assert everything[0] == 0
        everything[1].release()
    finally:
        whole.close()


# --- peers that break the rules
async def words(reader: ByteReader, decoder: FrameDecoder) -> list[bytes]:
    """Read the next that the lane at the other end says."""
    found: list[bytes] = []
    while not found:
        frames = decoder.feed(await reader.read(2**16))
        found += [bytes(frame.header) for frame in frames if isinstance(frame, SharedFrame)]
    return found


def word(header: bytes, *segments: bytes) -> bytes:
    """Make a frame of the lane."""
    return b"".join(map(bytes, encode_frame(Frame(header, segments), flags=SHARED_FLAG)))


def offer(descriptor: int, token: bytes, number: int = 0) -> bytes:
    return word(b"o" + struct.pack("!I", descriptor) + token + struct.pack("!Q", number))


def data(*places: tuple[int, int, int, int], count: int | None = None) -> bytes:
    """Make a frame whose segments are at (position, number, offset in the arena, length)."""
    count = len(places) if count is None else count
    return word(b"d" + struct.pack("!I", count) + b"".join(struct.pack("!IIQQ", *p) for p in places))


TOKEN = bytes(range(arena.TOKEN_SIZE))


@pytest.fixture
def theirs() -> Iterator[int]:
    """An arena as another end would make it, of the token above."""
    descriptor = arena._make_file(TOKEN, SHARE_FROM)
    yield descriptor
    os.close(descriptor)


async def test_an_offer_is_answered_by_whether_it_can_be_reached(theirs: int) -> None:
    for descriptor, token, answer in (
        (theirs, TOKEN, b"r"),
        (theirs, bytes(16), b"n"),  # a file of somebody else
        (0, TOKEN, b"n"),  # none of these files at all
        (10**6, TOKEN, b"n"),
    ):
        async with raw_peer(LOOPBACK, shares=True) as (connection, reader, writer):
            writer.write(offer(descriptor, token) + b"".join(map(bytes, encode_frame(Frame(b"x")))))
            assert await connection.recv() == Frame(b"x")
            assert (await words(reader, FrameDecoder())) == [answer]


@pytest.mark.parametrize(
    ("agreed", "spoilt"),
    [
        (False, data((0, 0, 0, SHARE_FROM))),
        (True, data((1, 0, 0, 10))),
        (True, data((0, 0, 0, SHARE_FROM + 1))),
        (True, data((0, 0, SHARE_FROM, 1))),
        (True, data((0, 0, 2**63, 10))),
        (True, data((0, 0, 0, 0))),
        (True, data((0, 0, 0, 2**40))),
        (True, data((0, 0, 0, 10), count=2)),
        (True, data((0, 0, 0, 10), count=2**32 - 1)),
        (True, word(b"d")),
        (True, word(b"")),
        (True, word(b"?")),
        (True, word(b"r")),
        (True, word(b"r", b"segment")),
        (True, word(b"b" + struct.pack("!I", 0))),
        (True, word(b"t" + struct.pack("!I", 0))),
        (True, word(b"b\0")),
        (True, offer(3, TOKEN)),
    ],
    ids=[
        "nothing agreed", "no such position", "beyond the end", "at the end", "far beyond", "nothing",
        "more than fits", "cut off", "cut off far", "no places", "empty", "unknown",
        "not offered", "segments",         "not out", "not read", "half a number", "a second offer",
    ],
)  # fmt: skip
async def test_what_makes_no_sense_ends_the_connection(theirs: int, agreed: bool, spoilt: bytes) -> None:
    async with raw_peer(LOOPBACK, shares=True) as (connection, _, writer):
        if agreed:
            writer.write(offer(theirs, TOKEN))
        writer.write(spoilt)
        with pytest.raises(ProtocolError):
            await connection.recv()
        assert connection.closed


async def test_a_part_that_was_not_given_back_is_not_shared_again(theirs: int) -> None:
    async with raw_peer(LOOPBACK, shares=True) as (connection, _, writer):
        writer.write(offer(theirs, TOKEN) + data((0, 5, 0, 10)))
        held = await connection.recv()
        writer.write(data((0, 5, 100, 10)))
        with pytest.raises(ProtocolError, match=r"part 5 .* was not released"):
            await connection.recv()
        assert len(held.segments[0]) == 10
        del held  # or it would hold a descriptor


async def test_a_file_that_could_shrink_under_its_reader_is_not_mapped() -> None:
    descriptor = os.memfd_create(arena._file_name(TOKEN))
    try:
        os.ftruncate(descriptor, SHARE_FROM)
        async with raw_peer(LOOPBACK, shares=True) as (connection, reader, writer):
            writer.write(offer(descriptor, TOKEN) + b"".join(map(bytes, encode_frame(Frame(b"x")))))
            await connection.recv()
            assert (await words(reader, FrameDecoder())) == [b"n"]
    finally:
        os.close(descriptor)


# --- no memory
async def test_a_frame_without_memory_gives_its_parts_back_and_the_next_one_arrives(socket_address: str) -> None:
    """Whichever allocation fails; a segment is shared, one is sent, and the header is long."""
    frame = Frame(b"about " + bytes(2**18), (b"\1" * SHARE_FROM, b"\2" * 100, b"\3" * SHARE_FROM))
    async with neighbours(socket_address) as (dialled, accepted):
        nth, losses, is_short = 0, 0, True
        while is_short:
            nth += 1
            with pytest.MonkeyPatch.context() as patched:
                shortage = Shortage(patched, nth)
                came = await carry(dialled, accepted, frame)
            is_short = shortage.failed > 0
            if isinstance(came, LostFrame):
                losses += 1
                assert came.start[:6] == b"about "
                await given_back(dialled, accepted)
            else:
                assert came == frame
            del came
            assert was_shared((await carry(dialled, accepted, large(4))).segments[0])
        assert losses > 1
        await asyncio.wait_for(dialled.drain(), 60)


async def test_a_reader_that_keeps_much_and_has_no_memory_for_a_copy_loses_that_frame(
    monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    limit(KEPT_SHARE=2**62)
    async with neighbours() as (dialled, accepted):
        with monkeypatch.context() as patched:
            Shortage(patched, above=SHARE_FROM - 1)
            assert isinstance(await carry(dialled, accepted, large(5)), LostFrame)
        assert (await carry(dialled, accepted, large(6))) == large(6)
        await given_back(dialled, accepted)


@pytest.mark.parametrize("error", [OSError(12, "no memory"), MemoryError(), ValueError("too large")])
async def test_an_arena_for_which_there_is_no_address_space_is_refused(error: Exception) -> None:
    ps, worker = replace(PS, pid=os.getpid()), replace(WORKER, pid=os.getpid())
    with patch.object(mmap, "mmap", side_effect=error):
        async with linked(LOOPBACK, ps=ps, worker=worker) as (dialled, accepted):
            for fill in range(3):
                (segment,) = (await carry(dialled, accepted, large(fill, 2**20))).segments
                assert segment == large(fill, 2**20).segments[0]
                assert not was_shared(segment)
                await carry(accepted, dialled, Frame(b"read on"))
    descriptors = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [path for path in descriptors if "memfd:actorsession " in str(path.readlink())]


# --- real processes
_SENDER = """
import asyncio, os, sys
from transports import Frame, Hello, connect

async def main():
    hello = Hello(cluster_id="green", task="sender", incarnation=1, pid=os.getpid())
    connection = await connect(sys.argv[1], hello)
    connection.write(Frame(b"with the offer", (bytes(2**20),)), bulk=True)
    await connection.recv()
    connection.write(Frame(b"the offer has come before this"))
    await connection.recv()  # and its answer before this
    for fill in range(3):
        connection.write(Frame(b"%d" % fill, (bytes([fill]) * 2**20,)), bulk=True)
    connection.write(Frame(b"end"), bulk=True)
    await connection.recv()

asyncio.run(main())
"""


def is_whole(frame: Frame) -> bool:
    """Whether a frame of the sender above has come as it was written."""
    return all(
        was_shared(segment) and set(memoryview(segment)) == {int(bytes(frame.header))} for segment in frame.segments
    )


@pytest.mark.process
@pytest.mark.parametrize("reads", ["before", "after"])
async def test_a_killed_sender_leaves_whole_arrays_or_none(reads: str) -> None:
    result: asyncio.Future[tuple[list[Frame], ConnectionClosed]]
    result = asyncio.get_running_loop().create_future()
    came, killed = asyncio.Event(), asyncio.Event()

    async def serve(connection: Connection) -> None:
        frames: list[Frame] = []
        try:
            for _ in range(2):
                await connection.recv()
                connection.write(Frame(b"go on"))
            if reads == "after":
                came.set()
                await killed.wait()
            while True:
                frames.append(await connection.recv())
                came.set()
        except ConnectionClosed as error:
            result.set_result((frames, error))

    async with await listen(LOOPBACK, replace(PS, pid=os.getpid()), serve) as listener:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _SENDER, listener.address, cwd=Path(__file__).parents[2]
        )
        async with asyncio.timeout(30):
            await came.wait()
            child.send_signal(signal.SIGKILL)
            await child.wait()
            killed.set()
            frames, error = await result
    assert not error.by_us
    assert all(is_whole(frame) for frame in frames)
    frames.clear()  # or they would hold a descriptor


Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def shared_array(fill: int, length: int = SHARE_FROM) -> Bytes:
    """An array in the memory that peers can read."""
    memory = allocate_shared(length)
    assert memory is not None
    made: Bytes = np.ndarray((length,), np.uint8, memory)
    made[:] = fill
    return made


async def lend(writer: Connection, reader: Connection, array: Bytes) -> Bytes:
    """Send an array and return what its reader sees."""
    (segment,) = (await carry(writer, reader, Frame(b"lent", (array.data,)))).segments
    return np.frombuffer(segment, np.uint8)


def places() -> int:
    """How many places of this process's arena are in use."""
    current: Any = arena.current_arena()
    current.sweep()
    return len(current._places)


async def test_an_array_in_shared_memory_is_sent_by_its_place(dialled: Connection, accepted: Connection) -> None:
    array = shared_array(1)
    seen = await lend(dialled, accepted, array)
    assert not seen.flags.writeable
    assert places() == 1  # nothing was copied
    array[7] = 9  # its owner must not do that, but it shows whose memory it is
    assert seen[7] == 9


async def test_so_is_a_part_of_one(dialled: Connection, accepted: Connection) -> None:
    array = shared_array(0, 4 * SHARE_FROM)
    array[SHARE_FROM:] = 5
    seen = await lend(dialled, accepted, array[SHARE_FROM : 3 * SHARE_FROM])
    assert places() == 1
    np.testing.assert_array_equal(seen, np.full(2 * SHARE_FROM, 5, np.uint8))


async def test_there_is_no_such_memory_before_a_peer_can_read_it_or_for_few_bytes() -> None:
    assert allocate_shared(SHARE_FROM) is None
    async with neighbours():
        assert allocate_shared(SHARE_FROM) is not None
        assert allocate_shared(SHARE_FROM - 1) is None
    assert allocate_shared(SHARE_FROM) is None


async def test_the_lender_counts_as_a_holder_until_the_array_is_returned() -> None:
    async with neighbours() as (dialled, accepted):
        array = shared_array(1)
        alone = sys.getrefcount(array)
        seen = await lend(dialled, accepted, array)
        assert sys.getrefcount(array) == alone + 1
        del seen
        await given_back(dialled, accepted)
        assert sys.getrefcount(array) == alone


async def test_a_place_is_taken_while_any_of_several_readers_has_it() -> None:
    async with neighbours() as (one, reader), neighbours() as (other, second_reader):
        array = shared_array(3)
        first = await lend(one, reader, array)
        second = await lend(other, second_reader, array)
        del array
        assert places() == 1
        del first
        await given_back(one, reader)
        assert places() == 1
        np.testing.assert_array_equal(second, np.full(SHARE_FROM, 3, np.uint8))
        del second
        await given_back(other, second_reader)
        assert places() == 0


async def test_what_a_reader_keeps_beyond_its_share_is_copied(limit: Callable[..., None]) -> None:
    limit(ARENA_SIZE=8 * SHARE_FROM)  # a quarter is two
    async with neighbours() as (dialled, accepted):
        array = shared_array(4)
        kept = [await lend(dialled, accepted, array) for _ in range(4)]
        array[0] = 5
        assert [view[0] for view in kept] == [5, 5, 4, 4]
        del kept[:2]
        assert was_shared((await lend(dialled, accepted, array)).base)


async def test_returns_go_along_with_the_next_frame(dialled: Connection, accepted: Connection) -> None:
    array = shared_array(1)
    seen = await lend(dialled, accepted, array)
    del seen
    frames = accepted.statistics().frames_sent
    accepted.write(Frame(b"an answer"))
    assert (await dialled.recv()).header == b"an answer"
    assert accepted.statistics().frames_sent == frames + 1
    assert not dialled._shared._outstanding  # type: ignore[attr-defined]


async def test_returns_come_without_another_frame_as_well(dialled: Connection, accepted: Connection) -> None:
    seen = await lend(dialled, accepted, shared_array(1))
    hearing = asyncio.ensure_future(dialled.recv())
    del seen
    await until(lambda: places() == 0)
    hearing.cancel()
    await asyncio.wait({hearing})


async def test_a_view_outlives_its_connection_and_does_not_change() -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(neighbours())  # keeps the arena
        async with neighbours() as (dialled, accepted):
            seen = await lend(dialled, accepted, shared_array(6))
        assert places() == 1
        others = [shared_array(fill) for fill in range(3)]
        np.testing.assert_array_equal(seen, np.full(SHARE_FROM, 6, np.uint8))
        del seen
        await until(lambda: places() == len(others))


async def test_a_view_outlives_the_arena() -> None:
    async with neighbours() as (dialled, accepted):
        array = shared_array(6)
        seen = await lend(dialled, accepted, array)
        del array
    assert arena.current_arena() is None
    np.testing.assert_array_equal(seen, np.full(SHARE_FROM, 6, np.uint8))


async def test_an_array_outlives_the_arena() -> None:
    async with neighbours():
        array = shared_array(8)
    array += 1
    np.testing.assert_array_equal(array, np.full(SHARE_FROM, 9, np.uint8))


async def test_a_forked_child_leaves_the_memory_of_its_parent_alone(dialled: Connection, accepted: Connection) -> None:
    array = shared_array(2)
    child = os.fork()
    if not child:  # pragma: no cover
        inherited, whole = array.base.arena, allocate_shared(SHARE_FROM) is None  # type: ignore[union-attr]
        del array
        inherited.trim()
        inherited.trim()  # releases what was free at the last one
        os._exit(0 if whole else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(array, np.full(SHARE_FROM, 2, np.uint8))
    seen = await lend(dialled, accepted, array)
    np.testing.assert_array_equal(seen, array)


# --- any order
actions = st.lists(
    st.tuples(
        st.sampled_from(["make", "make", "lend", "lend", "forget", "forget", "release", "write in place", "end"]),
        st.integers(0, 99),
        st.integers(0, 2),
    ),
    min_size=20,
    max_size=40,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(actions=actions)
def test_no_view_ever_changes(actions: list[tuple[str, int, int]]) -> None:
    asyncio.run(_in_order(actions))
    assert arena.current_arena() is None


async def _in_order(actions: list[tuple[str, int, int]]) -> None:
    """An owner that writes to its arrays only where nothing else refers to them, and three readers."""
    arrays: list[Bytes] = []
    views: list[tuple[int, Bytes]] = []
    async with AsyncExitStack() as stack:
        links = [await stack.enter_async_context(neighbours()) for _ in range(3)]
        for action, number, link in actions:
            writer, reader = links[link]
            if action == "make" and not all(writer.closed for writer, _ in links):
                arrays.append(shared_array(number, SHARE_FROM * (1 + number % 3)))
            elif action == "lend" and arrays and not writer.closed:
                array = arrays[number % len(arrays)]
                views.append((int(array[0]), await lend(writer, reader, array)))
                del array
            elif action == "forget" and arrays:
                del arrays[number % len(arrays)]
            elif action == "release" and views:
                del views[number % len(views)]
            elif action == "write in place" and arrays:
                at = number % len(arrays)
                if sys.getrefcount(arrays[at]) == 2:  # the list's, and that of the call: it is alone
                    arrays[at][:] = number
            elif action == "end":
                writer.abort()
                with pytest.raises(ConnectionClosed):
                    await reader.recv()
            for fill, view in views:
                assert view.min() == view.max() == fill
    views.clear()


# --- real processes
_READER = """
import asyncio, os, sys
from transports import Frame, Hello, connect

async def main():
    hello = Hello(cluster_id="green", task="reader", incarnation=1, pid=os.getpid())
    connection = await connect(sys.argv[1], hello)
    kept = []
    while True:
        frame = await connection.recv()
        kept.append(frame)
        values = [segment[0] for segment in frame.segments]
        connection.write(Frame(bytes(values)))
        if frame.header == b"hang up":
            connection.abort()
            await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


@pytest.fixture
def no_patience(limit: Callable[..., None]) -> None:
    """Have former peers looked at without a pause."""
    limit(_LOOK_EVERY=0.0)


@pytest.mark.process
@pytest.mark.usefixtures("no_patience")
async def test_what_was_lent_to_a_process_returns_when_it_is_killed_and_not_when_it_is_only_lost() -> None:
    lent: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def serve(connection: Connection) -> None:
        connection.write(Frame(b"with the offer", (bytes(SHARE_FROM),)), bulk=True)
        await connection.recv()
        await until_ready(connection)
        for fill, header in ((1, b"kept"), (2, b"hang up")):
            connection.write(Frame(header, (shared_array(fill).data,)), bulk=True)
            assert (await connection.recv()).header == bytes([fill])
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        lent.set_result(connection)
        await done.wait()

    async with neighbours(), await listen(LOOPBACK, replace(PS, pid=os.getpid()), serve) as listener:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _READER, listener.address, cwd=Path(__file__).parents[2]
        )
        try:
            async with asyncio.timeout(60):
                await lent
                assert places() == 2  # the process lives, and may look at them
                child.send_signal(signal.SIGKILL)
                await child.wait()
                await until(lambda: places() == 0)
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
            done.set()


class Thing:
    """What is lent beside segments."""


@pytest.mark.process
@pytest.mark.usefixtures("no_patience")
async def test_what_is_lent_beside_segments_is_kept_as_long_as_the_process_may_read_it() -> None:
    ready: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def serve(connection: Connection) -> None:
        before = connection.lent
        assert before is None  # the peer has not answered the offer yet
        await until_ready(connection)
        ready.set_result(connection)
        await done.wait()

    async with await listen(LOOPBACK, replace(PS, pid=os.getpid()), serve) as listener:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _READER, listener.address, cwd=Path(__file__).parents[2]
        )
        try:
            async with asyncio.timeout(60):
                connection = await ready
                lent = connection.lent
                assert lent == {}
                thing = lent[1] = Thing()
                there = weakref.ref(thing)
                del thing, lent
                child.send_signal(signal.SIGSTOP)  # it will go on, and read what has come
                connection.abort()
                assert connection.lent is None
                await asyncio.sleep(0)
                assert there() is not None
                child.send_signal(signal.SIGKILL)
                await child.wait()
                await until(lambda: there() is None)
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
            done.set()


async def test_nothing_is_lent_beside_segments_within_a_process(ends: tuple[Connection, Connection]) -> None:
    assert [end.lent for end in ends] == [None, None]
    assert [end.reads_peer for end in ends] == [True, True]


async def until_ready(connection: Connection) -> None:
    """Wait until the peer has found the memory; its answer may come behind that of the first frame."""
    while not connection._shared._peer_ready:  # type: ignore[attr-defined]
        connection.write(Frame(b"ready?"))
        await connection.recv()

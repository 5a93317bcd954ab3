"""Arrays in shared memory are lent: their place is sent, and stays as it is until every reader has let go."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.transports.peers import PS, until
from tests.transports.test_shared import LOOPBACK, US, carry, given_back, neighbours, was_shared
from transports import Connection, ConnectionClosed, Frame, allocate_shared, listen
from transports.shm import arena
from transports.shm.lane import SHARE_FROM

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")

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
    current = arena.current_arena()
    assert current is not None
    current.sweep()
    return len(current._places)


async def test_an_array_in_shared_memory_is_sent_by_its_place() -> None:
    async with neighbours() as (dialled, accepted):
        array = shared_array(1)
        seen = await lend(dialled, accepted, array)
        assert not seen.flags.writeable
        assert places() == 1  # nothing was copied
        array[7] = 9  # its owner must not do that, but it shows whose memory it is
        assert seen[7] == 9


async def test_so_is_a_part_of_one() -> None:
    async with neighbours() as (dialled, accepted):
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


async def test_returns_go_along_with_the_next_frame() -> None:
    async with neighbours() as (dialled, accepted):
        array = shared_array(1)
        seen = await lend(dialled, accepted, array)
        del seen
        frames = accepted.statistics().frames_sent
        accepted.write(Frame(b"an answer"))
        assert (await dialled.recv()).header == b"an answer"
        assert accepted.statistics().frames_sent == frames + 1
        assert not dialled._shared._outstanding  # type: ignore[attr-defined]


async def test_returns_come_without_another_frame_as_well() -> None:
    async with neighbours() as (dialled, accepted):
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


async def test_a_forked_child_leaves_the_memory_of_its_parent_alone() -> None:
    async with neighbours() as (dialled, accepted):
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

    async with neighbours(), await listen(LOOPBACK, replace(PS, pid=US), serve) as listener:
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


async def until_ready(connection: Connection) -> None:
    """Wait until the peer has found the memory; its answer may come behind that of the first frame."""
    while not connection._shared._peer_ready:  # type: ignore[attr-defined]
        connection.write(Frame(b"ready?"))
        await connection.recv()

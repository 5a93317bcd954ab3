"""Frames that other threads write to a stream: they mix with nothing, and nothing of them is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop

from tests.rows import for_each
from tests.transports.peers import linked, raw_peer, until
from transports import Connection, Frame, encode_frame
from transports.frame import JOIN_BELOW, WIRE_VERSION
from transports.stream.connection import StreamConnection

PATIENCE = 60.0
STREAMS = ("tcp", "unix", "abstract")


class Interrupt(Exception):
    """What a signal handler raises."""


def raise_interrupt(*_: object) -> None:
    raise Interrupt


async def in_thread(connection: Connection, header: bytes) -> bool:
    return await asyncio.to_thread(connection.write_from_thread, header)


async def test_a_thread_writes_where_there_is_a_plain_socket(address: str, request: pytest.FixtureRequest) -> None:
    """Bytes for TLS are encrypted on the loop, and within a process there is no socket."""
    plain = request.node.callspec.params["address"] in STREAMS
    async with linked(address) as (dialled, accepted):
        assert not await in_thread(dialled, b"not opened")
        dialled.open_to_threads()
        dialled.open_to_threads()
        assert dialled.threads_may_write is plain
        assert await in_thread(dialled, b"header") is plain
        assert not await in_thread(accepted, b"the other end is not opened")
        dialled.write(Frame(b"next"))
        if plain:
            assert await accepted.recv() == Frame(b"header")
        assert await accepted.recv() == Frame(b"next")


async def test_large_frames_are_left_to_the_loop(socket_address: str) -> None:
    async with linked(socket_address) as (dialled, accepted):
        dialled.open_to_threads()
        assert not await in_thread(dialled, bytes(JOIN_BELOW))
        assert await in_thread(dialled, bytes(JOIN_BELOW - 1))
        assert await accepted.recv() == Frame(bytes(JOIN_BELOW - 1))


async def test_what_threads_write_is_counted(socket_address: str) -> None:
    async with linked(socket_address) as (dialled, accepted):
        dialled.open_to_threads()
        before = dialled.statistics()
        assert await in_thread(dialled, b"header")
        after = dialled.statistics()
        await accepted.recv()
        assert after.frames_sent - before.frames_sent == 1
        size = sum(map(len, encode_frame(Frame(b"header"), dialled.wire_version)))
        assert after.bytes_sent - before.bytes_sent == size


@pytest.mark.parametrize("large", [0, 3 * 2**20])
async def test_threads_and_the_loop_write_at_once(socket_address: str, large: int) -> None:
    """The frames of each thread arrive in order, whatever the loop writes meanwhile."""
    count = 300

    async def write_on_loop(header: bytes) -> None:
        dialled.write(Frame(header))

    def write(thread: int) -> None:
        for number in range(count):
            header = b"%d %d" % (thread, number)
            if not dialled.write_from_thread(header):
                asyncio.run_coroutine_threadsafe(write_on_loop(header), loop).result(PATIENCE)

    async with linked(socket_address) as (dialled, accepted):
        dialled.open_to_threads()
        loop = asyncio.get_running_loop()
        seen: dict[int, list[int]] = {thread: [] for thread in range(4)}
        bulk = 0
        with ThreadPoolExecutor(4) as threads:
            writing = [loop.run_in_executor(threads, write, n) for n in seen]
            dialled.write(Frame(b"bulk", (bytes(large),)), bulk=True)
            while bulk == 0 or any(len(numbers) < count for numbers in seen.values()):
                # What is received lets the threads write again, as an answer does.
                accepted.write(Frame(b"answer"))
                await dialled.recv()
                header = bytes((frame := await accepted.recv()).header)
                if header == b"bulk":
                    assert sum(map(len, frame.segments)) == large
                    bulk += 1
                else:
                    thread, number = map(int, header.split())
                    seen[thread].append(number)
            await asyncio.gather(*writing)
        assert all(numbers == list(range(count)) for numbers in seen.values())


async def test_what_the_kernel_does_not_take_is_written_by_the_loop(socket_address: str) -> None:
    """The peer does not read until its buffer is full, in the middle of a frame."""
    header = os.urandom(JOIN_BELOW - 1)

    def fill() -> int:
        written = 0
        while connection.write_from_thread(header):
            written += 1
        return written

    async with raw_peer(socket_address) as (connection, reader, _writer):
        connection.open_to_threads()
        written = await asyncio.to_thread(fill)
        assert written > 1
        connection.write(Frame(b"behind it"))
        whole = b"".join(encode_frame(Frame(header), connection.wire_version)) * written
        behind = b"".join(encode_frame(Frame(b"behind it"), connection.wire_version))
        assert await reader.readexactly(len(whole) + len(behind)) == whole + behind
        await until(lambda: not connection.unsent)


class Sparing(socket.socket):
    """A socket that accepts half of what it is given, as a kernel with little room may."""

    def send(self, data: Any, flags: int = 0) -> int:
        return super().send(data[: len(data) // 2], flags)


@for_each("interrupted", [False, True])
async def test_the_rest_of_a_frame_is_written_before_all_else(interrupted: bool, socket_address: str) -> None:
    """Also if a signal interrupts the thread when the kernel has taken a part."""
    header = os.urandom(JOIN_BELOW - 1)

    def write() -> bool | None:
        try:
            return connection.write_from_thread(header)
        except Interrupt:
            return None

    async with raw_peer(socket_address) as (connection, reader, _writer):
        connection.open_to_threads()
        assert isinstance(connection, StreamConnection)
        threads: Any = connection._threads
        threads._socket = Sparing(fileno=threads._socket.detach())
        if interrupted:
            loop: Any = SimpleNamespace(call_soon_threadsafe=raise_interrupt)
            threads._loop = loop
        assert await asyncio.to_thread(write) is (None if interrupted else True)
        if interrupted:
            assert not connection.threads_may_write
        connection.write(Frame(b"behind it"))
        frames = Frame(header), Frame(b"behind it")
        expected = b"".join(piece for frame in frames for piece in encode_frame(frame, WIRE_VERSION))
        assert await reader.readexactly(len(expected)) == expected


async def test_threads_write_again_once_something_was_received(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, reader, writer):
        connection.open_to_threads()
        filler = bytes(2**25)  # more than the buffers of any kernel hold
        connection.write(Frame(filler))
        assert not await in_thread(connection, b"now")
        await reader.readexactly(len(b"".join(encode_frame(Frame(filler), WIRE_VERSION))))
        assert not connection.threads_may_write  # nobody has looked
        writer.writelines(encode_frame(Frame(b"answer"), WIRE_VERSION))
        assert await connection.recv() == Frame(b"answer")
        assert await in_thread(connection, b"now")
        expected = b"".join(encode_frame(Frame(b"now"), WIRE_VERSION))
        assert await reader.readexactly(len(expected)) == expected


@pytest.mark.parametrize("how", ["aclose", "abort"])
async def test_nothing_is_written_after_the_end(socket_address: str, how: str) -> None:
    """Threads write until they are refused; the peer gets whole frames, and then the end."""
    began = threading.Event()

    def write() -> int:
        written = 0
        while dialled.write_from_thread(b"frame"):
            written += 1
            began.set()
        return written

    async with linked(socket_address) as (dialled, accepted):
        dialled.open_to_threads()
        descriptors = len(os.listdir("/proc/self/fd"))
        writing = asyncio.get_running_loop().run_in_executor(None, write)
        await asyncio.to_thread(began.wait)
        if how == "aclose":
            await dialled.aclose()
        else:
            dialled.abort()
        written = await writing
        assert written > 0
        assert not dialled.threads_may_write
        received = 0
        with suppress(Exception):
            while await accepted.recv() == Frame(b"frame"):
                received += 1
        if how == "aclose":
            assert received == written
        await until(lambda: len(os.listdir("/proc/self/fd")) < descriptors)


async def test_a_peer_that_is_gone_is_for_the_loop_to_find(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, _reader, writer):
        connection.open_to_threads()
        writer.transport.abort()
        results = [await asyncio.to_thread(connection.write_from_thread, b"x") for _ in range(3)]
        assert results[-1] is False
        await until(lambda: connection.closed)


class Alarms:
    """Signals that interrupt the main thread while it writes. The kernel may give a signal to any thread of the
    process, so that the main thread notices it late: then it means nothing."""

    def __init__(self) -> None:
        self._are_on = False

    def __call__(self, *_: object) -> None:
        if self._are_on:
            raise Interrupt

    def write(self, connection: Connection, header: bytes, delay: float) -> bool | None:
        """Write; return None if a signal came first, or before the outcome was known."""
        self._are_on = True
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                return connection.write_from_thread(header)
            finally:
                self._are_on = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            self._are_on = False
            return None


@for_each("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_interrupts_at_any_time_leave_the_stream_whole(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The peer reads by fits, so that frames are refused, too; each arrives as a whole, or not at all."""
    random, reading = Random(1), asyncio.Event()
    begun: SimpleQueue[tuple[Connection, Connection, asyncio.AbstractEventLoop]] = SimpleQueue()
    received: list[int] = []
    last = 3000

    async def peers() -> None:
        async with linked("tcp://127.0.0.1:0") as (dialled, accepted):
            dialled.open_to_threads()
            begun.put((dialled, accepted, asyncio.get_running_loop()))
            number = 0
            while number != last:
                await reading.wait()
                number = int((await accepted.recv()).header[:8])
                if 0 <= number < last:
                    received.append(number)

    def run() -> None:
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(peers())

    alarms = Alarms()
    before = signal.signal(signal.SIGALRM, alarms)
    loop = threading.Thread(target=run)
    loop.start()
    try:
        connection, peer, its_loop = begun.get(timeout=PATIENCE)

        async def write_on_loop(number: int) -> None:
            connection.write(Frame(b"%8d" % number))
            reading.set()
            while number != last and not connection.threads_may_write:
                peer.write(Frame(b"answer"))
                await connection.recv()
            if number != last:
                reading.clear()

        def and_wait(work: Coroutine[Any, Any, None]) -> None:
            asyncio.run_coroutine_threadsafe(work, its_loop).result(PATIENCE)

        outcomes = {}
        for number in range(last):
            header = b"%8d" % number + bytes(JOIN_BELOW - 9)
            delay = random.uniform(1e-6, 6e-5)
            outcomes[number] = alarms.write(connection, header, delay)
            if not outcomes[number]:  # as a session does, for a run or its cancellation
                and_wait(write_on_loop(-1))
        and_wait(write_on_loop(last))
    finally:
        signal.signal(signal.SIGALRM, before)
        loop.join(PATIENCE)
    assert received == sorted(set(received))
    arrived = set(received)
    assert {number for number, outcome in outcomes.items() if outcome} <= arrived
    assert not arrived & {number for number, outcome in outcomes.items() if outcome is False}
    unknown = {number for number, outcome in outcomes.items() if outcome is None}
    assert unknown & arrived
    assert unknown - arrived

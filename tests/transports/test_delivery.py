"""Frames that are delivered to callbacks: in the call that read them, in order, and then the end."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from itertools import pairwise

import pytest

from tests.conftest import LOOP_FACTORIES, LoopFactory
from tests.transports.peers import linked, numbered, raw_peer, start, until
from transports import Connection, ConnectionClosed, Frame, FrameDecoder, ProtocolError, encode_frame
from transports.decoder import READ_SIZE
from transports.delivery import FRAMES_PER_TURN
from transports.frame import PREFIX


class Consumer:
    """Keeps what a connection delivers."""

    def __init__(self, connection: Connection) -> None:
        self.frames: list[Frame] = []
        self.ends: list[Exception] = []
        self.over = asyncio.Event()
        connection.deliver(self.on_frame, self.on_end)

    def on_frame(self, frame: Frame) -> None:
        assert not self.ends
        self.frames.append(frame)

    def on_end(self, error: Exception) -> None:
        self.ends.append(error)
        self.over.set()

    def only_end(self) -> ConnectionClosed:
        """Return the one end there was, by whichever side."""
        (error,) = self.ends
        assert isinstance(error, ConnectionClosed)
        return error


async def test_frames_are_delivered_in_order_without_a_task(dialled: Connection, accepted: Connection) -> None:
    sent = [numbered(number) for number in range(100)]
    tasks = set()

    class Noting(Consumer):
        def on_frame(self, frame: Frame) -> None:
            super().on_frame(frame)
            tasks.add(asyncio.current_task())

    consumer = Noting(accepted)
    for frame in sent:
        dialled.write(frame)
    await until(lambda: len(consumer.frames) >= len(sent))
    assert consumer.frames == sent
    assert tasks == {None}


async def test_frames_that_came_before_are_delivered_first_and_not_within_the_call(address: str) -> None:
    async with linked(address) as (dialled, accepted):
        for number in range(3):
            dialled.write(numbered(number))
        await until(lambda: accepted.statistics().frames_received == 3)
        consumer = Consumer(accepted)
        assert consumer.frames == []
        dialled.write(numbered(3))
        await until(lambda: len(consumer.frames) == 4)
        assert consumer.frames == [numbered(number) for number in range(4)]


async def test_the_peers_end_comes_once_and_behind_its_frames(dialled: Connection, accepted: Connection) -> None:
    consumer = Consumer(accepted)
    count = 3 * FRAMES_PER_TURN
    for number in range(count):
        dialled.write(numbered(number))
    await dialled.aclose()
    await consumer.over.wait()
    assert consumer.frames == [numbered(number) for number in range(count)]
    assert not consumer.only_end().by_us
    assert accepted.closed
    await accepted.aclose()
    assert len(consumer.ends) == 1


@pytest.mark.parametrize("end", ["aclose", "abort"])
async def test_our_own_end_comes_once_and_nothing_after_it(dialled: Connection, accepted: Connection, end: str) -> None:
    consumer = Consumer(accepted)
    for number in range(3 * FRAMES_PER_TURN):
        dialled.write(numbered(number))
    await until(lambda: bool(consumer.frames))
    seen = len(consumer.frames)
    if end == "abort":
        accepted.abort()
        assert consumer.ends == []  # nobody is called by what he calls
    else:
        await accepted.aclose()
    await consumer.over.wait()
    assert consumer.only_end().by_us
    assert len(consumer.frames) == seen
    accepted.abort()
    await accepted.aclose()
    assert len(consumer.ends) == 1


async def test_a_callback_may_end_the_connection(dialled: Connection, accepted: Connection) -> None:

    class Ending(Consumer):
        def on_frame(self, frame: Frame) -> None:
            super().on_frame(frame)
            accepted.abort()
            assert self.ends == []

    consumer = Ending(accepted)
    for number in range(3):
        dialled.write(numbered(number))
    await consumer.over.wait()
    assert consumer.frames == [numbered(0)]
    assert consumer.only_end().by_us


async def test_what_a_callback_raises_ends_the_connection_and_is_its_end(address: str) -> None:
    async with linked(address) as (dialled, accepted):

        class Failing(Consumer):
            def on_frame(self, frame: Frame) -> None:
                super().on_frame(frame)
                raise KeyError("mine")

        consumer = Failing(accepted)
        for number in range(3):
            dialled.write(numbered(number))
        await consumer.over.wait()
        assert consumer.frames == [numbered(0)]
        assert [repr(error) for error in consumer.ends] == ["KeyError('mine')"]
        assert accepted.closed
        with pytest.raises(ConnectionClosed) as caught:
            accepted.write(numbered(1))
        assert caught.value.by_us
        with pytest.raises(ConnectionClosed):
            await dialled.recv()


async def test_an_end_that_came_before_is_reported_to_callbacks(dialled: Connection, accepted: Connection) -> None:
    dialled.write(numbered(1))
    await dialled.aclose()
    await until(lambda: accepted.statistics().frames_received == 1)
    consumer = Consumer(accepted)
    await consumer.over.wait()
    assert consumer.frames == [numbered(1)]
    assert not consumer.only_end().by_us


async def test_our_own_end_that_came_before_is_reported_to_callbacks(accepted: Connection) -> None:
    accepted.abort()
    consumer = Consumer(accepted)
    await consumer.over.wait()
    assert consumer.only_end().by_us


async def test_there_is_one_consumer(accepted: Connection) -> None:
    pending = await start(accepted.recv(), "recv")
    with pytest.raises(RuntimeError, match="one"):
        Consumer(accepted)
    pending.cancel()
    await asyncio.wait([pending])
    Consumer(accepted)
    with pytest.raises(RuntimeError, match="one"):
        Consumer(accepted)
    with pytest.raises(RuntimeError, match="one"):
        await accepted.recv()


mode: ContextVar[str] = ContextVar("mode", default="default")


async def test_all_callbacks_run_in_one_context_that_was_copied_at_the_beginning(address: str) -> None:
    """1. A variable is set before the callbacks are registered, and again after that: they see the first value. 2. What
    the callback for one frame sets is seen by the next, and by that for the end."""
    async with linked(address) as (dialled, accepted):
        seen = []

        class Noting(Consumer):
            def on_frame(self, frame: Frame) -> None:
                super().on_frame(frame)
                seen.append(mode.get())
                mode.set(frame.header.decode())  # type: ignore[union-attr]

            def on_end(self, error: Exception) -> None:
                seen.append(mode.get())
                super().on_end(error)

        before = mode.set("registered")
        consumer = Noting(accepted)
        mode.set("later")
        for number in range(2 * FRAMES_PER_TURN):
            dialled.write(numbered(number))
            if number % 7 == 0:
                await asyncio.sleep(0)
        await dialled.aclose()
        await consumer.over.wait()
        numbers = [str(number) for number in range(2 * FRAMES_PER_TURN)]
        assert seen == ["registered", *numbers]
        assert mode.get() == "later"
        mode.reset(before)


async def test_a_flood_lets_the_loop_turn(dialled: Connection, accepted: Connection) -> None:
    """The frames of one peer that are handled in one iteration are limited, however many have come."""
    consumer = Consumer(accepted)
    count = 20 * FRAMES_PER_TURN
    for number in range(count):
        dialled.write(numbered(number))
    loop = asyncio.get_running_loop()
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(consumer.frames))
        if turns[-1] < count:
            loop.call_soon(turn)

    turn()
    await until(lambda: turns[-1] == count)
    # Between two calls of turn() there may be a call for what was set aside and one for what was read.
    steps = [after - before for before, after in pairwise(turns)]
    assert max(steps) <= 2 * FRAMES_PER_TURN


async def test_a_peer_that_sends_faster_than_frames_are_handled_is_not_read_ahead(socket_address: str) -> None:
    """What waits is bounded by two reads, however much has been sent."""
    frame = b"".join(encode_frame(Frame(b"")))
    count = 6 * READ_SIZE // len(frame)
    async with raw_peer(socket_address) as (connection, _, writer):
        consumer = Consumer(connection)
        writer.write(frame * count)
        most = 0

        def look() -> bool:
            nonlocal most
            most = max(most, connection.statistics().frames_received - len(consumer.frames))
            return len(consumer.frames) == count

        await until(look)
        assert most <= 2 * READ_SIZE / len(frame)


async def test_bytes_that_are_no_frame_are_the_end_behind_good_frames(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, reader, writer):
        consumer = Consumer(connection)
        good = [numbered(number) for number in range(3 * FRAMES_PER_TURN)]
        pieces = [bytes(piece) for frame in good for piece in encode_frame(frame)]
        writer.write(b"".join([*pieces, bytes(PREFIX.size)]))
        await consumer.over.wait()
        assert consumer.frames == good
        (error,) = consumer.ends
        assert isinstance(error, ProtocolError)
        assert isinstance(error.__cause__, ProtocolError)
        assert connection.closed
        assert await reader.read() == b""


async def test_a_peer_that_ended_its_direction_is_answered_until_its_frames_are_handled(socket_address: str) -> None:
    async with raw_peer(socket_address) as (connection, reader, writer):
        asked = [numbered(number) for number in range(3 * FRAMES_PER_TURN)]
        writer.write(b"".join(bytes(piece) for frame in asked for piece in encode_frame(frame)))
        writer.write_eof()
        over = asyncio.Event()
        connection.deliver(connection.write, lambda _: over.set())
        await over.wait()
        assert FrameDecoder().feed(await reader.read()) == asked


@pytest.mark.parametrize("new_loop", LOOP_FACTORIES.values(), ids=LOOP_FACTORIES.keys())
@pytest.mark.parametrize("scheme", ["tcp://127.0.0.1:0", "inproc://interrupted"])
def test_an_interrupt_in_a_callback_reaches_whoever_runs_the_loop(new_loop: LoopFactory, scheme: str) -> None:
    """As one in a task does; the frames behind it are delivered when the loop runs on."""
    seen: list[Frame] = []

    def on_frame(frame: Frame) -> None:
        seen.append(frame)
        if len(seen) == 1:
            raise KeyboardInterrupt

    async def receive() -> None:
        async with linked(scheme) as (dialled, accepted):
            accepted.deliver(on_frame, lambda _: None)
            with dialled.hold_writes():
                for number in range(3):
                    dialled.write(numbered(number))
            await until(lambda: len(seen) == 3)

    loop = new_loop()
    try:
        receiving = loop.create_task(receive())
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(receiving)
        loop.run_until_complete(receiving)
        assert seen == [numbered(number) for number in range(3)]
    finally:
        loop.close()


async def test_a_consumer_that_pauses_gets_the_next_frames_and_the_end_when_it_resumes(address: str) -> None:
    count = 3 * FRAMES_PER_TURN
    async with linked(address) as (dialled, accepted):

        class Pausing(Consumer):
            def on_frame(self, frame: Frame) -> None:
                super().on_frame(frame)
                accepted.pause()

        consumer = Pausing(accepted)
        for number in range(count):
            dialled.write(numbered(number))
        ending = asyncio.ensure_future(dialled.aclose())
        while len(consumer.frames) < count:
            before = len(consumer.frames)
            for _ in range(3):
                await asyncio.sleep(0)
            assert len(consumer.frames) - before <= 1
            assert not consumer.ends
            if len(consumer.frames) == before:
                accepted.resume()
        accepted.resume()
        await consumer.over.wait()
        await ending
        assert consumer.frames == [numbered(number) for number in range(count)]

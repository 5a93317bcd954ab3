"""Writes of one turn: they leave each connection together, in their order, when the turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.transports.peers import linked, numbered, raw_peer, until
from transports import Buffer, Connection, Frame, FrameDecoder
from transports.frame import CHUNK_SIZE
from transports.outbox import _JOIN_UP_TO, _MOST_HELD, Outbox, WriteTurn, turn_of


class Calls(asyncio.WriteTransport):
    """A transport that joins the pieces of writelines(), as the standard loop's of Python 3.11 does."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []
        self.closed = False

    def write(self, data: Buffer) -> None:
        self.calls.append(data)

    def is_closing(self) -> bool:
        return self.closed


class GatheringCalls(Calls):
    """A transport that passes pieces to the system as they are."""

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        self.calls.append(list(pieces))


def outbox(kind: type[Calls] = GatheringCalls) -> tuple[WriteTurn, Outbox, list[Any]]:
    turn, transport = WriteTurn(), kind()
    return turn, Outbox(transport, turn), transport.calls


def test_outside_a_turn_everything_is_written_at_once() -> None:
    _, box, calls = outbox()
    box.write([b"a"], 1)
    box.write([b"b", b"c"], 2)
    assert calls == [b"a", [b"b", b"c"]]


def test_in_a_turn_it_is_written_at_the_end_in_one_call() -> None:
    turn, box, calls = outbox()
    with turn:
        box.write([b"a"], 1)
        with turn:
            box.write([b"b", b"c"], 2)
        assert box.nbytes == 3
        assert calls == []
    assert calls == [[b"a", b"b", b"c"]]
    assert box.nbytes == 0
    box.write([b"d"], 1)
    assert calls[1:] == [b"d"]


def test_outboxes_are_written_in_the_order_of_their_first_writes() -> None:
    turn, order = WriteTurn(), []

    class Noting(Calls):
        def write(self, data: Buffer) -> None:
            order.append(data)

    one, other = Outbox(Noting(), turn), Outbox(Noting(), turn)
    with turn:
        other.write([b"other"], 5)
        one.write([b"one"], 3)
        other.write([b" too"], 4)
    assert order == [b"other too", b"one"]


def test_what_was_written_before_an_error_leaves() -> None:
    turn, box, calls = outbox()

    def fail() -> None:
        with turn:
            box.write([b"a"], 1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert calls == [b"a"]
    assert not turn.is_open


def test_one_that_cannot_be_written_ends_its_connection_and_none_of_the_others() -> None:
    """A part of a frame may be missing, so its peer would wait for the rest."""

    class Failing(Calls):
        aborted = False

        def write(self, data: Buffer) -> None:
            raise MemoryError

        def abort(self) -> None:
            self.aborted = True

    turn, box, calls = outbox()
    failing = Failing()
    bad = Outbox(failing, turn)
    with turn:
        bad.write([b"lost"], 4)
        box.write([b"a"], 1)
    assert failing.aborted
    assert calls == [b"a"]
    assert (bad.nbytes, box.nbytes, turn.waiting) == (0, 0, [])
    with turn:
        box.write([b"b"], 1)
    assert calls == [b"a", b"b"]


def test_a_large_amount_does_not_wait_for_the_end_of_the_turn() -> None:
    turn, box, calls = outbox()
    with turn:
        box.write([b"a"], 1)
        box.write([bytes(_MOST_HELD)], _MOST_HELD)
        assert calls == [[b"a", bytes(_MOST_HELD)]]
        box.write([b"b"], 1)
    assert calls[1:] == [b"b"]


def test_pieces_are_joined_for_a_transport_that_would_join_them_but_large_ones_are_not() -> None:
    turn, box, calls = outbox(Calls)
    large = bytes(_JOIN_UP_TO)
    with turn:
        box.write([b"a"], 1)
        box.write([b"b"], 1)
    with turn:
        box.write([b"a", large], 1 + len(large))
    assert calls[0] == b"ab"
    assert calls[1] == b"a"
    assert calls[2] is large


def test_what_must_not_wait_is_written_behind_what_is_held() -> None:
    turn, box, calls = outbox()
    with turn:
        box.write([b"a"], 1)
        box.write_now([b"b", b"c"], 2)
        assert calls == [b"a", [b"b", b"c"]]
    assert len(calls) == 2


def test_what_is_held_for_a_transport_that_closes_is_dropped() -> None:
    turn, transport = WriteTurn(), Calls()
    box = Outbox(transport, turn)
    with turn:
        box.write([b"a"], 1)
        transport.closed = True
    assert transport.calls == []
    assert box.nbytes == 0


# -- connections -----------------------------------------------------------------------------------
def count_writes(connection: Connection) -> list[str]:
    """Return a list that gets the name of each method by which the transport is passed bytes."""
    calls: list[str] = []
    box: Outbox = connection._outbox  # type: ignore[attr-defined]
    transport = box._transport

    class Counting:
        def __getattr__(self, name: str) -> Any:
            if name in ("write", "writelines"):
                calls.append(name)
            return getattr(transport, name)

    box._transport = Counting()
    return calls


def written_by_the_system() -> int:
    """How many calls write() and its kind this process has made; those of uvloop, and not send()."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["syscw"])


@pytest.mark.parametrize("answers", [1, 5])
async def test_what_callbacks_write_leaves_each_connection_in_one_write(socket_address: str, answers: int) -> None:
    """1. Three requests arrive in one read. 2. Each is answered, several times, and told on over a second connection.
    3. Each connection has passed everything to its transport in one call, which is one of the system."""
    async with AsyncExitStack() as opened:
        dialled, accepted = await opened.enter_async_context(linked(socket_address))
        onward, other = await opened.enter_async_context(linked("tcp://127.0.0.1:0"))
        calls, calls_onward = count_writes(accepted), count_writes(onward)
        system: list[int] = []

        def on_frame(frame: Frame) -> None:
            system.append(written_by_the_system())
            for _ in range(answers):
                accepted.write(frame)
            onward.write(frame)

        accepted.deliver(on_frame, lambda _: None)
        requests = [numbered(number) for number in range(3)]
        with dialled.hold_writes():
            for frame in requests:
                dialled.write(frame)
        for frame in requests:
            assert [await dialled.recv() for _ in range(answers)] == [frame] * answers
            assert await other.recv() == frame
        assert len(calls) == len(calls_onward) == 1
        if "uvloop" in type(asyncio.get_running_loop()).__module__:
            assert system == [system[0]] * 3
            assert written_by_the_system() - system[0] == 2


async def test_writes_outside_a_turn_leave_at_once_and_those_of_a_block_together(socket_address: str) -> None:
    async with linked(socket_address) as (dialled, accepted):
        calls = count_writes(dialled)
        for number in range(3):
            dialled.write(numbered(number))
        assert len(calls) == 3
        with dialled.hold_writes():
            for number in range(3, 6):
                dialled.write(numbered(number))
            assert len(calls) == 3
            assert dialled.unsent == dialled.ahead > 0
        assert len(calls) == 4
        assert [await accepted.recv() for _ in range(6)] == [numbered(n) for n in range(6)]


async def test_a_turn_is_that_of_all_connections_of_its_loop(dialled: Connection, accepted: Connection) -> None:
    assert not turn_of(asyncio.get_running_loop()).is_open
    with dialled.hold_writes():
        assert turn_of(asyncio.get_running_loop()).is_open
        accepted.write(numbered(1))
    assert await dialled.recv() == numbered(1)


async def test_bulk_frames_do_not_overtake_what_was_written_before_them(socket_address: str) -> None:
    large = Frame(b"large", (bytes(2 * CHUNK_SIZE),))
    async with linked(socket_address) as (dialled, accepted):
        with dialled.hold_writes():
            dialled.write(numbered(1))
            dialled.write(large, bulk=True)
            dialled.write(numbered(2))
        found = [await accepted.recv() for _ in range(3)]
        assert found[0] == numbered(1)
        assert large in found


async def test_what_was_written_before_an_abort_in_the_same_turn_leaves(socket_address: str) -> None:
    """It may say why."""
    async with raw_peer(socket_address) as (connection, reader, writer):
        with connection.hold_writes():
            connection.write(numbered(1))
            connection.abort()
        assert FrameDecoder().feed(await reader.read()) == [numbered(1)]
        writer.transport.abort()


async def test_a_callback_that_is_never_called_again_leaves_no_turn_open(address: str) -> None:
    async with linked(address) as (dialled, accepted):
        over = asyncio.Event()

        def fail(frame: Frame) -> None:
            dialled.write(numbered(2))
            raise KeyError("mine")

        accepted.deliver(fail, lambda _: over.set())
        dialled.write(numbered(1))
        await over.wait()
        await until(lambda: not turn_of(asyncio.get_running_loop()).is_open)

"""What is peculiar to inproc: objects pass as they are, and names belong to one loop."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from tests.transports.peers import PS, WORKER, echo, linked, numbered, recv_until_the_loop_turns, start
from transports import BindError, ConnectError, Frame, connect, listen
from transports.connection import HIGH_WATER
from transports.delivery import FRAMES_PER_TURN
from transports.host import current_host
from transports.inproc import HIGH_WATER_FRAMES, _new_names


async def test_the_peer_receives_the_very_frame() -> None:
    frame = Frame(b"head", (bytearray(b"segment"),))
    async with linked("inproc://same") as (dialled, accepted):
        dialled.write(frame)
        assert await accepted.recv() is frame


async def test_many_empty_frames_fill_the_queue_as_bytes_do() -> None:
    async with linked("inproc://many") as (dialled, accepted):
        for _ in range(HIGH_WATER_FRAMES + 1):
            dialled.write(Frame(b""))
        assert dialled.statistics().send_buffer < HIGH_WATER
        draining = await start(dialled.drain(), "drain")
        assert not draining.done()
        for _ in range(HIGH_WATER_FRAMES + 1):
            await accepted.recv()
        await draining


async def test_a_flood_lets_the_loop_turn() -> None:
    async with linked("inproc://flood") as (dialled, accepted):
        for number in range(3 * FRAMES_PER_TURN):
            dialled.write(numbered(number))
        assert 1 < await recv_until_the_loop_turns(accepted) <= FRAMES_PER_TURN + 1


async def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    async with await listen("inproc://known", PS, echo):
        with pytest.raises(ConnectError, match="'known'") as caught:
            await connect("inproc://unknown", WORKER)
    assert caught.value.errno == errno.ECONNREFUSED


async def test_a_name_that_is_taken_tells_by_whom() -> None:
    async with await listen("inproc://taken", PS, echo):
        with pytest.raises(BindError, match=PS.task):
            await listen("inproc://taken", WORKER, echo)


async def test_no_name_is_left_behind() -> None:
    async with await listen("inproc://brief", PS, echo):
        assert "brief" in current_host().own(_new_names)
    assert "brief" not in current_host().own(_new_names)


async def test_a_socket_is_no_use_to_a_name() -> None:
    with socket.socket() as sock, pytest.raises(ValueError, match="cannot use a listening socket"):
        await listen("inproc://name", PS, echo, sock=sock)


def test_a_listener_of_another_loop_is_out_of_reach() -> None:
    async def dial() -> None:
        await connect("inproc://elsewhere", WORKER)

    with (
        asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as one,
        asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as other,
    ):
        listener = one.run(listen("inproc://elsewhere", PS, echo))
        with pytest.raises(ConnectError, match="another event loop; tcp:// and unix:// connect across event loops"):
            other.run(dial())
        one.run(listener.aclose())


def test_the_name_of_a_listener_whose_loop_is_closed_is_free() -> None:
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as one:
        one.run(listen("inproc://abandoned", PS, echo))

    async def dial_and_listen() -> None:
        with pytest.raises(ConnectError):
            await connect("inproc://abandoned", WORKER)
        async with await listen("inproc://abandoned", PS, echo):
            pass

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as other:
        other.run(dial_and_listen())
    assert "abandoned" not in current_host().own(_new_names)

"""Dialling: who is there and hangs up in the hello is dialled again, who is not there is not."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.extend import InprocTransport
from actorsession.rpc.dial import dial
from transports import ConnectError, Connection, Hello, WrongPeer, listen, register_transport, unregister_transport

WE, PEER = (Hello(cluster_id="", task=task, incarnation=1, pid=1) for task in ("we", "peer"))


class Fickle:
    """A listener that ends the first connections in their hello, and serves those after them.

    Args:
        ends: how many.
        resets: whether with a reset; else in order.
    """

    def __init__(self, ends: int, *, resets: bool) -> None:
        self.ends, self.resets = ends, resets
        self.taken = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        self._listening.setblocking(False)
        refusing = asyncio.create_task(self._refuse())
        try:
            yield
        finally:
            refusing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await refusing
            self._listening.close()

    async def _refuse(self) -> None:
        loop = asyncio.get_running_loop()
        while self.taken < self.ends:
            taken, _ = await loop.sock_accept(self._listening)
            self.taken += 1
            with taken:
                taken.setblocking(False)
                await loop.sock_recv(taken, 4096)
                if self.resets:
                    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        async def serve(connection: Connection) -> None:
            with contextlib.suppress(Exception):
                await connection.recv()

        sock = self._listening.dup()
        listener = await listen(self.address, PEER, serve, sock=sock)
        try:
            await asyncio.Event().wait()
        finally:
            await listener.aclose(grace=1.0)


@pytest.mark.parametrize("resets", [True, False], ids=["reset", "ended in order"])
async def test_a_connection_that_ends_in_its_hello_is_tried_again(resets: bool) -> None:
    fickle = Fickle(3, resets=resets)
    faults: list[ConnectError] = []
    async with fickle.listening():
        made = await dial(fickle.address, WE, Deadline.after(30), on_fault=faults.append)
        assert made.peer.task == "peer"
        made.abort()
    assert fickle.taken == 3
    assert [fault.attempts for fault in faults] == [1, 2, 3]
    assert {fault.phase for fault in faults} == {"hello"}


async def test_a_connection_that_is_refused_is_not_tried_again() -> None:
    """Nobody is there: whether to wait for somebody is the caller's to say."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can listen there
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectError, match="1 attempt") as info:
            await dial(address, WE, Deadline.after(30))
    assert info.value.errno == errno.ECONNREFUSED


async def test_a_listener_that_hangs_up_on_everybody_is_told_of_when_time_is_over() -> None:
    fickle = Fickle(10_000, resets=True)
    async with fickle.listening():
        with pytest.raises(ConnectError, match=r"phase hello, errno \d+ ECONNRESET") as info:
            await dial(fickle.address, WE, Deadline.after(2))
    assert info.value.attempts == fickle.taken > 1


async def test_a_last_attempt_that_had_no_time_left_does_not_hide_the_fault_before_it() -> None:
    """As on a busy machine, where the last attempt begins a moment before the deadline."""
    faults = [
        ConnectError("reset", address="a", errno=errno.ECONNRESET, phase="hello"),
        ConnectError("no answer within 0.05 s", address="a", errno=errno.ETIMEDOUT, phase="hello"),
    ]

    class Faulty(InprocTransport):
        async def connect(self, *args: Any, **named: Any) -> Connection:
            raise faults.pop(0)

    register_transport("faulty", Faulty())
    try:
        with pytest.raises(ConnectError, match=r"reset .*2 attempts") as info:
            await dial("faulty://there", WE, Deadline.after(0.5))
    finally:
        unregister_transport("faulty")
    assert info.value.errno == errno.ECONNRESET


async def test_another_peer_than_the_one_that_is_meant_is_not_tried_again() -> None:
    fickle = Fickle(0, resets=True)
    faults: list[ConnectError] = []
    async with fickle.listening():
        with pytest.raises(WrongPeer, match="other"):
            await dial(fickle.address, WE, Deadline.after(30), expect_task="other", on_fault=faults.append)
    assert faults == []

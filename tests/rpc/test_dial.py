"""Dialling: who is there and hangs up in the hello is dialled again, who is not there is not."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.extend import InprocTransport
from actorsession.rpc.dial import dial
from actorsession.testing.simulation.network import HostNetwork
from tests.transports.peers import PS, WORKER
from tests.transports.world import TOKEN, World, simulate
from transports import ConnectError, Connection, WrongPeer, register_transport, unregister_transport

SEEDS = range(5)


class HangUp(asyncio.Protocol):
    """Ends a stream in its hello: with a reset, because it has read nothing, or in order."""

    def __init__(self, *, resets: bool) -> None:
        self._resets = resets

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._resets:
            transport.pause_reading()
            asyncio.get_running_loop().call_later(0.1, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._transport.close()


class Fickle(HostNetwork):
    """The network of a machine whose listeners end the first streams, and serve those after them.

    Args:
        world: where it is, as machine b.
        ends: how many streams it ends.
        resets: whether with a reset; else in order.
    """

    def __init__(self, world: World, ends: int, *, resets: bool) -> None:
        super().__init__(world.network.machine("b"))
        world.hosts["b"].network = self
        self.ends, self.resets = ends, resets
        self.taken = 0

    async def listen(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], sock: socket.socket, backlog: int
    ) -> asyncio.AbstractServer:
        def protocol() -> asyncio.BaseProtocol:
            if self.taken == self.ends:
                return make_protocol()
            self.taken += 1
            return HangUp(resets=self.resets)

        return await super().listen(protocol, sock, backlog)


async def dialled(world: World, seconds: float, **options: Any) -> Connection:
    """A connection from a to a listener on b."""
    await world.listen()
    return await world.on("a", dialling(seconds, **options))


async def dialling(seconds: float, **options: Any) -> Connection:
    return await dial("tcp://b:7000", WORKER, Deadline.after(seconds), token=TOKEN, **options)


@pytest.mark.parametrize("resets", [True, False], ids=["reset", "ended in order"])
def test_a_connection_that_ends_in_its_hello_is_tried_again(resets: bool) -> None:
    async def main(world: World) -> None:
        fickle = Fickle(world, 3, resets=resets)
        faults: list[ConnectError] = []
        connection = await dialled(world, 30, on_fault=faults.append)
        assert connection.peer.task == PS.task
        assert fickle.taken == 3
        assert [fault.attempts for fault in faults] == [1, 2, 3]
        assert {fault.phase for fault in faults} == {"hello"}
        assert {fault.errno for fault in faults} == {errno.ECONNRESET if resets else None}

    for seed in SEEDS:
        simulate(main, seed)


def test_a_connection_that_is_refused_is_not_tried_again() -> None:
    """Nobody is there: whether to wait for somebody is the caller's to say."""

    async def main(world: World) -> None:
        with pytest.raises(ConnectError, match="1 attempt") as info:
            await world.on("a", dialling(30))
        assert info.value.errno == errno.ECONNREFUSED

    for seed in SEEDS:
        simulate(main, seed)


def test_a_listener_that_hangs_up_on_everybody_is_told_of_when_time_is_over() -> None:
    async def main(world: World) -> None:
        fickle = Fickle(world, 10_000, resets=True)
        begin = world.loop.now
        with pytest.raises(ConnectError, match=r"phase hello, errno \d+ ECONNRESET") as info:
            await dialled(world, 20)
        assert info.value.attempts == fickle.taken > 1
        assert 18 < world.loop.now - begin < 21

    for seed in SEEDS:
        simulate(main, seed)


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
            await dial("faulty://there", WORKER, Deadline.after(0.5))
    finally:
        unregister_transport("faulty")
    assert info.value.errno == errno.ECONNRESET


def test_another_peer_than_the_one_that_is_meant_is_not_tried_again() -> None:
    async def main(world: World) -> None:
        faults: list[ConnectError] = []
        with pytest.raises(WrongPeer, match="other"):
            await dialled(world, 30, expect_task="other", on_fault=faults.append)
        assert faults == []

    for seed in SEEDS:
        simulate(main, seed)

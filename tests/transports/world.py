"""Machines of a simulation with real transports over the simulated network, for tests of what networks do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from actorsession.testing import SimulatedHost, SimulatedLoop, SimulatedNetwork
from tests.transports.peers import PS, WORKER
from transports import Connection, Listener, connect, listen
from transports.host import on_host

T = TypeVar("T")

TOKEN = "a secret of the cluster"


class World:
    """Machines a, b and c with their network; a test's coroutine runs beside them."""

    def __init__(self, seed: int) -> None:
        self.loop = SimulatedLoop(seed)
        self.network = SimulatedNetwork(self.loop)
        self.hosts = {name: SimulatedHost(self.loop, name, network=self.network.of(name)) for name in "abc"}
        self.problems: list[str] = []

    def on(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start work on a machine."""
        with on_host(self.hosts[name]):
            return self.loop.create_task(work)

    def crash(self, name: str) -> None:
        self.hosts[name].crash()
        self.network.crashed(self.hosts[name])

    def restart(self, name: str) -> None:
        self.hosts[name] = self.hosts[name].restart()

    async def listen(self, name: str = "b", port: int = 7000) -> tuple[Listener, asyncio.Queue[Connection]]:
        """Listen on a machine; accepted connections come out of the queue."""
        accepted: asyncio.Queue[Connection] = asyncio.Queue()

        async def serve(connection: Connection) -> None:
            accepted.put_nowait(connection)
            await self.loop.create_future()  # until it is closed

        return await self.on(name, listen(f"tcp://{name}:{port}", PS, serve, token=TOKEN)), accepted

    async def connect(self, name: str = "a", to: str = "tcp://b:7000", timeout: float = 10.0) -> Connection:
        return await self.on(name, connect(to, WORKER, token=TOKEN, timeout=timeout))

    async def linked(self) -> tuple[Connection, Connection]:
        """A connection from a to b: both its ends."""
        _listener, accepted = await self.listen()
        return await self.connect(), await accepted.get()


def simulate(main: Callable[[World], Coroutine[Any, Any, T]], seed: int = 0) -> tuple[World, T]:
    world = World(seed)
    return world, world.loop.run(main(world))

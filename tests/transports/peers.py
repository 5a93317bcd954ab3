"""Two peers that know each other, and the ways in which tests bring them together."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, TypeVar
from unittest.mock import patch

from transports import Connection, Frame, Hello, Listener, SecurityConfig, connect, listen, parse_address
from transports.handshake import NONCE_SIZE, Handshake, Role
from transports.shm.lane import SHARED_VARIABLE
from transports.stream.handshake import shake_hands

T = TypeVar("T")

PS = Hello(cluster_id="green", task="/job:ps/replica:0/task:0", incarnation=2**64 - 1, pid=1)
WORKER = Hello(cluster_id="green", task="/job:worker/replica:0/task:1", incarnation=7, pid=2)


async def start(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Start a child and return once it has taken its first step."""
    child = asyncio.get_running_loop().create_task(work, name=name)
    await asyncio.sleep(0)
    return child


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something holds that nobody announces."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # see above
            await asyncio.sleep(0)


async def echo(connection: Connection) -> None:
    """Send back what comes until the peer closes."""
    while True:
        connection.write(await connection.recv())
        await connection.drain()


async def assert_echoes(connection: Connection) -> None:
    """Check that a peer sends back what it is sent."""
    connection.write(numbered(1))
    assert await connection.recv() == numbered(1)


async def refuse_to_serve(connection: Connection) -> None:
    """Stand for a handler that no connection may reach."""
    raise AssertionError(f"{connection!r} was accepted")


@asynccontextmanager
async def linked(
    address: str, *, ps: Hello = PS, worker: Hello = WORKER, security: SecurityConfig | None = None
) -> AsyncIterator[tuple[Connection, Connection]]:
    """Yield the dialled and the accepted end of one connection."""
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hand_over(connection: Connection) -> None:
        accepted.set_result(connection)
        await done.wait()

    async with await listen(address, ps, hand_over, security=security) as listener:
        dialled = await connect(listener.address, worker, timeout=60, security=security)
        ends = dialled, await accepted
        try:
            yield ends
        finally:
            done.set()
            await asyncio.gather(*(end.aclose() for end in ends))


async def open_raw(listener: Listener) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a socket listener and say nothing."""
    family, name = place(listener.address)
    sock = socket.socket(family)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, name)
    if family == socket.AF_UNIX:
        return await asyncio.open_unix_connection(sock=sock)
    return await asyncio.open_connection(sock=sock)


def place(address: str) -> tuple[socket.AddressFamily, Any]:
    """Return the family and the name of a listening socket, as sockets take them."""
    parsed = parse_address(address)
    if parsed.port is not None:
        return socket.AF_INET, (parsed.host, parsed.port)
    return socket.AF_UNIX, parsed.path or b"\0" + parsed.name.encode()


@asynccontextmanager
async def raw_peer(
    address: str, *, shares: bool = False
) -> AsyncIterator[tuple[Connection, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield an accepted connection, and the stream of a dialler who may break every rule.

    Args:
        address: Where they meet.
        shares: Whether the connection offers to share memory, which is the first that the dialler reads.
    """
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hand_over(connection: Connection) -> None:
        accepted.set_result(connection)
        await done.wait()

    async with await listen(address, PS, hand_over) as listener:
        with patch.dict(os.environ, {SHARED_VARIABLE: str(int(shares))}):
            reader, writer = await open_raw(listener)
            core = Handshake(Role.DIALLER, replace(WORKER, pid=os.getpid()), nonce=bytes(NONCE_SIZE))
            await shake_hands(reader, writer, core)
            connection = await accepted
        try:
            yield connection, reader, writer
        finally:
            writer.transport.abort()
            done.set()


async def recv_until_the_loop_turns(connection: Connection) -> int:
    """Return how many frames come before another callback has its turn."""
    loop = asyncio.get_running_loop()
    turned = loop.create_future()
    loop.call_soon(turned.set_result, None)
    count = 0
    while not turned.done():
        await connection.recv()
        count += 1
    return count


class _Records(logging.Handler):
    """Puts what is logged where a test can wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: asyncio.Queue[logging.LogRecord] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.queue.put_nowait(record)


@contextmanager
def log_of_transports() -> Iterator[asyncio.Queue[logging.LogRecord]]:
    """Yield a queue that gets every record of the logger "transports"."""
    logger, handler = logging.getLogger("transports"), _Records()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield handler.queue
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def numbered(number: int) -> Frame:
    """Return a frame that can be told from its neighbours."""
    return Frame(b"%d" % number, (b"a%d" % number, b"")) if number % 3 else Frame(b"%d" % number)

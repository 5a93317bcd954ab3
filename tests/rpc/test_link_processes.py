"""Links to a peer in another process, which is stopped, continued and killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from actorsession.actors import Children
from actorsession.errors import UnavailableError
from actorsession.rpc import Link
from tests.actors.kit import CLIENT, SERVER, Hold, Said, Say, address_of, eventually, hello, soon
from transports import connect

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
each_socket = pytest.mark.parametrize("scheme", ["tcp", "unix"])


class Server(NamedTuple):
    """A desk in a process of its own, and where it listens."""

    process: subprocess.Popen[str]
    address: str


@contextmanager
def server_process(scheme: str) -> Iterator[Server]:
    """A server that ends with the block, whatever was done to it."""
    with address_of(scheme) as address:
        command = [sys.executable, "-m", "tests.rpc.link_server", address]
        server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield Server(server, server.stdout.readline().strip())
        finally:
            server.send_signal(signal.SIGCONT)
            server.stdin.close()
            try:
                server.wait(timeout=60)
            finally:
                server.kill()
                server.wait()
                server.stdout.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[Mapping[str, Server]]:
    """By scheme, those that go on after each test; each test has a link of its own."""
    with server_process("tcp") as tcp, server_process("unix") as unix:
        yield {"tcp": tcp, "unix": unix}


@asynccontextmanager
async def linked_to(server: Server, *, lease: float) -> AsyncIterator[Link]:
    """A link to a server, which goes on if it was stopped."""
    try:
        connection = await connect(server.address, hello(CLIENT))
        link = Link(connection, serves={}, beat=0.05, lease=lease)
        owner = Children("test")
        runner = owner.start(link.run(), name="link", awaited=True)
        yield link
        await link.aclose()
        await soon(runner)
    finally:
        server.process.send_signal(signal.SIGCONT)


@each_socket
async def test_a_stopped_peer_fails_pending_asks_within_the_lease(servers: Mapping[str, Server], scheme: str) -> None:
    """1. Two asks are pending; the peer's process is stopped: its sockets stay open, the kernel acknowledges, nothing
    is sent. 2. The lease runs out: both fail, naming the peer and the silence. 3. Later asks fail at once."""
    server = servers[scheme]
    async with linked_to(server, lease=1.5) as link:
        assert await soon(link.ask("desk", Say(text="hi"))) == Said(text="hi")
        askers = [asyncio.create_task(link.ask("desk", Hold(name=name))) for name in "ab"]
        await asyncio.sleep(0)
        server.process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        outcomes = await soon(asyncio.gather(*askers, return_exceptions=True))
        assert 0.7 < time.monotonic() - stopped < 5
        for outcome in outcomes:
            assert isinstance(outcome, UnavailableError)
            assert str(outcome).startswith(f"{SERVER}: nothing came from it for ")
            assert f"; the connection to it at {scheme}://" in str(outcome)
        with pytest.raises(UnavailableError, match="nothing came from it"):
            await link.ask("desk", Say(text=""))


@each_socket
async def test_a_peer_stopped_for_less_than_the_lease_answers_late(servers: Mapping[str, Server], scheme: str) -> None:
    server = servers[scheme]
    async with linked_to(server, lease=30.0) as link:
        await soon(link.ask("desk", Say(text="hi")))
        server.process.send_signal(signal.SIGSTOP)
        before = link.statistics().frames_sent
        asker = asyncio.create_task(link.ask("desk", Say(text="late")))
        # Several beats go out, and none comes back.
        await eventually(lambda: link.statistics().frames_sent > before + 5)
        assert not asker.done()
        server.process.send_signal(signal.SIGCONT)
        assert await soon(asker) == Said(text="late")


async def test_the_process_we_are_in_may_stand_still_itself(servers: Mapping[str, Server]) -> None:
    """1. Our own loop is held for longer than the lease. 2. The peer has sent its beats meanwhile; they lie unread when
    the lease is looked at. 3. The link stays."""
    async with linked_to(servers["unix"], lease=1.2) as link:
        await soon(link.ask("desk", Say(text="before")))
        time.sleep(1.6)  # noqa: ASYNC251 - the loop is to be held
        assert await soon(link.ask("desk", Say(text="after"))) == Said(text="after")
        assert not link.closed

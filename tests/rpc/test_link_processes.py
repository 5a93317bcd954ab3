"""Links to a peer in another process, which is stopped, continued and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actorsession.actors import Children
from actorsession.errors import UnavailableError
from actorsession.rpc import Link
from tests.actors.kit import CLIENT, SERVER, Hold, Said, Say, address_of, eventually, hello, soon
from transports import connect

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
each_socket = pytest.mark.parametrize("scheme", ["tcp", "unix"])


@asynccontextmanager
async def link_to_process(
    scheme: str, *, lease: float
) -> AsyncIterator[tuple[Link, subprocess.Popen[str]]]:
    """A link to a desk in a process of its own."""
    with address_of(scheme) as address:
        command = [sys.executable, "-m", "tests.rpc.link_server", address]
        server = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            connection = await connect(server.stdout.readline().strip(), hello(CLIENT))
            link = Link(connection, serves={}, beat=0.05, lease=lease)
            owner = Children("test")
            runner = owner.start(link.run(), name="link", awaited=True)
            yield link, server
            await link.aclose()
            await soon(runner)
        finally:
            os.kill(server.pid, signal.SIGCONT)
            server.stdin.close()
            try:
                server.wait(timeout=60)
            finally:
                server.kill()
                server.wait()
                server.stdout.close()


@each_socket
async def test_a_peer_that_is_stopped_fails_pending_asks_within_the_lease(scheme: str) -> None:
    """
    1. Two asks are pending; the peer's process is stopped: its sockets stay open, the kernel
       acknowledges, nothing is sent.
    2. The lease runs out: both fail, naming the peer and the silence.
    3. Later asks fail at once.
    """
    async with link_to_process(scheme, lease=1.5) as (link, server):
        assert await soon(link.ask("desk", Say(text="hi"))) == Said(text="hi")
        askers = [asyncio.create_task(link.ask("desk", Hold(name=name))) for name in "ab"]
        await asyncio.sleep(0)
        server.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        outcomes = await soon(asyncio.gather(*askers, return_exceptions=True))
        assert 0.7 < time.monotonic() - stopped < 5
        for outcome in outcomes:
            assert isinstance(outcome, UnavailableError)
            assert f"the link to {SERVER} at {scheme}://" in str(outcome)
            assert "nothing came from it for " in str(outcome)
        with pytest.raises(UnavailableError, match="nothing came from it"):
            await link.ask("desk", Say(text=""))


@each_socket
async def test_a_peer_that_is_stopped_for_less_than_the_lease_answers_late(scheme: str) -> None:
    async with link_to_process(scheme, lease=30.0) as (link, server):
        await soon(link.ask("desk", Say(text="hi")))
        server.send_signal(signal.SIGSTOP)
        before = link.statistics().frames_sent
        asker = asyncio.create_task(link.ask("desk", Say(text="late")))
        # Several beats go out, and none comes back.
        await eventually(lambda: link.statistics().frames_sent > before + 5)
        assert not asker.done()
        server.send_signal(signal.SIGCONT)
        assert await soon(asker) == Said(text="late")


@each_socket
async def test_a_peer_that_is_killed_fails_pending_asks_at_once(scheme: str) -> None:
    async with link_to_process(scheme, lease=30.0) as (link, server):
        asker = asyncio.create_task(link.ask("desk", Hold(name="a")))
        await soon(link.ask("desk", Say(text="it has begun")))
        server.kill()
        killed = time.monotonic()
        with pytest.raises(UnavailableError, match="closed by the peer"):
            await soon(asker)
        assert time.monotonic() - killed < 5


async def test_the_process_we_are_in_may_stand_still_itself() -> None:
    """
    1. Our own loop is held for longer than the lease.
    2. The peer has sent its beats meanwhile; they lie unread when the lease is looked at.
    3. The link stays.
    """
    async with link_to_process("unix", lease=1.2) as (link, _):
        await soon(link.ask("desk", Say(text="before")))
        time.sleep(1.6)  # noqa: ASYNC251 - the loop is to be held
        assert await soon(link.ask("desk", Say(text="after"))) == Said(text="after")
        assert not link.closed

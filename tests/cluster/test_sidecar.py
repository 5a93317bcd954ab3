"""The sidecar of a server: a real process that answers other hosts, and nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from actorsession import Server, ServerSettings
from actorsession.cluster.server.sidecar import Vitals
from actorsession.errors import UnknownError
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation, this_host
from actorsession.rpc.liveness.peer_monitor import RemoteProbe
from actorsession.rpc.liveness.sidecar import ASKED, ask, derive_key, read_answer
from tests.cluster.kit import eventually
from tests.cluster.script import is_running

pytestmark = [pytest.mark.process, pytest.mark.skipif(not this_host(), reason="needs /proc")]

NONCE = b"n" * 16
LOOPBACK = "tcp://127.0.0.1:0"


@asynccontextmanager
async def vitals(address: str = LOOPBACK, *, always: bool = True) -> AsyncIterator[HeartbeatLocation]:
    made = Vitals(1.0, always=always)
    try:
        yield HeartbeatLocation.parse(await made.start(address, "secret"))
    finally:
        await made.aclose()
        await made.aclose()


@contextmanager
def asker(port: int) -> Iterator[socket.socket]:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect(("127.0.0.1", port))
        yield sock


async def answered(sock: socket.socket, question: bytes) -> bytes:
    """The answer to a question, which is put until the sidecar is up."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60):
        while True:
            sock.send(question)
            try:
                async with asyncio.timeout(0.1):
                    return await loop.sock_recv(sock, 999)
            except TimeoutError:
                continue


async def test_a_sidecar_tells_who_has_the_token_what_the_server_does() -> None:
    async with vitals() as note:
        key = derive_key("secret", note.secret)
        with asker(note.port) as sock:
            seen = read_answer(key, NONCE, await answered(sock, ask(key, NONCE)))
            assert seen is not None
            assert seen.state in "RS"
            assert 0 < seen.cpu < 3600
            before = seen.turns
            assert before is not None
            async with asyncio.timeout(60):
                while seen is None or (seen.turns or 0) <= before:
                    seen = read_answer(key, NONCE, await answered(sock, ask(key, NONCE)))


async def test_a_sidecar_says_nothing_to_strangers_and_goes_on() -> None:
    async with vitals() as note:
        key = derive_key("secret", note.secret)
        with asker(note.port) as sock, asker(note.port) as stranger:
            await answered(sock, ask(key, NONCE))
            for question in (b"", b"x", b"x" * ASKED, b"x" * 9999, ask(b"other key", NONCE)):
                stranger.send(question)
            await answered(sock, ask(key, NONCE))
            with pytest.raises(BlockingIOError):
                stranger.recv(999)


async def test_a_sidecar_that_is_killed_answers_no_more_and_the_server_does_not_mind() -> None:
    made = Vitals(1.0, always=True)
    note = HeartbeatLocation.parse(await made.start(LOOPBACK, None))
    assert made.sidecar is not None
    pid = made.sidecar.pid
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not is_running(pid))
    watch = RemoteProbe("127.0.0.1", note.port, derive_key(None, note.secret), 7, 0.05, 0.2)
    for now in (1.0, 2.0):
        work = watch.look(now)
        assert work is not None
        await work
    assert "does not answer either" in (watch.finding(2.0, 1.0) or "")
    await made.aclose()


async def test_the_hello_of_a_server_without_sidecar_says_who_it_is_on_this_host() -> None:
    async with vitals(always=False) as note:
        assert (note.port, note.secret, note.host) == (0, b"", this_host())


async def test_the_hello_of_a_server_that_always_has_one_says_nothing_else() -> None:
    """So that it is asked on this host too, where process numbers may mean nothing to others."""
    async with vitals() as note:
        assert (note.host, note.started, note.memory) == ("", 0, -1)
        assert note.port > 0
        assert len(note.secret) == 16


@pytest.mark.parametrize("address", ["unix:///run/ps0.sock", "inproc://ps0"])
async def test_addresses_without_a_host_have_no_sidecar(address: str) -> None:
    async with vitals(address) as note:
        assert note.port == 0


async def test_a_server_does_without_a_sidecar_that_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    async with vitals() as note:
        assert (note.port, note.host) == (0, this_host())
    assert "has no sidecar" in caplog.text


async def test_a_server_that_gets_no_address_leaves_no_sidecar_behind() -> None:
    """The fixtures of all tests look for processes and descriptors that stay."""
    async with Server({"worker": ["127.0.0.1:0"]}, "worker") as first:
        taken = first.target.removeprefix("tcp://")
        second = Server({"worker": [taken]}, "worker", settings=ServerSettings(sidecar=True))
        with pytest.raises(UnknownError, match="cannot listen"):
            await second.start()

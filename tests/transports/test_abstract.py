"""Sockets that have a name and no file: what is left of the dead, who comes in, and which sockets fit."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loops import cancelled
from tests.transports.peers import PS, WORKER, echo, numbered, refuse_to_serve
from tests.transports.test_users import DIAL, NOBODY, as_root, nobody, said
from transports import BindError, ConnectError, ConnectionClosed, TransportError, connect, errors, listen
from transports.event import Event

ROOT = Path(__file__).parents[2]

SERVE = """
import asyncio, sys
from tests.transports.peers import PS, echo
from transports import listen

async def serve():
    async with await listen(sys.argv[1], PS, echo) as listener:
        print(listener.address, flush=True)
        await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.fixture
def address(socket_name: str) -> str:
    return f"abstract://{socket_name}"


async def test_a_name_is_free_again_when_its_process_was_killed(address: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, address], cwd=ROOT, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert await said(process) == address
            with pytest.raises(BindError) as caught:
                await listen(address, PS, refuse_to_serve)
            assert caught.value.errno == errno.EADDRINUSE
        finally:
            process.kill()
    async with await listen(address, PS, echo) as listener, await connect(listener.address, WORKER, timeout=60) as peer:
        peer.write(numbered(1))
        assert await peer.recv() == numbered(1)


async def test_a_name_that_nobody_has_is_refused_at_once(address: str) -> None:
    with pytest.raises(ConnectError) as caught:
        await connect(address, WORKER, timeout=60)
    assert caught.value.errno == errno.ECONNREFUSED
    assert caught.value.address == address


@as_root
@pytest.mark.process
async def test_another_user_is_refused_although_no_file_keeps_him_out(address: str) -> None:
    async with await listen(address, PS, refuse_to_serve) as listener:
        with nobody(DIAL, listener.address) as process:
            assert f"it belongs to user {NOBODY}" in await said(process)


async def test_a_name_has_at_most_107_bytes() -> None:
    async with await listen(f"abstract://{os.getpid():0107}", PS, echo) as listener:
        await (await connect(listener.address, WORKER, timeout=60)).aclose()
    for end in (listen(f"abstract://{'x' * 108}", PS, echo), connect(f"abstract://{'x' * 108}", WORKER, timeout=60)):
        with pytest.raises((BindError, ConnectError), match="path too long"):
            await end


async def test_a_socket_with_a_file_or_without_a_name_does_not_fit(address: str, socket_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as filed, socket.socket(socket.AF_UNIX) as unbound:
        filed.bind(str(socket_path))
        for sock in (filed, unbound):
            with pytest.raises(ValueError, match="bound to an abstract name, got one bound to '"):
                await listen(address, PS, echo, sock=sock)


async def test_where_there_are_no_such_sockets_the_error_says_so(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BindError, match="only Linux has abstract sockets; use unix://"):
        await listen(address, PS, echo)
    with pytest.raises(ConnectError, match="only Linux has abstract sockets; use unix://"):
        await connect(address, WORKER, timeout=60)


async def test_everybody_who_waits_goes_on_when_it_is_set_even_if_it_is_cleared_at_once() -> None:
    event = Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(event.wait())
        await asyncio.sleep(0)
        event.set()
        event.clear()
    assert not event.is_set()


async def test_an_event_that_is_set_is_not_waited_for_until_it_is_cleared() -> None:
    event = Event()
    event.set()
    await event.wait()
    assert event.is_set()
    event.clear()
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    event.set()
    await waiting


async def test_one_who_no_longer_waits_is_forgotten() -> None:
    event = Event()
    stays, leaves = asyncio.ensure_future(event.wait()), asyncio.ensure_future(event.wait())
    await asyncio.sleep(0)
    await cancelled(leaves)
    event.set()
    await stays


def test_an_event_that_nobody_waits_for_is_small() -> None:
    event = Event()
    assert sys.getsizeof(event) + sum(map(sys.getsizeof, (event._is_set, event._waiters))) < 150


@pytest.mark.parametrize(
    "name", ["AuthenticationError", "BindError", "ConnectError", "ConnectionClosed", "ProtocolError", "WrongPeer"]
)
def test_every_error_is_a_transport_error(name: str) -> None:
    assert issubclass(getattr(errors, name), TransportError)


def test_a_connect_error_tells_address_phase_number_and_attempts() -> None:
    error = ConnectError("refused", address="tcp://h:1", errno=errno.ECONNREFUSED, attempts=3, phase="hello")
    assert (error.address, error.errno, error.attempts, error.phase) == ("tcp://h:1", errno.ECONNREFUSED, 3, "hello")
    assert str(error) == (
        f"cannot connect to tcp://h:1: refused (phase hello, errno {errno.ECONNREFUSED} ECONNREFUSED, 3 attempts)"
    )


def test_a_connect_error_without_a_number_says_so() -> None:
    error = ConnectError("it closed the connection", address="tcp://h:1")
    assert error.errno is None
    assert str(error).endswith("(phase connect, no errno, 1 attempt)")


def test_a_bind_error_tells_address_and_number() -> None:
    error = BindError("in use", address="tcp://h:1", errno=errno.EADDRINUSE)
    assert (error.address, error.errno) == ("tcp://h:1", errno.EADDRINUSE)
    assert "cannot listen on tcp://h:1: in use" in str(error)
    assert "EADDRINUSE" in str(error)


@pytest.mark.parametrize("by_us", [True, False])
def test_a_closed_connection_tells_by_whom(by_us: bool) -> None:
    error = ConnectionClosed("over", address="tcp://h:1", by_us=by_us)
    assert (str(error), error.address, error.by_us) == ("over", "tcp://h:1", by_us)

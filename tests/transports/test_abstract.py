"""Sockets that have a name and no file: what is left of the dead, who comes in, and which sockets fit."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transports.peers import PS, WORKER, echo, numbered, refuse_to_serve
from tests.transports.test_users import DIAL, NOBODY, as_root, nobody, said
from transports import BindError, ConnectError, connect, listen

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

"""Which user is at the other end: real users, a real network namespace, and what the kernel tells."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.transports.peers import PS, WORKER, assert_echoes, echo, log_of_transports, refuse_to_serve
from transports import AuthenticationError, ConnectError, connect, listen, parse_address
from transports.stream import peer_user as users

ROOT = Path(__file__).parents[2]
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to be another user as well")

BECOME_NOBODY = f"""
import asyncio, os, socket, sys
from tests.transports.peers import PS, WORKER, echo
from transports import connect
from transports.address import parse_address
from transports.frame import HANDSHAKE_VERSION, Frame, encode_frame
from transports.handshake import NONCE_SIZE, Handshake, Role
from transports.host import SYSTEM
from transports.stream import sockets
from transports.stream.listener import StreamListener
# What is imported when it is first used; the user may not be able to read the folder of the repository.
import transports.stream.abstract, transports.stream.transport
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""


@contextmanager
def nobody(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is another user's by the time it does anything."""
    text = BECOME_NOBODY + textwrap.dedent(program)
    with subprocess.Popen(
        [sys.executable, "-c", text, *words], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


async def said(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


DIAL = """
try:
    asyncio.run(connect(sys.argv[1], WORKER, timeout=10))
    print("in")
except Exception as error:
    print(type(error).__name__, error)
"""


@as_root
@pytest.mark.process
async def test_another_user_of_this_machine_is_refused_and_told_why() -> None:
    for host in ("127.0.0.1", "[::1]"):
        with log_of_transports() as records:
            async with await listen(f"tcp://{host}:0", PS, refuse_to_serve) as listener:
                with nobody(DIAL, listener.address) as process:
                    told = await said(process)
                record = await records.get()
        assert told.startswith("AuthenticationError refused by the listener: the dialler at "), told
        for words in (told, record.getMessage()):
            assert f"it belongs to user {NOBODY}" in words
            assert "without a token only user 0" in words
            assert "ACTORSESSION_TOKEN" in words


@as_root
@pytest.mark.process
async def test_a_socket_file_keeps_another_user_out(socket_path: Path) -> None:
    async with await listen(f"unix://{socket_path}", PS, refuse_to_serve) as listener:
        with nobody(DIAL, listener.address) as process:
            assert "Permission denied" in await said(process)


@as_root
@pytest.mark.process
async def test_a_socket_file_that_was_opened_to_all_lets_no_other_user_in(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"acts-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        async with await listen(f"unix://{folder}/s", PS, refuse_to_serve) as listener:
            (folder / "s").chmod(0o666)
            with nobody(DIAL, listener.address) as process:
                assert f"it belongs to user {NOBODY}" in await said(process)
    finally:
        folder.rmdir()


@as_root
@pytest.mark.process
async def test_with_the_token_another_user_comes_in() -> None:
    async with await listen("tcp://127.0.0.1:0", PS, echo, token="shared") as listener:
        dial = DIAL.replace("timeout=10", "timeout=10, token='shared'")
        with nobody(dial, listener.address) as process:
            assert await said(process) == "in"


PIPELINED = """
core = Handshake(Role.DIALLER, WORKER, nonce=bytes(NONCE_SIZE))
[hello] = core.start()
import msgpack
confirm = msgpack.packb({"type": "confirm", "proof": None})
stream = socket.socket()
stream.connect(("127.0.0.1", int(sys.argv[1])))
for header in (hello.header, confirm):
    stream.sendall(b"".join(encode_frame(Frame(header), HANDSHAKE_VERSION)))
stream.close()
print("closed")
"""


@as_root
@pytest.mark.process
async def test_who_says_everything_and_hangs_up_is_not_taken_for_root() -> None:
    """The kernel shows a socket that its process has closed as root's. 1. The listener is slow to accept: its loop is
    held. 2. Another user dials, sends hello and confirmation in one go and closes. 3. The listener accepts: there is
    all that takes a welcome."""
    with log_of_transports() as records:
        async with await listen("tcp://127.0.0.1:0", PS, refuse_to_serve) as listener:
            with nobody(PIPELINED, str(parse_address(listener.address).port)) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "closed\n"  # while the loop is held
            assert "closed a connection" in (await records.get()).getMessage()


LISTEN = """
async def main():
    wanted = parse_address("tcp://127.0.0.1:0")
    sock = SYSTEM.network.bind_tcp(socket.AF_INET, wanted.host, wanted.port)
    found = sockets.tcp_address("tcp", sock)
    listener = StreamListener(
        found, PS, echo, token=None, handshake_timeout=10, own_user_only=False
    )
    await listener.start(sock)
    print(found, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@as_root
@pytest.mark.process
async def test_a_listener_of_another_user_is_not_trusted_either() -> None:
    """It may have taken the port of a task that is not up yet, and would be served over the link."""
    with nobody(LISTEN) as process:
        address = await said(process)
        with pytest.raises(AuthenticationError, match=f"the listener at .* belongs to user {NOBODY}") as caught:
            await connect(address, WORKER, timeout=10)
        assert caught.value.address == address


# -- what the kernel tells -------------------------------------------------------------------------
@contextmanager
def pair(host: str, dialled: str = "") -> Iterator[tuple[socket.socket, socket.socket]]:
    """The accepted and the dialled end of a tcp connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        with socket.create_connection((dialled or host, server.getsockname()[1])) as there:
            here, _ = server.accept()
            with here:
                yield here, there


HOSTS = [("127.0.0.1", ""), ("::1", ""), ("127.0.0.1", "::ffff:127.0.0.1"), ("127.9.9.9", "")]


@pytest.mark.parametrize(("host", "dialled"), HOSTS)
def test_both_ways_of_asking_find_both_ends(host: str, dialled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pair(host, dialled) as ends:
        for end in ends:
            assert users.peer_user(end) == os.geteuid()
        monkeypatch.delattr(socket, "AF_NETLINK")
        for end in ends:
            assert users.peer_user(end) == os.geteuid()


def test_a_peer_that_has_closed_has_no_user() -> None:
    with pair("127.0.0.1") as (here, there):
        there.close()
        with pytest.raises(EOFError):
            users.peer_user(here)


def test_where_nothing_tells_nobody_is_trusted(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_NETLINK")
    with pair("127.0.0.1") as (here, _):
        assert users.peer_user(here) is None
        with pytest.raises(AuthenticationError, match=r"the user who owns it is unknown"):
            users.check_user(here, "tcp://there:1", "the dialler")


def test_a_user_without_a_number_here_is_not_taken_for_nobody(proc: Path) -> None:
    """The user of this process has the number that the system shows for such users."""
    (proc / "self").mkdir()
    (proc / "self" / "uid_map").write_text("0 100000 65536\n")
    (proc / "sys" / "kernel").mkdir(parents=True)
    (proc / "sys" / "kernel" / "overflowuid").write_text(f"{os.geteuid()}\n")
    users._nobody.cache_clear()
    try:
        sock, other = socket.socketpair()
        with sock, other, pytest.raises(AuthenticationError, match=r"unknown in this user namespace"):
            users.check_user(sock, "tcp://there:1", "the dialler")
    finally:
        users._nobody.cache_clear()


@as_root
def test_a_connection_of_another_network_namespace_is_not_looked_up_in_ours() -> None:
    found: list[int | None] = []
    ends: list[socket.socket] = []

    def elsewhere() -> None:
        """Runs in a thread of its own, which alone leaves our namespace."""
        if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
            return
        with socket.socket() as any_socket:  # its loopback is down at first
            flags = struct.pack("16sh14x", b"lo", 1)
            fcntl.ioctl(any_socket, 0x8914, flags)  # SIOCSIFFLAGS, IFF_UP
        with pair("127.0.0.1") as (here, there):
            ends.extend((here.dup(), there.dup()))
            found.append(users.peer_user(here))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    if not ends:
        pytest.skip("no network namespace can be made here")
    with ends[0], ends[1]:
        # The thread's /proc/net is the process's: only netlink is asked in its own namespace.
        assert found == [os.geteuid()]
        assert users.peer_user(ends[0]) is None


async def test_its_own_user_is_served_over_each_loop() -> None:
    async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
        async with await connect(listener.address, WORKER) as connection:
            await assert_echoes(connection)


async def test_a_forwarder_of_the_same_user_hands_on_its_own_right(tmp_path: Path) -> None:
    """Who is behind it cannot be known: docs say so."""
    async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
        port = parse_address(listener.address).port

        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await asyncio.open_connection("127.0.0.1", port)

            async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(4096):
                    sink.write(data)
                sink.close()

            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

        server = await asyncio.start_server(forward, "127.0.0.1", 0)
        via = server.sockets[0].getsockname()[1]
        async with await connect(f"tcp://127.0.0.1:{via}", WORKER) as connection:
            await assert_echoes(connection)
        server.close()


async def test_nobody_at_all_is_a_connect_error_as_before() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectError):
            await connect(f"tcp://127.0.0.1:{held.getsockname()[1]}", WORKER)

"""Dialling and accepting over sockets: strangers, ports, names, tokens, descriptors, processes."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.transports.peers import (
    PS,
    WORKER,
    echo,
    linked,
    log_of_transports,
    numbered,
    open_raw,
    place,
    refuse_to_serve,
)
from transports import (
    BindError,
    ConnectError,
    Connection,
    ConnectionClosed,
    Frame,
    Listener,
    ProtocolError,
    connect,
    listen,
    parse_address,
)
from transports.frame import HANDSHAKE_VERSION, MAGIC, PREFIX
from transports.handshake import MAX_MESSAGE

TOKEN = "sixteen or more."

GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: ps0\r\n\r\n",
    "zeros": bytes(1000),
    "a header too long": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, MAX_MESSAGE + 1, 0),
    "segments": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, 0, 1),
    "a frame and no hello": PREFIX.pack(MAGIC, 1, 0, 0, 0),
    "no msgpack": PREFIX.pack(MAGIC, HANDSHAKE_VERSION, 0, 3, 0) + b"\xc1\xc1\xc1",
}


async def assert_serves(listener: Listener) -> None:
    """Check that a listener still does what it is there for."""
    async with await connect(listener.address, WORKER, timeout=60) as connection:
        connection.write(numbered(1))
        assert await connection.recv() == numbered(1)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_a_stranger_that_sends_garbage_is_closed_and_the_listener_serves_on(
    socket_address: str, garbage: bytes
) -> None:
    with log_of_transports() as records:
        async with await listen(socket_address, PS, echo) as listener:
            reader, writer = await open_raw(listener)
            writer.write(garbage)
            record = await records.get()
            assert "refused a connection" in record.getMessage()
            with suppress(ConnectionResetError):  # it had not read all when it closed
                await reader.read()
            writer.transport.abort()
            await assert_serves(listener)


async def test_a_silent_stranger_is_dropped_after_the_handshake_timeout(socket_address: str) -> None:
    with log_of_transports() as records:
        async with await listen(socket_address, PS, echo, handshake_timeout=0.6) as listener:
            reader, writer = await open_raw(listener)
            assert await reader.read() == b""
            writer.transport.abort()
            assert "no answer within 0.6 s" in (await records.get()).getMessage()
            await assert_serves(listener)


async def test_a_stranger_that_hangs_up_at_once_is_nothing_to_warn_of(
    socket_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with log_of_transports() as records:
        async with await listen(socket_address, PS, echo) as listener:
            _, writer = await open_raw(listener)
            writer.close()
            await writer.wait_closed()
            assert "closed the connection" in (await records.get()).getMessage()
            await assert_serves(listener)
    ours = [record for record in caplog.records if record.name == "transports"]
    assert [record for record in ours if record.levelname == "WARNING"] == []


async def test_silent_strangers_do_not_hold_up_a_close(socket_address: str) -> None:
    listener = await listen(socket_address, PS, echo)
    streams = [await open_raw(listener) for _ in range(3)]
    async with asyncio.timeout(60):
        await listener.aclose()
    for reader, writer in streams:
        with suppress(ConnectionResetError):  # the kernel's word for one that was not accepted yet
            assert await reader.read() == b""
        writer.transport.abort()


async def test_who_connects_while_a_listener_closes_is_hung_up_on(socket_address: str) -> None:
    """The stock loop accepts in two steps; a close may come before, between or after them."""
    for turns in range(6):
        listener = await listen(socket_address, PS, echo)
        family, name = place(listener.address)
        with socket.socket(family) as stranger:
            stranger.connect(name)  # waits in the backlog
            for _ in range(turns):
                await asyncio.sleep(0)
            await listener.aclose()
            for _ in range(10):
                await asyncio.sleep(0)
            stranger.settimeout(60)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""


@pytest.mark.parametrize(
    ("answer", "kind", "complaint"),
    [
        (b"SSH-2.0-OpenSSH_9.7\r\n", ProtocolError, "does not speak this protocol: received b'SSH-2.0"),
        (b"", ConnectError, "closed the connection during the hello"),
    ],
    ids=["ssh", "nothing"],
)
async def test_a_server_of_another_kind_is_not_talked_to(answer: bytes, kind: type[Exception], complaint: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(PREFIX.size)
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(kind, match=complaint) as caught:
        await connect(f"tcp://127.0.0.1:{port}", WORKER, timeout=60)
    server.close()
    if isinstance(caught.value, ConnectError):
        assert caught.value.phase == "hello"


async def test_a_server_that_never_answers_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectError, match=r"no answer within 0.05 s \(phase hello") as caught:
            await connect(address, WORKER, timeout=0.05)
    assert (caught.value.errno, caught.value.address) == (errno.ETIMEDOUT, address)


async def test_a_timeout_of_the_caller_is_the_callers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await connect(f"tcp://127.0.0.1:{silent.getsockname()[1]}", WORKER, timeout=30)


async def test_port_0_takes_a_free_port_of_loopback_and_tells_which() -> None:
    async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
        address = parse_address(listener.address)
        assert address.host == "127.0.0.1"
        assert address.port
        await assert_serves(listener)


async def test_a_host_name_is_resolved_and_listened_on_once() -> None:
    async with await listen("tcp://localhost:0", PS, echo) as listener:
        assert parse_address(listener.address).host in ("127.0.0.1", "::1")
        port = parse_address(listener.address).port
        async with await connect(f"tcp://localhost:{port}", WORKER) as connection:
            connection.write(numbered(1))
            assert await connection.recv() == numbered(1)


async def test_an_ipv6_address_is_served() -> None:
    async with await listen("tcp://[::1]:0", PS, echo) as listener:
        assert listener.address.startswith("tcp://[::1]:")
        await assert_serves(listener)


async def test_a_host_that_does_not_resolve_says_so() -> None:
    with pytest.raises(ConnectError, match=r"the host name does not resolve"):
        await connect("tcp://no-such-host.invalid:1", WORKER)
    with pytest.raises(BindError, match=r"the host name does not resolve"):
        await listen("tcp://no-such-host.invalid:1", PS, echo)


async def test_a_refused_connection_by_name_keeps_its_number() -> None:
    async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
        port = parse_address(listener.address).port
    with pytest.raises(ConnectError) as caught:
        await connect(f"tcp://localhost:{port}", WORKER)
    assert caught.value.errno == errno.ECONNREFUSED


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
async def test_all_interfaces_need_a_token(host: str) -> None:
    with pytest.raises(BindError, match=r"not a loopback address and there is no token"):
        await listen(f"tcp://{host}:0", PS, refuse_to_serve)


async def test_all_interfaces_are_served_with_a_token() -> None:
    async with await listen("tcp://0.0.0.0:0", PS, echo, token=TOKEN) as listener:
        port = parse_address(listener.address).port
        async with await connect(f"tcp://127.0.0.1:{port}", WORKER, token=TOKEN) as connection:
            connection.write(numbered(1))
            assert await connection.recv() == numbered(1)


async def test_a_bound_socket_is_taken_over_and_closed() -> None:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    async with await listen("tcp://127.0.0.1:0", PS, echo, sock=sock) as listener:
        assert listener.address == f"tcp://127.0.0.1:{port}"
        await assert_serves(listener)
    assert sock.fileno() == -1


async def test_a_bound_socket_that_others_can_reach_needs_a_token_too() -> None:
    sock = socket.socket()
    sock.bind(("0.0.0.0", 0))
    with pytest.raises(BindError, match=r"no token"):
        await listen("tcp://127.0.0.1:0", PS, refuse_to_serve, sock=sock)
    assert sock.fileno() == -1


async def test_two_may_bind_a_port_and_one_may_listen() -> None:
    """Linux lets two sockets bind one port while neither listens: listen() decides."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    async with await listen(f"tcp://127.0.0.1:{sock.getsockname()[1]}", PS, echo):
        with pytest.raises(BindError) as caught:
            await listen("tcp://127.0.0.1:0", PS, echo, sock=sock)
    assert caught.value.errno == errno.EADDRINUSE


async def test_neither_end_delays_small_frames() -> None:
    async with linked("tcp://127.0.0.1:0") as ends:
        for end in ends:
            sock = end._transport.get_extra_info("socket")  # type: ignore[attr-defined]
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_dialled_end_has_the_address_that_was_dialled() -> None:
    async with linked("tcp://127.0.0.1:0") as (dialled, accepted):
        assert dialled.peer_address == accepted.local_address
        assert accepted.peer_address == dialled.local_address
        assert parse_address(dialled.local_address).port != parse_address(dialled.peer_address).port


async def test_a_socket_file_is_gone_with_its_listener(socket_path: Path) -> None:
    async with await listen(f"unix://{socket_path}", PS, echo):
        assert socket_path.exists()
    assert not socket_path.exists()


async def test_a_socket_file_that_is_anothers_by_now_is_left(socket_path: Path) -> None:
    first = await listen(f"unix://{socket_path}", PS, echo)
    socket_path.rename(socket_path.with_name("moved"))
    async with await listen(f"unix://{socket_path}", PS, echo) as second:
        await first.aclose()
        await assert_serves(second)


async def test_a_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/{'x' * 120}"
    with pytest.raises(BindError, match=r"too long"):
        await listen(address, PS, echo)
    with pytest.raises(ConnectError, match=r"too long|No such file|Invalid argument"):
        await connect(address, WORKER)


async def test_200_starts_and_stops_on_one_port_leak_no_descriptor() -> None:
    listener = await listen("tcp://127.0.0.1:0", PS, echo)
    address = listener.address
    await assert_serves(listener)
    await listener.aclose()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        listener = await listen(address, PS, echo)
        await assert_serves(listener)
        await listener.aclose()
    for _ in range(10):  # the last sockets go in the next turns of the loop
        await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= before


SERVER = """
import asyncio, sys
from tests.transports.peers import PS
from transports import Frame, listen

async def flood(connection):
    while True:
        connection.write(Frame(b"head", (bytes(2**20),)))
        await connection.drain()

async def main():
    async with await listen("tcp://127.0.0.1:0", PS, flood) as listener:
        print(listener.address, flush=True)
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


@pytest.mark.process
async def test_a_peer_process_that_is_killed_has_closed() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().strip()
        async with await connect(address, WORKER, timeout=60) as connection:
            assert await connection.recv() == Frame(b"head", (bytes(2**20),))
            process.send_signal(signal.SIGKILL)
            with pytest.raises(ConnectionClosed) as caught:
                await _recv_until_the_end(connection)
            assert not caught.value.by_us
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # its pipe, at once


async def _recv_until_the_end(connection: Connection) -> None:
    """Receive for ever."""
    while True:
        await connection.recv()


LEFT_RUNNING = """
import asyncio, sys
from tests.transports.peers import PS, WORKER, echo
from transports import connect, listen

# The loop holds its children by weak references only.
children = []

async def main():
    for address in sys.argv[2:]:
        listener = await listen(address, PS, echo)
        connection = await connect(listener.address, WORKER)
        children.append(asyncio.get_running_loop().create_task(connection.recv()))
        await asyncio.sleep(0)

if sys.argv[1] == "uvloop":
    import uvloop
    factory = uvloop.new_event_loop
else:
    factory = asyncio.SelectorEventLoop
with asyncio.Runner(loop_factory=factory) as runner:
    runner.run(main())
"""


@pytest.mark.process
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_program_that_ends_without_closing_prints_nothing(
    socket_path: Path, socket_name: str, loop: str
) -> None:
    """It has a listener and a connection on each kind of socket, the last of which it still reads."""
    addresses = ["tcp://127.0.0.1:0", f"unix://{socket_path}", f"abstract://{socket_name}"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        LEFT_RUNNING,
        loop,
        *addresses,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed = await process.communicate()
    assert printed == (b"", b"")
    assert process.returncode == 0

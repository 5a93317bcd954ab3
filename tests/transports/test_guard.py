"""Where a server may listen: asked of every transport, of those too that come from outside."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

import transports
from tests.host_names import resolve_names
from tests.transports.peers import PS, WORKER, echo, numbered, refuse_to_serve
from transports.guard import MIN_TOKEN
from transports.listener import OnConnection
from transports.registry import _transports
from transports.stream.bytestream import ByteStreams
from transports.stream.listener import Secure
from transports.stream.transport import TcpTransport

GOOD, SHORT = "x" * MIN_TOKEN, "x" * (MIN_TOKEN - 1)


class Hooked(TcpTransport):
    """Plugs in below the hook for encryption, and encrypts nothing: as one that compresses would."""

    def _accepting(self, address: transports.Address, security: transports.SecurityConfig | None) -> Secure | None:
        async def plain(reader: object, writer: object, peer: str) -> ByteStreams:
            return reader, writer  # type: ignore[return-value]

        return plain

    _dialling = _accepting


class Whole:
    """Does everything by itself; listens where it likes, whatever it is told."""

    def __init__(self, host: str = "", *, checks_user: bool = False) -> None:
        self._host = host
        self.checks_user = checks_user

    async def connect(
        self, address: transports.Address, hello: transports.Hello, **more: object
    ) -> transports.Connection:
        plain = transports.Address(scheme="tcp", host=address.host, port=address.port)
        return await TcpTransport().connect(plain, hello, **more)  # type: ignore[arg-type]

    async def listen(
        self, address: transports.Address, hello: transports.Hello, on_connection: OnConnection, **more: object
    ) -> transports.Listener:
        plain = transports.Address(scheme="tcp", host=self._host or address.host, port=address.port)
        return await TcpTransport().listen(
            plain,
            hello,
            on_connection,
            **more,  # type: ignore[arg-type]
        )


@pytest.fixture(autouse=True)
def _plugged() -> Iterator[None]:
    before = dict(_transports)
    transports.register_transport("hooked", Hooked())
    transports.register_transport("whole", Whole())
    transports.register_transport("elsewhere", Whole("0.0.0.0", checks_user=True))
    yield
    _transports.clear()
    _transports.update(before)


REACHABLE = ["tcp://0.0.0.0:0", "tcp://[::]:0", "hooked://0.0.0.0:0", "whole://0.0.0.0:0"]


@pytest.mark.parametrize("address", [*REACHABLE, "elsewhere://127.0.0.1:0"])
async def test_without_a_token_nobody_listens_beyond_loopback(address: str) -> None:
    with pytest.raises(
        transports.BindError, match=r"no token.* set a token .*, or use tls://, or listen on 127"
    ) as caught:
        await transports.listen(address, PS, refuse_to_serve)
    assert caught.value.errno is None


@pytest.mark.parametrize("address", [*REACHABLE, "elsewhere://127.0.0.1:0", "tls://0.0.0.0:0"])
async def test_a_token_that_can_be_guessed_does_not_do_there(address: str, files: transports.SecurityConfig) -> None:
    with pytest.raises(transports.BindError, match=r"the token has 15 characters.* 16 characters or more") as caught:
        await transports.listen(address, PS, refuse_to_serve, token=SHORT, security=files)
    assert SHORT not in str(caught.value)


@pytest.mark.parametrize("address", [*REACHABLE, "elsewhere://127.0.0.1:0"])
async def test_one_that_cannot_be_guessed_does(address: str) -> None:
    async with await transports.listen(address, PS, echo, token=GOOD) as listener:
        found = transports.parse_address(listener.address)
        assert not listener.near
        host = "[::1]" if ":" in found.host else "127.0.0.1"
        dialled = f"{found.scheme}://{host}:{found.port}"
        async with await transports.connect(dialled, WORKER, token=GOOD) as connection:
            connection.write(numbered(1))
            assert await connection.recv() == numbered(1)


async def test_of_several_hosts_that_a_name_has_each_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_names(monkeypatch, {"localhost": ["127.0.0.1", "::1", "192.0.2.7"]}.__getitem__)
    with pytest.raises(transports.BindError, match=r"192\.0\.2\.7 is not a loopback address"):
        await transports.listen("tcp://localhost:0", PS, refuse_to_serve)


async def test_certificates_do_without_a_token(files: transports.SecurityConfig) -> None:
    async with await transports.listen("tls://0.0.0.0:0", PS, echo, security=files) as listener:
        assert not listener.near


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "tcp://[::1]:0", "tcp://localhost:0"])
async def test_loopback_takes_no_token_or_any(address: str) -> None:
    for token in (None, SHORT):
        async with await transports.listen(address, PS, echo, token=token) as listener:
            assert listener.near


async def test_a_transport_that_does_not_look_who_dials_takes_a_token_on_loopback_too() -> None:
    with pytest.raises(transports.BindError, match=r"whole cannot determine here which user .* set a token"):
        await transports.listen("whole://127.0.0.1:0", PS, refuse_to_serve)
    async with await transports.listen("whole://127.0.0.1:0", PS, echo, token=SHORT) as listener:
        assert listener.near


@pytest.mark.usefixtures("proc")
async def test_where_the_system_does_not_tell_who_dials_loopback_takes_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_NETLINK")
    with pytest.raises(transports.BindError, match=r"tcp cannot determine here which user .* unix://"):
        await transports.listen("tcp://127.0.0.1:0", PS, refuse_to_serve)


async def test_a_socket_counts_and_not_the_address_that_is_said_with_it() -> None:
    with socket.create_server(("0.0.0.0", 0)) as sock:
        with pytest.raises(transports.BindError, match=r"no token"):
            await transports.listen("hooked://127.0.0.1:0", PS, refuse_to_serve, sock=sock)
        assert sock.fileno() == -1


async def test_what_was_bound_against_the_rule_is_free_again() -> None:
    with socket.socket() as probe:  # bound and not listening: whole's listen() finds it in its way
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        with suppress(transports.BindError):
            await transports.listen(f"elsewhere://127.0.0.1:{port}", PS, refuse_to_serve)
        probe.listen()  # errno EADDRINUSE if somebody listened still


async def test_names_and_paths_are_this_machines(socket_path: object) -> None:
    for address in (f"unix://{socket_path}", "inproc://guarded"):
        async with await transports.listen(address, PS, echo) as listener:
            assert listener.near

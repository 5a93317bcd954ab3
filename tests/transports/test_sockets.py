"""Binding: what the operating system and we refuse, and what is left of the dead."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from transports import Address, BindError
from transports.host import SYSTEM
from transports.stream.sockets import check_family, is_local, tcp_address, unix_address
from transports.stream.transport import TcpTransport, UnixTransport

bind = UnixTransport().bind_socket
socket_file = SYSTEM.network.socket_file

ANY = Address(scheme="tcp", host="127.0.0.1", port=0)


def tcp_socket(host: str, family: int = socket.AF_INET) -> socket.socket:
    return SYSTEM.network.bind_tcp(family, host, 0)


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("127.9.9.9", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_only_this_machine_reaches_loopback_addresses(host: str, family: int) -> None:
    with tcp_socket(host, family) as sock:
        assert is_local(sock.getsockname())
        assert tcp_address("tcp", sock).host == host
        assert tcp_address("tcp", sock).port == sock.getsockname()[1] != 0


@pytest.mark.parametrize(("host", "family"), [("0.0.0.0", socket.AF_INET), ("::", socket.AF_INET6)])
def test_others_reach_other_addresses(host: str, family: int) -> None:
    with tcp_socket(host, family) as sock:
        assert not is_local(sock.getsockname())


async def test_a_port_that_is_served_cannot_be_bound() -> None:
    with tcp_socket("127.0.0.1") as served:
        served.listen()
        with pytest.raises(BindError) as caught:
            await TcpTransport().bind_socket(tcp_address("tcp", served))
    assert caught.value.errno == errno.EADDRINUSE


async def test_an_address_of_another_machine_cannot_be_bound() -> None:
    with pytest.raises(BindError) as caught:
        await TcpTransport().bind_socket(Address(scheme="tcp", host="192.0.2.1", port=0))
    assert caught.value.errno == errno.EADDRNOTAVAIL


@pytest.mark.parametrize("mask", [0, 0o777])
@pytest.mark.parametrize("born", [True, False])
async def test_a_socket_file_is_its_owners_alone(
    mask: int, born: bool, socket_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first moment on Linux; where the system takes no rights from a socket, before it listens."""

    def refuse(descriptor: int, mode: int) -> None:
        raise OSError(errno.EINVAL, "a socket has no rights")

    if not born:
        monkeypatch.setattr(os, "fchmod", refuse)
    elif sys.platform == "linux" and not mask:
        monkeypatch.delattr(os, "chmod")
    before = os.umask(mask)
    try:
        (await bind(Address(scheme="unix", path=str(socket_path)))).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(socket_path.stat().st_mode) == 0o600


async def test_a_socket_file_that_nobody_serves_is_replaced(socket_path: Path) -> None:
    address = Address(scheme="unix", path=str(socket_path))
    with await bind(address) as dead:
        dead.listen()
    before = socket_file(address.path)
    with await bind(address) as sock:
        assert unix_address(address, sock) == address
    assert before is not None
    assert socket_file(address.path) is not None


async def test_a_socket_file_that_is_served_is_left_alone(socket_path: Path) -> None:
    address = Address(scheme="unix", path=str(socket_path))
    with await bind(address) as served:
        served.listen()
        before = socket_file(address.path)
        with pytest.raises(BindError) as caught:
            await bind(address)
        assert caught.value.errno == errno.EADDRINUSE
        assert socket_file(address.path) == before


async def test_a_file_that_is_no_socket_is_left_alone(socket_path: Path) -> None:
    socket_path.write_text("precious")
    with pytest.raises(BindError) as caught:
        await bind(Address(scheme="unix", path=str(socket_path)))
    assert caught.value.errno == errno.EADDRINUSE
    assert socket_path.read_text() == "precious"


@pytest.mark.parametrize(
    ("path", "complaint"), [("/no/such/folder/s", "No such file"), ("/tmp/" + "x" * 200, "too long")]
)
async def test_a_path_that_cannot_be_had_says_why(path: str, complaint: str) -> None:
    with pytest.raises(BindError, match=complaint):
        await bind(Address(scheme="unix", path=path))


async def test_a_socket_that_was_handed_over_has_to_fit_its_address(socket_path: Path) -> None:
    unix = Address(scheme="unix", path=str(socket_path))
    inet = TcpTransport.families
    with tcp_socket("127.0.0.1") as tcp, await bind(unix) as bound:
        check_family(ANY, tcp, inet)
        check_family(unix, bound, UnixTransport.families)
        assert unix_address(unix, bound) == unix
        with pytest.raises(ValueError, match=r"needs a stream socket of AF_UNIX"):
            check_family(unix, tcp, UnixTransport.families)
        with pytest.raises(ValueError, match=r"needs a stream socket of AF_INET or AF_INET6"):
            check_family(ANY, bound, inet)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, pytest.raises(ValueError, match=r"SOCK_DGRAM"):
        check_family(ANY, datagrams, inet)
    with socket.socket(socket.AF_UNIX) as unbound, pytest.raises(ValueError, match=r"bound to ''"):
        unix_address(unix, unbound)


def test_nothing_has_no_identity(socket_path: Path) -> None:
    assert socket_file(str(socket_path)) is None

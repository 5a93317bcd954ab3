"""Which user is at the other end of a stream, as far as Linux tells.

Without a token or TLS a listener lets in the user of its own process alone, and who dials trusts no
listener of another user's. `stream_transport` and `stream_listener` ask here, once per connection.
Imports `errors`.

Of a unix socket the kernel keeps who connected. Of a tcp socket it tells which user made it, for
all sockets of our network namespace: by netlink (`inet_diag`, some microseconds), or in `/proc/net`
where that cannot be had (milliseconds). Three answers of the kernel must not be believed:

- A socket that its process has closed is shown as root's. Only one that is established counts.
- A connection of another network namespace, whose socket was handed to us, may have the addresses
  of one in ours. So our own end must be in the table, with the inode that our descriptor has.
- A user whom our user namespace has no number for is shown under a number that "nobody" has too.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple, TypeAlias

from transports.errors import AuthenticationError

_Name: TypeAlias = tuple[str, int]

_ESTABLISHED = 1
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST = 4, 20, 1
_HEAD = struct.Struct("=IHHII")  # nlmsghdr
_ASK = struct.Struct("=BBBxI")  # inet_diag_req_v2 up to the addresses
_PORTS = struct.Struct("!HH")
_ANY = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface and cookie
_FOUND = struct.Struct("=BB2x48xIIIII")  # inet_diag_msg
_PROC = Path("/proc")


class _Socket(NamedTuple):
    """What the kernel tells of a tcp socket."""

    state: int
    uid: int
    inode: int


def check_user(sock: socket.socket, address: str, who: str) -> None:
    """Refuse the other end of a stream unless it is our own user's.

    Args:
        sock: Of a connected stream.
        address: The other end's, for error messages.
        who: What the other end is, such as "the dialler".

    Raises:
        AuthenticationError: It is another user's, or that cannot be known.
        EOFError: It has hung up.
        OSError: The stream broke.
    """
    own, uid = os.geteuid(), peer_user(sock)
    if uid is None:
        found = (
            "it cannot be known which user's it is (it comes from another network namespace or a "
            "forwarder, or this system does not tell)"
        )
    elif uid == _nobody():
        found = f"it is of a user whom this user namespace does not know (shown as {uid})"
    elif uid == own or (uid == 0 and sock.family == socket.AF_UNIX):  # files keep no root out
        return
    else:
        found = f"it is user {uid}'s"
    raise AuthenticationError(
        f"{who} at {address} is refused: {found}, and without a token user {own} alone, who runs "
        "this process, is trusted; give both sides the same token (ACTORSESSION_TOKEN), or use tls://",
        address=address,
    )


def peer_user(sock: socket.socket) -> int | None:
    """Return the user at the other end of a stream, or None where that cannot be known.

    Args:
        sock: A connected stream of a unix socket, or of a tcp socket on this machine.

    Raises:
        EOFError: The other end has hung up.
        OSError: The stream broke.
    """
    if sock.family == socket.AF_UNIX:
        return _unix_user(sock)
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    ours, theirs = sock.getsockname()[:2], sock.getpeername()[:2]
    inode = os.fstat(sock.fileno()).st_ino
    for look in (_by_netlink, _by_proc):
        peer, own = look(theirs, ours), look(ours, theirs)
        if own is None or own.inode != inode:
            continue  # not to be had this way, or the table of another network namespace
        if peer is not None and peer.state == _ESTABLISHED and peer.inode:
            return peer.uid
        if peer is not None or own.state != _ESTABLISHED:
            raise EOFError("it has hung up")
    return None


def tells_users() -> bool:
    """Return whether this system tells whose the tcp sockets on it are."""
    return (_PROC / "net" / "tcp").exists() or hasattr(socket, "AF_NETLINK")


def _unix_user(sock: socket.socket) -> int | None:
    """Return the user who connected, or who listens; where no system tells, the socket file's mode does."""
    which = getattr(socket, "SO_PEERCRED", None)
    if which is None:
        return os.geteuid()
    found = struct.Struct("=iII")  # pid, uid, gid
    uid: int = found.unpack(sock.getsockopt(socket.SOL_SOCKET, which, found.size))[1]
    return uid


def _by_netlink(local: _Name, remote: _Name) -> _Socket | None:
    """Return what `inet_diag` tells of the socket with these two ends; None if it tells nothing."""
    number, packed = _packed(local, remote)
    ports = _PORTS.pack(local[1], remote[1])
    asked = _ASK.pack(number, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ports
    asked += b"".join(address.ljust(16, b"\0") for address in packed) + _ANY
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
            diag.send(
                _HEAD.pack(_HEAD.size + len(asked), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + asked
            )
            answer, sender = diag.recvfrom(4096, socket.MSG_DONTWAIT)
    except (OSError, AttributeError):  # no such sockets here, or a sandbox forbids them
        return None
    kind = _HEAD.unpack_from(answer)[1] if len(answer) >= _HEAD.size + _FOUND.size else 0
    if kind != _SOCK_DIAG_BY_FAMILY or sender[0] != 0:
        return None
    _, state, _, _, _, uid, inode = _FOUND.unpack_from(answer, _HEAD.size)
    return _Socket(state, uid, inode)


def _by_proc(local: _Name, remote: _Name) -> _Socket | None:
    """Return the same from `/proc/net`, where IPv4 connections of IPv6 sockets stand with the latter."""
    number, packed = _packed(local, remote)
    tables = [("tcp6" if number == socket.AF_INET6 else "tcp", packed)]
    if number == socket.AF_INET:
        mapped = b"\0" * 10 + b"\xff\xff"
        tables.append(("tcp6", (mapped + packed[0], mapped + packed[1])))
    for name, (here, there) in tables:
        ends = f" {_hex(here)}:{local[1]:04X} {_hex(there)}:{remote[1]:04X} "
        try:
            table = (_PROC / "net" / name).read_text(encoding="ascii")
        except OSError:
            continue
        _, found, row = table.partition(ends)
        if found:
            columns = row.split(maxsplit=7)
            return _Socket(int(columns[0], 16), int(columns[4]), int(columns[6]))
    return None


def _packed(local: _Name, remote: _Name) -> tuple[int, tuple[bytes, bytes]]:
    """Return the family and the bytes of two hosts, as IPv4 where they are IPv4's."""
    hosts = [ipaddress.ip_address(name[0].partition("%")[0]) for name in (local, remote)]
    here, there = (getattr(host, "ipv4_mapped", None) or host for host in hosts)
    family = socket.AF_INET if here.version == 4 else socket.AF_INET6
    return family, (here.packed, there.packed)


def _hex(address: bytes) -> str:
    """Return an address as `/proc/net` writes it: words of the machine's byte order."""
    words = [address[i : i + 4] for i in range(0, len(address), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


@functools.cache
def _nobody() -> int | None:
    """Return the number under which users without one are shown; None where every user has one."""
    try:
        if (_PROC / "self" / "uid_map").read_text().split() == ["0", "0", str(2**32 - 1)]:
            return None
        return int((_PROC / "sys" / "kernel" / "overflowuid").read_text())
    except (OSError, ValueError):  # no Linux
        return None

"""The user at the other end of a stream, as far as Linux reports it.

Without a token or TLS a listener accepts only the user of its own process, and a dialler trusts no listener
of another user. ``transport`` and ``listener`` call this module once per connection. It imports ``errors``.

For a unix socket the kernel records the user who connected. For a tcp socket it reports the user who made
it, for all sockets of our network namespace: by netlink (``inet_diag``, some microseconds), or in
``/proc/net`` where netlink is not available (milliseconds). Three answers of the kernel must not be
trusted:

- A socket that its process has closed is shown as root's. Only an established one counts.
- A connection of another network namespace, whose socket was passed to this process, may have the same
  addresses as one in ours. So our own end must be in the table, with the inode of our descriptor.
- A user without a number in our user namespace is shown under a number that "nobody" has too.
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
    """The kernel's record of a tcp socket."""

    state: int
    uid: int
    inode: int


def check_user(sock: socket.socket, address: str, who: str) -> None:
    """Refuse the other end of a stream unless it belongs to our own user.

    Args:
        sock: Of a connected stream.
        address: The other end's address, for error messages.
        who: A description of the other end, such as "the dialler".

    Raises:
        AuthenticationError: The other end belongs to another user, or its user cannot be determined.
        EOFError: The other end has hung up.
        OSError: The stream broke.
    """
    own, uid = os.geteuid(), peer_user(sock)
    if uid is None:
        owner = (
            "the user who owns it is unknown (it comes from another network namespace or "
            "a forwarder, or this system does not report owners)"
        )
    elif uid == _nobody():
        owner = f"its user is unknown in this user namespace (shown as {uid})"
    elif uid == own or (uid == 0 and sock.family == socket.AF_UNIX):  # root opens any file
        return
    else:
        owner = f"it belongs to user {uid}"
    raise AuthenticationError(
        f"{who} at {address} is refused: {owner}, and without a token only user "
        f"{own}, who runs this process, is trusted; set the same token on both sides "
        "(ACTORSESSION_TOKEN), or use tls://",
        address=address,
    )


def peer_user(sock: socket.socket) -> int | None:
    """Return the user at the other end of a stream, or None where it cannot be determined.

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
            continue  # not available this way, or the table of another network namespace
        if peer is not None and peer.state == _ESTABLISHED and peer.inode:
            return peer.uid
        if peer is not None or own.state != _ESTABLISHED:
            raise EOFError("it has hung up")
    return None


def can_identify_users() -> bool:
    """Return whether this system reports the owners of its tcp sockets."""
    return (_PROC / "net" / "tcp").exists() or hasattr(socket, "AF_NETLINK")


def _unix_user(sock: socket.socket) -> int | None:
    """Return the user at the other end of a unix socket.

    Where the system does not report it, the mode of the socket file already excludes other users, and our
    own user is returned.
    """
    which = getattr(socket, "SO_PEERCRED", None)
    if which is None:
        return os.geteuid()
    credentials = struct.Struct("=iII")  # pid, uid, gid
    uid: int = credentials.unpack(sock.getsockopt(socket.SOL_SOCKET, which, credentials.size))[1]
    return uid


def _by_netlink(local: _Name, remote: _Name) -> _Socket | None:
    """Return ``inet_diag``'s record of the socket with these two ends, or None if there is none."""
    number, packed = _packed(local, remote)
    ports = _PORTS.pack(local[1], remote[1])
    request = _ASK.pack(number, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ports
    request += b"".join(address.ljust(16, b"\0") for address in packed) + _ANY
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
            diag.send(_HEAD.pack(_HEAD.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + request)
            answer, sender = diag.recvfrom(4096, socket.MSG_DONTWAIT)
    except (OSError, AttributeError):  # no such sockets here, or a sandbox forbids them
        return None
    kind = _HEAD.unpack_from(answer)[1] if len(answer) >= _HEAD.size + _FOUND.size else 0
    if kind != _SOCK_DIAG_BY_FAMILY or sender[0] != 0:
        return None
    _, state, _, _, _, uid, inode = _FOUND.unpack_from(answer, _HEAD.size)
    return _Socket(state, uid, inode)


def _by_proc(local: _Name, remote: _Name) -> _Socket | None:
    """Return the record from ``/proc/net``, where IPv4 connections of IPv6 sockets are listed as IPv6."""
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
        _, entry, row = table.partition(ends)
        if entry:
            columns = row.split(maxsplit=7)
            return _Socket(int(columns[0], 16), int(columns[4]), int(columns[6]))
    return None


def _packed(local: _Name, remote: _Name) -> tuple[int, tuple[bytes, bytes]]:
    """Return the family and the bytes of two hosts, as IPv4 where they are IPv4 or mapped IPv4 addresses."""
    hosts = [ipaddress.ip_address(name[0].partition("%")[0]) for name in (local, remote)]
    here, there = (getattr(host, "ipv4_mapped", None) or host for host in hosts)
    family = socket.AF_INET if here.version == 4 else socket.AF_INET6
    return family, (here.packed, there.packed)


def _hex(address: bytes) -> str:
    """Return an address in the notation of ``/proc/net``: words of the machine's byte order."""
    words = [address[i : i + 4] for i in range(0, len(address), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


@functools.cache
def _nobody() -> int | None:
    """Return the number of users that have none in our namespace, or None where every user has one."""
    try:
        if (_PROC / "self" / "uid_map").read_text().split() == ["0", "0", str(2**32 - 1)]:
            return None
        return int((_PROC / "sys" / "kernel" / "overflowuid").read_text())
    except (OSError, ValueError):  # not Linux
        return None

"""Sockets: what they are bound to, and which of them this machine alone can reach.

``transport`` has the host's network bind and passes the socket on. asyncio would bind as well, but with less
control: it makes several sockets with different ports for one name and port 0, removes the socket file of a
live listener, and reports no errno where several addresses failed. The module imports ``address``, ``errors``
and ``port_owner``.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence

from transports.address import Address
from transports.errors import BindError
from transports.stream.port_owner import port_owner


def is_local(name: object) -> bool:
    """Return whether only this machine can reach one end of a socket.

    Args:
        name: As ``getsockname`` and ``getpeername`` return it: host and port, or the path of a unix socket.
    """
    return not isinstance(name, tuple) or is_loopback(str(name[0]))


def is_loopback(host: str) -> bool:
    """Return whether a numeric host is a loopback address.

    Raises:
        ValueError: The host is a name.
    """
    address = ipaddress.ip_address(host.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def check_family(address: Address, sock: socket.socket, families: Sequence[socket.AddressFamily]) -> None:
    """Check that a socket which was passed in is of a kind that the address's transport serves.

    Args:
        address: The requested address.
        sock: The socket, which should be a stream socket.
        families: The address families of the transport.

    Raises:
        ValueError: The socket does not fit.
    """
    if sock.family not in families or sock.type != socket.SOCK_STREAM:
        names = " or ".join(family.name for family in families)
        raise ValueError(
            f"{address} needs a stream socket of {names}, got one of family {sock.family!r} and type {sock.type!r}"
        )


def tcp_address(scheme: str, sock: socket.socket) -> Address:
    """Return the address that a tcp socket is bound to."""
    name = sock.getsockname()
    return Address(scheme=scheme, host=name[0], port=name[1])


def unix_address(requested: Address, sock: socket.socket) -> Address:
    """Return the address that a unix socket is bound to.

    Raises:
        ValueError: It is not bound to an absolute path.
    """
    name = sock.getsockname()
    if not (isinstance(name, str) and name.startswith("/")):
        raise ValueError(f"{requested} needs a socket that is bound to an absolute path, got one bound to {name!r}")
    return Address(scheme=requested.scheme, path=name)


def bind_error(address: Address, error: OSError) -> BindError:
    """Translate the operating system's refusal into a BindError."""
    # "AF_UNIX path too long" has neither number nor strerror.
    reason = error.strerror or str(error)
    owner = None
    if error.errno == errno.EADDRINUSE and address.port:
        owner = port_owner(address.port)
    if owner is not None:
        reason += f", by process {owner[0]} ({owner[1]})"
    return BindError(reason, address=str(address), errno=error.errno, owner_pid=owner[0] if owner else None)

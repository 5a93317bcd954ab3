"""Sockets: binding, and which addresses may be bound.

``transport`` binds here and passes the socket to asyncio. asyncio would bind as well, but with less
control: it makes several sockets with different ports for one name and port 0, removes the socket file of a
live listener, and reports no errno where several addresses failed. The calls block but touch no network.
The module imports ``address``, ``errors`` and ``port_owner``.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress

from transports.address import Address
from transports.errors import BindError
from transports.stream.port_owner import port_owner

# The rights of a socket file: only its owner may connect.
_OWNERS = 0o600


def bind_tcp(address: Address, family: int, host: str) -> socket.socket:
    """Return a socket bound to a numeric host and the address's port.

    Args:
        address: The requested address, for error messages.
        family: socket.AF_INET or socket.AF_INET6.
        host: The numeric host that ``address.host`` resolved to.

    Returns:
        The bound socket, which the caller must close.

    Raises:
        BindError: The operating system refused.
    """
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        # The port of a listener that has closed may be bound again at once.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # [::] must not bind IPv4's port as well
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((host, address.port))
    except OSError as error:
        sock.close()
        raise bind_error(address, error) from error
    return sock


def bind_unix(address: Address) -> socket.socket:
    """Return a socket bound to the address's path, which only its owner may connect to.

    The file has these rights from the first moment on Linux, which makes it with those of the socket;
    elsewhere it gets them before ``listen()``, until when nobody can connect. The umask belongs to all
    threads and stays as it is. A socket file without a listener, left by a process that died, is removed
    first.

    Args:
        address: An address with a path.

    Returns:
        The bound socket, which the caller must close.

    Raises:
        BindError: Another process listens there, or the operating system refused.
    """
    _remove_stale(address.path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(OSError):
            os.fchmod(sock.fileno(), _OWNERS)
        sock.bind(address.path)
        if stat.S_IMODE(os.stat(address.path).st_mode) != _OWNERS:
            os.chmod(address.path, _OWNERS)
    except OSError as error:
        sock.close()
        raise bind_error(address, error) from error
    return sock


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


def file_identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a path, or None where the path does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _remove_stale(path: str) -> None:
    """Remove a socket file without a listener; bind() reports every other obstacle."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except (OSError, ValueError):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full backlog would block, and shows that there is a listener
        if probe.connect_ex(path) == errno.ECONNREFUSED:
            with suppress(FileNotFoundError):
                os.unlink(path)


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

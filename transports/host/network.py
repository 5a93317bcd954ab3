"""The network of a host: names, streams and listening sockets."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import asyncio

__all__ = ["Network", "Resolved"]

P = TypeVar("P", bound="asyncio.BaseProtocol")

Resolved: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]
"""Family, kind, protocol number, canonical name and address, as ``socket.getaddrinfo`` returns them."""

# The rights of a socket file: only its owner may connect.
_OWNERS = 0o600


class Network:
    """The network of this machine; a derived class is one that can delay, part and lose.

    The sockets of a derived class have no descriptors: their ``fileno`` is -1.

    Attributes:
        shares_memory: Whether a peer may be a process of this machine that can read our memory.
        has_other_users: Whether users of this machine other than ours might connect.
    """

    shares_memory = True
    has_other_users = True

    gethostname = staticmethod(socket.gethostname)

    async def getaddrinfo(
        self, host: str, port: int, *, kind: int = socket.SOCK_STREAM, flags: int = 0
    ) -> Sequence[Resolved]:
        """Return the addresses of a host.

        Args:
            host: Its name or numeric address.
            port: The port that the addresses are to have.
            kind: The kind of socket they are for.
            flags: As ``socket.getaddrinfo`` takes them.

        Raises:
            OSError: The name does not resolve.
        """
        return await _running_loop().getaddrinfo(host, port, type=kind, flags=flags)

    async def connect(
        self, make_protocol: Callable[[], P], family: int, host: str, port: int
    ) -> tuple[asyncio.Transport, P]:
        """Open a tcp stream.

        Args:
            make_protocol: Makes the protocol of the stream.
            family: socket.AF_INET or socket.AF_INET6.
            host: The numeric host, as ``getaddrinfo`` returned it.
            port: The port.

        Raises:
            OSError: The connection failed.
        """
        loop = _running_loop()
        return await loop.create_connection(make_protocol, host, port, family=family)

    async def connect_unix(self, make_protocol: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]:
        """Open a stream to a unix socket.

        Args:
            make_protocol: Makes the protocol of the stream.
            path: Its file, or a zero byte and an abstract name.

        Raises:
            OSError: The connection failed.
        """
        loop = _running_loop()
        if not path.startswith("\0"):
            return await loop.create_unix_connection(make_protocol, path)
        sock = _abstract_socket()
        try:
            # uvloop takes names of sockets as C strings, which a zero byte would end.
            await loop.sock_connect(sock, path)
            return await loop.create_unix_connection(make_protocol, sock=sock)
        except BaseException:
            # Before 0.23 uvloop has closed the descriptor already; its error must not replace a cancellation.
            with contextlib.suppress(OSError):
                sock.close()
            raise

    def bind_tcp(self, family: int, host: str, port: int) -> socket.socket:
        """Return a socket bound to a numeric host and a port, which the caller must close.

        Args:
            family: socket.AF_INET or socket.AF_INET6.
            host: The numeric host.
            port: The port; 0 for any that is free.

        Raises:
            OSError: The operating system refused.
        """
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            # The port of a listener that has closed may be bound again at once.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:  # [::] must not bind IPv4's port as well
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((host, port))
        except OSError:
            sock.close()
            raise
        return sock

    def bind_unix(self, path: str) -> socket.socket:
        """Return a socket bound to a path, which only its owner may connect to; the caller must close it.

        The file has these rights from the first moment on Linux, which makes it with those of the socket;
        elsewhere it gets them before ``listen()``, until when nobody can connect. The umask belongs to all
        threads and stays as it is. A socket file without a listener, left by a process that died, is removed
        first.

        Args:
            path: The file, or a zero byte and an abstract name.

        Raises:
            OSError: Another process listens there, or the operating system refused.
        """
        is_file = not path.startswith("\0")
        if is_file:
            _remove_stale(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) if is_file else _abstract_socket()
        try:
            if is_file:
                with contextlib.suppress(OSError):
                    os.fchmod(sock.fileno(), _OWNERS)
            sock.bind(path)
            if is_file and stat.S_IMODE(os.stat(path).st_mode) != _OWNERS:
                os.chmod(path, _OWNERS)
        except OSError:
            sock.close()
            raise
        return sock

    def socket_file(self, path: str) -> tuple[int, int] | None:
        """Return what identifies a socket file, device and inode; None where there is none."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def remove_socket_file(self, path: str) -> None:
        """Remove a socket file, if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(path)

    async def listen(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], sock: socket.socket, backlog: int
    ) -> asyncio.AbstractServer:
        """Accept streams at a bound socket, which belongs to the server that is returned.

        Args:
            make_protocol: Makes the protocol of each stream.
            sock: The socket.
            backlog: How many streams may wait to be accepted, and are accepted at once.

        Raises:
            OSError: The operating system refused to listen.
        """
        loop = _running_loop()
        create = loop.create_unix_server if sock.family == socket.AF_UNIX else loop.create_server
        # In two steps: a cancellation in the second, where the standard loop suspends, must not lose the server.
        server = await create(make_protocol, sock=sock, backlog=backlog, start_serving=False)
        try:
            await server.start_serving()
        except BaseException:
            server.close()
            raise
        return server


def _abstract_socket() -> socket.socket:
    """Return a unix socket that does not block.

    Raises:
        OSError: This system has no abstract names.
    """
    if sys.platform != "linux":
        raise OSError(errno.EAFNOSUPPORT, "only Linux has abstract sockets; use unix://")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock


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
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _running_loop() -> asyncio.AbstractEventLoop:
    import asyncio  # a process without an event loop does not load it

    return asyncio.get_running_loop()

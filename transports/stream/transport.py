"""The tcp and unix transports: dialling, binding and addresses of streams.

``registry`` makes one of each; ``tls_transport`` derives from tcp's. The network of the host
connects and binds, asyncio's streams carry the bytes, ``connection`` runs over them, and ``listener`` owns the
accepted streams. The module imports those, ``handshake``, ``address``, ``errors`` and ``sockets``.

Invariant: whatever fails between connecting and the end of the handshake, including cancellation, the
stream is closed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar, TypeAlias

from transports.address import Address
from transports.connection import Connection
from transports.errors import BindError, ConnectError
from transports.handshake import NONCE_SIZE, Handshake, Role
from transports.hello import Hello
from transports.host import current_host
from transports.listener import Listener, OnConnection
from transports.security import SecurityConfig
from transports.stream import sockets
from transports.stream.bytestream import ByteStreams
from transports.stream.connection import STREAM_LIMIT
from transports.stream.listener import Secure, StreamListener, become_connection, do_not_delay, explain, user_check

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class StreamTransport(ABC):
    """What transports over stream sockets share; a derived class opens, binds and names its sockets.

    Without a token, and unless ``authenticates``, either end refuses another user of this machine.

    Attributes:
        families: The address families of its sockets.
    """

    authenticates = False
    checks_user = True
    families: ClassVar[Sequence[socket.AddressFamily]]

    async def connect(
        self,
        address: Address,
        hello: Hello,
        *,
        connect_timeout: float,
        expect_task: str | None,
        expect_cluster: str | None,
        token: str | None,
        security: SecurityConfig | None = None,
    ) -> Connection:
        """Connect and shake hands; see ``transports.connect``."""
        secure = self._dialling(address, security)
        core = Handshake(
            Role.DIALLER,
            hello,
            nonce=current_host().entropy.token_bytes(NONCE_SIZE),
            token=token,
            expect_task=expect_task,
            expect_cluster=expect_cluster,
            address=str(address),
        )
        phase = "connect"
        try:
            async with asyncio.timeout(connect_timeout):
                opened = await self.open_streams(address)
                streams: ByteStreams = opened
                if secure is not None:
                    phase = "tls"
                    streams = await secure(*opened, str(address))
                phase = "hello"
                check = self._listener_check(opened[1], address) if token is None else None
                return await become_connection(*streams, core, str(address), shares=secure is None, check=check)
        except (OSError, EOFError) as error:
            reason, errno = explain(error, connect_timeout, phase)
            raise ConnectError(reason, address=str(address), errno=errno, phase=phase) from error

    async def listen(
        self,
        address: Address,
        hello: Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
        sock: socket.socket | None,
        security: SecurityConfig | None = None,
    ) -> Listener:
        """Bind and serve; see ``transports.listen``."""
        bound = sock
        try:
            secure = self._accepting(address, security)
            bound = sock or await self.bind_socket(address)
            sockets.check_family(address, bound, self.families)
            listener = StreamListener(
                self.announced_address(address, bound),
                hello,
                on_connection,
                token=token,
                handshake_timeout=handshake_timeout,
                secure=secure,
                own_user_only=token is None and not self.authenticates,
            )
            await listener.start(bound)
        except OSError as error:  # two may bind a port at the same time, but only one may listen
            _close(bound)
            raise sockets.bind_error(address, error) from error
        except BaseException:
            _close(bound)
            raise
        return listener

    def _listener_check(self, writer: asyncio.StreamWriter, address: Address) -> Callable[[], None] | None:
        """Return a check that refuses a listener of another user, or None where none is needed.

        There is none for a listener on another host, whose user cannot be determined.
        """
        if self.authenticates or not current_host().network.has_other_users:
            return None
        if not sockets.is_local(writer.get_extra_info("peername")):
            return None
        return user_check(writer, str(address), "the listener")

    def _dialling(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return the function that encrypts a dialled stream; these transports have none.

        Raises:
            ConnectError: The function needs TLS files that are unusable.
        """
        return None

    def _accepting(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return the function that encrypts an accepted stream; these transports have none.

        Raises:
            BindError: The function needs TLS files that are unusable.
        """
        return None

    @abstractmethod
    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return the address to dial: the one that the socket is bound to.

        Raises:
            ValueError: The socket was passed in and is bound to no address of this transport.
        """

    @abstractmethod
    async def open_streams(self, address: Address) -> Streams:
        """Open a stream, without sending anything.

        Raises:
            OSError: The connection failed.
        """

    @abstractmethod
    async def bind_socket(self, address: Address) -> socket.socket:
        """Return a socket bound to the address.

        Raises:
            BindError: The address cannot be bound.
        """


class TcpTransport(StreamTransport):
    """The transport for ``tcp://host:port``."""

    families = (socket.AF_INET, socket.AF_INET6)

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return host and port; the port is the one that was assigned for 0."""
        return sockets.tcp_address(address.scheme, sock)

    async def open_streams(self, address: Address) -> Streams:
        """Try the addresses of the host one after the other; the last error is raised if all fail."""
        refused = OSError("the host name does not resolve to any address")
        for family, host in await _resolve(address):
            connect = partial(current_host().network.connect, family=family, host=host, port=address.port or 0)
            try:
                streams = await _open(connect)
            except OSError as error:
                refused = error
            else:
                do_not_delay(streams[1])
                return streams
        raise refused

    async def bind_socket(self, address: Address) -> socket.socket:
        """Bind one address of the host, IPv4 if it has one, so that port 0 means one port."""
        try:
            family, host = min(await _resolve(address), key=lambda resolved: resolved[0])
        except socket.gaierror as error:
            reason, errno = explain(error, 0, "connect")
            raise BindError(reason, address=str(address), errno=errno) from error
        try:
            return current_host().network.bind_tcp(family, host, address.port or 0)
        except OSError as error:
            raise sockets.bind_error(address, error) from error


class UnixTransport(StreamTransport):
    """The transport for ``unix:///absolute/path``."""

    families = (socket.AF_UNIX,)

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return the path of the socket file."""
        return sockets.unix_address(address, sock)

    async def open_streams(self, address: Address) -> Streams:
        """Connect to the socket file."""
        return await _open(partial(current_host().network.connect_unix, path=self._path(address)))

    async def bind_socket(self, address: Address) -> socket.socket:
        """Bind the path."""
        try:
            return current_host().network.bind_unix(self._path(address))
        except OSError as error:
            raise sockets.bind_error(address, error) from error

    def _path(self, address: Address) -> str:
        return address.path


async def _open(
    connect: Callable[
        [Callable[[], asyncio.StreamReaderProtocol]], Awaitable[tuple[asyncio.Transport, asyncio.BaseProtocol]]
    ],
) -> Streams:
    """Return the streams over a new connection, as ``asyncio.open_connection`` does."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=STREAM_LIMIT, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await connect(lambda: protocol)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _resolve(address: Address) -> list[tuple[int, str]]:
    """Return family and numeric host of every address of a host; a numeric host is returned as it is.

    Raises:
        socket.gaierror: The name does not resolve.
    """
    with suppress(ValueError):
        version = ipaddress.ip_address(address.host).version
        return [(socket.AF_INET6 if version == 6 else socket.AF_INET, address.host)]
    addresses = await current_host().network.getaddrinfo(address.host, address.port or 0)
    return [(family, str(name[0])) for family, _, _, _, name in addresses]


def _close(sock: socket.socket | None) -> None:
    """Close a socket that did not become a listener."""
    if sock is not None:
        sock.close()

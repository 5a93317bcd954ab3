"""The tcp and unix transports: how a stream is dialled and accepted, and who owns what serves it.

`transports/__init__` registers one of each. asyncio's streams carry them (`open_connection`,
`start_server`), `stream` speaks over them, `sockets` binds. Imports those, `handshake`, `listener`,
`connection`, `address` and `errors`.

Invariants. Whatever goes wrong between connecting and the end of the handshake, cancellation
included, the stream is closed. An accepted stream belongs to a child of the listener before
asyncio's callback returns: `start_server` never owns a task of ours, whose cancellation at the end
of a loop it would print.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from errno import ETIMEDOUT

from transports import sockets
from transports.address import Address
from transports.connection import Connection
from transports.errors import BindError, ConnectError, ProtocolError, TransportError
from transports.handshake import NONCE_SIZE, Handshake, Role
from transports.hello import Hello
from transports.listener import Listener, OnConnection, logger
from transports.stream import STREAM_LIMIT, StreamConnection, hang_up, shake_hands

# A whole cluster dials at once when it starts, and a full backlog would make Linux drop the rest
# for a second.
BACKLOG = 512

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class StreamTransport(ABC):
    """What tcp and unix have in common."""

    async def connect(
        self,
        address: Address,
        hello: Hello,
        *,
        connect_timeout: float,
        expect_task: str | None,
        expect_cluster: str | None,
        token: str | None,
    ) -> Connection:
        """Connect and shake hands; see `transports.connect`."""
        core = Handshake(
            Role.DIALLER,
            hello,
            nonce=secrets.token_bytes(NONCE_SIZE),
            token=token,
            expect_task=expect_task,
            expect_cluster=expect_cluster,
            address=str(address),
        )
        phase = "connect"
        try:
            async with asyncio.timeout(connect_timeout):
                streams = await self._open(address)
                phase = "hello"
                return await _become_connection(*streams, core, str(address))
        except (OSError, EOFError) as error:
            reason, errno = _explain(error, connect_timeout)
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
    ) -> Listener:
        """Bind and serve; see `transports.listen`."""
        if sock is None:
            sock = await self._bind(address)
        try:
            sockets.check_family(address, sock)
            if token is None:
                sockets.require_loopback(address, sock)
            listener = StreamListener(
                sockets.socket_address(address.scheme, sock),
                hello,
                on_connection,
                token=token,
                handshake_timeout=handshake_timeout,
            )
            await listener.start(sock)
        except OSError as error:  # two may bind a port at the same time, but just one may listen
            sock.close()
            raise BindError(str(error.strerror), address=str(address), errno=error.errno) from error
        except BaseException:
            sock.close()
            raise
        return listener

    @abstractmethod
    async def _open(self, address: Address) -> Streams:
        """Connect, without a word said yet.

        Raises:
            OSError: Nobody there.
        """

    @abstractmethod
    async def _bind(self, address: Address) -> socket.socket:
        """Return a socket bound to the address.

        Raises:
            BindError: It cannot be had.
        """


class TcpTransport(StreamTransport):
    """Carries `tcp://host:port`."""

    async def _open(self, address: Address) -> Streams:
        """Try what the host resolves to, one after the other; the last error speaks for all."""
        refused = OSError("the host name resolves to nothing")
        for family, host in await _resolve(address):
            try:
                streams = await asyncio.open_connection(
                    host, address.port, family=family, limit=STREAM_LIMIT
                )
            except OSError as error:
                refused = error
            else:
                _do_not_delay(streams[1])
                return streams
        raise refused

    async def _bind(self, address: Address) -> socket.socket:
        """Bind one address of the host, IPv4 if it has one, so that port 0 means one port."""
        try:
            family, host = min(await _resolve(address), key=lambda found: found[0])
        except socket.gaierror as error:
            reason, errno = _explain(error, 0)
            raise BindError(reason, address=str(address), errno=errno) from error
        return sockets.bind_tcp(address, family, host)


class UnixTransport(StreamTransport):
    """Carries `unix:///absolute/path`."""

    async def _open(self, address: Address) -> Streams:
        """Connect to the socket file."""
        return await asyncio.open_unix_connection(address.path, limit=STREAM_LIMIT)

    async def _bind(self, address: Address) -> socket.socket:
        """Bind the path."""
        return sockets.bind_unix(address)


class StreamListener(Listener):
    """A socket that accepts, and the children that serve what it accepted."""

    def __init__(
        self,
        address: Address,
        hello: Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
    ) -> None:
        """Make a listener that does not accept yet; arguments are those of `listen`."""
        super().__init__(str(address), on_connection)
        self._parsed = address
        self._hello = hello
        self._token = token
        self._handshake_timeout = handshake_timeout
        self._server: asyncio.Server | None = None
        self._sock: socket.socket | None = None
        self._file = sockets.file_identity(address.path)

    async def start(self, sock: socket.socket) -> None:
        """Begin to accept on a bound socket, which belongs to this listener from now on.

        Raises:
            OSError: The operating system refused to listen.
        """
        self._sock = sock
        sock.listen(BACKLOG)  # not left to the loop: uvloop 0.23 passes over a refusal in silence
        start = asyncio.start_unix_server if self._parsed.path else asyncio.start_server
        self._server = await start(self._accept, sock=sock, limit=STREAM_LIMIT, backlog=BACKLOG)

    async def _stop_accepting(self) -> None:
        """Close the socket, and remove its file unless another listener has put its own there.

        The stock loop accepts in two steps, and a server that is closed between them loses the
        stream without closing it. So it is first kept from beginning to accept, and closed a turn
        later; uvloop accepts in one step and shrugs at the request.

        `Server.wait_closed()` is not awaited: from Python 3.12 on it waits for clients, which we do
        by ourselves; the listening socket is closed when `close()` returns, on every version.
        """
        assert self._server is not None  # listen() has started it
        assert self._sock is not None
        with suppress(NotImplementedError, RuntimeError):
            asyncio.get_running_loop().remove_reader(self._sock)
        try:
            await asyncio.sleep(0)
        finally:
            self._server.close()
            self._remove_file()

    def _remove_file(self) -> None:
        """Remove the socket file that we have made."""
        if self._file is not None and sockets.file_identity(self._parsed.path) == self._file:
            with suppress(OSError):
                os.unlink(self._parsed.path)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take over an accepted stream.

        A plain function: it returns no coroutine, so asyncio makes no task of it.
        """
        if self._closed:
            writer.transport.abort()
            return
        peer = self._peer_address(writer)
        name = f"connection of {self.address} from {peer}"
        self._own_child(self._welcome(reader, writer, peer), name, writer.transport.abort)

    async def _welcome(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
    ) -> None:
        """Shake hands with whoever connected, and serve them if they are welcome."""
        if not self._parsed.path:
            _do_not_delay(writer)
        core = Handshake(
            Role.LISTENER,
            self._hello,
            nonce=secrets.token_bytes(NONCE_SIZE),
            token=self._token,
            address=peer,
        )
        try:
            async with asyncio.timeout(self._handshake_timeout):
                connection = await _become_connection(reader, writer, core, peer)
        except TransportError as error:
            logger.warning("%s refused a connection from %s: %s", self.address, peer, error)
        except (OSError, EOFError) as error:
            # A port scanner, a health check, a dialler that gave up: nothing to warn of.
            reason, _ = _explain(error, self._handshake_timeout)
            logger.info("%s dropped a connection from %s: %s", self.address, peer, reason)
        else:
            await self._serve(connection)

    def _peer_address(self, writer: asyncio.StreamWriter) -> str:
        """Say where a dialler is; on a unix socket diallers have no address but ours."""
        name = writer.get_extra_info("peername")
        if self._parsed.path or not name:  # gone already
            return self.address
        return str(Address(scheme=self._parsed.scheme, host=name[0], port=name[1]))


async def _become_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, core: Handshake, peer_address: str
) -> StreamConnection:
    """Shake hands over a stream and make a connection of it, or close it."""
    try:
        established = await shake_hands(reader, writer, core)
    except TransportError as error:
        await hang_up(writer)
        if error.address:
            raise
        message = f"{peer_address} does not speak this protocol: {error}"
        raise ProtocolError(message, address=peer_address) from error
    except BaseException:
        writer.transport.abort()
        raise
    return StreamConnection(
        reader,
        writer,
        local_address=_local_address(writer, peer_address),
        peer_address=peer_address,
        peer=established.peer,
        wire_version=established.wire_version,
    )


def _do_not_delay(writer: asyncio.StreamWriter) -> None:
    """Send small frames at once and not when the last ones are acknowledged.

    asyncio does so by itself for sockets that it has made, but goes by a protocol number which one
    that was accepted from a socket of ours does not carry.
    """
    sock = writer.get_extra_info("socket")
    with suppress(OSError):  # gone already; whoever reads next will hear of it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _local_address(writer: asyncio.StreamWriter, peer_address: str) -> str:
    """Say where our end is; on a unix socket both ends are where the file is."""
    name = writer.get_extra_info("sockname")
    if not isinstance(name, tuple):
        return peer_address
    return str(Address(scheme=peer_address.partition("://")[0], host=name[0], port=name[1]))


async def _resolve(address: Address) -> list[tuple[int, str]]:
    """Return family and numeric host of all that a host resolves to; a numeric one is itself.

    Raises:
        socket.gaierror: The name does not resolve.
    """
    with suppress(ValueError):
        version = ipaddress.ip_address(address.host).version
        return [(socket.AF_INET6 if version == 6 else socket.AF_INET, address.host)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return [(family, str(name[0])) for family, _, _, _, name in found]


def _explain(error: OSError | EOFError, timeout: float) -> tuple[str, int | None]:
    """Return what happened in words, and the error number that goes with it."""
    if isinstance(error, EOFError):
        return "it hung up in the middle of the hello: no peer of ours, or one that closes", None
    if isinstance(error, socket.gaierror):  # its numbers are not errno's
        return f"the host name does not resolve: {error.strerror}", None
    if isinstance(error, TimeoutError) and error.errno is None:  # asyncio's, not the kernel's
        return f"no answer within {timeout:g} s", ETIMEDOUT
    return error.strerror or str(error), error.errno

"""A socket that accepts streams, and the children that serve the accepted streams.

``transport`` makes one per listening address. The module imports ``transports.listener``, ``connection``,
``handshake``, ``descriptors``, ``peer_user``, ``security``, ``address``, ``errors`` and ``host``.

A stranger is a dialler that has not completed the handshake. A listener holds ``MAX_HANDSHAKES`` of them and
some tens of KiB for each, fewer where the limit of descriptors is low (``descriptors``); when one more
arrives, the one that has waited longest is dropped. So idle strangers cannot block a listener: to displace a
peer that shakes hands within milliseconds, as many others have to arrive within that time. A peer that would
take a descriptor that the process keeps for itself is refused with that reason, and may try again.

Invariants. Whatever fails before the end of the handshake, including cancellation, the stream is closed. An
accepted stream belongs to a child of the listener before asyncio's callback returns. asyncio therefore
never owns one of these tasks, whose cancellation at the end of a loop it would print.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from errno import EMFILE, ETIMEDOUT
from typing import TypeAlias

from transports.address import Address, parse_address
from transports.errors import ConnectError, ProtocolError, TransportError
from transports.forks import keep_from_children
from transports.handshake import NONCE_SIZE, Handshake, Role
from transports.hello import Hello
from transports.host import current_host
from transports.listener import Listener, OnConnection, logger
from transports.security import tls_error
from transports.stream import descriptors
from transports.stream.bytestream import ByteReader, ByteStreams, ByteWriter
from transports.stream.connection import StreamConnection
from transports.stream.handshake import hang_up, shake_hands
from transports.stream.peer_user import check_user

# A whole cluster dials at once when it starts, and a full backlog would make Linux drop the rest for a
# second.
BACKLOG = 512
# As many as the backlog holds, so that the whole cluster may be accepted at once.
MAX_HANDSHAKES = BACKLOG
# How many the standard event loop accepts before anything else has its turn, such as dropping others.
_ACCEPTED_AT_ONCE = 16
# Strangers while connections have all descriptors that they may take.
_FEW = 8
# How much is read ahead from a stranger: twice this, and one read of the event loop. A hello is 8 KiB at
# most, and the certificates of TLS about as much.
STRANGER_LIMIT = 2**14

# A function that encrypts an accepted stream; its text argument is the peer's address.
Secure: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter, str], Awaitable[ByteStreams]]


class StreamListener(Listener):
    """A socket that accepts, and the children that serve the accepted streams."""

    def __init__(
        self,
        address: Address,
        hello: Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
        secure: Secure | None = None,
        own_user_only: bool = True,
    ) -> None:
        """Make a listener that does not accept yet.

        The arguments are those of ``listen``, and two more: ``secure`` encrypts accepted streams before the
        hello; ``own_user_only`` refuses diallers of other users.
        """
        super().__init__(str(address), on_connection)
        self._parsed = address
        self._hello = hello
        self._token = token
        self._handshake_timeout = handshake_timeout
        self._secure = secure
        self._host = current_host()
        self._own_user_only = own_user_only and self._host.network.has_other_users
        # The children in the handshake, in order of arrival.
        self._in_handshake: dict[asyncio.Task[None], str] = {}
        self._server: asyncio.AbstractServer | None = None
        self._sock: socket.socket | None = None
        self._pid = -1  # of the process that listens
        self._file = self._host.network.socket_file(address.path)

    async def start(self, sock: socket.socket) -> None:
        """Begin to accept on a bound socket, which belongs to this listener from now on.

        Raises:
            OSError: The operating system refused to listen.
        """
        self._sock, self._pid = sock, self._host.processes.getpid()
        keep_from_children(self)
        sock.listen(BACKLOG)  # not left to the event loop: uvloop 0.23 ignores a refusal silently
        loop = asyncio.get_running_loop()

        def make_protocol() -> asyncio.StreamReaderProtocol:
            reader = asyncio.StreamReader(limit=STRANGER_LIMIT, loop=loop)
            return asyncio.StreamReaderProtocol(reader, self._accept, loop=loop)

        try:
            self._server = await self._host.network.listen(make_protocol, sock, _ACCEPTED_AT_ONCE)
        except BaseException:
            self.abandon()
            raise
        sock.listen(BACKLOG)  # the event loop has called it with the other number

    def descriptor(self) -> int:
        """Return the descriptor of the listening socket, or -1 once it is closed."""
        return -1 if self._sock is None or self._closed else self._sock.fileno()

    def abandon(self) -> None:
        """Close the socket that a closed loop or a failed start has left open, and remove its file."""
        if not self._closed and self._sock is not None:
            self._closed = True
            self._sock.close()
            self._remove_file()

    async def _stop_accepting(self) -> None:
        """Close the socket, and remove its file unless another listener has replaced it.

        The standard event loop accepts in two steps, and a server that is closed between them loses the
        stream without closing it. Therefore the reader is removed first, and the server is closed one
        iteration later. uvloop accepts in one step and does not support removing the reader.

        ``Server.wait_closed()`` is not awaited: from Python 3.12 on it waits for clients, which
        ``Listener`` does itself. The listening socket is closed when ``close()`` returns, on every version.
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
        """Remove the socket file that this listener made; in a forked child it is the parent's."""
        if self._file is None or self._pid != self._host.processes.getpid():
            return
        network, path = self._host.network, self._parsed.path
        if network.socket_file(path) == self._file:
            network.remove_socket_file(path)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take over an accepted stream.

        This is a plain function: it returns no coroutine, so asyncio makes no task for it.
        """
        if self._closed:
            writer.transport.abort()
            return
        peer = self._peer_address(writer)
        name = f"connection of {self.address} from {peer}"
        room = min(MAX_HANDSHAKES, descriptors.strangers_share())
        taken, kept = writer.get_extra_info("socket").fileno(), descriptors.kept_from()
        if taken >= kept:
            room = min(room, _FEW)
        self._end_longest_handshake(room)
        if taken >= (kept + descriptors.descriptor_limit()) // 2:
            self._refused(peer, _full(taken))
            writer.transport.abort()
            return
        child = self._own_child(self._serve_stream(reader, writer, peer), name, writer.transport.abort)
        self._in_handshake[child] = peer

    def _child_ended(self, abandon: Callable[[], None], child: asyncio.Task[None]) -> None:
        self._in_handshake.pop(child, None)
        super()._child_ended(abandon, child)

    def _end_longest_handshake(self, room: int) -> None:
        """Drop the strangers that have waited longest until there is space for one more."""
        while len(self._in_handshake) >= room:
            child, peer = next(iter(self._in_handshake.items()))
            del self._in_handshake[child]
            child.cancel()
            logger.info(
                "%s closed a connection from %s: %d connections are in the handshake, and "
                "this one has been in it longest",
                self.address,
                peer,
                room - 1,
            )

    async def _serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        """Shake hands with a dialler, and serve the connection if the handshake succeeds."""
        child = asyncio.current_task()
        assert child is not None  # _own_child made it
        connection = await self._complete_handshake(reader, writer, peer)
        self._in_handshake.pop(child, None)
        if connection is not None:
            del reader, writer, peer, child  # what belongs to the handshake takes 1.5 KB
            await self._serve(connection)

    async def _complete_handshake(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
    ) -> StreamConnection | None:
        """Shake hands with a dialler; return None if the handshake fails."""
        do_not_delay(writer)
        nonce = self._host.entropy.token_bytes(NONCE_SIZE)
        core = Handshake(Role.LISTENER, self._hello, nonce=nonce, token=self._token, address=peer)
        try:
            async with asyncio.timeout(self._handshake_timeout):
                streams: ByteStreams = reader, writer
                if self._secure is not None:
                    streams = await self._secure(reader, writer, peer)
                # Data that must be encrypted does not go through shared memory, which bypasses the
                # encryption.
                shares = self._secure is None
                is_ours = user_check(writer, peer, "the dialler") if self._own_user_only else None

                def check() -> None:
                    _check_room(writer, peer)  # first, for the other one may need a descriptor
                    if is_ours is not None:
                        is_ours()

                return await become_connection(*streams, core, peer, shares=shares, check=check)
        except TransportError as error:
            self._refused(peer, error)
        except (OSError, EOFError) as error:
            # A port scanner, a health check, or a client that gave up: no reason for a warning.
            reason, _ = explain(error, self._handshake_timeout, "hello")
            logger.info("%s closed a connection from %s: %s", self.address, peer, reason)
        return None

    def _refused(self, peer: str, why: object) -> None:
        known_as = {"peer": parse_address(peer).host or peer}  # ports differ by attempt
        logger.warning("%s refused a connection from %s: %s", self.address, peer, why, extra=known_as)

    def _peer_address(self, writer: asyncio.StreamWriter) -> str:
        """Return the address of a dialler; on a unix socket diallers have no address but the listener's."""
        name = writer.get_extra_info("peername")
        if not isinstance(name, tuple):  # a unix socket's, or the peer is gone already
            return self.address
        return str(Address(scheme=self._parsed.scheme, host=name[0], port=name[1]))


def _check_room(writer: asyncio.StreamWriter, peer: str) -> None:
    """Refuse a dialler if connections have all descriptors that they may take.

    Raises:
        ConnectError: They have.
    """
    taken = descriptors.lowest_free(writer.get_extra_info("socket").fileno())
    if taken >= descriptors.kept_from():
        raise ConnectError(_full(taken), address=peer, errno=EMFILE, phase="hello")


def _full(taken: int) -> str:
    return (
        f"{taken} of the {descriptors.descriptor_limit()} descriptors of this process are open, and the "
        f"others are kept for its files; raise the limit (ulimit -n), or close connections"
    )


def user_check(writer: asyncio.StreamWriter, address: str, who: str) -> Callable[[], None]:
    """Return a check that refuses the other end of a stream unless it belongs to our own user.

    Args:
        writer: Of the stream.
        address: The other end's address, for errors.
        who: A description of the other end, for errors.
    """
    return lambda: check_user(writer.get_extra_info("socket"), address, who)


async def become_connection(
    reader: ByteReader,
    writer: ByteWriter,
    core: Handshake,
    peer_address: str,
    *,
    shares: bool,
    check: Callable[[], None] | None = None,
) -> StreamConnection:
    """Shake hands over a stream and return a connection over it, or close the stream.

    Args:
        reader: Of the stream.
        writer: Of the stream.
        core: The handshake of this side, not started.
        peer_address: The peer's address, for the connection and for errors.
        shares: Whether large arrays may go through shared memory, where both ends are on one host.
        check: As for ``shake_hands``.

    Raises:
        TransportError: The handshake failed, at either end.
        OSError: The stream broke.
        EOFError: The peer hung up.
    """
    try:
        established = await shake_hands(reader, writer, core, check)
    except ssl.SSLError as error:  # the peer's alert about our certificate, in its first data
        writer.transport.abort()
        raise tls_error(error, peer_address) from error
    except TransportError as error:
        await hang_up(reader, writer)
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
        shares=shares,
    )


def do_not_delay(writer: asyncio.StreamWriter) -> None:
    """Disable Nagle's algorithm, so that small frames are sent at once.

    asyncio does so for sockets that it has made, but decides by a protocol number, which a socket accepted
    from our own listening socket does not have.

    Args:
        writer: Of any stream; only those of tcp have the algorithm.
    """
    sock = writer.get_extra_info("socket")
    if sock.family == socket.AF_UNIX:
        return
    with suppress(OSError):  # gone already; the next read raises the error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _local_address(writer: ByteWriter, peer_address: str) -> str:
    """Return the address of this end; on a unix socket both ends have the path of the file."""
    name = writer.get_extra_info("sockname")
    if not isinstance(name, tuple):
        return peer_address
    return str(Address(scheme=peer_address.partition("://")[0], host=name[0], port=name[1]))


def explain(error: OSError | EOFError, timeout: float, phase: str) -> tuple[str, int | None]:
    """Return an explanation of an error, and the error number that belongs to it.

    Args:
        error: The error raised while connecting.
        timeout: Seconds that were allowed.
        phase: As in ``ConnectError``.
    """
    if isinstance(error, EOFError) and phase == "tls":
        return ("it closed the connection during the TLS handshake; perhaps it does not speak TLS"), None
    if isinstance(error, EOFError):
        return (
            "it closed the connection during the hello; it is not a peer of this protocol, or it is shutting down"
        ), None
    if isinstance(error, socket.gaierror):  # its numbers are not errno's
        return f"the host name does not resolve: {error.strerror}", None
    if isinstance(error, TimeoutError) and error.errno is None:  # asyncio's, not the kernel's
        return f"no answer within {timeout:g} s", ETIMEDOUT
    return error.strerror or str(error), error.errno

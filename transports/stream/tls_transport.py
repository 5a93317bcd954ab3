"""The tls transport: tcp with mutual TLS between the stream and the hello.

``registry`` makes one. It derives from tcp's and adds the encryption of streams; ``tls``
encrypts and ``security`` makes the contexts. A TLS port and a plain port may be dialled by mistake for each
other. The first byte distinguishes them (see ``frame``), and the dialler receives the same kind of refusal
as for a wrong cluster.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from contextlib import suppress

from transports.address import Address
from transports.errors import BindError, ConnectError, ProtocolError
from transports.frame import MAGIC
from transports.security import SecurityConfig, SecurityFault, make_context, tls_error
from transports.stream.bytestream import ByteStreams
from transports.stream.handshake import hang_up, refuse
from transports.stream.listener import Secure
from transports.stream.tls import TlsStream
from transports.stream.transport import TcpTransport


class TlsTransport(TcpTransport):
    """The transport for ``tls://host:port``."""

    authenticates = True

    def _dialling(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return a function that runs TLS as a client; the listener's certificate must name the host."""
        try:
            context = make_context(security, server_side=False)
        except SecurityFault as fault:
            raise ConnectError(str(fault), address=str(address), phase="security") from fault

        async def secure(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> ByteStreams:
            stream = TlsStream(reader, writer, context, server_side=False, host=address.host)
            return await _shake_hands(stream, reader, writer, peer)

        return secure

    def _accepting(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return a function that runs TLS as a server, with one context for all streams."""
        try:
            context = make_context(security, server_side=True)
        except SecurityFault as fault:
            raise BindError(str(fault), address=str(address)) from fault

        async def secure(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> ByteStreams:
            begin = await _first_bytes(reader, writer, peer)
            stream = TlsStream(reader, writer, context, server_side=True)
            return await _shake_hands(stream, reader, writer, peer, begin)

        return secure

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return a host name as it was given, because the certificate contains that name."""
        announced = super().announced_address(address, sock)
        with suppress(ValueError):
            ipaddress.ip_address(address.host)
            return announced
        return Address(scheme=address.scheme, host=address.host, port=announced.port)


async def _shake_hands(
    stream: TlsStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str, begin: bytes = b""
) -> ByteStreams:
    """Run the TLS handshake, or close the stream."""
    try:
        await stream.handshake(begin)
    except ssl.SSLError as error:
        await hang_up(reader, writer)  # of the plain stream: the alert is sent
        raise tls_error(error, peer) from error
    except ProtocolError as error:
        writer.transport.abort()
        raise ProtocolError(f"{peer}: {error}", address=peer) from error
    except BaseException:
        writer.transport.abort()
        raise
    return stream, stream


async def _first_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> bytes:
    """Return the first bytes of a dialler.

    Raises:
        ProtocolError: The dialler sent an unencrypted hello; it was refused and hung up on.
    """
    try:
        begin = await reader.readexactly(len(MAGIC))
    except BaseException:
        writer.transport.abort()
        raise
    if begin == MAGIC:
        error = ProtocolError("this port speaks TLS and the client does not; connect to it with tls://")
        refuse(writer, error)
        await hang_up(reader, writer)
        error.address = peer
        raise error
    return begin

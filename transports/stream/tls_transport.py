"""The tls transport: tcp with mutual TLS between the stream and the hello.

`transports/__init__` registers one. It derives from tcp's and says how a stream becomes encrypted;
`tls` does the encrypting, `security` makes the contexts. A TLS port and a plain port can be dialled
by mistake for each other: the first byte tells them apart (see `frame`), and who dials is told by
the same refusal that a wrong cluster gets.
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
    """Carries `tls://host:port`."""

    authenticates = True

    def _dialling(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return what shakes hands as TLS's client; the listener's certificate must name the host."""
        try:
            context = make_context(security, server_side=False)
        except SecurityFault as fault:
            raise ConnectError(str(fault), address=str(address), phase="security") from fault

        async def secure(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
        ) -> ByteStreams:
            stream = TlsStream(reader, writer, context, server_side=False, host=address.host)
            return await _shake_hands(stream, reader, writer, peer)

        return secure

    def _accepting(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        """Return what shakes hands as TLS's server, for every stream with one context."""
        try:
            context = make_context(security, server_side=True)
        except SecurityFault as fault:
            raise BindError(str(fault), address=str(address)) from fault

        async def secure(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
        ) -> ByteStreams:
            begin = await _first_bytes(reader, writer, peer)
            stream = TlsStream(reader, writer, context, server_side=True)
            return await _shake_hands(stream, reader, writer, peer, begin)

        return secure

    def _announced(self, address: Address, sock: socket.socket) -> Address:
        """Return a host name as it was given, for that is what the certificate names."""
        found = super()._announced(address, sock)
        with suppress(ValueError):
            ipaddress.ip_address(address.host)
            return found
        return Address(scheme=address.scheme, host=address.host, port=found.port)


async def _shake_hands(
    stream: TlsStream,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    peer: str,
    begin: bytes = b"",
) -> ByteStreams:
    """Run TLS's handshake, or close the stream."""
    try:
        await stream.handshake(begin)
    except ssl.SSLError as error:
        await hang_up(reader, writer)  # of the plain stream: the alert is out, and no farewell due
        raise tls_error(error, peer) from error
    except ProtocolError as error:
        writer.transport.abort()
        raise ProtocolError(f"{peer}: {error}", address=peer) from error
    except BaseException:
        writer.transport.abort()
        raise
    return stream, stream


async def _first_bytes(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
) -> bytes:
    """Return how a dialler begins.

    Raises:
        ProtocolError: With a hello that is not encrypted; it was told, and hung up on.
    """
    try:
        begin = await reader.readexactly(len(MAGIC))
    except BaseException:
        writer.transport.abort()
        raise
    if begin == MAGIC:
        error = ProtocolError("this port speaks TLS and the dialler does not; dial it as tls://")
        refuse(writer, error)
        await hang_up(reader, writer)
        error.address = peer
        raise error
    return begin

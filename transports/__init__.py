"""Moves frames between processes and knows nothing of sessions.

`connect` and `listen` are the two doors; an address (`tcp://host:port`, `tls://host:port`,
`unix:///path`, `inproc://name`) chooses the transport. What goes through is a `Frame`: a header and
the arrays beside it. Both sides say who they are first, prove a token if there is one, and refuse
each other with a reason.

The rooms, ground floor first: `errors`, `address`, `frame`, `decoder`, `hello`, `handshake` (no
input or output in any of them), `security` (what TLS takes), `connection` and `listener` (what
every transport promises), `inproc`, `sockets`, `users`, `guard`, `arena`, `shared`, `stream`,
`stream_handshake`, `tls`, `stream_transport`, `tls_transport`, and `registry`, which chooses.
Nothing here imports `actorsession`.
"""

from __future__ import annotations

from transports.address import Address, parse_address
from transports.connection import Connection, ConnectionStatistics
from transports.decoder import FrameDecoder
from transports.errors import (
    AuthenticationError,
    BindError,
    ConnectError,
    ConnectionClosed,
    ProtocolError,
    TransportError,
    WrongPeer,
)
from transports.frame import Buffer, Frame, encode_frame
from transports.hello import SUPPORTED, Hello
from transports.inproc import InprocTransport
from transports.listener import Listener
from transports.registry import Transport, connect, listen, register_transport, transport_schemes
from transports.security import SecurityConfig
from transports.stream_transport import TcpTransport, UnixTransport
from transports.tls_transport import TlsTransport

__all__ = [
    "SUPPORTED",
    "Address",
    "AuthenticationError",
    "BindError",
    "Buffer",
    "ConnectError",
    "Connection",
    "ConnectionClosed",
    "ConnectionStatistics",
    "Frame",
    "FrameDecoder",
    "Hello",
    "Listener",
    "ProtocolError",
    "SecurityConfig",
    "Transport",
    "TransportError",
    "WrongPeer",
    "connect",
    "encode_frame",
    "listen",
    "parse_address",
    "register_transport",
    "transport_schemes",
]

register_transport("inproc", InprocTransport())
register_transport("tcp", TcpTransport())
register_transport("tls", TlsTransport())
register_transport("unix", UnixTransport())

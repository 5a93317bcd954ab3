"""Moves frames between processes and knows nothing of sessions.

`connect` and `listen` are the two doors; an address (`tcp://host:port`, `tls://host:port`,
`unix:///path`, `inproc://name`) chooses the transport. What goes through is a `Frame`: a header and
the arrays beside it. Both sides say who they are first, prove a token if there is one, and refuse
each other with a reason.

What every transport shares stands here: `errors`, `address`, `frame`, `decoder`, `hello`, `handshake` (no
input or output in any of them), `security`, `connection`, `listener`, `guard`, and `registry`, which chooses
by scheme. `stream` and `shm` are rooms of their own; `inproc` encodes nothing. Nothing here imports
`actorsession`.
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
from transports.stream.tls_transport import TlsTransport
from transports.stream.transport import TcpTransport, UnixTransport

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

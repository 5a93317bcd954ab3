"""Transports that carry frames between processes. The package is independent of sessions.

The entry points are ``connect`` and ``listen``. The scheme of an address (``tcp://host:port``,
``tls://host:port``, ``unix:///path``, ``abstract://name``, ``inproc://name``) selects the transport. The
unit of transfer is a ``Frame``: a header and the arrays that belong to it. Before any frame is exchanged, a
handshake identifies both sides and verifies a token if one is configured. Either side can refuse the other
with a reason.

The modules in this package serve every transport: ``errors``, ``address``, ``frame``, ``decoder``,
``hello`` and ``handshake`` (which do no input or output), ``security``, ``connection``, ``listener``,
``guard``, and ``registry``, which selects a transport by scheme. ``stream`` and ``shm`` are sub-packages;
``inproc`` encodes nothing. Nothing here imports ``actorsession``.
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
from transports.frame import Buffer, Frame, LostFrame, encode_frame
from transports.hello import SUPPORTED, Hello
from transports.inproc import InprocTransport
from transports.listener import Listener
from transports.registry import Transport, connect, listen, register_transport, transport_schemes, unregister_transport
from transports.security import SecurityConfig
from transports.shm.arena import Place
from transports.shm.lane import allocate_shared
from transports.stream.abstract import AbstractTransport
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
    "LostFrame",
    "Place",
    "ProtocolError",
    "SecurityConfig",
    "Transport",
    "TransportError",
    "WrongPeer",
    "allocate_shared",
    "connect",
    "encode_frame",
    "listen",
    "parse_address",
    "register_transport",
    "transport_schemes",
    "unregister_transport",
]

register_transport("abstract", AbstractTransport())
register_transport("inproc", InprocTransport())
register_transport("tcp", TcpTransport())
register_transport("tls", TlsTransport())
register_transport("unix", UnixTransport())

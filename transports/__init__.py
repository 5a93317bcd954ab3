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

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from transports.listener import Listener
    from transports.registry import (
        Transport,
        connect,
        listen,
        register_transport,
        transport_schemes,
        unregister_transport,
    )
    from transports.security import SecurityConfig
    from transports.shm.arena import Place
    from transports.shm.lane import allocate_shared

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

# Each name is imported when it is first used: whoever asks for ``transports.host`` needs no event loop.
_NAMES = {
    "address": "Address parse_address",
    "connection": "Connection ConnectionStatistics",
    "decoder": "FrameDecoder",
    "errors": "AuthenticationError BindError ConnectError ConnectionClosed ProtocolError TransportError WrongPeer",
    "frame": "Buffer Frame LostFrame encode_frame",
    "hello": "SUPPORTED Hello",
    "listener": "Listener",
    "registry": "Transport connect listen register_transport transport_schemes unregister_transport",
    "security": "SecurityConfig",
    "shm.arena": "Place",
    "shm.lane": "allocate_shared",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name of the package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value

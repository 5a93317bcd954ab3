"""The front of the package: what it exports, and what it does not know."""

from __future__ import annotations

import ast
from pathlib import Path

import transports

PROMISED = {
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
    "SUPPORTED",
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
}


def test_what_is_promised_is_exported_and_nothing_else() -> None:
    assert set(transports.__all__) == PROMISED
    assert all(hasattr(transports, name) for name in transports.__all__)


def test_no_room_knows_of_sessions() -> None:
    """By the source and not by what is loaded: another test may have loaded anything."""
    assert transports.__file__ is not None
    for path in Path(transports.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])]
            module = getattr(node, "module", None)
            assert not any("actorsession" in (name or "") for name in [*names, module]), path


def test_the_types_are_published() -> None:
    assert transports.__file__ is not None
    assert Path(transports.__file__).with_name("py.typed").exists()

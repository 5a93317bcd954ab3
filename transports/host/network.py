"""The network of a host: names, streams and listening sockets."""

from __future__ import annotations

__all__ = ["Network"]


class Network:
    """The network of this machine; a derived class is one that can delay, part and lose."""

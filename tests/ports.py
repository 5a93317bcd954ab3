"""Ports of loopback that belong to a test before a server of its listens there.

Owns the one way to know an address before anybody serves at it: a socket is bound to port 0, stays bound,
and never listens. As long as it is held the kernel gives the port to nobody who asks for any, and refuses
whoever connects; a server that is told the port binds beside it, since both reuse addresses, which Linux
allows while neither listens yet. So a server may end and come back, and nobody has taken its place.

Imports nothing of the packages under test.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["HoldPorts", "held_ports"]

# The fixture of tests/conftest.py: holds so many ports until its test ends.
HoldPorts = Callable[[int], list[int]]


@contextmanager
def held_ports(count: int) -> Iterator[list[int]]:
    """Ports of 127.0.0.1 that are the caller's until the end, whether a server is there or not."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
        ports = [held.getsockname()[1] for held in sockets]
        if sys.platform != "linux":  # elsewhere a bound socket would keep the server out as well
            stack.close()
        yield ports

"""The abstract transport: unix sockets that have a name and no file, as Linux offers them.

``transports/__init__`` registers one. Nothing is left of such a socket when its process dies, it needs no
folder that can be written, and its name is seen in one network namespace only, such as that of a container.
No file mode protects it: without a token both ends check each other's user, as for every stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import sys

from transports.address import Address
from transports.stream import sockets
from transports.stream.connection import STREAM_LIMIT
from transports.stream.transport import Streams, StreamTransport


class AbstractTransport(StreamTransport):
    """The transport for ``abstract://name``."""

    families = (socket.AF_UNIX,)

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return the name; an abstract socket's begins with a zero byte."""
        name = sock.getsockname()
        if not (isinstance(name, bytes) and name[:1] == b"\0" and name[1:]):
            raise ValueError(f"{address} needs a socket that is bound to an abstract name, got one bound to {name!r}")
        return Address(scheme=address.scheme, name=name[1:].decode())

    async def open_streams(self, address: Address) -> Streams:
        """Connect to the name."""
        sock = _made()
        try:
            # uvloop takes names of sockets as C strings, which a zero byte would end.
            await asyncio.get_running_loop().sock_connect(sock, f"\0{address.name}")
            return await asyncio.open_unix_connection(sock=sock, limit=STREAM_LIMIT)
        except BaseException:
            # Before 0.23 uvloop has closed the descriptor already; its error must not replace a cancellation.
            with contextlib.suppress(OSError):
                sock.close()
            raise

    async def bind_socket(self, address: Address) -> socket.socket:
        """Bind the name."""
        try:
            with contextlib.ExitStack() as opened:
                sock = opened.enter_context(_made())
                sock.bind(f"\0{address.name}")
                opened.pop_all()  # bound: the caller closes it
                return sock
        except OSError as error:
            raise sockets.bind_error(address, error) from error


def _made() -> socket.socket:
    """Return a unix socket that does not block.

    Raises:
        OSError: This system has no abstract names.
    """
    if sys.platform != "linux":
        raise OSError(errno.EAFNOSUPPORT, "only Linux has abstract sockets; use unix://")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock

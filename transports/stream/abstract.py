"""The abstract transport: unix sockets that have a name and no file, as Linux offers them.

``registry`` makes one. Nothing is left of such a socket when its process dies, it needs no
folder that can be written, and its name is seen in one network namespace only, such as that of a container.
No file mode protects it: without a token both ends check each other's user, as for every stream.
"""

from __future__ import annotations

import socket

from transports.address import Address
from transports.stream.transport import UnixTransport


class AbstractTransport(UnixTransport):
    """The transport for ``abstract://name``."""

    def announced_address(self, address: Address, sock: socket.socket) -> Address:
        """Return the name; an abstract socket's begins with a zero byte."""
        name = sock.getsockname()
        if not (isinstance(name, bytes) and name[:1] == b"\0" and name[1:]):
            raise ValueError(f"{address} needs a socket that is bound to an abstract name, got one bound to {name!r}")
        return Address(scheme=address.scheme, name=name[1:].decode())

    def _path(self, address: Address) -> str:
        return f"\0{address.name}"

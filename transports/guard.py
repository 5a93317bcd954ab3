"""Where a server may listen, given how it knows who dials: the rule for all transports, from outside too.

`registry` asks here before a transport binds, and again when it is known where it has bound. Imports
`address`, `errors` and `sockets`.

Whoever is let in may run graphs, so that nobody is let in unknown. A transport either knows its
peers by itself (`authenticates`, as TLS does), or there is a token, or it listens on this machine
alone and refuses its other users (`checks_user`). A token that other machines can try, or whose
proofs they can record and try at home, has to be too long to be guessed. Names and paths are this
machine's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress

from transports.address import Address
from transports.errors import BindError
from transports.stream import peer_user as users
from transports.stream import sockets

MIN_TOKEN = 16
"""Characters of a token beyond loopback: 64 bits if they are random hexadecimal digits, more if not."""


async def check_place(
    address: Address,
    transport: object,
    token: str | None,
    sock: socket.socket | None = None,
    *,
    bound: bool,
) -> bool:
    """Refuse a place where peers would be served without anybody knowing who they are.

    Args:
        address: Where it listens, or is to.
        transport: What carries it.
        token: The secret that diallers must have, or None.
        sock: A bound socket that is to be listened at in place of the address, or None.
        bound: Whether it listens there by now. Before, a host that does not resolve is left to the
            transport, which says so.

    Returns:
        Whether only this machine can reach it.

    Raises:
        BindError: It must not be listened on; the message says what would be valid.
    """
    name = sock.getsockname() if sock is not None else None
    if isinstance(name, tuple) and name[1]:  # one without a port is not bound yet
        hosts = [str(name[0])]
    else:
        hosts = await _resolved(address) or ([address.host] if bound and address.host else [])
    host = next((host for host in hosts if not _is_loopback(host)), "")
    near = not host
    known = getattr(transport, "authenticates", False)
    if not near and token is not None and len(token) < MIN_TOKEN:
        reason = (
            f"{host} is not a loopback address and the token has {len(token)} characters: whoever "
            f"reaches it could guess it; take {MIN_TOKEN} or more, such as `actorsession token` makes"
        )
    elif known or token is not None or address.port is None:
        return near
    elif not near:
        reason = (
            f"{host} is not a loopback address and there is no token: whoever reaches it would be "
            "served; set a token (ACTORSESSION_TOKEN, the same for all), or use tls://, or listen on "
            "127.0.0.1"
        )
    elif not (getattr(transport, "checks_user", False) and users.tells_users()):
        reason = (
            f"{address.scheme} cannot tell here which user of this machine dials, and there is no "
            "token: all of them would be served; set a token (ACTORSESSION_TOKEN, the same for all), "
            "or use tls:// or unix://"
        )
    else:
        return near
    raise BindError(reason, address=str(address))


async def _resolved(address: Address) -> list[str]:
    """Return the numeric hosts of an address; none if it has no host, or one that does not resolve."""
    if address.port is None:
        return []
    with suppress(ValueError):
        return [str(ipaddress.ip_address(address.host.partition("%")[0]))]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(name[0]) for _, _, _, _, name in found]


def _is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address; a name that does not resolve is none."""
    try:
        return sockets.is_loopback(host)
    except ValueError:
        return False

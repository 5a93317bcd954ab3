"""The rule for where a server may listen, given how its transport identifies diallers.

``registry`` calls this module before a transport binds, and again when the bound address is available. The
rule applies to all transports, including those registered from outside. The module imports ``address``,
``errors`` and ``sockets``.

Any accepted peer may run graphs, so no peer is accepted unidentified. Either the transport identifies its
peers itself (``authenticates``, as TLS does), or there is a token, or the server listens on this machine
alone and refuses its other users (``checks_user``). A token must be too long to be guessed if other
machines can try it, or can record its proofs and test guesses offline. Names and paths are local to this
machine.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

from transports.address import Address
from transports.errors import BindError
from transports.host import current_host
from transports.stream import peer_user as users
from transports.stream import sockets

MIN_TOKEN = 16
"""Minimum length of a token beyond loopback: 64 bits for random hexadecimal digits, more for other text."""


async def check_exposure(
    address: Address, transport: object, token: str | None, sock: socket.socket | None = None, *, bound: bool
) -> bool:
    """Refuse an address where unidentified peers would be served.

    Args:
        address: Where the server listens, or is about to.
        transport: The transport that carries the address.
        token: The secret that diallers must have, or None.
        sock: A bound socket to listen on instead of the address, or None.
        bound: Whether the address is bound already. Before that, a host that does not resolve is left to
            the transport, which reports it.

    Returns:
        Whether only this machine can reach the address.

    Raises:
        BindError: The address must not be listened on; the message states what would be valid.
    """
    name = sock.getsockname() if sock is not None else None
    if isinstance(name, tuple) and name[1]:  # a port of 0 means not bound yet
        hosts = [str(name[0])]
    else:
        hosts = await _resolved(address) or ([address.host] if bound and address.host else [])
    host = next((host for host in hosts if not _is_loopback(host)), "")
    near = not host
    known = getattr(transport, "authenticates", False)
    if not near and token is not None and len(token) < MIN_TOKEN:
        reason = (
            f"{host} is not a loopback address and the token has {len(token)} characters, "
            f"which a peer could guess; use a token of {MIN_TOKEN} characters or more, "
            "such as `actorsession token` makes"
        )
    elif known or token is not None or address.port is None:
        return near
    elif not near:
        reason = (
            f"{host} is not a loopback address and there is no token, so that every peer "
            "that reaches it would be served; set a token (ACTORSESSION_TOKEN, the same "
            "for all), or use tls://, or listen on 127.0.0.1"
        )
    elif current_host().network.has_other_users and not (
        getattr(transport, "checks_user", False) and users.can_identify_users()
    ):
        reason = (
            f"{address.scheme} cannot determine here which user of this machine connects, "
            "and there is no token, so that every user would be served; set a token "
            "(ACTORSESSION_TOKEN, the same for all), or use tls:// or unix://"
        )
    else:
        return near
    raise BindError(reason, address=str(address))


async def _resolved(address: Address) -> list[str]:
    """Return the numeric hosts of an address; none if it has no host or the host does not resolve."""
    if address.port is None:
        return []
    with suppress(ValueError):
        return [str(ipaddress.ip_address(address.host.partition("%")[0]))]
    try:
        addresses = await current_host().network.getaddrinfo(address.host, address.port)
    except OSError:
        return []
    return [str(name[0]) for _, _, _, _, name in addresses]


def _is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address; a name that is not numeric is not."""
    try:
        return sockets.is_loopback(host)
    except ValueError:
        return False

"""Who may look at the page: the token, the name of the host, the method, and the headers of every answer.

Plain code that reads requests in parts, so that it is tested without a server. A browser obeys pages of
others that point it here, so three things are checked: the host that a request names is one that no stranger's
domain can have (rebinding), a token comes with it that a page elsewhere cannot send, and an answer may be
shown by no other page.

The token of the page is made of the cluster's, so that who reads it in the address bar or the history of a
browser cannot run graphs with it; the cluster's own is never asked for. A cluster without one gets a random
token: also on loopback, a process of another user of the machine must not read everything.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket

__all__ = ["HEADERS", "Guard"]

HEADERS = {
    # Only files of this server: no inline script, no other host, no frame around the page, no form.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every answer."""

_BYTES = 24


class Guard:
    """Decides whether a request may be answered.

    Args:
        token: the cluster's token; ``None`` if it has none.
        hosts: the host at which the server listens, as it was given, and other names that lead to it.

    Attributes:
        token: the token of the page.
    """

    def __init__(self, token: str | None, *hosts: str) -> None:
        self.token = secrets.token_urlsafe(_BYTES) if token is None else _derived(token)
        own = {*hosts, "localhost", socket.gethostname()}
        self._names = {name.lower().rstrip(".") for name in own}

    def knows_host(self, header: str) -> bool:
        """Return whether a ``Host`` header names this server.

        An address always does: a domain that somebody else leads here is a name.
        """
        name = _host_of(header).lower().rstrip(".")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True

    def knows_token(self, given: str | None) -> bool:
        """Return whether a token opens the page; takes the same time for all that do not."""
        return hmac.compare_digest((given or "").encode("utf-8", "surrogateescape"), self.token.encode())


def _derived(token: str) -> str:
    return hmac.new(token.encode(), b"actorsession dashboard", hashlib.sha256).hexdigest()[: 2 * _BYTES]


def _host_of(header: str) -> str:
    """Return the name of a ``Host`` header, without the port and the brackets of an address."""
    if header.startswith("["):
        return header[1:].partition("]")[0].partition("%")[0]
    name, _, port = header.rpartition(":")
    return name if name and port.isdigit() else header

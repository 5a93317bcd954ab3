"""The registry of transports by address scheme, and the entry points ``connect`` and ``listen``.

Callers give an address and never a transport. The built-in transports are imported when an address asks for one; a
project with a transport of its own registers it here. The module imports ``address``, ``connection``,
``listener``, ``hello``, ``handshake`` and ``guard``.

Invariant: each scheme has one transport, which is replaced only on explicit request.
"""

from __future__ import annotations

import importlib
import socket
from typing import Protocol

from transports.address import Address, check_scheme, parse_address
from transports.connection import Connection
from transports.guard import check_exposure
from transports.handshake import check_token
from transports.hello import Hello
from transports.listener import Listener, OnConnection
from transports.security import SecurityConfig


class Transport(Protocol):
    """A transport for one scheme; the arguments of its methods are those of ``connect`` and ``listen``.

    Two optional attributes describe how a listener of the transport identifies diallers; an absent one
    counts as False. Where neither holds, ``listen`` demands a token for every address with a port.

    Attributes:
        authenticates: peers prove their identity without a token, for example by TLS certificates.
        checks_user: without a token, both ends refuse other users of this machine. ``TcpTransport`` and the
            classes derived from it do.
    """

    async def connect(
        self,
        address: Address,
        hello: Hello,
        *,
        connect_timeout: float,
        expect_task: str | None,
        expect_cluster: str | None,
        token: str | None,
        security: SecurityConfig | None,
    ) -> Connection:
        """Make one attempt to connect and shake hands within ``connect_timeout`` seconds."""

    async def listen(
        self,
        address: Address,
        hello: Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
        sock: socket.socket | None,
        security: SecurityConfig | None,
    ) -> Listener:
        """Bind the address and serve connections."""


# A built-in transport is its module and class until an address asks for it.
_transports: dict[str, Transport | tuple[str, str]] = {
    "abstract": ("transports.stream.abstract", "AbstractTransport"),
    "inproc": ("transports.inproc", "InprocTransport"),
    "tcp": ("transports.stream.transport", "TcpTransport"),
    "tls": ("transports.stream.tls_transport", "TlsTransport"),
    "unix": ("transports.stream.transport", "UnixTransport"),
}
# Some 31 years: below what every timer accepts. ``actorsession.durations`` has the same.
_MOST_SECONDS = 1e9


def register_transport(scheme: str, transport: Transport, *, replace: bool = False) -> None:
    """Register the transport of a scheme.

    Args:
        scheme: Lower case, without "://".
        transport: Carries the scheme from now on; existing listeners are not affected.
        replace: Whether a registered transport may be replaced.

    Raises:
        ValueError: The scheme is malformed, or has a transport and ``replace`` is False.
    """
    check_scheme(scheme)
    if scheme in _transports and not replace:
        raise ValueError(
            f"the scheme {scheme!r} is already registered for {_registered(scheme)!r}; pass replace=True to replace it"
        )
    _transports[scheme] = transport


def unregister_transport(scheme: str) -> None:
    """Remove the transport of a scheme; existing listeners and connections are not affected.

    Raises:
        KeyError: The scheme has no transport.
    """
    del _transports[scheme]


def transport_schemes() -> tuple[str, ...]:
    """Return the registered schemes, sorted."""
    return tuple(sorted(_transports))


async def connect(
    address: str,
    hello: Hello,
    *,
    timeout: float = 30.0,  # noqa: ASYNC109  # a deadline over several phases, each of which the error names
    expect_task: str | None = None,
    expect_cluster: str | None = None,
    token: str | None = None,
    security: SecurityConfig | None = None,
) -> Connection:
    """Connect to a listener and shake hands, in one attempt without retry.

    When the call returns, the listener has accepted the connection. Cancelling it leaves nothing open.

    Args:
        address: The address of the listener, such as ``tcp://127.0.0.1:7000``.
        hello: The identity of this side.
        timeout: Seconds for the whole call.
        expect_task: The task that must answer, or None for any.
        expect_cluster: The cluster that the listener must belong to, or None for any.
        token: The secret that both sides must have, or None where the listener demands none.
        security: CA, certificate and key of this side, for ``tls://``; other schemes ignore it.

    Returns:
        The connection, which the caller must close.

    Raises:
        ConnectError: There was no answer, or none in time. ``phase`` names the phase that failed: the
            connect or the hello, or "security" where our own TLS files are unusable.
        WrongPeer: Another task or cluster answered, or the listener refused this side.
        AuthenticationError: The tokens differ, or one side does not accept the other's certificate.
        ProtocolError: The other end does not speak this protocol.
        ValueError: The address is malformed, its scheme is not registered, the token is empty, or the
            timeout is out of range.
        TypeError: The timeout is no number.
    """
    check_token(token)
    _check_seconds("timeout", timeout)
    parsed = parse_address(address)
    return await _transport(parsed).connect(
        parsed,
        hello,
        connect_timeout=timeout,
        expect_task=expect_task,
        expect_cluster=expect_cluster,
        token=token,
        security=security,
    )


async def listen(
    address: str,
    hello: Hello,
    on_connection: OnConnection,
    *,
    token: str | None = None,
    handshake_timeout: float = 10.0,
    sock: socket.socket | None = None,
    security: SecurityConfig | None = None,
) -> Listener:
    """Listen at an address and serve every peer that completes the handshake.

    Args:
        address: Where to listen. The tcp port 0 takes any free one, which ``Listener.address`` reports.
        hello: The identity of this side. A dialler of another cluster is refused unless its hello leaves
            the cluster empty.
        on_connection: Serves one connection as a child of the listener; the connection is closed when the
            handler returns. Its exceptions are logged by the logger "transports".
        token: The secret that every dialler must have, or None to demand none. Without a token only
            addresses of this machine are allowed, for its own user alone, except with ``tls://``. See
            ``guard``.
        handshake_timeout: Seconds after which a dialler that has not completed the handshake is dropped.
        sock: A bound socket to use instead of binding one; the listener closes it.
        security: CA, certificate and key of this side, for ``tls://``; other schemes ignore it.

    Returns:
        The listener, which the caller must close.

    Raises:
        BindError: The address is taken or not local; or it must not be listened on without a token, or with
            one that is this short; or our TLS files are unusable.
        ValueError: The address is malformed, its scheme is not registered, the token is empty, or the
            timeout is out of range.
        TypeError: The timeout is no number.
    """
    check_token(token)
    _check_seconds("handshake_timeout", handshake_timeout)
    parsed = parse_address(address)
    transport = _transport(parsed)
    try:
        await check_exposure(parsed, transport, token, sock, bound=False)
    except BaseException:
        if sock is not None:
            sock.close()
        raise
    listener = await transport.listen(
        parsed, hello, on_connection, token=token, handshake_timeout=handshake_timeout, sock=sock, security=security
    )
    try:
        bound = parse_address(listener.address)
        listener.near = await check_exposure(bound, transport, token, bound=True)
    except BaseException:
        await listener.aclose()
        raise
    return listener


def _transport(address: Address) -> Transport:
    """Return the transport that carries an address.

    Raises:
        ValueError: No transport is registered for its scheme.
    """
    try:
        return _registered(address.scheme)
    except KeyError:
        known = ", ".join(transport_schemes())
        raise ValueError(
            f"{address}: no transport is registered for {address.scheme!r}; registered schemes are {known}"
        ) from None


def _registered(scheme: str) -> Transport:
    """Return the transport of a scheme; import it, if it is built in and nobody has asked for it.

    Raises:
        KeyError: The scheme has no transport.
    """
    transport = _transports[scheme]
    if isinstance(transport, tuple):
        module, name = transport
        transport = _transports[scheme] = getattr(importlib.import_module(module), name)()
    return transport


def _check_seconds(name: str, value: object) -> None:
    """Check that a duration is a number that every timer accepts.

    Raises:
        TypeError: It is no number; a bool is none.
        ValueError: It is negative, not finite, or longer than anybody waits.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number of seconds, got {value!r:.100}")
    if not 0 <= value <= _MOST_SECONDS:
        # Python shows no integer of more than 4,300 digits.
        shown = value if isinstance(value, float) or abs(value) < 2**64 else "a larger integer"
        raise ValueError(f"{name} is from 0 to {_MOST_SECONDS:g} seconds, got {shown}")

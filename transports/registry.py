"""Which transport carries which address scheme, and the two calls that everybody uses: `connect`
and `listen`.

Callers name an address and never a transport. `transports/__init__` registers the built-in schemes;
a project that has another lane registers its own. Imports `address`, `connection`, `listener`,
`hello`, `handshake` and `guard`.

Invariant: one scheme, one transport; replacing one has to be asked for.
"""

from __future__ import annotations

import socket
from typing import Protocol

from transports.address import Address, check_scheme, parse_address
from transports.connection import Connection
from transports.guard import check_place
from transports.handshake import check_token
from transports.hello import Hello
from transports.listener import Listener, OnConnection
from transports.security import SecurityConfig


class Transport(Protocol):
    """What carries connections of a scheme; arguments are those of `connect` and `listen`.

    Two attributes say what a listener of it knows of who dials; each counts as False where it is
    absent. Where neither holds, `listen` demands a token for every address with a port.

        authenticates: Peers prove who they are without a token, as by the certificates of TLS.
        checks_user: Without a token it refuses the other users of this machine, at both ends; what
            derives from `TcpTransport` does.
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
        """Make one attempt to connect and shake hands, in `connect_timeout` seconds."""

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
        """Bind and serve."""


_transports: dict[str, Transport] = {}


def register_transport(scheme: str, transport: Transport, *, replace: bool = False) -> None:
    """Say which transport carries a scheme.

    Args:
        scheme: Lower case, without "://".
        transport: Carries it from now on; listeners that stand are not touched.
        replace: True to take the place of another transport.

    Raises:
        ValueError: The scheme is malformed, or has a transport and `replace` is False.
    """
    check_scheme(scheme)
    if scheme in _transports and not replace:
        raise ValueError(
            f"scheme {scheme!r} is carried by {_transports[scheme]!r} already; replace=True takes "
            "its place"
        )
    _transports[scheme] = transport


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
    """Connect to a listener and shake hands; one attempt, no retry.

    When it returns, the listener has accepted us. Cancelling it leaves nothing open.

    Args:
        address: Where the listener is, such as `tcp://127.0.0.1:7000`.
        hello: Who we are.
        timeout: Seconds for everything together.
        expect_task: The task that must answer, or None for any.
        expect_cluster: The cluster that whoever answers must belong to, or None for any.
        token: The secret that both sides must have, or None where the listener asks for none.
        security: Our CA, certificate and key, for `tls://`; other schemes do not look at it.

    Returns:
        The connection, the caller's to close.

    Raises:
        ConnectError: Nobody answered, or not in time; `phase` says whether to the connect or to the
            hello; "security" where our own TLS files do not do.
        WrongPeer: Somebody else answered, or the listener does not want us.
        AuthenticationError: The tokens differ, or one side does not accept the other's certificate.
        ProtocolError: What answered does not speak this protocol.
        ValueError: The address is malformed, its scheme not registered, or the token empty.
    """
    check_token(token)
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
    """Listen at an address and serve every peer that shakes hands.

    Args:
        address: Where to listen; tcp port 0 takes any free one, `Listener.address` says which.
        hello: Who we are. A dialler of another cluster is refused unless it says that it knows
            none.
        on_connection: Serves one connection, as a child of the listener; the connection is closed
            when it returns. Its exceptions are logged by the logger "transports".
        token: The secret that every dialler must have, or None to ask for none; without one only
            this machine's own addresses can be listened on, for its own user alone, except by
            `tls://`. See `guard`.
        handshake_timeout: Seconds after which a stranger who has not shaken hands is dropped.
        sock: A bound socket to take over in place of binding one; the listener closes it.
        security: Our CA, certificate and key, for `tls://`; other schemes do not look at it.

    Returns:
        The listener, the caller's to close.

    Raises:
        BindError: The address is taken or not ours, or must not be listened on without a token or
            with one so short; or our TLS files do not do.
        ValueError: The address is malformed, its scheme not registered, or the token empty.
    """
    check_token(token)
    parsed = parse_address(address)
    transport = _transport(parsed)
    try:
        await check_place(parsed, transport, token, sock, bound=False)
    except BaseException:
        if sock is not None:
            sock.close()
        raise
    listener = await transport.listen(
        parsed,
        hello,
        on_connection,
        token=token,
        handshake_timeout=handshake_timeout,
        sock=sock,
        security=security,
    )
    try:
        found = parse_address(listener.address)
        listener.near = await check_place(found, transport, token, bound=True)
    except BaseException:
        await listener.aclose()
        raise
    return listener


def _transport(address: Address) -> Transport:
    """Look up who carries an address.

    Raises:
        ValueError: Nobody does.
    """
    try:
        return _transports[address.scheme]
    except KeyError:
        known = ", ".join(transport_schemes())
        raise ValueError(
            f"{address}: no transport carries {address.scheme!r}; registered are {known}"
        ) from None

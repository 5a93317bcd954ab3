"""The errors of a transport: whose fault it was, and at which address.

Every other room of `transports` raises these; callers catch `TransportError` or one of its
children. This file imports nothing of ours, so that everything may import it.

The distinctions that matter to a caller each have a class: could not get there (`ConnectError`),
could not offer a place (`BindError`), the link ended (`ConnectionClosed`, by us or not), the peer
broke the rules (`ProtocolError`), the peer is somebody else (`WrongPeer`), the peer could not prove
the token or that its certificate is good (`AuthenticationError`).
"""

from __future__ import annotations

from errno import errorcode


class TransportError(Exception):
    """The root of everything that a transport raises.

    Attributes:
        address: Where it happened, as text; empty where no address is known yet.
    """

    def __init__(self, message: str, *, address: str = "") -> None:
        """Make the error.

        Args:
            message: What was asked, what was found, what would have been valid.
            address: The address concerned.
        """
        super().__init__(message)
        self.address = address


class ConnectError(TransportError):
    """No connection could be made.

    Attributes:
        errno: The operating system's error number, or None where it was not an OSError.
        attempts: How many attempts the message speaks of; a transport makes one, a caller that
            retries says so here.
        phase: "security" if our own TLS files did not do; "connect" until the byte stream stands, "tls"
            until it is encrypted, "hello" until both sides accepted each other.
    """

    def __init__(
        self,
        reason: str,
        *,
        address: str,
        errno: int | None = None,
        attempts: int = 1,
        phase: str = "connect",
    ) -> None:
        """Make the error; its message holds all of the arguments."""
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        super().__init__(
            f"cannot connect to {address}: {reason} "
            f"(phase {phase}, {_errno_words(errno)}, {tries})",
            address=address,
        )
        self.reason = reason
        self.errno = errno
        self.attempts = attempts
        self.phase = phase


class BindError(TransportError):
    """A listener could not take its address, or must not.

    Attributes:
        errno: The operating system's error number, or None where we refused by ourselves.
        owner_pid: The process that listens there already, where the operating system tells.
    """

    def __init__(
        self,
        reason: str,
        *,
        address: str,
        errno: int | None = None,
        owner_pid: int | None = None,
    ) -> None:
        """Make the error; its message holds all of the arguments."""
        super().__init__(
            f"cannot listen on {address}: {reason} ({_errno_words(errno)})", address=address
        )
        self.reason = reason
        self.errno = errno
        self.owner_pid = owner_pid


class ConnectionClosed(TransportError):
    """The connection has ended; nothing more can be written to it or received from it.

    Attributes:
        by_us: True after our own `aclose` or `abort`, False when the peer closed, died or was cut
            off.
    """

    def __init__(self, message: str, *, address: str, by_us: bool) -> None:
        """Make the error."""
        super().__init__(message, address=address)
        self.by_us = by_us


class ProtocolError(TransportError):
    """The peer sent bytes that are not of this protocol."""


class WrongPeer(TransportError):
    """Somebody answers, but not the one who was asked for: cluster, task or wire version differ."""


class AuthenticationError(TransportError):
    """One side has no token or not the same one, or a certificate that the other does not accept."""


def _errno_words(errno: int | None) -> str:
    """Say an error number the way people look it up."""
    return "no errno" if errno is None else f"errno {errno} {errorcode.get(errno, 'unknown')}"

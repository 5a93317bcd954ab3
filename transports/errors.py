"""The errors of a transport: each reports the cause and the address.

All other modules of ``transports`` raise these errors; callers catch ``TransportError`` or one of its
subclasses. The module imports nothing of this project, so that every module may import it.

Each distinction that matters to a caller has a class: the listener could not be reached (``ConnectError``),
the address could not be listened on (``BindError``), the connection ended, closed by either side
(``ConnectionClosed``), the peer violated the protocol (``ProtocolError``), another cluster, task or version
answered (``WrongPeer``), a token or certificate was not accepted (``AuthenticationError``).
"""

from __future__ import annotations

from errno import errorcode
from typing import Any


class TransportError(Exception):
    """The base class of all errors that a transport raises.

    Attributes:
        address: Where the error happened, as text; empty where no address is available yet.
    """

    def __init__(self, message: str, *, address: str = "") -> None:
        """Make the error.

        Args:
            message: What was requested, what was found, and what would have been valid.
            address: The address concerned.
        """
        super().__init__(message)
        self.address = address

    def __reduce__(self) -> Any:
        """Return what makes the error again: constructors take other arguments than it has."""
        cause = self.__cause__ if isinstance(self.__cause__, (OSError, TransportError)) else None
        return _restored, (type(self), self.args, cause), vars(self)


class ConnectError(TransportError):
    """No connection could be made.

    Attributes:
        reason: The cause, as text.
        errno: The operating system's error number, or None where it was not an OSError.
        attempts: How many attempts were made; a transport makes one, a caller that retries sets this.
        phase: "security" if our own TLS files are unusable; "connect" until the byte stream is open, "tls"
            until it is encrypted, "hello" until both sides have accepted each other.
    """

    def __init__(
        self, reason: str, *, address: str, errno: int | None = None, attempts: int = 1, phase: str = "connect"
    ) -> None:
        """Make the error; its message holds all of the arguments."""
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        super().__init__(
            f"cannot connect to {address}: {reason} (phase {phase}, {_errno_words(errno)}, {tries})", address=address
        )
        self.reason = reason
        self.errno = errno
        self.attempts = attempts
        self.phase = phase


class BindError(TransportError):
    """A listener could not bind its address, or must not.

    Attributes:
        reason: The cause, as text.
        errno: The operating system's error number, or None where this package refused.
        owner_pid: The process that listens there already, where the operating system reports it.
    """

    def __init__(self, reason: str, *, address: str, errno: int | None = None, owner_pid: int | None = None) -> None:
        """Make the error; its message holds all of the arguments."""
        super().__init__(f"cannot listen on {address}: {reason} ({_errno_words(errno)})", address=address)
        self.reason = reason
        self.errno = errno
        self.owner_pid = owner_pid


class ConnectionClosed(TransportError):
    """The connection has ended; nothing more can be written to it or received from it.

    Attributes:
        by_us: True after a local ``aclose`` or ``abort``, False when the peer closed or the link broke.
    """

    def __init__(self, message: str, *, address: str, by_us: bool) -> None:
        """Make the error."""
        super().__init__(message, address=address)
        self.by_us = by_us


class ProtocolError(TransportError):
    """The peer sent bytes that are not of this protocol."""


class WrongPeer(TransportError):
    """A peer answered, but its cluster, task or wire version is not the expected one."""


class AuthenticationError(TransportError):
    """The tokens of both sides differ, or one side does not accept the other's certificate."""


def _restored(kind: type[TransportError], args: Any, cause: BaseException | None) -> TransportError:
    """Return an error of a class without a call of its constructor."""
    error = kind.__new__(kind, *args)
    error.__cause__ = cause
    return error


def _errno_words(errno: int | None) -> str:
    """Return an error number with its symbolic name."""
    return "no errno" if errno is None else f"errno {errno} {errorcode.get(errno, 'unknown')}"

"""The TLS files and the token of a process: those that a program names, or those of the environment.

Used by servers, by connections from clients to masters, and by tools that query a server. The transport reads
the files themselves, for ``tls://`` addresses only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from actorsession.config import RPCOptions
from actorsession.errors import InvalidArgumentError
from transports import BindError, ConnectError, SecurityConfig
from transports.guard import MIN_TOKEN
from transports.host import current_host
from transports.security import SecurityFault, make_context

__all__ = [
    "TOKEN_FILE_VARIABLE",
    "TOKEN_VARIABLE",
    "are_our_files_at_fault",
    "bare_scheme",
    "check_files",
    "forget_token",
    "is_guessable",
    "refusal_to_listen",
    "remember_token",
    "security_of",
    "shared_security",
    "shared_token",
]

TOKEN_VARIABLE = "ACTORSESSION_TOKEN"
"""The environment variable with the secret that servers and clients of a cluster share."""

TOKEN_FILE_VARIABLE = "ACTORSESSION_TOKEN_FILE"
"""The environment variable with the path of a file that holds the secret; ``TOKEN_VARIABLE`` wins."""


class _Tokens(dict[str, str]):
    """By address: the tokens of clusters that this process started, which nobody else was told."""


def shared_token(address: str = "") -> str | None:
    """Return the secret that servers and clients must share, if there is one.

    Args:
        address: the server that a client is to reach; a token that this process made for it counts first.

    Returns:
        That token, or the one of the environment, or ``None``. A file is read at each call, so that a renewed
        secret is used for the next connection.

    Raises:
        InvalidArgumentError: if the file that the environment names cannot be read, is empty, or can be read
            by every user.
    """
    token = current_host().own(_Tokens).get(address) or os.environ.get(TOKEN_VARIABLE)
    path = os.environ.get(TOKEN_FILE_VARIABLE)
    return token or (_read_token(path) if path else None)


def _read_token(path: str) -> str:
    where = f"{TOKEN_FILE_VARIABLE} names {path!r}"
    try:
        files = current_host().files
        with files.open_file(path) as file:
            # Kubernetes gives the files of a secret to the group of a pod that does not run as root.
            if files.fstat(file.fileno()).st_mode & (stat.S_IROTH | stat.S_IWOTH):
                raise InvalidArgumentError(
                    f"{where}, which every user of this machine can read or write; `chmod 600` it and make "
                    "another token"
                )
            token = file.read().decode().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidArgumentError(f"{where}, which cannot be read: {exc}") from None
    if not token:
        raise InvalidArgumentError(f"{where}, which is empty; it holds what `actorsession token` prints")
    return token


def remember_token(address: str, token: str) -> None:
    """Let clients of this process use a token at an address, until ``forget_token``; any thread may call."""
    current_host().own(_Tokens)[address] = token


def forget_token(addresses: Iterable[str]) -> None:
    """Remove the tokens of addresses, if there are any."""
    for address in addresses:
        current_host().own(_Tokens).pop(address, None)


def is_guessable(token: str) -> bool:
    """Return whether a token is too short for servers that other machines reach."""
    return len(token) < MIN_TOKEN


def check_files(security: SecurityConfig) -> None:
    """Read TLS files as a server does.

    Raises:
        InvalidArgumentError: if they are missing, unreadable or do not fit together.
    """
    try:
        make_context(security, server_side=True)
    except SecurityFault as exc:
        raise InvalidArgumentError(str(exc)) from exc


def shared_security() -> SecurityConfig | None:
    """Return the TLS files that the environment names, or ``None``.

    The variables are ``ACTORSESSION_TLS_CA``, ``ACTORSESSION_TLS_CERT`` and ``ACTORSESSION_TLS_KEY``.

    Raises:
        InvalidArgumentError: if some of the three are set and some are not.
    """
    try:
        return SecurityConfig.from_environment()
    except ValueError as exc:
        raise InvalidArgumentError(str(exc)) from None


def security_of(options: RPCOptions) -> SecurityConfig | None:
    """Return the TLS files of a session: its own, or else those of the environment.

    Raises:
        InvalidArgumentError: as for ``shared_security``.
    """
    if not options.ca_file:
        return shared_security()
    return SecurityConfig(ca_file=options.ca_file, certificate_file=options.certificate_file, key_file=options.key_file)


def bare_scheme(*, tls: bool) -> str:
    """Return the scheme of an address that has none, for servers and all that connect to them.

    Args:
        tls: whether there are TLS files; they are only given to be used.
    """
    return "tls" if tls else "tcp"


def are_our_files_at_fault(error: Exception) -> bool:
    """Return whether a connection was not even tried because our own TLS files are unusable."""
    return isinstance(error, ConnectError) and error.phase == "security"


def refusal_to_listen(error: BaseException | None) -> str:
    """Return why an address must not be listened at, whoever has it now; "" for any other error.

    It would serve everybody who reaches it, or our own TLS files are unusable.
    """
    if isinstance(error, BindError) and error.errno is None:
        return f"{error.address}: {error.reason}"
    return ""

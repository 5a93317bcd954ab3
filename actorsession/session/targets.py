"""Targets: the text that says where a session runs, and the addresses of masters in it.

The session factories and the connection to a master read targets here, so that a malformed one is refused
where the session is made and not at its first run. Plain functions without I/O; the transports say which
schemes there are.
"""

from __future__ import annotations

import re

from actorsession.errors import InvalidArgumentError, UnavailableError
from transports import parse_address, transport_schemes

__all__ = ["VALID_TARGETS", "is_local", "master_addresses", "names_master"]

VALID_TARGETS = (
    "'' or 'local' for this process; host:port, tcp://host:port, tls://host:port, unix:///path, "
    "abstract://name or inproc://name of a master; or several addresses separated by commas, of which the "
    "first master that answers is taken"
)
"""What a target may be, for error messages."""

# TensorFlow's two names of the session in this process.
_LOCAL = frozenset({"", "local"})
# An address without a scheme, as TensorFlow's targets have it. The host is checked when it is parsed.
_BARE = re.compile(r"[^/\s]*:[0-9]+")


def is_local(target: str) -> bool:
    """Return whether a target is this process."""
    return target in _LOCAL


def names_master(target: str) -> bool:
    """Return whether any part of a target is meant as the address of a master."""
    return any(_is_served(_scheme(e)) or _BARE.fullmatch(e) for e in _entries(target))


def master_addresses(target: str, scheme: str = "tcp") -> tuple[str, ...]:
    """Return the addresses of the masters that a target names, each once and with its scheme.

    Args:
        target: one address or several separated by commas; ``grpc://`` means ``tcp://``.
        scheme: that of addresses that have none.

    Raises:
        InvalidArgumentError: for an address that cannot be dialled; the message says why, and what would be
            valid.
    """
    return tuple(dict.fromkeys(_address(entry, target, scheme) for entry in _entries(target)))


def _entries(target: str) -> list[str]:
    """Return the parts of a target; what follows a comma in the path of a socket may belong to the path."""
    entries: list[str] = []
    for part in target.split(","):
        entry = part.strip()
        alone = not entry or entry in _LOCAL or _scheme(entry) or _BARE.fullmatch(entry)
        if alone or not entries or not entries[-1].lstrip().startswith("unix:///"):
            entries.append(part)
        else:
            entries[-1] += f",{part}"
    return [entry.strip() for entry in entries]


def _scheme(entry: str) -> str:
    scheme, separator, _ = entry.partition("://")
    return scheme if separator else ""


def _is_served(scheme: str) -> bool:
    if scheme in ("", "grpc"):
        return scheme != ""
    # Imported here, because links and messages are of no use to a session in this process.
    from actorsession.rpc.schemes import supports

    return supports(scheme)


def _address(entry: str, target: str, default: str) -> str:
    """Return the address of one part of a target.

    Raises:
        InvalidArgumentError: if it cannot be dialled.
        UnavailableError: if nobody can be there.
    """
    scheme = _scheme(entry)
    if not entry:
        raise _malformed(target, "one of its addresses is empty")
    if entry in _LOCAL:
        raise _malformed(target, f"{entry!r} is this process and no address of a master")
    if scheme and not _is_served(scheme):
        known = ", ".join(transport_schemes())
        raise _malformed(target, f"no transport is registered for {entry!r}, only for {known}")
    address = entry if scheme else f"{default}://{entry}"
    if scheme == "grpc" and "grpc" not in transport_schemes():
        address = f"tcp://{entry.removeprefix('grpc://')}"
    try:
        parsed = parse_address(address)
    except ValueError as error:
        raise _malformed(target, str(error)) from None
    if parsed.port == 0:
        raise UnavailableError(f"nobody can be reached at port 0 of {entry!r} in the target {target!r}")
    return address


def _malformed(target: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"malformed target {target!r}: {why}. Targets are {VALID_TARGETS}")

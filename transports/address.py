"""Addresses: the text form of where a peer can be reached, and its parsed form.

Every call that dials or listens parses its address here. The module imports nothing of this project. An
address is ``scheme://`` followed by one of three shapes: ``host:port``, an absolute path, or a name. The
shape of the built-in schemes is fixed. A registered scheme accepts any shape, and its transport checks that
the shape is suitable.

``parse_address(str(address)) == address`` holds for every address that can be constructed.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
# host:port with the host in brackets if it is an IPv6 address. The port is matched loosely, because
# _parse_port gives a better error message than "does not match".
_HOST_PORT = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<host>[^\[\]:/]*)):(?P<port>[^:/]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FIXED_SHAPES = {"tcp": "host:port", "tls": "host:port", "unix": "path", "abstract": "name", "inproc": "name"}
_EXAMPLES = (
    "valid addresses are tcp://host:port, tls://host:port, unix:///absolute/path, abstract://name and inproc://name"
)
_MAX_PORT = 65535
# A process parses the addresses of its cluster at each dial and each report; there are seldom more of them.
_MOST_KEPT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One parsed address: a scheme and exactly one of host and port, path, name.

    Attributes:
        scheme: The scheme of its transport, lower case.
        host: Host name or numeric address without brackets; empty in the other shapes.
        port: 0 (any free one, for listening) to 65535; None in the other shapes.
        path: Absolute path of a socket file; empty in the other shapes.
        name: A name, such as one within the process; empty in the other shapes.
    """

    scheme: str
    host: str = ""
    port: int | None = None
    path: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        """Check that the parts are well-formed and consistent.

        Raises:
            ValueError: The text made of the parts would not parse to this address.
        """
        check_scheme(self.scheme)
        _check_one_shape(self)
        if self.port is not None:
            _check_host_port(self.host, self.port)
        _check_characters(self._rest)
        shape = _shape(self.scheme, self._rest)
        if self.shape != shape:
            raise ValueError(f"{self.scheme}:// takes a {shape}, got the {self.shape} {self._rest!r}; {_EXAMPLES}")
        if self.path and not self.path.startswith("/"):
            raise ValueError(f"the path {self.path!r} is not absolute; {_EXAMPLES}")

    @property
    def shape(self) -> str:
        """The shape of the address: "host:port", "path" or "name"."""
        if self.port is not None:
            return "host:port"
        return "path" if self.path else "name"

    @property
    def _rest(self) -> str:
        """The text after ``scheme://``."""
        if self.port is None:
            return self.path or self.name
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        """Return the text that parses to this address."""
        return f"{self.scheme}://{self._rest}"


def parse_address(text: str) -> Address:
    """Parse an address.

    Args:
        text: For example ``tcp://127.0.0.1:7000``, ``tcp://[::1]:0``, ``unix:///run/ps0.sock``,
            ``inproc://ps0``.

    Returns:
        The parsed address. Whether a transport is registered for its scheme is not checked here.

    Raises:
        ValueError: The text is not an address; the message states the fault and what would be valid.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        hint = f"did you mean tcp://{text}? " if _HOST_PORT.fullmatch(text) else ""
        raise ValueError(f"{text!r} is not an address: it has no scheme; {hint}{_EXAMPLES}")
    try:
        return _parse_rest(scheme, rest)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None


def check_scheme(scheme: str) -> None:
    """Check that a scheme is well-formed.

    Args:
        scheme: The scheme, without "://".

    Raises:
        ValueError: The scheme is malformed.
    """
    if not _SCHEME.fullmatch(scheme):
        raise ValueError(f"{scheme!r} is not an address scheme: lower case letters, digits, '+', '-' and '.' are")


@functools.lru_cache(maxsize=_MOST_KEPT)
def _parse_rest(scheme: str, rest: str) -> Address:
    """Parse the text after ``scheme://`` in the shape of that scheme."""
    if not rest:
        raise ValueError(f"the address ends after its scheme; {_EXAMPLES}")
    match _shape(scheme, rest):
        case "path":
            return Address(scheme=scheme, path=rest)
        case "name":
            return Address(scheme=scheme, name=rest)
    match = _HOST_PORT.fullmatch(rest)
    if match is None:
        raise ValueError(
            f"{scheme} takes host:port and nothing after it, with an IPv6 host in brackets: {scheme}://[::1]:7000"
        )
    host = match["host"] if match["v6"] is None else match["v6"]
    return Address(scheme=scheme, host=host, port=_parse_port(match["port"]))


def _shape(scheme: str, rest: str) -> str:
    """Return the shape of the text after ``scheme://``: the scheme's fixed one, or the one it looks like."""
    if scheme in _FIXED_SHAPES:
        return _FIXED_SHAPES[scheme]
    if rest.startswith("/"):
        return "path"
    return "host:port" if _HOST_PORT.fullmatch(rest) else "name"


def _parse_port(text: str) -> int:
    """Parse a decimal port; int() alone would accept ' 7', '+7' and '7_0'."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"the port {text!r} is not a number from 0 to {_MAX_PORT}")
    return int(text)


def _check_one_shape(address: Address) -> None:
    """Check that exactly one of host and port, path, name is given."""
    given = [bool(address.host) or address.port is not None, bool(address.path), bool(address.name)]
    if sum(given) != 1:
        raise ValueError(
            f"{given.count(True)} of host with port, path and name are given; an address has exactly one of them"
        )
    if address.host and address.port is None:
        raise ValueError(f"the host {address.host!r} has no port; port 0 listens on any free one")


def _check_host_port(host: str, port: int) -> None:
    """Check the parts of a host:port address."""
    if not host:
        raise ValueError("the host is empty; 127.0.0.1 is this machine, 0.0.0.0 all interfaces")
    if not 0 <= port <= _MAX_PORT:
        raise ValueError(f"the port {port} is not a number from 0 to {_MAX_PORT}")
    if re.search(r"[\s/@?#\[\]]", host):
        raise ValueError(f"the host {host!r} contains characters that are not valid in a host name")


def _check_characters(text: str) -> None:
    """Refuse control characters, which neither log lines nor the kernel handle correctly."""
    if _CONTROL.search(text):
        raise ValueError(f"{text!r} contains control characters")

"""Schemes of addresses that are supported: those of registered transports, and of other distributions.

Sessions, servers and ``dial`` ask here before they use an address. The transport of an entry point is
imported when its scheme is asked for and no transport has it, never before. ``transports`` knows nothing of
entry points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorsession.entry_points import Plugins
from transports import register_transport, transport_schemes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINTS", "supports"]

ENTRY_POINTS = "actorsession.transports"
"""The entry-point group: each entry is a class with the methods of ``Transport``, its name is the scheme."""


def supports(scheme: str) -> bool:
    """Return whether there is a transport for a scheme, after loading that of another distribution."""
    if scheme not in transport_schemes():
        _PLUGINS.load(scheme)
    return scheme in transport_schemes()


def _use(entry: EntryPoint, plugin: Any) -> None:
    transport = plugin()
    for method in ("connect", "listen"):
        if not callable(getattr(transport, method, None)):
            raise TypeError(f"it makes a {type(transport).__name__}, which has no {method}()")
    register_transport(entry.name, transport)


_PLUGINS = Plugins(ENTRY_POINTS, _use)

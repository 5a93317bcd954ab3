"""The kinds of session that come with the library, registered as factories."""

from __future__ import annotations

from actorsession.session.direct import DirectSession
from actorsession.session.factory import SessionFactory, SessionOptions, register_factory
from actorsession.session.remote import RemoteSession
from transports import transport_schemes

__all__ = ["DIRECT", "REMOTE"]

DIRECT, REMOTE = "DIRECT_SESSION", "REMOTE_SESSION"


def _is_local(options: SessionOptions) -> bool:
    return options.target == ""


def _is_remote(options: SessionOptions) -> bool:
    scheme, separator, _ = options.target.partition("://")
    return bool(separator) and scheme in transport_schemes()


register_factory(SessionFactory(DIRECT, _is_local, lambda graph, o: DirectSession(graph, o.config)))
register_factory(
    SessionFactory(REMOTE, _is_remote, lambda graph, o: RemoteSession(graph, o.target, o.config))
)

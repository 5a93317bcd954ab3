"""The sessions behind ``AsyncSession`` and ``Session``, for tests that look inside them."""

from __future__ import annotations

from actorsession.rpc import LinkStatistics
from actorsession.session.base import BaseSession
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.remote.remote_session import RemoteSession

__all__ = ["direct_session", "link_statistics", "remote_session"]


def direct_session(session: BaseSession) -> DirectSession:
    """Return the direct session that does the work of ``session``."""
    assert isinstance(session._session, DirectSession)
    return session._session


def remote_session(session: BaseSession) -> RemoteSession:
    """Return the remote session that does the work of ``session``."""
    assert isinstance(session._session, RemoteSession)
    return session._session


def link_statistics(session: BaseSession) -> LinkStatistics:
    """Return the traffic between ``session`` and its master, which are connected by a link."""
    found = session.statistics().link
    assert found is not None
    return found

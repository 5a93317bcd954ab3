"""The kinds of session that come with the library, registered as factories.

The remote kind is imported with its first session or reset: links and messages take some 50 ms of a program
that has local sessions alone.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.runtime.session_names import SessionNames
from actorsession.session.direct.cost_model_session import CostModelSession, needs_cost_model
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.factory import SessionFactory, SessionOptions, register_factory
from actorsession.session.session_interface import OnEvict
from actorsession.session.targets import is_local, names_master

if TYPE_CHECKING:
    from actorsession.session.remote.remote_session import RemoteSession

__all__ = ["DIRECT", "REMOTE", "DirectSessionFactory", "RemoteSessionFactory"]

DIRECT, REMOTE = "DIRECT_SESSION", "REMOTE_SESSION"


class DirectSessionFactory(SessionFactory):
    """Sessions in this process. Open ones are tracked for ``reset`` and for their metadata."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: weakref.WeakKeyDictionary[DirectSession, None] = weakref.WeakKeyDictionary()
        self._names: SessionNames[DirectSession] = SessionNames()

    def accepts(self, options: SessionOptions) -> bool:
        """Return whether the target is this process: empty, or ``local``."""
        return is_local(options.target)

    def new_session(self, graph: Graph, options: SessionOptions, on_evict: OnEvict) -> DirectSession:
        """Make a session in this process.

        Raises:
            InvalidArgumentError: for a negative version, a name and version that an open session has, a
                ``cluster_def``, or settings that need a cost model where none is built.
            NotFoundError: if the devices asked for do not exist.
        """
        if options.config.cluster_def is not None:
            raise InvalidArgumentError(
                "cluster_def is for remote sessions: give one of its tasks as the target of the session"
            )
        metadata = options.config.experimental.session_metadata
        with self._lock:
            self._names.check(metadata)
            kind = CostModelSession if needs_cost_model(options.config) else DirectSession
            session = kind(graph, options.config, on_evict=on_evict, on_close=self._deregister)
            self._sessions[session] = None
            self._names.add(metadata, session)
        return session

    def _deregister(self, session: DirectSession) -> None:
        with self._lock:
            self._sessions.pop(session, None)

    async def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Cancel the steps of every local session, clear containers and close the sessions."""
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.cancel_steps(CancelledError("Session has been reset."))
            session.reset_containers(containers)
            session.close_here()


class RemoteSessionFactory(SessionFactory):
    """Sessions that a master runs."""

    def accepts(self, options: SessionOptions) -> bool:
        """Return whether the target names a master: by the scheme of a transport, or as ``host:port``."""
        return names_master(options.target)

    def new_session(self, graph: Graph, options: SessionOptions, on_evict: OnEvict) -> RemoteSession:
        """Make a session of the first master at the target that will answer.

        Raises:
            InvalidArgumentError: for an address that cannot be dialled, or settings that only local sessions
                have.
        """
        from actorsession.session.remote.remote_session import RemoteSession

        return RemoteSession(graph, options.target, options.config)

    async def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Make the master at the target close its sessions and clear containers; see ``reset_master``."""
        from actorsession.session.remote.master_connection import reset_master

        await reset_master(options.target, options.config, containers)


register_factory(DIRECT, DirectSessionFactory())
register_factory(REMOTE, RemoteSessionFactory())

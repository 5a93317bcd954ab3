"""Interactive sessions, which are the default session from their creation until they are closed.

They are meant for notebooks and shells, where a ``with`` block around everything is impractical:
``tensor.eval()`` and ``operation.run()`` use the session without naming it.
"""

from __future__ import annotations

import logging
import sys
import weakref
from types import TracebackType

from actorsession.config import ConfigProto
from actorsession.graph.default_session import DEFAULT_SESSIONS
from actorsession.graph.graph import Graph, default_graphs
from actorsession.session.async_session import AsyncSession
from actorsession.session.base import BaseSession
from actorsession.session.notebooks import is_cell
from actorsession.session.sync_session import Session

__all__ = ["AsyncInteractiveSession", "InteractiveSession"]

_log = logging.getLogger("actorsession.session")
_ACTIVE: weakref.WeakSet[BaseSession] = weakref.WeakSet()


def _install(session: BaseSession, graph: Graph | None) -> None:
    """Make a session the default session, and its graph the default graph if it was given.

    In a cell of a notebook it is the default of the later cells too, whichever asyncio children run them.
    """
    if _ACTIVE:
        _log.warning(
            "another interactive session is open (%d in all): it keeps its variables until it is closed",
            len(_ACTIVE),
        )
    _ACTIVE.add(session)
    cell = is_cell(sys._getframe(1))
    (DEFAULT_SESSIONS.keep if cell else DEFAULT_SESSIONS.push)(session)
    if graph is not None:
        (default_graphs().keep if cell else default_graphs().push)(graph)


def _uninstall(session: BaseSession, graph: Graph | None) -> None:
    """Undo ``_install``; in any order, and also where the defaults were never entered."""
    if session in _ACTIVE:
        _ACTIVE.discard(session)
        DEFAULT_SESSIONS.remove(session)
        if graph is not None:
            default_graphs().remove(graph)


class InteractiveSession(Session):
    """A ``Session`` that is the default session of its thread from its creation until it is closed.

    Args:
        target: as for ``Session``.
        graph: the graph to run, which also becomes the default graph; the current default graph if left
            out.
        config: settings.

    Raises:
        TypeError: for an argument of a wrong type.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
        InvalidArgumentError: for a malformed address in the target, and settings that cannot be met.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._named = graph
        _install(self, graph)

    def __enter__(self) -> InteractiveSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the session and restore the previous defaults. May be called twice.

        Raises:
            RuntimeError: as ``Session.close``; the session then stays open and the default.
        """
        try:
            super().close()
        finally:
            if self.closed:
                _uninstall(self, self._named)


class AsyncInteractiveSession(AsyncSession):
    """An ``AsyncSession`` that is the default of the asyncio child that made it, until it is closed.

    ``await tensor.eval()`` runs in it, as in a notebook whose cells are coroutines.

    Args:
        target: as for ``Session``.
        graph: the graph to run, which also becomes the default graph; the current default graph if left
            out.
        config: settings.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._named = graph
        _install(self, graph)

    async def __aenter__(self) -> AsyncInteractiveSession:
        await self._session.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session and restore the previous defaults. May be called twice."""
        _uninstall(self, self._named)
        await super().close()

"""Interactive sessions, which are the default session from their creation until they are closed.

They are meant for notebooks and shells, where a ``with`` block around everything is impractical:
``tensor.eval()`` and ``operation.run()`` use the session without naming it.
"""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from types import TracebackType
from typing import Any, cast

from actorsession.config import ConfigProto
from actorsession.graph.default_session import DEFAULT_SESSIONS
from actorsession.graph.graph import Graph, default_graphs
from actorsession.session.async_session import AsyncSession
from actorsession.session.base import BaseSession
from actorsession.session.notebooks import is_cell
from actorsession.session.sync_session import Session

__all__ = ["AsyncInteractiveSession", "InteractiveSession"]

_log = logging.getLogger("actorsession.session")
_COUNTING = threading.RLock()  # a finaliser may come in between


class _Interactive(BaseSession):
    """A session that is the default from its creation until it is closed."""

    # How many are open; of a class that has an attribute of its own, how many of that class.
    _active_session_count = 0
    # Ends the counting of this one, when it is closed or dropped.
    _counted: weakref.finalize[Any, Any] | None = None

    def _warn_of_others(self, count: int) -> None:
        _log.warning(
            "another interactive session is open (%d in all): it keeps its variables until it is closed", count
        )


def _count(kind: type[_Interactive], change: int) -> int:
    """Change the number of open sessions of a class, and return what it was."""
    holder = next(base for base in kind.__mro__ if "_active_session_count" in vars(base))
    counter = cast("type[_Interactive]", holder)
    with _COUNTING:
        before = counter._active_session_count
        counter._active_session_count = max(0, before + change)
    return before


def _install(session: _Interactive, graph: Graph | None) -> None:
    """Make a session the default session, and its graph the default graph if it was given.

    In a cell of a notebook it is the default of the later cells too, whichever asyncio children run them.
    """
    others = _count(type(session), 1)
    session._counted = weakref.finalize(session, _count, type(session), -1)
    session._counted.atexit = False
    if others > 0:
        session._warn_of_others(others)
    cell = is_cell(sys._getframe(1))
    (DEFAULT_SESSIONS.keep if cell else DEFAULT_SESSIONS.push)(session)
    if graph is not None:
        (default_graphs().keep if cell else default_graphs().push)(graph)


def _uninstall(session: _Interactive, graph: Graph | None) -> None:
    """Undo ``_install``; in any order, and also where the defaults were never entered."""
    if session._counted is not None and session._counted.alive:
        session._counted()
        DEFAULT_SESSIONS.remove(session)
        if graph is not None:
            default_graphs().remove(graph)


class InteractiveSession(Session, _Interactive):
    """A ``Session`` that is the default session of its thread from its creation until it is closed.

    Args:
        target: as for ``Session``.
        graph: the graph to run, which also becomes the default graph; the current default graph if left
            out.
        config: settings.
        name: its name in status reports and in the ``RunMetadata`` of its runs, which no other open session of
            its process, or of its master, may have; the one of ``config`` if left out.

    Raises:
        TypeError: for an argument of a wrong type.
        ValueError: for a name if ``config`` has another one.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
        InvalidArgumentError: for a malformed address in the target, and settings that cannot be met.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None, *, name: str = ""
    ) -> None:
        super().__init__(target, graph, config, name=name)
        self._named = graph
        _install(self, graph)

    def __enter__(self) -> InteractiveSession:
        self._owner.check_process()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
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


class AsyncInteractiveSession(AsyncSession, _Interactive):
    """An ``AsyncSession`` that is the default of the asyncio child that made it, until it is closed.

    ``await tensor.eval()`` runs in it, as in a notebook whose cells are coroutines.

    Args:
        target: as for ``Session``.
        graph: the graph to run, which also becomes the default graph; the current default graph if left
            out.
        config: settings.
        name: as for ``AsyncSession``.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None, *, name: str = ""
    ) -> None:
        super().__init__(target, graph, config, name=name)
        self._named = graph
        _install(self, graph)

    async def __aenter__(self) -> AsyncInteractiveSession:
        self._check_usable()
        await self._session.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session and restore the previous defaults. May be called twice.

        Raises:
            RuntimeError: as ``AsyncSession.close``; the session then stays open and the default.
        """
        try:
            await super().close()
        finally:
            if self.closed:
                _uninstall(self, self._named)

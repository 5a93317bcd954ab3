"""Session factories: the registry that chooses a kind of session by target.

Each factory decides which options it accepts; exactly one must accept them. Kinds of session from other
distributions are entry points of the group ``actorsession.session_factories``, which are loaded when no
registered factory accepts the options. The session API makes its sessions through this registry only.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from actorsession.config import SessionOptions
from actorsession.entry_points import entry_points, warn_unusable
from actorsession.errors import InternalError, NotFoundError, UnimplementedError
from actorsession.graph.graph import Graph
from actorsession.registrations import scoped
from actorsession.session.session_interface import OnEvict, SessionInterface
from actorsession.session.targets import VALID_TARGETS

__all__ = [
    "ENTRY_POINTS",
    "SessionFactory",
    "SessionOptions",
    "get_factory",
    "register_factory",
    "registered_factories",
]

ENTRY_POINTS = "actorsession.session_factories"
"""The entry-point group: each entry is a ``SessionFactory`` class, its name is the runtime type."""

_log = logging.getLogger("actorsession.session")


class SessionFactory:
    """A kind of session: a subclass is registered as an instance, or its class as an entry point."""

    def accepts(self, options: SessionOptions) -> bool:
        """Return whether this kind of session serves a target; called for every new session."""
        raise NotImplementedError

    def new_session(self, graph: Graph, options: SessionOptions, on_evict: OnEvict) -> SessionInterface[Any]:
        """Make a session without doing any I/O.

        Args:
            graph: the graph that it will run.
            options: target and settings.
            on_evict: called with every plan that the session keeps no longer, so that its memory is
                released; never called by a session that keeps no plans.

        Raises:
            OpError: if the options cannot be met. Nothing is left behind then.
        """
        raise NotImplementedError

    async def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Close every session of the target and clear containers of its state.

        Args:
            options: target and settings.
            containers: names of the containers to clear; the default container if empty.

        Raises:
            UnimplementedError: if this kind of session cannot be reset.
        """
        raise UnimplementedError(f"sessions of target {options.target!r} ({type(self).__name__}) cannot be reset")


_FACTORIES: dict[str, SessionFactory] = scoped(
    {}, lambda name: type(_FACTORIES[name]).__module__.startswith("actorsession.")
)
_LOCK = threading.Lock()


def register_factory(runtime_type: str, factory: SessionFactory) -> None:
    """Add a kind of session.

    Args:
        runtime_type: name of the kind, such as ``DIRECT_SESSION``.
        factory: makes its sessions.

    Raises:
        TypeError: if ``factory`` is not an instance of ``SessionFactory``, for example a class.
        KeyError: if the name is taken. The registered factory stays.
    """
    if not isinstance(factory, SessionFactory):
        raise TypeError(f"a session factory is an instance of SessionFactory, got {factory!r:.100}")
    _import_our_own()
    with _LOCK:
        if runtime_type in _FACTORIES:
            raise KeyError(f"a session factory {runtime_type!r} is registered already")
        _FACTORIES[runtime_type] = factory


def registered_factories() -> tuple[str, ...]:
    """Return the names of all registered kinds of session, sorted."""
    _import_our_own()
    return tuple(sorted(_FACTORIES.copy()))


def get_factory(options: SessionOptions) -> SessionFactory:
    """Return the one factory that accepts the options.

    Raises:
        NotFoundError: if none does; the message lists the registered kinds.
        InternalError: if several do.
    """
    _import_our_own()
    problems: list[str] = []
    kinds = _accepting(options, problems)
    if not kinds:
        problems += _load_entry_points()
        kinds = _accepting(options, problems)
    if len(kinds) == 1:
        return _FACTORIES[kinds[0]]
    registered = ", ".join(registered_factories())
    if kinds:
        raise InternalError(
            f"several session factories accept target {options.target!r}: {', '.join(kinds)}; registered: {registered}"
        )
    told = f" Could not be asked: {'; '.join(dict.fromkeys(problems))}" if problems else ""
    raise NotFoundError(
        f"No session factory registered for the given session options: target {options.target!r}; "
        f"registered: {registered}. Targets are {VALID_TARGETS}.{told}"
    )


def _accepting(options: SessionOptions, problems: list[str]) -> list[str]:
    """Return the names of the factories that accept the options; append failures to ``problems`` as
    text."""
    names = []
    for name, factory in sorted(_FACTORIES.copy().items()):  # a copy, because others may register
        try:
            if factory.accepts(options):
                names.append(name)
        except Exception as exc:
            # As for entry points that fail to load: one broken factory must not break all sessions.
            _log.warning("session factory %r cannot say what it accepts: %s", name, exc)
            problems.append(f"{name!r} ({type(exc).__name__}: {exc})")
    return names


def _import_our_own() -> None:
    """Register the factories of the library, which import this module."""
    from actorsession.session import factories  # noqa: F401 - registers them


def _load_entry_points() -> list[str]:
    """Register the kinds of session of other distributions; return the failures as text."""
    problems = []
    for entry in entry_points(ENTRY_POINTS):
        if entry.name in _FACTORIES:
            continue
        try:
            factory = entry.load()()
        except Exception as exc:
            # One broken distribution must not break the others; the error of the session reports it.
            warn_unusable(entry, exc)
            problems.append(f"{entry.name!r} from {entry.value} ({type(exc).__name__}: {exc})")
            continue
        if not isinstance(factory, SessionFactory):
            warn_unusable(entry, f"it makes {factory!r:.100}, which is no SessionFactory")
            problems.append(f"{entry.name!r} from {entry.value} (not a SessionFactory)")
            continue
        with _LOCK:
            _FACTORIES.setdefault(entry.name, factory)
    return problems

"""Session factories: which kind of session serves a target.

Each factory says which targets it accepts; exactly one must. The faces ask here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from actorsession.config import ConfigProto
from actorsession.errors import InternalError, NotFoundError
from actorsession.graph.graph import Graph

__all__ = ["SessionFactory", "SessionOptions", "get_factory", "register_factory"]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a new session is asked to be.

    Attributes:
        target: "" for this process, or an address.
        config: settings.
    """

    target: str
    config: ConfigProto


_Make: TypeAlias = Callable[[Graph, SessionOptions], Any]


@dataclass(frozen=True, slots=True)
class SessionFactory:
    """A kind of session.

    Attributes:
        name: runtime type, such as ``DIRECT_SESSION``.
        accepts: whether it serves a target.
        new_session: makes a session of it; does no I/O.
    """

    name: str
    accepts: Callable[[SessionOptions], bool]
    new_session: _Make


_FACTORIES: dict[str, SessionFactory] = {}


def register_factory(factory: SessionFactory) -> None:
    """Adds a kind of session.

    Raises:
        KeyError: if its name is taken.
    """
    if factory.name in _FACTORIES:
        raise KeyError(f"a session factory {factory.name!r} is registered already")
    _FACTORIES[factory.name] = factory


def get_factory(options: SessionOptions) -> SessionFactory:
    """The one factory that accepts the options.

    Raises:
        NotFoundError: if none does.
        InternalError: if several do.
    """
    found = [f for f in _FACTORIES.values() if f.accepts(options)]
    if len(found) == 1:
        return found[0]
    registered = ", ".join(sorted(_FACTORIES))
    if found:
        names = ", ".join(f.name for f in found)
        raise InternalError(
            f"several session factories accept target {options.target!r}: {names}; registered: {registered}"
        )
    raise NotFoundError(
        f"no session factory accepts target {options.target!r}; registered: {registered}. Targets are '' "
        "for this process, or tcp://host:port, unix:///path, inproc://name of a master"
    )

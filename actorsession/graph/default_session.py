"""The default session, and the evaluation of tensors and operations in it.

This module holds the stack of default sessions per thread and asyncio child, because ``Tensor.eval`` and
``Operation.run`` need it and the session package is above graphs. Sessions push themselves here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from actorsession.graph.default_stack import DefaultStack

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph

__all__ = ["DEFAULT_SESSIONS", "get_default_session", "run_in_session"]

DEFAULT_SESSIONS: DefaultStack[Any] = DefaultStack("actorsession_default_session")


class Runnable(Protocol):
    """An object that sessions can run: an operation, or an object that denotes a value."""

    @property
    def name(self) -> str:
        """The name, for messages."""

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""


def get_default_session() -> Any:
    """Return the innermost default session of this thread or asyncio child, or ``None``."""
    return DEFAULT_SESSIONS.get()


def _cannot(call: str) -> str:
    return "Cannot evaluate tensor using" if call == "eval()" else "Cannot execute operation using"


def run_in_session(element: Runnable, feed_dict: Mapping[Any, Any] | None, session: Any, call: str) -> Any:
    """Return the result of ``session.run(element, feed_dict)``, in the default session if none is given.

    Args:
        element: the tensor or operation to run.
        feed_dict: as in ``Session.run``.
        session: a session, or ``None`` for the default one.
        call: the user's call, for messages.

    Returns:
        The value; for an ``AsyncSession`` an awaitable of it.

    Raises:
        ValueError: without a session, or if it runs another graph.
    """
    given = session is not None
    if session is None:
        session = DEFAULT_SESSIONS.get()
    if session is None:
        raise ValueError(
            f"{_cannot(call)} `{call}`: No default session is registered. Use `with sess.as_default()` "
            f"around it or pass an explicit session to `{call[:-1]}session=sess)`; it was {element.name!r}"
        )
    if session.graph is not element.graph:
        which = "session that was passed" if given else "default session"
        what = "evaluate tensor" if call == "eval()" else "execute operation"
        raise ValueError(
            f"Cannot use the {which} to {what}: {element.name!r} belongs to another graph. Pass a session of "
            f"its graph to `{call[:-1]}session=sess)`"
        )
    return session.run(element, feed_dict)

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


def run_in_session(
    element: Runnable, feed_dict: Mapping[Any, Any] | None, session: Any, call: str
) -> Any:
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
            f"{element.name!r} cannot be run by {call}: No default session is registered. "
            f"Use `with session.as_default():` around it or pass one: {call[:-1]}session=...)"
        )
    if session.graph is not element.graph:
        which = "the session that was passed" if given else "the default session"
        raise ValueError(
            f"{element.name!r} cannot be run by {call}: it belongs to another graph than that of "
            f"{which}. Pass a session of its graph: {call[:-1]}session=...)"
        )
    return session.run(element, feed_dict)

"""Checks of the arguments of a saver's methods: sessions and step numbers."""

from __future__ import annotations

import inspect
import operator
from typing import Any

__all__ = ["check_session", "is_symbolic", "step_number"]


def check_session(sess: Any, *, awaited: bool) -> None:
    """Check that an object is a session of the expected API.

    Args:
        sess: the object to check.
        awaited: whether an ``AsyncSession`` is expected rather than a ``Session``.

    Raises:
        TypeError: for anything else.
    """
    run = getattr(sess, "run", None)
    if not callable(run) or not hasattr(sess, "graph"):
        raise TypeError(f"sess must be a session, got {type(sess).__name__}: {sess!r:.100}")
    if inspect.iscoroutinefunction(run) is not awaited:
        methods = "save and restore" if awaited else "save_async and restore_async"
        raise TypeError(f"for the session of type {type(sess).__name__} use {methods} of the Saver")


def is_symbolic(step: Any) -> bool:
    """Return whether a step number must be fetched: it is a tensor or a variable."""
    return hasattr(step, "_as_graph_element")


def step_number(step: Any) -> int:
    """Return the step number as an int.

    Raises:
        TypeError: if it is no whole number.
    """
    try:
        return operator.index(step.item() if hasattr(step, "item") else step)
    except (TypeError, ValueError):
        raise TypeError(f"global_step must be an int, or an integer tensor or variable, got {step!r:.100}") from None

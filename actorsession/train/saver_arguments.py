"""What the methods of a saver are given, checked: sessions and step numbers."""

from __future__ import annotations

import inspect
import operator
from typing import Any

__all__ = ["check_session", "is_symbolic", "step_number"]


def check_session(sess: Any, *, awaited: bool) -> None:
    """Refuse what is no session, or one of the other face.

    Args:
        sess: what is to be one.
        awaited: whether its steps are awaited.

    Raises:
        TypeError: for anything else.
    """
    run = getattr(sess, "run", None)
    if not callable(run) or not hasattr(sess, "graph"):
        raise TypeError(f"sess is a session, got {type(sess).__name__}: {sess!r:.100}")
    if inspect.iscoroutinefunction(run) is not awaited:
        right = "save and restore" if awaited else "save_async and restore_async"
        raise TypeError(f"a {type(sess).__name__} goes with {right} of a Saver")


def is_symbolic(step: Any) -> bool:
    """Return whether a step number must be fetched: it is a tensor or a variable."""
    return hasattr(step, "_as_graph_element")


def step_number(step: Any) -> int:
    """Return the step number as an int.

    Raises:
        TypeError: for what is no whole number.
    """
    try:
        return operator.index(step.item() if hasattr(step, "item") else step)
    except (TypeError, ValueError):
        raise TypeError(
            f"global_step is an int, or a tensor or variable of one, got {step!r:.100}"
        ) from None

"""Plans that nobody wants any more, as those of a session that was closed: they end at the next look.

Whoever plans in a thread sets ``CHECK`` in the context of its work. Expansions, passes and code generation
look every few nodes, in whatever thread they run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["CHECK", "check_wanted"]

CHECK: ContextVar[Callable[[], None] | None] = ContextVar("actorsession_plan_check", default=None)
"""Raises if the plan that is being made in this context is not wanted any more."""


def check_wanted() -> None:
    """Raise what ``CHECK`` does, if it was set."""
    check = CHECK.get()
    if check is not None:
        check()

"""The user's source line that builds a node, so that every error can point at it."""

from __future__ import annotations

import sys

__all__ = ["user_line"]

# Frames of these modules are ours; the demo is a user of the library like any other.
_OURS = "actorsession."
_USERS = ("actorsession.demo",)
_MAX_FRAMES = 40  # deep call chains of a user's own are not searched for ever


def user_line(skip: int = 2) -> str:
    """The nearest calling line outside the library as ``file:line``; empty if there is none.

    Args:
        skip: how many frames above this function to leave out.
    """
    frame = sys._getframe(skip)
    for _ in range(_MAX_FRAMES):
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS) or module.startswith(_USERS):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return ""

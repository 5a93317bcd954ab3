"""The user's source line that builds a node, so that every error can name it.

``Graph`` calls this once per node; it imports nothing of the library.
"""

from __future__ import annotations

import sys
from types import FrameType

__all__ = ["stack_level", "user_line"]

# Modules between the user and the graph: the library, and modules through which it calls itself. The demo
# and the program of the tour count as users of the library.
_OURS = ("actorsession.", "contextlib", "functools")
_USERS = ("actorsession.demo", "actorsession.cli.tour")
# What calls the callbacks of a loop: who has started the loop did not ask for what they build.
_LOOPS = ("asyncio.events", "actorsession.testing.simulation.schedule")
_MAX_FRAMES = 40  # longer call chains in user code are not searched

_known: dict[str, bool] = {}  # module name -> whether it is skipped


def user_line(skip: int = 2) -> str:
    """Return the nearest calling line outside the library as ``file:line``; empty if there is none.

    Args:
        skip: how many frames above this function to leave out.
    """
    frame: FrameType | None = sys._getframe(skip)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        module = frame.f_globals.get("__name__", "")
        skipped = _known.get(module)
        if skipped is None:
            skipped = _known[module] = _is_skipped(module)
        if not skipped:
            return "" if module in _LOOPS else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def stack_level() -> int:
    """Return the ``stacklevel`` by which a warning of the calling function points at the user's line."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _is_skipped(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    return level


def _is_skipped(module: str) -> bool:
    return module.startswith(_OURS) and not module.startswith(_USERS) and module not in _LOOPS

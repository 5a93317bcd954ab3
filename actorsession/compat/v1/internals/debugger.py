"""``tensorflow.python.debug``: there is no debugger, but programs import it for the case that they are asked.

Its classes fail when they are made. ``has_inf_or_nan``, a filter of values, is the one thing that works.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.compat.absent import reason_for

__all__ = [
    "DumpingDebugHook", "DumpingDebugWrapperSession", "LocalCLIDebugHook", "LocalCLIDebugWrapperSession",
    "TensorBoardDebugHook", "TensorBoardDebugWrapperSession", "add_debug_tensor_watch", "has_inf_or_nan",
    "watch_graph", "watch_graph_with_blacklists",
]  # fmt: skip


class _NoDebugger:
    """What a program gets that asks for the debugger: an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: {reason_for('python.debug')}")


class LocalCLIDebugWrapperSession(_NoDebugger):
    """A session with a debugger in the terminal."""


class DumpingDebugWrapperSession(_NoDebugger):
    """A session whose values are written to files."""


class TensorBoardDebugWrapperSession(_NoDebugger):
    """A session that TensorBoard debugs."""


class LocalCLIDebugHook(_NoDebugger):
    """A hook with a debugger in the terminal."""


class DumpingDebugHook(_NoDebugger):
    """A hook whose values are written to files."""


class TensorBoardDebugHook(_NoDebugger):
    """A hook that TensorBoard debugs."""


class watch_graph(_NoDebugger):
    """Asks for the values of a graph."""


class watch_graph_with_blacklists(_NoDebugger):
    """Asks for the values of a graph, except for some."""


class add_debug_tensor_watch(_NoDebugger):
    """Asks for a value."""


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Return whether a value has an infinite element, or one that is no number.

    Args:
        datum: what was recorded of the value; not looked at.
        tensor: the value.
    """
    value = np.asarray(tensor)
    return value.dtype.kind in "fc" and not bool(np.isfinite(value).all())

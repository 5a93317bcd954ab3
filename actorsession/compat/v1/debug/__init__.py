"""``tensorflow.python.debug``: watches, and sessions and hooks that keep values or show them at a prompt."""

from __future__ import annotations

from actorsession.compat.v1.debug.hooks import DumpingDebugHook, LocalCLIDebugHook
from actorsession.compat.v1.debug.runs import DebugDumpDir, has_inf_or_nan
from actorsession.compat.v1.debug.sessions import DumpingDebugWrapperSession, LocalCLIDebugWrapperSession
from actorsession.compat.v1.debug.watches import (
    WatchOptions,
    add_debug_tensor_watch,
    watch_graph,
    watch_graph_with_blacklists,
)
from actorsession.observe.debug import DebugTensorDatum

__all__ = [
    "DebugDumpDir",
    "DebugTensorDatum",
    "DumpingDebugHook",
    "DumpingDebugWrapperSession",
    "LocalCLIDebugHook",
    "LocalCLIDebugWrapperSession",
    "WatchOptions",
    "add_debug_tensor_watch",
    "has_inf_or_nan",
    "watch_graph",
    "watch_graph_with_blacklists",
]

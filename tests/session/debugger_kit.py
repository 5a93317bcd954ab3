"""Options of runs that watch, and what they saw."""

from __future__ import annotations

from typing import Any

from actorsession import RunOptions
from actorsession.config import DebugOptions, DebugTensorWatch

__all__ = ["BREAK", "seen", "watch", "watch_all"]


def watch(*nodes: str, slot: int = 0, **more: Any) -> RunOptions:
    """Options that watch nodes; what is no field of a watch is one of the options."""
    own = ("debug_ops", "debug_urls", "tolerate_debug_op_creation_failures")
    of_watch = {k: more.pop(k) for k in own if k in more}
    watches = [DebugTensorWatch(node_name=n, output_slot=slot, **of_watch) for n in nodes]
    return RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=watches, **more))


def watch_all(**more: Any) -> RunOptions:
    """Options that watch every output of every node."""
    return watch("*", slot=-1, **more)


BREAK = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf"))


def seen(session: Any) -> dict[str, Any]:
    """The values that were dumped, by their watch keys."""
    return {d.watch_key: d.value.tolist() for d in session.session.debug_dumps()}

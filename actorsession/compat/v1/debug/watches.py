"""Watches of the tensors of a graph, added to the options of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from actorsession.graph.dtypes import resource
from actorsession.graph.graph import Graph

__all__ = ["WatchOptions", "add_debug_tensor_watch", "watch_graph", "watch_graph_with_blacklists"]

_IDENTITY = "DebugIdentity"


class WatchOptions(NamedTuple):
    """What is watched in a run: the result of a ``watch_fn``.

    Attributes:
        debug_ops: what is kept of each value.
        node_name_regex_whitelist: regular expression of the names of nodes; ``None`` for all.
        op_type_regex_whitelist: likewise of their operation types.
        tensor_dtype_regex_whitelist: likewise of the names of element types.
        tolerate_debug_op_creation_failures: whether a debug op that does not suit a tensor is left out.
    """

    debug_ops: Any = (_IDENTITY,)
    node_name_regex_whitelist: str | None = None
    op_type_regex_whitelist: str | None = None
    tensor_dtype_regex_whitelist: str | None = None
    tolerate_debug_op_creation_failures: bool = False


def add_debug_tensor_watch(
    run_options: Any,
    node_name: str,
    output_slot: int = 0,
    debug_ops: str | Sequence[str] = _IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
) -> None:
    """Add the watch of a tensor to the options of a run.

    Args:
        run_options: a ``tf.RunOptions``, which is changed.
        node_name: name of the node.
        output_slot: which output.
        debug_ops: what is kept of the value.
        debug_urls: where it goes; the memory of the session if omitted.
        tolerate_debug_op_creation_failures: whether a debug op that does not suit the tensor is left out.
        global_step: the program's own count of steps; -1 for none.
    """
    options = run_options.debug_options
    options.global_step = global_step
    options.debug_tensor_watch_opts.add(
        node_name=node_name,
        output_slot=output_slot,
        debug_ops=_strings(debug_ops),
        debug_urls=_strings(debug_urls or "memory://"),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
    )


def watch_graph(
    run_options: Any,
    graph: Graph,
    debug_ops: str | Sequence[str] = _IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_whitelist: str | None = None,
    op_type_regex_whitelist: str | None = None,
    tensor_dtype_regex_whitelist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph whose node, operation type and element type match.

    Args:
        run_options: a ``tf.RunOptions``, which is changed.
        graph: the graph.
        debug_ops: what is kept of each value.
        debug_urls: where it goes; the memory of the session if omitted.
        node_name_regex_whitelist: regular expression that names of nodes match from their beginning; ``None``
            for all.
        op_type_regex_whitelist: likewise for operation types.
        tensor_dtype_regex_whitelist: likewise for names of element types.
        tolerate_debug_op_creation_failures: whether a debug op that does not suit a tensor is left out.
        global_step: the program's own count of steps; -1 for none.
        reset_disk_byte_usage: whether the session's count of bytes on disk begins anew.
    """
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    patterns = (node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist)
    if patterns == (None, None, None):
        tensors = [("*", -1)]
    else:
        tensors = _tensors(graph, lambda *names: all(map(_matches, patterns, names)))
    for node, slot in tensors:
        add_debug_tensor_watch(
            run_options, node, slot, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step
        )


def watch_graph_with_blacklists(
    run_options: Any,
    graph: Graph,
    debug_ops: str | Sequence[str] = _IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_blacklist: str | None = None,
    op_type_regex_blacklist: str | None = None,
    tensor_dtype_regex_blacklist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph, but none whose node, operation type or element type matches.

    Args:
        run_options: as for ``watch_graph``.
        graph: as for ``watch_graph``.
        debug_ops: as for ``watch_graph``.
        debug_urls: as for ``watch_graph``.
        node_name_regex_blacklist: regular expression of the names of nodes to leave out; ``None`` for none.
        op_type_regex_blacklist: likewise of operation types.
        tensor_dtype_regex_blacklist: likewise of names of element types.
        tolerate_debug_op_creation_failures: as for ``watch_graph``.
        global_step: as for ``watch_graph``.
        reset_disk_byte_usage: as for ``watch_graph``.
    """
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    patterns = (node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist)

    def is_wanted(*names: str) -> bool:
        pairs = zip(patterns, names, strict=True)
        return not any(p is not None and re.match(p, name) for p, name in pairs)

    for node, slot in _tensors(graph, is_wanted):
        add_debug_tensor_watch(
            run_options, node, slot, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step
        )


def _tensors(graph: Graph, is_wanted: Callable[[str, str, str], bool]) -> list[tuple[str, int]]:
    """Return node and output of each tensor for whose node, operation type and element type a rule holds."""
    return [
        (op.name, slot)
        for op in graph.get_operations()
        for slot, tensor in enumerate(op.outputs)
        if tensor.dtype is not resource and is_wanted(op.name, op.type, tensor.dtype.name)
    ]


def _matches(pattern: str | None, name: str) -> bool:
    return pattern is None or re.match(pattern, name) is not None


def _strings(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)

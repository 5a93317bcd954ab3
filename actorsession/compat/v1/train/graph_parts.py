"""Auxiliary operations of a training program, found in its graph or created.

``Scaffold`` and ``Supervisor`` use them. A created operation is added to its collection, where the next user
finds it, because the graph may be finalized by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.logging import get_logger

__all__ = ["default_local_init_op", "get_or_create"]

_log = get_logger()


def get_or_create(key: str, make: Callable[[], Any]) -> Any:
    """Return the first element of a collection of the default graph, or create and add one.

    Args:
        key: the collection.
        make: creates the element; ``None`` is not added to the collection.
    """
    graph = get_default_graph()
    there = graph.get_collection(key)
    if len(there) > 1:
        _log.info("collection %s has %d elements; the first one is used", key, len(there))
    if there:
        return there[0]
    element = make()
    if element is not None:
        graph.add_to_collection(key, element)
    return element


def default_local_init_op() -> Any:
    """Return an operation that initialises local variables and tables."""
    return ops.group(ops.local_variables_initializer(), opsets.tables_initializer())

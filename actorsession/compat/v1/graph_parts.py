"""The operations that a training program needs beside its own: found in its graph, or made.

``Scaffold`` and ``Supervisor`` ask for them. What is made goes into the collection where the next one finds
it, for the graph is finalized then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs import get_default_graph

__all__ = ["found_or_made", "initialises_locally"]

_log = logging.getLogger("actorsession.compat")


def found_or_made(key: str, make: Callable[[], Any]) -> Any:
    """Return the first of a collection of the default graph, else what is made, which goes there.

    Args:
        key: the collection.
        make: makes it; ``None`` goes nowhere.
    """
    graph = get_default_graph()
    there = graph.get_collection(key)
    if len(there) > 1:
        _log.info("there are %d of %s: the first one is used", len(there), key)
    if there:
        return there[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def initialises_locally() -> Any:
    """Make the operation that initialises what belongs to one session, and tables."""
    return ops.group(ops.local_variables_initializer(), ops.tables_initializer())

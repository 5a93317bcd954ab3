"""The graph beside a checkpoint, in this library's own form.

Owns that one file: a ``GraphDef`` as ``GraphDef.to_bytes`` makes it, and ``GraphDef.from_bytes`` reads it.
Collections are not in it.
"""

from __future__ import annotations

import logging
from typing import Any

from actorsession import checkpoints
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph

__all__ = ["write_graph"]

_log = logging.getLogger("actorsession.train")


def write_graph(path: str, graph: Graph) -> None:
    """Write a graph, whole or not at all; one with values that cannot be written is left out with a warning.

    Args:
        path: of the file.
        graph: the graph.

    Raises:
        OpError: if the file system refuses.
    """
    try:
        data = Graph.as_graph_def(graph).to_bytes()  # not a subclass's other form
    except InvalidArgumentError as exc:
        # The checkpoint itself is whole, and restores into any program that builds the same variables.
        _log.warning("the graph is not written to %r: %s", path, exc)
        return

    def write(file: Any) -> None:
        file.write(data)

    checkpoints.write_whole(path, write)

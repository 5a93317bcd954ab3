"""The file with the graph of a checkpoint, in this library's own format.

Owns that file: a ``GraphDef``, written by ``GraphDef.to_bytes`` and read by ``GraphDef.from_bytes``. It does
not contain collections.
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
    """Write a graph atomically, or log a warning if it contains values that cannot be written.

    Args:
        path: path of the file.
        graph: the graph.

    Raises:
        OpError: if the file system reports an error.
    """
    try:
        data = Graph.as_graph_def(graph).to_bytes()  # a subclass may have another form
    except InvalidArgumentError as exc:
        # The checkpoint itself is complete, and can be restored in any program that builds the same
        # variables.
        _log.warning("cannot write the graph to %r: %s", path, exc)
        return

    def write(file: Any) -> None:
        file.write(data)

    checkpoints.write_whole(path, write)

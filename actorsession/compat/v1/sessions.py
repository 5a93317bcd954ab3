"""Sessions that take TensorFlow's settings; everything else is ``actorsession.Session``'s."""

from __future__ import annotations

from typing import Any

import actorsession.session as ours
from actorsession import interop
from actorsession.compat.v1.graphs import adopted, get_default_graph
from actorsession.compat.v1.settings import as_settings
from actorsession.graph.graph import Graph

__all__ = ["InteractiveSession", "Session"]


class Session(ours.Session):
    """``actorsession.Session`` with settings that may have been filled in.

    Args:
        target: "" for this process, or the address of a master; ``grpc://`` stands for ``tcp://``.
        graph: the graph to run; the default graph if left out.
        config: settings.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        graph = get_default_graph() if graph is None else adopted(graph)
        super().__init__(target, graph, as_settings(config))

    @property
    def graph_def(self) -> interop.GraphDef:
        """The graph as TensorFlow's message."""
        return interop.graph_def_of(self.graph, add_shapes=True)


class InteractiveSession(ours.InteractiveSession):
    """``actorsession.InteractiveSession`` with settings that may have been filled in.

    Args:
        target: as for ``Session``.
        graph: as for ``Session``.
        config: as for ``Session``.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        graph = get_default_graph() if graph is None else adopted(graph)
        super().__init__(target, graph, as_settings(config))

    @property
    def graph_def(self) -> interop.GraphDef:
        """The graph as TensorFlow's message."""
        return interop.graph_def_of(self.graph, add_shapes=True)

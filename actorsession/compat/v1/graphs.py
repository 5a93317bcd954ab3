"""Graphs whose ``as_graph_def`` gives TensorFlow's ``GraphDef``.

``actorsession.Graph.as_graph_def`` gives the library's own plain data. A graph that a program was handed by
a TensorFlow name is a ``Graph`` of this module; the default graph, which others may have made, becomes one
when it is asked for here. It stays the same object.
"""

from __future__ import annotations

from typing import Any

from actorsession import interop
from actorsession.graph import graph as ours

__all__ = ["Graph", "get_default_graph"]


class Graph(ours.Graph):
    """``actorsession.Graph`` for programs that store it as TensorFlow does."""

    # Without attributes of its own: a graph of the class above may become one of this.

    def as_graph_def(  # type: ignore[override]
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        use_pybind11_proto: bool = False,
    ) -> interop.GraphDef:
        """Return the graph as TensorFlow's message.

        Args:
            from_version: how many operations, in the order they were built, are left out.
            add_shapes: whether nodes carry the static shapes of their outputs, as ``_output_shapes``.
            use_pybind11_proto: accepted for TensorFlow's sake.

        Raises:
            ValueError: for a node that has no such form.
        """
        return interop.graph_def_of(self, after=from_version or 0, add_shapes=add_shapes)


def get_default_graph() -> Any:
    """Return the innermost default graph of this thread, else the thread's own."""
    return adopted(ours.get_default_graph())


def adopted(graph: Any) -> Any:
    """A graph, which speaks TensorFlow's language from now on."""
    if type(graph) is ours.Graph:
        graph.__class__ = Graph
    return graph

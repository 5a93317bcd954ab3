"""The global step: the one variable of a graph that counts training steps."""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import int64
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.initializers import zeros_initializer
from actorsession.ops.variables import Variable

__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step"]


def get_global_step(graph: Graph | None = None) -> Any:
    """The variable that counts steps, or ``None`` if the graph has none.

    Args:
        graph: the default graph if left out.

    Raises:
        ValueError: if the graph has several.
        TypeError: if it is no integer scalar.
    """
    found = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(
            f"the graph has {len(found)} global steps, one at most makes sense: {found}"
        )
    step = found[0]
    if not step.dtype.is_integer or step.shape.rank not in (0, None):
        raise TypeError(f"a global step is an integer scalar, found {step!r}")
    return step


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the int64 variable ``global_step``, which starts at 0.

    Args:
        graph: the default graph if left out.

    Raises:
        ValueError: if the graph has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError(f"the graph has a global step: {get_global_step(graph)!r}")
    with graph.as_default(), graph.name_scope(None):
        first = zeros_initializer(int64)
        return Variable(
            lambda: first(()),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            name="global_step",
            dtype=int64,
            shape=(),
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The variable that counts steps, made if the graph has none.

    Args:
        graph: the default graph if left out.
    """
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found

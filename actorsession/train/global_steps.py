"""The global step: the one variable of a graph that counts training steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import int64
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.get_variable import get_variable
from actorsession.ops.variables.initializers import zeros_initializer
from actorsession.ops.variables.variable import Variable

__all__ = ["assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step", "global_step"]


def get_global_step(graph: Graph | None = None) -> Any:
    """Return the variable that counts steps, or ``None`` if the graph has none.

    Args:
        graph: the graph; the default graph if left out.

    Raises:
        ValueError: if the graph has several global steps.
        TypeError: if the variable is no integer scalar.
    """
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if not steps:
        # A variable that the program made itself, under the conventional name.
        named = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, "global_step:0$")
        steps = named[:1]
    if not steps:
        return None
    if len(steps) > 1:
        raise ValueError(f"the graph has {len(steps)} global steps, but there can be at most one: {steps}")
    assert_global_step(steps[0])
    return steps[0]


def assert_global_step(global_step_tensor: Any) -> None:
    """Check that a variable or tensor can count steps.

    Args:
        global_step_tensor: a variable or tensor.

    Raises:
        TypeError: if it is no integer scalar.
    """
    step = global_step_tensor
    if not isinstance(step, (Variable, Tensor)):
        raise TypeError(f"a global step must be a variable or tensor, got {step!r:.100}")
    if not step.dtype.is_integer or step.shape.rank not in (0, None):
        raise TypeError(f"a global step must be an integer scalar, found {step!r}")


def create_global_step(graph: Graph | None = None) -> Variable:
    """Create the int64 variable ``global_step``, which starts at 0.

    Args:
        graph: the graph; the default graph if left out.

    Raises:
        ValueError: if the graph already has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError(f"'global_step' already exists: {get_global_step(graph)!r}")
    with graph.as_default(), graph.name_scope(None):
        step: Variable = get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )
    return step


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the variable that counts steps, and create it if the graph has none.

    Args:
        graph: the graph; the default graph if left out.
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step in a session.

    Args:
        sess: the session.
        global_step_tensor: the variable or tensor that counts steps.
    """
    return int(np.asarray(sess.run(global_step_tensor)).item())

"""``tf.saved_model.main_op``: the operation that a loader runs after building the graph."""

from __future__ import annotations

from typing import Any

from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation
from actorsession.ops import global_variables_initializer, group, local_variables_initializer
from actorsession.opsets import tables_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op() -> Operation:
    """Return an operation that initialises all variables and tables."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Return an operation that initialises all variables and tables, and then restores values.

    Args:
        restore_op_name: the operation that restores, or its name.
    """
    graph = get_default_graph()
    with graph.control_dependencies([main_op()]):
        restore = graph.as_graph_element(restore_op_name)
        return group(restore)

"""``tf.saved_model.main_op``: the operation that a loader runs after building the graph."""

from __future__ import annotations

from actorsession.graph.operation import Operation
from actorsession.ops import global_variables_initializer, group, local_variables_initializer
from actorsession.opsets import tables_initializer

__all__ = ["main_op"]


def main_op() -> Operation:
    """Return an operation that initialises all variables and tables."""
    return group(
        global_variables_initializer(), local_variables_initializer(), tables_initializer()
    )

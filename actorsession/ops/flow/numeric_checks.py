"""A check of every floating number of a graph: ``add_check_numerics_ops``."""

from __future__ import annotations

from actorsession.graph.dtypes import float16, float32, float64
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation
from actorsession.ops.flow.assertions import check_numerics
from actorsession.ops.flow.control import group

__all__ = ["add_check_numerics_ops"]

# What loops and branches are made of, in either form.
_CONTROL = frozenset({
    "Case", "Enter", "Exit", "If", "Merge", "NextIteration", "RefEnter", "RefExit", "RefMerge",
    "RefNextIteration", "RefSwitch", "StatelessIf", "StatelessWhile", "Switch", "While",
})  # fmt: skip


def add_check_numerics_ops() -> Operation:
    """Check every floating tensor that the default graph has now, each after those it is made of.

    Returns:
        The operation that runs all checks; InvalidArgumentError in the step for the first tensor in which
        one of the numbers is NaN or infinite, which is named.

    Raises:
        ValueError: for a graph with floating numbers in loops or branches.
    """
    graph = get_default_graph()
    checks: list[Operation] = []
    for op in graph.get_operations():
        for tensor in op.outputs:
            if tensor.dtype not in (float16, float32, float64):
                continue
            if op.type in _CONTROL:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations "
                    f"such as `tf.cond()` or `tf.while_loop()`; found {op.name!r}."
                )
            with graph.control_dependencies(checks):
                checks = [check_numerics(tensor, f"{op.name}:{tensor.value_index}").op]
    return group(*checks)

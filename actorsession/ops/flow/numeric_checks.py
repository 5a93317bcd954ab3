"""A check of every floating tensor of a graph: ``add_check_numerics_ops``."""

from __future__ import annotations

from actorsession.graph.dtypes import float16, float32, float64
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation
from actorsession.ops.flow.assertions import check_numerics
from actorsession.ops.flow.control import group

__all__ = ["add_check_numerics_ops"]

# Op types of loops and branches, in either form.
_CONTROL = frozenset({
    "Case", "Enter", "Exit", "If", "Merge", "NextIteration", "RefEnter", "RefExit", "RefMerge",
    "RefNextIteration", "RefSwitch", "StatelessIf", "StatelessWhile", "Switch", "While",
})  # fmt: skip


def add_check_numerics_ops() -> Operation:
    """Add a check of every floating tensor of the default graph, each after the previous ones.

    Returns:
        The operation that runs all checks. The step fails with InvalidArgumentError at the first tensor in
        which a number is NaN or infinite; the error names it.

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

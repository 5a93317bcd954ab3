"""The nodes whose state a task keeps from one step to the next, and loses with its process.

Pure. The master of a session asks it when a worker has restarted, and the client when its master has.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.function import nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup

__all__ = ["VARIABLES", "holds_state", "named"]

VARIABLES = frozenset({"VarHandleOp", "Variable", "VariableV2"})
"""The operation types of variables."""

# Operations that are stateful because of their side effects, or because they read files and clocks; they keep
# nothing from one step to the next. Loops, branches and calls are judged by the nodes inside them.
_KEEP_NOTHING = frozenset({
    "Assert", "CheckNumerics", "If", "MatchingFiles", "MergeV2Checkpoints", "PartitionedCall", "Print",
    "ReadFile", "RemoteCall", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2",
    "StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "SymbolicGradient", "While",
    "WriteFile",
})  # fmt: skip
# Operations whose state belongs to one step.
_OF_STEPS = ("Stack", "TensorArray")
# Operations that learn from their inputs, whatever their seeds are.
_LEARN = frozenset({"LearnedUnigramCandidateSampler"})

# Limit on the names in an error; a model may have thousands of variables.
_NAMED = 20


def holds_state(node: NodeDef) -> bool:
    """Return whether a task keeps state of a node from one step to the next, which is lost with the task.

    For random numbers this is the position in a sequence that begins with a seed; without a seed, a sequence
    is as good as any other.
    """
    return any(_keeps(one) for one in (node, *[inner for inner, _ in nodes_inside(node)]))


def _keeps(node: NodeDef) -> bool:
    if not is_registered(node.op) or not lookup(node.op).stateful:
        return False
    if node.op in _KEEP_NOTHING or node.op.startswith(_OF_STEPS):
        return False
    if "seed" in node.attrs and node.op not in _LEARN:
        return bool(node.attrs["seed"] or node.attrs.get("seed2"))
    return True


def named(names: Sequence[str]) -> str:
    """Return names as text, shortened if there are many."""
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")

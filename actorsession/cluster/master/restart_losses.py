"""The cost of a restart: the variables of a session that are lost, and those restored from a snapshot.

Pure; master sessions use it for errors and for the answer to ``reattach``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorsession.graph.function import nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.runtime.resources import DEFAULT_CONTAINER

__all__ = ["VARIABLE", "holds_state", "named", "place_of", "restart_losses"]

VARIABLE = "VarHandleOp"
"""The operation type of a variable."""

# Operations that are stateful because of their side effects, or because they read files and clocks; they keep
# nothing from one step to the next. Loops, branches and calls are judged by the nodes inside them.
_KEEP_NOTHING = frozenset({
    "Assert", "CheckNumerics", "If", "MatchingFiles", "MergeV2Checkpoints", "PartitionedCall", "Print",
    "ReadFile", "RemoteCall", "RestoreV2", "SaveV2", "StatefulPartitionedCall", "SymbolicGradient", "While",
    "WriteFile",
})  # fmt: skip
# Operations whose state belongs to one step.
_OF_STEPS = ("StackV2", "StackPush", "StackPop", "StackClose", "TensorArray")
# Operations that learn from their inputs, whatever their seeds are.
_LEARN = frozenset({"LearnedUnigramCandidateSampler"})

# Limit on the names in an error; a model may have thousands of variables.
_NAMED = 20


def restart_losses(
    variables: Iterable[NodeDef], restored: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Separate variables that were restored from those that are lost.

    Args:
        variables: the session's variables on a task that has restarted.
        restored: the snapshot that the task was restored from, in wire form.

    Returns:
        The names of those that were restored, and of those that were not.
    """
    there = {(str(c), str(n)) for c, n in (restored or {}).get("variables", ())}
    back: list[str] = []
    lost: list[str] = []
    for node in variables:
        (back if place_of(node) in there else lost).append(node.name)
    return back, lost


def place_of(variable: NodeDef) -> tuple[str, str]:
    """Return the container of a variable and its name there."""
    container = variable.attrs.get("container") or DEFAULT_CONTAINER
    return container, variable.attrs.get("shared_name") or variable.name


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

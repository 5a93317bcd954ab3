"""What a restart has cost: which variables of a session are gone, and which came back from a snapshot.

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

# Operations that are stateful because of what they do, or because they read files and clocks; nothing of them
# is kept from one step to the next. Loops, branches and calls are what is inside of them.
_KEEP_NOTHING = frozenset({
    "Assert", "CheckNumerics", "If", "MatchingFiles", "MergeV2Checkpoints", "PartitionedCall", "Print",
    "ReadFile", "RemoteCall", "RestoreV2", "SaveV2", "StatefulPartitionedCall", "SymbolicGradient", "While",
    "WriteFile",
})  # fmt: skip
# What lives for one step.
_OF_STEPS = ("StackV2", "StackPush", "StackPop", "StackClose", "TensorArray")
# Those that learn from what they are given, whatever their seeds are.
_LEARN = frozenset({"LearnedUnigramCandidateSampler"})

# Names that an error holds; a model may have thousands of variables.
_NAMED = 20


def restart_losses(
    variables: Iterable[NodeDef], restored: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Tell variables that came back from those that are lost.

    Args:
        variables: the session's, on a task that has restarted.
        restored: the snapshot that the task came back with, in wire form.

    Returns:
        The names of those that came back, and of those that did not.
    """
    there = {(str(c), str(n)) for c, n in (restored or {}).get("variables", ())}
    back: list[str] = []
    lost: list[str] = []
    for node in variables:
        (back if place_of(node) in there else lost).append(node.name)
    return back, lost


def place_of(variable: NodeDef) -> tuple[str, str]:
    """Return the container of a variable, and what it is called there."""
    container = variable.attrs.get("container") or DEFAULT_CONTAINER
    return container, variable.attrs.get("shared_name") or variable.name


def holds_state(node: NodeDef) -> bool:
    """Return whether something of a node is kept by its task from one step to the next, and is lost with it.

    Of random numbers it is the place in a sequence that begins with a seed; without one, a sequence is as
    good as any other.
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
    """Some names in words."""
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")

"""What ``tensorflow.python.ops.control_flow_util`` tells of nodes: which part of a branch or loop one is.

Branches and loops that are built here are nodes with functions; graphs that were imported may still have
the nodes of TensorFlow's own form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "ENABLE_CONTROL_FLOW_V2",
    "IsCondMerge",
    "IsCondSwitch",
    "IsLoopConstantEnter",
    "IsLoopEnter",
    "IsLoopExit",
    "IsLoopMerge",
    "IsLoopSwitch",
    "IsMerge",
    "IsSwitch",
]


# Whether programs see loops and branches as single nodes; their errors and names are those of the older form.
ENABLE_CONTROL_FLOW_V2 = False


def _is_one_of(*types: str) -> Callable[[Any], bool]:
    every = {name for each in types for name in (each, f"Ref{each}")}

    def asked(op: Any) -> bool:
        return op.type in every

    asked.__doc__ = f"Return whether an operation is of type {' or '.join(types)}, by value or reference."
    return asked


IsSwitch, IsMerge = _is_one_of("Switch"), _is_one_of("Merge")
IsLoopEnter, IsLoopExit = _is_one_of("Enter"), _is_one_of("Exit")


def IsLoopConstantEnter(op: Any) -> bool:
    """Return whether an operation brings a value into a loop that stays the same in all iterations."""
    return IsLoopEnter(op) and bool(op.get_attr("is_constant"))


def _feeds_a_loop(op: Any) -> bool:
    """Whether an operation's last input is the condition of a loop."""
    return bool(op.inputs) and op.inputs[len(op.inputs) - 1].op.type == "LoopCond"


def IsLoopSwitch(op: Any) -> bool:
    """Return whether an operation lets a loop go on or end."""
    return IsSwitch(op) and _feeds_a_loop(op)


def IsCondSwitch(op: Any) -> bool:
    """Return whether an operation leads into the branches of a ``cond``."""
    return IsSwitch(op) and not _feeds_a_loop(op)


def IsLoopMerge(op: Any) -> bool:
    """Return whether an operation is where the iterations of a loop begin."""
    kinds = {each.op.type for each in op.inputs}
    return IsMerge(op) and bool(kinds & {"NextIteration", "RefNextIteration"})


def IsCondMerge(op: Any) -> bool:
    """Return whether an operation is where the branches of a ``cond`` meet."""
    return IsMerge(op) and not IsLoopMerge(op)

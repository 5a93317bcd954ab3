"""The operation types of primitive loops and conditionals, and the cycles that they form.

A dataflow graph has one kind of cycle: a ``Merge`` that reads a ``NextIteration`` of the same loop. Such an
edge is a **back edge**; walks of a graph from producers to consumers leave it out. Planners, the op files of
these types and the import of graphs use this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorsession.graph.operation import Operation

__all__ = [
    "ENTERS",
    "EXITS",
    "LOOP_COND",
    "MERGES",
    "NEXT_ITERATIONS",
    "PRIMITIVES",
    "SWITCHES",
    "TRIGGER",
    "is_back_edge",
    "reads",
]

SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
LOOP_COND = "LoopCond"
TRIGGER = "ControlTrigger"
PRIMITIVES = SWITCHES | MERGES | ENTERS | EXITS | NEXT_ITERATIONS | {LOOP_COND, TRIGGER}
"""All of them. A plan with one runs on the dataflow engine."""


def is_back_edge(consumer: str, producer: str) -> bool:
    """Return whether a data edge between nodes of two types closes a loop."""
    return consumer in MERGES and producer in NEXT_ITERATIONS


def reads(op: Operation, other: Operation) -> bool:
    """Return whether an operation is or depends on another one, without following back edges."""
    seen, waiting = {op}, [op]
    while waiting:
        at = waiting.pop()
        if at is other:
            return True
        before = {*[t.op for t in at.inputs if not is_back_edge(at.type, t.op.type)]}
        before.update(at.control_inputs)
        waiting.extend(before - seen)
        seen |= before
    return False

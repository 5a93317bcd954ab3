"""Control predicates: the conditions under which the values of a graph with primitive control flow are alive.

The control predicate of a node is the set of choices under which it is alive. Each choice is a boolean tensor
and one of its two sides. A node has all choices of its inputs, a Switch adds a choice to each output, and a
Merge of both sides removes it again. The empty set belongs to values that are always alive. Within a loop,
the control predicate describes an iteration, provided that the loop as a whole is alive; the LoopCond is a
choice like any other.

Nodes that do not fit this scheme, and all nodes behind them, have no control predicate. ``loops`` and
``conditionals`` use this.
"""

from __future__ import annotations

from collections.abc import Iterable

from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.node import NodeDef
from actorsession.plan.control_flow.frames import Frame
from actorsession.plan.control_flow.rewrite import GraphRewriter, Ref, RefusedError

__all__ = ["Predicate", "Predicates", "is_loop_merge", "predicate_of"]

Predicate = frozenset[tuple[Ref, int]]
_ALWAYS: Predicate = frozenset()
_KNOWN = frozenset({"Enter", "Merge", "Switch", "NextIteration", "LoopCond"})


class Predicates:
    """The control predicates of the nodes of a frame.

    Args:
        rewriter: the graph.
        frame: the frame.

    Attributes:
        order: its nodes, producers first.
        choice: the boolean tensor whose choice each Merge of two sides ends.

    Raises:
        RefusedError: for a loop that may be partially dead.
        ValueError: for a cycle that is no loop.
    """

    def __init__(self, rewriter: GraphRewriter, frame: Frame) -> None:
        self._rewriter = rewriter
        self._choices_of: dict[str, Predicate | None] = {}
        self.order = rewriter.ordered(rewriter.members.get(frame, ()))
        self.choice: dict[str, Ref] = {}
        for name in self.order:
            self._choices_of[name] = self._choices(rewriter.nodes[name])

    def of(self, name: str) -> Predicate | None:
        """Return the control predicate of a node."""
        return self._choices_of.get(name)

    def of_value(self, ref: Ref) -> Predicate | None:
        """Return the control predicate of a value."""
        choices = self._choices_of.get(ref[0])
        node = self._rewriter.nodes[ref[0]]
        if choices is None or node.op != "Switch":
            return choices
        return choices | {(predicate_of(self._rewriter, node.inputs[1]), ref[1])}

    def _choices(self, node: NodeDef) -> Predicate | None:
        if node.op == "Enter":
            return _ALWAYS
        if node.op == "Merge":
            return self._merged(node)
        if node.op in PRIMITIVES and node.op not in _KNOWN:
            return None
        choices = self._union(node.inputs, node.control_inputs)
        if node.name in self._rewriter.loops:
            self._check_loop(node, choices)
        if node.op == "Switch" and choices is not None:
            predicate = predicate_of(self._rewriter, node.inputs[1])
            if (predicate, 0) in choices or (predicate, 1) in choices:
                return None
        return choices

    def _union(self, refs: Iterable[Ref], control: Iterable[str] = ()) -> Predicate | None:
        """Return the control predicate of a node that needs several values."""
        predicates = [*[self.of_value(ref) for ref in refs], *[self.of(name) for name in control]]
        choices = _ALWAYS
        for each in predicates:
            if each is None:
                return None
            choices |= each
        sides = {predicate for predicate, _ in choices}
        return choices if len(sides) == len(choices) else None

    def _merged(self, node: NodeDef) -> Predicate | None:
        if is_loop_merge(self._rewriter, node):
            return _ALWAYS
        if node.control_inputs or len(node.inputs) != 2:
            return None
        one, other = [self.of_value(ref) for ref in node.inputs]
        if one is None or other is None or len(one) != len(other) or len(one - other) != 1:
            return None
        ((predicate, side),) = one - other
        if other - one != {(predicate, 1 - side)}:
            return None
        self.choice[node.name] = predicate
        return one & other

    def _check_loop(self, node: NodeDef, choices: Predicate | None) -> None:
        """Refuse a loop whose condition and other inputs may be alive without each other."""
        loop = self._rewriter.loops[node.name]
        if choices is None or self._union([node.inputs[k] for k in loop.decides]) != choices:
            raise RefusedError(loop.frame)


def is_loop_merge(rewriter: GraphRewriter, node: NodeDef) -> bool:
    """Return whether a node is the Merge of a variable of a loop, as TensorFlow builds it."""
    if node.op != "Merge" or len(node.inputs) != 2 or node.control_inputs:
        return False
    first, second = [rewriter.nodes[name].op for name, _ in node.inputs]
    return (first, second) == ("Enter", "NextIteration")


def predicate_of(rewriter: GraphRewriter, ref: Ref) -> Ref:
    """Return the tensor that a boolean tensor is a copy of."""
    node = rewriter.nodes[ref[0]]
    while node.op == "Identity" and not node.control_inputs:
        ref = node.inputs[0]
        node = rewriter.nodes[ref[0]]
    return ref

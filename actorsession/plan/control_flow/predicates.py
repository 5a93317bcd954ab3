"""Ways: when the values of a graph of single operations live.

The way of a node is the set of choices under which it lives, each a predicate and which of its two sides; a
node is on all the ways that what it reads is on, a Switch adds a choice to each output, and a Merge of
both sides takes it off again. The empty way is that of what lives always. Within a loop a way says when
a value lives in an iteration, if the loop as a whole does; its LoopCond is a predicate like any other.

Nothing is said of what does not fit: those nodes, and all behind them, are without a way. Called by
``lift_loops`` and ``lift_branches``.
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
    """The ways of the nodes of a frame.

    Args:
        draft: the graph.
        frame: the frame.

    Attributes:
        order: its nodes, producers first.
        choice: the predicate that each Merge of two sides ends.

    Raises:
        RefusedError: for a loop that may live in part.
        ValueError: for a cycle that is no loop.
    """

    def __init__(self, draft: GraphRewriter, frame: Frame) -> None:
        self._draft = draft
        self._ways: dict[str, Predicate | None] = {}
        self.order = draft.ordered(draft.members.get(frame, ()))
        self.choice: dict[str, Ref] = {}
        for name in self.order:
            self._ways[name] = self._way(draft.nodes[name])

    def of(self, name: str) -> Predicate | None:
        """Return the way of a node."""
        return self._ways.get(name)

    def of_value(self, ref: Ref) -> Predicate | None:
        """Return the way of a value."""
        way = self._ways.get(ref[0])
        node = self._draft.nodes[ref[0]]
        if way is None or node.op != "Switch":
            return way
        return way | {(predicate_of(self._draft, node.inputs[1]), ref[1])}

    def _way(self, node: NodeDef) -> Predicate | None:
        if node.op == "Enter":
            return _ALWAYS
        if node.op == "Merge":
            return self._merged(node)
        if node.op in PRIMITIVES and node.op not in _KNOWN:
            return None
        way = self._together(node.inputs, node.control_inputs)
        if node.name in self._draft.loops:
            self._check_loop(node, way)
        if node.op == "Switch" and way is not None:
            predicate = predicate_of(self._draft, node.inputs[1])
            if (predicate, 0) in way or (predicate, 1) in way:
                return None
        return way

    def _together(self, refs: Iterable[Ref], control: Iterable[str] = ()) -> Predicate | None:
        """Return the way of what needs several values."""
        found = [*[self.of_value(ref) for ref in refs], *[self.of(name) for name in control]]
        way = _ALWAYS
        for each in found:
            if each is None:
                return None
            way |= each
        sides = {predicate for predicate, _ in way}
        return way if len(sides) == len(way) else None

    def _merged(self, node: NodeDef) -> Predicate | None:
        if is_loop_merge(self._draft, node):
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

    def _check_loop(self, node: NodeDef, way: Predicate | None) -> None:
        """Refuse a loop of which something may live while its condition is dead, or the other way round."""
        loop = self._draft.loops[node.name]
        if way is None or self._together([node.inputs[k] for k in loop.decides]) != way:
            raise RefusedError(loop.frame)


def is_loop_merge(draft: GraphRewriter, node: NodeDef) -> bool:
    """Return whether a node is the Merge of a variable of a loop, as TensorFlow builds it."""
    if node.op != "Merge" or len(node.inputs) != 2 or node.control_inputs:
        return False
    first, second = [draft.nodes[name].op for name, _ in node.inputs]
    return (first, second) == ("Enter", "NextIteration")


def predicate_of(draft: GraphRewriter, ref: Ref) -> Ref:
    """Return what a predicate is a copy of."""
    node = draft.nodes[ref[0]]
    while node.op == "Identity" and not node.control_inputs:
        ref = node.inputs[0]
        node = draft.nodes[ref[0]]
    return ref

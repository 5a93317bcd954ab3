"""Functionalization of loops: primitive loops, as TensorFlow's ``while_loop`` builds them, become ``While``.

A loop is functionalized if all of the following holds, and left as it is otherwise:

- each variable is a Merge of an Enter and a NextIteration, read by Switches on the one LoopCond; other Enters
  are constant; the only way out is through Exits of those Switches;
- every node of the frame is on one device, is no fetch or target, and waits for nothing outside the step;
- every other node is alive either in each iteration, and then belongs to the condition, or in each but the
  last, in which the loop only ends. So nothing runs more or less often than before.

``functionalize`` calls this, for inner loops first, after the conditionals in the frame.
"""

from __future__ import annotations

from dataclasses import field

from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.dtypes import resource
from actorsession.graph.function import WHILE
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.control_flow.frames import Frame
from actorsession.plan.control_flow.predicates import Predicate, Predicates, is_loop_merge
from actorsession.plan.control_flow.rewrite import (
    FunctionWriter,
    GraphRewriter,
    LiftedLoop,
    Ref,
    is_plain,
    is_pure,
    producers,
)
from actorsession.records import dataclass

__all__ = ["functionalize_loop"]

# These may run in one more iteration, or not at all, because they cannot fail.
_HARMLESS = frozenset({"Identity", "Const"})


class _NotCanonicalError(Exception):
    """A loop that is left as it is."""


def functionalize_loop(draft: GraphRewriter, frame: Frame) -> bool:
    """Replace a loop by one node if that is equivalent, and return whether it was replaced.

    Raises:
        RefusedError: for a loop within it that may be partially dead.
    """
    try:
        ways = Predicates(draft, frame)
        loop = _Loop(draft, frame, ways)
        loop.check()
        loop.lift()
    except (_NotCanonicalError, ValueError):
        return False
    return True


def _require(holds: bool) -> None:
    if not holds:
        raise _NotCanonicalError


@dataclass(slots=True)
class _Parts:
    """The nodes of a frame by their roles.

    Attributes:
        conds: the LoopCond nodes.
        merges: the Merges of the variables.
        constants: the constant Enters.
        firsts: the Enters of the variables.
        nexts: the NextIterations of the variables.
        switches: the Switches of the variables.
        exits: the Exits.
        test: nodes that are alive in each iteration.
        body: nodes that are alive in each iteration but the last.
    """

    conds: list[str] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    firsts: set[str] = field(default_factory=set)
    nexts: set[str] = field(default_factory=set)
    switches: list[str] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)


class _Loop:
    """A loop that may be functionalized.

    Args:
        draft: the graph.
        frame: the loop's.
        ways: control predicates of its nodes.
    """

    def __init__(self, draft: GraphRewriter, frame: Frame, ways: Predicates) -> None:
        self.draft = draft
        self.frame = frame
        self.ways = ways
        self.parts = _Parts()
        self.names = list(ways.order)
        self._sort()
        parts = self.parts
        _require(len(parts.conds) == 1 and bool(parts.merges))
        self.cond = draft.nodes[parts.conds[0]]
        self.number = {name: k for k, name in enumerate(parts.merges)}
        self.switches = set(parts.switches)
        self.structure = {
            *parts.conds, *parts.merges, *parts.constants, *parts.firsts, *parts.nexts, *parts.switches,
        }  # fmt: skip

    def _sort(self) -> None:
        draft, parts = self.draft, self.parts
        for name in self.names:
            node = draft.nodes[name]
            match node.op:
                case "Enter":
                    (parts.constants.append if node.attrs["is_constant"] else parts.firsts.add)(
                        name
                    )
                case "Merge":
                    _require(is_loop_merge(draft, node))
                    parts.merges.append(name)
                case "Switch":
                    parts.switches.append(name)
                    parts.exits += [r for r in draft.readers[name] if draft.nodes[r].op == "Exit"]
                case "NextIteration":
                    parts.nexts.add(name)
                case "LoopCond":
                    parts.conds.append(name)
                case _:
                    _require(node.op not in PRIMITIVES and is_plain(node))
                    self._sort_plain(name)

    def _sort_plain(self, name: str) -> None:
        way = self.ways.of(name)
        _require(way is not None)
        (self.parts.body if way else self.parts.test).append(name)

    # -- whether it is canonical ---------------------------------------------------------------

    def check(self) -> None:
        """Refuse a loop that is not of the form that ``while_loop`` builds."""
        draft, parts = self.draft, self.parts
        mine = {*self.names, *parts.exits}
        device = draft.device_of[self.cond.name]
        for name in mine:
            _require(draft.device_of[name] == device)
        for name in self.names:
            _require(name not in draft.kept and mine.issuperset(draft.readers[name]))
        self._check_structure()
        alive: Predicate = frozenset({((self.cond.name, 0), 1)})
        _require(self.ways.of(self.cond.name) == frozenset())
        _require(all(self.ways.of(name) == alive for name in (*parts.body, *parts.nexts)))
        self.needed = self._upstream([self.cond.inputs[0][0], *self.cond.control_inputs])
        shared = self._upstream([n for name in parts.body for n in producers(draft.nodes[name])])
        shared |= self._upstream([p for n in parts.nexts for p in producers(draft.nodes[n])])
        tests = set(parts.test)
        self.shared = shared & tests
        _require(all(is_pure(draft.nodes[name]) for name in self.shared))
        left = tests - self.needed
        _require(all(draft.nodes[name].op in _HARMLESS for name in left))

    def _check_structure(self) -> None:
        draft, parts = self.draft, self.parts
        merges = set(parts.merges)
        _require(all(draft.nodes[name].inputs[0][0] in parts.firsts for name in merges))
        for name in parts.firsts:
            for reader in draft.readers[name]:
                _require(reader in merges and draft.nodes[reader].inputs[0][0] == name)
        taken = [draft.nodes[name].inputs[1][0] for name in parts.merges]
        _require(set(taken) == parts.nexts and len(taken) == len(parts.nexts))
        for name in parts.merges:
            _require(draft.spec((name, 0)).dtype is not resource)
            for reader in draft.readers[name]:
                _require((name, 1) not in draft.nodes[reader].inputs)
        for name in parts.switches:
            node = draft.nodes[name]
            _require(node.inputs[0][0] in merges and node.inputs[1] == (self.cond.name, 0))
            _require(self.structure.issuperset(node.control_inputs))
        _require(all(reader in self.switches for reader in draft.readers[self.cond.name]))
        for name in parts.exits:
            node = draft.nodes[name]
            _require(node.inputs[0][1] == 0 and not node.control_inputs)
        for name in parts.nexts:
            for reader in draft.readers[name]:
                _require(draft.nodes[reader].inputs[1:] == ((name, 0),))
        read = {ref for name in self.names for ref in draft.nodes[name].inputs}
        _require(all((name, 0) not in read for name in parts.switches))

    def _upstream(self, names: list[str]) -> set[str]:
        """Return the nodes of the frame that others need in the same iteration, including structural ones."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            if name not in self.structure:
                waiting.extend(producers(self.draft.nodes[name]))
        return found

    # -- the loop as one node ------------------------------------------------------------------

    def lift(self) -> None:
        """Replace the loop by one ``While``."""
        draft, parts = self.draft, self.parts
        count = len(parts.merges)
        given: dict[Ref, int] = {(name, 0): k for name, k in self.number.items()}
        given |= {
            (name, 1): self.number[draft.nodes[name].inputs[0][0]] for name in parts.switches
        }  # fmt: skip
        through = {(name, 0): draft.nodes[name].inputs[0] for name in parts.constants}
        captures: dict[Ref, int] = {}

        def writer(inside: set[str]) -> FunctionWriter:
            return FunctionWriter(draft, inside, given, captures, count, through, self.structure)

        test = writer(self.needed - self.structure)
        goes_on = test.passing(self.cond.name, self.cond.inputs[0], self.cond.control_inputs)
        turn = writer({*parts.body, *self.shared})
        values = []
        for name in parts.merges:
            following = draft.nodes[draft.nodes[name].inputs[1][0]]
            values.append(
                turn.passing(following.name, following.inputs[0], following.control_inputs)
            )
        specs = [draft.spec((name, 0)) for name in parts.merges]
        firsts = [draft.nodes[draft.nodes[name].inputs[0][0]].inputs[0] for name in parts.merges]
        self._put(firsts, captures, specs, test, turn, goes_on, values)

    def _put(
        self,
        firsts: list[Ref],
        captures: dict[Ref, int],
        specs: list[TensorSpec],
        test: FunctionWriter,
        turn: FunctionWriter,
        goes_on: Ref,
        values: list[Ref],
    ) -> None:
        draft, parts = self.draft, self.parts
        entered = [*parts.constants, *sorted(parts.firsts, key=draft.position.__getitem__)]
        before = dict.fromkeys([c for e in entered for c in draft.nodes[e].control_inputs])
        first = draft.nodes[parts.switches[0]]
        exits = {name: self._variable(name) for name in parts.exits}
        node = NodeDef(
            name=first.name, op=WHILE, inputs=(*firsts, *captures), control_inputs=tuple(before),
            device=first.device, source=first.source, outputs=tuple(specs),
            attrs={
                "cond": test.defined(specs, [goes_on]), "body": turn.defined(specs, values),
            },
        )  # fmt: skip
        decides = self._decides(captures)
        assert self.frame.parent is not None
        draft.construct(node, self.frame.parent, self.names)
        draft.loops[node.name] = LiftedLoop(self.frame, decides)
        for name, k in exits.items():
            old = draft.nodes[name]
            draft.replace(NodeDef(
                name=name, op="Identity", inputs=((node.name, k),), device=old.device,
                source=old.source, outputs=old.outputs,
            ))  # fmt: skip

    def _variable(self, exit_: str) -> int:
        """Return the number of the variable that an Exit returns."""
        switch = self.draft.nodes[exit_].inputs[0][0]
        return self.number[self.draft.nodes[switch].inputs[0][0]]

    def _decides(self, captures: dict[Ref, int]) -> frozenset[int]:
        """Return the inputs that the condition needs in the first iteration."""
        found = set()
        for name in self.needed & self.structure:
            node = self.draft.nodes[name]
            if node.op == "Merge":
                found.add(self.number[name])
            elif node.op == "Enter":
                read = node.inputs[0]
                if read in captures:
                    found.add(len(self.parts.merges) + captures[read])
        return frozenset(found)

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


def functionalize_loop(rewriter: GraphRewriter, frame: Frame) -> bool:
    """Replace a loop by one node if that is equivalent, and return whether it was replaced.

    Raises:
        RefusedError: for a loop within it that may be partially dead.
    """
    try:
        predicates = Predicates(rewriter, frame)
        loop = _Loop(rewriter, frame, predicates)
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
        rewriter: the graph.
        frame: the loop's.
        predicates: control predicates of its nodes.
    """

    def __init__(self, rewriter: GraphRewriter, frame: Frame, predicates: Predicates) -> None:
        self.rewriter = rewriter
        self.frame = frame
        self.predicates = predicates
        self.parts = _Parts()
        self.names = list(predicates.order)
        self._sort()
        parts = self.parts
        _require(len(parts.conds) == 1 and bool(parts.merges))
        self.cond = rewriter.nodes[parts.conds[0]]
        self.number = {name: k for k, name in enumerate(parts.merges)}
        self.switches = set(parts.switches)
        self.structure = {*parts.conds, *parts.merges, *parts.constants, *parts.firsts, *parts.nexts, *parts.switches}

    def _sort(self) -> None:
        rewriter, parts = self.rewriter, self.parts
        for name in self.names:
            node = rewriter.nodes[name]
            match node.op:
                case "Enter":
                    (parts.constants.append if node.attrs["is_constant"] else parts.firsts.add)(name)
                case "Merge":
                    _require(is_loop_merge(rewriter, node))
                    parts.merges.append(name)
                case "Switch":
                    parts.switches.append(name)
                    parts.exits += [r for r in rewriter.readers[name] if rewriter.nodes[r].op == "Exit"]
                case "NextIteration":
                    parts.nexts.add(name)
                case "LoopCond":
                    parts.conds.append(name)
                case _:
                    _require(node.op not in PRIMITIVES and is_plain(node))
                    self._sort_plain(name)

    def _sort_plain(self, name: str) -> None:
        choices = self.predicates.of(name)
        _require(choices is not None)
        (self.parts.body if choices else self.parts.test).append(name)

    # -- whether it is canonical ---------------------------------------------------------------

    def check(self) -> None:
        """Refuse a loop that is not of the form that ``while_loop`` builds."""
        rewriter, parts = self.rewriter, self.parts
        mine = {*self.names, *parts.exits}
        device = rewriter.device_of[self.cond.name]
        for name in mine:
            _require(rewriter.device_of[name] == device)
        for name in self.names:
            _require(name not in rewriter.kept and mine.issuperset(rewriter.readers[name]))
        self._check_structure()
        alive: Predicate = frozenset({((self.cond.name, 0), 1)})
        _require(self.predicates.of(self.cond.name) == frozenset())
        _require(all(self.predicates.of(name) == alive for name in (*parts.body, *parts.nexts)))
        self.needed = self._upstream([self.cond.inputs[0][0], *self.cond.control_inputs])
        shared = self._upstream([n for name in parts.body for n in producers(rewriter.nodes[name])])
        shared |= self._upstream([p for n in parts.nexts for p in producers(rewriter.nodes[n])])
        tests = set(parts.test)
        self.shared = shared & tests
        _require(all(is_pure(rewriter.nodes[name]) for name in self.shared))
        left = tests - self.needed
        _require(all(rewriter.nodes[name].op in _HARMLESS for name in left))

    def _check_structure(self) -> None:
        rewriter, parts = self.rewriter, self.parts
        merges = set(parts.merges)
        _require(all(rewriter.nodes[name].inputs[0][0] in parts.firsts for name in merges))
        for name in parts.firsts:
            for reader in rewriter.readers[name]:
                _require(reader in merges and rewriter.nodes[reader].inputs[0][0] == name)
        taken = [rewriter.nodes[name].inputs[1][0] for name in parts.merges]
        _require(set(taken) == parts.nexts and len(taken) == len(parts.nexts))
        for name in parts.merges:
            _require(rewriter.spec((name, 0)).dtype is not resource)
            for reader in rewriter.readers[name]:
                _require((name, 1) not in rewriter.nodes[reader].inputs)
        for name in parts.switches:
            node = rewriter.nodes[name]
            _require(node.inputs[0][0] in merges and node.inputs[1] == (self.cond.name, 0))
            _require(self.structure.issuperset(node.control_inputs))
        _require(all(reader in self.switches for reader in rewriter.readers[self.cond.name]))
        for name in parts.exits:
            node = rewriter.nodes[name]
            _require(node.inputs[0][1] == 0 and not node.control_inputs)
        for name in parts.nexts:
            for reader in rewriter.readers[name]:
                _require(rewriter.nodes[reader].inputs[1:] == ((name, 0),))
        read = {ref for name in self.names for ref in rewriter.nodes[name].inputs}
        _require(all((name, 0) not in read for name in parts.switches))

    def _upstream(self, names: list[str]) -> set[str]:
        """Return the nodes of the frame that others need in the same iteration, including structural ones."""
        upstream: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in upstream:
                continue
            upstream.add(name)
            if name not in self.structure:
                waiting.extend(producers(self.rewriter.nodes[name]))
        return upstream

    # -- the loop as one node ------------------------------------------------------------------

    def lift(self) -> None:
        """Replace the loop by one ``While``."""
        rewriter, parts = self.rewriter, self.parts
        count = len(parts.merges)
        given: dict[Ref, int] = {(name, 0): k for name, k in self.number.items()}
        given |= {(name, 1): self.number[rewriter.nodes[name].inputs[0][0]] for name in parts.switches}
        through = {(name, 0): rewriter.nodes[name].inputs[0] for name in parts.constants}
        captures: dict[Ref, int] = {}

        def writer(inside: set[str]) -> FunctionWriter:
            return FunctionWriter(rewriter, inside, given, captures, count, through, self.structure)

        test = writer(self.needed - self.structure)
        condition = test.passing(self.cond.name, self.cond.inputs[0], self.cond.control_inputs)
        body = writer({*parts.body, *self.shared})
        values = []
        for name in parts.merges:
            following = rewriter.nodes[rewriter.nodes[name].inputs[1][0]]
            values.append(body.passing(following.name, following.inputs[0], following.control_inputs))
        specs = [rewriter.spec((name, 0)) for name in parts.merges]
        firsts = [rewriter.nodes[rewriter.nodes[name].inputs[0][0]].inputs[0] for name in parts.merges]
        self._put(firsts, captures, specs, test, body, condition, values)

    def _put(
        self,
        firsts: list[Ref],
        captures: dict[Ref, int],
        specs: list[TensorSpec],
        test: FunctionWriter,
        body: FunctionWriter,
        condition: Ref,
        values: list[Ref],
    ) -> None:
        rewriter, parts = self.rewriter, self.parts
        entered = [*parts.constants, *sorted(parts.firsts, key=rewriter.position.__getitem__)]
        before = dict.fromkeys([c for e in entered for c in rewriter.nodes[e].control_inputs])
        first = rewriter.nodes[parts.switches[0]]
        exits = {name: self._variable(name) for name in parts.exits}
        node = NodeDef(
            name=first.name,
            op=WHILE,
            inputs=(*firsts, *captures),
            control_inputs=tuple(before),
            device=first.device,
            source=first.source,
            outputs=tuple(specs),
            attrs={"cond": test.defined(specs, [condition]), "body": body.defined(specs, values)},
        )
        decides = self._decides(captures)
        assert self.frame.parent is not None
        rewriter.construct(node, self.frame.parent, self.names)
        rewriter.loops[node.name] = LiftedLoop(self.frame, decides)
        for name, k in exits.items():
            old = rewriter.nodes[name]
            rewriter.replace(
                NodeDef(
                    name=name,
                    op="Identity",
                    inputs=((node.name, k),),
                    device=old.device,
                    source=old.source,
                    outputs=old.outputs,
                )
            )

    def _variable(self, exit_: str) -> int:
        """Return the number of the variable that an Exit returns."""
        switch = self.rewriter.nodes[exit_].inputs[0][0]
        return self.number[self.rewriter.nodes[switch].inputs[0][0]]

    def _decides(self, captures: dict[Ref, int]) -> frozenset[int]:
        """Return the inputs that the condition needs in the first iteration."""
        names = set()
        for name in self.needed & self.structure:
            node = self.rewriter.nodes[name]
            if node.op == "Merge":
                names.add(self.number[name])
            elif node.op == "Enter":
                read = node.inputs[0]
                if read in captures:
                    names.add(len(self.parts.merges) + captures[read])
        return frozenset(names)

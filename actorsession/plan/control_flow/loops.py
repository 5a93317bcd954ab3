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
    """A loop that is left as it is; says why."""


def functionalize_loop(rewriter: GraphRewriter, frame: Frame) -> str:
    """Replace a loop by one node if that is equivalent, and return why it was not; empty if it was.

    Raises:
        RefusedError: for a loop within it that may be partially dead.
    """
    try:
        predicates = Predicates(rewriter, frame)
        loop = _Loop(rewriter, frame, predicates)
        loop.check()
        loop.lift()
    except (_NotCanonicalError, ValueError) as exc:
        return str(exc)
    return ""


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise _NotCanonicalError(why)


_FORM = "it has another form than while_loop builds"


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
    firsts: dict[str, None] = field(default_factory=dict)
    nexts: dict[str, None] = field(default_factory=dict)
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
        _require(len(parts.conds) == 1 and bool(parts.merges), _FORM)
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
                    (parts.constants.append if node.attrs["is_constant"] else parts.firsts.setdefault)(name)
                case "Merge":
                    _require(is_loop_merge(rewriter, node), f"{name!r} in it is a conditional that stays")
                    parts.merges.append(name)
                case "Switch":
                    parts.switches.append(name)
                    parts.exits += [r for r in rewriter.readers[name] if rewriter.nodes[r].op == "Exit"]
                case "NextIteration":
                    parts.nexts[name] = None
                case "LoopCond":
                    parts.conds.append(name)
                case _:
                    _require(node.op not in PRIMITIVES, f"{name!r} ({node.op}) in it is of a loop or branch that stays")
                    _require(is_plain(node), f"{name!r} ({node.op}) in it waits, or runs the user's code")
                    self._sort_plain(name)

    def _sort_plain(self, name: str) -> None:
        choices = self.predicates.of(name)
        _require(choices is not None, f"{name!r} in it runs under conditions of more than one branch")
        (self.parts.body if choices else self.parts.test).append(name)

    # -- whether it is canonical ---------------------------------------------------------------

    def check(self) -> None:
        """Refuse a loop that is not of the form that ``while_loop`` builds."""
        rewriter, parts = self.rewriter, self.parts
        mine = {*self.names, *parts.exits}
        device = rewriter.device_of[self.cond.name]
        for name in (*self.names, *parts.exits):
            there = rewriter.device_of[name]
            _require(there == device, f"it runs on several devices: {name!r} on {there}, its condition on {device}")
        for name in self.names:
            _require(name not in rewriter.kept, f"{name!r} in it is fetched")
            _require(mine.issuperset(rewriter.readers[name]), f"{name!r} in it is read outside without an Exit")
        self._check_structure()
        alive: Predicate = frozenset({((self.cond.name, 0), 1)})
        _require(self.predicates.of(self.cond.name) == frozenset(), "its condition depends on a branch")
        for name in (*parts.body, *parts.nexts):
            _require(self.predicates.of(name) == alive, f"{name!r} in it runs in some iterations only")
        self.needed = self._upstream([self.cond.inputs[0][0], *self.cond.control_inputs])
        shared = self._upstream([n for name in parts.body for n in producers(rewriter.nodes[name])])
        shared |= self._upstream([p for n in parts.nexts for p in producers(rewriter.nodes[n])])
        tests = set(parts.test)
        self.shared = shared & tests
        for name in sorted(self.shared):
            _require(is_pure(rewriter.nodes[name]), f"{name!r} has state, and both its condition and its body need it")
        for name in sorted(tests - self.needed):
            _require(
                rewriter.nodes[name].op in _HARMLESS, f"{name!r} runs in each iteration, and the condition needs it not"
            )

    def _check_structure(self) -> None:
        rewriter, parts = self.rewriter, self.parts
        merges = set(parts.merges)
        _require(all(rewriter.nodes[name].inputs[0][0] in parts.firsts for name in merges), _FORM)
        for name in parts.firsts:
            for reader in rewriter.readers[name]:
                _require(reader in merges and rewriter.nodes[reader].inputs[0][0] == name, _FORM)
        taken = [rewriter.nodes[name].inputs[1][0] for name in parts.merges]
        _require(set(taken) == parts.nexts.keys() and len(taken) == len(parts.nexts), _FORM)
        for name in parts.merges:
            _require(rewriter.spec((name, 0)).dtype is not resource, f"its variable {name!r} is a handle")
            for reader in rewriter.readers[name]:
                _require((name, 1) not in rewriter.nodes[reader].inputs, _FORM)
        for name in parts.switches:
            node = rewriter.nodes[name]
            _require(node.inputs[0][0] in merges and node.inputs[1] == (self.cond.name, 0), _FORM)
            _require(self.structure.issuperset(node.control_inputs), _FORM)
        _require(all(reader in self.switches for reader in rewriter.readers[self.cond.name]), _FORM)
        for name in parts.exits:
            node = rewriter.nodes[name]
            _require(node.inputs[0][1] == 0 and not node.control_inputs, _FORM)
        for name in parts.nexts:
            for reader in rewriter.readers[name]:
                _require(rewriter.nodes[reader].inputs[1:] == ((name, 0),), _FORM)
        read = {ref for name in self.names for ref in rewriter.nodes[name].inputs}
        _require(all((name, 0) not in read for name in parts.switches), _FORM)

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

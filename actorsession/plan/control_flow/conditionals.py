"""Functionalization of conditionals: Switch and Merge, as TensorFlow's ``cond`` builds them, become ``If``.

A conditional is all nodes that are alive on one side or the other of a predicate, up to the Merges that end
it. It is functionalized if none of these nodes is read or fetched from outside, all are on one device, and
none waits for events outside the step; else it is left as it is. Nodes after a Merge or before a Switch are
outside. ``functionalize`` calls this for each frame; nested conditionals are functionalized first.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from actorsession.graph.dtypes import resource
from actorsession.graph.function import IF
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.control_flow.frames import Frame
from actorsession.plan.control_flow.predicates import Predicate, Predicates, predicate_of
from actorsession.plan.control_flow.rewrite import (
    FunctionWriter,
    GraphRewriter,
    Ref,
    is_plain,
    producers,
)

__all__ = ["functionalize_conditionals"]


def functionalize_conditionals(draft: GraphRewriter, frame: Frame) -> None:
    """Replace each conditional of a frame by one node where that is possible, innermost first.

    Raises:
        RefusedError: for a loop that may be partially dead.
        ValueError: for a cycle that is no loop.
    """
    lifted = True
    while lifted:
        lifted = False
        ways = Predicates(draft, frame)
        seen: set[str] = set()
        for name in ways.order:
            if name in ways.choice and name not in seen:
                branch = _Branch(draft, ways, name)
                seen |= branch.merges.keys()
                if branch.fits():
                    branch.lift(frame)
                    lifted = True


class _Branch:
    """A conditional that may be functionalized.

    Args:
        draft: the graph.
        ways: control predicates of the nodes of its frame.
        merge: one of its Merges.

    Attributes:
        merges: the Merges that end it.
        sides: the nodes that are alive where the predicate is false, and where it is true.
        entries: the Switches that lead into it.
    """

    def __init__(self, draft: GraphRewriter, ways: Predicates, merge: str) -> None:
        self.draft = draft
        self.ways = ways
        self.predicate = ways.choice[merge]
        around = ways.of(merge)
        assert around is not None
        self.around: Predicate = around
        self.ways_in = [around | {(self.predicate, side)} for side in (0, 1)]
        self.merges: dict[str, None] = {}
        self.sides: tuple[set[str], set[str]] = set(), set()
        self.entries: dict[str, None] = {}
        self.is_closed = True
        self._gather(merge)

    def _gather(self, merge: str) -> None:
        """Find all nodes connected with a Merge, without crossing a Switch or Merge."""
        draft, waiting = self.draft, [merge]
        while waiting:
            name = waiting.pop()
            if name in self.merges or name in self.sides[0] or name in self.sides[1]:
                continue
            node = draft.nodes[name]
            if self._ends(name):
                self.merges[name] = None
            elif (side := self._side(name)) is not None:
                self.sides[side].add(name)
                waiting.extend(draft.readers[name])
            else:
                self.is_closed = False
                continue
            for producer in producers(node):
                if self._side(producer) is not None:
                    waiting.append(producer)
                elif self._enters(producer):
                    self.entries[producer] = None

    def _ends(self, name: str) -> bool:
        choice, way = self.ways.choice, self.ways.of(name)
        return choice.get(name) == self.predicate and way == self.around

    def _side(self, name: str) -> int | None:
        way = self.ways.of(name)
        return self.ways_in.index(way) if way in self.ways_in else None

    def _enters(self, name: str) -> bool:
        node = self.draft.nodes[name]
        if node.op != "Switch" or self.ways.of(name) != self.around:
            return False
        return predicate_of(self.draft, node.inputs[1]) == self.predicate

    # -- whether it is canonical ---------------------------------------------------------------

    def fits(self) -> bool:
        """Return whether the conditional can become one node."""
        draft = self.draft
        if not (self.is_closed and self.entries):
            return False
        inside = [*self.sides[0], *self.sides[1]]
        device = draft.device_of[next(iter(self.merges))]
        if any(draft.device_of[n] != device for n in (*inside, *self.merges)):
            return False
        if any(n in draft.kept or not is_plain(draft.nodes[n]) for n in inside):
            return False
        for name in self.merges:
            node = draft.nodes[name]
            if node.op != "Merge" or node.outputs[0].dtype is resource:
                return False
        return all(self._is_known(ref) for ref in self._read())

    def _read(self) -> list[Ref]:
        names = (*self.sides[0], *self.sides[1], *self.merges)
        return [ref for name in names for ref in self.draft.nodes[name].inputs]

    def _is_known(self, ref: Ref) -> bool:
        """Return whether a value is made here, or is alive wherever the conditional is."""
        name = ref[0]
        if name in self.entries or name in self.sides[0] or name in self.sides[1]:
            return True
        way = self.ways.of_value(ref)
        return way is not None and way <= self.around

    # -- the conditional as one node -----------------------------------------------------------

    def lift(self, frame: Frame) -> None:
        """Replace the nodes by one ``If``."""
        draft = self.draft
        through = {
            (name, side): draft.nodes[name].inputs[0] for name in self.entries for side in (0, 1)
        }
        captures: dict[Ref, int] = {}
        merged = sorted(self.merges, key=draft.position.__getitem__)
        indexed = [name for name in merged if self._index_is_read(name)]
        writers, results = [], []
        for side in (1, 0):  # the true branch comes first
            writer = FunctionWriter(
                draft, self.sides[side], {}, captures, 0, through, self.entries.keys()
            )
            inputs = {name: self._taken(name, side) for name in merged}
            values = [writer.local(draft.nodes[name].inputs[inputs[name]]) for name in merged]
            values += [self._index(writer, name, inputs[name]) for name in indexed]
            writers.append(writer)
            results.append(values)
        specs = [draft.spec((name, 0)) for name in merged]
        specs += [draft.spec((name, 1)) for name in indexed]
        functions = [w.defined((), values) for w, values in zip(writers, results, strict=True)]
        before = dict.fromkeys([c for w in writers for c in w.before])
        before |= dict.fromkeys([c for e in self.entries for c in draft.nodes[e].control_inputs])
        # A value passed to a Switch must be computed before the If, even if it is not read.
        sent = [draft.nodes[e].inputs[0] for e in self.entries]
        before |= dict.fromkeys([ref[0] for ref in sent if ref not in captures])
        first = draft.nodes[min(self.entries, key=draft.position.__getitem__)]
        before.pop(first.inputs[1][0], None)
        gone = self._gone()
        name = first.name if first.name in gone else draft.new_name(f"{merged[0]}/If")
        node = NodeDef(
            name=name, op=IF, inputs=(first.inputs[1], *captures), device=first.device,
            control_inputs=tuple(before), source=first.source, outputs=tuple(specs),
            attrs={"then_branch": functions[0], "else_branch": functions[1]},
        )  # fmt: skip
        self._put(node, frame, gone, merged, indexed)

    def _taken(self, merge: str, side: int) -> int:
        """Return which input of a Merge comes from a side."""
        first = self.ways.of_value(self.draft.nodes[merge].inputs[0])
        return 0 if first == self.ways_in[side] else 1

    def _index_is_read(self, merge: str) -> bool:
        """Return whether the second output of a Merge is read or fetched."""
        nodes, readers = self.draft.nodes, self.draft.readers[merge]
        fetched = (merge, 1) in self.draft.fetched
        return fetched or any((merge, 1) in nodes[r].inputs for r in readers)

    def _index(self, writer: FunctionWriter, merge: str, index: int) -> Ref:
        """Return a constant in the branch of one side for the second output of a Merge."""
        name = self.draft.new_name(f"{merge}/value_index")
        writer.nodes.append(NodeDef(
            name=name, op="Const", attrs={"value": np.array(index, np.int32)},
            outputs=(self.draft.spec((merge, 1)),), source=self.draft.nodes[merge].source,
        ))  # fmt: skip
        return name, 0

    def _gone(self) -> set[str]:
        """Return the nodes that are no longer needed; the Merges are replaced by nodes of the same names."""
        gone = {*self.sides[0], *self.sides[1]}
        ends = {*gone, *self.merges}
        for name in self.entries:
            if name not in self.draft.kept and ends.issuperset(self.draft.readers[name]):
                gone.add(name)
        return gone

    def _put(
        self,
        node: NodeDef,
        frame: Frame,
        gone: Collection[str],
        merged: list[str],
        indexed: list[str],
    ) -> None:
        draft = self.draft
        device = draft.device_of[merged[0]]
        position = draft.position[merged[0]]
        old = {name: draft.nodes[name] for name in merged}
        for name in gone:
            draft.remove(name)
        draft.put(node, frame, device, position)
        draft.made.add(node.name)
        for k, name in enumerate(merged):
            inputs: tuple[Ref, ...] = ((node.name, k),)
            outputs: tuple[TensorSpec, ...] = old[name].outputs[:1]
            if name in indexed:
                inputs += ((node.name, len(merged) + indexed.index(name)),)
                outputs = old[name].outputs
            draft.replace(NodeDef(
                name=name, op="IdentityN" if name in indexed else "Identity", inputs=inputs,
                outputs=outputs, device=old[name].device, source=old[name].source,
            ))  # fmt: skip

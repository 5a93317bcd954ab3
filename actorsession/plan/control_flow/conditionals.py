"""Functionalization of conditionals: Switch and Merge, as TensorFlow's ``cond`` builds them, become ``If``.

A conditional is all nodes that are alive on one side or the other of a predicate, up to the Merges that end
it. It is functionalized if none of these nodes is read or fetched from outside, all are on one device, and
none waits for events outside the step; else it is left as it is. Nodes after a Merge or before a Switch are
outside. ``functionalize`` calls this for each frame; nested conditionals are functionalized first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from actorsession.graph.dtypes import resource
from actorsession.graph.function import IF
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.control_flow.frames import Frame
from actorsession.plan.control_flow.predicates import Predicate, Predicates, predicate_of
from actorsession.plan.control_flow.rewrite import FunctionWriter, GraphRewriter, Ref, is_plain, producers

__all__ = ["functionalize_conditionals"]


def functionalize_conditionals(
    rewriter: GraphRewriter, frame: Frame, note: Callable[[str, str], None] | None = None
) -> None:
    """Replace each conditional of a frame by one node where that is possible, innermost first.

    Args:
        rewriter: the graph.
        frame: the frame.
        note: takes a Merge of each conditional that stays, and why it does.

    Raises:
        RefusedError: for a loop that may be partially dead.
        ValueError: for a cycle that is no loop.
    """
    lifted = True
    while lifted:
        lifted = False
        predicates = Predicates(rewriter, frame)
        seen: set[str] = set()
        for name in predicates.order:
            if name in predicates.choice and name not in seen:
                branch = _Branch(rewriter, predicates, name)
                seen |= branch.merges.keys()
                why = branch.fault()
                if not why:
                    branch.lift(frame)
                    lifted = True
                elif note is not None:
                    note(name, why)


class _Branch:
    """A conditional that may be functionalized.

    Args:
        rewriter: the graph.
        predicates: control predicates of the nodes of its frame.
        merge: one of its Merges.

    Attributes:
        merges: the Merges that end it.
        sides: the nodes that are alive where the predicate is false, and where it is true.
        entries: the Switches that lead into it.
    """

    def __init__(self, rewriter: GraphRewriter, predicates: Predicates, merge: str) -> None:
        self.rewriter = rewriter
        self.predicates = predicates
        self.predicate = predicates.choice[merge]
        outer_choices = predicates.of(merge)
        assert outer_choices is not None
        self.outer_choices: Predicate = outer_choices
        self.side_choices = [outer_choices | {(self.predicate, side)} for side in (0, 1)]
        self.merges: dict[str, None] = {}
        self.sides: tuple[dict[str, None], dict[str, None]] = {}, {}
        self.entries: dict[str, None] = {}
        self.is_closed = True
        self._gather(merge)

    def _gather(self, merge: str) -> None:
        """Find all nodes connected with a Merge, without crossing a Switch or Merge."""
        rewriter, waiting = self.rewriter, [merge]
        while waiting:
            name = waiting.pop()
            if name in self.merges or name in self.sides[0] or name in self.sides[1]:
                continue
            node = rewriter.nodes[name]
            if self._ends(name):
                self.merges[name] = None
            elif (side := self._side(name)) is not None:
                self.sides[side][name] = None
                waiting.extend(rewriter.readers[name])
            else:
                self.is_closed = False
                continue
            for producer in producers(node):
                if self._side(producer) is not None:
                    waiting.append(producer)
                elif self._enters(producer):
                    self.entries[producer] = None

    def _ends(self, name: str) -> bool:
        choice, choices = self.predicates.choice, self.predicates.of(name)
        return choice.get(name) == self.predicate and choices == self.outer_choices

    def _side(self, name: str) -> int | None:
        choices = self.predicates.of(name)
        return self.side_choices.index(choices) if choices in self.side_choices else None

    def _enters(self, name: str) -> bool:
        node = self.rewriter.nodes[name]
        if node.op != "Switch" or self.predicates.of(name) != self.outer_choices:
            return False
        return predicate_of(self.rewriter, node.inputs[1]) == self.predicate

    # -- whether it is canonical ---------------------------------------------------------------

    def fault(self) -> str:
        """Return why the conditional cannot become one node; empty if it can."""
        rewriter = self.rewriter
        if not (self.is_closed and self.entries):
            return "its branches are read outside without a Merge"
        inside = [*self.sides[0], *self.sides[1]]
        device = rewriter.device_of[next(iter(self.merges))]
        for name in (*inside, *self.merges):
            if rewriter.device_of[name] != device:
                return f"it runs on several devices: {name!r} on {rewriter.device_of[name]}, others on {device}"
        for name in inside:
            if name in rewriter.kept:
                return f"{name!r} in it is fetched"
            if not is_plain(rewriter.nodes[name]):
                return f"{name!r} ({rewriter.nodes[name].op}) in it waits, or runs the user's code"
        for name in self.merges:
            node = rewriter.nodes[name]
            if node.op != "Merge" or node.outputs[0].dtype is resource:
                return f"its result {name!r} is a reference or a handle"
        if not all(self._is_known(ref) for ref in self._read()):
            return "it reads a value of another branch"
        return ""

    def _read(self) -> list[Ref]:
        names = (*self.sides[0], *self.sides[1], *self.merges)
        return [ref for name in names for ref in self.rewriter.nodes[name].inputs]

    def _is_known(self, ref: Ref) -> bool:
        """Return whether a value is made here, or is alive wherever the conditional is."""
        name = ref[0]
        if name in self.entries or name in self.sides[0] or name in self.sides[1]:
            return True
        choices = self.predicates.of_value(ref)
        return choices is not None and choices <= self.outer_choices

    # -- the conditional as one node -----------------------------------------------------------

    def lift(self, frame: Frame) -> None:
        """Replace the nodes by one ``If``."""
        rewriter = self.rewriter
        through = {(name, side): rewriter.nodes[name].inputs[0] for name in self.entries for side in (0, 1)}
        captures: dict[Ref, int] = {}
        merged = sorted(self.merges, key=rewriter.position.__getitem__)
        indexed = [name for name in merged if self._index_is_read(name)]
        writers, results = [], []
        for side in (1, 0):  # the true branch comes first
            writer = FunctionWriter(rewriter, self.sides[side], {}, captures, 0, through, self.entries.keys())
            inputs = {name: self._input_of_side(name, side) for name in merged}
            values = [writer.local(rewriter.nodes[name].inputs[inputs[name]]) for name in merged]
            values += [self._index(writer, name, inputs[name]) for name in indexed]
            writers.append(writer)
            results.append(values)
        specs = [rewriter.spec((name, 0)) for name in merged]
        specs += [rewriter.spec((name, 1)) for name in indexed]
        functions = [w.defined((), values) for w, values in zip(writers, results, strict=True)]
        before = dict.fromkeys([c for w in writers for c in w.before])
        before |= dict.fromkeys([c for e in self.entries for c in rewriter.nodes[e].control_inputs])
        # A value passed to a Switch must be computed before the If, even if it is not read.
        sent = [rewriter.nodes[e].inputs[0] for e in self.entries]
        before |= dict.fromkeys([ref[0] for ref in sent if ref not in captures])
        first = rewriter.nodes[min(self.entries, key=rewriter.position.__getitem__)]
        before.pop(first.inputs[1][0], None)
        removed = self._removed()
        name = first.name if first.name in removed else rewriter.new_name(f"{merged[0]}/If")
        node = NodeDef(
            name=name,
            op=IF,
            inputs=(first.inputs[1], *captures),
            device=first.device,
            control_inputs=tuple(before),
            source=first.source,
            outputs=tuple(specs),
            attrs={"then_branch": functions[0], "else_branch": functions[1]},
        )
        self._put(node, frame, removed, merged, indexed)

    def _input_of_side(self, merge: str, side: int) -> int:
        """Return which input of a Merge comes from a side."""
        first = self.predicates.of_value(self.rewriter.nodes[merge].inputs[0])
        return 0 if first == self.side_choices[side] else 1

    def _index_is_read(self, merge: str) -> bool:
        """Return whether the second output of a Merge is read or fetched."""
        nodes, readers = self.rewriter.nodes, self.rewriter.readers[merge]
        fetched = (merge, 1) in self.rewriter.fetched
        return fetched or any((merge, 1) in nodes[r].inputs for r in readers)

    def _index(self, writer: FunctionWriter, merge: str, index: int) -> Ref:
        """Return a constant in the branch of one side for the second output of a Merge."""
        name = self.rewriter.new_name(f"{merge}/value_index")
        writer.nodes.append(
            NodeDef(
                name=name,
                op="Const",
                attrs={"value": np.array(index, np.int32)},
                outputs=(self.rewriter.spec((merge, 1)),),
                source=self.rewriter.nodes[merge].source,
            )
        )
        return name, 0

    def _removed(self) -> set[str]:
        """Return the nodes that are no longer needed; the Merges are replaced by nodes of the same names."""
        removed = {*self.sides[0], *self.sides[1]}
        ends = {*removed, *self.merges}
        for name in self.entries:
            if name not in self.rewriter.kept and ends.issuperset(self.rewriter.readers[name]):
                removed.add(name)
        return removed

    def _put(
        self, node: NodeDef, frame: Frame, removed: Collection[str], merged: list[str], indexed: list[str]
    ) -> None:
        rewriter = self.rewriter
        device = rewriter.device_of[merged[0]]
        position = rewriter.position[merged[0]]
        old = {name: rewriter.nodes[name] for name in merged}
        for name in removed:
            rewriter.remove(name)
        rewriter.put(node, frame, device, position)
        rewriter.made.add(node.name)
        for k, name in enumerate(merged):
            inputs: tuple[Ref, ...] = ((node.name, k),)
            outputs: tuple[TensorSpec, ...] = old[name].outputs[:1]
            if name in indexed:
                inputs += ((node.name, len(merged) + indexed.index(name)),)
                outputs = old[name].outputs
            rewriter.replace(
                NodeDef(
                    name=name,
                    op="IdentityN" if name in indexed else "Identity",
                    inputs=inputs,
                    outputs=outputs,
                    device=old[name].device,
                    source=old[name].source,
                )
            )

"""Writes the source of one segment: a line per node, values as local variables.

Each array is dropped after its last use, so that its buffer can serve again and a variable that was
read can be changed in place. Called by ``compile`` alone.

Invariant: nothing in the text is chosen by whoever sent the graph. Names are numbers, expressions
come from our ops, and the comment behind a line, which holds the node's name and source, cannot end
before the line does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorsession.plan.context import NodeContext
from actorsession.plan.cost import node_cost
from actorsession.plan.flow import Flow, Ref
from actorsession.plan.partition import SEND
from actorsession.plan.segment import INDENT, Line, Segment

__all__ = ["SegmentWriter"]

# Microseconds. A node dearer than this looks for a cancellation before it starts; below it the look
# would cost more than it can save.
_CHECK_ABOVE = 100.0


class SegmentWriter:
    """Writes one segment.

    Args:
        flow: the values of the partition.
        index: the segment's number.
        segment_of: segment of each node; -1 for those that belong to none.
        slots: slot of each value that crosses segments.
        sends: keys sent so far, to which this segment's are added.
        contexts: contexts of the nodes that the code binds, to which this segment's are added.
        own_fetches: whether fetched arrays must be the caller's own.
    """

    def __init__(
        self,
        flow: Flow,
        index: int,
        segment_of: Sequence[int],
        slots: Mapping[Ref, int],
        sends: list[str],
        contexts: dict[int, NodeContext],
        *,
        own_fetches: bool,
    ) -> None:
        self._flow = flow
        self._index = index
        self._segment_of = segment_of
        self._slots = slots
        self._sends = sends
        self._contexts = contexts
        self._own_fetches = own_fetches
        self._code: list[Line] = []
        self._bindings: dict[str, int] = {}
        self._parameters: dict[Ref, str] = {}
        self._results: list[tuple[int, str]] = []  # (slot, expression)
        self._left: dict[Ref, int] = {}  # uses of each value in this segment, yet to come
        self._cost = 0.0
        self._cost_known = True

    def write(
        self,
        nodes: Sequence[int],
        crossing: Sequence[Ref],
        fetches: Sequence[tuple[int, Ref]],
        waits: tuple[int, ...],
        after: tuple[int, ...],
    ) -> Segment:
        """Writes the function.

        Args:
            nodes: the segment's nodes, producers first.
            crossing: values made here and read by other segments.
            fetches: (slot, value) of the fetches that are handed out here.
            waits: slots of the arrivals that the segment waits for.
            after: segments that must run first.
        """
        self._count_uses(nodes, crossing, fetches)
        for i in nodes:
            self._node(i)
            self._drop(i)
        self._results.extend((self._slots[ref], _local(ref)) for ref in crossing)
        seen: set[Ref] = set()
        for slot, ref in fetches:
            self._results.append((slot, self._fetched(ref, again=ref in seen)))
            seen.add(ref)
        name = f"segment_{self._index}"
        head = Line(f"def {name}({', '.join(['C', *self._parameters.values()])}):")
        tail = Line(f"{INDENT}return ({''.join([e + ', ' for _, e in self._results])})")
        return Segment(
            name=name,
            code=(head, *self._code, tail),
            bindings=self._bindings,
            arguments=tuple([self._slots[ref] for ref in self._parameters]),
            results=tuple([slot for slot, _ in self._results]),
            waits=waits,
            after=after,
            cost=self._cost,
            cost_known=self._cost_known,
        )

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, i: int) -> None:
        flow = self._flow
        node, op = flow.nodes[i], flow.ops[i]
        comment = _comment(f"  # {node.name} ({node.op}) {node.source}")
        arguments = [self._value(ref) for ref in flow.inputs[i]]
        if op is None:
            assert node.op == SEND, f"{node.op} is no node of a segment"
            value = arguments[0] if arguments else "TOKEN"
            text = f"{INDENT}C.send({len(self._sends)}, {value}){comment}"
            self._code.append(Line(text, i, "None"))
            self._sends.append(node.attrs["key"])
            return
        context = flow.context(i)
        cost, known = node_cost(node, context.inputs)
        self._cost += cost
        self._cost_known &= known
        if cost > _CHECK_ABOVE or (op.cost is not None and not known):
            self._code.append(Line(f"{INDENT}C.check(){comment}", i))
        for k in op.keeps:
            if not self._gives_away(flow.inputs[i][k]):
                arguments[k] = f"own({arguments[k]})"
        expression = op.emit(context, arguments) if op.emit is not None else None
        if expression is None:
            self._bindings[f"k{i}"] = i
            self._contexts[i] = context
            expression = f"k{i}({', '.join(arguments)})"
        outputs = len(node.outputs)
        if outputs == 1:
            expression = f"v{i} = {expression}"
        elif outputs:
            targets = ", ".join([_local((i, o)) for o in range(outputs)])
            expression = f"({targets}) = {expression}"
        value = f"v{i}" if outputs else "None"
        self._code.append(Line(f"{INDENT}{expression}{comment}", i, value))

    def _gives_away(self, ref: Ref) -> bool:
        """Whether an input that the op keeps can be handed over without a copy."""
        flow = self._flow
        made_here = self._segment_of[ref[0]] == self._index
        return made_here and flow.owned(ref) and flow.has_one_use(ref)

    def _value(self, ref: Ref) -> str:
        """The expression by which a value is read; values from outside become parameters."""
        i = ref[0]
        if self._flow.once[i]:
            name = f"c{i}"
            if name not in self._bindings:
                self._bindings[name] = i
                self._contexts[i] = self._flow.context(i)
            return name
        name = _local(ref)
        if self._flow.outside[i] or self._segment_of[i] != self._index:
            self._parameters[ref] = name
        return name

    # -- life and ownership --------------------------------------------------------------------

    def _count_uses(
        self, nodes: Sequence[int], crossing: Sequence[Ref], fetches: Sequence[tuple[int, Ref]]
    ) -> None:
        left = self._left
        for i in nodes:
            for ref in self._flow.inputs[i]:
                left[ref] = left.get(ref, 0) + 1
        for ref in (*crossing, *[ref for _, ref in fetches]):
            left[ref] = left.get(ref, 0) + 1

    def _drop(self, i: int) -> None:
        """Ends the life of arrays that node ``i`` read as the last, or made for nobody."""
        flow, left = self._flow, self._left
        dead = []
        for ref in flow.inputs[i]:
            left[ref] -= 1
            if not left[ref] and not flow.once[ref[0]] and not flow.is_scalar(ref):
                dead.append(_local(ref))
        made = [(i, o) for o in range(len(flow.nodes[i].outputs))]
        dead.extend(_local(ref) for ref in made if ref not in left and not flow.is_scalar(ref))
        if dead:
            self._code.append(Line(f"{INDENT}del {', '.join(dead)}"))

    def _fetched(self, ref: Ref, *, again: bool) -> str:
        flow, value = self._flow, self._value(ref)
        if not self._own_fetches:
            return value
        if again or not flow.owned(ref) or flow.is_held(ref):
            return f"own({value})"
        rank = flow.nodes[ref[0]].outputs[ref[1]].shape.rank
        return value if rank else f"out({value})"


def _local(ref: Ref) -> str:
    i, output = ref
    return f"v{i}_{output}" if output else f"v{i}"


def _comment(text: str) -> str:
    """The text without anything that Python takes for the end of a line or refuses to read."""
    if text.isprintable():
        return text.rstrip()
    return "".join([c if c.isprintable() else " " for c in text]).rstrip()

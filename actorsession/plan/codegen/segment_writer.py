"""The segment writer: writes the source of one segment as a function with one or more lines per node.

It adds what a segment has beyond the lines of its nodes: parameters for values from outside, results for
values that leave, and copies where a fetched array must share no memory with the runtime. ``compile`` alone
calls it; see ``emitter`` for the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorsession.graph.dtypes import variant
from actorsession.plan.codegen.beside import BesideWriter, begun_among
from actorsession.plan.codegen.emitter import Emitter, Text
from actorsession.plan.codegen.outline import outlined
from actorsession.plan.codegen.segment import INDENT, Line, Segment
from actorsession.plan.codegen.sums import Sum
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.fed_cost import FedCost

__all__ = ["SegmentWriter"]


class SegmentWriter(Emitter):
    """The writer of one segment.

    Args:
        flow: the use-def analysis of the partition.
        text: the code to which the lines are added.
        index: the segment's number.
        segment_of: segment of each node; -1 for those that belong to none.
        slots: slot of each value that crosses segments.
        own_fetches: whether fetched arrays must share no memory with the runtime.
    """

    def __init__(
        self,
        flow: UseDef,
        text: Text,
        index: int,
        segment_of: Sequence[int],
        slots: Mapping[Ref, int],
        *,
        own_fetches: bool,
    ) -> None:
        super().__init__(flow, text, INDENT)
        self._index = index
        self._segment_of = segment_of
        self._slots = slots
        self._own_fetches = own_fetches
        self._parameters: dict[Ref, str] = {}
        self._results: list[tuple[int, str]] = []  # (slot, expression)
        self._together: list[Ref] = []  # fetched arrays of the device that go to the host at once

    def write(
        self,
        nodes: Sequence[int],
        crossing: Sequence[Ref],
        fetches: Sequence[tuple[int, Ref]],
        waits: tuple[int, ...],
        after: tuple[int, ...],
    ) -> Segment:
        """Write the function.

        Args:
            nodes: the segment's nodes, producers first.
            crossing: values made here and read by other segments.
            fetches: (slot, value) of the fetches that are returned here.
            waits: slots of the arrivals that the segment waits for.
            after: segments that must run first.
        """
        self.count_uses(nodes, (*crossing, *[ref for _, ref in fetches]))
        self.nodes(nodes)
        self._results.extend((self._slots[ref], self.local(ref)) for ref in crossing)
        refs = [ref for _, ref in fetches if self._goes_at_once(ref)]
        self._together = list(dict.fromkeys(refs)) if len(set(refs)) > 1 else []
        seen: set[Ref] = set()
        for slot, ref in fetches:
            self._results.append((slot, self._fetched(ref, again=ref in seen)))
            seen.add(ref)
        name, text = f"segment_{self._index}", self.text
        tail = Line(f"{INDENT}return ({''.join([e + ', ' for _, e in self._results])})")
        arriving = [f"{p} = on_device({p})" for ref, p in self._parameters.items() if self._arrives(ref)]
        head = [Line(INDENT + "; ".join(arriving))] if arriving else []
        function = outlined(name, list(self._parameters.values()), [*head, *text.code, tail])
        return Segment(
            name=name,
            code=(*text.functions, *function),
            bindings=text.bindings,
            arguments=tuple([self._slots[ref] for ref in self._parameters]),
            results=tuple([slot for slot, _ in self._results]),
            waits=waits,
            after=after,
            cost=text.cost,
            cost_known=text.cost_known,
            is_steady=text.steady and not any(self.flow.varies(i) for i in nodes),
            unsized=tuple([k for k, ref in enumerate(self._parameters) if not self._has_size(ref)]),
            fed_cost=None if text.cost_known else FedCost.of(self.flow, nodes, [*self._parameters]),
            runs=tuple(text.runs),
            subgraphs=tuple(text.subgraphs),
            side_by_side=bool(self.beside.begun),
        )

    def _arrives(self, ref: Ref) -> bool:
        """Return whether a value comes as numpy has it, and is needed as the device does."""
        return (self.flow.outside[ref[0]] or self.flow.suspends[ref[0]]) and self.flow.is_of_device(ref)

    def _has_size(self, ref: Ref) -> bool:
        """Return whether the number of bytes of a value is static; for handles and variants it counts so."""
        spec = self.flow.nodes[ref[0]].outputs[ref[1]]
        if spec.dtype.kind == "s":
            return False
        return spec.shape.is_fully_defined() or spec.dtype.kind == "r" or spec.dtype is variant

    def value(self, ref: Ref) -> str:
        """Return the expression by which a value is read; values from outside become parameters."""
        name, i = super().value(ref), ref[0]
        if not self.flow.once[i] and (self.flow.outside[i] or self._segment_of[i] != self._index):
            self._parameters[ref] = name
        return name

    def _goes_on_without(self, i: int) -> bool:
        return self.flow.suspends[i]

    def _beside_writer(self, nodes: Sequence[int], sums: Sequence[Sum]) -> BesideWriter:
        return BesideWriter(self, begun_among(self.flow, nodes, sums))

    def _gives_away(self, ref: Ref) -> bool:
        return self._segment_of[ref[0]] == self._index and super()._gives_away(ref)

    def _goes_at_once(self, ref: Ref) -> bool:
        spec = self.flow.nodes[ref[0]].outputs[ref[1]]
        return self.flow.all_to_host is not None and self.flow.is_of_device(ref) and spec.dtype is not variant

    def _fetched(self, ref: Ref, *, again: bool) -> str:
        flow = self.flow
        if ref in self._together:
            place = self._together.index(ref)
            # The first that is returned has all of them go. The name is used in the last line alone, which stays whole.
            values = ", ".join([self.value(each) for each in self._together])
            value = f"h[{place}]" if place or again else f"(h := all_on_host({values}))[0]"
            return f"own({value})" if again and self._own_fetches else value
        value = self.on_host(ref, self.value(ref))
        if not self._own_fetches:
            return value
        if again or not flow.owned(ref) or flow.is_held(ref):
            return f"own({value})"
        rank = flow.nodes[ref[0]].outputs[ref[1]].shape.rank
        return value if rank else f"out({value})"

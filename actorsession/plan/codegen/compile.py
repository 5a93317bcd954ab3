"""Compile: turns a partition into segments of straight-line Python.

A segment is all nodes that wait for the same set of arrivals (``_Recv``, and nodes that suspend); ``segment``
holds the result and ``segment_writer`` writes the code. The order of nodes is the partition's, which follows
one topological order of the whole step, so two partitions cannot wait for each other. Nothing here touches a
device: ``bind`` binds kernels and state. Every loader of a graph calls this, on the machine that will run the
code: generated code is never sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.graph.function import BRANCHES, CALLS, LOOPS
from actorsession.graph.node import NodeDef
from actorsession.plan.codegen.call import write_call
from actorsession.plan.codegen.control_flow import write_if, write_while
from actorsession.plan.codegen.emitter import Text
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.segment import CompiledPartition, Segment, Suspension
from actorsession.plan.codegen.segment_writer import SegmentWriter
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.partition import RECV, Partition
from actorsession.plan.prune import ARG
from actorsession.plan.takes import TakePlan, stores, taken_inside, uses_of

__all__ = ["CompiledPartition", "NodeContext", "Segment", "compile_partition"]

# The writers of the nodes that have functions.
_CALL_WRITERS = {
    **dict.fromkeys(LOOPS, write_while),
    **dict.fromkeys(BRANCHES, write_if),
    **dict.fromkeys(CALLS, write_call),
}


def compile_partition(partition: Partition, *, own_fetches: bool = True) -> CompiledPartition:
    """Generate the code of a partition.

    Args:
        partition: a valid partition.
        own_fetches: whether fetched arrays must share no memory with the runtime; a server that encodes them
            immediately does not need that.
    """
    return _Compiler(partition, own_fetches).compile()


class _Compiler:
    def __init__(self, partition: Partition, own_fetches: bool) -> None:
        self.partition = partition
        self.own_fetches = own_fetches
        self.flow = UseDef(partition, own_fetches=own_fetches)
        self.segment_of: list[int] = []  # -1 for arguments and for constants
        self.slots: dict[Ref, int] = {}
        self.slot_count = 0
        self.sends: list[str] = []
        self.suspension_of: dict[int, Suspension] = {}  # by node
        self.contexts: dict[int, NodeContext] = {}
        self.nodes: list[NodeDef] = list(partition.nodes)

    def compile(self) -> CompiledPartition:
        flow = self.flow
        masks, begun = self._masks()
        order, members = self._group(masks, begun)
        number = {mask: i for i, mask in enumerate(order)}
        self.segment_of = [-1 if flow.outside[i] or flow.once[i] else number[mask] for i, mask in enumerate(begun)]
        feeds = self._outside(ARG, "index")
        recvs = self._outside(RECV, "key")
        suspensions = self._suspensions()
        arrivals = self._arrivals()
        crossing = self._crossing(len(order))
        fetches: list[list[tuple[int, Ref]]] = [[] for _ in order]
        fetch_slots = []
        for position, ref in flow.fetches:
            fetch_slots.append((position, self._new_slot()))
            fetches[number[masks[ref[0]]]].append((fetch_slots[-1][1], ref))
        segments = []
        for index, mask in enumerate(order):
            waits = tuple([slot for bit, slot in enumerate(arrivals) if mask >> bit & 1])
            after = self._predecessors(index, members[index])
            write = self._writer(index).write
            segments.append(write(members[index], crossing[index], fetches[index], waits, after))
        return CompiledPartition(
            partition=self.partition,
            nodes=tuple(self.nodes),
            segments=tuple(segments),
            slots=self.slot_count,
            feeds=feeds,
            recvs=recvs,
            suspensions=suspensions,
            sends=tuple(self.sends),
            fetches=tuple(sorted(fetch_slots)),
            readers=self._readers(segments),
            contexts=self.contexts,
            takes=self._takes(),
            taken_inside=taken_inside(self.partition.nodes),
            unread=self._unread(),
        )

    def _unread(self) -> tuple[NodeContext, ...]:
        """Return the contexts of the nodes that make or check some state, and whose value nothing reads."""
        flow = self.flow
        nodes = [i for i, op in enumerate(flow.ops) if op is not None and op.once and op.stateful]
        fetched = {ref for _, ref in flow.fetches}
        return tuple([flow.context(i) for i in nodes if (i, 0) not in flow.uses and (i, 0) not in fetched])

    def _writer(self, index: int) -> SegmentWriter:
        suspensions = {i: number for number, i in enumerate(self.suspension_of)}
        text = Text(
            self.partition.device,
            self.nodes,
            self.contexts,
            self.sends,
            suspensions=suspensions,
            call_writers=_CALL_WRITERS,
        )
        return SegmentWriter(self.flow, text, index, self.segment_of, self.slots, own_fetches=self.own_fetches)

    # -- segments ------------------------------------------------------------------------------

    def _masks(self) -> tuple[list[int], list[int]]:
        """Return, as bits, the arrivals that each node's values wait for and those of the node itself.

        A node that blocks may wait for another one. If there are several that do not wait for each other,
        each has a bit beyond those of the arrivals, so it runs in a segment of its own.
        """
        bits = self._bits_of_blocking()
        if len(bits) > 1:
            masks, begun = self._masks_with(bits)
            blocking = [begun[i] for i in bits]
            if any(later & first != first for first, later in itertools.pairwise(blocking)):
                return masks, begun
        return self._masks_with({})

    def _bits_of_blocking(self) -> dict[int, int]:
        """Return the nodes that block, each with a bit that no arrival has."""
        flow = self.flow
        arrivals = sum(node.op == RECV or suspends for node, suspends in zip(flow.nodes, flow.suspends, strict=True))
        blocking = [i for i, op in enumerate(flow.ops) if op is not None and op.blocks]
        return {i: 1 << arrivals + place for place, i in enumerate(blocking)}

    def _masks_with(self, own: Mapping[int, int]) -> tuple[list[int], list[int]]:
        masks: list[int] = []
        begun: list[int] = []
        arrivals = 0
        flow = self.flow
        parts = zip(flow.nodes, flow.before, flow.suspends, strict=True)
        for number, (node, before, suspends) in enumerate(parts):
            mask = own.get(number, 0)
            for i in before:
                mask |= masks[i]
            begun.append(mask)
            if node.op == RECV or suspends:
                mask |= 1 << arrivals
                arrivals += 1
            masks.append(mask)
        return masks, begun

    def _group(self, masks: Sequence[int], begun: Sequence[int]) -> tuple[list[int], list[list[int]]]:
        """Return the segments as masks, and the nodes of each."""
        flow = self.flow
        groups: dict[int, list[int]] = {}
        for i, mask in enumerate(begun):
            if not flow.outside[i] and not flow.once[i]:
                groups.setdefault(mask, []).append(i)
        for _, ref in flow.fetches:
            groups.setdefault(masks[ref[0]], [])  # a fetched arrival needs a segment too
        # Fewer arrivals first: a set can only depend on its subsets.
        order = sorted(groups, key=lambda m: (m.bit_count(), groups[m][:1]))
        return order, [groups[m] for m in order]

    def _crossing(self, segments: int) -> list[list[Ref]]:
        """Return the values that other segments read, by the segment that makes them; each gets a slot."""
        crossing: list[list[Ref]] = [[] for _ in range(segments)]
        for segment, refs in zip(self.segment_of, self.flow.inputs, strict=True):
            for ref in refs:
                home = self.segment_of[ref[0]]
                if home not in (-1, segment) and ref not in self.slots:
                    crossing[home].append(ref)
                    self.slots[ref] = self._new_slot()
        return crossing

    def _predecessors(self, index: int, nodes: Sequence[int]) -> tuple[int, ...]:
        segments = {self.segment_of[i] for node in nodes for i in self.flow.before[node]}
        return tuple(sorted(segments - {index, -1}))

    # -- values --------------------------------------------------------------------------------

    def _new_slot(self) -> int:
        self.slot_count += 1
        return self.slot_count - 1

    def _outside(self, op: str, attr: str) -> tuple[tuple[int, Any], ...]:
        """Return the slots of feeds or arrivals, each with the attribute that identifies it."""
        refs = []
        for i, node in enumerate(self.flow.nodes):
            if node.op == op:
                self.slots[i, 0] = self._new_slot()
                refs.append((self.slots[i, 0], node.attrs[attr]))
        return tuple(refs)

    def _suspensions(self) -> tuple[Suspension, ...]:
        """Return the nodes that suspend; their outputs get slots."""
        for i, node in enumerate(self.flow.nodes):
            if self.flow.suspends[i]:
                slots = tuple([self._new_slot() for _ in node.outputs])
                self.slots.update({(i, k): slot for k, slot in enumerate(slots)})
                arrival = slots[0] if slots else self._new_slot()
                self.suspension_of[i] = Suspension(i, slots, arrival)
        return tuple(self.suspension_of.values())

    def _takes(self) -> dict[int, TakePlan]:
        """Return the nodes that take, by number among those that suspend."""
        takes = {}
        numbers = {i: number for number, i in enumerate(self.suspension_of)}
        for i, number in numbers.items():
            uses = uses_of(self.flow.nodes[i])
            if uses is not None:
                stored_by = [
                    -1 - numbers[j] if j in numbers else self.segment_of[j]
                    for j in self.flow.downstream(i)
                    if stores(self.flow.nodes[j], self.flow.has_handle(j))
                ]
                takes[number] = TakePlan(uses, frozenset(stored_by))
        return takes

    def _arrivals(self) -> tuple[int, ...]:
        """Return the slots of all arrivals, in the order of their bits."""
        flow = self.flow
        return tuple(
            [
                self.suspension_of[i].arrival if flow.suspends[i] else self.slots[i, 0]
                for i, node in enumerate(flow.nodes)
                if node.op == RECV or flow.suspends[i]
            ]
        )

    def _readers(self, segments: Sequence[Segment]) -> tuple[int, ...]:
        readers = [0] * self.slot_count
        for segment in segments:
            for slot in segment.arguments:
                readers[slot] += 1
        return tuple(readers)

"""Compile: turns a partition into segments of straight-line Python.

A **segment** is all nodes that wait for the same set of arrivals (``_Recv``); it becomes one generated
function whose parameters are the values it reads from outside and whose result is the values that others
read. Inside, each node is one line, values are local variables, and each is dropped after its last use.
Values that cross segments live in numbered **slots** of the step.

The order of nodes is the partition's, which follows one topological order of the whole step, so two
partitions cannot wait for each other. Nothing here touches a device: ``link`` binds kernels and state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from actorsession.errors import InternalError
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array, OpDef, ResourceHost, lookup
from actorsession.plan.cost import node_cost
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG

__all__ = ["CompiledPartition", "NodeContext", "Segment", "compile_partition"]

# A node dearer than this looks for a cancellation before it starts; below it the look would cost more
# than it can save.
_CHECK_ABOVE = 100.0
# Microseconds: about eight nodes. A few elementwise ops on a million elements still take only
# milliseconds, so such a segment may run on the loop before it has been measured.
_LIGHT = 5.0
_INDENT = "    "


class NodeContext:
    """What a kernel factory sees of its node (the ``KernelContext`` protocol).

    Args:
        node: the node.
        inputs: static types of its data inputs.
        constants: values of inputs that are constants of the plan.
        device: full name of its device.
        host: the device's resources; absent while code is generated.
        states: state of stateful kernels by node name; absent while code is generated.
    """

    __slots__ = ("_constants", "_host", "_states", "device", "inputs", "node", "outputs")

    def __init__(
        self,
        node: NodeDef,
        inputs: tuple[TensorSpec, ...],
        constants: tuple[Array | None, ...],
        device: str,
        host: ResourceHost | None = None,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.node = node
        self.inputs = inputs
        self.outputs = node.outputs
        self.device = device
        self._constants = constants
        self._host = host
        self._states = states

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def op(self) -> str:
        """Operation type."""
        return self.node.op

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attribute values."""
        return self.node.attrs

    @property
    def resources(self) -> ResourceHost:
        """The device's resource manager."""
        if self._host is None:
            raise InternalError(f"{self.name!r} asks for resources while code is generated")
        return self._host

    def constant(self, index: int) -> Array | None:
        """The value of an input that is a constant of the plan."""
        return self._constants[index]

    def state(self, make: Callable[[], Any]) -> Any:
        """State kept per session under the node's name."""
        if self._states is None:
            raise InternalError(f"{self.name!r} asks for its state while code is generated")
        if self.name not in self._states:
            self._states[self.name] = make()
        return self._states[self.name]


@dataclass(frozen=True, slots=True)
class Segment:
    """One generated function and what the executor must know to call it.

    Attributes:
        name: of the function.
        lines: its body; the line of each node is in ``line_nodes``.
        traced_lines: the body that also notes when each node ran.
        line_nodes: node at each line of ``lines``, counted from 0; ``None`` for other lines.
        traced_line_nodes: the same for ``traced_lines``.
        bindings: global names in the source, with the node whose kernel (``k``) or value (``c``) each is.
        arguments: slots of its parameters.
        results: slots of its results.
        waits: slots of the arrivals that it waits for.
        after: segments that must run first.
        cost: estimated microseconds.
        cost_known: whether every shape behind the estimate is known.
    """

    name: str
    lines: tuple[str, ...]
    traced_lines: tuple[str, ...]
    line_nodes: tuple[int | None, ...]
    traced_line_nodes: tuple[int | None, ...]
    bindings: Mapping[str, int]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    waits: tuple[int, ...]
    after: tuple[int, ...]
    cost: float
    cost_known: bool

    @property
    def is_light(self) -> bool:
        """Whether the segment is so short that it is cheap for any but enormous inputs."""
        return self.cost < _LIGHT


@dataclass(frozen=True, slots=True)
class CompiledPartition:
    """A partition as segments.

    Attributes:
        partition: what it was made of.
        segments: each after those it depends on.
        slots: how many values cross segments.
        feeds: (slot, position in the signature's feeds).
        recvs: (slot, rendezvous key).
        sends: rendezvous keys, in the numbering of the generated code.
        fetches: (position in the signature's fetches, slot).
        readers: number of segments that read each slot.
        contexts: what each node's kernel factory sees, by position in the partition; unbound.
    """

    partition: Partition
    segments: tuple[Segment, ...]
    slots: int
    feeds: tuple[tuple[int, int], ...]
    recvs: tuple[tuple[int, str], ...]
    sends: tuple[str, ...]
    fetches: tuple[tuple[int, int], ...]
    readers: tuple[int, ...]
    contexts: tuple[NodeContext, ...]


def compile_partition(partition: Partition, *, own_fetches: bool = True) -> CompiledPartition:
    """Generates the code of a partition.

    Args:
        partition: a valid partition.
        own_fetches: whether fetched arrays must be the caller's own; a server that encodes them at once
            does not need that.
    """
    return _Compiler(partition, own_fetches).compile()


Ref = tuple[str, int]


class _Compiler:
    def __init__(self, partition: Partition, own_fetches: bool) -> None:
        self.partition = partition
        self.nodes = partition.nodes
        self.number = {node.name: i for i, node in enumerate(partition.nodes)}
        self.own_fetches = own_fetches
        self.specs = {(n.name, i): s for n in self.nodes for i, s in enumerate(n.outputs)}
        self.ops: list[OpDef | None] = [
            None if n.op in (ARG, SEND, RECV) else lookup(n.op) for n in self.nodes
        ]
        self.contexts = tuple(self._context(n) for n in self.nodes)
        self.sends: list[str] = []
        self.has_sends = any(n.op == SEND for n in partition.nodes)
        self.uses = self._count_uses()
        self.slot_of: dict[Ref, int] = {}
        self.slots = 0

    def _context(self, node: NodeDef) -> NodeContext:
        constants = tuple(
            producer.attrs["value"]
            if (producer := self.nodes[self.number[name]]).op == "Const"
            else None
            for name, _ in node.inputs
        )
        inputs = tuple(self.specs[ref] for ref in node.inputs)
        return NodeContext(node, inputs, constants, self.partition.device)

    def _count_uses(self) -> dict[Ref, int]:
        uses: dict[Ref, int] = {}
        for node in self.nodes:
            for ref in node.inputs:
                uses[ref] = uses.get(ref, 0) + 1
        for _, name, index in self.partition.fetches:
            uses[name, index] = uses.get((name, index), 0) + 1
        return uses

    # -- segments ------------------------------------------------------------------------------

    def compile(self) -> CompiledPartition:
        members, segment_of, masks = self._cut()
        feeds = tuple(
            (self._slot((n.name, 0)), n.attrs["index"]) for n in self.nodes if n.op == ARG
        )
        recvs = tuple((self._slot((n.name, 0)), n.attrs["key"]) for n in self.nodes if n.op == RECV)
        crossing = self._crossing(members, segment_of)
        fetch_slots = {position: self._new_slot() for position, _, _ in self.partition.fetches}
        segments = []
        for index, nodes in enumerate(members):
            writer = _SegmentWriter(self, index, nodes, crossing, segment_of)
            writer.write(fetch_slots)
            segments.append(
                writer.segment(
                    waits=tuple(
                        slot for bit, (slot, _) in enumerate(recvs) if masks[index] >> bit & 1
                    ),
                    after=self._predecessors(index, nodes, segment_of),
                )
            )
        return CompiledPartition(
            self.partition, tuple(segments), self.slots, feeds, recvs, tuple(self.sends),
            tuple(sorted(fetch_slots.items())), self._readers(segments), self.contexts,
        )  # fmt: skip

    def _cut(self) -> tuple[list[list[int]], dict[str, int], list[int]]:
        """Groups nodes by the set of arrivals they wait for, as bit masks."""
        mask_of: dict[str, int] = {}
        groups: dict[int, list[int]] = {0: []}
        arrivals = 0
        for i, node in enumerate(self.nodes):
            mask = 0
            for producer, _ in node.inputs:
                mask |= mask_of[producer]
            for producer in node.control_inputs:
                mask |= mask_of[producer]
            if node.op == RECV:
                mask = 1 << arrivals
                arrivals += 1
            elif node.op != ARG and not self.is_once(node.name):
                groups.setdefault(mask, []).append(i)
            mask_of[node.name] = mask
        for _, name, _ in self.partition.fetches:
            groups.setdefault(
                mask_of[name], []
            )  # a fetch of an arrival needs a place to be handed out
        # Fewer arrivals first: a set can only depend on its subsets.
        order = sorted(
            (m for m, nodes in groups.items() if nodes or self._fetches_in(m, mask_of)),
            key=lambda m: (m.bit_count(), groups[m][:1]),
        )
        index_of = {mask: i for i, mask in enumerate(order)}
        segment_of = {name: index_of[mask] for name, mask in mask_of.items() if mask in index_of}
        return [groups[m] for m in order], segment_of, order

    def _fetches_in(self, mask: int, mask_of: Mapping[str, int]) -> bool:
        return any(mask_of[name] == mask for _, name, _ in self.partition.fetches)

    def _crossing(self, members: list[list[int]], segment_of: Mapping[str, int]) -> set[Ref]:
        """Values made in one segment and read in another; each gets a slot."""
        crossing: set[Ref] = set()
        for index, nodes in enumerate(members):
            for i in nodes:
                for ref in self.nodes[i].inputs:
                    maker = self.nodes[self.number[ref[0]]]
                    if maker.op in (ARG, RECV) or self.is_once(ref[0]):
                        continue
                    if segment_of[ref[0]] != index and ref not in crossing:
                        crossing.add(ref)
                        self._slot(ref)
        return crossing

    def _predecessors(
        self, index: int, nodes: Iterable[int], segment_of: Mapping[str, int]
    ) -> tuple[int, ...]:
        found = set()
        for i in nodes:
            node = self.nodes[i]
            for name in [n for n, _ in node.inputs] + list(node.control_inputs):
                maker = self.nodes[self.number[name]]
                if maker.op in (ARG, RECV) or self.is_once(name):
                    continue
                if segment_of[name] != index:
                    found.add(segment_of[name])
        return tuple(sorted(found))

    def _readers(self, segments: Iterable[Segment]) -> tuple[int, ...]:
        readers = [0] * self.slots
        for segment in segments:
            for slot in segment.arguments:
                readers[slot] += 1
        return tuple(readers)

    # -- values --------------------------------------------------------------------------------

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _slot(self, ref: Ref) -> int:
        if ref not in self.slot_of:
            self.slot_of[ref] = self._new_slot()
        return self.slot_of[ref]

    def is_once(self, name: str) -> bool:
        """Whether a node has one value for the life of the plan.

        One with control inputs does not count: it stands for an order that its readers rely on.
        """
        number = self.number[name]
        op = self.ops[number]
        return op is not None and op.once and not self.nodes[number].control_inputs

    def owned(self, ref: Ref) -> bool:
        """Whether nobody but the node's readers can hold the array of a value."""
        op = self.ops[self.number[ref[0]]]
        return op is not None and not op.aliases

    def number_of(self, ref: Ref) -> int:
        """The position of a value's node in the partition."""
        return self.number[ref[0]]


class _SegmentWriter:
    """Writes the source of one segment, plain and traced."""

    def __init__(
        self,
        compiler: _Compiler,
        index: int,
        nodes: list[int],
        crossing: set[Ref],
        segment_of: Mapping[str, int],
    ) -> None:
        self.c = compiler
        self.index = index
        self.nodes = nodes
        self.crossing = crossing
        self.segment_of = segment_of
        self.body: list[tuple[str, int | None]] = []
        self.traced: list[tuple[str, int | None]] = []
        self.bindings: dict[str, int] = {}
        self.parameters: dict[Ref, str] = {}
        self.results: list[tuple[int, str]] = []  # (slot, expression)
        self.cost = 0.0
        self.cost_known = True
        self._stored: set[Ref] = set()

    def write(self, fetch_slots: Mapping[int, int]) -> None:
        """Writes every node, then the values that leave."""
        remaining = self._local_uses()
        for i in self.nodes:
            self._node(i)
            self._drop(i, remaining)
        for ref in sorted(self.crossing, key=lambda r: self.c.slot_of[r]):
            if self.segment_of[ref[0]] == self.index:
                self.results.append((self.c.slot_of[ref], self._local(ref)))
        fetched: set[Ref] = set()
        for position, name, output in self.c.partition.fetches:
            if self.segment_of.get(name) == self.index:
                expression = self._fetched((name, output), again=(name, output) in fetched)
                fetched.add((name, output))
                self.results.append((fetch_slots[position], expression))

    def segment(self, waits: tuple[int, ...], after: tuple[int, ...]) -> Segment:
        """The finished segment."""
        name = f"segment_{self.index}"
        parameters = ", ".join(["C", *self.parameters.values()])
        head = (f"def {name}({parameters}):", None)
        tail = (f"{_INDENT}return ({''.join(e + ', ' for _, e in self.results)})", None)
        plain, traced = [head, *self.body, tail], [head, *self.traced, tail]
        return Segment(
            name,
            tuple(t for t, _ in plain), tuple(t for t, _ in traced),
            tuple(n for _, n in plain), tuple(n for _, n in traced),
            self.bindings,
            tuple(self.c.slot_of[ref] for ref in self.parameters),
            tuple(slot for slot, _ in self.results),
            waits, after, self.cost, self.cost_known,
        )  # fmt: skip

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, i: int) -> None:
        node, op = self.c.nodes[i], self.c.ops[i]
        arguments = [self._value(ref) for ref in node.inputs]
        if node.op == SEND:
            value = arguments[0] if arguments else "TOKEN"
            self._line(i, f"C.send({len(self.c.sends)}, {value})")
            self.c.sends.append(node.attrs["key"])
            return
        assert op is not None
        cost, known = node_cost(node, self.c.contexts[i].inputs)
        self.cost += cost
        self.cost_known &= known
        if cost > _CHECK_ABOVE or (op.cost is not None and not known):
            self._line(i, "C.check()", note=False)
        for k in sorted(op.keeps):
            if not self._gives_away(node, k):
                arguments[k] = f"own({arguments[k]})"
        expression = op.emit(self.c.contexts[i], arguments) if op.emit is not None else None
        if expression is None:
            self.bindings[f"k{i}"] = i
            expression = f"k{i}({', '.join(arguments)})"
        targets = ", ".join(self._local((node.name, o)) for o in range(len(node.outputs)))
        if len(node.outputs) == 1:
            self._line(i, f"{targets} = {expression}")
        elif node.outputs:
            self._line(i, f"({targets}) = {expression}")
        else:
            self._line(i, expression)

    def _gives_away(self, node: NodeDef, k: int) -> bool:
        """Whether an input that the op keeps can be handed over without a copy."""
        ref = node.inputs[k]
        return self.c.owned(ref) and self.c.uses[ref] == 1 and self.segment_of[ref[0]] == self.index

    def _line(self, i: int, text: str, *, note: bool = True) -> None:
        node = self.c.nodes[i]
        comment = f"  # {node.name} ({node.op}) {node.source}".rstrip().replace("\n", " ")
        self.body.append((f"{_INDENT}{text}{comment}", i))
        if not note:
            self.traced.append((f"{_INDENT}{text}{comment}", i))
            return
        value = self._local((node.name, 0)) if node.outputs else "None"
        self.traced.append((f"{_INDENT}t = clock()", i))
        self.traced.append((f"{_INDENT}{text}{comment}", i))
        self.traced.append((f"{_INDENT}C.note({i}, t, {value})", i))

    def _local(self, ref: Ref) -> str:
        number = self.c.number_of(ref)
        return f"v{number}_{ref[1]}" if ref[1] else f"v{number}"

    def _value(self, ref: Ref) -> str:
        """The expression by which a value is read here; values from outside become parameters."""
        name = ref[0]
        maker = self.c.nodes[self.c.number[name]]
        if self.c.is_once(name):
            bound = f"c{self.c.number[name]}"
            self.bindings[bound] = self.c.number[name]
            return bound
        outside = maker.op in (ARG, RECV) or self.segment_of[name] != self.index
        if outside and ref not in self.parameters:
            self.parameters[ref] = self._local(ref)
        return self._local(ref)

    # -- life and ownership --------------------------------------------------------------------

    def _local_uses(self) -> dict[Ref, int]:
        remaining: dict[Ref, int] = {}
        for i in self.nodes:
            for ref in self.c.nodes[i].inputs:
                remaining[ref] = remaining.get(ref, 0) + 1
        for _, name, output in self.c.partition.fetches:
            remaining[name, output] = remaining.get((name, output), 0) + 1
        for ref in self.crossing:
            remaining[ref] = remaining.get(ref, 0) + 1
        return remaining

    def _drop(self, i: int, remaining: dict[Ref, int]) -> None:
        """Ends the life of arrays read for the last time, so that buffers and variables are free again."""
        dead = []
        for ref in dict.fromkeys(self.c.nodes[i].inputs):
            remaining[ref] -= self.c.nodes[i].inputs.count(ref)
            scalar = self.c.specs[ref].shape.rank == 0
            if not remaining[ref] and not scalar and not self.c.is_once(ref[0]):
                dead.append(self._local(ref))
        if dead:
            text = f"{_INDENT}del {', '.join(dead)}"
            self.body.append((text, None))
            self.traced.append((text, None))

    def _fetched(self, ref: Ref, *, again: bool) -> str:
        value = self._value(ref)
        if not self.c.own_fetches:
            return value
        rank = self.c.specs[ref].shape.rank
        shared = again or not self.c.owned(ref) or self._is_shared(ref)
        if shared:
            return f"own({value})"
        return value if rank else f"out({value})"

    def _is_shared(self, ref: Ref) -> bool:
        """Whether an array that leaves is also read by something that may keep or pass on its memory."""
        for node in self.c.nodes:
            if ref not in node.inputs:
                continue
            if node.op == SEND:
                return True
            op = self.c.ops[self.c.number[node.name]]
            if op is not None and op.aliases and self.c.has_sends:
                return True  # a view of it may be on its way elsewhere
        return False

"""Use-def analysis: the maker and the readers of each value of a partition, and what may hold its memory.

Code generation rests on this analysis; ``compile``, ``emitter`` and ``segment_writer`` use it. Nodes are
numbers here (positions in the partition) and a value is (node, output): on graphs of ten thousands of nodes,
names cost more than the rest of the pass.

The rule behind ``owned``: kernels never write to their inputs, and the result of a kernel shares memory with
nothing unless its op is marked ``aliases``. So an array made by such an op in this step can be returned or
moved into state without a copy after its last read; anything else is copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device_kernels import all_to_host_of, definition_of, kernels_of, peer_arrays
from actorsession.graph.dtypes import bfloat16, float16, resource, variant
from actorsession.graph.function import ARGUMENT, CONSTRUCTS, FunctionDef
from actorsession.graph.lending import conversion_to, staged_of
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import Array, Kernel, OpDef, lookup
from actorsession.plan.abandonment import check_wanted
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG
from actorsession.plan.rendezvous_key import RendezvousKey, parse_key
from actorsession.plan.trip_counts import nodes_of_varying_cost

__all__ = ["Ref", "UseDef", "conversion_of", "function_use_def"]

Ref = tuple[int, int]

_HALF = frozenset({bfloat16, float16})


class UseDef:
    """The values of one partition, or of the body of a loop or branch.

    Args:
        partition: the nodes.
        base: added to a node's position here to give its number in the code.
        constants: values of feeds that are constants of the plan, by position.
        own_fetches: whether fetched arrays must share no memory with the runtime; else they are sent.

    Attributes:
        nodes: the partition's.
        arrays: those of the device; ``None`` if they are numpy's.
        all_to_host: makes several of them those of the host at once; ``None`` if the device has nothing for it.
        compiles: whether the device has a compiler, and may use it.
        has_side_by_side: whether kernels of the device may run beside each other.
        ops: definition of each node's type on the device; ``None`` for the planner's own nodes.
        inputs: values that each node reads.
        before: nodes that each node runs after, including the producers of its inputs.
        outside: whether each node's value is passed into the code as an argument: a feed or arrival.
        once: whether each node has one value for the lifetime of the plan.
        suspends: whether each node's values arrive some time after it was started.
        fetches: (position in the signature's fetches, value).
        uses: number of inputs that read each value, for values with any.
    """

    def __init__(
        self,
        partition: Partition,
        base: int = 0,
        constants: Mapping[int, Array] | None = None,
        *,
        own_fetches: bool = True,
    ) -> None:
        self.nodes = partition.nodes
        self.base = base
        self._constants = constants or {}
        self._waited_for: set[str] | None = None  # computed on first use
        self._varying: frozenset[str] | None = None
        self._device = partition.device
        number = {node.name: i for i, node in enumerate(self.nodes)}
        self.inputs: list[tuple[Ref, ...]] = [
            tuple([(number[name], output) for name, output in n.inputs]) for n in self.nodes
        ]
        self.before = [
            (*[i for i, _ in refs], *[number[name] for name in n.control_inputs])
            for n, refs in zip(self.nodes, self.inputs, strict=True)
        ]
        self._kernels = kernels_of(self._device)
        self.arrays = None if self._kernels is None else self._kernels.arrays(self._device)
        self.all_to_host = all_to_host_of(self._device)
        self.compiles = partition.compiles and self._kernels is not None and self._kernels.compiler is not None
        self.has_side_by_side = self._kernels is not None and self._kernels.side_by_side is not None
        self.ops: list[OpDef | None] = [self._definition(i) for i in range(len(self.nodes))]
        self.outside = [n.op in (ARG, RECV) for n in self.nodes]
        self.once = [op is not None and op.once for op in self.ops]
        self.suspends = [op is not None and op.suspends for op in self.ops]
        self.fetches = tuple([(position, (number[name], output)) for position, name, output in partition.fetches])
        self._fetched = {ref for _, ref in self.fetches}
        self.uses = Counter([ref for refs in self.inputs for ref in refs])
        self._sends_any = any(n.op == SEND for n in self.nodes)
        self._sent = self._find_sent(own_fetches)

    def _definition(self, i: int) -> OpDef | None:
        op = self.nodes[i].op
        if op in (ARG, SEND, RECV):
            return None
        return lookup(op) if self.arrays is None else definition_of(self.context(i))

    def is_of_device(self, ref: Ref) -> bool:
        """Return whether a value is an array that is not numpy's."""
        return self.arrays is not None and self.arrays.holds(self.nodes[ref[0]].outputs[ref[1]].dtype)

    def goes_without_host(self, i: int) -> bool:
        """Return whether the device to which a node sends a value takes it without the host; see ``conversion_of``.

        Lists of tensors go by way of the host, piece by piece.
        """
        key = _destination(self.nodes[i].attrs["key"])
        if key is None or not (self.inputs[i] and self.is_of_device(self.inputs[i][0])):
            return False
        (j, output), arrays = self.inputs[i][0], peer_arrays(self._device, key.dst_device)
        dtype = self.nodes[j].outputs[output].dtype
        return arrays is not None and dtype is not variant and arrays.holds(dtype)

    def is_staged(self, i: int) -> bool:
        """Return whether a node sends an array of the device to another task in memory that ``staged_of`` chooses."""
        of_device = bool(self.inputs[i]) and self.is_of_device(self.inputs[i][0])
        return of_device and staged_of(self._device) is not None and _leaves_task(self.nodes[i].attrs["key"])

    def into(self, i: int) -> Kernel | None:
        """Return the function by which a node writes its result into a numpy array; ``None`` if it has none.

        A node of a device whose arrays share their memory with numpy's has that of the CPU, but for half precision,
        in which numpy is slow.
        """
        op = self.ops[i]
        if op is not None and op.into is None and self._kernels is not None and self._kernels.shares_memory:
            specs = [self.nodes[j].outputs[output] for j, output in self.inputs[i]] + [*self.nodes[i].outputs]
            if not any(spec.dtype in _HALF for spec in specs):
                op = lookup(op.name)
        return None if op is None or op.into is None else op.into(self.context(i))

    def expression(self, i: int, context: NodeContext, arguments: Sequence[str]) -> str | None:
        """Return the expression of a node in place of a call; ``None`` if there is none.

        There is none for invalid constants either: the kernel raises when the node runs. Whether the output is sent to
        another task may make a difference.
        """
        op = self.ops[i]
        emit = None if op is None else op.emit_sent if op.emit_sent is not None and self.is_sent((i, 0)) else op.emit
        if emit is None:
            return None
        try:
            return emit(context, arguments)
        except Exception:
            return None

    def context(self, i: int) -> NodeContext:
        """Return the context for the kernel factory of a node, before there is a device.

        It is made on each call: ten thousands of them at a time would keep the garbage collector busy.
        """
        inputs = self.inputs[i]
        specs = tuple([self.nodes[j].outputs[output] for j, output in inputs])
        constants = tuple([self.constant(ref) for ref in inputs])
        return NodeContext(self.nodes[i], specs, constants, self._device)

    def constant(self, ref: Ref) -> Array | None:
        """Return a value if it is a constant of the plan, else ``None``."""
        i = ref[0]
        node = self.nodes[i]
        return node.attrs.get("value") if node.op == "Const" else self._constants.get(i)

    def runs_before(self, i: int) -> bool:
        """Return whether a node runs after node ``i`` without reading its values."""
        if self._waited_for is None:
            self._waited_for = {name for node in self.nodes for name in node.control_inputs}
        return self.nodes[i].name in self._waited_for

    def varies(self, i: int) -> bool:
        """Return whether a node may take a different time in the next run, for inputs of the same sizes."""
        op = self.ops[i]
        if self.nodes[i].op not in CONSTRUCTS and (op is None or not op.sized_by):
            return False
        if self._varying is None:
            self._varying = nodes_of_varying_cost(self.nodes)
        return self.nodes[i].name in self._varying

    def upstream(self, refs: Iterable[Ref]) -> set[int]:
        """Return the nodes that values depend on, including their producers."""
        nodes: set[int] = set()
        waiting = [i for i, _ in refs]
        while waiting:
            i = waiting.pop()
            if i not in nodes:
                nodes.add(i)
                waiting.extend(self.before[i])
        return nodes

    def downstream(self, i: int) -> set[int]:
        """Return the nodes that depend on a node's values."""
        nodes = {i}
        for j, refs in enumerate(self.inputs):  # producers come first
            if any(ref[0] in nodes for ref in refs):
                nodes.add(j)
        return nodes - {i}

    @cached_property
    def _readers(self) -> dict[Ref, list[int]]:
        """The nodes that read each fetched value."""
        readers: dict[Ref, list[int]] = {ref: [] for ref in self._fetched}
        for i, refs in enumerate(self.inputs):
            for ref in self._fetched.intersection(refs):
                readers[ref].append(i)
        return readers

    def has_handle(self, i: int) -> bool:
        """Return whether an input of a node is a resource."""
        return any(self.nodes[j].outputs[k].dtype is resource for j, k in self.inputs[i])

    def is_scalar(self, ref: Ref) -> bool:
        """Return whether a value is known to be one number, which is small and cannot be written to."""
        spec = self.nodes[ref[0]].outputs[ref[1]]
        return spec.shape.rank == 0 and spec.dtype is not variant

    def owned(self, ref: Ref) -> bool:
        """Return whether a value is new in each step and only its readers can hold its memory."""
        op = self.ops[ref[0]]
        return op is not None and not op.aliases and not op.once

    def has_one_use(self, ref: Ref) -> bool:
        """Return whether a single input reads the value, and no fetch."""
        return self.uses[ref] == 1 and ref not in self._fetched

    def is_sent(self, ref: Ref) -> bool:
        """Return whether a value, or one that may be a view of it, is sent to another task."""
        return ref in self._sent

    def _find_sent(self, own_fetches: bool) -> frozenset[Ref]:
        sent = set() if own_fetches else set(self._fetched)
        if not sent and not self._sends_any:
            return frozenset()
        outputs = {i for i, _ in sent}
        for i in range(len(self.nodes) - 1, -1, -1):  # readers come after what they read
            op = self.ops[i]
            if self.nodes[i].op == SEND:
                leaves = _leaves_task(self.nodes[i].attrs["key"])
            else:
                leaves = op is not None and i in outputs and self._shares(i, op)
            if leaves:
                sent.update(self.inputs[i])
                outputs.update([j for j, _ in self.inputs[i]])
        return frozenset(sent)

    def _shares(self, i: int, op: OpDef) -> bool:
        """Return whether the output of a node may share memory with an input: lists of tensors always do."""
        return op.aliases or any(spec.dtype is variant for spec in self.nodes[i].outputs)

    def stays(self, ref: Ref) -> bool:
        """Return whether a value with several readers is written to by nothing until the step has ended.

        A node overwrites an owned value only if it is the single reader; a caller who has fetched it may do
        so at any time.
        """
        return self.owned(ref) and ref not in self._fetched

    def is_held(self, ref: Ref) -> bool:
        """Return whether something may hold the memory of an owned, fetched value after the step.

        A value that was sent may still wait for its receiver. So may a view of it, which any op that aliases
        can make. State needs no test: it keeps a copy unless this is the only use.
        """
        for i in self._readers[ref]:
            op = self.ops[i]
            if op is None or (self._sends_any and self._shares(i, op)):
                return True
        return False


def _destination(key: str) -> RendezvousKey | None:
    """Return a parsed key; ``None`` for a malformed one, which is reported by its step."""
    try:
        return parse_key(key)
    except InvalidArgumentError:
        return None


def _leaves_task(key: str) -> bool:
    """Return whether a key is that of a tensor for another task."""
    parsed = _destination(key)
    return parsed is not None and parsed.dst_task != parsed.src_task


def conversion_of(device: str, key: str) -> Callable[[Any], Any] | None:
    """Return what makes of an array of a device what goes under a key without the host, if it can."""
    parsed = _destination(key)
    return None if parsed is None else conversion_to(device, parsed.dst_device)


def function_use_def(
    function: FunctionDef, device: str, base: int, constants: Mapping[int, Array], *, compiles: bool = False
) -> UseDef:
    """Return the use-def analysis of a function, whose arguments come first and count as feeds.

    Args:
        function: the function; its results count as fetches.
        device: full name of its device.
        base: see ``UseDef``.
        constants: values of arguments that are constants of the plan.
        compiles: see ``Partition``.
    """
    check_wanted()
    # No node of a function has a name of this form: see ``function_fault``.
    names = [f"_arg/{k}" for k in range(len(function.arguments))]
    arguments = [
        NodeDef(name=name, op=ARG, attrs={"index": k}, outputs=(spec,))
        for k, (name, spec) in enumerate(zip(names, function.arguments, strict=True))
    ]

    def known(ref: tuple[str, int]) -> tuple[str, int]:
        return (names[ref[1]], 0) if ref[0] == ARGUMENT else ref

    nodes = [replace(n, inputs=tuple([known(ref) for ref in n.inputs])) for n in function.nodes]
    results = [(k, *known(ref)) for k, ref in enumerate(function.outputs)]
    return UseDef(Partition(device, (*arguments, *nodes), tuple(results), compiles), base, constants)

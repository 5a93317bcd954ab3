"""Dataflow partitions: the data that the engine needs for a partition with primitive control flow.

Such a partition is not compiled into segments: its nodes run one by one, as values arrive for them in each
iteration of each loop. Here nodes become numbers, edges become lists, and kernels are made. Functional
control flow operations (``While``, ``If``, calls) are compiled as everywhere else, each as a partition of its
own. Every loader of a graph calls this; ``runtime.engine.dataflow_engine`` runs the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from actorsession.graph.control_flow_ops import (
    ENTERS,
    EXITS,
    LOOP_COND,
    MERGES,
    NEXT_ITERATIONS,
    PRIMITIVES,
    SWITCHES,
    TRIGGER,
)
from actorsession.graph.function import CONSTRUCTS
from actorsession.graph.lending import staged_of
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import ResourceHost
from actorsession.plan.codegen.bind import BoundPartition, BoundSegment, arrival, kernel_of
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.segment import CompiledPartition, Suspension
from actorsession.plan.codegen.use_def import UseDef, conversion_of
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of
from actorsession.plan.cost import node_cost
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG
from actorsession.plan.takes import TakePlan, taken_inside, uses_of
from actorsession.plan.trip_counts import sizing
from actorsession.records import dataclass

__all__ = [
    "ALONE", "AT_MERGE", "BESIDE", "CALL", "CONSTANT", "ENTER", "EXIT", "FEED", "MERGE", "NEXT", "PASS",
    "RECEIVE", "SENDING", "SWITCH", "SWITCH_N", "BoundDataflow", "LoopFrame", "NodePlan", "construct_partition",
]  # fmt: skip

ENTER, EXIT, NEXT, PASS, MERGE, CALL, SWITCH, CONSTANT, FEED, RECEIVE, SENDING, SWITCH_N = range(12)
"""The treatment of a node by the engine. ``PASS`` forwards its input, if it has one.

The first three lead to other frames or iterations; they, ``PASS`` and ``MERGE`` forward the value that
arrived.
"""

ALONE, BESIDE, AT_MERGE = range(3)
"""How a node receives a value: as the only one that it waits for, as one of several, or as a Merge."""


@dataclass(slots=True, eq=False)
class LoopFrame:
    """A loop, for the engine.

    Attributes:
        name: its name, with those of the loops around it.
        enters: number of Enter nodes of the partition that lead into it.
        parallel: how many iterations may run at once.
    """

    name: str
    enters: int = 0
    parallel: int = 1


@dataclass(slots=True, eq=False)
class NodePlan:
    """A node, for the engine.

    Attributes:
        number: its position in the partition.
        node: as it was planned.
        kind: its treatment by the engine.
        inputs: number of values that it reads.
        pending: number of edges that it waits for; a Merge waits in its own way.
        control: number of these edges that carry no value.
        function: its kernel, or its value if it is a constant.
        convert: for a value that comes to a device or leaves it, or values that arrive late or from ``segment``, what
            makes it one of the device or of the host; ``None`` if nothing has to.
        segment: for a functional control flow operation, its generated code; else ``None``.
        frame: for an Enter the loop that it leads into.
        is_constant: for an Enter, whether its value is available in every iteration.
        is_enter: whether it is an Enter.
        is_merge: whether it is a Merge.
        is_immortal: whether it is alive even after operations that are dead.
        is_idle: whether it never runs, because its readers read its input directly.
        outputs: number of values that it makes.
        linked: with ``segment``, the bound partition of that segment.
        is_plain: whether it is no more than the call of a function.
        edges: the readers of its values: output, node, input, and how that node receives it.
        followers: the nodes that run after it without reading it.
        fetched: (output, position in the fetches of the partition).
        index: position of a feed, or rendezvous key without frame and iteration; with ``segment``, the orders
            of its arguments and results.
        suspends: its number among the nodes that suspend; -1 for others.
        blocks: whether it may take any time.
        varies: whether its measured times do not predict the next.
        is_unsized: whether static types do not determine its cost.
        seconds: expected, later measured, seconds of a run; 0 if unknown. The offload policy keeps it.
        may_be_expensive: whether the offload policy has to be asked before each run; likewise.
    """

    number: int
    node: NodeDef
    kind: int
    inputs: int
    pending: int
    control: int
    function: Any = None
    convert: Any = None
    segment: BoundSegment | None = None
    linked: BoundPartition | None = None
    frame: LoopFrame | None = None
    is_constant: bool = False
    is_enter: bool = False
    is_merge: bool = False
    is_immortal: bool = False
    is_idle: bool = False
    outputs: int = 0
    is_plain: bool = True
    edges: tuple[tuple[int, NodePlan, int, int], ...] = ()
    followers: tuple[NodePlan, ...] = ()
    fetched: tuple[tuple[int, int], ...] = ()
    index: Any = None
    suspends: int = -1
    blocks: bool = False
    varies: bool = False
    is_unsized: bool = False
    seconds: float = 0.0
    may_be_expensive: bool = True


_KINDS: dict[str, int] = {ARG: FEED, RECV: RECEIVE, SEND: SENDING, LOOP_COND: PASS, TRIGGER: PASS}
_KINDS.update(dict.fromkeys(SWITCHES, SWITCH))
_KINDS["_SwitchN"] = SWITCH_N
_KINDS.update(dict.fromkeys(MERGES, MERGE))
_KINDS.update(dict.fromkeys(ENTERS, ENTER))
_KINDS.update(dict.fromkeys(EXITS, EXIT))
_KINDS.update(dict.fromkeys(NEXT_ITERATIONS, NEXT))
_KINDS["Identity"] = PASS
_KINDS["NoOp"] = PASS


class BoundDataflow(BoundPartition):
    """A partition with primitive control flow, bound to a device.

    Args:
        partition: a valid partition.
        host: the device's resource manager.
        states: state of stateful kernels by node name, shared by all plans of a session.
        own_fetches: whether fetched arrays must share no memory with the runtime.

    Attributes:
        plans: its nodes.
        roots: those that wait for nothing.
        own_fetches: as given.

    Raises:
        InvalidArgumentError: if a node reads from several frames.
    """

    def __init__(
        self, partition: Partition, host: ResourceHost, states: dict[str, Any], *, own_fetches: bool = True
    ) -> None:
        flow = UseDef(partition)
        super().__init__(_described(partition, flow), host, states)
        self.own_fetches = own_fetches
        self.plans = tuple([self._planned(i, flow, host, states) for i in range(len(flow.nodes))])
        for number, suspension in enumerate(self.compiled.suspensions):
            self.plans[suspension.node].suspends = number
        for plan in self.plans:
            plan.is_plain = plan.suspends < 0 and plan.segment is None
        self._bind_frames(partition)
        self._bind_edges(flow)
        self.blocks = any(p.blocks for p in self.plans)
        self.roots = tuple([p for p in self.plans if not p.pending])

    def _planned(self, i: int, flow: UseDef, host: ResourceHost, states: dict[str, Any]) -> NodePlan:
        node, op = flow.nodes[i], flow.ops[i]
        kind = _KINDS.get(node.op, CONSTANT if flow.once[i] else CALL)
        plan = NodePlan(i, node, kind, len(flow.inputs[i]), len(flow.before[i]), len(node.control_inputs))
        plan.outputs = len(node.outputs)
        plan.is_enter, plan.is_merge = kind == ENTER, kind == MERGE
        plan.is_immortal = node.op == TRIGGER
        if flow.arrays is not None:
            plan.convert = self._conversion(i, kind, flow)
        if kind == FEED:
            plan.index = node.attrs["index"]
        elif kind in (RECEIVE, SENDING):
            plan.index = node.attrs["key"].rpartition(";")[0]
        elif op is not None and node.op not in PRIMITIVES:
            context = flow.context(i)
            if node.op in CONSTRUCTS:
                self._bind_construct(plan, context, host, states)
            elif kind in (CALL, CONSTANT):
                function = kernel_of(context.bound(host, states))
                plan.function = function() if kind == CONSTANT else function
            plan.blocks = op.blocks or (plan.linked is not None and plan.linked.segments[0].blocks)
            micros, known = node_cost(node, context.inputs)
            plan.seconds = micros * 1e-6 if known else 0.0
            plan.is_unsized = not known
            # The graph has cycles, so every input that is not constant may vary.
            plan.varies = any(context.constant(k) is None for k in sizing(node))
            if plan.linked is not None:
                plan.seconds = plan.linked.segments[0].segment.cost * 1e-6
                plan.varies = plan.linked.segments[0].unpredictable
        return plan

    def _conversion(self, i: int, kind: int, flow: UseDef) -> Any:
        """Return what converts the value of a node that is passed in or out, or all of one that suspends or is code."""
        arrays = flow.arrays
        assert arrays is not None
        if kind in (FEED, RECEIVE):
            return arrays.to_device if flow.is_of_device((i, 0)) else None
        if kind == SENDING:
            if flow.goes_without_host(i):
                return conversion_of(self.device, flow.nodes[i].attrs["key"])
            return staged_of(self.device) if flow.is_staged(i) else arrays.to_host
        return arrival(flow.context(i)) if flow.suspends[i] or flow.nodes[i].op in CONSTRUCTS else None

    def _bind_construct(self, plan: NodePlan, context: NodeContext, host: ResourceHost, states: dict[str, Any]) -> None:
        """Compile a functional control flow operation as a partition of its own."""
        compiled = compile_partition(construct_partition(plan.node, context.inputs, self.device))
        plan.linked = BoundPartition(compiled, host, states)
        plan.segment = plan.linked.segments[0]
        position_of = dict(compiled.feeds)
        order = [position_of[slot] for slot in plan.segment.segment.arguments]
        slots = list(plan.segment.segment.results)
        results = [slots.index(slot) for _, slot in compiled.fetches]
        plan.index = (order, results)

    def _bind_frames(self, partition: Partition) -> None:
        frames = frames_of({node.name: node for node in partition.nodes})
        known: dict[Frame, LoopFrame] = {ROOT: LoopFrame("")}
        for plan in self.plans:
            if not plan.is_enter:
                continue
            frame = frames[plan.node.name]
            loop = known.get(frame)
            if loop is None:
                loop = known[frame] = LoopFrame("/".join(f.name for f in reversed(frame.outwards)))
            loop.enters += 1
            loop.parallel = plan.node.attrs["parallel_iterations"]
            plan.frame = loop
            plan.is_constant = plan.node.attrs["is_constant"]

    def _bind_edges(self, flow: UseDef) -> None:
        readers: list[list[tuple[int, NodePlan, int]]] = [[] for _ in self.plans]
        followers: list[list[NodePlan]] = [[] for _ in self.plans]
        number = {node.name: i for i, node in enumerate(flow.nodes)}
        for plan in self.plans:
            for at, (i, output) in enumerate(flow.inputs[plan.number]):
                readers[i].append((output, plan, at))
            for name in plan.node.control_inputs:
                followers[number[name]].append(plan)
        fetched: dict[int, list[tuple[int, int]]] = {}
        for position, (i, output) in flow.fetches:
            fetched.setdefault(i, []).append((output, position))
        for plan in reversed(self.plans):  # consumers first, except on back edges
            plan.followers = tuple(followers[plan.number])
            plan.fetched = tuple(fetched.get(plan.number, ()))
            edges: list[tuple[int, NodePlan, int, int]] = []
            for output, reader, at in readers[plan.number]:
                if reader.is_idle:
                    edges += [(output, *edge[1:]) for edge in reader.edges]
                else:
                    edges.append((output, reader, at, _taking(reader)))
            plan.edges = tuple(edges)
            plan.is_idle = _is_idle(plan)


def construct_partition(node: NodeDef, inputs: Sequence[TensorSpec], device: str) -> Partition:
    """Return a functional control flow operation as a partition of its own, with its inputs as feeds.

    Args:
        node: the operation.
        inputs: the static types of its inputs.
        device: full name of its device.
    """
    names = [f"_arg/{k}" for k in range(len(inputs))]
    arguments = [
        NodeDef(name=name, op=ARG, attrs={"index": k}, outputs=(spec,))
        for k, (name, spec) in enumerate(zip(names, inputs, strict=True))
    ]
    node = replace(node, inputs=tuple([(name, 0) for name in names]), control_inputs=())
    fetches = tuple([(k, node.name, k) for k in range(len(node.outputs))])
    return Partition(device, (*arguments, node), fetches)


def _taking(reader: NodePlan) -> int:
    if reader.is_merge:
        return AT_MERGE
    return ALONE if reader.pending == 1 else BESIDE


def _is_idle(plan: NodePlan) -> bool:
    """Return whether the readers of a node may read its input directly without an observable difference.

    There is a difference for a Merge, which stops waiting when an Enter delivers a dead tensor.
    """
    if plan.kind != PASS or plan.pending != 1 or plan.inputs != 1 or plan.outputs != 1:
        return False
    if plan.followers or plan.fetched:
        return False
    return all(how != AT_MERGE for _, _, _, how in plan.edges)


def _described(partition: Partition, flow: UseDef) -> CompiledPartition:
    """Return the view of the partition for the rest of the runtime: its nodes, but no segments."""
    suspensions = tuple(
        [Suspension(i, tuple(range(len(node.outputs))), 0) for i, node in enumerate(flow.nodes) if flow.suspends[i]]
    )
    return CompiledPartition(
        partition=partition,
        nodes=partition.nodes,
        segments=(),
        slots=0,
        feeds=(),
        recvs=(),
        suspensions=suspensions,
        sends=(),
        fetches=(),
        readers=(),
        contexts={},
        takes={
            number: TakePlan(uses, frozenset())
            for number, suspension in enumerate(suspensions)
            if (uses := uses_of(flow.nodes[suspension.node])) is not None
        },
        taken_inside=taken_inside(partition.nodes),
    )

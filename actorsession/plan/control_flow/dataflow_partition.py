"""Dataflow partitions: what the engine must know of a part that holds control flow of single operations.

Such a part is not compiled into segments: its nodes are run one by one, as values arrive for them in each
iteration of each loop. Here nodes become numbers, edges become lists, and kernels are made. Loops and
branches that are one operation (``While``, ``If``) are compiled as everywhere else, each as a part of its
own. Called by whoever loads a graph; ``runtime.dataflow`` runs it.
"""

from __future__ import annotations

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
)  # fmt: skip
from actorsession.graph.function import CONSTRUCTS
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import ResourceHost
from actorsession.plan.codegen.bind import BoundPartition, BoundSegment, kernel_of
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.segment import CompiledPartition, Segment, Suspension
from actorsession.plan.codegen.use_def import UseDef
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of
from actorsession.plan.cost import node_cost
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG
from actorsession.plan.takes import TakePlan, taken_inside, uses_of
from actorsession.plan.trip_counts import sizing
from actorsession.records import dataclass

__all__ = [
    "ALONE", "AT_MERGE", "BESIDE", "CALL", "CONSTANT", "ENTER", "EXIT", "FEED", "MERGE", "NEXT", "PASS",
    "RECEIVE", "SENDING", "SWITCH", "SWITCH_N", "BoundDataflow", "LoopFrame", "NodePlan",
]  # fmt: skip

ENTER, EXIT, NEXT, PASS, MERGE, CALL, SWITCH, CONSTANT, FEED, RECEIVE, SENDING, SWITCH_N = range(12)
"""What the engine does with a node. ``PASS`` hands on what it reads, or nothing.

The first three lead elsewhere; they, ``PASS`` and ``MERGE`` hand on what has come for them.
"""

ALONE, BESIDE, AT_MERGE = range(3)
"""How a node takes a value: the only one that it waits for, one of several, or as a Merge does."""


@dataclass(slots=True, eq=False)
class LoopFrame:
    """A loop as the engine counts it.

    Attributes:
        name: its name, with those of the loops around it.
        enters: how many nodes of the part bring something into it.
        parallel: how many iterations may be under way at once.
    """

    name: str
    enters: int = 0
    parallel: int = 1


@dataclass(slots=True, eq=False)
class NodePlan:
    """A node as the engine runs it.

    Attributes:
        number: its position in the part.
        node: as it was planned.
        kind: what the engine does with it.
        inputs: how many values it reads.
        pending: how many edges it waits for, those of one Merge aside.
        control: how many of them carry no value.
        function: its kernel, or its value if it is a constant.
        segment: for a loop or branch, its generated code; else ``None``.
        frame: for an Enter the loop that it leads into.
        is_constant: for an Enter, whether its value is there in every iteration.
        is_enter: whether it is an Enter.
        is_merge: whether it is a Merge.
        is_immortal: whether it lives even after operations that are dead.
        is_idle: whether it never runs, because those who read it read what it reads.
        outputs: how many values it makes.
        linked: with ``segment``, what that belongs to.
        is_plain: whether it is no more than the call of a function.
        edges: who reads what it makes: output, node, input, and how that node takes it.
        followers: the nodes that run after it without reading it.
        fetched: (output, position in the fetches of the part).
        index: position of a feed, or rendezvous key without frame and iteration.
        suspends: its number among the nodes that suspend; -1 for others.
        blocks: whether it may take any time.
        varies: whether it may take any time, whatever it took before.
        is_unsized: whether its types do not say what it costs.
        dear: seconds that it is expected to take, and later measured to take; 0 if nobody knows.
    """

    number: int
    node: NodeDef
    kind: int
    inputs: int
    pending: int
    control: int
    function: Any = None
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
    dear: float = 0.0


_KINDS: dict[str, int] = {ARG: FEED, RECV: RECEIVE, SEND: SENDING, LOOP_COND: PASS, TRIGGER: PASS}
_KINDS.update(dict.fromkeys(SWITCHES, SWITCH))
_KINDS["_SwitchN"] = SWITCH_N
_KINDS.update(dict.fromkeys(MERGES, MERGE))
_KINDS.update(dict.fromkeys(ENTERS, ENTER))
_KINDS.update(dict.fromkeys(EXITS, EXIT))
_KINDS.update(dict.fromkeys(NEXT_ITERATIONS, NEXT))
_KINDS["Identity"] = PASS
_KINDS["NoOp"] = PASS

_ENGINE = Segment(
    name="dataflow", code=(), bindings={}, arguments=(), results=(), waits=(), after=(), cost=0.0,
    cost_known=True,
)  # fmt: skip


class _EngineSegment(BoundSegment):
    """Stands where a step looks for the segment that is ready: whatever of the part can run."""

    __slots__ = ()

    def __init__(self, blocks: bool) -> None:
        self.segment = _ENGINE
        self.blocks = blocks
        self.unpredictable = False  # what may take long goes to the pool node by node
        self.filename = self.traced_filename = "<dataflow>"
        self.function = _no_function
        self.traced_function = None
        self.seconds = 1e-9
        self.largest = 0

    def node_at(self, filename: str, line: int) -> int | None:
        return None


def _no_function(*arguments: Any) -> Any:
    raise AssertionError("the engine calls kernels by itself")


class BoundDataflow(BoundPartition):
    """A part with control flow of single operations, bound to a device.

    Args:
        partition: a valid partition.
        host: the device's resource manager.
        states: state of stateful kernels by node name, shared by all plans of a session.
        own_fetches: whether fetched arrays must be the caller's own.

    Attributes:
        plans: its nodes.
        roots: those that wait for nothing.
        own_fetches: as given.

    Raises:
        InvalidArgumentError: if a node reads from several frames.
    """

    def __init__(
        self,
        partition: Partition,
        host: ResourceHost,
        states: dict[str, Any],
        *,
        own_fetches: bool = True,
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
        self.segments = [_EngineSegment(any(p.blocks for p in self.plans))]
        self.waits = [0]
        self.followers = [[]]
        self.roots = tuple([p for p in self.plans if not p.pending])

    def _planned(
        self, i: int, flow: UseDef, host: ResourceHost, states: dict[str, Any]
    ) -> NodePlan:
        node, op = flow.nodes[i], flow.ops[i]
        kind = _KINDS.get(node.op, CONSTANT if flow.once[i] else CALL)
        plan = NodePlan(
            i, node, kind, len(flow.inputs[i]), len(flow.before[i]), len(node.control_inputs)
        )
        plan.outputs = len(node.outputs)
        plan.is_enter, plan.is_merge = kind == ENTER, kind == MERGE
        plan.is_immortal = node.op == TRIGGER
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
            plan.dear = micros * 1e-6 if known else 0.0
            plan.is_unsized = not known
            # Values go in circles here, so what is no constant may be anything.
            plan.varies = any(context.constant(k) is None for k in sizing(node))
            if plan.linked is not None:
                plan.dear = plan.linked.segments[0].segment.cost * 1e-6
                plan.varies = plan.linked.segments[0].unpredictable
        return plan

    def _bind_construct(
        self, plan: NodePlan, context: NodeContext, host: ResourceHost, states: dict[str, Any]
    ) -> None:
        """Compile a loop or branch that is one operation as a part of its own."""
        names = [f"_arg/{k}" for k in range(len(context.inputs))]
        arguments = [
            NodeDef(name=name, op=ARG, attrs={"index": k}, outputs=(spec,))
            for k, (name, spec) in enumerate(zip(names, context.inputs, strict=True))
        ]
        node = NodeDef(
            name=plan.node.name, op=plan.node.op, inputs=tuple([(name, 0) for name in names]),
            attrs=plan.node.attrs, outputs=plan.node.outputs, source=plan.node.source,
            device=plan.node.device,
        )  # fmt: skip
        fetches = tuple([(k, node.name, k) for k in range(len(node.outputs))])
        compiled = compile_partition(Partition(self.device, (*arguments, node), fetches))
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
        for plan in reversed(self.plans):  # consumers first, but for what closes loops
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


def _taking(reader: NodePlan) -> int:
    if reader.is_merge:
        return AT_MERGE
    return ALONE if reader.pending == 1 else BESIDE


def _is_idle(plan: NodePlan) -> bool:
    """Return whether those who read a node may read what it reads, because nobody can tell the difference.

    A Merge can: what comes dead from an Enter ends its waiting.
    """
    if plan.kind != PASS or plan.pending != 1 or plan.inputs != 1 or plan.outputs != 1:
        return False
    if plan.followers or plan.fetched:
        return False
    return all(how != AT_MERGE for _, _, _, how in plan.edges)


def _described(partition: Partition, flow: UseDef) -> CompiledPartition:
    """Return what the rest of the runtime looks at: nodes and those that suspend, but no segments."""
    suspensions = tuple(
        [
            Suspension(i, tuple(range(len(node.outputs))), 0)
            for i, node in enumerate(flow.nodes)
            if flow.suspends[i]
        ]
    )
    return CompiledPartition(
        partition=partition, nodes=partition.nodes, segments=(), slots=0, feeds=(), recvs=(),
        suspensions=suspensions, sends=(), fetches=(), readers=(), contexts={},
        takes={
            number: TakePlan(uses, frozenset())
            for number, suspension in enumerate(suspensions)
            if (uses := uses_of(flow.nodes[suspension.node])) is not None
        },
        taken_inside=taken_inside(partition.nodes),
    )  # fmt: skip

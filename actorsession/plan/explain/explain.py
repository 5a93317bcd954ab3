"""Explain: from the trail of a planning to an ``Explanation``.

``plan_step`` plans a signature as a run does, the ``PlannedStep`` says what else can be asked about its plan, and
``explain`` puts everything together. A fault of the plan is part of the result: what was planned before it is
explained all the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.graph.dtypes import DType
from actorsession.graph.function import CONSTRUCTS, nodes_inside
from actorsession.graph.kept_state import VARIABLES
from actorsession.graph.node import NodeDef, TensorSpec, tensor_name
from actorsession.graph.shape import TensorShape
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.codegen.fusion import SHARED
from actorsession.plan.codegen.segment import CompiledPartition
from actorsession.plan.control_flow.dataflow_partition import construct_partition
from actorsession.plan.control_flow.shapes import types_given
from actorsession.plan.cost import least_cost
from actorsession.plan.cost_model import CostModel
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.explain.explanation import (
    DroppedNode,
    ExplainedNode,
    ExplainedPartition,
    ExplainedSegment,
    ExplainedTensor,
    Explanation,
    Missing,
    PassReport,
    Refused,
    SourceLine,
    TaskLink,
    Transfer,
)
from actorsession.plan.explain.facts import Facts
from actorsession.plan.explain.findings import findings
from actorsession.plan.explain.timing import critical_chain, wire_seconds
from actorsession.plan.explain.trail import PlanTrail
from actorsession.plan.flops import known_float_operations
from actorsession.plan.partition import RECV, SEND, Partition, is_copied
from actorsession.plan.place import Placed, refused
from actorsession.plan.prune import ARG, arg_name, unfed_error
from actorsession.plan.rendezvous_key import parse_key
from actorsession.plan.signature import RunSignature
from actorsession.plan.wiring import split_name
from actorsession.records import dataclass

__all__ = ["Circumstances", "Feeds", "PlannedStep", "explain", "feeds_from_wire", "plan_step", "without_plan"]

# Devices and nodes that are named for one reason; the others are counted.
_DEVICES = 4
_DROPPED = 100
_ASSIGN = "AssignVariableOp"


Feeds: TypeAlias = "Mapping[str, TensorSpec | None]"
"""The fed tensors by name, with the types of their values; ``None`` for the static types of the tensors."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of a step beside its plan.

    Attributes:
        model: measured costs.
        own_fetches: whether the caller owns what is fetched, as in a session of one process.
        home: the task that plans; empty if all devices are in one.
        round_trips: measured seconds to other tasks and back, by task.
        silent: for each task that does not answer, what was tried.
        unset: the variables without a value.
    """

    model: CostModel = field(default_factory=CostModel)
    own_fetches: bool = True
    home: str = ""
    round_trips: Mapping[str, float] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step that was planned to be looked at.

    Attributes:
        signature: what it feeds, fetches and targets.
        feeds: the fed tensors, with the types of their values.
        trail: what the stages of its planning did.
        fault: why it has no plan; ``None`` if it has one.
        view: the whole graph.
        devices: the devices of the session.
    """

    signature: RunSignature
    feeds: Mapping[str, TensorSpec]
    trail: PlanTrail
    fault: OpError | None
    view: Mapping[str, NodeDef]
    devices: DeviceSet

    @property
    def tasks(self) -> list[str]:
        """The tasks that have a part of the step."""
        return list(dict.fromkeys([part.task for part in self.trail.partitions]))

    def variables_read(self) -> list[tuple[NodeDef, str]]:
        """Return the variables that the step reads and does not assign, each with its device."""
        variables = []
        for part in self.trail.partitions:
            assigned = {node.inputs[0][0] for node in part.nodes if node.op == _ASSIGN}
            read = {name for node in part.nodes if node.op != _ASSIGN for name, _ in node.inputs}
            variables += [
                (node, part.device)
                for node in part.nodes
                if node.op in VARIABLES and node.name in read and node.name not in assigned
            ]
        return variables


def plan_step(
    state: GraphExecutionState, signature: RunSignature, feeds: Feeds, extend: Callable[[], object] | None = None
) -> PlannedStep:
    """Plan a step as a run does, and change nothing that a run could see.

    Args:
        state: the graph of a session.
        signature: what the step feeds, fetches and targets.
        feeds: the fed tensors.
        extend: extends that graph by what a run would extend it by; left out if it has everything.
    """
    trail, fault = PlanTrail(), None
    try:
        if extend is not None:
            extend()
        state.partitions(signature.sorted(), trail=trail)
    except OpError as error:
        fault = error
    # The graph may grow while the step is explained.
    view = dict(state.view)
    types = {name: spec or _static(view, name) for name, spec in feeds.items()}
    known = {name: spec for name, spec in types.items() if spec is not None}
    return PlannedStep(signature, known, trail, fault, view, state.devices)


def _static(view: Mapping[str, NodeDef], name: str) -> TensorSpec | None:
    node, index = split_name(name)
    return view[node].outputs[index] if node in view and index < len(view[node].outputs) else None


def without_plan(signature: RunSignature, feeds: Feeds, error: OpError) -> Explanation:
    """Return the explanation of a step of a graph that cannot be planned from at all."""
    return Explanation(
        feeds=tuple([_tensor(name, spec) for name, spec in feeds.items() if spec is not None]),
        fetches=signature.fetches,
        targets=signature.targets,
        missing=(_no_plan(error),),
    )


def feeds_from_wire(names: Sequence[str], types: Sequence[Any]) -> Feeds:
    """Return the fed tensors of a request.

    Args:
        names: of the tensors.
        types: dtype and shape of each; empty for those that the graph gives them.

    Raises:
        InvalidArgumentError: for any other form.
    """
    if not types:
        return dict.fromkeys(names)
    feeds: dict[str, TensorSpec | None] = {}
    for name, pair in zip(names, types, strict=False):
        match pair:
            case [DType() as dtype, TensorShape() as shape]:
                feeds[name] = TensorSpec(dtype, shape)
    if len(feeds) != max(len(names), len(types)):
        raise InvalidArgumentError("a request to explain a step has no dtype and shape for each of its feeds")
    return feeds


def explain(step: PlannedStep, circumstances: Circumstances) -> Explanation:
    """Return the explanation of a step that was planned.

    Args:
        step: the result of ``plan_step``.
        circumstances: what is known beside the plan.
    """
    return _Explainer(step, circumstances).explanation()


class _Explainer:
    """The making of one explanation.

    Args:
        step: the planned step.
        known: what is known beside the plan.
    """

    def __init__(self, step: PlannedStep, known: Circumstances) -> None:
        self.step, self.known, self.trail = step, known, step.trail
        self.view, self.devices = step.view, step.devices
        self.parts: Sequence[Partition] = self.trail.partitions
        self.feeds = step.signature.sorted().feeds
        self.faults = [] if step.fault is None else [step.fault]
        stages = self.trail.stages
        self.graph: Mapping[str, NodeDef] = stages[-1].graph.nodes if stages else {}
        self.types = types_given(
            self.graph, {(arg_name(split_name(name)), 0): spec for name, spec in step.feeds.items()}
        )
        self._refused: dict[tuple[str, str, str, str], tuple[Refused, ...]] = {}

    def explanation(self) -> Explanation:
        """Return the explanation."""
        nodes = {node.name: node for node in self._nodes()}
        compiled = [self._compiled(part) for part in self.parts]
        transfers = tuple(self._transfers())
        chain = critical_chain(self.parts, nodes, transfers, self.known.home, self.known.round_trips)
        divided = {name for codes in compiled for code in codes for name in _divided(code, nodes)}
        trips, client = self.known.round_trips, _task(self.devices.client_device)
        facts = Facts(self.parts, nodes, transfers, self.types, self.trail.notes, chain, trips, divided, client)
        dropped, more = self._dropped()
        signature, view = self.step.signature, self.view
        return Explanation(
            feeds=tuple([_tensor(name, spec) for name, spec in self.step.feeds.items()]),
            fetches=signature.fetches,
            targets=signature.targets,
            devices=tuple(self.devices.by_name),
            client=self.devices.client_device,
            graph_nodes=len(view),
            nodes=tuple(nodes.values()),
            dropped=dropped,
            dropped_more=more,
            partitions=tuple([self._partition(*pair, nodes) for pair in zip(self.parts, compiled, strict=True)]),
            transfers=transfers,
            passes=tuple(self._passes()),
            links=tuple([TaskLink(task=t, round_trip=s) for t, s in self.known.round_trips.items()]),
            missing=tuple(self._missing()),
            findings=tuple(findings(facts)),
            critical=chain,
            seconds=chain[-1].ended if chain else 0.0,
            flops=sum(node.flops or 0 for node in nodes.values()),
            sent_bytes=sum(t.tensor.nbytes or 0 for t in transfers if _task(t.source) != _task(t.target)),
        )

    # -- nodes ---------------------------------------------------------------------------------

    def _nodes(self) -> Iterator[ExplainedNode]:
        """Yield the nodes that run; where there are no partitions, those that were planned so far."""
        seen = set()
        for part in self.parts or [Partition("", tuple(self.graph.values()), ())]:
            own = {node.name: node for node in part.nodes}
            for node in part.nodes:
                if node.op not in (SEND, RECV, ARG) and node.name not in seen:
                    seen.add(node.name)
                    yield self._node(node, part.device or self.trail.device_of.get(node.name, ""), own)

    def _node(self, node: NodeDef, device: str, own: Mapping[str, NodeDef]) -> ExplainedNode:
        outputs = [self._type(node.name, k, spec) for k, spec in enumerate(node.outputs)]
        inputs = [self._type(*_origin(name, k, own), own[name].outputs[k]) for name, k in node.inputs if name in own]
        micros, known = self._cost(replace(node, outputs=tuple(outputs)), tuple(inputs), device)
        measured = self.known.model.node_seconds(node)
        placed = self._placed(node, device)
        return ExplainedNode(
            name=node.name,
            op=node.op,
            device=device,
            reason=placed.reason,
            refused=self._refused_devices(node, placed) if device else (),
            line=node.source,
            inputs=tuple(self._inputs(node, own)),
            outputs=tuple([self._tensor(node.name, k, spec) for k, spec in enumerate(outputs)]),
            flops=known_float_operations(node.op, node.attrs, inputs, outputs),
            seconds=micros * 1e-6 if measured is None else measured[0],
            known=known or measured is not None,
            measured=measured is not None,
        )

    def _cost(self, node: NodeDef, inputs: tuple[TensorSpec, ...], device: str) -> tuple[float, bool]:
        """Return the expected microseconds of a node, and whether everything behind them is known."""
        if node.op not in CONSTRUCTS or not device:
            return least_cost(node, inputs)
        code = self._code(construct_partition(node, inputs, device))
        return sum(s.cost for c in code for s in c.segments), all(s.cost_known for c in code for s in c.segments)

    def _inputs(self, node: NodeDef, own: Mapping[str, NodeDef]) -> Iterator[str]:
        """Yield what a node reads and runs after, by the names of the graph where it is received or fed."""
        for name, index in (*node.inputs, *[(control, -1) for control in node.control_inputs]):
            producer = own.get(name)
            if producer is not None and producer.op == RECV:
                yield parse_key(producer.attrs["key"]).tensor
            elif producer is not None and producer.op == ARG:
                yield self.feeds[producer.attrs["index"]]
            else:
                yield f"^{name}" if index < 0 else tensor_name(name, index)

    def _placed(self, node: NodeDef, device: str) -> Placed:
        if node.name in self.trail.placed and self.trail.placed[node.name].device == device:
            return self.trail.placed[node.name]
        if is_copied(node):
            return Placed(device, "a constant: each device that reads it has a copy")
        return Placed(device, "made by the planner, beside what it reads")

    def _refused_devices(self, node: NodeDef, placed: Placed) -> tuple[Refused, ...]:
        key = (node.device, node.op, placed.device, placed.reason)
        if key not in self._refused:
            self._refused[key] = tuple(
                [
                    Refused(why=why, devices=tuple(names[:_DEVICES]), more=max(0, len(names) - _DEVICES))
                    for why, names in refused(node, placed, self.devices).items()
                ]
            )
        return self._refused[key]

    def _type(self, name: str, index: int, spec: TensorSpec) -> TensorSpec:
        known = self.types.get((name, index))
        return spec if known is None or known.dtype is not spec.dtype else known

    def _tensor(self, name: str, index: int, spec: TensorSpec) -> ExplainedTensor:
        """Return a value with its bytes: those of its static shape, or those that were measured."""
        tensor = _tensor(tensor_name(name, index), spec)
        measured = self.known.model.output_bytes(name, index) if tensor.nbytes is None else None
        return tensor if measured is None else replace(tensor, nbytes=round(measured))

    # -- partitions ----------------------------------------------------------------------------

    def _transfers(self) -> Iterator[Transfer]:
        received: dict[str, NodeDef] = {}
        readers: dict[str, list[str]] = {}  # by the node that receives
        for part in self.parts:
            received.update({node.attrs["key"]: node for node in part.nodes if node.op == RECV})
            for node in part.nodes:
                for name in dict.fromkeys(_before(node)):
                    readers.setdefault(name, []).append(node.name)
        for part in self.parts:
            for node in part.nodes:
                if node.op == SEND and node.attrs["key"] in received:
                    yield self._transfer(node, received[node.attrs["key"]], readers)

    def _transfer(self, send: NodeDef, recv: NodeDef, readers: Mapping[str, Sequence[str]]) -> Transfer:
        key = parse_key(send.attrs["key"])
        producer, _, index = key.tensor.rpartition(":")
        (spec,) = recv.outputs
        if producer:
            # What is sent may be a narrower copy.
            shape = self._type(producer, int(index), self.graph[producer].outputs[int(index)]).shape
            spec = TensorSpec(spec.dtype, shape) if producer in self.graph else spec
            tensor = self._tensor(producer, int(index), spec)
        else:
            producer = key.tensor.removeprefix("^")
            tensor = replace(self._tensor(producer, 0, spec), name=key.tensor)
        widened = f"_widen/{key.edge_name}"
        read_by = [*readers.get(recv.name, ()), *readers.get(widened, ())]
        return Transfer(
            key=key.text,
            tensor=tensor,
            source=key.src_device,
            target=key.dst_device,
            producer=producer,
            readers=tuple([name for name in read_by if name != widened]),
            line=recv.source,
            seconds=wire_seconds(tensor.nbytes or 0, key.src_task, key.dst_task, self.known.round_trips),
        )

    def _compiled(self, part: Partition) -> list[CompiledPartition]:
        """Return the code of a partition, or of each loop, branch and call in one that is no code itself."""
        parts = [part]
        if part.has_primitives:
            own = {node.name: node for node in part.nodes}
            parts = [
                construct_partition(node, tuple([own[name].outputs[k] for name, k in node.inputs]), part.device)
                for node in part.nodes
                if node.op in CONSTRUCTS
            ]
        return [code for each in parts for code in self._code(each)]

    def _code(self, part: Partition) -> list[CompiledPartition]:
        try:
            return [compile_partition(part, own_fetches=self.known.own_fetches)]
        except OpError as error:
            self.faults.append(error)
            return []

    def _partition(
        self, part: Partition, compiled: Sequence[CompiledPartition], nodes: Mapping[str, ExplainedNode]
    ) -> ExplainedPartition:
        signature = self.step.signature.sorted()
        return ExplainedPartition(
            device=part.device,
            task=part.task,
            engine="dataflow" if part.has_primitives else "segments",
            nodes=tuple([node.name for node in part.nodes if node.op not in (SEND, RECV, ARG)]),
            feeds=tuple([signature.feeds[position] for position in part.feeds]),
            fetches=tuple([signature.fetches[position] for position, _, _ in part.fetches]),
            segments=tuple([segment for code in compiled for segment in _segments(code, nodes)]),
        )

    # -- what the planning did -----------------------------------------------------------------

    def _passes(self) -> Iterator[PassReport]:
        before: Mapping[str, NodeDef] = self.view
        for stage in self.trail.stages:
            after = stage.graph.nodes
            is_first = before is self.view
            yield PassReport(
                name=stage.name,
                before=len(before),
                after=len(after),
                # What the pruning left out are ``dropped``.
                removed=() if is_first else tuple([name for name in before if name not in after]),
                added=tuple([name for name, node in after.items() if name not in before and node.op != ARG]),
                changed=tuple([n for n, node in after.items() if n in before and node is not before[n]]),
            )
            before = after

    def _dropped(self) -> tuple[tuple[DroppedNode, ...], int]:
        """Return the nodes near the fetches that do not run, and how many other nodes do not."""
        dropped: dict[str, DroppedNode] = {}
        stages = self.trail.stages
        if not stages:
            return (), len(self.view)
        kept = stages[0].graph.nodes
        self._cut_off(kept, dropped)
        for name, node in self.view.items():
            if name not in kept and name not in dropped:
                read = next((producer for producer, _ in node.inputs if producer in kept), None)
                if read is not None:
                    _drop(dropped, node, "prune", f"reads {read!r}, but nothing that is fetched needs it")
        for before, after in itertools.pairwise(stages):
            inside = {
                inner.name: node.name
                for node in after.graph.nodes.values()
                if node is not before.graph.nodes.get(node.name)
                for inner, _ in nodes_inside(node)
            }
            for name, node in before.graph.nodes.items():
                if name not in after.graph.nodes and node.op != ARG:
                    became = f"became part of {inside[name]!r}" if name in inside else "is no longer read"
                    _drop(dropped, node, after.name, self._in_words(self.trail.notes.get(name, became)))
        total = len(self.view) - sum(name in self.view for name in self.graph)
        shown = tuple(dropped.values())[:_DROPPED]
        return shown, max(0, total - len(shown))

    def _in_words(self, note: str) -> str:
        """Return what a pass said, with the names of feeds in the place of those of their nodes."""
        for name in self.step.feeds:
            note = note.replace(f"'{arg_name(split_name(name))}:0'", repr(name))
        return note

    def _cut_off(self, kept: Mapping[str, NodeDef], dropped: dict[str, DroppedNode]) -> None:
        """Find the nodes that the fetches would need without the feeds."""
        fed = {split_name(name): name for name in self.step.signature.feeds}
        waiting: list[tuple[str, str]] = []
        for (name, _), feed in fed.items():
            if name not in kept:
                _drop(dropped, self.view[name], "prune", f"{feed!r} is fed, so nothing has to make it")
            waiting += [(producer, feed) for producer in _before(self.view[name])]
        while waiting:
            name, feed = waiting.pop()
            if name not in kept and name not in dropped:
                _drop(dropped, self.view[name], "prune", f"is needed for {feed!r} alone, which is fed")
                waiting += [(producer, feed) for producer in _before(self.view[name])]

    def _missing(self) -> Iterator[Missing]:
        for node in self.trail.unfed:
            yield Missing(kind="feed", name=node.name, what=unfed_error(node).message, line=node.source)
        for node, device in self.step.variables_read():
            if node.name in self.known.unset:
                what = f"variable {node.name!r} on {device} has no value yet: run its initialiser, or restore it"
                yield Missing(kind="value", name=node.name, what=what, line=node.source)
        for task, tried in self.known.silent.items():
            yield Missing(kind="task", name=task, what=f"{task} does not answer: {tried}")
        for error in self.faults:
            yield _no_plan(error)


def _no_plan(error: OpError) -> Missing:
    what = f"the step has no plan: {error.message}"
    return Missing(kind="plan", name=error.node or "", what=what, line=error.source or "")


def _origin(name: str, index: int, own: Mapping[str, NodeDef]) -> tuple[str, int]:
    """Return the value of the graph that a value of a partition is."""
    if own[name].op != RECV:
        return name, index
    producer, _, output = parse_key(own[name].attrs["key"]).tensor.rpartition(":")
    return producer, int(output or 0)


def _drop(dropped: dict[str, DroppedNode], node: NodeDef, stage: str, why: str) -> None:
    dropped[node.name] = DroppedNode(name=node.name, op=node.op, line=node.source, stage=stage, why=why)


def _before(node: NodeDef) -> list[str]:
    return [*[name for name, _ in node.inputs], *node.control_inputs]


def _tensor(name: str, spec: TensorSpec) -> ExplainedTensor:
    """Return a tensor with its bytes, if its static type says them."""
    count, sizes = spec.shape.num_elements(), spec.shape.sizes
    return ExplainedTensor(
        name=name,
        dtype=spec.dtype.name,
        shape=None if sizes is None else tuple(sizes),
        nbytes=None if count is None or spec.dtype.kind in "srv" else count * spec.dtype.itemsize,
    )


def _task(device: str) -> str:
    return device.rpartition("/")[0]


def _divided(code: CompiledPartition, explained: Mapping[str, ExplainedNode]) -> Iterator[str]:
    """Yield the nodes of a partition that several threads compute in blocks, as far as sizes are known."""
    for run in [run for segment in code.segments for run in segment.runs]:
        nodes = [explained[name] for name in [code.nodes[number].name for number in run] if name in explained]
        if any(math.prod([size or 1 for size in n.outputs[0].shape or ()]) * len(run) >= SHARED for n in nodes):
            yield from [node.name for node in nodes]


def _segments(code: CompiledPartition, explained: Mapping[str, ExplainedNode]) -> Iterator[ExplainedSegment]:
    """Yield the generated functions of a partition with what their lines belong to."""
    arrivals = dict(code.recvs) | {s.arrival: code.nodes[s.node].name for s in code.suspensions}
    for segment in code.segments:
        nodes = [None if line.node is None else code.nodes[line.node] for line in segment.code]
        names = dict.fromkeys([node.name for node in nodes if node is not None and node.name in explained])
        yield ExplainedSegment(
            name=segment.name,
            waits=tuple([arrivals[slot] for slot in segment.waits]),
            after=tuple([code.segments[index].name for index in segment.after]),
            lines=tuple(
                [
                    SourceLine(text=line.text, node=node.name if node else "", line=node.source if node else "")
                    for line, node in zip(segment.code, nodes, strict=True)
                ]
            ),
            # The values of feeds, and what was measured, say more than the code does.
            seconds=sum(explained[name].seconds for name in names) if names else segment.cost * 1e-6,
            known=segment.cost_known or all(explained[name].known for name in names),
            subgraphs=tuple([tuple([code.nodes[number].name for number in each]) for each in segment.subgraphs]),
        )

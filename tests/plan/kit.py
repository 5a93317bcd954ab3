"""Plans made and run without a session: the passes one after the other, and a driver of a few lines.

The driver runs all segments in one thread, in any order that their waits allow, and passes values
between partitions through a dict. It is the smallest thing that can run a plan, so that the passes
are tested without the runtime.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import actorsession.ops  # noqa: F401 - registers the ops that plans are made of
from actorsession import Graph, NodeDef, Operation, Tensor
from actorsession.extend import (
    REQUIRED,
    DeviceAttributes,
    DeviceSet,
    Kernel,
    KernelContext,
    OpDef,
    Partition,
    RunSignature,
    StepGraph,
    SumTerm,
    TensorSpec,
)
from actorsession.extend import register_op as register
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.node import spec
from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.codegen.compiled_calls import OFTEN, CompiledCalls
from actorsession.plan.codegen.segment_context import ControlFlowContext, PendingValues
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.runtime.resources import ResourceManager

__all__ = [
    "CPU",
    "OFTEN",
    "CompiledCalls",
    "Made",
    "NoStep",
    "Step",
    "call",
    "device_set",
    "node",
    "scalar",
    "settle_compilers",
    "signature",
]

# The names of the first few devices.
CPU = [f"{LOCAL_TASK}/device:CPU:{i}" for i in range(4)]

scalar: TensorSpec = spec("float32", ())


def settle_compilers() -> None:
    """Wait until nothing is compiled, and nothing waits to be."""
    for thread in threading.enumerate():
        if thread.name == "actorsession-compiler":
            thread.join(120)
            assert not thread.is_alive()


def device_set(count: int = 1) -> DeviceSet:
    """Devices ``CPU[:count]``; the incarnation of the first is 1."""
    return DeviceSet(
        [DeviceAttributes(name=name, device_type="CPU", incarnation=i + 1) for i, name in enumerate(CPU[:count])]
    )


def node(
    name: str,
    *inputs: str,
    op: str | None = None,
    after: Sequence[str] = (),
    device: str = "",
    outputs: Sequence[TensorSpec] = (scalar,),
    **attrs: Any,
) -> NodeDef:
    """A node that reads tensors by name, without a graph around it: an Identity of scalars, say."""
    refs = [text.partition(":") for text in inputs]
    return NodeDef(
        name=name,
        op=op or ("Identity" if inputs else "NoOp"),
        inputs=tuple((n, int(index or 0)) for n, _, index in refs),
        control_inputs=tuple(after),
        device=device,
        attrs=attrs,
        outputs=tuple(outputs),
        source=f"{name}.py:1",
    )


def signature(
    feeds: Iterable[Tensor] = (), fetches: Iterable[Tensor] = (), targets: Iterable[Operation] = ()
) -> RunSignature:
    return RunSignature(tuple(t.name for t in feeds), tuple(t.name for t in fetches), tuple(o.name for o in targets))


def _register_call(name: str, **flags: Any) -> None:
    register(
        OpDef(
            name=name,
            infer=lambda ctx: [spec("float32", s) for s in ctx.attrs["shapes"]],
            kernel=lambda ctx: ctx.attrs["function"],
            attrs={"function": REQUIRED, "shapes": REQUIRED},
            **flags,
        )
    )


def _added(ctx: KernelContext) -> Kernel:
    """What adds what a node would make of one input each to a sum."""
    function = ctx.attrs["function"]

    def add(total: Any, *inputs: Any) -> Any:
        for each in inputs:
            total = function(each) if total is None else np.add(total, function(each), total)
        return total

    return add


_register_call("KitCall")
_register_call("KitTerm", adds=lambda ctx: SumTerm(_added(ctx)))
_register_call("KitTerms", adds=lambda ctx: SumTerm(_added(ctx), 2))
_register_call("KitView", aliases=True)
_register_call("KitKeep", keeps=frozenset({0}))
_register_call("KitOnce", once=True)
_register_call("KitDear", cost=lambda inputs, outputs: 1000.0)
_register_call("KitSizedCost", cost=lambda inputs, outputs: 1.0)


def call(
    graph: Graph,
    function: Callable[..., Any],
    *inputs: Tensor,
    op: str = "KitCall",
    shapes: Sequence[Any] = ([3],),
    name: str | None = None,
) -> Operation:
    """A node that calls ``function``; its type says what the planner is told about that.

    ``KitCall`` makes new arrays, ``KitView`` may alias, ``KitKeep`` keeps its first input,
    ``KitOnce`` has one value per plan, ``KitDear`` takes long, ``KitTerm`` is added to sums, ``KitTerms`` by twos.
    """
    return graph.create_op(op, inputs, {"function": function, "shapes": tuple(shapes)}, name)


class Made:
    """All passes over a graph.

    Args:
        graph: the graph.
        fetches: tensors whose values the run gives.
        feeds: tensors whose values the run takes.
        targets: operations that must run.
        devices: number of devices.
        own_fetches: see ``compile_partition``.
        variables: variables by device.
        states: states of stateful kernels by device.
    """

    def __init__(
        self,
        graph: Graph,
        fetches: Sequence[Tensor] = (),
        feeds: Sequence[Tensor] = (),
        targets: Sequence[Operation] = (),
        *,
        devices: int = 1,
        own_fetches: bool = True,
        variables: dict[str, ResourceManager] | None = None,
        states: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.signature = signature(feeds, fetches, targets)
        self.device_set = device_set(devices)
        nodes = graph.as_graph_def().nodes
        placer = Placer(self.device_set)
        placer.place(nodes)
        self.step_graph: StepGraph = prune(GraphView(nodes), self.signature)
        client = self.device_set.client_device
        self.device_of = {
            name: placer.placed[name].device if name in placer.placed else client for name in self.step_graph.nodes
        }
        self.parts = partition(self.step_graph, self.device_of, self.device_set)
        self.variables = variables if variables is not None else {}
        self.states = states if states is not None else {}
        self.linked = [self._link(part, own_fetches) for part in self.parts]

    def _link(self, part: Partition, own_fetches: bool) -> BoundPartition:
        host = self.variables.setdefault(part.device, ResourceManager())
        states = self.states.setdefault(part.device, {})
        return BoundPartition(compile_partition(part, own_fetches=own_fetches), host, states)

    def run(self, *feeds: Any) -> list[Any]:
        return Step(self, feeds).run()

    def source(self, part: int = 0, segment: int = 0) -> list[str]:
        """The generated lines of a segment, without comments."""
        lines = self.linked[part].compiled.segments[segment].lines
        return [line.partition("  #")[0].strip() for line in lines]


class Step:
    def __init__(self, made: Made, feeds: Sequence[Any], *, traced: bool = False) -> None:
        self.made = made
        self.feeds = feeds
        self.traced = traced
        self.sent: dict[str, Any] = {}
        self.parts = [_Part(self, linked) for linked in made.linked]

    def run(self) -> list[Any]:
        while any(part.left for part in self.parts):
            part = next((p for p in reversed(self.parts) if p.ready()), None)
            assert part is not None, f"segments wait for each other; sent so far: {self.sent.keys()}"
            part.run_one()
        outputs = [None] * len(self.made.signature.fetches)
        for part in self.parts:
            for position, slot in part.linked.compiled.fetches:
                outputs[position] = part.slots[slot]
        return outputs


class NoStep(ControlFlowContext):
    """The context of generated code that runs by itself and is never ended."""

    def wait_for(self, pending: PendingValues) -> Any:
        raise AssertionError("no node of these plans suspends")

    def check(self) -> None:
        pass


class _Part(NoStep):
    """One partition in a step; the context of its generated code."""

    def __init__(self, step: Step, linked: BoundPartition) -> None:
        self.step = step
        self.linked = linked
        self.slots: dict[int, Any] = {slot: step.feeds[position] for slot, position in linked.compiled.feeds}
        self.left = list(range(len(linked.segments)))
        self.notes: list[tuple[str, Any]] = []
        self.checks = 0

    def ready(self) -> list[int]:
        arrived = {slot for slot, key in self.linked.compiled.recvs if key in self.step.sent}
        compiled = self.linked.compiled.segments
        return [
            i
            for i in self.left
            if arrived.issuperset(compiled[i].waits) and not set(compiled[i].after) & set(self.left)
        ]

    def run_one(self) -> None:
        index = self.ready()[-1]
        linked: BoundSegment = self.linked.segments[index]
        recvs: Mapping[int, str] = dict(self.linked.compiled.recvs)
        values = [
            self.step.sent[recvs[slot]] if slot in recvs else self.slots[slot] for slot in linked.segment.arguments
        ]
        function = self.linked.traced(index) if self.step.traced else linked.function
        results = function(self, *values)
        assert isinstance(results, tuple)
        self.slots.update(zip(linked.segment.results, results, strict=True))
        self.left.remove(index)

    # -- called by generated code ---------------------------------------------------------------

    def send(self, number: int, value: Any) -> None:
        key = self.linked.compiled.sends[number]
        assert key not in self.step.sent, f"{key} is sent twice"
        self.step.sent[key] = value

    def check(self) -> None:
        self.checks += 1

    def note(self, number: int, start: Any, value: Any) -> None:
        assert start > 0
        self.notes.append((self.linked.compiled.nodes[number].name, value))

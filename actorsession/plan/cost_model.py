"""The cost model: measured costs of nodes over the steps that a session recorded for it.

It holds moving averages of time and of bytes by node. The statistics of traced steps are recorded in it. It
is read when a plan is loaded (``prime``: its segments start from measured times in place of estimates), when
nodes are placed anew (``schedule``) and when a cost graph is reported (``report``). It is plain data behind a
lock, because steps may end in many threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from actorsession.config import ConfigProto, NodeExecStats, NodeStats, StepStats
from actorsession.errors import InvalidArgumentError
from actorsession.graph.function import functions_of, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
from actorsession.plan.cost import node_cost
from actorsession.records import dataclass

__all__ = ["CostModel", "CostModelSampling", "NodeCost", "check_cost_model_settings", "prime"]

# Weight of the newest step, as for the moving averages of segments.
_EMA = 0.25


@dataclass(frozen=True, slots=True)
class NodeCost:
    """The measured cost of one node in the steps recorded so far.

    Attributes:
        steps: number of them in which it ran.
        runs: how often it ran in them.
        seconds: moving average of its time in a step.
        most_seconds: the longest time it took in a step.
        output_bytes: moving average per output.
        shapes: of the outputs, as last seen.
    """

    steps: int
    runs: int
    seconds: float
    most_seconds: float
    output_bytes: tuple[float, ...]
    shapes: tuple[tuple[int, ...], ...]


def check_cost_model_settings(config: ConfigProto) -> None:
    """Check that a session builds a cost model if other settings need one.

    Raises:
        InvalidArgumentError: for settings that need a cost model where none is built.
    """
    options = config.graph_options
    if options.build_cost_model:
        return
    asked = {
        "placement_period": config.placement_period,
        "graph_options.build_cost_model_after": options.build_cost_model_after,
    }
    for name, number in asked.items():
        if number:
            raise InvalidArgumentError(
                f"{name}={number} has no effect without a cost model: set "
                "graph_options.build_cost_model to the number of runs between two that are measured"
            )


@dataclass(frozen=True, slots=True)
class CostModelSampling:
    """Which runs of a plan feed the cost model of a session.

    Attributes:
        every: of each plan, every so-many-th run is measured; 0 for none.
        after: the first runs of each plan, which are left out.
    """

    every: int
    after: int

    @classmethod
    def of(cls, config: ConfigProto) -> CostModelSampling:
        """Return the sampling that the settings of a session ask for."""
        options = config.graph_options
        return cls(options.build_cost_model, options.build_cost_model_after)

    def measures(self, runs: int) -> bool:
        """Return whether the next run of a plan is measured, which had ``runs`` runs before."""
        counted = runs - self.after
        return self.every > 0 and counted >= 0 and not (counted + 1) % self.every


class CostModel:
    """Measured costs by node name; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._costs: dict[str, NodeCost] = {}
        self._steps = 0

    @classmethod
    def of_seconds(cls, seconds: Mapping[str, float]) -> CostModel:
        """Return a model of nodes whose times were measured elsewhere."""
        model = cls()
        model._costs = {name: NodeCost(1, 1, s, s, (), ()) for name, s in seconds.items()}
        return model

    @property
    def steps(self) -> int:
        """The number of recorded steps."""
        return self._steps

    def __len__(self) -> int:
        return len(self._costs)

    def record(self, stats: StepStats) -> None:
        """Add a step; a node that ran several times in it, as in a loop, counts with the sum."""
        runs: dict[str, list[NodeStats]] = {}
        for node in stats.nodes:
            runs.setdefault(node.node, []).append(node)
        with self._lock:
            self._steps += 1
            for name, entries in runs.items():
                self._costs[name] = _updated(self._costs.get(name), entries)

    def cost(self, name: str) -> NodeCost | None:
        """Return the cost of a node; ``None`` if it never ran in a recorded step."""
        return self._costs.get(name)

    def node_seconds(self, node: NodeDef) -> tuple[float, float] | None:
        """Return the average and longest time of a node in a step; a loop or branch includes its inner nodes.

        Returns:
            ``None`` if neither the node nor one inside it ever ran in a recorded step.
        """
        names = [node.name, *[inner.name for inner, _ in nodes_inside(node)]]
        costs = [cost for cost in map(self._costs.get, names) if cost is not None]
        if not costs:
            return None
        return sum(c.seconds for c in costs), sum(c.most_seconds for c in costs)

    def output_bytes(self, name: str, index: int) -> float | None:
        """Return the average size of an output; ``None`` if it was never seen."""
        cost = self._costs.get(name)
        if cost is None or not 0 <= index < len(cost.output_bytes):
            return None
        return cost.output_bytes[index]


def _updated(before: NodeCost | None, entries: list[NodeStats]) -> NodeCost:
    seconds = sum(_seconds(entry) for entry in entries)
    details = [e.detail for e in entries if e.detail is not None]
    output = details[-1].output if details else ()
    sizes = tuple(float(o.tensor_description.allocated_bytes) for o in output)
    shapes = tuple(o.tensor_description.shape for o in output)
    if before is None:
        return NodeCost(1, len(entries), seconds, seconds, sizes, shapes)
    if len(sizes) == len(before.output_bytes):
        sizes = tuple(map(_averaged, before.output_bytes, sizes))
    return NodeCost(
        before.steps + 1,
        before.runs + len(entries),
        _averaged(before.seconds, seconds),
        max(before.most_seconds, seconds),
        sizes,
        shapes,
    )


def _seconds(entry: NodeStats) -> float:
    detail: NodeExecStats | None = entry.detail
    if detail is None:
        return entry.end - entry.start
    return (detail.op_end_rel_nanos - detail.op_start_rel_nanos) * 1e-9


def _averaged(before: float, newest: float) -> float:
    return before + _EMA * (newest - before)


def prime(partitions: Iterable[BoundPartition], model: CostModel) -> None:
    """Set the time of segments that never ran here to the measured time of their nodes.

    A segment keeps its estimate if none of its nodes was measured, or if one that was not depends on unknown
    shapes: then its first run is as careful as without a model.

    Args:
        partitions: of a plan that was loaded before this call.
        model: measured costs.
    """
    for linked in partitions:
        for segment in linked.segments:
            if not segment.seconds:
                segment.seconds = _expected(linked, segment, model)


def _expected(linked: BoundPartition, segment: BoundSegment, model: CostModel) -> float:
    """Return the expected seconds of a segment; 0 if the model has too few measurements."""
    nodes = linked.compiled.partition.nodes
    # Higher numbers are nodes inside loops and branches, which count with the outer operation.
    numbers = sorted({n for n in segment.segment.line_nodes if n is not None and n < len(nodes)})
    measured = [model.node_seconds(nodes[n]) for n in numbers]
    if not any(measured):
        return 0.0
    outputs = {node.name: node.outputs for node in nodes}
    total = 0.0
    for number, seconds in zip(numbers, measured, strict=True):
        if seconds is not None:
            total += seconds[0]
            continue
        node = nodes[number]
        if functions_of(node):
            return 0.0
        micros, known = node_cost(node, tuple([outputs[n][i] for n, i in node.inputs]))
        if not known:
            return 0.0
        total += micros * 1e-6
    return total

"""What a master session observes of its steps: timelines, a cost model, and what publishers want.

Implements ``graph_options.timeline_step``, ``build_cost_model`` and ``placement_period`` for sessions of a
master, as ``CostModelSession`` does for those in a process. Some steps are traced although their options do
not request it. Their workers return statistics, which are merged over all tasks; then they go to the client
as a timeline, into the cost model, or to the publisher of the client graph. Owned by a ``MasterSession``.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import TypeVar

from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.stats_publisher import StatsPublisherFactory, StatsPublisherInterface
from actorsession.config import ConfigProto, RunOptions, StepStats
from actorsession.plan.cost_model import CostModel, CostModelSampling
from actorsession.plan.placement_review import PlacementReview
from actorsession.plan.report import partition_graphs
from actorsession.records import dataclass
from actorsession.runtime.offload import OFFLOAD_ABOVE

__all__ = ["Observation", "StepObserver"]

_log = logging.getLogger("actorsession.cluster")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Observation:
    """Why a step is traced although its options do not request it.

    Attributes:
        timeline: whether the client keeps its statistics as a timeline.
        model: whether its statistics feed the cost model.
        published: whether the publisher of its client graph wants them.
    """

    timeline: bool
    model: bool
    published: bool


class StepObserver:
    """The observations of the steps of one session.

    Args:
        handle: the handle of the session.
        config: its settings.
        factory: makes the publishers of its client graphs; ``None`` for none.

    Attributes:
        cost_model: the measurements so far; ``None`` without ``build_cost_model``.
        review: when to check the placement; ``None`` without ``placement_period``.
        is_active: whether any step may be traced although its options do not request it.
    """

    def __init__(self, handle: str, config: ConfigProto, factory: StatsPublisherFactory | None) -> None:
        self._handle = handle
        self._config = config
        self._factory = factory
        self._timeline_every = config.graph_options.timeline_step
        self._sampling = CostModelSampling.of(config)
        self.cost_model = CostModel() if self._sampling.every else None
        self.review: PlacementReview | None = None
        if self.cost_model is not None and config.placement_period:
            self.review = PlacementReview(config.placement_period, self.cost_model, OFFLOAD_ABOVE)
        self.is_active = bool(self._timeline_every or self._sampling.every or factory is not None)
        self._numbers = itertools.count(1)
        self._last = 0
        self._publishers: dict[ClientGraph, StatsPublisherInterface | None] = {}

    def begin(self, graph: ClientGraph, options: RunOptions) -> Observation | None:
        """Count a step, and return what it is traced for beside its options, if anything."""
        if not self.is_active:
            return None
        number = self._last = next(self._numbers)
        runs, graph.runs = graph.runs, graph.runs + 1
        publisher = self._publisher(graph)
        # A debugged run has additional nodes, and takes as long as the debugger holds it.
        if options.debug_options.active:
            return None
        timeline = bool(self._timeline_every) and not number % self._timeline_every
        model = self._sampling.measures(runs)
        published = publisher is not None and bool(_guarded(lambda: publisher.wants_step(runs, options)))
        return Observation(timeline, model, published) if timeline or model or published else None

    def record(self, graph: ClientGraph, observed: Observation | None, stats: StepStats) -> None:
        """Record the statistics of a traced step, of all its tasks."""
        if observed is not None and observed.model and self.cost_model is not None:
            self.cost_model.record(stats)
        publisher = self._publishers.get(graph)
        if publisher is not None:
            _guarded(lambda: publisher.publish_stats(stats))

    def is_review_due(self, graph: ClientGraph) -> bool:
        """Count a step that has run, and return whether the placement is to be checked."""
        return self.review is not None and self.review.is_due(graph, self._last)

    def costs(self, part: TaskPart) -> dict[str, float]:
        """Return the measured seconds of the nodes of a task."""
        model = self.cost_model
        if model is None or not model.steps:
            return {}
        nodes = [node for partition in part.partitions for node in partition.nodes]
        measured = {node.name: model.node_seconds(node) for node in nodes}
        return {name: seconds[0] for name, seconds in measured.items() if seconds is not None}

    def forget(self, graph: ClientGraph) -> None:
        """Close the publisher of a client graph that is dropped."""
        publisher = self._publishers.pop(graph, None)
        if publisher is not None:
            _guarded(publisher.close)

    def close(self) -> None:
        """Close all publishers."""
        for graph in list(self._publishers):
            self.forget(graph)

    def _publisher(self, graph: ClientGraph) -> StatsPublisherInterface | None:
        """Return the publisher of a client graph, made before its first step."""
        factory = self._factory
        if factory is None:
            return None
        if graph not in self._publishers:
            publisher = self._publishers[graph] = _guarded(lambda: factory(self._handle, graph.signature, self._config))
            if publisher is not None:
                graphs = partition_graphs(graph.partitions, infer_shapes=False)
                by_device = {part.device: g for part, g in zip(graph.partitions, graphs, strict=True)}
                _guarded(lambda: publisher.publish_graphs(by_device))
        return self._publishers[graph]


def _guarded(call: Callable[[], T]) -> T | None:
    """Call a publisher; what it raises is logged."""
    try:
        return call()
    except Exception:
        _log.exception("a stats publisher failed; the step is not affected")
        return None

"""A direct session that measures its own steps, for timelines, a cost model and a better placement.

Implements ``graph_options.timeline_step``, ``build_cost_model`` and ``placement_period``. A session with none
of them is a plain ``DirectSession`` and has no overhead: the class is chosen once, when the session is made.

Some steps are traced although their options do not request it: every ``timeline_step``-th of the session,
and of each plan, after ``build_cost_model_after`` runs, every ``build_cost_model``-th, as in TensorFlow. The
records of such a step go to the timelines or the model. The caller's metadata get what the caller requested,
and for a step that fed the cost model its statistics and cost graph too.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from actorsession.config import ConfigProto, RunMetadata, RunOptions, StepStats, TraceLevel
from actorsession.graph.graph import Graph
from actorsession.plan.cost_model import CostModel, CostModelSampling, check_cost_model_settings
from actorsession.plan.placement_review import PlacementReview
from actorsession.plan.report import cost_graph
from actorsession.records import dataclass
from actorsession.runtime.offload import OFFLOAD_ABOVE
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.direct.planner import DirectPlan
from actorsession.session.session_interface import TIMELINES, OnEvict
from actorsession.session.statistics import SessionStatistics
from actorsession.session.value_delivery import ValueDelivery

__all__ = ["CostModelSession", "needs_cost_model"]


def needs_cost_model(config: ConfigProto) -> bool:
    """Return whether the settings need a ``CostModelSession``.

    Raises:
        InvalidArgumentError: for settings that need a cost model where none is built.
    """
    check_cost_model_settings(config)
    options = config.graph_options
    return bool(options.timeline_step or options.build_cost_model)


@dataclass(slots=True)
class _ObservedRun:
    """One run, which may be traced for the session.

    Attributes:
        number: number of the run in the session, from 1.
        timeline: whether the session keeps its statistics as a timeline.
        model: whether its statistics feed the cost model.
        options: the run's options with the trace level that is needed; ``None`` if the run is not traced.
        metadata: the metadata that the session collects from the run.
    """

    number: int
    timeline: bool
    model: bool
    options: RunOptions | None
    metadata: RunMetadata = field(default_factory=RunMetadata)


class CostModelSession(DirectSession):
    """A direct session that measures its steps.

    Args:
        graph: it may grow; new nodes are registered when a run needs a plan.
        config: settings.
        on_evict: called with every evicted plan, from any thread.
        on_close: called once when the session closes, with the session.

    Attributes:
        cost_model: the measurements so far; stays empty without ``build_cost_model``.

    Raises:
        NotFoundError: if a requested device does not exist.
    """

    def __init__(
        self,
        graph: Graph,
        config: ConfigProto,
        *,
        on_evict: OnEvict | None = None,
        on_close: Callable[[DirectSession], None] | None = None,
    ) -> None:
        options = config.graph_options
        self.cost_model = CostModel()
        costs = self.cost_model if options.build_cost_model else None
        super().__init__(graph, config, on_evict=on_evict, on_close=on_close, costs=costs)
        self._timeline_every = options.timeline_step
        self._sampling = CostModelSampling.of(config)
        period = config.placement_period if options.build_cost_model else 0
        self._review = PlacementReview(period, self.cost_model, OFFLOAD_ABOVE)
        self._numbers = itertools.count(1)
        self._timelines: deque[StepStats] = deque(maxlen=TIMELINES)

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that were traced for ``timeline_step``, oldest first."""
        return list(self._timelines)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        return replace(super().statistics(), placements=self._review.moves, model_steps=self.cost_model.steps)

    # -- running -------------------------------------------------------------------------------

    @property
    def has_own_pools(self) -> bool:
        """Whether ``runs_here`` must decide for each run, because plans spread over devices use the pool."""
        return bool(self._review.period) or super().has_own_pools

    def runs_here(
        self, plan: DirectPlan, feeds: Sequence[Any], limit: float | None, options: RunOptions | None
    ) -> bool:
        """Return the decision of ``DirectSession``, but ``False`` for a plan that was spread over devices."""
        spread = self._review.moves > 0 and len(plan.graph.parts) > 1
        if spread and self._pools.choose(options) is not None:
            return False
        return super().runs_here(plan, feeds, limit, options)

    def run_here(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        limit: float | None = None,
    ) -> Sequence[Any]:
        """Run a step as ``DirectSession.run_here`` does, and record it."""
        run = self._observe(plan, options)
        if run.options is None:
            values = super().run_here(plan, feeds, options, metadata, limit)
        else:
            values = super().run_here(plan, feeds, run.options, run.metadata, limit)
            self._record(plan, run, options, metadata)
        if self._review.is_due(plan.graph, run.number):
            self._check_placement()
        return values

    async def run(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Sequence[Any]:
        """Run a step as ``DirectSession.run`` does, and record it."""
        run = self._observe(plan, options)
        if run.options is None:
            values = await super().run(plan, feeds, limit, options, metadata, delivery)
        else:
            values = await super().run(plan, feeds, limit, run.options, run.metadata, delivery)
            self._record(plan, run, options, metadata)
        if self._review.is_due(plan.graph, run.number):
            if self._planning.must_wait(self.planner.size):
                _ = self._planning.start(self._check_placement)  # no run waits for this
            else:
                self._check_placement()
        return values

    def _observe(self, plan: DirectPlan, options: RunOptions | None) -> _ObservedRun:
        number = next(self._numbers)
        timeline = bool(self._timeline_every) and not number % self._timeline_every
        model = self._sampling.measures(plan.runs)
        plan.runs += 1
        # A debugged run has additional nodes, and takes as long as the debugger holds it.
        debugged = options is not None and options.debug_options.active
        if debugged or not (timeline or model):
            return _ObservedRun(number, False, False, None)
        asked = options if options is not None else RunOptions()
        level = max(asked.trace_level, TraceLevel.SOFTWARE_TRACE)
        return _ObservedRun(number, timeline, model, replace(asked, trace_level=level))

    def _record(
        self, plan: DirectPlan, run: _ObservedRun, options: RunOptions | None, metadata: RunMetadata | None
    ) -> None:
        """Record a traced run, and fill the caller's metadata with what it requested."""
        stats = run.metadata.step_stats
        assert stats is not None
        if run.timeline:
            self._timelines.append(stats)
        if run.model:
            self.cost_model.record(stats)
        if metadata is None:
            return
        metadata.clear()
        metadata.session_metadata = run.metadata.session_metadata
        metadata.partition_graphs = run.metadata.partition_graphs
        if run.model or (options is not None and options.traced):
            metadata.step_stats = stats
        if run.model:
            metadata.cost_graph = cost_graph(plan.graph.partitions, self.cost_model)

    def _check_placement(self) -> None:
        """Change the placement if that pays."""
        threads = next(iter(self._pools.sizes), 0)
        planner = self.planner
        self._review.check(planner.known, self._device_set, threads, planner.move_nodes)

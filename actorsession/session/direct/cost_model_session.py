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
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from actorsession.config import ConfigProto, RunMetadata, RunOptions, StepStats, TraceLevel
from actorsession.graph.dtypes import resource
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import lookup
from actorsession.plan.cost_model import CostModel, CostModelSampling, check_cost_model_settings
from actorsession.plan.place import Placed
from actorsession.plan.report import cost_graph
from actorsession.plan.schedule import Rescheduled, Work, finish_time, reschedule, work_graph
from actorsession.records import dataclass
from actorsession.runtime.offload import OFFLOAD_ABOVE
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.direct.planner import DirectPlan
from actorsession.session.session_interface import OnEvict
from actorsession.session.statistics import SessionStatistics
from actorsession.session.value_delivery import ValueDelivery

__all__ = ["CostModelSession", "needs_cost_model"]

_log = logging.getLogger("actorsession.session")
# Timelines that a session keeps: the trace of a large step takes megabytes, and the last ones matter.
_TIMELINES = 8
# Most placement periods between two checks of the placement, when checks change nothing.
_MAX_GAP = 64
# A new placement must reduce the estimated time of all plans in use to less than this fraction.
_MARGIN = 0.8


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
        self._period = config.placement_period if options.build_cost_model else 0
        self._numbers = itertools.count(1)
        self._timelines: deque[StepStats] = deque(maxlen=_TIMELINES)
        self._recent: dict[int, tuple[DirectPlan, int]] = {}  # plans run since the last check
        self._placements = 0
        self._gap = self._period
        self._next_check: float = self._period
        self._last_run = 0

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that were traced for ``timeline_step``, oldest first."""
        return list(self._timelines)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        return replace(
            super().statistics(), placements=self._placements, model_steps=self.cost_model.steps
        )

    # -- running -------------------------------------------------------------------------------

    @property
    def has_own_pools(self) -> bool:
        """Whether ``runs_here`` must decide for each run, because plans spread over devices use the pool."""
        return bool(self._period) or super().has_own_pools

    def runs_here(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None,
    ) -> bool:
        """Return the decision of ``DirectSession``, but ``False`` for a plan that was spread over devices."""
        spread = self._placements > 0 and len(plan.graph.parts) > 1
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
        if self._is_due(plan, run.number):
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
        if self._is_due(plan, run.number):
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
        self,
        plan: DirectPlan,
        run: _ObservedRun,
        options: RunOptions | None,
        metadata: RunMetadata | None,
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

    # -- placement -----------------------------------------------------------------------------

    def _is_due(self, plan: DirectPlan, number: int) -> bool:
        """Count a run and return whether a check of the placement is due; no other is due until it ends."""
        if not self._period:
            return False
        _, runs = self._recent.get(id(plan), (plan, 0))
        self._recent[id(plan)] = plan, runs + 1
        if number < self._next_check:
            return False
        self._last_run = number
        if not self.cost_model.steps:
            self._next_check = number + self._gap
            return False
        self._next_check = math.inf
        return True

    def _check_placement(self) -> None:
        """Change the placement if that pays."""
        moved = False
        try:
            moved = self._improve_placement()
        finally:
            # Checking a large graph takes a while, so checks that change nothing become rarer.
            self._gap = self._period if moved else min(2 * self._gap, _MAX_GAP * self._period)
            self._next_check = self._last_run + self._gap

    def _improve_placement(self) -> bool:
        recent, self._recent = self._recent, {}
        candidates = _Candidates(self)
        steps = [
            (work_graph(plan.graph.partitions, self.cost_model, candidates), runs)
            for plan, runs in recent.values()
        ]
        threads = next(iter(self._pools.sizes), 0)
        # The plan with the most work is scheduled; the others must not lose more than it gains.
        heaviest, _ = max(steps, key=_weight)
        devices = [d.name for d in self._device_set.devices]
        found = reschedule(heaviest, devices, threads=threads, dear=OFFLOAD_ABOVE)
        if found is None or not self._pays(found, steps, threads):
            return False
        reason = (
            f"cost model: a step is estimated to take {found.after * 1e3:.3g} ms in place of "
            f"{found.before * 1e3:.3g} ms"
        )
        self.planner.move_nodes({n: Placed(d, reason) for n, d in found.devices.items()})
        self._placements += 1
        _log.info("%d nodes moved; %s", len(found.devices), reason)
        return True

    def _pays(
        self, found: Rescheduled, steps: Sequence[tuple[dict[str, Work], int]], threads: int
    ) -> bool:
        before = after = 0.0
        for work, runs in steps:
            now = {name: piece.device for name, piece in work.items()}
            then = {name: found.devices.get(name, device) for name, device in now.items()}
            before += runs * finish_time(work, now, threads=threads, dear=OFFLOAD_ABOVE)
            after += runs * finish_time(work, then, threads=threads, dear=OFFLOAD_ABOVE)
        return after < before * _MARGIN


def _weight(step: tuple[dict[str, Work], int]) -> float:
    work, runs = step
    return runs * sum(piece.seconds for piece in work.values())


class _Candidates:
    """The devices that a node may move to: all of its type, if no user or colocation fixed its device."""

    def __init__(self, session: CostModelSession) -> None:
        self._known = session.planner.known
        self._devices = session._device_set
        self._tied = {
            text.removeprefix("loc:@")
            for node in list(self._known.values())
            for text in node.attrs.get("_class", ())
        }

    def __call__(self, node: NodeDef, device: str) -> list[str]:
        known = self._known.get(node.name)
        if known is None or not self._is_free(known):
            return [device]
        here = self._devices.specs[device]
        # Measurements on a device of one type say nothing about another type.
        alike = [
            name
            for name, spec in self._devices.specs.items()
            if spec.device_type == here.device_type
        ]
        return [d for d in alike if self._devices.lacking(d, (node.op,)) is None]

    def _is_free(self, node: NodeDef) -> bool:
        if node.device or node.name in self._tied or node.attrs.get("_class"):
            return False
        if lookup(node.op).stateful or any(s.dtype is resource for s in node.outputs):
            return False
        return not any(self._known[p].outputs[i].dtype is resource for p, i in node.inputs)

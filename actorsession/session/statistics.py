"""The counters of a session, as a value and for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from actorsession.drawing.shown import Counters
from actorsession.metrics import HistogramCounts
from actorsession.plan.passes.registry import PassStatistics
from actorsession.plan.plan_cache import NO_LOOKUPS, CacheStatistics
from actorsession.prometheus import Metric, MetricFamily, exposition, metric_families
from actorsession.records import dataclass
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics
from actorsession.session.run_tally import RunLatency

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet
    from actorsession.rpc.link import LinkStatistics
    from actorsession.session.base import BaseSession

__all__ = ["SessionStatistics", "session_sheet"]

_METRICS = (
    Metric("runs", "counter", "actorsession_session_runs_total", "Runs that have returned values."),
    Metric("cancelled", "counter", "actorsession_session_cancelled_runs_total", "Runs cancelled."),
    Metric("nodes", "gauge", "actorsession_session_nodes", "Nodes registered with the session."),
    Metric("steps", "gauge", "actorsession_session_steps", "Steps under way."),
    Metric("waiting", "gauge", "actorsession_session_waiting_runs", "Runs that wait for admission."),
    Metric(
        "pending", "gauge", "actorsession_session_pending_values", "Values and receivers that wait in a rendezvous."
    ),
    Metric("partial_runs", "gauge", "actorsession_session_partial_runs", "Partial runs not complete."),
    Metric("callables", "gauge", "actorsession_session_callables", "Callables not released."),
    Metric("tensor_handles", "gauge", "actorsession_session_tensor_handles", "Values kept for handles."),
    Metric("variables", "gauge", "actorsession_session_variables", "Variables with a value."),
    Metric("variable_bytes", "gauge", "actorsession_session_variables_bytes", "Bytes of their values."),
    Metric(
        "offloaded",
        "counter",
        "actorsession_session_offloaded_segments_total",
        "Segments submitted to the kernel pool.",
    ),
    Metric("growths", "counter", "actorsession_session_growths_total", "Runs that found new nodes."),
    Metric("grown_nodes", "counter", "actorsession_session_grown_nodes_total", "Nodes found by them."),
    Metric("model_steps", "counter", "actorsession_session_model_steps_total", "Steps that fed the cost model."),
    Metric(
        "placements", "counter", "actorsession_session_placements_total", "Changes of the placement by the cost model."
    ),
)
_TIMES = (
    Metric("run_seconds", "histogram", "actorsession_session_run_duration_seconds", "Times of runs that succeeded."),
)
_CACHE_METRICS = (
    Metric("plans", "gauge", "actorsession_session_cached_plans", "Plans kept."),
    Metric("hits", "counter", "actorsession_session_plan_hits_total", "Look-ups that found a plan."),
    Metric(
        "sorted_hits",
        "counter",
        "actorsession_session_plan_sorted_hits_total",
        "Look-ups that found a plan by sorted names only.",
    ),
    Metric("misses", "counter", "actorsession_session_plan_misses_total", "Look-ups that found none."),
    Metric("evictions", "counter", "actorsession_session_plan_evictions_total", "Plans dropped."),
)
_PASS_METRICS = (
    Metric("runs", "counter", "actorsession_session_pass_runs_total", "Runs of a graph pass."),
    Metric("changes", "counter", "actorsession_session_pass_changes_total", "Runs that changed it."),
    Metric("seconds", "counter", "actorsession_session_pass_seconds_total", "Time of a graph pass."),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionStatistics(Counters):
    """Counters of a session. Those of what a master does for a remote session are 0.

    Attributes:
        runs: runs that have returned their values, those of callables too; not the calls of partial runs.
        errors: runs that have failed, by the class of the error, such as ``DeadlineExceededError``.
        cancelled: runs that their callers have cancelled or interrupted.
        latency: how long the last runs took.
        run_seconds: how long all runs took that have returned their values.
        cache: counters of the plan cache. A run whose request still has its plan counts as a hit.
        nodes: nodes of the graph that are registered with the session.
        steps: steps under way, including those of partial runs; in a remote session, requests for steps that
            the master has not answered.
        waiting: runs that wait until fewer steps are under way; see ``ConfigProto.max_inflight_steps``.
        pending: values and receivers that wait in the rendezvous of these steps.
        partial_runs: partial runs that are not complete; in a remote session one that has failed at the
            master counts until its next call.
        callables: callables that were made and not released.
        tensor_handles: values kept for tensor handles.
        variables: variables with a value, over all devices.
        variable_bytes: bytes of their values.
        offloaded: segments that were submitted to the kernel pool so far.
        devices: counters of the executor of each device.
        growths: runs that found nodes added to the graph since the previous run.
        grown_nodes: nodes that those runs found.
        model_steps: steps that fed the cost model.
        placements: times that the cost model changed the placement; each drops the cached plans.
        graph_passes: counters of each graph pass, in the order of the passes.
        link: traffic with the master; ``None`` if it is in this process or not connected.
    """

    runs: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    cancelled: int = 0
    latency: RunLatency = RunLatency()
    run_seconds: HistogramCounts = HistogramCounts()
    cache: CacheStatistics = NO_LOOKUPS
    nodes: int = 0
    steps: int = 0
    waiting: int = 0
    pending: int = 0
    partial_runs: int = 0
    callables: int = 0
    tensor_handles: int = 0
    variables: int = 0
    variable_bytes: int = 0
    offloaded: int = 0
    devices: tuple[ExecutorStatistics, ...] = ()
    growths: int = 0
    grown_nodes: int = 0
    model_steps: int = 0
    placements: int = 0
    graph_passes: tuple[PassStatistics, ...] = ()
    link: LinkStatistics | None = None

    def metric_families(self, labels: Mapping[str, str]) -> list[MetricFamily]:
        """Return the counters for Prometheus, each with these labels."""
        families = metric_families(self, (*_METRICS, *_TIMES), labels)
        families += metric_families(self.cache, _CACHE_METRICS, labels)
        families += self._families_of_runs(labels)
        for one in self.graph_passes:
            place = {"pass": one.name, "group": one.group, "phase": str(one.phase)}
            families += metric_families(one, _PASS_METRICS, {**labels, **place})
        for device in self.devices:
            families += device.metric_families(labels)
        if self.link is not None:
            families += self.link.metric_families(labels)
        return families

    def _families_of_runs(self, labels: Mapping[str, str]) -> list[MetricFamily]:
        failed = [({**labels, "class": name}, count) for name, count in self.errors.items()]
        seen = self.latency
        times = {"0.5": seen.median, "0.9": seen.p90, "0.99": seen.p99, "1": seen.most}
        took = [({**labels, "quantile": name}, seconds) for name, seconds in times.items()]
        return [
            MetricFamily("actorsession_session_failed_runs_total", "counter", "Runs that have failed.", failed),
            MetricFamily("actorsession_session_run_seconds", "gauge", "Times of the last thousand runs.", took),
        ]

    def prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """Return the counters in the text form that Prometheus reads.

        Args:
            labels: labels of all samples, such as a name of the session.

        Raises:
            ValueError: for the name of a label that Prometheus does not accept.
        """
        return exposition(self.metric_families(labels or {}))


def session_sheet(session: BaseSession) -> Sheet:
    """Return what a session shows of itself: its graph, and its own counters."""
    from actorsession.drawing.sheet import Sheet

    counters, graph = session.statistics()._sheet(), session.graph._sheet()
    metadata = session._config.experimental.session_metadata
    facts = {"name": metadata.name} if metadata is not None and metadata.name else {}
    facts |= {"target": session.target or "this process", "state": "closed" if session.closed else "open"}
    facts["graph"] = graph.title
    return Sheet(type(session).__name__, {**facts, **counters.facts}, counters.tables, graph.drawings)

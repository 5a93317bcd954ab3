"""The counters of executors, apart from them: clients of a server read them and load no engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from actorsession.prometheus import Metric, MetricFamily, metric_families
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.runtime.engine.executor import Executor

__all__ = ["ExecutorStatistics", "statistics_by_device"]

_METRICS = (
    Metric("loaded", "gauge", "actorsession_device_loaded_partitions", "Partitions that are loaded."),
    Metric("begun", "counter", "actorsession_device_partitions_total", "Partitions of steps begun."),
    Metric("running", "gauge", "actorsession_device_running_partitions", "Partitions under way."),
    Metric(
        "offloaded",
        "counter",
        "actorsession_device_offloaded_runs_total",
        "Segments and nodes submitted to the kernel pool.",
    ),
    Metric("runs", "counter", "actorsession_device_runs_total", "Segments and nodes that have run."),
    Metric("seconds", "counter", "actorsession_device_run_seconds_total", "Time of the runs of segments and nodes."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStatistics:
    """The counters of an executor.

    Attributes:
        device: full name of its device.
        loaded: partitions that are loaded now.
        begun: partitions of steps begun so far. Plans that run as one call begin none.
        running: partitions that are under way.
        offloaded: segments and nodes that were submitted to the kernel pool so far.
        runs: segments and nodes that have run so far, those of plans that run as one call included.
        seconds: the total time of these runs.
    """

    device: str
    loaded: int = 0
    begun: int = 0
    running: int = 0
    offloaded: int = 0
    runs: int = 0
    seconds: float = 0.0

    def metric_families(self, labels: Mapping[str, str]) -> list[MetricFamily]:
        """Return the counters for Prometheus, with the device as a label beside others."""
        return metric_families(self, _METRICS, {**labels, "device": self.device})


def statistics_by_device(executors: Iterable[Executor]) -> tuple[ExecutorStatistics, ...]:
    """Return the counters of executors, those of several executors of one device added."""
    statistics: dict[str, ExecutorStatistics] = {}
    for executor in executors:
        one = executor.executor_statistics()
        other = statistics.get(one.device)
        if other is not None:
            one = ExecutorStatistics(
                device=one.device,
                loaded=one.loaded + other.loaded,
                begun=one.begun + other.begun,
                running=one.running + other.running,
                offloaded=one.offloaded + other.offloaded,
                runs=one.runs + other.runs,
                seconds=one.seconds + other.seconds,
            )
        statistics[one.device] = one
    return tuple(statistics.values())

"""The counters of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorsession.plan.passes.registry import PassStatistics
from actorsession.plan.plan_cache import CacheStatistics
from actorsession.records import dataclass
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics

if TYPE_CHECKING:
    from actorsession.rpc.link import LinkStatistics

__all__ = ["SessionStatistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatistics:
    """Counters of a session. Those of what a master does for a remote session are 0.

    Attributes:
        cache: counters of the plan cache. A run whose request still has its plan counts as a hit.
        nodes: nodes of the graph that are registered with the session.
        steps: steps under way, including those of partial runs; in a remote session, requests for steps that
            the master has not answered.
        waiting: runs that wait until fewer steps are under way; see ``ConfigProto.max_inflight_steps``.
        pending: values and receivers that wait in the rendezvous of these steps.
        partial_runs: partial runs that are not complete.
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

    cache: CacheStatistics = CacheStatistics(plans=0, hits=0, sorted_hits=0, misses=0, evictions=0)
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

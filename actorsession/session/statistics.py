"""What a session counts about itself."""

from __future__ import annotations

from actorsession.plan.passes.registry import PassStatistics
from actorsession.plan.plan_cache import CacheStatistics
from actorsession.records import dataclass

__all__ = ["SessionStatistics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatistics:
    """Counters of a direct session.

    Attributes:
        cache: of the plan cache; a run whose request keeps the plan that it found is a hit as well.
        nodes: nodes of the graph that the session has taken in.
        steps: steps that run now, those of partial runs included.
        waiting: runs that wait until fewer steps are under way; see ``ConfigProto.max_inflight_steps``.
        pending: values and receivers that wait in the rendezvous of those steps.
        partial_runs: partial runs that are not complete.
        callables: callables that were made and not released.
        tensor_handles: values kept for tensor handles.
        variables: variables with a value, over all devices.
        variable_bytes: bytes of their values.
        offloaded: segments that went to the kernel pool so far.
        growths: runs that found nodes added to the graph since the run before.
        grown_nodes: nodes that they found.
        model_steps: steps that fed the cost model.
        placements: times that nodes were placed anew by the cost model; each drops the plans kept.
        graph_passes: what each graph pass did, in the order in which they run.
    """

    cache: CacheStatistics
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
    growths: int = 0
    grown_nodes: int = 0
    model_steps: int = 0
    placements: int = 0
    graph_passes: tuple[PassStatistics, ...] = ()

"""The plans of partial runs, kept apart from the plans of ordinary runs.

They route feeds and fetches differently. Used at setup by the session API, through ``PartialRuns``.
Thread-safe.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from actorsession.config import ConfigProto
from actorsession.errors import OpError
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partial import PartialParts, check_signature
from actorsession.plan.plan_cache import PlanCache
from actorsession.plan.signature import RunSignature
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.session.direct.planner import Planner

__all__ = ["PartialPlan", "PartialPlans"]


class PartialPlan:
    """A loaded plan of partial runs.

    Args:
        signature: everything that such a run feeds, fetches and targets.
        parts: the partial-run data of the plan.
        graph: the loaded partitions.
        failure: why no such run can succeed; the first call of a run raises it.
    """

    __slots__ = ("_failure", "graph", "label", "parts", "signature")

    def __init__(
        self,
        signature: RunSignature,
        parts: PartialParts,
        graph: LoadedGraph,
        failure: OpError | None = None,
    ) -> None:
        self.signature = signature
        self.parts = parts
        self.graph = graph
        self._failure = failure
        self.label = str(signature)

    def new_failure(self) -> OpError | None:
        """Return a copy of the failure for one run, because a raised error refers to its traceback."""
        return copy.copy(self._failure)


class PartialPlans:
    """The factory and cache of the plans of a session's partial runs.

    Args:
        planner: the session's planner.
        devices: the session's devices.
        config: the session's settings.
        on_evict: called when a plan is evicted.
    """

    def __init__(
        self,
        planner: Planner,
        devices: DeviceSet,
        config: ConfigProto,
        on_evict: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._devices = devices
        self._cache: PlanCache[PartialPlan] = PlanCache(
            config.plan_cache_size, lambda plan: on_evict()
        )

    def plan(self, signature: RunSignature) -> PartialPlan:
        """Return the plan of a signature; build it if it is not cached.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run, or cannot be run on this
                graph and these devices.
        """
        check_signature(signature)
        found = self._cache.get(signature)
        if found is None:
            with self._planner.locked():
                self._planner.extend()
                found = self._build(signature.sorted())
            found = self._cache.put(signature, found)
        return found

    def _build(self, signature: RunSignature) -> PartialPlan:
        made, failure = self._planner.partial_partitions(signature)
        return PartialPlan(signature, made, self._planner.load(made.parts), failure)

    def clear(self) -> None:
        """Drop every plan."""
        self._cache.clear()

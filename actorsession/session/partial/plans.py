"""The plans of partial runs: kept apart from those of ordinary runs, whose feeds and fetches go other ways.

Called by the faces at setup, through ``PartialRuns``. Thread-safe.
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
from actorsession.runtime.engine.executor import LoadedGraph
from actorsession.session.direct.planner import Planner

__all__ = ["PartialPlan", "PartialPlans"]


class PartialPlan:
    """A plan of partial runs, loaded.

    Args:
        signature: all that such a run feeds, fetches and targets.
        parts: what the plan is made of.
        graph: the loaded parts.
        failure: why no such run can succeed, told by its first call.
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
        """Return the failure, for one run: an error that is raised holds on to what raised it."""
        return copy.copy(self._failure)


class PartialPlans:
    """Makes and keeps the plans of partial runs of one session.

    Args:
        planner: of the session.
        devices: of the session.
        config: its settings.
        on_evict: called when a plan is kept no longer.
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
        """Return the plan of a signature, built if it is not kept.

        Raises:
            InvalidArgumentError: if the signature is none of a partial run, or cannot be run on this
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
        """Forget every plan."""
        self._cache.clear()

"""From a run signature to a loaded plan: extend, prune, place, optimise, partition, compile, remember.

Owns the graph as planners see it, the placement of its nodes and the plan cache of a direct session. A
signature that was planned before costs one look-up; a graph that grew costs only its new nodes. An error
leaves everything as it was.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef
from actorsession.plan.cache import CacheStatistics, PlanCache
from actorsession.plan.partition import Partition, partition
from actorsession.plan.place import DeviceSet, Placed, Placer
from actorsession.plan.prune import GraphView, StepGraph, prune
from actorsession.plan.signature import RunSignature
from actorsession.runtime.executor import Executor, InlineRun, LoadedGraph

__all__ = ["DirectPlan", "Planner"]

_log = logging.getLogger("actorsession.session")


class DirectPlan:
    """A plan of one signature, loaded.

    Args:
        signature: what it was made for; values are in its order.
        graph: the loaded partitions.
    """

    __slots__ = ("graph", "inline", "signature", "used")

    def __init__(self, signature: RunSignature, graph: LoadedGraph) -> None:
        self.used = 0
        self.signature = signature
        self.graph = graph
        self.inline: InlineRun | None = graph.inline


class Planner:
    """Makes and keeps the plans of one direct session; thread-safe.

    Args:
        graph: it may grow; new nodes are found when a run needs a plan.
        config: the session's settings.
        devices: the session's devices.
        executors: by device name.
        on_evict: called with a plan that is kept no longer.
    """

    def __init__(
        self,
        graph: Graph,
        config: ConfigProto,
        devices: DeviceSet,
        executors: Mapping[str, Executor],
        on_evict: Callable[[DirectPlan], None],
    ) -> None:
        self._graph = graph
        self._config = config
        self._devices = devices
        self._executors = executors
        self._placer = Placer(devices, allow_soft_placement=config.allow_soft_placement)
        self._places_all = not config.graph_options.place_pruned_graph
        self._view = GraphView()
        self._states: dict[str, dict[str, Any]] = {}
        self._uses = itertools.count(1)
        self._cache: PlanCache[DirectPlan] = PlanCache(
            config.plan_cache_size, on_evict, lambda plan: plan.used
        )
        self._lock = threading.Lock()

    def plan(self, signature: RunSignature) -> DirectPlan:
        """The plan of a signature, built if it is not kept.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        found = self._cache.get(signature)
        if found is None:
            with self._lock:
                self.extend()
                found = self._build(signature)
            found = self._cache.put(signature, found)
        return found

    def touch(self, plan: DirectPlan) -> None:
        """Notes that a plan was used, for the choice of which to keep."""
        plan.used = next(self._uses)

    def extend(self) -> None:
        """Takes in what was added to the graph; an error changes nothing."""
        new = [op.node_def for op in self._graph.operations_since(len(self._view))]
        if not new:
            return
        checked = self._view.checked(new)
        if self._places_all:
            self._place(checked.values())
        self._view.add(checked)

    def _place(self, nodes: Any) -> None:
        placed = self._placer.place(nodes)
        if self._config.log_device_placement:
            for name, where in placed.items():
                _log.info("%s: %s (%s)", name, where.device, where.reason)

    def _build(self, signature: RunSignature) -> DirectPlan:
        # Built with sorted names, so that every order of the same names runs this very plan.
        signature = signature.sorted()
        _, parts = self.parts(signature)
        return DirectPlan(signature, self.load(parts))

    def parts(self, signature: RunSignature) -> tuple[StepGraph, tuple[Partition, ...]]:
        """What a run needs, pruned, placed and cut; the caller holds no lock but the planner's."""
        step_graph = prune(self._view, signature)
        if not self._places_all:
            self._place(self._with_ties(step_graph))
        placed = self._placer.placed
        client = self._devices.client_device
        device_of = {n: placed[n].device if n in placed else client for n in step_graph.nodes}
        return step_graph, partition(step_graph, device_of, self._devices)

    def _with_ties(self, graph: StepGraph) -> list[NodeDef]:
        """The nodes of a pruned graph with those that a colocation names, in the order of building."""
        names = [name for name in graph.nodes if name in self._view]
        found = dict.fromkeys(names)
        while names:
            for text in self._view[names.pop()].attrs.get("_class", ()):
                tied = text.removeprefix("loc:@")
                if tied in self._view and tied not in found:
                    found[tied] = None
                    names.append(tied)
        position = self._view.position
        return [self._view[name] for name in sorted(found, key=position.__getitem__)]

    def load(self, parts: tuple[Partition, ...]) -> LoadedGraph:
        """Parts compiled and bound to the devices of the session."""
        return LoadedGraph(parts, self._executors, self._states)

    def locked(self) -> threading.Lock:
        """The lock under which ``extend``, ``parts`` and ``load`` are called from outside."""
        return self._lock

    def placement(self) -> dict[str, Placed]:
        """The device of every node that is placed, with the reason."""
        with self._lock:
            self.extend()
            return dict(self._placer.placed)

    @property
    def known(self) -> Mapping[str, NodeDef]:
        """The nodes that the session has taken in."""
        return self._view

    def clear(self) -> None:
        """Forgets every plan."""
        self._cache.clear()

    def statistics(self) -> CacheStatistics:
        """Counters of the plan cache."""
        return self._cache.statistics()

"""From a run signature to a loaded plan: extend, prune, place, optimise, partition, compile, remember.

Owns the ``GraphExecutionState`` and the plan cache of a direct session. A
signature that was planned before costs one look-up; a graph that grew costs only its new nodes. An error
leaves everything as it was.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from actorsession.collector import pause_collector
from actorsession.config import ConfigProto, DebugOptions
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef
from actorsession.metrics import SessionTally
from actorsession.plan.cost_model import CostModel, prime
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.partial import PartialParts
from actorsession.plan.partition import Partition
from actorsession.plan.passes.registry import PassStatistics
from actorsession.plan.place import Placed
from actorsession.plan.plan_cache import CacheStatistics, PlanCache
from actorsession.plan.prune import StepGraph
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.debug.debugger import LoadedDebugPlan
from actorsession.runtime.debug.graph import DebugGraphDecorator, decorated
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.inline_run import Gate, InlineRun
from actorsession.runtime.engine.loaded_graph import LoadedGraph, tell_states
from actorsession.runtime.inspection import GraphShown, HeldState
from actorsession.runtime.planning import LARGE
from actorsession.runtime.resources import place_of
from actorsession.runtime.step_log import StepLog

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["DirectPlan", "Planner", "PlannerEnv"]


class DirectPlan:
    """A plan of one signature, loaded.

    Args:
        signature: what it was made for; values are in its order.
        graph: the loaded partitions.

    Attributes:
        inline: runs the plan as a single call, if it is one segment.
        needs_loop: whether a step may suspend.
        runs: number of its runs, in sessions that count them.
        used: number of its last use, for the choice of plans to evict.
    """

    __slots__ = ("graph", "inline", "needs_loop", "runs", "signature", "used")

    def __init__(self, signature: RunSignature, graph: LoadedGraph) -> None:
        self.used = 0
        self.runs = 0
        self.signature = signature
        self.graph = graph
        self.inline: InlineRun | None = graph.inline
        # What one device waits for may come from another one, and functions may wait for each other.
        self.needs_loop = graph.suspends or graph.overlaps


@dataclass(frozen=True, slots=True)
class PlannerEnv:
    """What the planners of one session share.

    Attributes:
        handle: name of the session, for graph passes.
        config: its settings.
        devices: its devices.
        executors: by device name.
        gate: the gate of the session; a planning ends between two passes when that is closed.
        step_log: keeps the last steps of the session; ``None`` if none are kept.
    """

    handle: str
    config: ConfigProto
    devices: DeviceSet
    executors: Mapping[str, Executor]
    gate: Gate
    step_log: StepLog | None = None


class Planner:
    """Makes and keeps the plans of one direct session; thread-safe.

    Args:
        graph: it may grow; new nodes are found when a run needs a plan.
        env: of the session.
        on_evict: called with a plan that is kept no longer.
        costs: what nodes were measured to cost, for sessions that measure.
        tally: the counters of the session.

    Attributes:
        uses: numbers the uses of plans, which each run sets in its plan, for the choice of which to keep.
    """

    def __init__(
        self,
        graph: Graph,
        env: PlannerEnv,
        on_evict: Callable[[DirectPlan], None] | None = None,
        costs: CostModel | None = None,
        tally: SessionTally | None = None,
    ) -> None:
        self._env = env
        self._check = check = env.gate.check
        self.tally = tally or SessionTally("direct")
        self._graph = graph
        self._executors = env.executors
        self._state = GraphExecutionState(env.config, env.devices, check, handle=env.handle)
        self._costs = costs
        self._extensions = 0  # of the graph's nodes, seen so far
        self._registered = 0  # how many of the graph's operations; passes may add nodes to them
        self._registered_size = 0  # and of its nodes
        self._on_evict = on_evict
        self._states: dict[str, dict[str, Any]] = {}
        self.uses = itertools.count(1)
        self._built = 0
        self._cache: PlanCache[DirectPlan] = PlanCache(env.config.plan_cache_size, on_evict, lambda plan: plan.used)
        self._lock = threading.Lock()

    def plan(self, signature: RunSignature) -> DirectPlan:
        """Return the plan of a signature, built if it is not kept.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        return self.kept(signature) or self.make(signature)

    def kept(self, signature: RunSignature) -> DirectPlan | None:
        """Return the plan of a signature, if it is kept."""
        return self._cache.get(signature)

    def make(self, signature: RunSignature) -> DirectPlan:
        """Build the plan of a signature and keep it, unless another thread was faster.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        # A plan stays as long as its session.
        pause = pause_collector() if self.size > LARGE else nullcontext()
        with self._lock, self.tally.planning(), pause:
            self.extend()
            plan = self._build(signature)
            self._built += 1
        return self._cache.put(signature, plan)

    @property
    def size(self) -> int:
        """How many nodes planning has to do with: those known, and those added to the graph since.

        Those of functions are among them.
        """
        return self._state.view.size + self._graph.nodes.total_size - self._registered_size

    def extend(self) -> None:
        """Extend the session by the new nodes of the graph; an error changes nothing."""
        self._graph.nodes.describe(self._registered, self._check)
        with self._graph.growing():
            extended = self._graph.changes.extended[self._extensions :]
            changed = [op for op in dict.fromkeys(extended) if op.name in self._state.view]
            graph_nodes = self._graph.nodes
            added, size = graph_nodes.order[self._registered :], graph_nodes.total_size
            nodes = [op.plain for op in (*changed, *added)]
        if not nodes:
            return
        self._check()
        self._state.extend(nodes)
        self._extensions += len(extended)
        self._registered += len(added)
        self._registered_size = size

    def move_nodes(self, moved: Mapping[str, Placed]) -> None:
        """Give nodes other devices in plans made from now on; every plan kept is dropped.

        Args:
            moved: nodes without state that nothing ties to a device, with where they go.
        """
        with self._lock:
            self._state.place_anew(moved)
            dropped = self._cache.clear()
        if self._on_evict is not None:
            for plan in dropped:
                self._on_evict(plan)

    def _build(self, signature: RunSignature) -> DirectPlan:
        # Built with sorted names, so that every order of the same names runs this very plan.
        signature = signature.sorted()
        _, parts = self.parts(signature)
        plan, log = DirectPlan(signature, self.load(parts)), self._env.step_log
        if log is not None and plan.inline is not None:
            from actorsession.session.direct.logged_steps import LoggedInlineRun  # which most sessions do without

            plan.inline = LoggedInlineRun(plan.inline, signature, self._env.handle, log)
        return plan

    def parts(self, signature: RunSignature, *, optimised: bool = True) -> tuple[StepGraph, tuple[Partition, ...]]:
        """Return what a run needs, pruned, placed and cut; the caller holds no lock but the planner's.

        Args:
            signature: what the run feeds, fetches and targets.
            optimised: whether nodes may be folded and merged; not for those who look at every node.
        """
        return self._state.partitions(signature, optimised=optimised)

    def partial_partitions(self, signature: RunSignature) -> PartialParts:
        """Return the partitions of partial runs; see ``GraphExecutionState.partial_partitions``."""
        return self._state.partial_partitions(signature)

    def load(self, parts: tuple[Partition, ...]) -> LoadedGraph:
        """Parts compiled and bound to the devices of the session."""
        graph = LoadedGraph(parts, self._executors, self._states)
        if self._costs is not None:
            prime([part.bound for part in graph.parts], self._costs)
        return graph

    def debug_plan(self, signature: RunSignature, options: DebugOptions, is_partial: bool = False) -> LoadedDebugPlan:
        """Return the plan of a debugged run, decorated with what the options ask for; made anew each time.

        Args:
            signature: of the run.
            options: what is watched.
            is_partial: whether it is a partial run.

        Raises:
            InvalidArgumentError: if the options name a node, slot or debug op that does not exist.
        """
        with self._lock, self.tally.planning():
            self.extend()
            decorator = DebugGraphDecorator(options, signature, self._state.view)
            if is_partial:
                parts = self.partial_partitions(signature).parts
            else:
                _, parts = self.parts(signature, optimised=False)
            return LoadedDebugPlan(decorator, self.load(decorated(parts, decorator)))

    def shown(self) -> GraphShown:
        """Return the graph with its placement, to be looked at from any thread."""
        return GraphShown(self._state.view, self._state.placed)

    def held_state(self) -> Iterator[HeldState]:
        """Yield the state of the session that outlives steps; callable from any thread."""
        yield HeldState(self._env.handle, [executor.device for executor in self._executors.values()], self._states)

    def explain(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return the explanation of a step, which is planned for that and not kept.

        Args:
            signature: what the step feeds, fetches and targets.
            feeds: the fed tensors.
        """
        from actorsession.plan.explain.explain import Circumstances, explain, plan_step

        with self._lock:
            step = plan_step(self._state, signature, feeds, self.extend)
        unset = [
            node.name
            for node, device in step.variables_read()
            if not self._executors[device].device.resources.has_value(*place_of(node))
        ]
        return explain(step, Circumstances(model=self._costs or CostModel(), unset=frozenset(unset)))

    def locked(self) -> threading.Lock:
        """Return the lock under which ``extend``, ``parts`` and ``load`` are called from outside."""
        return self._lock

    def placement(self) -> dict[str, Placed]:
        """Return the device of every node that is placed, with the reason."""
        with self._lock:
            self.extend()
            return dict(self._state.placed)

    @property
    def known(self) -> Mapping[str, NodeDef]:
        """The nodes by which the session was extended."""
        return self._state.view

    def clear(self) -> None:
        """Forget every plan."""
        self._cache.clear()

    def release(self) -> None:
        """Forget every plan, and tell the states of kernels that the session has ended."""
        self.clear()
        tell_states(self._states)

    def pass_statistics(self) -> tuple[PassStatistics, ...]:
        """Return what each graph pass did so far."""
        return self._state.pass_statistics()

    def statistics(self) -> CacheStatistics:
        """Counters of the plan cache; runs whose request keeps its plan count as hits as well."""
        seen = self._cache.statistics()
        # Each run touches its plan; counting hits one by one would cost every run what reading costs once.
        hits = self.tally.runs - self._built - seen.sorted_hits
        return replace(seen, hits=max(hits, seen.hits))

"""What a master session plans: its graph over the tasks that it has, and the client graphs of runs.

The graph is accessed by one at a time: pieces of planning in a thread, or code on the event loop. Owned by a
``MasterSession``; imports the members, the graph and the client graphs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.device_discovery import sooner
from actorsession.cluster.master.env import Changes
from actorsession.cluster.master.membership import Membership
from actorsession.cluster.master.restart_losses import RestartLosses
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.cluster.master.session_graph import SessionGraph
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.cluster.master.step_observer import StepObserver
from actorsession.errors import AbortedError, InvalidArgumentError, UnavailableError, WorkerRestartedError
from actorsession.graph.function import nodes_in, size_of
from actorsession.graph.node import GraphDef
from actorsession.messages.session import (
    ExplainStep,
    ExtendSession,
    PlacementFound,
    ReattachSession,
    SessionExtended,
    SessionReattached,
    StepExplained,
)
from actorsession.metrics import SessionTally
from actorsession.plan.placement_log import log_devices
from actorsession.plan.plan_cache import CacheStatistics
from actorsession.plan.signature import RunSignature
from actorsession.runtime.inspection import GraphShown
from actorsession.runtime.planning import Planning

__all__ = ["SessionPlans"]

T = TypeVar("T")


class SessionPlans:
    """The plans of one session, and what they are made of.

    Args:
        cluster: the cluster of the session.
        planning: runs large pieces of planning in a worker thread; owned by the plans from now on.
        observer: the observations of the steps.
        children: the session's children, which own registrations.
        tally: the counters of the session.

    Attributes:
        cluster: the cluster.
        members: the tasks that have answered.
        membership: their changes.
        graphs: the client graphs of runs.
    """

    def __init__(
        self,
        cluster: SessionCluster,
        planning: Planning,
        observer: StepObserver,
        children: Children,
        tally: SessionTally,
    ) -> None:
        self.cluster = cluster
        self._planning = planning
        self._observer = observer
        self.members = SessionMembers(cluster, self)
        self.membership = Membership(cluster, self.members)
        self._graph = SessionGraph(self.membership, planning, tally)
        self._losses = RestartLosses(self._graph, self.membership)
        self.graphs = ClientGraphs(self._graph, self.membership, planning, children, observer)
        self._children = children
        self._tally = tally
        self._moves = 0  # moves of nodes after which the former client graphs were dropped

    @cached_property
    def partial_graphs(self) -> ClientGraphs:
        """The client graphs of partial runs, which few sessions have."""
        return ClientGraphs(self._graph, self.membership, self._planning, self._children, None)

    def cache_statistics(self) -> CacheStatistics:
        """Return the counters of the plan caches; runs whose program keeps its plan count as hits as well.

        A plan that was made counts as one miss, however often its run has looked for it.
        """
        seen = self.graphs.cache_statistics()
        if "partial_graphs" in vars(self):
            seen += self.partial_graphs.cache_statistics()
        counted = self._tally.metrics()
        begun = counted.runs + counted.partial_runs
        return replace(seen, hits=max(begun - counted.plans, 0), sorted_hits=0, misses=counted.plans)

    # -- graph ---------------------------------------------------------------------------------

    def shown(self) -> GraphShown:
        """Return the graph with its placement, to be looked at."""
        return self._graph.shown()

    async def open(self, graph: GraphDef, deadline: Deadline) -> int:
        """Open the session at its tasks and extend its empty graph, all or none.

        Absent tasks are asked again if the nodes request devices about which nothing is known.

        Returns:
            The version of the graph.

        Raises:
            OpError: as ``Membership.join`` and ``SessionGraph.extend`` do.
        """
        await self.membership.join(sooner(deadline))
        if self.cluster.config.log_device_placement:
            log_devices(self.members.devices.devices)
        nodes = size_of(graph.nodes)
        unknown = await self._unknown(nodes, lambda: graph)
        if unknown:
            await self.membership.retry_absent(deadline, unknown)
        return await self._plan(nodes, lambda: self._graph.extend(graph))

    async def _unknown(self, nodes: float, graph: Callable[[], GraphDef]) -> Collection[str]:
        """Return the tasks whose unknown devices the new nodes request; see ``SessionGraph.unknown``."""
        if not self.membership.missing:
            return ()
        return await self._plan(nodes, lambda: self._graph.unknown(graph()))

    async def _plan(self, nodes: float, work: Callable[[], T]) -> T:
        """Do work on the graph, in a worker thread if it is large or other work is queued there."""
        return await self._planning.run(work) if self._planning.must_wait(nodes) else work()

    def extend(self, message: ExtendSession, deadline: Deadline) -> SessionExtended | Awaitable[SessionExtended]:
        """Extend the graph with nodes that the client added, if the client has the current version.

        Raises:
            AbortedError: if the client has another version.
            OpError: as ``SessionGraph.extend`` does.
        """
        if self.membership.changed or self._planning.must_wait(_nodes_of(message)):
            return self._extend_later(message, deadline)
        try:
            return self._extend(message)
        except InvalidArgumentError:
            if not self.membership.missing:
                raise
            return self._extend_anew(message, deadline)

    async def _extend_later(self, message: ExtendSession, deadline: Deadline) -> SessionExtended:
        await self.follow(deadline)
        try:
            return await self._plan(_nodes_of(message), lambda: self._extend(message))
        except InvalidArgumentError:
            if not self.membership.missing:
                raise
            return await self._extend_anew(message, deadline)

    async def _extend_anew(self, message: ExtendSession, deadline: Deadline) -> SessionExtended:
        """Ask the tasks that new nodes may need and that were absent or are new, then extend the graph."""
        await self.follow(deadline)
        nodes = _nodes_of(message)
        if self.membership.missing:
            unknown = await self._unknown(nodes, lambda: GraphDef.from_wire(message.graph))
            await self.membership.retry_absent(deadline, unknown)
        return await self._plan(nodes, lambda: self._extend(message))

    def _extend(self, message: ExtendSession) -> SessionExtended:
        if message.current_graph_version != self._graph.version:
            raise AbortedError(
                f"the session's graph has version {self._graph.version}, the extension was made for "
                f"{message.current_graph_version}"
            )
        return SessionExtended(graph_version=self._graph.extend(GraphDef.from_wire(message.graph)))

    async def placement(self, deadline: Deadline) -> PlacementFound:
        """Return the device of each node that is placed, with the reason."""
        await self.follow(deadline)
        placed = await self._plan(self._graph.size, self._graph.placement)
        return PlacementFound(
            devices={name: where.device for name, where in placed.items()},
            reasons={name: where.reason for name, where in placed.items()},
        )

    async def explain(self, message: ExplainStep, deadline: Deadline) -> StepExplained:
        """Return what a step would do; see ``explain_step``."""
        from actorsession.cluster.master.step_explanation import explain_step  # few sessions are asked

        await self.follow(deadline)
        model = self._observer.cost_model
        return await explain_step(message, self._graph, self.membership, model, self._plan, deadline)

    # -- client graphs -------------------------------------------------------------------------

    async def acquire(self, graphs: ClientGraphs, signature: RunSignature, deadline: Deadline) -> ClientGraph:
        """Return the registered client graph of a plan; the caller must release it.

        Raises:
            WorkerRestartedError: naming the variables that were lost.
            OpError: as ``ClientGraphs.acquire`` does.
        """
        try:
            return await self._acquire(graphs, signature, deadline)
        except WorkerRestartedError as error:
            raise await self._losses.explained(error) from error

    async def _acquire(self, graphs: ClientGraphs, signature: RunSignature, deadline: Deadline) -> ClientGraph:
        """Register a graph; retry if a task has restarted and the session has lost no state with it.

        Where lost tasks are started again, this waits for them. Nothing of the step has begun yet.
        """
        await self.follow(deadline)
        restarted, wait = "", self.cluster.env.restart_wait
        limit = sooner(deadline.within(wait))
        while True:
            try:
                if restarted:
                    await self.membership.rejoin(restarted, deadline)
                    self.forget_task(restarted)
                    restarted = ""
                return await graphs.acquire(signature, deadline)
            except WorkerRestartedError as error:
                restarted = error.task or ""
                if deadline.expired or self._graph.keeps_state(restarted):
                    raise
            except UnavailableError as error:
                if not wait or not error.task:
                    raise
                if not await self.membership.comes_back(error.task, limit):
                    raise

    def review(self, graph: ClientGraph) -> None:
        """Check the placement after a step, if that is due; see ``StepObserver``."""
        if self._observer.is_review_due(graph):
            self._start_review()

    def _start_review(self) -> None:
        """Check the placement when no planning is in progress; no step waits for that."""
        if self._planning.must_wait(self._graph.size):
            reviewed = self._planning.start(self._review_placement())
            reviewed.add_done_callback(lambda ended: self._reviewed())
        else:
            self._review_placement()()
            self._reviewed()

    def _review_placement(self) -> Callable[[], None]:
        """Return a function that checks the placement for the devices that the members have now."""
        review, members, graph = self._observer.review, self.members, self._graph
        assert review is not None
        devices, threads, home = members.devices, members.threads, self.cluster.task
        return lambda: review.check(graph.nodes, devices, threads, graph.move_nodes, home)

    def _reviewed(self) -> None:
        """Drop the client graphs of the former placement, if nodes were moved."""
        review = self._observer.review
        if review is not None and review.moves > self._moves:
            self._moves = review.moves
            self.graphs.forget(self.members.workers)

    # -- members -------------------------------------------------------------------------------

    async def follow(self, deadline: Deadline) -> None:
        """Apply the changes of the cluster, if there are any."""
        if self.membership.changed:
            await self._apply(await self.membership.follow(deadline))

    async def reattach(self, message: ReattachSession, deadline: Deadline) -> SessionReattached:
        """Continue with the current tasks of the cluster; tasks that have restarted begin without state.

        Raises:
            OpError: as ``Membership.reattach`` does.
        """
        deadline = sooner(deadline)  # which is left for what comes after the wait for tasks, too
        changes = await self.membership.reattach(self._graph.tasks(), deadline)
        await self._apply(changes)
        return await self._losses.reattached(changes, message.anew, deadline)

    async def _apply(self, changes: Changes) -> None:
        if changes:
            await self._plan(0, self._graph.device_update())
            # Plans that were built for the former devices in the meantime are cached by now.
            self._forget(changes.stale)

    def _forget(self, tasks: Collection[str]) -> None:
        self.graphs.forget(tasks)
        self.partial_graphs.forget(tasks)

    def take(self, changes: Changes) -> None:
        """Forget the plans for tasks that have left or restarted, and note what was lost with them."""
        if changes.stale:
            self._forget(changes.stale)
        self._losses.note(changes)

    def use_devices(self) -> None:
        """Plan for the current devices, as soon as the planning that is in progress has ended."""
        self._plan_soon(self._graph.device_update())

    def _plan_soon(self, work: Callable[[], None]) -> None:
        if self._planning.busy:
            _ = self._planning.start(work)
        else:
            work()

    def forget_task(self, task: str) -> None:
        """Forget what was registered at a task, because the worker's side of the session is lost.

        A session must not need a task that it needs only because of its cost model.
        """
        self._forget({task})
        if self._observer.review is not None:
            self._plan_soon(lambda: self._graph.return_nodes(task))


def _nodes_of(message: ExtendSession) -> float:
    """Return the number of nodes that a message carries, as far as it can be determined."""
    return nodes_in(message.graph[-1]) if message.graph else 0

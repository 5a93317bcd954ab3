"""The client graphs of one session: each is built once per run signature, registered once and released once.

Concurrent first runs of a signature share one registration, including its error. A graph that is evicted from
the cache is deregistered when the last step that uses it has ended. Owned by a ``SessionPlans``; imports the
plan cache and refs.

Invariants: What was registered at a worker is deregistered there, or is dropped with the session. A
registration belongs to the session's children and not to the run that started it, so cancelling that run
affects no other run. A registration that failed leaves no entry, so the next run tries again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import LocalRef, Ref, ask_without_withdrawing
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import AbortedError, OpError, first_error, from_exception
from actorsession.graph.function import size_of
from actorsession.messages.worker import DeregisterGraph, RegisterGraph
from actorsession.plan.plan_cache import CacheStatistics, PlanCache
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.task_debugger import TaskWatches
from actorsession.runtime.planning import LARGE, Planning
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.cluster.master.membership import Membership
    from actorsession.cluster.master.session_graph import SessionGraph
    from actorsession.cluster.master.step_observer import StepObserver

__all__ = ["ClientGraphs", "ask_to_drop"]

_log = logging.getLogger("actorsession.cluster")
# Seconds to wait until a worker has dropped a session or graph. One that does not answer does so when it reads on, or
# when it loses the link to the master.
_DROP = 2.0


class ClientGraphs:
    """Builds, registers and releases client graphs.

    Args:
        graph: builds the client graph of a signature; raises if the signature is invalid.
        membership: the session's tasks. Those of a graph that have not answered yet are waited for, and the
            graph is then built again, because more is known about the devices.
        planning: the planning of the session; large graphs are built and encoded there.
        children: the session's children, which own registrations and releases.
        observer: knows what nodes cost, and hears of graphs that are dropped; ``None`` for those of partial
            runs, which are not observed.
    """

    def __init__(
        self,
        graph: SessionGraph,
        membership: Membership,
        planning: Planning,
        children: Children,
        observer: StepObserver | None,
    ) -> None:
        self._graph = graph
        self._build = graph.build_partial if observer is None else graph.build
        self._membership = membership
        self._planning = planning
        self._children = children
        self._observer = observer
        self._now = current_host().clock.monotonic
        self._handle = membership.cluster.handle
        self._workers = membership.members.workers
        self._making: dict[RunSignature, asyncio.Future[ClientGraph]] = {}
        self._awaited: Counter[tuple[str, ...]] = Counter()  # tasks that builds wait for
        self._cache: PlanCache[ClientGraph] = PlanCache(
            membership.cluster.config.plan_cache_size, self._evicted, lambda graph: graph.last_used
        )

    @property
    def registering(self) -> tuple[tuple[str, ...], ...]:
        """For each graph whose registration has not ended, the tasks that have partitions of it."""
        kept = self._cache.plans()
        graphs = [g for g in kept if g.registration is not None and not g.registration.done()]
        return (*self._awaited, *[tuple([part.task for part in graph.parts]) for graph in graphs])

    def cache_statistics(self) -> CacheStatistics:
        """Return the counters of the cache."""
        return self._cache.statistics()

    def ready(self, signature: RunSignature) -> ClientGraph | None:
        """Return the client graph of a signature, if it is registered."""
        graph = self._cache.get(signature)
        if graph is None or not graph.registered:
            return None
        self.touch(graph)
        return graph

    def touch(self, graph: ClientGraph) -> None:
        """Record that a graph is used, so that others are evicted before it."""
        graph.last_used = self._now()

    async def acquire(self, signature: RunSignature, deadline: Deadline) -> ClientGraph:
        """Return the registered client graph of a signature; the caller must ``release`` it.

        Raises:
            InvalidArgumentError: if the signature does not fit the session's graph.
            DeadlineExceededError: if the registration takes too long; it continues for other callers.
            OpError: if a worker refused the registration or could not be reached.
        """
        while (graph := self._cache.get(signature)) is None:
            if self._planning.must_wait(self._graph.size + signature.size):
                making = asyncio.shield(self._make(signature.sorted()))
                planned = await deadline.wait(making, what=f"the plan of a step, {signature}")
                await self._has_waited(planned, deadline)
                # The graph enters the cache in the next iteration of the event loop at the latest. By now it
                # may also have been evicted again, or may have to be rebuilt.
                await asyncio.sleep(0)
                continue
            planned = self._build(signature.sorted())
            if not await self._has_waited(planned, deadline):
                graph = self._enter(planned)
                break
        self.hold(graph)
        try:
            assert graph.registration is not None
            what = f"the registration of {signature} at {', '.join(p.task for p in graph.parts)}"
            await deadline.wait(asyncio.shield(graph.registration), what=what)
        except BaseException:
            self.release(graph)
            raise
        return graph

    async def _has_waited(self, graph: ClientGraph, deadline: Deadline) -> bool:
        """Wait for the absent tasks of a graph; return whether there were any, so that it must be rebuilt."""
        tasks = tuple([part.task for part in graph.parts])
        self._awaited[tasks] += 1
        try:
            return await self._membership.bring_in(tasks, deadline)
        finally:
            self._awaited[tasks] -= 1
            self._awaited += Counter()  # without those that are 0

    def _make(self, signature: RunSignature) -> asyncio.Future[ClientGraph]:
        """Build a large graph in a worker thread, once for all waiters.

        Its registration starts at once, even if no caller waits any longer, unless it needs a task that was
        absent.
        """
        making = self._making.get(signature)
        if making is None:
            making = self._planning.start(lambda: self._build(signature))
            self._making[signature] = making
            making.add_done_callback(lambda future: self._made(signature, future))
        return making

    def _made(self, signature: RunSignature, future: asyncio.Future[ClientGraph]) -> None:
        del self._making[signature]
        if not future.cancelled() and future.exception() is None and not future.result().absent:
            with contextlib.suppress(AbortedError):  # the session is closing
                self._enter(future.result())

    def _enter(self, graph: ClientGraph) -> ClientGraph:
        """Cache a graph and start its registration, or return the cached graph of the same signature."""
        kept = self._cache.get(graph.signature)
        if kept is not None:
            return kept
        graph.registration = self._children.start(
            self._register(graph), name=f"register {graph.signature}", awaited=True
        )
        # All waiters may have been cancelled by the time it fails.
        graph.registration.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._cache.put(graph.signature, graph)

    def hold(self, graph: ClientGraph) -> None:
        """Count one more user."""
        graph.users += 1
        graph.last_used = self._now()

    def release(self, graph: ClientGraph) -> None:
        """Decrement the user count; the last release of an evicted graph deregisters it."""
        graph.users -= 1
        if graph.dropped and not graph.users:
            self.drop(graph)

    def forget(self, tasks: Collection[str]) -> None:
        """Drop the graphs that have partitions on any of ``tasks``, which have left or restarted."""

        def is_stale(graph: ClientGraph) -> bool:
            return any(part.task in tasks for part in graph.parts)

        for graph in self._cache.discard_if(is_stale):
            self._evicted(graph)

    # -- registration --------------------------------------------------------------------------

    async def _register(self, graph: ClientGraph) -> None:
        watches = () if graph.survey is None else graph.survey.tasks
        parts = itertools.zip_longest(graph.parts, watches)
        outcomes = await asyncio.gather(*[self._register_part(*part, graph) for part in parts], return_exceptions=True)
        error = first_error([from_exception(o) for o in outcomes if isinstance(o, Exception)])
        if error is None:
            graph.registered = True
            if graph.dropped and not graph.users:
                await self._deregister(graph)
            return
        if self._cache.get(graph.signature) is graph:
            self._cache.discard(graph.signature)
        await self._deregister(graph)
        raise error

    async def _register_part(self, part: TaskPart, watches: TaskWatches | None, graph: ClientGraph) -> None:
        deadline = Deadline.after(CONNECT_TIMEOUT)
        try:
            partitions = await self._encoded(part)
            message = RegisterGraph(
                session_handle=self._handle,
                partitions=partitions,
                costs={} if self._observer is None else self._observer.costs(part),
                group_scope=graph.group_scope,
                group_leader=self._group_leader(graph),
                collective_graph_key=graph.signature.collective_graph_key,
                debug_options=[] if watches is None else watches.to_wire(),
            )
            await self._membership.members.renew(part.task, deadline)
            answer = await self._workers[part.task].ask(message, deadline)
        except OpError as error:
            raise error.locate(task=part.task) from error.__cause__
        part.graph_handle, part.program = answer.graph_handle, answer.program

    def _group_leader(self, graph: ClientGraph) -> str:
        """Return the task that leads the scope of a graph's groups."""
        shared = graph.signature.collective_graph_key
        return self._membership.cluster.group_leader() if shared else graph.parts[0].task

    async def _encoded(self, part: TaskPart) -> list[Any]:
        """Return the partitions of a task in wire form; large ones are encoded in a worker thread."""
        # A worker in this process receives them unpacked.
        pack = not isinstance(self._workers[part.task], LocalRef)
        sizes = [size_of(p.nodes) for p in part.partitions]
        if sum(sizes) <= LARGE:
            return [p.to_wire() for p in part.partitions]
        sized = list(zip(part.partitions, sizes, strict=True))
        return await self._planning.run(lambda: [p.to_wire(pack=pack and size > LARGE) for p, size in sized])

    def _evicted(self, graph: ClientGraph) -> None:
        graph.dropped = True
        programs, graph.programs = graph.programs, []
        for program in programs:
            program.unbind()
        if not graph.users:
            self.drop(graph)

    def drop(self, graph: ClientGraph) -> None:
        """Deregister a graph that was evicted and has no users."""
        if self._observer is not None:
            self._observer.forget(graph)
        if graph.registration is not None and not graph.registration.done():
            return  # deregistered when the registration ends
        try:
            _ = self._children.start(self._deregister(graph), name="deregister a client graph")
        except AbortedError:
            return  # the session is closing and drops all its graphs

    async def _deregister(self, graph: ClientGraph) -> None:
        async with asyncio.TaskGroup() as group:
            for part in graph.parts:
                if part.graph_handle:
                    message = DeregisterGraph(session_handle=self._handle, graph_handle=part.graph_handle)
                    group.create_task(ask_to_drop(self._workers[part.task], message), name=f"drop {part.task}")


async def ask_to_drop(worker: Ref, message: object, deadline: Deadline = NEVER) -> None:
    """Ask a worker to drop something, and wait for that in bounded time, until a deadline at most."""
    try:
        await ask_without_withdrawing(worker, message, deadline.within(_DROP).time_left or 0.0)
    except OpError as error:
        _log.debug("%s did not take %s: %s", worker.name, type(message).__name__, error)

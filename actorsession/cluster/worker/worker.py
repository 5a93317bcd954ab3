"""The worker of a task: its devices, its sessions, and the tensors that are sent and received.

``Worker`` is an actor. Requests for one session are submitted directly to the actor of that session, and
pushes are put directly into the rendezvous table. The session manager keeps the sessions. Sessions that an
earlier incarnation of a master left here are dropped, and so are those of a master whose link is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from actorsession.actors.actor import Actor, answers, handles, routes
from actorsession.actors.context import CallContext
from actorsession.cluster.last_steps import read_steps
from actorsession.cluster.wait_graphs import own_wait_graph
from actorsession.cluster.worker.collective_groups import TaskGroups, complete_group
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.rpc_log import RpcLog
from actorsession.cluster.worker.session_mgr import SessionMgr, WorkerCounts
from actorsession.cluster.worker.stalled_sends import MissingTensorProbe
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.cluster.worker.worker_session import BindPart, BindRendezvous, WorkerSession
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.errors import AbortedError, CancelledError, OpError, ProtocolError, error_from_wire, from_exception
from actorsession.messages.done import Done
from actorsession.messages.server import ReadSteps, StepsRead
from actorsession.messages.worker import (
    AskOwed,
    AskVariables,
    AskWhy,
    CleanupAll,
    CleanupGraph,
    ClockRead,
    CompleteGroup,
    CreateWorkerSession,
    DeleteWorkerSession,
    DeregisterGraph,
    EndGroup,
    GetStatus,
    GroupCompleted,
    LoggingReply,
    LoggingRequest,
    ReadClock,
    RegisterGraph,
    TakeWatchedValues,
    UpdateCluster,
    UpdateWorkerSession,
    ValuesLost,
    WorkerStatus,
    WorkerWhy,
)
from actorsession.rpc.pushes import PushTimes
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.inspection import HeldState
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step_log import MOST_TRANSFERS, NBYTES, NOTHING, ErrorLog, StepLog
from actorsession.runtime.wait_graph import MasterWaits
from transports.host import current_host

__all__ = ["Worker", "WorkerServer"]

_log = logging.getLogger("actorsession.cluster")


class WorkerServer(Protocol):
    """The server of a worker, as its worker sees it.

    Attributes:
        task: its task.
        incarnation: the incarnation of the task.
        restored: the snapshot that the variables were restored from, in wire form.
    """

    task: str
    incarnation: int
    restored: dict[str, Any] | None
    group_host: str
    """See ``WorkerEnv.host``."""

    def counters(self) -> dict[str, Any]:
        """Return the counters of the server in wire form."""

    def learn_tasks(self, tasks: Mapping[str, str], given_up: Sequence[str]) -> None:
        """Register the tasks of the cluster; see ``ClusterView.learn_tasks``."""

    def master_waits(self, most: int) -> list[MasterWaits]:
        """Return what the sessions of the server's master wait for, with at most so many steps of each."""


class Worker(Actor):
    """The actor that runs partitions for the masters of a cluster.

    Args:
        server: the server.
        devices: the devices of the task.
        workers: the other tasks.
        pool: threads for kernels.
        errors: keeps the last errors.
        step_log: keeps the last steps; ``None`` to keep none.
    """

    def __init__(
        self,
        server: WorkerServer,
        devices: tuple[Device, ...],
        workers: WorkerCacheInterface,
        pool: KernelPool | None,
        errors: ErrorLog | None = None,
        step_log: StepLog | None = None,
    ) -> None:
        super().__init__(f"worker {server.task}")
        self._server = server
        self._workers = workers
        self._closing = False
        executors = {d.name: Executor(d) for d in devices}
        self._log = RpcLog()
        self._table = table = RendezvousTable(server.task, workers, self._log, keeps=step_log is not None)
        self._step_log = step_log
        if step_log is not None:
            step_log.running.append(table.parts)
        groups = TaskGroups(table)
        self._env = WorkerEnv(
            server.task,
            devices,
            executors,
            table,
            workers,
            pool,
            groups,
            server.group_host,
            log=self._log,
            step_log=step_log,
            errors=errors or ErrorLog(server.task),
        )
        self._sessions = SessionMgr(self._env)
        incarnations = [d.attributes.incarnation for d in devices]
        self._probe = MissingTensorProbe(table, incarnations, workers, self._sessions.give_up)
        self._probing: asyncio.Task[None] | None = None
        self._unwatch: dict[str, Callable[[], None]] = {}  # the links of the sessions' masters

    # -- messages ------------------------------------------------------------------------------

    @routes(BindPart, RegisterGraph, BindRendezvous, AskVariables, TakeWatchedValues, by="session_handle")
    def _session(self, handle: str) -> WorkerSession:
        return self._sessions.find(handle)

    @answers(GetStatus)
    def on_get_status(self, message: GetStatus, call: CallContext) -> WorkerStatus:
        """Return the identity, the devices and the counters of this worker."""
        return WorkerStatus(
            task=self._env.task,
            incarnation=self._server.incarnation,
            devices=[d.attributes.to_wire() for d in self._env.devices],
            statistics=self._server.counters(),
            restored=self._server.restored,
        )

    @answers(ReadClock, direct=True)
    def on_read_clock(self, message: ReadClock, call: CallContext) -> ClockRead:
        """Return the time of the clock that steps here are traced by."""
        return ClockRead(now=current_host().clock.time())

    @answers(AskWhy, direct=True)
    def on_why(self, message: AskWhy, call: CallContext) -> WorkerWhy:
        """Return what the steps here wait for, without waiting for any of them.

        Direct, so that it is answered however full the mailbox is.
        """
        masters = self._server.master_waits(message.most)
        sessions, table = self._sessions.sessions, self._env.rendezvous
        waits = own_wait_graph(message, self._env.task, sessions, table, masters, self._env.pool)
        return WorkerWhy(waits=waits.to_wire())

    @answers(ReadSteps, direct=True)
    def on_read_steps(self, message: ReadSteps, call: CallContext) -> StepsRead:
        """Return what is remembered of steps here, to a master that puts it together with that of others."""
        return read_steps(self._step_log, message, self._server.task)

    @answers(UpdateCluster)
    def on_update_cluster(self, message: UpdateCluster, call: CallContext) -> Done:
        """Register the current tasks of the cluster."""
        self._server.learn_tasks(message.cluster, message.given_up)
        return Done()

    @answers(AskOwed)
    def on_ask_owed(self, message: AskOwed, call: CallContext) -> Done:
        """Report to the sender the values that will not arrive any more.

        Raises:
            AbortedError: if the session whose links the report would take is not open here.
        """
        self._probe.answer(message, self._sessions.find(message.session_handle).workers)
        return Done()

    @handles(ValuesLost, direct=True)
    def on_values_lost(self, message: ValuesLost, call: CallContext) -> None:
        """Fail a step that still waits for values of a task that will send nothing more."""
        self._probe.values_lost(message)

    # -- groups of collectives -----------------------------------------------------------------

    @answers(CompleteGroup, direct=True)
    def on_complete_group(self, message: CompleteGroup, call: CallContext) -> asyncio.Future[GroupCompleted]:
        """Answer a member of a group that this task leads when all have joined."""
        table = self._env.groups.led(message.scope)
        if table is None:
            raise AbortedError(
                f"{self._env.task} leads no groups of {message.scope!r}: the graph was released or the "
                "worker restarted",
                task=self._env.task,
            )
        return complete_group(table, message)

    @handles(EndGroup, direct=True)
    def on_end_group(self, message: EndGroup, call: CallContext) -> None:
        """End a group in which steps of several sessions meet; the next steps form it anew."""
        try:
            self._env.groups.end(message)
        except ProtocolError as exc:
            _log.warning("group %d: an end by %s: %s", message.group, call.peer, exc)

    # -- sessions ------------------------------------------------------------------------------

    @answers(CreateWorkerSession)
    async def on_create_session(self, message: CreateWorkerSession, call: CallContext) -> Done:
        """Open this worker's side of a session."""
        handle = message.session_handle
        stale = self._sessions.create(message)
        if self._probing is None:
            watching = self._probe.watch(self.children)
            self._probing = self.children.start(watching, name="look for missing tensors")
        if not message.task:
            self._workers.learn_from_session(message.peers)
        _log.info("%s works for session %s of %s", self._env.task, handle, message.master_task)
        session = self._sessions.find(handle)
        self._unwatch[handle] = call.on_gone(lambda: self._collect(handle, session))
        for old in stale:
            _log.info("dropping session %s of an earlier life of %s", old, message.master_task)
        error = AbortedError(f"the master {message.master_task} restarted")
        dropping = [self._start_to_drop(old, error) for old in stale]
        if dropping:
            await asyncio.wait(dropping)
        return Done()

    @answers(UpdateWorkerSession)
    def on_update_session(self, message: UpdateWorkerSession, call: CallContext) -> Done:
        """Apply a change of a session's tasks or devices, some of which have joined, moved or left."""
        graphs = self._sessions.find(message.session_handle).graphs
        graphs.learn_devices(message.cluster_device_attributes)
        if not self._sessions.update(message.session_handle, message.peers, message.removed):
            self._workers.learn_from_session(message.peers)
        return Done()

    @answers(DeleteWorkerSession, completes=True)
    async def on_delete_session(self, message: DeleteWorkerSession, call: CallContext) -> Done:
        """Close this worker's side of a session; an unknown session is not an error."""
        error = CancelledError("Session has been closed.")
        await self._drop(message.session_handle, error)
        return Done()

    def _collect(self, handle: str, session: WorkerSession) -> None:
        """Drop a session whose master cannot reach it any more, unless it has been opened anew since."""
        there = handle in self._sessions and self._sessions.find(handle) is session
        if there and not self._closing:
            _log.info("dropping session %s: its master is gone", handle)
            _ = self._start_to_drop(handle, AbortedError("the master of the session is gone"))

    def _start_to_drop(self, handle: str, error: OpError) -> asyncio.Task[None]:
        """Drop a session in a child of its own, which no caller cancels."""
        return self.children.start(self._drop(handle, error), name=f"drop {handle}")

    async def _drop(self, handle: str, error: OpError) -> None:
        session = self._sessions.remove(handle)
        # The link may exist much longer than the session.
        self._unwatch.pop(handle, _nothing)()
        if session is not None:
            await session.aclose(error)

    @answers(DeregisterGraph, completes=True)
    def on_deregister_graph(self, message: DeregisterGraph, call: CallContext) -> Any:
        """Pass the request to its session; a session that is gone has released everything."""
        handle = message.session_handle
        if handle and handle not in self._sessions:
            return Done()
        return self._sessions.find(handle).submit(message, call)

    # -- steps ---------------------------------------------------------------------------------

    def take_push(
        self,
        peer: str,
        step_id: int,
        keys: Sequence[str],
        values: Sequence[Any],
        dead: Sequence[bool],
        times: PushTimes | None = None,
    ) -> None:
        """See ``PushReceiver.take_push``."""
        self.tells += 1
        if self._closing:
            return
        if self._log.enabled:
            self._log.note(step_id, "PushTensors", peer, values)
        rendezvous = self._table.steps.get(step_id)
        seen = None if rendezvous is None else rendezvous.seen
        try:
            # The step may end as the values are stored, but only if it has begun.
            if times is not None and rendezvous is not None:
                rendezvous.note(keys, times)
            if rendezvous is None:
                self._table.push(step_id, keys, values, dead)
                if times is not None and (rendezvous := self._table.steps.get(step_id)) is not None:
                    rendezvous.note(keys, times)
            elif seen is None:
                rendezvous.receive(keys, values, dead)
            else:
                came = current_host().clock.monotonic()
                if len(seen) < MOST_TRANSFERS:
                    seen.append((came, "recv", tuple(keys), tuple(map(getattr, values, NBYTES, NOTHING))))
                else:
                    rendezvous.left_out += 1
                if rendezvous.paused:
                    rendezvous.entered = came
                    rendezvous.receive(keys, values, dead)
                    rendezvous.worked += current_host().clock.monotonic() - came
                    rendezvous.entered = 0.0
                else:
                    rendezvous.receive(keys, values, dead)
        except Exception as exc:  # such as a malformed key
            _log.warning("step %d: a push of %s: %s", step_id, peer, exc)
            self._sessions.give_up(step_id, from_exception(exc))

    @handles(CleanupGraph)
    def on_cleanup_graph(self, message: CleanupGraph, call: CallContext) -> Done:
        """End a step that failed elsewhere, or settle what a step that has run here has taken."""
        error: OpError | None = None
        if message.error is not None:
            try:
                error = error_from_wire(message.error)
            except ProtocolError as exc:
                error = exc
        taken = message.handed_out
        for session in self._sessions.sessions if message.settles else ():
            try:
                session.steps.settle(message.step_id, error, ran=message.ran, handed_out=taken)
            except Exception:  # it would end the worker, which other sessions and steps use
                _log.exception("step %d: what it has taken is not put back", message.step_id)
        over = error or CancelledError("the step is over", derived=True)
        self._sessions.give_up(message.step_id, over, taken)
        return Done()

    @answers(CleanupAll)
    def on_cleanup_all(self, message: CleanupAll, call: CallContext) -> Done:
        """Clear resource containers."""
        for device in self._env.devices:
            device.resources.clear(message.containers)
        return Done()

    @answers(LoggingRequest)
    def on_logging_request(self, message: LoggingRequest, call: CallContext) -> LoggingReply:
        """Switch the message log on or off, return its events, or clear it."""
        if message.enable is not None:
            self._log.enabled = message.enable
        events = self._log.events(message.steps) if message.fetch else []
        if message.clear:
            self._log.clear()
        return LoggingReply(enabled=self._log.enabled, events=[e.to_wire() for e in events])

    async def aclose(self, why: OpError) -> None:
        """End all sessions and executors."""
        self._closing = True
        await self.stop(why)
        for handle in self._sessions.handles:
            await self._drop(handle, why)
        await self._sessions.find("").aclose(why)
        for executor in self._env.executors.values():
            await executor.stop(why)

    @property
    def running(self) -> int:
        """The number of steps that run here; costs less than all counters."""
        return self._sessions.running

    def counts(self) -> WorkerCounts:
        """Return the counters of this worker."""
        return self._sessions.counts()

    def held_state(self) -> Iterator[HeldState]:
        """Yield the state of the devices and of the sessions here."""
        return self._sessions.held_state()


def _nothing() -> None:
    """Do nothing; the default for a callback that was never registered."""

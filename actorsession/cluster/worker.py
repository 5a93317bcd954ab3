"""The worker of a task: its devices, its sessions, and the tensors that come and go.

An actor. Calls that name a session go straight to that session's actor; pushes go straight into the
rendezvous table. It keeps master sessions apart by (master task, incarnation): a master that restarted
comes back with another incarnation, and what its earlier life left here is dropped. So is what belongs to
a master whose link is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import LOCAL_TELL, CallContext
from actorsession.cluster.worker_rendezvous import Push, RendezvousTable
from actorsession.cluster.worker_session import WorkerParts, WorkerSession
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    error_from_wire,
    from_exception,
)  # fmt: skip
from actorsession.messages.done import Done
from actorsession.messages.worker import (
    CleanupAll,
    CleanupGraph,
    CreateWorkerSession,
    DeleteWorkerSession,
    DeregisterGraph,
    GetStatus,
    PushTensors,
    RegisterGraph,
    RunGraph,
    WorkerStatus,
)  # fmt: skip
from actorsession.runtime.devices import Device
from actorsession.runtime.executor import Executor
from actorsession.runtime.kernel_pool import KernelPool

__all__ = ["Worker"]

_log = logging.getLogger("actorsession.cluster")
_OF_SESSIONS = frozenset({RunGraph, RegisterGraph})


class Worker(Actor):
    """Runs partitions for the masters of a cluster.

    Args:
        task: its task name.
        incarnation: of this life of the task.
        devices: its devices.
        push: delivers a message to the worker of another task.
        learn_peers: takes in the addresses of other tasks.
        statistics: the counters of the server in wire form.
        pool: threads for kernels.
    """

    def __init__(
        self,
        task: str,
        incarnation: int,
        devices: tuple[Device, ...],
        push: Push,
        learn_peers: Callable[[dict[str, str]], None],
        statistics: Callable[[], dict[str, Any]],
        pool: KernelPool | None,
    ) -> None:
        super().__init__(f"worker {task}")
        self._incarnation = incarnation
        self._learn_peers = learn_peers
        self._statistics = statistics
        self._closing = False
        executors = {d.name: Executor(d) for d in devices}
        self._parts = WorkerParts(task, devices, executors, RendezvousTable(task, push), pool)
        self._sessions: dict[str, WorkerSession] = {}
        self._of_master: dict[str, tuple[int, set[str]]] = {}

    # -- messages ------------------------------------------------------------------------------

    def submit(self, message: Any, context: CallContext) -> Any:
        """Asks; what concerns one session goes straight to that session's actor."""
        if type(message) in _OF_SESSIONS:
            return self._session(message.session_handle).submit(message, context)
        return super().submit(message, context)

    def deliver(
        self, message: Any, context: CallContext = LOCAL_TELL, *, posted: bool = False
    ) -> None:
        """Tells; refuses what must be asked, because a failing tell would fail the actor.

        Pushes go past the mailbox: there is one for each hop of a step, and they never fail or wait.
        """
        if type(message) is PushTensors:
            self._take_push(message, context)
        elif type(message) is CleanupGraph:
            super().deliver(message, context, posted=posted)
        else:
            raise self.unimplemented(message)

    @handles(GetStatus)
    def on_get_status(self, message: GetStatus, call: CallContext) -> WorkerStatus:
        """Says who this is, and what it counts."""
        return WorkerStatus(
            task=self._parts.task,
            incarnation=self._incarnation,
            devices=[d.attributes.to_wire() for d in self._parts.devices],
            statistics=self._statistics(),
        )

    # -- sessions ------------------------------------------------------------------------------

    @handles(CreateWorkerSession)
    async def on_create_session(self, message: CreateWorkerSession, call: CallContext) -> Done:
        """Opens this worker's side of a session."""
        handle = message.session_handle
        if not handle:
            raise InvalidArgumentError("a worker session needs a session handle, got an empty one")
        if handle in self._sessions:
            raise InvalidArgumentError(f"worker session {handle!r} exists already")
        stale = self._stale(message.master_task, message.master_incarnation)
        self._learn_peers(message.peers)
        isolated = message.isolate_session_state
        self._sessions[handle] = WorkerSession(handle, self._parts, isolated=isolated)
        self._of_master[message.master_task][1].add(handle)
        call.on_gone(lambda: self._collect(handle))
        for old in stale:
            _log.info("dropping session %s of an earlier life of %s", old, message.master_task)
            await self._drop(old, AbortedError(f"the master {message.master_task} restarted"))
        return Done()

    def _stale(self, master: str, incarnation: int) -> list[str]:
        """The sessions that an earlier life of a master left here."""
        known, handles_ = self._of_master.get(master, (incarnation, set()))
        if known == incarnation:
            self._of_master[master] = (incarnation, handles_)
            return []
        self._of_master[master] = (incarnation, set())
        return sorted(handles_)

    @handles(DeleteWorkerSession)
    async def on_delete_session(self, message: DeleteWorkerSession, call: CallContext) -> Done:
        """Closes this worker's side of a session; an unknown one is fine."""
        await self._drop(message.session_handle, CancelledError("Session has been closed."))
        return Done()

    def _collect(self, handle: str) -> None:
        """Drops a session whose master cannot reach it any more."""
        if handle in self._sessions and not self._closing:
            _log.info("dropping session %s: its master is gone", handle)
            dropping = self._drop(handle, AbortedError("the master of the session is gone"))
            _ = self.children.start(dropping, name=f"drop {handle}")

    async def _drop(self, handle: str, error: OpError) -> None:
        session = self._sessions.pop(handle, None)
        for _, sessions in self._of_master.values():
            sessions.discard(handle)
        if session is not None:
            await session.aclose(error)

    def _session(self, handle: str) -> WorkerSession:
        session = self._sessions.get(handle)
        if session is None:
            raise AbortedError(
                f"Session handle {handle!r} is not found on {self._parts.task}: the session was closed "
                "or the worker restarted",
                task=self._parts.task,
            )
        return session

    @handles(DeregisterGraph)
    def on_deregister_graph(self, message: DeregisterGraph, call: CallContext) -> Any:
        """Hands the release to its session; a session that is gone has released everything."""
        session = self._sessions.get(message.session_handle)
        return Done() if session is None else session.submit(message, call)

    # -- steps ---------------------------------------------------------------------------------

    def _take_push(self, message: PushTensors, call: CallContext) -> None:
        """Takes in tensors from another worker; those that make no sense fail their step."""
        if self._closing:
            return
        try:
            self._parts.rendezvous.push(message)
        except Exception as exc:
            _log.warning("step %d: a push of %s: %s", message.step_id, call.peer, exc)
            self._give_up(message.step_id, from_exception(exc))

    @handles(CleanupGraph)
    def on_cleanup_graph(self, message: CleanupGraph, call: CallContext) -> Done:
        """Ends a step that failed elsewhere."""
        error: OpError = CancelledError("the step is over", derived=True)
        if message.error is not None:
            try:
                error = error_from_wire(message.error)
            except ProtocolError as exc:
                error = exc
        self._give_up(message.step_id, error)
        return Done()

    def _give_up(self, step_id: int, error: OpError) -> None:
        for session in self._sessions.values():
            session.give_up(step_id, error)
        self._parts.rendezvous.end(step_id, error)

    @handles(CleanupAll)
    def on_cleanup_all(self, message: CleanupAll, call: CallContext) -> Done:
        """Clears resource containers."""
        for device in self._parts.devices:
            device.resources.clear(message.containers)
        return Done()

    async def aclose(self, why: str) -> None:
        """Ends all sessions and executors."""
        self._closing = True
        await self.stop(why)
        for handle in list(self._sessions):
            await self._drop(handle, CancelledError(why))
        for executor in self._parts.executors.values():
            await executor.stop(why)

    # -- counters ------------------------------------------------------------------------------

    @property
    def sessions(self) -> int:
        """How many sessions have a side here."""
        return len(self._sessions)

    @property
    def graphs(self) -> int:
        """How many graphs are registered."""
        return sum(s.graphs for s in self._sessions.values())

    @property
    def running(self) -> int:
        """How many steps run here."""
        return sum(s.running for s in self._sessions.values())

    @property
    def runs(self) -> int:
        """How many steps were begun here so far."""
        return self._parts.counters.runs

    @property
    def pending_rendezvous(self) -> int:
        """How many steps have a rendezvous here."""
        return len(self._parts.rendezvous)

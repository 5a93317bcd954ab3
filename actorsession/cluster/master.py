"""The master of a server: sessions of clients, and the devices they may use.

An actor. Creating a session asks every task of the cluster who it is, makes the device set (this task's
first CPU is the client device) and a MasterSession, which is an actor of its own; calls that name a
session are handed to it. A session dies with the connection of the client that made it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.device_finder import find_tasks
from actorsession.cluster.master_session import MasterSession
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, OpError
from actorsession.graph.node import GraphDef
from actorsession.messages.done import Done
from actorsession.messages.session import (
    CloseSession,
    CreateSession,
    ExtendSession,
    ListDevices,
    ResetContainers,
    RunStep,
    SessionCreated,
)  # fmt: skip
from actorsession.messages.worker import CleanupAll
from actorsession.plan.place import DeviceSet

__all__ = ["Master"]

_log = logging.getLogger("actorsession.cluster")
# Seconds kept back of a client's limit to tell it why nothing came of its call.
_TELL_MARGIN = 0.25


class Master(Actor):
    """Creates and finds the sessions of clients.

    Args:
        task: this server's task.
        incarnation: of this life of it.
        addresses: of all tasks of the cluster; read anew for each session.
        worker: from a task to its worker's ref.
    """

    def __init__(
        self,
        task: str,
        incarnation: int,
        addresses: Callable[[], Mapping[str, str]],
        worker: Callable[[str, Deadline], Awaitable[Ref]],
    ) -> None:
        super().__init__(f"master {task}")
        self._task = task
        self._incarnation = incarnation
        self._addresses = addresses
        self._worker = worker
        self._sessions: dict[str, MasterSession] = {}

    @handles(CreateSession)
    async def on_create_session(self, message: CreateSession, call: CallContext) -> SessionCreated:
        """Creates a session once every task of the cluster has answered."""
        graph = GraphDef.from_wire(message.graph)
        config = ConfigProto.from_wire(message.config)
        addresses = dict(self._addresses())
        found = await find_tasks(addresses, self._worker, _sooner(call.deadline))
        devices = [d for t in found for d in t.devices]
        client = next(d.name for d in devices if d.task == self._task and d.device_type == "CPU")
        workers = {t.task: await self._worker(t.task, call.deadline) for t in found}
        handle = secrets.token_hex(8)
        session = MasterSession(handle, config, DeviceSet(devices, client), workers)
        try:
            version = session.extend(graph)
            await session.create_worker_sessions(
                self._task, self._incarnation, addresses, call.deadline
            )
        except BaseException:
            await session.close("the session could not be created")
            raise
        self._sessions[handle] = session
        call.on_gone(lambda: self._collect(handle))
        return SessionCreated(session_handle=handle, graph_version=version)

    def _collect(self, handle: str) -> None:
        """Closes a session whose client is gone."""
        session = self._sessions.pop(handle, None)
        if session is not None:
            _log.info("closing session %s: its client is gone", handle)
            _ = self.children.start(session.close("its client is gone"), name=f"collect {handle}")

    def _session(self, handle: str) -> MasterSession:
        session = self._sessions.get(handle)
        if session is None:
            raise AbortedError(
                f"session {handle!r} is not known to the master {self._task}: it was closed, or the "
                "master restarted",
                task=self._task,
            )
        return session

    @handles(RunStep, ExtendSession, ListDevices)
    def on_session_message(self, message: Any, call: CallContext) -> Any:
        """Hands a call to the session that it names."""
        return self._session(message.session_handle).submit(message, call)

    @handles(CloseSession)
    async def on_close_session(self, message: CloseSession, call: CallContext) -> Done:
        """Closes a session, cancelling its steps; one that is closed already is fine."""
        session = self._sessions.pop(message.session_handle, None)
        if session is not None:
            await session.close("Session has been closed.")
        return Done()

    @handles(ResetContainers)
    async def on_reset(self, message: ResetContainers, call: CallContext) -> Done:
        """Closes every session and clears containers on all tasks that answer."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close("the master was reset")
        for task in self._addresses():
            try:
                worker = await self._worker(task, call.deadline)
                await worker.ask(CleanupAll(containers=message.containers), call.deadline)
            except OpError as error:
                _log.warning("containers of %s were not cleared: %s", task, error)
        return Done()

    async def aclose(self, why: str) -> None:
        """Closes all sessions and stops."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close(why)
        await self.stop(why)

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)


def _sooner(deadline: Deadline) -> Deadline:
    """A moment before the client stops listening, so that it still hears who is missing."""
    left = deadline.time_left
    return deadline if left is None else Deadline.after(left - min(_TELL_MARGIN, left / 4))

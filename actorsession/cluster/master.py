"""The master of a server: sessions of clients, and the devices they may use.

An actor. Creating a session asks every task of the cluster who it is, makes the device set (this task's
first CPU is the client device) and a MasterSession, which is an actor of its own; calls that name a
session go straight to it. A session dies with the connection of the client that made it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import LOCAL_TELL, CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.device_finder import FoundTask, find_tasks
from actorsession.cluster.master_session import MasterSession
from actorsession.cluster.recent_requests import RecentRequests
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
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.session.placement_log import log_devices
from actorsession.session.remote_settings import refuse_local_settings

__all__ = ["Master"]

_log = logging.getLogger("actorsession.cluster")
# Seconds kept back of a client's limit to tell it why nothing came of its call.
_TELL_MARGIN = 0.25
_OF_SESSIONS = frozenset({RunStep, ExtendSession, ListDevices})


class Master(Actor):
    """Creates and finds the sessions of clients.

    Args:
        task: this server's task.
        incarnation: of this life of it.
        addresses: of all tasks of the cluster; read anew for each session.
        worker: from a task, and the life of it that is meant, to its worker's ref.
    """

    def __init__(
        self,
        task: str,
        incarnation: int,
        addresses: Callable[[], Mapping[str, str]],
        worker: Callable[[str, int | None], Ref],
    ) -> None:
        super().__init__(f"master {task}")
        self._task = task
        self._incarnation = incarnation
        self._addresses = addresses
        self._worker = worker
        self._sessions: dict[str, MasterSession] = {}
        self._requests = RecentRequests()
        self._closing = False

    # -- messages ------------------------------------------------------------------------------

    def submit(self, message: Any, context: CallContext) -> Any:
        """Asks; what concerns one session goes straight to that session's actor."""
        if type(message) in _OF_SESSIONS:
            return self._session(message.session_handle).submit(message, context)
        return super().submit(message, context)

    def deliver(
        self, message: Any, context: CallContext = LOCAL_TELL, *, posted: bool = False
    ) -> None:
        """Refuses every tell: a failing tell would fail the actor, and anyone may send one."""
        raise self.unimplemented(message)

    @handles(CreateSession)
    async def on_create_session(self, message: CreateSession, call: CallContext) -> SessionCreated:
        """Creates a session once every task that its device filters allow has answered."""
        self._requests.check(message.request_id)
        graph = GraphDef.from_wire(message.graph)
        config = ConfigProto.from_wire(message.config)
        refuse_local_settings(config)
        filters = DeviceFilters(config.device_filters)
        deadline = _sooner(call.deadline)
        # The master's own task is always part of its sessions.
        wanted = {
            task: address
            for task, address in self._addresses().items()
            if task == self._task or filters.allows(task)
        }
        found = await find_tasks(wanted, lambda task: self._worker(task, None), deadline)
        session = self._new_session(config, found, filters)
        try:
            version = session.extend(graph)
            await session.create_worker_sessions(
                self._task, self._incarnation, self._addresses(), deadline
            )
        except BaseException:
            await session.close("the session could not be created")
            raise
        self._sessions[session.handle] = session
        call.on_gone(lambda: self._collect(session.handle))
        return SessionCreated(session_handle=session.handle, graph_version=version)

    def _new_session(
        self, config: ConfigProto, found: Iterable[FoundTask], filters: DeviceFilters
    ) -> MasterSession:
        tasks = {task.task: task for task in found}
        devices = [
            device
            for task in tasks.values()
            for device in task.devices
            if task.task == self._task or filters.allows(device.name)
        ]
        if config.log_device_placement:
            log_devices(devices)
        client = next(d.name for d in tasks[self._task].devices if d.device_type == "CPU")
        workers = {name: self._worker(name, task.incarnation) for name, task in tasks.items()}
        return MasterSession(secrets.token_hex(8), config, DeviceSet(devices, client), workers)

    def _collect(self, handle: str) -> None:
        """Closes a session whose client is gone."""
        session = self._sessions.pop(handle, None)
        if session is not None and not self._closing:
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
        await self._close_all("the master was reset")
        deadline = _sooner(call.deadline)
        async with asyncio.TaskGroup() as group:
            for task in self._addresses():
                clearing = self._clear(task, message.containers, deadline)
                group.create_task(clearing, name=f"clear containers of {task}")
        return Done()

    async def _clear(self, task: str, containers: list[str], deadline: Deadline) -> None:
        try:
            await self._worker(task, None).ask(CleanupAll(containers=containers), deadline)
        except OpError as error:
            _log.warning("containers of %s were not cleared: %s", task, error)

    # -- the end -------------------------------------------------------------------------------

    async def aclose(self, why: str) -> None:
        """Stops, and closes all sessions at once."""
        self._closing = True
        await self.stop(why)
        await self._close_all(why)

    async def _close_all(self, why: str) -> None:
        sessions, self._sessions = self._sessions, {}
        async with asyncio.TaskGroup() as group:
            for session in sessions.values():
                group.create_task(session.close(why), name=f"close {session.handle}")

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)


def _sooner(deadline: Deadline) -> Deadline:
    """A moment before the client stops listening, so that it still hears who is missing."""
    left = deadline.time_left
    return deadline if left is None else Deadline.after(left - min(_TELL_MARGIN, left / 4))

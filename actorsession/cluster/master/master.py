"""The master of a server: the sessions of clients and the devices that they may use.

``Master`` is an actor. To create a session, it asks every task of the cluster for its status, builds the
device set (whose client device is the first CPU of the master's own task) and starts a ``MasterSession``. A
``MasterSession`` is an actor of its own: requests that carry a session handle are submitted to it directly. A
session is closed when the connection of the client that created it is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from dataclasses import replace
from typing import Any

from actorsession.actors.actor import Actor, answers, routes
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.cluster.master.creations import Creations
from actorsession.cluster.master.device_discovery import sooner
from actorsession.cluster.master.env import MasterEnv
from actorsession.cluster.master.master_session import MasterSession
from actorsession.cluster.master.program import Program
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.cluster.server.statistics import OpenSession
from actorsession.config import MAX_SERVER_STEPS, ConfigProto
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.errors import AbortedError, CancelledError, OpError, ProtocolError, UnavailableError
from actorsession.graph.function import nodes_in
from actorsession.graph.node import GraphDef
from actorsession.messages.done import Done
from actorsession.messages.registry import VOCABULARY
from actorsession.messages.session import (
    AskSessionSteps,
    AskSessionWhy,
    CloseSession,
    CreateSession,
    ExplainStep,
    ExtendSession,
    FindPlacement,
    ListDevices,
    PartialRunDrop,
    PrepareStep,
    ReattachSession,
    ResetContainers,
    SessionCreated,
    TakeStepValues,
    WaitForTasks,
)
from actorsession.messages.worker import CleanupAll
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.plan.plan_cache import NO_LOOKUPS, CacheStatistics
from actorsession.runtime.admission import Admission
from actorsession.runtime.inspection import GraphShown
from actorsession.runtime.planning import Planning
from actorsession.runtime.session_names import SessionNames
from actorsession.runtime.step_log import Whole
from actorsession.runtime.wait_graph import MasterWaits
from transports.host import current_host

__all__ = ["Master"]

_log = logging.getLogger("actorsession.cluster")

# Sessions that have ended, of which the reason is kept for requests that come later.
_ENDED = 1000


class Master(Actor):
    """The actor that creates sessions and routes requests to them.

    Args:
        env: the environment of this master: its task, its cluster and the workers.
        idle_limit: seconds without a request after which a session is closed; 0 for never.
        max_inflight_steps: limit on the steps of all sessions that run at the same time. When more are
            requested, the sessions take turns.
    """

    def __init__(self, env: MasterEnv, idle_limit: float = 0.0, max_inflight_steps: int = MAX_SERVER_STEPS) -> None:
        super().__init__(f"master {env.task}")
        self._env = env
        self._idle_limit = idle_limit
        self._admission = Admission(max_inflight_steps)
        self._alarm: asyncio.TimerHandle | None = None
        self._sessions: dict[str, MasterSession] = {}
        self._names: SessionNames[MasterSession] = SessionNames()
        self._creations = Creations(lambda created: created.session_handle in self._sessions)
        self._clients: Counter[str] = Counter()  # links over which each session was created
        self._ended: OrderedDict[str, OpError] = OrderedDict()  # why each of the last sessions ended
        self._closing: OpError | None = None
        self._cache_of_ended = NO_LOOKUPS
        if env.step_log is not None:
            env.step_log.running.append(self._under_way)

    def _under_way(self) -> list[Whole]:
        return [step for session in tuple(self._sessions.values()) for step in session.steps.under_way()]

    # -- messages ------------------------------------------------------------------------------

    @routes(
        PrepareStep,
        ExtendSession,
        ListDevices,
        FindPlacement,
        ExplainStep,
        ReattachSession,
        AskSessionSteps,
        AskSessionWhy,
        PartialRunDrop,
        TakeStepValues,
        WaitForTasks,
        by="session_handle",
    )
    def _session(self, handle: str) -> MasterSession:
        session = self._sessions.get(handle)
        if session is None:
            raise self._unknown(handle)
        session.steps.use()
        return session

    def _unknown(self, handle: str) -> OpError:
        """Return the error of a request for a session that is not open here."""
        why, task = self._ended.get(handle) or self._closing, self._env.task
        what = f"session {handle!r} is not known to the master {task}"
        if why is not None:
            return type(why)(f"{what} any more: {why.message}", task=task)
        return AbortedError(
            f"{what}: another process of the task has created it, which has ended since, or it is not among "
            f"the last {_ENDED} that have ended here",
            task=task,
        )

    def _end(self, handle: str, why: OpError) -> MasterSession | None:
        """Take a session out of the open ones, and keep the reason; it is to be closed by the caller."""
        session = self._sessions.pop(handle, None)
        if session is not None:
            self._cache_of_ended += replace(session.plans.cache_statistics(), plans=0)
            # A copy: the error itself would keep the frames that raised it alive.
            self._ended[handle] = type(why)(why.message)
            if len(self._ended) > _ENDED:
                self._ended.popitem(last=False)
        return session

    def on_plan(self, wire: list[Any], call: CallContext) -> Program:
        """Return the step program of a plan in wire form; see ``PlanReceiver``.

        Raises:
            ProtocolError: for anything else.
            OpError: the session is not open here, or refuses the plan.
        """
        message = VOCABULARY.from_wire(wire)
        if not isinstance(message, PrepareStep):
            raise ProtocolError(f"a plan is a PrepareStep, found {type(message).__name__}")
        return self._session(message.session_handle).steps.program(message)

    @answers(CreateSession)
    async def on_create_session(self, message: CreateSession, call: CallContext) -> SessionCreated:
        """Create a session at the tasks that its device filters allow and that answer.

        Its settings are those of the client, merged over the server's. A repeated request returns the same
        session, which is then kept open until the links of both requests are lost.
        """
        created: SessionCreated = await self._creations.once(
            message.request_id, lambda: self._create(message, call.deadline, call.address), call.deadline
        )
        handle = created.session_handle
        self._clients[handle] += 1
        call.on_gone(lambda: self._collect(handle))
        return created

    async def _create(self, message: CreateSession, limit: Deadline, address: str) -> SessionCreated:
        planning = Planning()
        graph = await _read(message.graph, planning)
        config = ConfigProto.from_wire(message.config).merged_over(self._env.default_session_config)
        refuse_local_settings(config)
        check_cost_model_settings(config)
        handle, metadata = current_host().entropy.token_hex(8), config.experimental.session_metadata
        # A client that lost its link creates its session anew, perhaps before the loss is noticed here.
        self._names.check(metadata, lambda other: bool(other.client) and other.client == message.client)
        cluster = SessionCluster(handle, config, self._env, message.target)
        session = MasterSession(cluster, self._admission, planning, message.client, address)
        self._names.add(metadata, session)
        try:
            version = await session.plans.open(graph, session.limited(limit))
        except BaseException as error:
            self._env.errors.note(error, subject="session", session=handle)
            closing = session.close(CancelledError("the session could not be opened"))
            if self._closing:
                await closing
            else:
                # The caller may give up now, or once more; that must not leave the session half closed. Where a worker
                # does not answer, the client is told in time all the same.
                child = self.children.start(closing, name=f"close {handle}")
                await asyncio.wait([child], timeout=sooner(limit).time_left)
            raise
        self._sessions[handle] = session
        _log.info("%s has opened session %s", self._env.task, handle)
        self._watch_idle()
        return SessionCreated(session_handle=handle, graph_version=version, restart_wait=self._env.restart_wait)

    def _collect(self, handle: str) -> None:
        """Close a session whose client is gone, unless another link to the client still holds it."""
        self._clients[handle] -= 1
        if self._clients[handle] > 0:
            return
        del self._clients[handle]
        why = AbortedError("the connection to its client was lost")
        session = self._end(handle, why)
        if session is not None and not self._closing:
            _log.info("closing session %s: its client is gone", handle)
            _ = self.children.start(session.close(why), name=f"collect {handle}")

    def _watch_idle(self) -> None:
        """Start the timer that closes idle sessions, if there are any sessions."""
        if self._idle_limit and self._alarm is None and self._sessions and not self._closing:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(self._idle_limit / 4, self._collect_idle)

    def _collect_idle(self) -> None:
        self._alarm = None
        now = current_host().clock.monotonic()
        for handle, session in list(self._sessions.items()):
            if session.idle_for(now) > self._idle_limit:
                why = AbortedError(f"it was idle for {self._idle_limit:g} s, the limit of the server")
                self._end(handle, why)
                _log.info("closing session %s: %s", handle, why.message)
                _ = self.children.start(session.close(why), name=f"collect {handle}")
        self._watch_idle()

    @answers(CloseSession, completes=True)
    async def on_close_session(self, message: CloseSession, call: CallContext) -> Done:
        """Close a session and cancel its steps; closing a closed session is not an error."""
        why = AbortedError(f"it was closed by {call.caller}")
        session = self._end(message.session_handle, why)
        self._clients.pop(message.session_handle, None)
        if session is not None:
            _log.info("closing session %s: its client has closed it", message.session_handle)
            await session.close(why, by_client=True)
        return Done()

    @answers(ResetContainers)
    async def on_reset(self, message: ResetContainers, call: CallContext) -> Done:
        """Close every session and clear containers on all tasks.

        Raises:
            UnavailableError: names the tasks whose containers were not cleared. The sessions are closed and
                the containers of the other tasks are cleared in any case.
        """
        deadline = sooner(call.deadline)
        ending = self._close_all(AbortedError(f"the master was reset by {call.caller}"))
        closing = self.children.start(ending, name="close all sessions")
        # Steps end before their variables are deleted. A worker that does not answer delays that, but only up
        # to half of the time left.
        left = deadline.time_left
        await asyncio.wait([closing], timeout=None if left is None else left / 2)
        tasks = list(self._env.cluster.tasks())
        clearing = [self._clear(task, message.containers, deadline) for task in tasks]
        faults = zip(tasks, await asyncio.gather(*clearing), strict=True)
        told = "; ".join(f"{task}: {fault}" for task, fault in faults if fault is not None)
        if told:
            raise UnavailableError(
                f"the sessions of {self._env.task} are closed, but containers were not cleared on {told}"
            )
        return Done()

    async def _clear(self, task: str, containers: list[str], deadline: Deadline) -> OpError | None:
        """Clear the containers of a task and return the error if that failed."""
        try:
            await self._env.workers.worker(task).ask(CleanupAll(containers=containers), deadline)
        except OpError as error:
            return error
        return None

    # -- the end -------------------------------------------------------------------------------

    async def aclose(self, why: OpError) -> None:
        """Stop the actor and close all sessions at once."""
        self._closing = why
        if self._alarm is not None:
            self._alarm.cancel()
        await self.stop(why)
        await self._close_all(why)

    async def _close_all(self, why: OpError) -> None:
        sessions = [session for handle in list(self._sessions) if (session := self._end(handle, why))]
        self._clients.clear()
        async with asyncio.TaskGroup() as group:
            for session in sessions:
                group.create_task(session.close(why), name=f"close {session.handle}")

    def waits(self, most: int) -> list[MasterWaits]:
        """Return what each session waits for, as far as the master can see, with at most ``most`` steps."""
        return [session.steps.waits(most) for session in self._sessions.values()]

    @property
    def waiting(self) -> int:
        """The number of steps that wait for admission."""
        return sum(session.steps.admission.statistics().waiting for session in self._sessions.values())

    @property
    def sessions(self) -> int:
        """The number of open sessions."""
        return len(self._sessions)

    def plan_cache(self) -> CacheStatistics:
        """Return the counters of the plan caches of all sessions, those that have ended too."""
        caches = [session.plans.cache_statistics() for session in self._sessions.values()]
        return sum(caches, self._cache_of_ended)

    def graph(self, handle: str) -> GraphShown:
        """Return the graph of a session, to be looked at.

        Raises:
            AbortedError: for a session that is not open here.
        """
        session = self._sessions.get(handle)
        if session is None:
            raise self._unknown(handle)
        return session.plans.shown()

    def open_sessions(self) -> tuple[OpenSession, ...]:
        """Return the counters of each session."""
        return tuple(session.session_statistics() for session in self._sessions.values())


async def _read(wire: list[Any], planning: Planning) -> GraphDef:
    """Decode a graph that was received; a large one is decoded in a worker thread."""
    if planning.must_wait(nodes_in(wire[-1]) if wire else 0):
        return await planning.run(lambda: GraphDef.from_wire(wire))
    return GraphDef.from_wire(wire)

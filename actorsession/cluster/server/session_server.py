"""A session of this process as a task that can be looked at: its counters, steps, graph, variables and queues.

``SessionServer`` listens in a private folder and answers the requests of administration that read, so that the
page of a cluster shows one process as well. It runs nothing for anybody: it has no master and no worker. It
has a thread of its own, so that it answers while the program trains, and only reads what any thread may read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import CallContext
from actorsession.actors.loops import in_thread
from actorsession.actors.ref import Ref
from actorsession.cluster.launch.socket_folder import SocketFolder
from actorsession.cluster.server.inspector import Inspector
from actorsession.cluster.server.memory import MemoryReader, ServerMemory, held_log
from actorsession.cluster.server.process_memory import process_memory
from actorsession.cluster.server.statistics import OpenSession, ServerStatistics
from actorsession.errors import NotFoundError, UnavailableError, UnimplementedError
from actorsession.graph.device import LOCAL_TASK
from actorsession.messages.inspection import INSPECTOR
from actorsession.messages.server import SERVER, ClusterView, GetCluster
from actorsession.messages.session import MASTER, ExplainStep, StepExplained
from actorsession.messages.worker import WORKER, AskWhy, GetStatus, WorkerStatus, WorkerWhy
from actorsession.plan.explain.explain import feeds_from_wire
from actorsession.plan.signature import RunSignature
from actorsession.rpc.link import Link
from actorsession.runtime.inspection import GraphShown
from actorsession.runtime.loop_thread import LoopThread
from actorsession.runtime.step_log import ErrorLog
from actorsession.session.base import BaseSession, local_session
from actorsession.session.direct.direct_session import DirectSession
from actorsession.version import installed_version
from transports import Connection, Hello, Listener, listen
from transports.host import current_host

__all__ = ["SessionServer"]


class SessionServer:
    """Lets others of this user look at a session of this process, from ``start`` to ``close``.

    Args:
        session: the session.

    Attributes:
        address: where it listens; "" before the start.

    Raises:
        UnimplementedError: for a kind of session that cannot be looked at.
    """

    def __init__(self, session: BaseSession) -> None:
        direct = local_session(session)
        if not isinstance(direct, DirectSession):
            raise UnimplementedError(f"a {type(session).__name__} of {session.target!r} has no page of its own")
        self.address = ""
        self._session, self._direct = session, direct
        self._actors: list[Actor] = []
        self._serves: dict[str, Ref] = {}
        self._thread: LoopThread | None = None
        self._listener: Listener | None = None
        self._until_end = contextlib.ExitStack()

    def start(self) -> None:
        """Listen from now on, in a thread.

        Raises:
            ResourceExhaustedError: if there is no place for the socket, or no thread.
        """
        folder = SocketFolder()
        self._until_end.callback(folder.remove)
        steps = self._direct.step_log
        errors = ErrorLog(LOCAL_TASK) if steps is None else steps.errors
        memory = ServerMemory(LOCAL_TASK, errors, steps, self._direct.planner.held_state)
        memory.log = self._until_end.enter_context(held_log(errors))
        self._thread = LoopThread("actorsession-session-server")
        self._thread.wait(self._listen(folder.address("session"), memory))

    async def _listen(self, address: str, memory: ServerMemory) -> None:
        # Made here, because an actor belongs to the loop on which it is made.
        observer = _Observer(self._session, self._direct, memory)
        inspector = Inspector(LOCAL_TASK, observer.graph, self._direct.planner.held_state)
        self._actors += [observer, inspector]
        self._serves.update(dict.fromkeys((WORKER, SERVER, MASTER), observer.ref), **{INSPECTOR: inspector.ref})
        hello = Hello(
            cluster_id="",
            task=LOCAL_TASK,
            incarnation=current_host().entropy.randbits(63),
            pid=current_host().processes.getpid(),
        )
        self._listener = await listen(address, hello, self._serve)
        self.address = observer.address = self._listener.address

    def _serve(self, connection: Connection) -> Awaitable[None]:
        return Link(connection, serves=self._serves).run()

    def close(self) -> None:
        """Listen no more, and end the thread; may be called again."""
        thread, self._thread = self._thread, None
        if thread is not None and not thread.is_forked:
            thread.wait(self._close())
            thread.stop()
        self._until_end.close()

    async def _close(self) -> None:
        why = UnavailableError("the session is no longer shown", task=LOCAL_TASK)
        for actor in self._actors:
            await actor.stop(why)
        if self._listener is not None:
            await self._listener.aclose(grace=0.0)


class _Observer(MemoryReader):
    """Answers for the session as server, worker and master do for theirs."""

    def __init__(self, session: BaseSession, direct: DirectSession, memory: ServerMemory) -> None:
        super().__init__(f"observer of session {direct.handle}", memory)
        self.address = ""
        self._session, self._direct = session, direct
        self._started = current_host().clock.monotonic()

    def graph(self, handle: str) -> GraphShown:
        """Return the graph of the session.

        Raises:
            NotFoundError: for the handle of another one.
        """
        if handle != self._direct.handle:
            raise NotFoundError(f"this process shows no session {handle!r:.100}")
        return self._direct.planner.shown()

    @answers(GetCluster)
    def on_get_cluster(self, message: GetCluster, call: CallContext) -> ClusterView:
        """Return the one task that there is."""
        return ClusterView(cluster_id="", task=LOCAL_TASK, tasks={LOCAL_TASK: self.address})

    @answers(GetStatus)
    def on_get_status(self, message: GetStatus, call: CallContext) -> WorkerStatus:
        """Return the counters of the session and of the process."""
        devices = [device.to_wire() for device in self._direct.list_devices()]
        statistics = self._statistics().to_wire()
        return WorkerStatus(task=LOCAL_TASK, incarnation=0, devices=devices, statistics=statistics, restored=None)

    def _statistics(self) -> ServerStatistics:
        counters, memory = self._session.statistics(), process_memory()
        session = OpenSession(
            session_handle=self._direct.handle,
            name=self._session.name,
            client="this process",
            steps=counters.steps,
            waiting=counters.waiting,
            runs=counters.runs,
            partial_runs=counters.partial_runs,
            nodes=counters.nodes,
        )
        return ServerStatistics(
            task=LOCAL_TASK,
            sessions=1,
            worker_sessions=0,
            graphs=counters.cache.plans,
            steps=counters.steps,
            rendezvous=0,
            runs=counters.runs,
            pushes=0,
            links=(),
            devices=counters.devices,
            waiting=counters.waiting,
            master_steps=counters.run_seconds,
            variables=counters.variables,
            variable_bytes=counters.variable_bytes,
            cpu_seconds=current_host().clock.process_time(),
            pid=current_host().processes.getpid(),
            version=current_host().shown_version(installed_version()),
            uptime=current_host().clock.monotonic() - self._started,
            clock=current_host().clock.time(),
            memory=memory.resident,
            peak_memory=memory.peak,
            open_sessions=(session,),
            errors=counters.errors,
        )

    @answers(AskWhy, direct=True)
    def on_why(self, message: AskWhy, call: CallContext) -> WorkerWhy:
        """Return what the steps under way wait for; there is nobody to ask for values."""
        return WorkerWhy(waits=self._direct.waits().to_wire())

    @answers(ExplainStep)
    async def on_explain(self, message: ExplainStep, call: CallContext) -> StepExplained:
        """Return what a step would do; it is planned in a thread."""
        _ = self.graph(message.session_handle)
        feeds = feeds_from_wire(message.feeds, message.types)
        signature = RunSignature(tuple(feeds), tuple(message.fetches), tuple(message.targets))
        explanation = await in_thread(self._direct.explain_here, signature, feeds)
        return StepExplained(explanation=explanation.to_json())

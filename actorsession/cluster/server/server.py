"""A server: one task of a cluster, with a master and a worker behind one listener.

A server binds its address first and publishes the real address afterwards, so port 0 works and no free port
has to be guessed. It introduces itself to every peer with cluster id, task and incarnation, and refuses peers
of another cluster. If it is given a resolver in place of a cluster, it asks the resolver again before each
dial.

Created by programs, by the command line and by the children of a ``LocalCluster``; owns master, worker,
links, devices and threads of the task. Invariants: a stopped server leaves nothing behind. The table of
``LifeCycle`` says what each call does before the start, during it and after the end. In a forked child
nothing is stopped, removed or written, because all of it is the parent's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actorsession.actors import registry
from actorsession.actors.life_cycle import LifeCycle, State
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.peer_links import LinkOptions
from actorsession.cluster.resolvers import ClusterResolver
from actorsession.cluster.server.address_checks import checked_scheme, refuse_plain
from actorsession.cluster.server.cluster_view import ClusterView
from actorsession.cluster.server.control import Control
from actorsession.cluster.server.metrics_port import MetricsPort
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.server.sidecar import Vitals
from actorsession.cluster.server.snapshots import Snapshots, SnapshotStore
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.server.task_actors import TaskActors
from actorsession.cluster.spec import ClusterDef, ClusterSpec
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config.file_roots import FileRoots
from actorsession.durations import checked_seconds
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    UnknownError,
    error_to_wire,
)
from actorsession.messages.inspection import INSPECTOR
from actorsession.messages.server import SERVER
from actorsession.messages.session import MASTER
from actorsession.messages.worker import WORKER, CleanupGraph
from actorsession.process_bound import ProcessBound
from actorsession.rpc.security import shared_security, shared_token
from actorsession.runtime.devices import new_incarnation
from actorsession.runtime.step_log import ErrorLog
from actorsession.standard_streams import open_standard_descriptors
from transports import Hello, Listener, TransportError, listen
from transports.host import current_host

__all__ = ["Server", "ServerStatistics"]

_log = logging.getLogger("actorsession.cluster")
# Seconds within which connections and actors may end by themselves when the server stops.
_GRACE = 2.0


class Server(ProcessBound):
    """One task of a cluster.

    It neither binds nor serves before ``start``.

    Attributes:
        end_reason: by whom or why it is stopped, as clients and peers are told after "was stopped in order";
            may be set before ``stop``. By default it is the program that runs the server.

    Args:
        cluster: the tasks and their addresses; the address of this task may have port 0. Or a resolver, which
            is asked again before each dial and then also determines the tasks of the cluster.
        job_name: the job of this task. By default the job that the resolver returns, or the only job there
            is.
        task_index: its index in the job; by default the one that the resolver returns, or the only one there
            is.
        settings: how it runs.

    Raises:
        TypeError: for a cluster, job, index or file roots in another form.
        ValueError: for a job or index that is left out where there are several.
        InternalError: if the task is not in the cluster (TensorFlow's class for it).
        InvalidArgumentError: for an invalid address of a task, such as one without a port; for settings that
            only local sessions or clients have, or that no session accepts; for TLS files and an own address
            without TLS.
        NotFoundError: for a protocol, or a scheme of an address, that is not supported.
    """

    instead = "send its target, and make a session with that"

    def __init__(
        self,
        cluster: ClusterSpec | ClusterDef | Mapping[str, Any] | ClusterResolver,
        job_name: str | None = None,
        task_index: int | None = None,
        settings: ServerSettings | None = None,
    ) -> None:
        open_standard_descriptors()  # the loop may be the caller's own
        self._settings = settings = settings or ServerSettings()
        security = settings.security or shared_security()
        scheme = checked_scheme(settings.protocol, tls=security is not None)
        self._cluster_view = ClusterView(cluster, job_name, task_index, scheme)
        self.task, self._bind_to = self._cluster_view.task, self._cluster_view.own_address
        if settings.security is not None:
            refuse_plain(self._bind_to, self.task)
        roots = settings.file_roots
        self._files = None if roots is None else FileRoots(roots, self.task)
        self._security = security
        self._token = shared_token() if settings.token is None else settings.token
        self.incarnation = new_incarnation()
        self._hello = Hello(
            cluster_id=settings.cluster_id,
            task=self.task,
            incarnation=self.incarnation,
            pid=current_host().processes.getpid(),
        )
        self._vitals = Vitals(settings.beat, always=settings.sidecar)
        self._serves: dict[str, Ref] = {}
        self._errors = ErrorLog(self.task)
        self._cache = WorkerCache(
            self.task,
            self._hello,
            self._serves,
            self._lost_push,
            LinkOptions(self._token, security, settings.beat, settings.lease, self._errors),
            self._cluster_view.resolve if self._cluster_view.changes else None,
        )
        self._store: SnapshotStore | None = None
        self._listener: Listener | None = None
        self._metrics = MetricsPort(settings.metrics_host, settings.metrics_port)
        self._actors: TaskActors | None = None
        self._control: Control | None = None
        self._children = Children(f"server of {self.task}")
        self._life = LifeCycle("server", f"the server of {self.task}", self._drop, retries=True, goes_on=True)
        self._stopping = asyncio.Event()
        self._kept: asyncio.TimerHandle | None = None
        self._snapshotting: asyncio.Task[None] | None = None
        self.end_reason = ""

    # -- lifecycle -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Bind the address and serve from then on.

        If the call fails or is cancelled, nothing is left, and it may be called again.

        Raises:
            FailedPreconditionError: if the server was started before, or is stopped meanwhile.
            RuntimeError: in a forked child, or on another loop than that of the server.
            UnknownError: if the address cannot be bound (TensorFlow's class for it), or must not be bound
                without a token or TLS; or if the TLS files are invalid.
            InvalidArgumentError: if the given socket does not fit the task's address.
            FailedPreconditionError: if ``snapshot_dir`` is in use, or holds the state of another cluster.
        """
        await self._life.start(self._start, self._undo_start)

    async def _start(self) -> None:
        if self._settings.snapshot_dir is not None:
            where, owner = self._settings.snapshot_dir, self._hello.cluster_id
            self._store = SnapshotStore(where, self.task, owner)
            await self._store.take()
        actors = self._make_actors(self._store)
        try:
            pulse = await self._vitals.start(self._bind_to, self._token)
            self._hello = replace(self._hello, pulse=pulse)
            self._cache.links.hello = self._hello
            self._listener = await listen(
                self._bind_to,
                self._hello,
                self._cache.links.serve,
                token=self._token,
                sock=self._settings.listening_socket,
                security=self._security,
            )
            await self._metrics.open(actors.metric_families)
        except Exception as exc:
            where = f"{self.task} cannot listen at {self._bind_to}: {exc}"
            if isinstance(exc, (TransportError, OSError)):
                raise UnknownError(where, task=self.task) from exc
            if isinstance(exc, ValueError):  # such as a socket of another kind than the address
                raise InvalidArgumentError(where, task=self.task) from exc
            raise
        if self._life.state is not State.STARTING:
            return  # it is being stopped, which undoes this
        actors.open_files(near=self._listener.near)
        registry.publish(self.target, self._serves[MASTER])
        self._cluster_view.begin(self._cache, self.target, actors.share_cores)
        actors.keep_log()
        _log.info("%s serves at %s", self.task, self.target)
        if actors.snapshots is not None:
            self._snapshotting = self._children.start(actors.snapshots.run(), name=f"snapshots of {self.task}")

    @property
    def metrics_url(self) -> str:
        """Where Prometheus reads the server; "" if it has no ``metrics_port`` or is not started."""
        return self._metrics.url

    async def _undo_start(self) -> None:
        if self._snapshotting is not None:
            self._snapshotting.cancel()
        await self._metrics.aclose()
        if self._listener is not None:
            registry.withdraw(self.target, self._serves[MASTER])
            await self._listener.aclose(grace=0.0)
            self._listener = None
        if self._actors is not None:
            why = UnavailableError(f"{self.task} has no address")
            await self._actors.stop(why)
            await self._stop_control(why)
        self._actors = self._control = None
        await self._vitals.aclose()
        if self._store is not None:
            self._store.release()
            self._store = None
        if self._life.state is State.STOPPING:
            self._stopping.set()

    def _make_actors(self, store: SnapshotStore | None) -> TaskActors:
        actors = self._actors = TaskActors(
            self._settings, self._files, self._cluster_view, self._cache, store, self._vitals, self._errors
        )
        self._control = Control(
            self.task, self._hello.cluster_id, self._cluster_view.tasks,
            self._begin_stop, self.keep, trusted=self._token is not None, memory=actors.memory,
        )  # fmt: skip
        self._control.keeps_snapshots = store is not None
        self._serves[WORKER] = actors.worker.ref
        self._serves[MASTER] = actors.master.ref
        self._serves[SERVER] = self._control.ref
        self._serves[INSPECTOR] = actors.inspector.ref
        return actors

    def _begin_stop(self, why: str) -> None:
        """Stop in a child, because the caller receives the answer over a link that stopping closes."""
        _ = self._children.start(self.stop(why=why), name=f"stop {self.task}")

    def _lost_push(self, step_id: int, error: OpError) -> None:
        """Fail a step whose tensors could not be delivered, which fails it on all tasks."""
        if self._actors is not None:
            self._serves[WORKER].tell(CleanupGraph(step_id=step_id, error=error_to_wire(error)))

    def learn_peers(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        """Register the tasks of the cluster and their addresses.

        To be called once all tasks have bound their addresses, and whenever tasks join, leave or move.
        Sessions follow between two steps.

        Args:
            cluster: all tasks with their real addresses.

        Raises:
            ValueError: if this task is not among them.
            InvalidArgumentError: for an invalid address.
            NotFoundError: for an address with a scheme that is not supported.
            RuntimeError: in a forked child, or on another loop than that of the server.
        """
        if self._life.state is not State.NEW:
            self._life.owner.check()
        self._cluster_view.learn(cluster)

    @property
    def target(self) -> str:
        """The address that sessions connect to, with the real port.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._listener is None:
            raise FailedPreconditionError(f"the server of {self.task} is not started: no address yet")
        return self._listener.address

    @property
    def is_serving(self) -> bool:
        """Whether clients and peers are accepted: from the end of ``start`` to the beginning of ``stop``."""
        return self._life.state is State.RUNNING

    def keep(self, seconds: float) -> None:
        """Serve for ``seconds`` and stop then, unless this is called again before, here or by a message.

        For a server that something else started, such as an engine, and that must not outlive it. To be
        called on the server's loop.

        Raises:
            InvalidArgumentError: for a time that is not above 0.
            FailedPreconditionError: if the server was not started, or was stopped.
            RuntimeError: in a forked child, or on another loop than that of the server.
        """
        _ = checked_seconds("keep", seconds)
        self._life.check()
        if self._kept is not None:
            self._kept.cancel()
        self._kept = asyncio.get_running_loop().call_later(seconds, self._expire, seconds)

    def _expire(self, seconds: float) -> None:
        _log.warning("%s stops: nothing has asked for it for %g s", self.task, seconds)
        self._begin_stop(f"because nothing had asked for it for {seconds:g} s, its lease")

    async def serve_forever(self) -> None:
        """Wait until the server is stopped.

        Raises:
            FailedPreconditionError: if it was not started.
            RuntimeError: in a forked child, or on another loop than that of the server.
        """
        if self._life.state is State.NEW:
            self._life.check()
        self._life.owner.check()
        await self._stopping.wait()

    async def stop(self, grace: float = _GRACE, why: str = "") -> None:
        """Release the address and close sessions and connections.

        Bounded by a few times ``grace`` and the time to write a last snapshot. May be called twice, also
        concurrently, and while the server is being started; if it is cancelled, it goes on by itself, and
        another call waits for that. When the server's loop has ended, any other may call it. In a forked
        child it does nothing. Afterwards ``lost`` says whether the last snapshot could be written.

        Args:
            grace: seconds for connections to end by themselves.
            why: see ``end_reason``; that of the first call counts.

        Raises:
            InvalidArgumentError: for a grace that is no duration; nothing happens then.
            RuntimeError: on another loop than that of the server, unless that has ended.
        """
        _ = checked_seconds("grace", grace)
        await self._life.stop(lambda: self._stop(grace, why))

    async def _stop(self, grace: float, why: str) -> None:
        self._stopping.set()
        own = f"by its own program, process {current_host().processes.getpid()}"
        why = self.end_reason = self.end_reason or why or own
        error = UnavailableError(f"{self.task} was stopped in order {why}", task=self.task)
        if self._kept is not None:
            self._kept.cancel()
        assert self._listener is not None
        actors = self.actors
        registry.withdraw(self.target, self._serves[MASTER])
        await self._metrics.aclose()
        await self._listener.aclose(connections=False)
        await actors.stop(error)
        if actors.snapshots is not None:
            await actors.snapshots.take()
        await self._stop_control(error)
        self._cache.say_goodbye(error.message)
        await self._cache.aclose(grace)
        await self._listener.aclose(grace=grace)
        await self._children.stop(grace)
        await self._vitals.aclose()
        actors.close()

    def _drop(self) -> None:
        """Release what the end of the server's loop has left."""
        with contextlib.suppress(RuntimeError):  # a closed loop calls nobody
            self._stopping.set()
        if self._listener is not None:
            registry.withdraw(self.target, self._serves[MASTER])
            self._listener.abandon()
        self._vitals.drop()
        self._metrics.drop()
        if self._actors is not None:
            self._actors.drop()

    @property
    def stopping(self) -> bool:
        """Whether the server was asked to stop, or has stopped."""
        return self._stopping.is_set()

    @property
    def actors(self) -> TaskActors:
        """What the server has while it is started.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._actors is None:
            raise FailedPreconditionError(f"the server of {self.task} is not started")
        return self._actors

    @property
    def _snapshots(self) -> Snapshots | None:
        return None if self._actors is None else self._actors.snapshots

    @property
    def keeps_snapshots(self) -> bool:
        """Whether the variables of this task are written to files, the last time when it stops."""
        return self._snapshots is not None

    def take_last_snapshot(self) -> str:
        """Write what no snapshot holds yet, from any thread: for a process that ends before ``stop`` does.

        In a forked child it does nothing: the files are the parent's.

        Returns:
            What is lost all the same, see ``lost``.
        """
        if self._snapshots is not None and not self._life.owner.is_forked:
            self._snapshots.take_now()
        return self.lost

    @property
    def restored_from(self) -> str:
        """The snapshot that the variables were restored from when the server started; "" for none."""
        return "" if self._snapshots is None else self._snapshots.restored

    @property
    def lost(self) -> str:
        """What is lost with a server that keeps snapshots and has stopped, as a sentence; "" for nothing.

        Such are changes that clients were told of, if the last snapshot could not be written.
        """
        lost = "" if self._snapshots is None else self._snapshots.lost()
        return lost and f"{self.task}: {lost}"

    async def _stop_control(self, why: OpError) -> None:
        """Tell those who have asked for the stop what was lost, and take no more requests."""
        assert self._control is not None
        if lost := self.lost:
            _log.error("%s", lost)
        await self._control.settle(lost)
        await self._control.stop(why)

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def statistics(self) -> ServerStatistics:
        """Return the current counters of this server.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        return self.actors.statistics()

    def __repr__(self) -> str:
        where = self._listener.address if self._listener is not None else "not started"
        return f"<Server {self.task} at {where}>"

"""A server: one task of a cluster, with a master and a worker behind one listener.

Binding comes first and the real address is published after it, so port 0 works and no free port is
guessed. A server says of itself cluster id, task and incarnation to whoever connects, and refuses peers of
another cluster. Given a resolver in place of a cluster, it asks it again before each dial.

Made by programs, by the command line and by the children of a ``LocalCluster``; it owns master, worker,
links, devices and threads of the task. Invariant: nothing of a server that was stopped stays behind.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from actorsession.actors import registry
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.master.env import MasterEnv
from actorsession.cluster.master.master import Master
from actorsession.cluster.resolvers import ClusterResolver
from actorsession.cluster.server.address_checks import checked_scheme, refuse_plain
from actorsession.cluster.server.cluster_view import ClusterView
from actorsession.cluster.server.control import Control
from actorsession.cluster.server.sidecar import Vitals
from actorsession.cluster.server.snapshots import Snapshots, SnapshotStore
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterDef, ClusterSpec
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config import MAX_SERVER_STEPS, ConfigProto
from actorsession.config.file_roots import FileRoots
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnknownError,
    error_to_wire,
)  # fmt: skip
from actorsession.messages.server import SERVER
from actorsession.messages.session import MASTER
from actorsession.messages.worker import WORKER, CleanupGraph
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS, Lease
from actorsession.runtime.blas_threads import BlasThreads, hold_blas_threads
from actorsession.runtime.devices import Device, make_devices, new_incarnation
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.session_pools import server_pool
from actorsession.runtime.step_inspector import held_pool
from actorsession.session.remote.settings import refuse_local_settings
from actorsession.session.security import shared_security, shared_token
from transports import Hello, Listener, SecurityConfig, TransportError, listen

__all__ = ["Server", "ServerStatistics"]

_log = logging.getLogger("actorsession.cluster")
# Seconds that stopping may take for connections and actors to end by themselves.
_GRACE = 2.0


class Server:
    """One task of a cluster.

    It neither binds nor serves before ``start``.

    Args:
        cluster: the tasks and their addresses; this task's may have port 0. Or a resolver, which is asked
            again before each dial and then also says who is part of the cluster.
        job_name: the job of this task. By default what the resolver says, or the only job there is.
        task_index: its index in the job; by default what the resolver says, or the only one there is.
        protocol: scheme of the addresses that have none; if left out ``tls`` where TLS files are named,
            else ``tcp``.
        config: settings of the process: ``device_count``, and the threads of its kernel pool and of
            the BLAS library (``inter_op_parallelism_threads``, ``intra_op_parallelism_threads``).
        cluster_id: servers and clients of another id are refused; "" accepts clients and servers that
            have none.
        token: shared secret; needed to listen on anything but loopback without TLS. By default what
            ``ACTORSESSION_TOKEN`` of the environment says, as for clients.
        security: CA, certificate and key for mutual TLS, with clients and with other tasks. By default
            what ``ACTORSESSION_TLS_CA``, ``_CERT`` and ``_KEY`` of the environment name.
        session_gc_seconds: a session that nobody asks anything for so long is closed; 0 for never. Sessions
            whose clients are gone are closed in any case.
        max_inflight_steps: steps of all sessions that have their master here and may be under way at once.
            More wait, and sessions take turns; each session has limits of its own besides
            (``ConfigProto.max_inflight_steps``).
        snapshot_dir: where to write the variables of this task from time to time, and when it stops; they
            come back from there when it starts. Tasks may share a directory. ``None`` for no snapshots.
        snapshot_every: seconds between two snapshots.
        file_roots: folders in which operations may open files (``read_file``, savers, tables from text
            files); others are refused with PermissionDeniedError. If left out, all files that the server's
            user may open where only this machine reaches it (loopback, unix), and none at all otherwise.
        listening_socket: a bound stream socket to serve at in place of binding the task's address, such
            as one that a service manager has opened. The server's own from ``start`` on.

    Raises:
        TypeError: for a cluster, job, index or file roots in another form.
        ValueError: for a job or index that is left out where there are several.
        InternalError: if the task is not in the cluster (TensorFlow's class for it).
        InvalidArgumentError: for an address of a task that is none, such as one without a port; for
            settings that only local sessions have; for TLS files and an own address without TLS.
        NotFoundError: for a protocol, or a scheme of an address, that nothing here speaks.
    """

    def __init__(
        self,
        cluster: ClusterSpec | ClusterDef | Mapping[str, Any] | ClusterResolver,
        job_name: str | None = None,
        task_index: int | None = None,
        *,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        cluster_id: str = "",
        token: str | None = None,
        security: SecurityConfig | None = None,
        listening_socket: socket.socket | None = None,
        session_gc_seconds: float = 0.0,
        max_inflight_steps: int = MAX_SERVER_STEPS,
        snapshot_dir: str | os.PathLike[str] | None = None,
        snapshot_every: float = 60.0,
        file_roots: Sequence[str | os.PathLike[str]] | None = None,
        lease: float = LEASE_SECONDS,
        beat: float = BEAT_SECONDS,
        sidecar: bool = False,
    ) -> None:
        self._security = security if security is not None else shared_security()
        scheme = checked_scheme(protocol, tls=self._security is not None)
        self._known = ClusterView(cluster, job_name, task_index, scheme)
        self.task, self._bind_to = self._known.task, self._known.own_address
        if security is not None:
            refuse_plain(self._bind_to, self.task)
        self._config = config or ConfigProto()
        refuse_local_settings(self._config)
        if session_gc_seconds < 0:
            raise InvalidArgumentError(
                f"session_gc_seconds is 0 or more, got {session_gc_seconds:g}"
            )
        self._session_gc = session_gc_seconds
        if max_inflight_steps < 1:
            raise InvalidArgumentError(f"max_inflight_steps is 1 or more, got {max_inflight_steps}")
        self._max_inflight_steps = max_inflight_steps
        if snapshot_every <= 0:
            raise InvalidArgumentError(
                f"snapshot_every is more than 0 seconds, got {snapshot_every:g}"
            )
        self._snapshot_dir = snapshot_dir
        self._snapshot_every = snapshot_every
        self._file_roots = None if file_roots is None else FileRoots(file_roots, self.task)
        self._devices: Sequence[Device] = ()
        self._snapshots: Snapshots | None = None
        self._socket = listening_socket
        self.incarnation = new_incarnation()
        self._token = token if token is not None else shared_token()
        self._hello = Hello(
            cluster_id=cluster_id, task=self.task, incarnation=self.incarnation, pid=os.getpid()
        )
        _ = Lease(beat=beat, lease=lease, now=0.0)  # says what is wrong with them
        self._vitals = Vitals(beat, always=sidecar)
        self._serves: dict[str, Ref] = {}
        self._cache = WorkerCache(
            self.task, self._hello, self._serves, self._lost_push, self._token,
            self._known.look_again if self._known.changes else None, self._security,
            beat=beat, lease=lease,
        )  # fmt: skip
        self._listener: Listener | None = None
        self._master: Master | None = None
        self._worker: Worker | None = None
        self._control: Control | None = None
        self._pool: KernelPool | None = None
        self._blas: BlasThreads | None = None
        self._children = Children(f"server of {self.task}")
        self._stopping = asyncio.Event()

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Bind, and serve from then on.

        Raises:
            FailedPreconditionError: if it was started before.
            UnknownError: if the address cannot be had (TensorFlow's class for it), or must not be had
                without a token or TLS; or if the TLS files do not do.
            InvalidArgumentError: if the socket that was given does not fit the task's address.
        """
        if self._listener is not None:
            raise FailedPreconditionError(f"the server of {self.task} was started already")
        self._make_actors()
        try:
            pulse = await self._vitals.start(self._bind_to, self._token)
            self._hello = replace(self._hello, pulse=pulse)
            self._cache.introduce_as(self._hello)
            self._listener = await listen(
                self._bind_to, self._hello, self._cache.serve,
                token=self._token, sock=self._socket, security=self._security,
            )  # fmt: skip
        except BaseException as exc:
            await self._stop_actors(f"the server of {self.task} has no address")
            await self._vitals.aclose()
            where = f"{self.task} cannot listen at {self._bind_to}: {exc}"
            if isinstance(exc, TransportError):
                raise UnknownError(where, task=self.task) from exc
            if isinstance(exc, ValueError):  # such as a socket of another kind than the address
                raise InvalidArgumentError(where, task=self.task) from exc
            raise
        self._open_files(near=self._listener.near)
        self._known.begin(self._cache, self.target)
        registry.publish(self.target, self._serves[MASTER])
        _log.info("%s serves at %s", self.task, self.target)
        if self._snapshots is not None:
            _ = self._children.start(self._snapshots.run(), name=f"snapshots of {self.task}")

    def _make_actors(self) -> None:
        self._pool = server_pool(self._config)
        threads = self._config.intra_op_parallelism_threads
        self._blas = hold_blas_threads(threads) if threads else None
        devices = self._devices = make_devices(self.task, self._config.device_count)
        self._open_files(near=False)  # until it is known who can reach us
        self._worker = Worker(
            self.task, self.incarnation, devices, self._cache.push, self._cache.hear,
            lambda: self.statistics().to_wire(), self._pool, self._known.learn_tasks, self._cache,
            self._cache,
        )  # fmt: skip
        if self._snapshot_dir is not None:
            self._begin_snapshots(self._worker, devices, self._snapshot_dir)
        self._master = Master(
            MasterEnv(
                self.task, self.incarnation, lambda: self.target, self._known_tasks,
                lambda: self._known.version, self._worker_of, self._cache.ask_where,
                self._cache.watch,
            ),
            self._session_gc, self._max_inflight_steps,
        )  # fmt: skip
        self._worker.masters = self._master.waits
        self._serves[WORKER] = self._worker.ref
        self._serves[MASTER] = self._master.ref
        self._control = Control(
            self.task, self._hello.cluster_id, self._known_tasks, self._told_to_stop,
            trusted=self._token is not None,
        )  # fmt: skip
        self._serves[SERVER] = self._control.ref

    def _begin_snapshots(
        self, worker: Worker, devices: Sequence[Device], directory: str | os.PathLike[str]
    ) -> None:
        store = SnapshotStore(directory, self.task)
        every = self._snapshot_every
        ended, running = lambda: worker.runs - worker.running, lambda: worker.running
        snapshots = Snapshots(store, devices, every, ended, running)
        snapshots.restore()
        if snapshots.restored is not None:
            worker.restored = snapshots.restored.to_wire()
        self._snapshots = snapshots

    def _open_files(self, *, near: bool) -> None:
        """Say where kernels may open files, given whether only this machine reaches us."""
        files = self._file_roots or FileRoots(None if near else (), self.task)
        for device in self._devices:
            device.resources.files = files

    def _told_to_stop(self) -> None:
        """Stop in a child: whoever asked hears the answer over a link that stopping closes."""
        _ = self._children.start(self.stop(), name=f"stop {self.task}")

    def _known_tasks(self) -> Mapping[str, str]:
        return self._known.tasks()

    def _worker_of(self, task: str, incarnation: int | None) -> Ref:
        if task == self.task:
            return self._serves[WORKER]
        return self._cache.worker(task, incarnation)

    def _lost_push(self, step_id: int, error: OpError) -> None:
        """Tensors could not be delivered: the step fails here, and so everywhere."""
        if self._worker is not None:
            self._serves[WORKER].tell(CleanupGraph(step_id=step_id, error=error_to_wire(error)))

    def learn_peers(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        """Take in which tasks the cluster has, and where: once everybody has bound, and whenever some
        join, leave or move. Sessions follow between two steps.

        Args:
            cluster: all tasks with their real addresses.

        Raises:
            ValueError: if this task is not among them.
            InvalidArgumentError: for an address that is none.
            NotFoundError: for an address with a scheme that nothing here speaks.
        """
        self._known.learn(cluster)

    @property
    def target(self) -> str:
        """The address that sessions connect to, with the real port.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._listener is None:
            raise FailedPreconditionError(
                f"the server of {self.task} is not started: no address yet"
            )
        return self._listener.address

    async def serve_forever(self) -> None:
        """Wait until the server is stopped."""
        await self._stopping.wait()

    async def stop(self, grace: float = _GRACE) -> None:
        """Give the address up and close sessions and connections.

        Bounded by a few times ``grace``, and the time that it takes to write a last snapshot. May be called
        twice, also at the same time; if it is cancelled, another call goes on with what is left.

        Args:
            grace: seconds for connections to end by themselves.
        """
        self._stopping.set()
        if self._listener is None:
            return
        registry.withdraw(self.target, self._serves[MASTER])
        await self._listener.aclose(connections=False)
        await self._stop_actors(f"the server of {self.task} is stopping")
        if self._snapshots is not None:
            await self._snapshots.take()
        await self._cache.aclose(grace)
        await self._listener.aclose(grace=grace)
        await self._children.stop(grace)
        await self._vitals.aclose()

    @property
    def keeps_snapshots(self) -> bool:
        """Whether the variables of this task are written to files, the last time when it stops."""
        return self._snapshots is not None

    def take_last_snapshot(self) -> None:
        """Write what no snapshot holds yet, in any thread: for a process that ends before ``stop`` does."""
        if self._snapshots is not None:
            self._snapshots.take_now()

    async def _stop_actors(self, why: str) -> None:
        assert self._master is not None
        assert self._worker is not None
        assert self._control is not None
        await self._control.stop(why)
        await self._master.aclose(why)
        await self._worker.aclose(why)
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._blas = None  # the library gets its own number back with the last holder

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.stop()

    def statistics(self) -> ServerStatistics:
        """Counters of this server at this moment.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._master is None or self._worker is None:
            raise FailedPreconditionError(f"the server of {self.task} is not started")
        held = held_pool(self._pool, self.task)
        threads = 0 if self._pool is None else self._pool.threads
        return ServerStatistics(
            task=self.task,
            sessions=self._master.sessions,
            worker_sessions=self._worker.sessions,
            graphs=self._worker.graphs,
            steps=self._worker.running,
            rendezvous=self._worker.pending_rendezvous,
            runs=self._worker.runs,
            pushes=self._cache.pushes,
            waiting=self._master.waiting,
            held=self._worker.held,
            unsettled=self._worker.unsettled,
            links=self._cache.statistics(),
            loop_lag=self._vitals.lag[0],
            worst_loop_lag=self._vitals.lag[1],
            pool_threads=threads if held is None else held.threads,
            overdue=0 if held is None else held.held,
            overdue_kernels="" if held is None else str(held),
        )

    def __repr__(self) -> str:
        where = self._listener.address if self._listener is not None else "not started"
        return f"<Server {self.task} at {where}>"

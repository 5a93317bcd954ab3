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
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from actorsession.actors import registry
from actorsession.actors.life_cycle import LifeCycle, State
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.launch.blas_environment import thread_count
from actorsession.cluster.master.env import MasterEnv
from actorsession.cluster.master.master import Master
from actorsession.cluster.master.stats_publisher import StatsPublisherFactory
from actorsession.cluster.resolvers import ClusterResolver
from actorsession.cluster.server.address_checks import checked_scheme, refuse_plain
from actorsession.cluster.server.cluster_view import ClusterView
from actorsession.cluster.server.control import Control
from actorsession.cluster.server.process_memory import process_memory
from actorsession.cluster.server.sidecar import Vitals
from actorsession.cluster.server.snapshots import Snapshots, SnapshotStore, restore_latest
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterDef, ClusterSpec
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config import MAX_SERVER_STEPS, ConfigProto, RPCOptions
from actorsession.config.file_roots import FileRoots
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.durations import checked_seconds
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    UnknownError,
    error_to_wire,
)  # fmt: skip
from actorsession.messages.server import SERVER
from actorsession.messages.session import MASTER
from actorsession.messages.worker import WORKER, CleanupGraph
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.process_bound import ProcessBound
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS, Lease
from actorsession.rpc.security import shared_security, shared_token
from actorsession.runtime.blas_threads import BlasThreads, hold_blas_threads, share_blas_threads
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.devices import Device, make_devices, new_incarnation
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.session_pools import server_pool
from actorsession.runtime.step_inspector import held_pool
from actorsession.standard_streams import open_standard_descriptors
from actorsession.version import installed_version
from transports import Hello, Listener, SecurityConfig, TransportError, listen

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
        protocol: scheme of the addresses that have none; if left out ``tls`` where TLS files are given, else
            ``tcp``.
        config: settings of the process: ``device_count``, and the threads of its kernel pool and of the BLAS
            library (``inter_op_parallelism_threads``, ``intra_op_parallelism_threads``). All others are the
            defaults of the sessions whose master is here: where a session leaves a field at its default, that
            of the server applies; lists of the session follow those of the server, maps are merged.
        cluster_id: servers and clients of another id are refused; "" accepts clients and servers that have
            none.
        token: shared secret; needed to listen on anything but loopback without TLS. By default the value of
            the environment variable ``ACTORSESSION_TOKEN``, as for clients.
        security: CA, certificate and key for mutual TLS, with clients and with other tasks. By default the
            files named by the environment variables ``ACTORSESSION_TLS_CA``, ``_CERT`` and ``_KEY``.
        session_gc_seconds: seconds without a request after which a session is closed; 0 for never. Sessions
            whose clients are gone are closed in any case.
        max_inflight_steps: limit on the steps in flight of all sessions whose master is here. Further steps
            wait, and sessions take turns; each session has limits of its own besides
            (``ConfigProto.max_inflight_steps``).
        snapshot_dir: where to write the variables of this task from time to time, and when it stops; they are
            restored from there when it starts. The directory belongs to one cluster, whose tasks may share
            it. ``None`` for no snapshots.
        snapshot_every: seconds between two snapshots.
        file_roots: folders in which operations may open files (``read_file``, savers, tables from text
            files); others are refused with PermissionDeniedError. If left out, all files that the server's
            user may open if only this machine can reach the server (loopback, unix), and none at all
            otherwise.
        lease: seconds of silence after which a peer is declared lost.
        beat: seconds between heartbeats.
        sidecar: whether to start a sidecar on loopback too.
        restart_wait: seconds for which a session whose master is here waits for a task that was lost to be
            started again, before it begins a step that needs the task; 0 to fail the step at once. For
            clusters in which something starts tasks again, such as systemd or a ``LocalCluster``.
        stats_publisher_factory: makes what receives the graphs and the statistics of the steps of sessions
            whose master is here, one per run signature of each session.
        listening_socket: a bound stream socket to serve at in place of binding the task's address, such as
            one that a service manager has opened. Owned by the server from ``start`` on.

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
        restart_wait: float = 0.0,
        stats_publisher_factory: StatsPublisherFactory | None = None,
    ) -> None:
        open_standard_descriptors()  # the loop may be the caller's own
        self._security = security if security is not None else shared_security()
        scheme = checked_scheme(protocol, tls=self._security is not None)
        self._cluster_view = ClusterView(cluster, job_name, task_index, scheme)
        self.task, self._bind_to = self._cluster_view.task, self._cluster_view.own_address
        if security is not None:
            refuse_plain(self._bind_to, self.task)
        self._config = config or ConfigProto()
        _check_session_defaults(self._config)
        self._session_gc = checked_seconds("session_gc_seconds", session_gc_seconds)
        if max_inflight_steps < 1:
            raise InvalidArgumentError(f"max_inflight_steps is 1 or more, got {max_inflight_steps}")
        self._max_inflight_steps = max_inflight_steps
        self._restart_wait = checked_seconds("restart_wait", restart_wait)
        self._stats_publisher_factory = stats_publisher_factory
        self._snapshot_dir = snapshot_dir
        self._snapshot_every = checked_seconds("snapshot_every", snapshot_every)
        self._file_roots = None if file_roots is None else FileRoots(file_roots, self.task)
        self._devices: Sequence[Device] = ()
        self._store: SnapshotStore | None = None
        self._snapshots: Snapshots | None = None
        self._socket = listening_socket
        self.incarnation = new_incarnation()
        self._token = token if token is not None else shared_token()
        self._hello = Hello(
            cluster_id=cluster_id, task=self.task, incarnation=self.incarnation, pid=os.getpid()
        )
        _ = Lease(beat=beat, lease=lease, now=0.0)  # validates them
        self._vitals = Vitals(beat, always=sidecar)
        self._serves: dict[str, Ref] = {}
        self._cache = WorkerCache(
            self.task, self._hello, self._serves, self._lost_push, self._token,
            self._cluster_view.resolve if self._cluster_view.changes else None, self._security,
            beat=beat, lease=lease,
        )  # fmt: skip
        self._listener: Listener | None = None
        self._master: Master | None = None
        self._worker: Worker | None = None
        self._control: Control | None = None
        self._pool: KernelPool | None = None
        self._blas: BlasThreads | None = None
        self._share: BlasThreads | None = None
        self._children = Children(f"server of {self.task}")
        self._life = LifeCycle(
            "server", f"the server of {self.task}", self._drop, retries=True, goes_on=True
        )
        self._stopping = asyncio.Event()
        self._kept: asyncio.TimerHandle | None = None
        self._started = time.monotonic()
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
        self._started = time.monotonic()
        if self._snapshot_dir is not None:
            self._store = SnapshotStore(self._snapshot_dir, self.task, self._hello.cluster_id)
            await self._store.take()
        self._make_actors(self._store)
        try:
            pulse = await self._vitals.start(self._bind_to, self._token)
            self._hello = replace(self._hello, pulse=pulse)
            self._cache.introduce_as(self._hello)
            self._listener = await listen(
                self._bind_to, self._hello, self._cache.serve,
                token=self._token, sock=self._socket, security=self._security,
            )  # fmt: skip
        except Exception as exc:
            where = f"{self.task} cannot listen at {self._bind_to}: {exc}"
            if isinstance(exc, TransportError):
                raise UnknownError(where, task=self.task) from exc
            if isinstance(exc, ValueError):  # such as a socket of another kind than the address
                raise InvalidArgumentError(where, task=self.task) from exc
            raise
        if self._life.state is not State.STARTING:
            return  # it is being stopped, which undoes this
        self._open_files(near=self._listener.near)
        registry.publish(self.target, self._serves[MASTER])
        self._cluster_view.begin(self._cache, self.target, self._share_cores)
        _log.info("%s serves at %s", self.task, self.target)
        if self._snapshots is not None:
            _ = self._children.start(self._snapshots.run(), name=f"snapshots of {self.task}")

    async def _undo_start(self) -> None:
        if self._listener is not None:
            registry.withdraw(self.target, self._serves[MASTER])
            await self._listener.aclose(grace=0.0)
            self._listener = None
        if self._control is not None:
            why = UnavailableError(f"{self.task} has no address")
            await self._stop_actors(why)
            await self._stop_control(why)
        elif self._pool is not None:
            self._pool.shutdown(wait=False)
        self._master = self._worker = self._control = None
        await self._vitals.aclose()
        if self._store is not None:
            self._store.release()
            self._store = self._snapshots = None
        if self._life.state is State.STOPPING:
            self._stopping.set()

    def _make_actors(self, store: SnapshotStore | None) -> None:
        self._pool = server_pool(self._config)
        threads = self._config.intra_op_parallelism_threads
        self._blas = hold_blas_threads(threads) if threads else None
        devices = self._devices = make_devices(self.task, self._config.device_count)
        self._open_files(near=False)  # until the listener shows who can reach the server
        restored = None if store is None else restore_latest(store, devices)
        env = MasterEnv(
            self.task,
            self.incarnation,
            self._cluster_view,
            self._cache,
            self._config,
            self._stats_publisher_factory,
            self._restart_wait,
        )
        self._master = Master(
            env,
            self._session_gc,
            self._max_inflight_steps,
        )
        self._worker = Worker(
            self.task, self.incarnation, devices, self._cache, self._pool,
            statistics=lambda: self.statistics().to_wire(),
            update_cluster=self._cluster_view.learn_tasks, master_waits=self._master.waits,
            restored=None if restored is None else restored.to_wire(),
        )  # fmt: skip
        if store is not None:
            self._snapshots = Snapshots(
                store, devices, self._snapshot_every, self._worker, restored
            )
        self._serves[WORKER] = self._worker.ref
        self._serves[MASTER] = self._master.ref
        self._control = Control(
            self.task, self._hello.cluster_id, self._cluster_view.tasks, self._begin_stop, self.keep,
            trusted=self._token is not None,
        )  # fmt: skip
        self._control.keeps_snapshots = store is not None
        self._serves[SERVER] = self._control.ref

    def _share_cores(self) -> None:
        """Share the cores out among the processes of this host that run tasks, unless the user has chosen."""
        chosen = self._config.intra_op_parallelism_threads
        threads = None if chosen else thread_count(1 + self._cluster_view.neighbours())
        if threads != (None if self._share is None else self._share.number):
            self._share = None if threads is None else share_blas_threads(threads)

    def _open_files(self, *, near: bool) -> None:
        """Set where kernels may open files; ``near`` if only this machine can reach the server."""
        files = self._file_roots or FileRoots(None if near else (), self.task)
        for device in self._devices:
            device.resources.files = files

    def _begin_stop(self, why: str) -> None:
        """Stop in a child, because the caller receives the answer over a link that stopping closes."""
        _ = self._children.start(self.stop(why=why), name=f"stop {self.task}")

    def _lost_push(self, step_id: int, error: OpError) -> None:
        """Fail a step whose tensors could not be delivered, which fails it on all tasks."""
        if self._worker is not None:
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
            raise FailedPreconditionError(
                f"the server of {self.task} is not started: no address yet"
            )
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
        why = self.end_reason = (
            self.end_reason or why or f"by its own program, process {os.getpid()}"
        )
        error = UnavailableError(f"{self.task} was stopped in order {why}", task=self.task)
        if self._kept is not None:
            self._kept.cancel()
        assert self._listener is not None
        registry.withdraw(self.target, self._serves[MASTER])
        await self._listener.aclose(connections=False)
        await self._stop_actors(error)
        if self._snapshots is not None:
            await self._snapshots.take()
        await self._stop_control(error)
        self._cache.say_goodbye(error.message)
        await self._cache.aclose(grace)
        await self._listener.aclose(grace=grace)
        await self._children.stop(grace)
        await self._vitals.aclose()
        if self._snapshots is None:  # else a last one may still be written, from another thread
            for device in self._devices:
                device.resources.clear_all()
        else:
            self._snapshots.close()

    def _drop(self) -> None:
        """Release what the end of the server's loop has left."""
        with contextlib.suppress(RuntimeError):  # a closed loop calls nobody
            self._stopping.set()
        if self._listener is not None:
            registry.withdraw(self.target, self._serves[MASTER])
            self._listener.abandon()
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._blas = self._share = None
        self._vitals.drop()
        if self._snapshots is not None:
            self._snapshots.take_now()
            self._snapshots.close()

    @property
    def stopping(self) -> bool:
        """Whether the server was asked to stop, or has stopped."""
        return self._stopping.is_set()

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

    async def _stop_actors(self, why: OpError) -> None:
        assert self._master is not None
        assert self._worker is not None
        await self._master.aclose(why)
        await self._worker.aclose(why)
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        # The last holder restores the library's own number of threads.
        self._blas = self._share = None

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.stop()

    def statistics(self) -> ServerStatistics:
        """Return the current counters of this server.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._master is None or self._worker is None:
            raise FailedPreconditionError(f"the server of {self.task} is not started")
        held = held_pool(self._pool, self.task)
        memory = process_memory()
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
            devices=self._worker.device_statistics,
            loop_lag=self._vitals.lag[0],
            worst_loop_lag=self._vitals.lag[1],
            pool_threads=threads if held is None else held.threads,
            overdue=0 if held is None else held.held,
            overdue_kernels="" if held is None else str(held),
            pid=os.getpid(),
            version=installed_version(),
            uptime=time.monotonic() - self._started,
            memory=memory.resident,
            peak_memory=memory.peak,
            snapshot_every=0.0 if self._snapshots is None else self._snapshots.every,
            snapshot_age=0.0 if self._snapshots is None else self._snapshots.age,
            restored_from=self.restored_from,
            open_sessions=self._master.open_sessions(),
        )

    def __repr__(self) -> str:
        where = self._listener.address if self._listener is not None else "not started"
        return f"<Server {self.task} at {where}>"


def _check_session_defaults(config: ConfigProto) -> None:
    """Refuse settings of a server that would make every session of it fail, or have no effect.

    Raises:
        InvalidArgumentError: names the setting.
    """
    refuse_local_settings(config)
    check_cost_model_settings(config)
    DeviceFilters(config.device_filters)  # refuses malformed ones
    if config.rpc_options != RPCOptions():
        raise InvalidArgumentError(
            f"a server's config has no rpc_options, got {config.rpc_options!r}: they say how a client "
            "reaches its master; the server's own TLS files are its argument security"
        )

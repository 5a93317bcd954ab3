"""What a server has while it is started: its master and worker, with their devices, threads and snapshots.

Made by ``Server`` when it starts, and ended by it. What was made is released if the rest cannot be.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.cluster.master.env import MasterEnv
from actorsession.cluster.master.master import Master
from actorsession.cluster.server.address_checks import group_host
from actorsession.cluster.server.cluster_view import ClusterView
from actorsession.cluster.server.inspector import Inspector
from actorsession.cluster.server.memory import ServerMemory, held_log
from actorsession.cluster.server.process_memory import process_memory
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.server.sidecar import Vitals
from actorsession.cluster.server.snapshots import Snapshots, SnapshotStore, restore_latest
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config.file_roots import FileRoots
from actorsession.errors import OpError
from actorsession.metrics import Histogram, HistogramCounts, mailbox_waits, round_trips
from actorsession.ops.blas_threads import BlasThreads, hold_blas_threads, share_blas_threads, thread_count
from actorsession.prometheus import MetricFamily
from actorsession.runtime.devices import make_devices
from actorsession.runtime.session_pools import server_pool
from actorsession.runtime.step_inspector import held_pool
from actorsession.runtime.step_log import ErrorLog, StepLog
from actorsession.runtime.wait_graph import MasterWaits
from actorsession.version import installed_version
from transports.host import current_host

__all__ = ["TaskActors"]


class TaskActors:
    """The actors of one task that serves.

    Args:
        settings: those of the server.
        files: where kernels may open files; by default that depends on who can reach the server.
        view: the tasks of the cluster.
        cache: the links to them.
        store: where snapshots are, if there are any.
        vitals: the heartbeat of the server.
        errors: the last errors of the server.

    Attributes:
        task: the task.
        incarnation: its incarnation.
        restored: see ``WorkerServer``.
        group_host: see ``WorkerServer``.
        master: the master.
        worker: the worker.
        inspector: answers those who look at the task.
        devices: the devices of the task.
        pool: the threads of kernels.
        errors: the last errors.
        step_log: the last steps; ``None`` if none are kept.
        memory: answers what the server remembers and holds.
        snapshots: writes the variables to files, if wanted.

    Raises:
        OpError: the snapshots cannot be restored, or the devices cannot be made.
    """

    def __init__(
        self,
        settings: ServerSettings,
        files: FileRoots | None,
        view: ClusterView,
        cache: WorkerCache,
        store: SnapshotStore | None,
        vitals: Vitals,
        errors: ErrorLog,
    ) -> None:
        config = settings.config
        self.task, self.incarnation = view.task, cache.links.hello.incarnation
        self.group_host = group_host(view.own_address)
        self._files = files
        self._view = view
        self._cache = cache
        self._vitals = vitals
        self._started = current_host().clock.monotonic()
        self._threads = config.intra_op_parallelism_threads
        self._share: BlasThreads | None = None
        self._until_end = contextlib.ExitStack()
        self.pool = server_pool(config)
        try:
            self._blas = hold_blas_threads(self._threads) if self._threads else None
            self.devices = make_devices(self.task, config.device_count)
            self.open_files(near=False)  # until the listener shows who can reach the server
            restored = None if store is None else restore_latest(store, self.devices)
            self.restored = None if restored is None else restored.to_wire()
            kept = settings.kept_steps
            self.errors, durations = errors, Histogram()
            self.step_log = StepLog(self.task, kept, self.errors, durations) if kept else None
            self._env = MasterEnv(
                self.task,
                self.incarnation,
                view,
                cache,
                config,
                settings.stats_publisher_factory,
                settings.restart_wait,
                self.step_log,
                self.errors,
                durations,
            )
            self.master = Master(self._env, settings.session_gc_seconds, settings.max_inflight_steps)
            self.worker = Worker(self, self.devices, cache, self.pool, self.errors, self.step_log)
            self.inspector = Inspector(self.task, self.master.graph, self.worker.held_state)
            self.memory = ServerMemory(self.task, self.errors, self.step_log, self.worker.held_state)
            self.snapshots: Snapshots | None = None
            if store is not None:
                every = settings.snapshot_every
                self.snapshots = Snapshots(store, self.devices, every, self.worker, restored)
        except BaseException:
            self._release_threads()
            raise

    def open_files(self, *, near: bool) -> None:
        """Set where kernels may open files; ``near`` if only this machine can reach the server."""
        files = self._files or FileRoots(None if near else (), self.task)
        for device in self.devices:
            device.resources.files = files

    def keep_log(self) -> None:
        """Keep the log of the process in memory until the end."""
        self.memory.log = self._until_end.enter_context(held_log(self.errors))

    def share_cores(self) -> None:
        """Share the cores out among the processes of this host that run tasks, unless the user has chosen."""
        processes = 1 + self._view.neighbours()
        threads = None if self._threads else thread_count(processes, current_host().processes.processors())
        if threads != (None if self._share is None else self._share.number):
            self._share = None if threads is None else share_blas_threads(threads)

    # -- WorkerServer --------------------------------------------------------------------------

    def counters(self) -> dict[str, Any]:
        """See ``WorkerServer.counters``."""
        return self.statistics().to_wire()

    def learn_tasks(self, tasks: Mapping[str, str], given_up: Sequence[str]) -> None:
        """See ``WorkerServer.learn_tasks``."""
        self._view.learn_tasks(tasks, given_up)

    def master_waits(self, most: int) -> list[MasterWaits]:
        """See ``WorkerServer.master_waits``."""
        return self.master.waits(most)

    def statistics(self) -> ServerStatistics:
        """Return the current counters of the server."""
        master, pool, snapshots = self.master, self.pool, self.snapshots
        cache = master.plan_cache()
        worker, held, memory = self.worker.counts(), held_pool(pool, self.task), process_memory()
        threads = 0 if pool is None else pool.threads
        return ServerStatistics(
            task=self.task,
            sessions=master.sessions,
            worker_sessions=worker.sessions,
            graphs=worker.graphs,
            steps=worker.steps,
            rendezvous=worker.rendezvous,
            runs=worker.runs,
            pushes=self._cache.pushes,
            master_steps=self._env.step_seconds.snapshot(),
            worker_steps=worker.step_seconds,
            mailbox_waits=mailbox_waits(),
            round_trips=round_trips(),
            pool_waits=HistogramCounts() if pool is None else pool.waits,
            pending=worker.pending,
            waiting=master.waiting,
            held=worker.held,
            unsettled=worker.unsettled,
            links=self._cache.statistics(),
            devices=worker.devices,
            loop_lag=self._vitals.lag[0],
            worst_loop_lag=self._vitals.lag[1],
            pool_threads=threads if held is None else held.threads,
            pool_busy=0 if pool is None else len(pool.running()),
            pool_waiting=0 if pool is None else pool.queued,
            overdue=0 if held is None else held.held,
            overdue_kernels="" if held is None else str(held),
            cached_plans=cache.plans,
            plan_hits=cache.hits,
            plan_misses=cache.misses,
            plan_evictions=cache.evictions,
            variables=worker.variables,
            variable_bytes=worker.variable_bytes,
            largest_variables=worker.largest_variables,
            queues=worker.queues,
            errors=self.errors.counts,
            restarts=self.memory.restarts,
            cpu_seconds=current_host().clock.process_time(),
            pid=current_host().processes.getpid(),
            version=current_host().shown_version(installed_version()),
            uptime=current_host().clock.monotonic() - self._started,
            clock=current_host().clock.time(),
            memory=memory.resident,
            peak_memory=memory.peak,
            snapshot_every=0.0 if snapshots is None else snapshots.every,
            snapshot_age=0.0 if snapshots is None else snapshots.age,
            restored_from="" if snapshots is None else snapshots.restored,
            open_sessions=master.open_sessions(),
        )

    async def metric_families(self) -> list[MetricFamily]:
        """Return the current counters for Prometheus."""
        return self.statistics().metric_families()

    # -- end -----------------------------------------------------------------------------------

    async def stop(self, why: OpError) -> None:
        """Stop the actors, whose callers are told why, and the threads."""
        await self.inspector.stop(why)
        await self.master.aclose(why)
        await self.worker.aclose(why)
        self._release_threads()

    def _release_threads(self) -> None:
        self._until_end.close()
        if self.pool is not None:
            self.pool.shutdown(wait=False)
        # The last holder restores the library's own number of threads.
        self._blas = self._share = None

    def close(self) -> None:
        """Drop the variables, or the files that they were written to."""
        if self.snapshots is None:
            for device in self.devices:
                device.resources.clear_all()
        else:  # a last one may still be written, from another thread
            self.snapshots.close()

    def drop(self) -> None:
        """Release what the end of the server's loop has left."""
        self._release_threads()
        if self.snapshots is not None:
            self.snapshots.take_now()
            self.snapshots.close()

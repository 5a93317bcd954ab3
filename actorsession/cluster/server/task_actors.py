"""What a server has while it is started: its master and worker, with their devices, threads and snapshots.

Made by ``Server`` when it starts, and ended by it. What was made is released if the rest cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.cluster.master.env import MasterEnv
from actorsession.cluster.master.master import Master
from actorsession.cluster.server.cluster_view import ClusterView
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.server.snapshots import Snapshots, SnapshotStore, restore_latest
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config.file_roots import FileRoots
from actorsession.errors import OpError
from actorsession.ops.blas_threads import BlasThreads, hold_blas_threads, share_blas_threads, thread_count
from actorsession.runtime.devices import make_devices
from actorsession.runtime.kernel_pool import processors
from actorsession.runtime.session_pools import server_pool
from transports import Hello

__all__ = ["TaskActors"]


class TaskActors:
    """The actors of one task that serves.

    Args:
        hello: the task and its incarnation.
        settings: those of the server.
        files: where kernels may open files; by default that depends on who can reach the server.
        view: the tasks of the cluster.
        cache: the links to them.
        store: where snapshots are, if there are any.
        statistics: returns the counters of the server, which its worker answers with.

    Attributes:
        master: the master.
        worker: the worker.
        devices: the devices of the task.
        pool: the threads of kernels.
        snapshots: writes the variables to files, if wanted.

    Raises:
        OpError: the snapshots cannot be restored, or the devices cannot be made.
    """

    def __init__(
        self,
        hello: Hello,
        settings: ServerSettings,
        files: FileRoots | None,
        view: ClusterView,
        cache: WorkerCache,
        store: SnapshotStore | None,
        statistics: Callable[[], dict[str, Any]],
    ) -> None:
        config = settings.config
        self._task = hello.task
        self._files = files
        self._view = view
        self._threads = config.intra_op_parallelism_threads
        self._share: BlasThreads | None = None
        self.pool = server_pool(config)
        try:
            self._blas = hold_blas_threads(self._threads) if self._threads else None
            self.devices = make_devices(self._task, config.device_count)
            self.open_files(near=False)  # until the listener shows who can reach the server
            restored = None if store is None else restore_latest(store, self.devices)
            env = MasterEnv(
                self._task,
                hello.incarnation,
                view,
                cache,
                config,
                settings.stats_publisher_factory,
                settings.restart_wait,
            )
            self.master = Master(env, settings.session_gc_seconds, settings.max_inflight_steps)
            self.worker = Worker(
                self._task,
                hello.incarnation,
                self.devices,
                cache,
                self.pool,
                statistics=statistics,
                update_cluster=view.learn_tasks,
                master_waits=self.master.waits,
                restored=None if restored is None else restored.to_wire(),
            )
            self.snapshots: Snapshots | None = None
            if store is not None:
                every = settings.snapshot_every
                self.snapshots = Snapshots(store, self.devices, every, self.worker, restored)
        except BaseException:
            self._release_threads()
            raise

    def open_files(self, *, near: bool) -> None:
        """Set where kernels may open files; ``near`` if only this machine can reach the server."""
        files = self._files or FileRoots(None if near else (), self._task)
        for device in self.devices:
            device.resources.files = files

    def share_cores(self) -> None:
        """Share the cores out among the processes of this host that run tasks, unless the user has chosen."""
        processes = 1 + self._view.neighbours()
        threads = None if self._threads else thread_count(processes, processors())
        if threads != (None if self._share is None else self._share.number):
            self._share = None if threads is None else share_blas_threads(threads)

    async def stop(self, why: OpError) -> None:
        """Stop master and worker, whose callers are told why, and the threads."""
        await self.master.aclose(why)
        await self.worker.aclose(why)
        self._release_threads()

    def _release_threads(self) -> None:
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

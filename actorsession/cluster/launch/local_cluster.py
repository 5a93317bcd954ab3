"""A cluster of processes on this machine.

``LocalCluster`` spawns ``actorsession worker`` children (so no main guard is needed), lets each
bind to an address of its own, and then sends the addresses of all tasks to all of them. By default they
communicate through sockets in a folder that only their user may enter. Children end with their parent, also
when it is killed, because their standard input ends. When a child has ended, its exit code or signal and the
last lines that it wrote are available.

What is about processes of this machine is in ``LocalSpawner``; all else is the base class's, ``ManagedCluster``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.cluster.launch.cluster_settings import ClusterSettings
from actorsession.cluster.launch.managed_cluster import ManagedCluster, checked_imports, device_counts
from actorsession.cluster.launch.socket_folder import SocketFolder
from actorsession.cluster.launch.spawner import Spawner
from actorsession.cluster.launch.task_restarts import TaskEnd
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.config import CONNECT_TIMEOUT
from actorsession.config.file_roots import path_text
from actorsession.durations import checked_seconds
from actorsession.rpc.security import shared_security
from transports import SecurityConfig

__all__ = ["LocalCluster"]


class LocalCluster(ManagedCluster[WorkerProcess]):
    """Worker processes on this machine, started and ended together.

    ``async with`` starts them in a coroutine, and a plain ``with`` in a program without an event loop, which
    uses the synchronous ``Session``; the other coroutines are for ``do`` then.

    Args:
        jobs: number of tasks of each job, such as ``{"ps": 1, "worker": 2}``.
        devices: CPU devices of each task, or its devices by type, such as ``{"TORCH_CPU": 1}``.
        start_timeout: seconds for all processes to come up.
        security: CA, certificate and key, for ``tls://`` between all processes and with sessions; the
            certificate must be valid for 127.0.0.1. By default those of the environment, if it names any.
        protocol: ``unix``, for sockets in a private folder, or ``tcp`` or ``tls``, for free ports of
            loopback. If left out ``tls`` where TLS files are given, else ``unix``.
        snapshot_dir: where all tasks keep snapshots of their variables, which a restarted task restores;
            ``None`` for no snapshots. A folder belongs to one cluster; see ``cluster_id``.
        snapshot_every: seconds between two snapshots.
        file_roots: folders in which operations may open files; all that the user may open if left out.
        imports: modules that each process imports before it serves, such as those that register operation
            types. Processes always search modules where this one does.
        log_file: the file to which all tasks append their logs; by default they are kept in memory, the last
            lines of each process.
        restart: how often each task is started again within 60 s if its process ends by itself: it is killed
            or crashes. A process that ends with exit code 0 or by SIGTERM, SIGINT, SIGHUP or SIGPIPE was
            asked to end and is not started again. Each attempt counts, also one that does not come up; the
            pauses before the attempts grow. At the limit the task stays dead, until ``restart`` is called.
        on_end: called on the cluster's loop with the end of each process that was not ended by this object,
            and with each attempt to start it again that fails.
        cluster_id: the id of the cluster, which owns the variables in ``snapshot_dir``. If left out, the
            cluster goes on with those that a cluster without an id of its own has left there, and refuses
            those of any other.
        kept_steps: how many of the last steps each task remembers; 0 for none, 1,000 if left out.

    Raises:
        ValueError: for no task at all, a number below 0, or another protocol.
        TypeError: for modules that are not given as a sequence of names, or a number of restarts that is no
            integer.
        InvalidArgumentError: for a duration out of range.
        ImportError: for a page without the extra ``dashboard``.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        devices: int | Mapping[str, int] = 1,
        start_timeout: float = CONNECT_TIMEOUT,
        security: SecurityConfig | None = None,
        protocol: str | None = None,
        snapshot_dir: str | os.PathLike[str] | None = None,
        snapshot_every: float = 60.0,
        file_roots: Sequence[str | os.PathLike[str]] = (),
        imports: Sequence[str] = (),
        log_file: str | os.PathLike[str] | None = None,
        restart: int = 0,
        on_end: Callable[[TaskEnd], object] | None = None,
        cluster_id: str | None = None,
        kept_steps: int | None = None,
        dashboard: bool = False,
    ) -> None:
        settings = ClusterSettings(
            start_timeout=start_timeout,
            security=security,
            restart=restart,
            on_end=on_end,
            cluster_id=cluster_id,
            snapshot_dir=snapshot_dir,
            dashboard=dashboard,
        )
        if protocol not in (None, "unix", "tcp", "tls"):
            raise ValueError(f"a local cluster's protocol is unix, tcp or tls, got {protocol!r:.100}")
        more: tuple[str, ...] = ()
        if snapshot_dir is not None:
            every = str(checked_seconds("snapshot_every", snapshot_every))
            more = ("--snapshot-dir", path_text(snapshot_dir, "snapshot_dir"), "--snapshot-every", every)
        for root in file_roots:
            more += ("--file-root", os.path.abspath(path_text(root, "a file root")))
        for name in checked_imports(imports):
            more += ("--import", name)
        if log_file is not None:
            more += ("--log-file", os.path.abspath(log_file))
        if kept_steps is not None:
            more += ("--kept-steps", str(kept_steps))
        if restart:
            more += ("--restart-wait", str(CONNECT_TIMEOUT))
        super().__init__(jobs, LocalSpawner(protocol, security, device_counts(devices), more), settings)


class LocalSpawner(Spawner[WorkerProcess]):
    """Spawns the processes of a local cluster.

    Args:
        protocol: see ``LocalCluster``.
        security: TLS files of all processes.
        devices: devices of each task, by type.
        options: further options of the command of each process.

    Attributes:
        folder: that of their sockets, while there is one.
    """

    def __init__(
        self, protocol: str | None, security: SecurityConfig | None, devices: Mapping[str, int], options: Sequence[str]
    ) -> None:
        self._protocol = protocol
        self._security = security
        self._devices = devices
        self._options = options
        self.folder: SocketFolder | None = None

    async def prepare(self, processes: Sequence[WorkerProcess], deadline: Deadline) -> None:
        """Make the folder of the sockets, if there are any."""
        if self._protocol is None:
            self._protocol = "tls" if self._security or shared_security() else "unix"
        if self._protocol == "unix":
            self.folder = SocketFolder()

    def new_process(self, job: str, index: int, together: int) -> WorkerProcess:
        """See ``Spawner.new_process``."""
        return WorkerProcess(job, index, self._security, together)

    def new_address(self, job: str, index: int) -> str:
        """See ``Spawner.new_address``."""
        if self.folder is not None:
            return self.folder.address(f"{job}-{index}")
        return f"{self._protocol}://127.0.0.1:0"

    async def spawn(self, process: WorkerProcess, cluster: Mapping[str, Any]) -> None:
        """See ``Spawner.spawn``."""
        await process.start(cluster, self.cluster_id, self._devices, self._options)

    def release_now(self) -> None:
        """Remove the folder of the sockets."""
        folder, self.folder = self.folder, None
        if folder is not None:
            folder.remove()

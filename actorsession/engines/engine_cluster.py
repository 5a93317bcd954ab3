"""The base class of clusters whose processes an engine places: Ray, Dask, and whatever owns machines.

A ``ManagedCluster`` over a ``Launcher``, which gets its orders from ``EngineSpawner``. The engine decides
where a task runs; whether it is started again is decided here, as for a ``LocalCluster``, because only its
cluster can tell the other tasks where it is. Tensors never go through the engine.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.cluster import SecurityConfig
from actorsession.cluster.launch.cluster_settings import ClusterSettings
from actorsession.cluster.launch.managed_cluster import ManagedCluster, checked_imports, device_counts
from actorsession.cluster.launch.spawner import Spawner
from actorsession.cluster.launch.task_restarts import TaskEnd
from actorsession.durations import checked_seconds
from actorsession.engines.engine_process import EngineProcess
from actorsession.engines.launcher import Launcher, TaskOrder
from actorsession.rpc.security import shared_security

__all__ = ["EngineCluster"]

_TOKEN_BYTES = 32


class EngineCluster(ManagedCluster[EngineProcess]):
    """A cluster whose processes an engine places; has the interface of ``LocalCluster``.

    Args:
        launcher: the engine's part.
        jobs: number of tasks of each job, such as ``{"ps": 1, "worker": 8}``.
        resources: what the engine is to reserve for each task of a job, in the engine's words.
        devices: CPU devices of each task, or its devices by type.
        start_timeout: seconds for all tasks to come up, with the time that the engine takes to find places.
        security: TLS files, by the names that they have on all nodes; by default those of the environment.
        snapshot_dir: where all tasks keep snapshots of their variables; a folder that all nodes have.
        snapshot_every: seconds between two snapshots.
        cluster_id: the id of the cluster, which owns the variables in ``snapshot_dir``; see ``LocalCluster``.
        file_roots: folders in which operations may open files; none if left out.
        imports: modules that each task imports before it serves.
        restart: how often each task is started again within 60 s if it ends by itself; see ``LocalCluster``.
        on_end: called on the cluster's loop with the end of each task that was not ended by this object.
        keep: seconds after which tasks end by themselves when nothing has been heard of this process.
        dashboard: whether a process of this machine serves the page of the cluster; see ``LocalCluster``.

    Raises:
        ValueError: for no task at all, a number below 0, or resources of a job that is not there.
        TypeError: for modules that are not given as a sequence of names, or a number of restarts that is no
            integer.
    """

    def __init__(
        self,
        launcher: Launcher,
        jobs: Mapping[str, int],
        *,
        resources: Mapping[str, Mapping[str, float]] | None = None,
        devices: int | Mapping[str, int] = 1,
        start_timeout: float = 120.0,
        security: SecurityConfig | None = None,
        snapshot_dir: str | os.PathLike[str] | None = None,
        snapshot_every: float = 60.0,
        file_roots: Sequence[str | os.PathLike[str]] = (),
        imports: Sequence[str] = (),
        restart: int = 0,
        on_end: Callable[[TaskEnd], object] | None = None,
        keep: float = 60.0,
        cluster_id: str | None = None,
        dashboard: bool = False,
    ) -> None:
        security = security or shared_security()
        reserved = {job: dict(of_task) for job, of_task in (resources or {}).items()}
        unknown = sorted(reserved.keys() - jobs.keys())
        if unknown:
            raise ValueError(f"resources are given for {unknown}; the jobs are {sorted(jobs)}")
        self._token = secrets.token_hex(_TOKEN_BYTES)
        settings = ClusterSettings(
            start_timeout=start_timeout,
            security=security,
            token=self._token,
            restart=restart,
            on_end=on_end,
            cluster_id=cluster_id,
            snapshot_dir=snapshot_dir,
            dashboard=dashboard,
        )
        common: dict[str, Any] = {
            "token": self._token,
            "scheme": "tcp" if security is None else "tls",
            "keep": checked_seconds("keep", keep),
            "devices": device_counts(devices),
            "restart_wait": start_timeout if restart else 0.0,
            "snapshot_dir": None if snapshot_dir is None else os.fspath(snapshot_dir),
            "snapshot_every": checked_seconds("snapshot_every", snapshot_every),
            "file_roots": tuple(os.fspath(root) for root in file_roots),
            "imports": checked_imports(imports),
            "security": security,
        }
        super().__init__(jobs, EngineSpawner(launcher, reserved, common, settings.start_timeout), settings)

    @property
    def token(self) -> str:
        """The secret of this cluster, for clients in other processes (``ACTORSESSION_TOKEN``)."""
        return self._token


class EngineSpawner(Spawner[EngineProcess]):
    """Has the processes of a cluster placed by an engine.

    Args:
        launcher: the engine's part.
        resources: what the engine is to reserve for each task of a job.
        common: what the orders of all tasks have, by the names of ``TaskOrder``.
        timeout: seconds for a task to come up.
    """

    def __init__(
        self,
        launcher: Launcher,
        resources: Mapping[str, Mapping[str, float]],
        common: Mapping[str, Any],
        timeout: float,
    ) -> None:
        self._launcher = launcher
        self._resources = resources
        self._common = common
        self._timeout = timeout

    def _order(self, job: str, index: int) -> TaskOrder:
        reserved = self._resources.get(job, {})
        return TaskOrder(job=job, index=index, resources=reserved, cluster_id=self.cluster_id, **self._common)

    async def prepare(self, processes: Sequence[EngineProcess], deadline: Deadline) -> None:
        """Have the engine reserve what the tasks need."""
        await self._launcher.open([self._order(process.job, process.index) for process in processes], deadline)

    def new_process(self, job: str, index: int, together: int) -> EngineProcess:
        """See ``Spawner.new_process``."""
        return EngineProcess(self._launcher, self._order(job, index), self._timeout)

    def new_address(self, job: str, index: int) -> str:
        """See ``Spawner.new_address``."""
        # The task listens at an address of its node and sends it; nobody else takes one of port 0.
        return f"{self._common['scheme']}://127.0.0.1:0"

    async def spawn(self, process: EngineProcess, cluster: Mapping[str, Any]) -> None:
        """See ``Spawner.spawn``."""
        process.start(cluster)

    async def release(self) -> None:
        """Give back what the engine has reserved."""
        await self._launcher.close()

    def release_now(self) -> None:
        """Do the same without waiting."""
        self._launcher.close_now()

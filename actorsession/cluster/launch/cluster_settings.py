"""The settings that all clusters have which this process starts and ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import NoneType

from actorsession.cluster.launch.restart_limit import checked_restart
from actorsession.cluster.launch.task_restarts import TaskEnd
from actorsession.durations import checked_seconds
from actorsession.records import dataclass
from transports import SecurityConfig

__all__ = ["ClusterSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What all clusters have besides their tasks.

    Attributes:
        start_timeout: seconds for all processes to come up.
        security: TLS files of all processes and of this one.
        token: the secret that all processes and this one share, if they need one.
        restart: how often a task is started again within 60 s; see ``LocalCluster``.
        on_end: called on the cluster's loop with the end of each process; see ``LocalCluster``.
        cluster_id: the id of the cluster; see ``LocalCluster``.
        snapshot_dir: where all tasks keep snapshots, if they do.
        dashboard: whether a process serves the page of the cluster; see ``LocalCluster``.

    Raises:
        ValueError: for a number of restarts below 0.
        TypeError: for a number of restarts that is no integer, or an id that is no text.
        InvalidArgumentError: for a duration out of range.
    """

    start_timeout: float
    security: SecurityConfig | None
    token: str | None = None
    restart: int
    on_end: Callable[[TaskEnd], object] | None
    cluster_id: str | None
    snapshot_dir: str | os.PathLike[str] | None
    dashboard: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "start_timeout", checked_seconds("start_timeout", self.start_timeout))
        object.__setattr__(self, "restart", checked_restart(self.restart))
        if not isinstance(self.cluster_id, (str, NoneType)):
            raise TypeError(f"a cluster id is a string, got {self.cluster_id!r:.100}")

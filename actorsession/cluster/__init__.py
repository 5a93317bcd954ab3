"""Many processes as one runtime: servers, masters and workers.

A ``Server`` is one task: it listens, and holds a master (which plans and runs the sessions that clients
open here) and a worker (which runs partitions on this task's devices). Tensors go from worker to worker
directly, pushed by their producer.
"""

from __future__ import annotations

from actorsession.cluster.admin.admin_client import (
    read_cluster,
    read_statistics,
    read_why,
    stop_server,
    update_cluster,
)
from actorsession.cluster.launch.local_cluster import LocalCluster
from actorsession.cluster.resolvers import (
    ClusterResolver,
    FileClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
)
from actorsession.cluster.server.server import Server
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterDef, ClusterSpec, JobDef
from transports import SecurityConfig

__all__ = [
    "ClusterDef",
    "ClusterResolver",
    "ClusterSpec",
    "FileClusterResolver",
    "JobDef",
    "LocalCluster",
    "SecurityConfig",
    "Server",
    "ServerStatistics",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "read_cluster",
    "read_statistics",
    "read_why",
    "stop_server",
    "update_cluster",
]

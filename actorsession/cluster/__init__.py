"""Many processes as one runtime: servers, masters and workers.

A ``Server`` is one task: it listens, and holds a master (which plans and runs the sessions that clients
open here) and a worker (which runs partitions on this task's devices). Tensors go from worker to worker
directly, pushed by their producer.
"""

from __future__ import annotations

from actorsession.cluster.local import LocalCluster
from actorsession.cluster.server import Server
from actorsession.cluster.spec import ClusterSpec
from actorsession.cluster.statistics import ServerStatistics, read_statistics

__all__ = ["ClusterSpec", "LocalCluster", "Server", "ServerStatistics", "read_statistics"]

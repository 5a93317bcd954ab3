# Written by scripts/generated.py.
"""Many processes as one runtime: servers, masters and workers.

A ``Server`` is one task: it listens, and holds a master (which plans and runs the sessions that clients
open here) and a worker (which runs partitions on this task's devices). Tensors go from worker to worker
directly, pushed by their producer.
"""

from actorsession.cluster.admin.admin_client import (
read_cluster as read_cluster, read_errors as read_errors, read_log as read_log, read_statistics as
read_statistics, read_steps as read_steps, read_variables as read_variables, read_why as read_why,
stop_server as stop_server, update_cluster as update_cluster
)
from actorsession.cluster.kubernetes_resolver import KubernetesClusterResolver as KubernetesClusterResolver
from actorsession.cluster.launch.cluster_interface import (
Cluster as Cluster, TaskStatus as TaskStatus
)
from actorsession.cluster.launch.local_cluster import LocalCluster as LocalCluster
from actorsession.cluster.launch.task_restarts import TaskEnd as TaskEnd
from actorsession.cluster.resolvers import (
ClusterResolver as ClusterResolver, FileClusterResolver as FileClusterResolver,
SimpleClusterResolver as SimpleClusterResolver, TFConfigClusterResolver as TFConfigClusterResolver
)
from actorsession.cluster.server.memory import (
TaskErrors as TaskErrors, TaskVariable as TaskVariable
)
from actorsession.cluster.server.server import Server as Server
from actorsession.cluster.server.settings import ServerSettings as ServerSettings
from actorsession.cluster.server.statistics import (
OpenSession as OpenSession, QueueSize as QueueSize, ServerStatistics as ServerStatistics,
VariableSize as VariableSize
)
from actorsession.cluster.server.task_rates import (
TaskRates as TaskRates, rates_between as rates_between
)
from actorsession.cluster.slurm_resolver import SlurmClusterResolver as SlurmClusterResolver
from actorsession.cluster.spec import (
ClusterDef as ClusterDef, ClusterSpec as ClusterSpec, JobDef as JobDef
)
from transports import SecurityConfig as SecurityConfig


__all__ = [
"Cluster", "ClusterDef", "ClusterResolver", "ClusterSpec", "FileClusterResolver", "JobDef",
"KubernetesClusterResolver", "LocalCluster", "OpenSession", "QueueSize", "SecurityConfig", "Server",
"ServerSettings", "ServerStatistics", "SimpleClusterResolver", "SlurmClusterResolver",
"TFConfigClusterResolver", "TaskEnd", "TaskErrors", "TaskRates", "TaskStatus", "TaskVariable",
"VariableSize", "rates_between", "read_cluster", "read_errors", "read_log", "read_statistics",
"read_steps", "read_variables", "read_why", "stop_server", "update_cluster"
]

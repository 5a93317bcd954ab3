"""Many processes as one runtime: servers, masters and workers.

A ``Server`` is one task: it listens, and holds a master (which plans and runs the sessions that clients
open here) and a worker (which runs partitions on this task's devices). Tensors go from worker to worker
directly, pushed by their producer.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

# The public names by module; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".admin.admin_client": (
        "read_cluster read_errors read_log read_statistics read_steps read_variables read_why stop_server "
        "update_cluster"
    ),
    ".launch.cluster_interface": "Cluster TaskStatus",
    ".launch.local_cluster": "LocalCluster",
    ".launch.task_restarts": "TaskEnd",
    ".resolvers": ("ClusterResolver FileClusterResolver SimpleClusterResolver TFConfigClusterResolver"),
    ".kubernetes_resolver": "KubernetesClusterResolver",
    ".server.memory": "TaskErrors TaskVariable",
    ".server.server": "Server",
    ".server.settings": "ServerSettings",
    ".server.statistics": "OpenSession QueueSize ServerStatistics VariableSize",
    ".server.task_rates": "TaskRates rates_between",
    ".slurm_resolver": "SlurmClusterResolver",
    ".spec": "ClusterDef ClusterSpec JobDef",
    "transports": "SecurityConfig",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

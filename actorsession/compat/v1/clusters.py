"""``ClusterSpec`` with TensorFlow's message as its plain form; the rest is ``actorsession.ClusterSpec``."""

from __future__ import annotations

from typing import Any

from actorsession import cluster as plain
from actorsession.interop.cluster_protos import ClusterDef, JobDef

__all__ = ["ClusterSpec"]


class ClusterSpec(plain.ClusterSpec):
    """``actorsession.ClusterSpec``, with TensorFlow's message.

    Args:
        cluster: the jobs, as for ``actorsession.ClusterSpec``, or as a message.
    """

    def __init__(self, cluster: Any) -> None:
        super().__init__(cluster)

    def as_cluster_def(self) -> ClusterDef:  # type: ignore[override]
        """Return the jobs as a message, sorted by name."""
        jobs = super().as_cluster_def().job
        return ClusterDef(job=[JobDef(name=job.name, tasks=job.tasks) for job in jobs])

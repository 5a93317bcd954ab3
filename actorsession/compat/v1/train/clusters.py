"""``ClusterSpec`` with TensorFlow's message as its plain form; the rest is ``actorsession.ClusterSpec``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorsession import cluster as plain
from actorsession.errors import RequestTypeError, RequestValueError
from actorsession.interop.cluster_protos import ClusterDef, JobDef

__all__ = ["ClusterSpec", "task_of"]


def task_of(known: Mapping[str, Any]) -> tuple[Any, int]:
    """Return the job, ``None`` if it is not there, and the index of the task that ``TF_CONFIG`` names.

    Args:
        known: the object of the variable.

    Raises:
        TypeError: if the task is no object.
        ValueError: if its index is no whole number.
    """
    task = known.get("task", {})
    if not isinstance(task, dict):
        raise RequestTypeError(f'TF_CONFIG: a task is an object with "type" and "index", got {task!r:.100}')
    index = task.get("index", 0)
    try:
        return task.get("type"), int(index)
    except (TypeError, ValueError, OverflowError):
        raise RequestValueError(f"TF_CONFIG: the index of a task is a number, got {index!r:.100}") from None


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

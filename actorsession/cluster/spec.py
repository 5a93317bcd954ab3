"""``ClusterSpec``: which tasks a cluster has, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from actorsession.graph.device import task_name

__all__ = ["ClusterSpec", "full_address"]

_JOB = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def full_address(address: str) -> str:
    """An address with its scheme: ``host:port`` means ``tcp://host:port``."""
    return address if "://" in address else f"tcp://{address}"


class ClusterSpec:
    """The jobs of a cluster and the address of each of their tasks.

    Args:
        cluster: from job name to a list of addresses, or to a dict from task index to address; or
            another spec. Addresses are ``host:port`` or have a scheme.

    Raises:
        TypeError: for another form.
        ValueError: for a job name that no device could be named after, or a number below 0.
    """

    def __init__(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
            return
        if not isinstance(cluster, Mapping):
            raise TypeError(f"a cluster is a dict from job name to tasks, got {cluster!r:.100}")
        self._jobs = {_job(job): _tasks(job, tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of all jobs, sorted."""
        return sorted(self._jobs)

    def num_tasks(self, job: str) -> int:
        """How many tasks a job has.

        Raises:
            ValueError: for an unknown job.
        """
        return len(self._of(job))

    def task_indices(self, job: str) -> list[int]:
        """The indices of a job's tasks, sorted.

        Raises:
            ValueError: for an unknown job.
        """
        return sorted(self._of(job))

    def task_address(self, job: str, index: int) -> str:
        """The address of a task as it was given.

        Raises:
            ValueError: for an unknown job or task.
        """
        tasks = self._of(job)
        if index not in tasks:
            raise ValueError(f"no task {index} in job {job!r}; it has {sorted(tasks)}")
        return tasks[index]

    def job_tasks(self, job: str) -> list[str | None]:
        """The addresses of a job by index; ``None`` where a sparse job has no task.

        Raises:
            ValueError: for an unknown job.
        """
        tasks = self._of(job)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def tasks(self) -> dict[str, str]:
        """Full address by task name, for all tasks in order."""
        return {
            task_name(job, index): full_address(self._jobs[job][index])
            for job in self.jobs
            for index in sorted(self._jobs[job])
        }

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """The jobs as lists of addresses, as dicts where indices are missing."""
        out: dict[str, list[str] | dict[int, str]] = {}
        for job, tasks in sorted(self._jobs.items()):
            dense = sorted(tasks) == list(range(len(tasks)))
            out[job] = [tasks[i] for i in sorted(tasks)] if dense else dict(sorted(tasks.items()))
        return out

    def _of(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"no job {job!r} in the cluster; it has {self.jobs}")
        return self._jobs[job]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(tuple(self.tasks().items()))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()})"


def _job(job: Any) -> str:
    if not isinstance(job, str):
        raise TypeError(f"a job name is a string, got {job!r:.100}")
    if not _JOB.fullmatch(job):
        raise ValueError(f"a job name is a letter, then letters, digits and '_'; got {job!r:.100}")
    return job


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"the tasks of job {job!r} are a list or dict of addresses, got {tasks!r:.100}"
        )
    for index, address in tasks.items():
        if isinstance(index, bool) or not isinstance(index, int) or not isinstance(address, str):
            raise TypeError(
                f"job {job!r}: task {index!r} at {address!r} is not an index with an address"
            )
        if index < 0:
            raise ValueError(f"job {job!r}: tasks are numbered from 0, got {index}")
    return dict(tasks)

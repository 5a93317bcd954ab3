"""``ClusterSpec``: the tasks of a cluster and their addresses.

Holds the value that names a cluster in servers, resolvers, launchers and device setters, and its two plain
forms (``as_dict``, ``as_cluster_def``). Imports only task names. Invariants: a spec is immutable, and each of
its jobs can be part of a device name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from actorsession.errors import RequestTypeError, RequestValueError
from actorsession.graph.device import DeviceSpec, task_name
from actorsession.records import dataclass

__all__ = ["DEFAULT_SCHEME", "ClusterDef", "ClusterSpec", "JobDef", "full_address"]

DEFAULT_SCHEME = "tcp"
"""The scheme of a plain ``host:port``."""

_JOB = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[0-9]+")
_MAX_TASK = 2**31 - 1  # task numbers are 32 bits wide, as in TensorFlow


def full_address(address: str, scheme: str = DEFAULT_SCHEME) -> str:
    """Return an address with its scheme: ``host:port`` means ``tcp://host:port``."""
    return address if "://" in address else f"{scheme}://{address}"


@dataclass(frozen=True, slots=True)
class JobDef:
    """One job of a ``ClusterDef``.

    Attributes:
        name: its name.
        tasks: address by task index.
    """

    name: str
    tasks: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ClusterDef:
    """A cluster in the form of TensorFlow's message of that name.

    Attributes:
        job: the jobs, by name.
    """

    job: tuple[JobDef, ...] = ()


class ClusterSpec:
    """The jobs of a cluster and the address of each of their tasks.

    A value: specs with the same tasks are equal, in whichever order and form they were given. A spec is also
    equal to the dict from job to a dict from index to address, as TensorFlow's is.

    Args:
        cluster: a dict from job name to a list of addresses, or to a dict from task index to address; or
            another spec, a ``ClusterDef``, or a message with its fields. Addresses are ``host:port`` or have
            a scheme. An index may be a number in a string, as in the keys of JSON; bytes are decoded.

    Raises:
        TypeError: for another form.
        ValueError: for a job name that cannot be part of a device name, an index that is not a number from 0
            to 2**31 - 1, or one that is given twice.
    """

    def __init__(self, cluster: ClusterSpec | ClusterDef | Mapping[str, Any]) -> None:
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
            return
        if hasattr(cluster, "job"):  # a ``ClusterDef`` or a message with its fields
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, Mapping):
            raise RequestTypeError(
                "a cluster is a dict from job name to a list of addresses, or to a dict from index to "
                f"address; got {cluster!r:.100}"
            )
        self._jobs = {}
        for given, tasks in cluster.items():
            job = _job(given)
            self._jobs[job] = _tasks(job, tasks)

    @classmethod
    def of_tasks(cls, tasks: Mapping[str, str]) -> ClusterSpec:
        """Return the cluster of tasks by full task name, as ``tasks`` returns them.

        Raises:
            ValueError: for a name that is not a task name.
        """
        jobs: dict[str, dict[int, str]] = {}
        for name, address in tasks.items():
            spec = DeviceSpec.parse(name)
            if spec.job is None or spec.task is None or task_name(spec.job, spec.task) != name:
                raise RequestValueError(f"a task is called /job:NAME/replica:0/task:NUMBER, got {name!r:.100}")
            jobs.setdefault(spec.job, {})[spec.task] = address
        return cls(jobs)

    @property
    def jobs(self) -> list[str]:
        """The names of all jobs, in the order in which they were given."""
        return list(self._jobs)

    def num_tasks(self, job: str) -> int:
        """Return the number of tasks of a job.

        Raises:
            ValueError: for an unknown job.
        """
        return len(self._of(job))

    def task_indices(self, job: str) -> list[int]:
        """Return the indices of a job's tasks, sorted.

        Raises:
            ValueError: for an unknown job.
        """
        return sorted(self._of(job))

    def task_address(self, job: str, index: int) -> str:
        """Return the address of a task as it was given, without a scheme if it had none.

        Raises:
            ValueError: for an unknown job or task.
        """
        tasks = self._of(job)
        if index not in tasks:
            raise RequestValueError(f"no task {index} in job {job!r}; it has {sorted(tasks)}")
        return tasks[index]

    def job_tasks(self, job: str) -> list[str | None]:
        """Return the addresses of a job by index; ``None`` where a sparse job has no task.

        Raises:
            ValueError: for an unknown job.
        """
        tasks = self._of(job)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def tasks(self, scheme: str = DEFAULT_SCHEME) -> dict[str, str]:
        """Return the full address of each task by task name, sorted by job and index.

        Args:
            scheme: the scheme of addresses that have none.
        """
        return {
            task_name(job, index): full_address(tasks[index], scheme)
            for job, tasks in sorted(self._jobs.items())
            for index in sorted(tasks)
        }

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Return the jobs as lists of addresses; as dicts where indices are missing or there is no task."""
        out: dict[str, list[str] | dict[int, str]] = {}
        for job, tasks in self._jobs.items():
            dense = bool(tasks) and max(tasks) + 1 == len(tasks)
            out[job] = [tasks[i] for i in sorted(tasks)] if dense else dict(sorted(tasks.items()))
        return out

    def as_cluster_def(self) -> ClusterDef:
        """Return the jobs as a ``ClusterDef``, sorted by name."""
        return ClusterDef(tuple(JobDef(job, dict(sorted(t.items()))) for job, t in sorted(self._jobs.items())))

    def _of(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise RequestValueError(f"no job {job!r} in the cluster; it has {sorted(self._jobs)}")
        return self._jobs[job]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __hash__(self) -> int:
        return hash(tuple(self.tasks().items()))

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"


def _job(given: Any) -> str:
    job = _text(given)
    if job is None:
        raise RequestTypeError(f"a job name is a string, got {given!r:.100}")
    if not _JOB.fullmatch(job):
        raise RequestValueError(f"a job name is a letter, then letters, digits and '_'; got {job!r:.100}")
    return job


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise RequestTypeError(f"the tasks of job {job!r} are a list or dict of addresses, got {tasks!r:.100}")
    out: dict[int, str] = {}
    for given, where in tasks.items():
        index, address = _index(job, given), _text(where)
        if address is None:
            raise RequestTypeError(f"job {job!r}: the address of task {index} is a string, got {where!r}")
        if index in out:
            raise RequestValueError(f"job {job!r}: task {index} is given twice")
        out[index] = address
    return out


def _index(job: str, given: Any) -> int:
    if isinstance(given, str) and len(given) < 20 and _NUMBER.fullmatch(given):
        given = int(given)
    elif isinstance(given, str):
        raise RequestValueError(f"job {job!r}: tasks have numbers, got {given!r:.100}")
    if isinstance(given, bool) or not isinstance(given, int):
        raise RequestTypeError(f"job {job!r}: tasks have whole numbers, got {given!r:.100}")
    if not 0 <= given <= _MAX_TASK:
        raise RequestValueError(f"job {job!r}: tasks are numbered from 0 to {_MAX_TASK}, got {given}")
    return given


def _text(given: Any) -> str | None:
    """Return text, decoded if it is bytes; ``None`` for anything else."""
    if isinstance(given, bytes):
        return given.decode(errors="replace")
    return given if isinstance(given, str) else None

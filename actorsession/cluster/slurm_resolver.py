"""``SlurmClusterResolver``: the cluster of a Slurm job, from the environment that Slurm gives its processes.

Slurm starts the same command once per task of a step and numbers these by rank. The ranks are split among the
jobs of the cluster in order, and each task listens on its node at a port that follows from its place there.
So all tasks compute the same cluster and ask nobody.

Invariant: the environment is read at each request. In a step the variables of the step are read, and those of
the job in its batch script, where a client of a step with all tasks finds the same cluster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from actorsession.cluster.node_lists import expand_counts, expand_node_list
from actorsession.cluster.resolvers import DescribedClusterResolver
from actorsession.whole_numbers import is_index

__all__ = ["PORT_BASE", "SlurmClusterResolver"]

T = TypeVar("T")

PORT_BASE = 8888
"""The port of the first task of each node by default, as in TensorFlow's resolver."""

_MAX_PORT = 65535


class _Variable(NamedTuple):
    """One fact that Slurm's environment states.

    Attributes:
        names: the variables that may hold it; the first that is set counts.
        example: a valid value, for errors.
    """

    names: Sequence[str]
    example: str


_NODES = _Variable(("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"), "names such as n[01-04],login")
_TASKS_PER_NODE = _Variable(
    ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"), "the number of tasks of each node, such as 4(x2),1"
)
_NTASKS = _Variable(("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"), "the number of tasks, such as 8")
_RANK = _Variable(("SLURM_PROCID",), "the rank of a task, a number from 0")
_DISTRIBUTION = _Variable(("SLURM_DISTRIBUTION",), "block, cyclic or plane, by which a rank's node can be computed")
_PLANE_SIZE = _Variable(("SLURM_DIST_PLANESIZE",), "the number of ranks in a plane, such as 2")


class SlurmClusterResolver(DescribedClusterResolver):
    """The cluster of the Slurm job or step in which this process runs.

    Args:
        jobs: the number of tasks of each job, such as ``{"ps": 1, "worker": 7}``; the ranks are split among
            them in this order. By default all are tasks of ``worker``.
        port_base: the port of the first task on each node; the next one there has the next port.
        task_type: overrides the job of this process.
        task_id: overrides its index in the job.
        rpc_layer: the scheme of the addresses that ``master`` returns.

    Raises:
        ValueError: for jobs without a task, or a port that does not exist.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = PORT_BASE,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        super().__init__(task_type, task_id, rpc_layer)
        if jobs is not None and (min(jobs.values(), default=0) < 0 or not sum(jobs.values())):
            raise ValueError(f"a cluster has at least one task, got {dict(jobs)}")
        if not 0 < port_base <= _MAX_PORT:
            raise ValueError(f"port_base is a port from 1 to {_MAX_PORT}, got {port_base}")
        self._jobs = None if jobs is None else dict(jobs)
        self._port_base = port_base

    @property
    def _where(self) -> str:
        return "Slurm's environment"

    def _read(self) -> Mapping[str, Any]:
        addresses = self._addresses()
        jobs = self._split(len(addresses))
        cluster: dict[str, list[str]] = {}
        names: list[tuple[str, int]] = []
        for job, count in jobs.items():
            cluster[job] = addresses[len(names) : len(names) + count]
            names += [(job, index) for index in range(count)]
        rank = _read(_RANK, _number, lacking=-1)
        if rank >= len(names):
            raise ValueError(f"SLURM_PROCID is {rank}, and the ranks are 0 to {len(names) - 1}")
        task = {"type": names[rank][0], "index": names[rank][1]} if rank >= 0 else {}
        return {"cluster": cluster, "task": task}

    def _addresses(self) -> list[str]:
        """Return the address of each rank."""
        nodes = _read(_NODES, expand_node_list)
        counts = _read(_TASKS_PER_NODE, expand_counts)
        if len(nodes) != len(counts):
            name, value = _found(_TASKS_PER_NODE)
            raise ValueError(
                f"{name} is {value!r:.100}, which is {len(counts)} nodes, and {' is '.join(_found(_NODES))}, "
                f"which is {len(nodes)}; it is one number for each node"
            )
        ntasks = _read(_NTASKS, _number, lacking=sum(counts))
        if ntasks != sum(counts):
            raise ValueError(
                f"{_found(_NTASKS)[0]} is {ntasks}, and {' is '.join(_found(_TASKS_PER_NODE))}, which is "
                f"{sum(counts)} tasks; both are of the same step"
            )
        if self._port_base + max(counts) - 1 > _MAX_PORT:
            raise ValueError(
                f"port_base is {self._port_base}, and a node has {max(counts)} tasks; their ports end at {_MAX_PORT}"
            )
        used = [self._port_base] * len(nodes)
        addresses = []
        for node in _nodes_of_ranks(counts, _plane_size(max(counts))):
            addresses.append(f"{nodes[node]}:{used[node]}")
            used[node] += 1
        return addresses

    def _split(self, ntasks: int) -> dict[str, int]:
        jobs = {"worker": ntasks} if self._jobs is None else self._jobs
        if sum(jobs.values()) != ntasks:
            raise ValueError(
                f"the jobs {jobs} have {sum(jobs.values())} tasks, and Slurm has started {ntasks}; ask "
                f"for --ntasks {sum(jobs.values())}"
            )
        return jobs


def _nodes_of_ranks(counts: Sequence[int], plane: int) -> list[int]:
    """Return the node of each rank: in turn each node takes ``plane`` ranks, until it has its number."""
    left = list(counts)
    ranks: list[int] = []
    while any(left):
        for node, free in enumerate(left):
            taken = min(free, plane)
            ranks += [node] * taken
            left[node] -= taken
    return ranks


def _plane_size(most: int) -> int:
    """Return how many ranks a node takes in its turn, if it takes ``most`` in all."""
    # ``srun`` sets it, and chooses a cyclic distribution by itself for one task on each node.
    kind = _read(_DISTRIBUTION, str, lacking="block")
    sizes: dict[str, Callable[[], int]] = {
        "block": lambda: most,
        "cyclic": lambda: 1,
        "plane": lambda: max(1, _read(_PLANE_SIZE, _number)),
    }
    try:
        # The rest says how tasks are bound to the sockets and cores of a node.
        return sizes[re.split("[:,]", kind)[0]]()
    except KeyError:
        raise _invalid(_DISTRIBUTION) from None


def _number(text: str) -> int:
    if not is_index(text):
        raise ValueError(f"{text!r:.100} is no number from 0")
    return int(text)


def _found(variable: _Variable) -> tuple[str, str]:
    """Return the name of the variable that is set, and its value; empty if none is."""
    for name in variable.names:
        if value := os.environ.get(name, ""):
            return name, value
    return "", ""


def _read(variable: _Variable, convert: Callable[[str], T], *, lacking: T | None = None) -> T:
    """Return what a variable states.

    Args:
        variable: the variable.
        convert: converts its text.
        lacking: the result if it is not set; an error by default.

    Raises:
        ValueError: if it is not set or not valid; names it and its value.
    """
    name, value = _found(variable)
    if not name:
        if lacking is not None:
            return lacking
        names = " or ".join(variable.names)
        raise ValueError(f"{names} is not set, as Slurm sets it in its jobs and steps to {variable.example}")
    try:
        return convert(value)
    except ValueError as exc:
        raise _invalid(variable, f": {exc}") from None


def _invalid(variable: _Variable, reason: str = "") -> ValueError:
    name, value = _found(variable)
    return ValueError(f"{name} is {value!r:.200}{reason}; valid is {variable.example}")

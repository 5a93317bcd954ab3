"""What a cluster asks of what makes its processes: where a task may listen, its process, and its start.

``LocalCluster`` has a ``Spawner`` of processes on this machine, the clusters on engines have one over their
``Launcher``. All else about processes is ``TaskProcesses``'. Imports the interface of processes only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.cluster.launch.cluster_interface import TaskProcess

__all__ = ["Spawner"]

P = TypeVar("P", bound=TaskProcess)


class Spawner(ABC, Generic[P]):
    """Makes and starts the processes of one cluster.

    Attributes:
        cluster_id: the id of the cluster; set before the first process is made.
    """

    cluster_id = ""

    async def prepare(self, processes: Sequence[P], deadline: Deadline) -> None:
        """Do what comes before the first processes are started."""

    @abstractmethod
    def new_process(self, job: str, index: int, together: int) -> P:
        """Return the process of a task, not started; ``together`` is the number of all processes."""

    @abstractmethod
    def new_address(self, job: str, index: int) -> str:
        """Return the address at which a new task is to listen, which may have port 0."""

    @abstractmethod
    async def spawn(self, process: P, cluster: Mapping[str, Any]) -> None:
        """Begin to start a process, with the addresses that are known; ``announced`` waits for its own."""

    async def release(self) -> None:
        """Give back what ``prepare`` has taken, after the end of all processes; may be called twice."""
        self.release_now()

    @abstractmethod
    def release_now(self) -> None:
        """Do the same without waiting."""

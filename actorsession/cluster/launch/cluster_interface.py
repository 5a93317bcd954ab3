"""The interface of all clusters that a program starts, and what each must know of a task's process.

``Cluster`` is what a program sees, whether the processes run on this machine (``LocalCluster``) or where an
engine puts them (``engines``): to move, a program changes the line that makes the cluster. ``TaskProcess`` is
what ``ManagedCluster`` and ``TaskRestarts`` need of the process of a task. Imports specs and statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeVar

from actorsession.cluster.admin.admin_client import ToldTasks
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.records import dataclass

__all__ = ["Cluster", "TaskProcess", "TaskStatus"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """The process of one task, as its cluster sees it.

    Attributes:
        task: the task's name.
        address: where its server listens, or did last.
        node: where its process runs, in the words of what started it: a host name, or an engine's worker.
        alive: whether it runs.
        restarts: how often the task was started again because its process had ended by itself.
        fate: how the process ended, with its last lines; "it runs" while it does.
    """

    task: str
    address: str
    node: str
    alive: bool
    restarts: int
    fate: str


class TaskProcess(Protocol):
    """The process of one task.

    Attributes:
        job: the job of its task.
        index: the index of the task in its job.
        task: its task name.
        address: the address that it listens at, once it is up.
        sequel: what became of its task after its end, for ``fate``; set by whoever decides that.
        lost: what was lost with it because its last snapshot could not be written; "" for nothing.
    """

    job: str
    index: int
    task: str
    address: str
    sequel: str
    lost: str

    async def announced(self) -> None:
        """Wait until it listens; then ``address`` is known.

        Raises:
            OpError: if it ends first; the message has its last lines.
        """

    async def tell_cluster(self, now: Callable[[], ToldTasks]) -> ToldTasks:
        """Send it the addresses of all tasks, and wait until it has registered them.

        Args:
            now: returns the tasks as they are.

        Returns:
            What it has registered.

        Raises:
            OpError: if it ends first.
        """

    async def stop(self, grace: float) -> None:
        """End it, by force if it does not end within ``grace`` seconds; may be called twice."""

    def kill_now(self) -> None:
        """Kill it without waiting for anything."""

    async def wait_ended(self) -> int:
        """Wait for its end, for any reason, and return its exit code; see ``exit_code``."""

    async def last_words(self) -> str:
        """Return a sentence on its end, see ``fate``; "" if it is alive. May be awaited on any loop."""

    async def log(self) -> Sequence[str]:
        """Return the last lines that it wrote."""

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    @property
    def exit_code(self) -> int | None:
        """The exit code, the negative number of the signal that killed it, or ``None`` while it runs."""

    @property
    def fate(self) -> str:
        """How it ended: the reason, its sequel, its last lines."""

    @property
    def node(self) -> str:
        """Where it runs."""


class Cluster(Protocol):
    """A cluster whose processes a program starts and ends.

    ``async with`` starts it in a coroutine, and a plain ``with`` in a program without an event loop, where
    ``do`` runs its coroutines.
    """

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their real addresses."""

    def target(self, job: str, index: int = 0) -> str:
        """Return the address of a task, for sessions that use it as their master."""

    def status(self) -> dict[str, TaskStatus]:
        """Return the state of each task's process, by task name."""

    async def start(self) -> None:
        """Start all processes and wait until each has received the addresses of the others."""

    async def statistics(self) -> dict[str, ServerStatistics]:
        """Return the counters of every task whose process runs, by task name."""

    async def logs(self, job: str, index: int = 0) -> Sequence[str]:
        """Return the last lines that the process of a task wrote."""

    async def scale(self, job: str, count: int) -> None:
        """Start or end tasks of a job until it has ``count``; sessions follow between two steps."""

    def process(self, job: str, index: int = 0) -> TaskProcess:
        """Return the process of a task."""

    async def add(self, job: str) -> TaskProcess:
        """Start one more task of a job and notify all others; sessions use it from their next plan on."""

    async def restart(self, job: str, index: int = 0) -> Any:
        """Start a task again, with another incarnation; kill its process if it runs."""

    async def remove(self, job: str, index: int = 0) -> None:
        """Remove a task from the cluster: notify all others, then end its process."""

    async def stop(self) -> None:
        """End all processes; may be called twice."""

    def kill_now(self) -> None:
        """Kill all processes without waiting, for a program that ends at once."""

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of a cluster that was entered by a plain ``with`` to its end."""

    def close(self) -> object:
        """End a cluster that was entered by a plain ``with``; may be called twice.

        Returns:
            What a coroutine may await.
        """

    def __enter__(self) -> Cluster: ...

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...

    async def __aenter__(self) -> Cluster: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...

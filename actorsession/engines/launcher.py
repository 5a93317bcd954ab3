"""What a cluster asks of an engine: to place tasks, to tell of their ends, and to end them.

An engine's part is a ``Launcher``, which places tasks, and a ``Placement`` for each task that it has placed.
All else, such as addresses, restarts and the reports of ends, is ``EngineCluster``'s. An engine's own
package is imported by its launcher alone.

Invariant: the token of an order reaches the task's process through the engine's own call or a file that only
its user may read, never a command line, an environment that others can list, or a log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from actorsession.actors.deadline import Deadline
from actorsession.cluster import SecurityConfig
from actorsession.graph.device import task_name
from actorsession.records import dataclass

__all__ = ["Launcher", "Placement", "TaskFate", "TaskOrder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOrder:
    """All that the process of a task needs to serve it.

    Attributes:
        job: its job.
        index: its index in the job.
        resources: what the engine is to reserve for it, in the engine's words.
        cluster_id: the id of the cluster.
        token: the secret of the cluster; never logged.
        cluster: the tasks and their addresses, as far as they are known, in the form of ``ClusterSpec``. A
            task that was there before has its former address, which it takes again if it can.
        scheme: the scheme of the addresses, ``tcp`` or ``tls``.
        keep: seconds that its server serves without being asked for, see ``Server.keep``.
        devices: its devices by type; one CPU if there are none.
        restart_wait: see ``Server``.
        snapshot_dir: see ``Server``.
        snapshot_every: see ``Server``.
        file_roots: see ``Server``.
        imports: modules to import before it serves.
        security: its TLS files, by the names that they have where it runs.
    """

    job: str
    index: int
    resources: Mapping[str, float]
    cluster_id: str
    token: str = field(repr=False)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    scheme: str = "tcp"
    keep: float = 60.0
    devices: Mapping[str, int] = field(default_factory=dict)
    restart_wait: float = 0.0
    snapshot_dir: str | None = None
    snapshot_every: float = 60.0
    file_roots: Sequence[str] = ()
    imports: Sequence[str] = ()
    security: SecurityConfig | None = None

    @property
    def task(self) -> str:
        """The task's name."""
        return task_name(self.job, self.index)


@dataclass(frozen=True, slots=True)
class TaskFate:
    """What has become of the process of a task, as far as its engine knows.

    Attributes:
        clean: whether it was asked to end.
        how: a phrase, such as "Ray says: its node was lost", with the last lines on standard error behind
            ``LAST_LINES`` (``rpc.exit_reports``) where the engine has them.
        ended: whether it has ended; if the engine finds it serving, or cannot tell, it may only be out of
            reach.
    """

    clean: bool
    how: str
    ended: bool = True


class Placement(Protocol):
    """One task that an engine has placed, and that has begun to serve."""

    @property
    def address(self) -> str:
        """The address that its server has bound."""

    @property
    def node(self) -> str:
        """Where it runs, in the engine's words."""

    async def end(self, grace: float) -> str | None:
        """End it, by force if it does not end within ``grace`` seconds.

        Must be bounded in time, do nothing for a task that has ended, and raise nothing for an engine that
        does not answer.

        Returns:
            What was lost because its last snapshot could not be written, if anything was.
        """

    def end_now(self) -> None:
        """End it without waiting for anything, as far as the engine can."""

    async def fate(self) -> TaskFate:
        """Return what has become of it; called when its server does not answer, and bounded in time."""

    async def log(self) -> Sequence[str]:
        """Return the last lines that it wrote; none if they cannot be had any more."""


class Launcher(Protocol):
    """Places the tasks of one cluster on an engine."""

    @property
    def engine(self) -> str:
        """The engine's name, for messages."""

    async def open(self, orders: Sequence[TaskOrder], deadline: Deadline) -> None:
        """Connect to the engine, and reserve what the first tasks need.

        Args:
            orders: the tasks that are placed next, all at once.
            deadline: when to give up.

        Raises:
            ImportError: if the engine's package is not installed; names the extra.
            UnavailableError: if the engine cannot be reached.
            ResourceExhaustedError: if it does not have what is asked; says what was asked and what there is.
        """

    async def place(self, order: TaskOrder, deadline: Deadline) -> Placement:
        """Start the process of a task, and wait until its server listens.

        Called for several tasks at once, and again for a task that has ended. Leaves nothing behind if it
        fails or is cancelled.

        Raises:
            UnavailableError: if it does not come up; includes its own error.
            ResourceExhaustedError: if there is no place for it in time; says what was asked and what there
                is.
        """

    async def close(self) -> None:
        """Give back all reservations, and end the connection if ``open`` made it; may be called twice."""

    def close_now(self) -> None:
        """Give back without waiting what would outlive this process, for a program that ends at once."""

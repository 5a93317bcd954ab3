"""The data types of session membership: a task of a session, the master's environment, and cluster changes.

Plain values, and the parsing of a cluster that a client brings along. ``membership`` works with them;
servers make a ``MasterEnv`` for their master. Imports refs, specs and the device finder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Protocol

from actorsession.actors.ref import Ref
from actorsession.cluster.master.device_discovery import FoundTask
from actorsession.cluster.master.stats_publisher import StatsPublisherFactory
from actorsession.cluster.spec import ClusterSpec
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceAttributes, device_name
from actorsession.metrics import Histogram
from actorsession.records import dataclass
from actorsession.runtime.step_log import ErrorLog, StepLog

__all__ = [
    "Changes",
    "ClusterMembership",
    "MasterEnv",
    "Member",
    "OwnCluster",
    "brought_along",
    "described_devices",
    "unwatch",
]


class ClusterMembership(Protocol):
    """The tasks of the cluster, as one of its servers knows them."""

    @property
    def address(self) -> str:
        """The address that the server listens at."""

    @property
    def version(self) -> int:
        """A number that changes with the tasks."""

    @property
    def given_up(self) -> Collection[str]:
        """The tasks that have ended and are not started again."""

    def tasks(self) -> Mapping[str, str]:
        """Return the tasks of the cluster with their last known addresses."""


@dataclass(frozen=True, slots=True)
class MasterEnv:
    """The environment of a master: its task, its cluster and the workers.

    Attributes:
        task: the master's task.
        incarnation: the incarnation of the task.
        cluster: the tasks of the cluster.
        workers: the workers of the tasks.
        default_session_config: applies to each session where its own settings have their defaults.
        stats_publisher_factory: makes what receives the reports of steps; ``None`` for none.
        restart_wait: seconds for which a step waits for a lost task that it needs, before it begins.
        step_log: keeps the last steps; ``None`` if none are kept.
        errors: keeps the last errors.
        step_seconds: how long the steps of all sessions took, from their begin to the answer for their client.
    """

    task: str
    incarnation: int
    cluster: ClusterMembership
    workers: WorkerCacheInterface
    default_session_config: ConfigProto = field(default_factory=ConfigProto)
    stats_publisher_factory: StatsPublisherFactory | None = None
    restart_wait: float = 0.0
    step_log: StepLog | None = None
    errors: ErrorLog = field(default_factory=lambda: ErrorLog(""))
    step_seconds: Histogram = field(default_factory=Histogram)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a session's tasks.

    Attributes:
        added: tasks that have joined.
        removed: tasks that have left.
        restarted: tasks that have come back without the session's state, usually with another incarnation.
        left: the members that were removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    left: tuple[Member, ...] = field(default=(), repr=False)

    @property
    def stale(self) -> frozenset[str]:
        """The tasks whose plans are stale."""
        return frozenset((*self.removed, *self.restarted))

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.restarted)


@dataclass(slots=True, eq=False)
class Member:
    """A task of the session.

    Attributes:
        found: the status that the task reported.
        address: the address of the task.
        worker: the worker of the task.
        lapsed: whether the worker's side of the session is not open: not yet, or lost with the link that it was opened
            over.
        unwatch: unregisters the callback for the end of that link.
    """

    found: FoundTask
    address: str
    worker: Ref
    lapsed: bool = False
    unwatch: Callable[[], None] | None = None


@dataclass(slots=True)
class OwnCluster:
    """A cluster that the client brought along, and the name of the master in it."""

    task: str
    tasks: dict[str, str] = field(default_factory=dict)


def described_devices(task: str) -> list[DeviceAttributes]:
    """Return the devices of a task that has not answered, as far as the description of a cluster shows.

    Every task has a CPU; its incarnation counts as 0 until the task reports it.
    """
    return [DeviceAttributes(name=device_name(task, "CPU:0"), device_type="CPU", incarnation=0)]


def unwatch(member: Member) -> None:
    """Unregister the callback for the end of the link to a member."""
    if member.unwatch is not None:
        member.unwatch()
        member.unwatch = None


def brought_along(config: ConfigProto, env: MasterEnv, target: str) -> OwnCluster | None:
    """Return the cluster that a session brings along, if it brings one.

    Raises:
        InvalidArgumentError: if the target is not exactly one task of it, or has the name that it was started
            with.
    """
    if config.cluster_def is None:
        return None
    tasks = ClusterSpec(config.cluster_def).tasks()
    ours = [task for task, address in tasks.items() if address in {target, env.cluster.address}]
    if len(ours) != 1:
        named = ", ".join(f"{task} at {address}" for task, address in tasks.items()) or "no task"
        raise InvalidArgumentError(
            f"the target of a session that brings its own cluster along is exactly one task of it; "
            f"{target or env.cluster.address} is {len(ours)} of them: {named}"
        )
    if ours[0] == env.task:
        # As in TensorFlow: two clusters that share a name for one server would be confused.
        raise InvalidArgumentError(
            "The ClusterSpec names the job and task index to be the same names that were provided when the "
            f"server booted: {env.task}. A session that brings its own cluster along gives its target "
            "another job or another task number"
        )
    return OwnCluster(ours[0], tasks)

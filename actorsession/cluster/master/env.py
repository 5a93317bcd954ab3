"""What the members of a session are made of: a task of it, its home, and the changes of a cluster.

Plain values, and the reading of a cluster that a client brings along. ``session_members`` works with them,
servers and masters make a ``MasterEnv``; it imports refs, specs and what the device finder has found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.master.device_discovery import FoundTask
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceAttributes
from actorsession.records import dataclass

__all__ = [
    "Changes", "MasterEnv", "Member", "OwnCluster", "brought_along", "described_devices", "unwatch",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MasterEnv:
    """What a master knows of itself and its cluster.

    Attributes:
        task: its task.
        incarnation: of this life of it.
        address: where it listens.
        addresses: of all tasks of the cluster, now.
        version: a number that changes with them.
        worker: from a task name or ``peer_key``, and the life that is meant, to its worker's ref.
        look: asks whoever knows the cluster, if somebody does, so that ``addresses`` are of now.
        watch: from a task name or ``peer_key`` and a callback for the end of the link to it, to what takes
            the callback back.
    """

    task: str
    incarnation: int
    address: Callable[[], str]
    addresses: Callable[[], Mapping[str, str]]
    version: Callable[[], int]
    worker: Callable[[str, int | None], Ref]
    look: Callable[[Deadline], Awaitable[str]]
    watch: Callable[[str, Callable[[], None]], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of a session's tasks.

    Attributes:
        added: tasks that have joined.
        removed: tasks that have left.
        restarted: tasks that have come back with another incarnation, and without their state.
        left: the members that were removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    left: tuple[Member, ...] = field(default=(), repr=False)

    @property
    def stale(self) -> frozenset[str]:
        """The tasks whose plans are of no use any more."""
        return frozenset((*self.removed, *self.restarted))

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.restarted)


@dataclass(slots=True, eq=False)
class Member:
    """A task of the session.

    Attributes:
        found: what it said of itself.
        address: where it is.
        worker: its worker.
        lapsed: whether its side of the session went with the link that it was opened over.
        unwatch: takes back the watch of that link.
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
    """Return the devices of a task that has not answered, as far as the description of a cluster says.

    Every task has a CPU; its incarnation is 0 until the task says which it is.
    """
    return [DeviceAttributes(name=f"{task}/device:CPU:0", device_type="CPU", incarnation=0)]


def unwatch(member: Member) -> None:
    """Let go of the link to a member."""
    if member.unwatch is not None:
        member.unwatch()
        member.unwatch = None


def brought_along(config: ConfigProto, home: MasterEnv, target: str) -> OwnCluster | None:
    """Return the cluster that a session brings along, if it does."""
    if config.cluster_def is None:
        return None
    tasks = ClusterSpec(config.cluster_def).tasks()
    ours = [task for task, address in tasks.items() if address in {target, home.address()}]
    if len(ours) != 1:
        named = ", ".join(f"{task} at {address}" for task, address in tasks.items()) or "no task"
        raise InvalidArgumentError(
            f"the target of a session that brings its own cluster along is exactly one task of it; "
            f"{target or home.address()} is {len(ours)} of them: {named}"
        )
    return OwnCluster(ours[0], tasks)

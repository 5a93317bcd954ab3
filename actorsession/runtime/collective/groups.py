"""Groups: which devices take part in the collectives of a key, and in which order.

A device joins a group when its first node of that group runs. The group is complete when as many devices
have joined as it has members, and stays so. ``GroupTable`` is the table of one process; in a cluster the
table of one task, the group leader, serves all of them.

The members of a group are in one step, or in steps of several sessions. The latter share a rendezvous of
their own, ``SharedExchanges``, until one of the steps fails; then the group is formed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol, TypeAlias

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.graph.device import DeviceSpec
from actorsession.records import dataclass
from actorsession.runtime.collective.buffers import BufferPool
from actorsession.runtime.collective.group_ends import GroupEnds
from actorsession.runtime.rendezvous import Rendezvous
from transports.host import current_host

__all__ = ["Group", "GroupResolver", "GroupTable", "Joined", "Member", "SharedExchanges"]


@dataclass(frozen=True, slots=True)
class Member:
    """A device of a group.

    Attributes:
        device: its full name.
        incarnation: its incarnation.
        host: the name or address under which other members reach its process; "" if values may not leave it but by
            the links of the cluster.
    """

    device: str
    incarnation: int
    host: str = ""

    @property
    def task(self) -> str:
        """The task of the device."""
        return self.device.rpartition("/")[0]


class SharedExchanges(Protocol):
    """What the steps of several sessions share that meet in a group, at one task."""

    def begin(self, instance: int, device: str) -> int:
        """Count an execution of an instance that begins at a device of this task; return its number.

        The n-th executions at all devices meet.
        """

    def finish(self, instance: int, device: str) -> None:
        """Record that the execution that has begun last is over, whatever became of it."""

    @property
    def rendezvous(self) -> Rendezvous:
        """The rendezvous through which the members' values pass."""

    def abandon(self, where: str, error: OpError) -> None:
        """End the exchanges at all members, because a step here that takes part has failed.

        Args:
            where: the member and the instance, for the message.
            error: the error of the step.
        """


@dataclass(frozen=True, slots=True)
class Group:
    """A complete group.

    Attributes:
        key: its key.
        members: in order of rank.
        number: drawn when it was completed; another one of the same key has another number.
        shared: what its members share if they are in steps of several sessions; ``None`` if all are in one.
        ranks: rank of each device.
    """

    key: int
    members: tuple[Member, ...]
    number: int = 0
    shared: SharedExchanges | None = None
    ranks: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Number the members."""
        ranks = {member.device: rank for rank, member in enumerate(self.members)}
        object.__setattr__(self, "ranks", ranks)


Joined: TypeAlias = Callable[[Group | OpError], None]
"""Called once with the complete group, or with the error for which it cannot become complete."""


class GroupResolver(Protocol):
    """How the steps of one session find the members of groups."""

    buffers: BufferPool
    """The memory of the results of their collectives."""
    ends: GroupEnds
    """The ends here of groups that their devices make by libraries of their own."""
    host: str
    """See ``Member.host``."""

    def join(self, key: int, size: int, member: Member, joined: Joined) -> None:
        """Join a group, and call ``joined`` when it is complete; at once if it is already.

        Args:
            key: key of the group.
            size: number of its members.
            member: the device that joins; it may join repeatedly.
            joined: called in the thread of the step, or of whoever completes the group.
        """

    def forget(self, joined: Joined) -> None:
        """Do not call ``joined`` any more, because its step has ended."""


@dataclass(slots=True)
class _Forming:
    """A group that is not complete.

    Attributes:
        size: number of its members.
        members: those that have joined, by device.
        waiting: whom to tell.
    """

    size: int
    members: dict[str, Member] = field(default_factory=dict)
    waiting: list[Joined] = field(default_factory=list)


class GroupTable:
    """The groups of one session in one process, or of one scope at a group leader; a ``GroupResolver``.

    Not thread-safe: the steps of a session that meet in a group run in one thread.

    Args:
        host: see ``Member.host``.
    """

    def __init__(self, host: str = "") -> None:
        self.buffers = BufferPool()
        self.ends = GroupEnds()
        self.host = host
        self._forming: dict[int, _Forming] = {}
        self._complete: dict[int, Group] = {}

    def join(self, key: int, size: int, member: Member, joined: Joined, retired: int = 0) -> None:
        """See ``GroupResolver.join``.

        A device that comes back with another incarnation begins its group anew, and so does one that knows
        that the group of this number has ended.
        """
        self.retire(key, retired)
        complete = self._complete.get(key)
        if complete is not None:
            rank = complete.ranks.get(member.device)
            if rank is not None and complete.members[rank] == member:
                joined(complete if len(complete.members) == size else _sizes(complete, size, member))
                return
            if rank is None:
                joined(_stranger(complete, size, member))
                return
            del self._complete[key]
        forming = self._forming.setdefault(key, _Forming(size))
        if forming.size != size:
            self._fail(key, _sizes(forming, size, member), joined)
            return
        forming.members[member.device] = member
        forming.waiting.append(joined)
        if len(forming.members) == size:
            self._finish(key, forming)

    def forget(self, joined: Joined) -> None:
        """See ``GroupResolver.forget``."""
        for key, forming in list(self._forming.items()):
            if joined in forming.waiting:
                forming.waiting.remove(joined)
            if not forming.waiting:
                del self._forming[key]

    def retire(self, key: int, number: int) -> None:
        """Let a complete group be formed anew, unless it was already."""
        complete = self._complete.get(key)
        if complete is not None and complete.number == number:
            del self._complete[key]

    def _finish(self, key: int, forming: _Forming) -> None:
        del self._forming[key]
        members = sorted(forming.members.values(), key=lambda m: _order(m.device))
        group = self._complete[key] = Group(key, tuple(members), current_host().entropy.randbits(62) + 1)
        for joined in forming.waiting:
            joined(group)

    def _fail(self, key: int, error: OpError, joined: Joined) -> None:
        forming = self._forming.pop(key)
        for each in (*forming.waiting, joined):
            each(type(error)(error.message))  # one for each, which will name its own node


def _order(device: str) -> tuple[str, int, int, str, int]:
    """Return a key by which devices are in the order of their tasks and numbers."""
    spec = DeviceSpec.parse(device)
    return (spec.job or "", spec.replica or 0, spec.task or 0, spec.device_type or "", spec.device_index or 0)


def _sizes(group: _Forming | Group, size: int, member: Member) -> OpError:
    members = group.members
    first = next(iter(members)) if isinstance(group, _Forming) else group.members[0].device
    other = group.size if isinstance(group, _Forming) else len(members)
    return InvalidArgumentError(
        f"the members of a group agree on its size: {first} has {other}, {member.device} has {size}"
    )


def _stranger(group: Group, size: int, member: Member) -> OpError:
    devices = ", ".join(group.ranks)
    return InvalidArgumentError(
        f"group {group.key} is complete with {devices}; {member.device} asks to join it as one of {size}. "
        "A group has the same devices in all of its instances"
    )

"""Groups of collectives over several tasks: one task, the group leader, keeps the table.

TensorFlow's collective parameter resolution. A client graph has one leader and groups of its own, so that a
graph that is registered anew, after a task has restarted, finds its members anew. A member asks the leader
once for each group and remembers the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actorsession.actors.deadline import NEVER
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.errors import AbortedError, OpError, from_exception
from actorsession.messages.worker import CompleteGroup, GroupCompleted
from actorsession.runtime.collective.groups import Group, GroupTable, Joined, Member

__all__ = ["LedGroups", "complete_group"]


def complete_group(table: GroupTable, message: CompleteGroup) -> asyncio.Future[GroupCompleted]:
    """Return the leader's answer to a member: it comes when the group is complete.

    Cancelling the future withdraws the member if it was the only request of its group.
    """
    answer: asyncio.Future[GroupCompleted] = asyncio.get_running_loop().create_future()

    def joined(found: Group | OpError) -> None:
        if answer.done():
            return
        if isinstance(found, OpError):
            answer.set_exception(found)
        else:
            members = found.members
            answer.set_result(
                GroupCompleted(
                    devices=[m.device for m in members],
                    incarnations=[m.incarnation for m in members],
                )
            )

    answer.add_done_callback(lambda _: table.forget(joined))
    table.join(message.group, message.size, Member(message.device, message.incarnation), joined)
    return answer


class LedGroups:
    """The groups of a client graph at a task that is not their leader; a ``GroupResolver``.

    Args:
        session_handle: the session.
        groups: name of the groups of the client graph.
        leader: returns the worker of the leader.
        children: own the requests.
    """

    def __init__(
        self, session_handle: str, groups: str, leader: Callable[[], Ref], children: Children
    ) -> None:
        self._handle = session_handle
        self._groups = groups
        self._leader = leader
        self._children = children
        self._known: dict[tuple[int, str], Group] = {}
        self._asking: dict[Joined, asyncio.Task[None]] = {}

    def join(self, key: int, size: int, member: Member, joined: Joined) -> None:
        """See ``GroupResolver.join``."""
        known = self._known.get((key, member.device))
        if known is not None and len(known.members) == size:
            joined(known)
            return
        message = CompleteGroup(
            session_handle=self._handle, groups=self._groups, group=key, size=size,
            device=member.device, incarnation=member.incarnation,
        )  # fmt: skip
        asking = self._children.start(self._ask(message, joined), name=f"join group {key}")
        self._asking[joined] = asking
        asking.add_done_callback(lambda _: self._asking.pop(joined, None))

    def forget(self, joined: Joined) -> None:
        """See ``GroupResolver.forget``."""
        asking = self._asking.pop(joined, None)
        if asking is not None:
            asking.cancel()

    async def _ask(self, message: CompleteGroup, joined: Joined) -> None:
        try:
            # The step has a limit, and its end cancels the request.
            answer = await self._leader().ask(message, NEVER)
            members = zip(answer.devices, answer.incarnations, strict=True)
            group = Group(message.group, tuple(Member(*member) for member in members))
        except Exception as exc:
            joined(from_exception(exc))
            return
        if message.device not in group.ranks:
            joined(AbortedError(f"{message.device} is not a member of group {message.group}"))
            return
        self._known[message.group, message.device] = group
        joined(group)

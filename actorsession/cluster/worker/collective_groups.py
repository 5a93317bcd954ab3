"""Groups of collectives over several tasks: one task, the group leader, keeps the table.

TensorFlow's collective parameter resolution. A scope is a name under which members find each other. Each
client graph has a scope of its own, so that a graph that is registered anew, after a task has restarted,
finds its members anew. Graphs of several sessions with one ``collective_graph_key`` share a scope; the
exchanges of their groups outlast a step, and end when one of the steps that take part in them fails. The
leader's answer to one member is remembered, and answers all members of that graph at that task.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from actorsession.actors.deadline import NEVER
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable, SessionPeers, WorkerRendezvous
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    UnavailableError,
    error_from_wire,
    error_to_wire,
    from_exception,
)
from actorsession.messages.worker import CompleteGroup, EndGroup, GroupCompleted
from actorsession.runtime.collective.buffers import BufferPool
from actorsession.runtime.collective.group_ends import GroupEnds
from actorsession.runtime.collective.groups import Group, GroupTable, Joined, Member

__all__ = ["LedGroups", "TaskGroups", "complete_group", "shared_scope"]

_SHARED = "collective_graph_key "


def shared_scope(collective_graph_key: int) -> str:
    """Return the scope of the graphs of several sessions with one key."""
    return f"{_SHARED}{collective_graph_key}"


def complete_group(table: GroupTable, message: CompleteGroup) -> asyncio.Future[GroupCompleted]:
    """Return the leader's answer to a member: it comes when the group is complete.

    Cancelling the future withdraws the member if it was the only request of its group.
    """
    answer: asyncio.Future[GroupCompleted] = asyncio.get_running_loop().create_future()

    def joined(group: Group | OpError) -> None:
        if answer.done():
            return
        if isinstance(group, OpError):
            answer.set_exception(group)
        else:
            members = group.members
            answer.set_result(
                GroupCompleted(
                    devices=[m.device for m in members],
                    incarnations=[m.incarnation for m in members],
                    hosts=[m.host for m in members],
                    number=group.number,
                )
            )

    answer.add_done_callback(lambda _: table.forget(joined))
    member = Member(message.device, message.incarnation, message.host)
    table.join(message.group, message.size, member, joined, message.retired)
    return answer


def _is_answered_by(message: CompleteGroup, group: Group) -> bool:
    """Return whether a group is the one that a member asks for."""
    same = message.group == group.key and message.size == len(group.members)
    return same and Member(message.device, message.incarnation, message.host) in group.members


def _is_execution(item: Any) -> bool:
    return isinstance(item, list) and [*map(type, item)] == [int, str, int]


class LedGroups:
    """The groups of a client graph whose leader is asked by messages; a ``GroupResolver``.

    Args:
        scope: the scope.
        leader: returns the worker of the leader.
        children: own the requests.
        share: returns a group with its exchanges, or ``None`` if these have ended; for scopes of several
            sessions.
    """

    def __init__(
        self,
        scope: str,
        leader: Callable[[], Ref],
        children: Children,
        share: Callable[[Group], Group | None] = lambda group: group,
        host: str = "",
    ) -> None:
        self.buffers = BufferPool()
        self.ends = GroupEnds()
        self.host = host
        self._scope = scope
        self._leader = leader
        self._children = children
        self._share = share
        self._known: dict[int, Group] = {}
        self._asking: dict[Joined, tuple[CompleteGroup, asyncio.Task[None]]] = {}

    def join(self, key: int, size: int, member: Member, joined: Joined) -> None:
        """See ``GroupResolver.join``."""
        message = CompleteGroup(
            scope=self._scope,
            group=key,
            size=size,
            device=member.device,
            incarnation=member.incarnation,
            host=member.host,
            retired=0,
        )
        known = self._known.get(key)
        if known is not None and _is_answered_by(message, known):
            group = self._share(known)
            if group is not None:
                joined(group)
                return
            message = replace(message, retired=known.number)
        asking = self._children.start(self._ask(message, joined), name=f"join group {key}")
        self._asking[joined] = message, asking
        asking.add_done_callback(lambda _: self._asking.pop(joined, None))

    def forget(self, joined: Joined) -> None:
        """See ``GroupResolver.forget``."""
        _, asking = self._asking.pop(joined, (None, None))
        if asking is not None:
            asking.cancel()

    async def _ask(self, message: CompleteGroup, joined: Joined) -> None:
        try:
            group = await self._completed(message)
        except Exception as exc:
            joined(from_exception(exc))
            return
        if message.device not in group.ranks:
            joined(AbortedError(f"{message.device} is not a member of group {message.group}"))
            return
        self._known[message.group] = group
        joined(group)
        # If the group ended before the leader's answers to them, other members in the same step would join
        # the next one, which the member that has failed does not come to.
        answered = [j for j, (asks, _) in self._asking.items() if _is_answered_by(asks, group)]
        for other in answered:
            if other is not joined and other in self._asking:
                self.forget(other)
                other(group)

    async def _completed(self, message: CompleteGroup) -> Group:
        while True:
            # The step has a limit, and its end cancels the request.
            answer = await self._leader().ask(message, NEVER)
            members = [Member(*m) for m in zip(answer.devices, answer.incarnations, answer.hosts, strict=True)]
            group = self._share(Group(message.group, tuple(members), answer.number))
            if group is not None:
                return group
            message = replace(message, retired=answer.number)


class _Exchanges:
    """What the steps of several sessions share that meet in a group, at one task; a ``SharedExchanges``."""

    def __init__(
        self, scope: str, group: Group, rendezvous: WorkerRendezvous, end: Callable[[_Exchanges, OpError], None]
    ) -> None:
        self.scope = scope
        self.group = group
        self.rendezvous = rendezvous
        self._executed: Counter[tuple[int, str]] = Counter()
        self._under_way: dict[tuple[int, str], int] = {}  # the numbers of executions
        self._last: Callable[[], None] | None = None  # called when none is under way any more
        self.leaders: dict[str, WorkerCacheInterface] = {}
        self.sessions: set[str] = set()
        self.watched: dict[str, Callable[[], None]] = {}  # by the other members' tasks: ends the watch of the link
        self.ended = False
        self._end = end

    def begin(self, instance: int, device: str) -> int:
        """See ``SharedExchanges.begin``."""
        number = self._under_way[instance, device] = self._executed[instance, device]
        self._executed[instance, device] += 1
        return number

    def finish(self, instance: int, device: str) -> None:
        """See ``SharedExchanges.finish``."""
        self._under_way.pop((instance, device), None)
        if self._last is not None and not self._under_way:
            last, self._last = self._last, None
            last()

    @property
    def executed(self) -> list[Any]:
        """The executions here, for ``EndGroup.left``."""
        return [[instance, device, n] for (instance, device), n in self._executed.items()]

    def end_after(self, left: Sequence[Any], end: Callable[[], None]) -> None:
        """Call ``end`` when what is under way here is over; at once if it needs a member that has left.

        Args:
            left: the executions of that member.
            end: ends these exchanges.
        """
        least: dict[int, int] = {}
        for instance, _, number in left:
            least[instance] = min(number, least.get(instance, number))
        if self._under_way and all(n < least.get(i, 0) for (i, _), n in self._under_way.items()):
            self._last = end
        else:
            end()

    @property
    def is_over(self) -> bool:
        """Whether nothing may begin here any more."""
        return self.ended or self._last is not None or self.rendezvous.aborted is not None

    def close(self) -> None:
        """Record that the exchanges have ended."""
        self.ended, self._last = True, None
        for unwatch in self.watched.values():
            unwatch()
        self.watched.clear()

    def abandon(self, where: str, error: OpError) -> None:
        """See ``SharedExchanges.abandon``."""
        if self.ended:
            return  # which may be why the step has failed
        keeps = isinstance(error, InvalidArgumentError | UnavailableError)
        kind = type(error) if keeps else AbortedError
        why = f"failed: {error.message}"
        is_late = isinstance(error, DeadlineExceededError) and error.node is None
        if isinstance(error, CancelledError) or is_late:
            why = "left, because its step was cancelled or exceeded its limit"
        self._end(self, kind(f"{where} has {why}", task=error.task))


class TaskGroups:
    """The groups at one task: those whose scopes it leads, and those in which steps of several sessions meet.

    Args:
        table: the rendezvous of the worker.
    """

    def __init__(self, table: RendezvousTable) -> None:
        self._table = table
        self._led: dict[str, GroupTable] = {}
        self._exchanges: dict[int, _Exchanges] = {}

    # -- scopes that the task leads ------------------------------------------------------------

    def lead(self, scope: str, groups: GroupTable) -> None:
        """Lead the scope of a graph, until ``stop_leading``."""
        self._led[scope] = groups

    def stop_leading(self, scope: str) -> None:
        """Stop leading a scope."""
        self._led.pop(scope, None)

    def led(self, scope: str) -> GroupTable | None:
        """Return the groups of a scope; whichever task is asked leads one of several sessions."""
        if scope.startswith(_SHARED):
            return self._led.setdefault(scope, GroupTable())
        return self._led.get(scope)

    # -- groups in which steps of several sessions meet ----------------------------------------

    def resolver(
        self,
        scope: str,
        leader: str,
        session_handle: str,
        workers: WorkerCacheInterface,
        peers: SessionPeers | None,
        children: Children,
        host: str = "",
    ) -> LedGroups:
        """Return the groups of a graph of a session.

        Args:
            scope: the scope that the session shares with others.
            leader: the task that leads it.
            session_handle: the session.
            workers: the tasks of the session.
            peers: see ``WorkerEnv``.
            children: own the requests.
            host: see ``WorkerEnv``.
        """

        def share(group: Group) -> Group | None:
            exchanges = self._of(scope, group, peers)
            if exchanges is None:
                return None
            exchanges.leaders[leader] = workers
            exchanges.sessions.add(session_handle)
            self._watch(exchanges, workers)
            return replace(group, shared=exchanges)

        return LedGroups(scope, lambda: workers.worker(leader), children, share, host)

    def _of(self, scope: str, group: Group, peers: SessionPeers | None) -> _Exchanges | None:
        """Return the exchanges of a group; ``None`` if they have ended."""
        exchanges = self._exchanges.get(group.number)
        if exchanges is None:
            if self._table.is_over(group.number):
                return None
            rendezvous = self._table.begin(group.number, peers)
            rendezvous.what = f"group {group.key} of {scope}"
            exchanges = self._exchanges[group.number] = _Exchanges(scope, group, rendezvous, self._end)
        return None if exchanges.is_over else exchanges

    def _watch(self, exchanges: _Exchanges, workers: WorkerCacheInterface) -> None:
        """End exchanges with the link to another member: what it has sent may be of a step that died with it."""
        others = {member.task: None for member in exchanges.group.members if member.task != exchanges.rendezvous.task}
        for task in others:
            if task not in exchanges.watched and workers.is_linked(task):
                exchanges.watched[task] = workers.watch(task, partial(self._lost, exchanges, task))

    def _lost(self, exchanges: _Exchanges, task: str) -> None:
        if not exchanges.ended:
            words = f"the link to {task}, a member of group {exchanges.group.key}, was lost"
            self._end(exchanges, UnavailableError(words, task=task))

    def _end(self, exchanges: _Exchanges, error: OpError, left: Sequence[Any] = ()) -> None:
        """End exchanges here, and tell the other members and the leader; ``left`` is as in ``EndGroup``."""
        group = exchanges.group
        message = EndGroup(
            scope=exchanges.scope, group=group.key, step_id=group.number, error=error_to_wire(error), left=list(left)
        )
        self.end(message)
        for leader, workers in exchanges.leaders.items():
            tasks = {leader, *[member.task for member in group.members]}
            for task in sorted(tasks - {exchanges.rendezvous.task}):
                workers.tell_after_pushes(task, message)

    def end(self, message: EndGroup) -> None:
        """End the exchanges of a group that has ended, and let it be formed anew if its scope is led here.

        Raises:
            ProtocolError: for a malformed error or list; nothing has changed then.
        """
        error = error_from_wire(message.error)
        if not all(map(_is_execution, message.left)):
            raise ProtocolError(f"an execution is an instance, a device and a number: {message.left!r:.200}")
        led = self._led.get(message.scope)
        if led is not None:
            led.retire(message.group, message.step_id)
        exchanges = self._exchanges.get(message.step_id)
        if exchanges is not None and message.left:
            exchanges.end_after(message.left, lambda: self._over(message.step_id, error))
        else:
            self._over(message.step_id, error)

    def _over(self, number: int, error: OpError) -> None:
        exchanges = self._exchanges.pop(number, None)
        if exchanges is not None:
            exchanges.close()
        self._table.end(number, error)

    def leave(self, session_handle: str) -> None:
        """End the exchanges that a session has taken part in, which is closed."""
        for exchanges in list(self._exchanges.values()):
            if session_handle in exchanges.sessions:
                group = exchanges.group.key
                words = f"a session of {exchanges.rendezvous.task}, a member of group {group}, was closed"
                self._end(exchanges, AbortedError(words), exchanges.executed)

    def __len__(self) -> int:
        """Return the number of groups that have exchanges here."""
        return sum(e.rendezvous.aborted is None for e in self._exchanges.values())

"""The members of one session: the tasks that have answered, and the session's sides at their workers.

A member is opened before it is used, opened again if its side of the session is lost with the link, and told
which tasks have moved or left. Owned by the plans of a ``MasterSession``; imports refs and messages.

Invariants: Members and devices change together, without an ``await`` in between. One opening at a worker is
in progress at a time. Nothing waits longer than ``GRACE`` for a task that it does not need.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import Ref, ask_without_withdrawing
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graphs import ask_to_drop
from actorsession.cluster.master.device_discovery import AWAY, GRACE, FoundTask, error_of_all, grace
from actorsession.cluster.master.env import Changes, Member, unwatch
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError, WorkerRestartedError, from_exception
from actorsession.messages.worker import CreateWorkerSession, DeleteWorkerSession, GetStatus, UpdateWorkerSession
from actorsession.rpc.step_calls import StepCalls

__all__ = ["MembersOwner", "SessionMembers"]

_log = logging.getLogger("actorsession.cluster")
# Seconds for a restarted task to report its snapshot; an error message waits for this.
_ASK = 1.0
_NO_CHANGES = Changes()


class MembersOwner(Protocol):
    """What hears of the members of a session."""

    def forget_task(self, task: str) -> None:
        """Forget what was registered at a task, whose side of the session is lost with the link to it."""

    def use_devices(self) -> None:
        """Use the devices of the session, which have been replaced."""

    def take(self, changes: Changes) -> None:
        """Forget the plans for tasks that have left or restarted, and note what was lost with them."""


class SessionMembers:
    """The members of one session.

    Args:
        cluster: the cluster of the session.
        owner: hears of members that are lost, and of other devices.

    Attributes:
        by_task: the members.
        workers: the worker of each task.
        devices: the devices that the session may use; before it is opened those that the cluster describes.
        opening: locks, one per task: whoever holds one may open the session there.
        unconfirmed: tasks that may have opened the session and are no members: they gave no answer, others refused, or
            others are still waited for. Those that have opened it have not lapsed.
        departed: what tasks that have left were as members.
    """

    def __init__(self, cluster: SessionCluster, owner: MembersOwner) -> None:
        self._cluster, self._handle = cluster, cluster.handle
        self._owner = owner
        self._children = Children(f"members of session {cluster.handle}")
        self.by_task: dict[str, Member] = {}
        self.opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.unconfirmed: dict[str, Member] = {}
        self.departed: dict[str, Member] = {}
        self.workers: dict[str, Ref] = {}
        self.devices = cluster.devices_of(cluster.wanted(), {})

    @property
    def threads(self) -> dict[str, int]:
        """The threads of the kernel pool of each task that has answered and was not lost since."""
        return {t: m.found.threads for t, m in self.by_task.items() if not m.lapsed}

    def step_calls(self, task: str) -> StepCalls | None:
        """Return the step frames of the link to the incarnation of a task that the session knows."""
        member = self.by_task.get(task)
        if member is None or member.lapsed:
            return None
        return self._cluster.links.step_calls(task, member.found.incarnation)

    def restored(self, task: str) -> Mapping[str, Any] | None:
        """Return the snapshot that a task was restored from, in wire form, or ``None``."""
        member = self.by_task.get(task)
        return None if member is None or self._cluster.is_private else member.found.restored

    async def ask_restored(self, task: str) -> Mapping[str, Any] | None:
        """Return ``restored`` of the current incarnation of a task; ``None`` without a timely answer."""
        if self._cluster.is_private:
            return None  # a snapshot holds only the state that sessions share
        try:
            status = await self._cluster.links.worker(task).ask(GetStatus(), Deadline.after(_ASK))
        except OpError:
            return None
        restored: Mapping[str, Any] | None = status.restored
        return restored

    def lost_state(self, before: Member, now: FoundTask) -> bool:
        """Return whether a task that was a member begins without the session's variables."""
        return self._cluster.is_private or before.found.incarnation != now.incarnation

    def returned(self, task: FoundTask, address: str) -> Member | None:
        """Return what a task was before it left, if it has come back without the session's variables.

        The steps that need it then report the loss, as they do for a task that was started again.
        """
        before = self.departed.get(task.task)
        if before is None or not self.lost_state(before, task):
            return None
        return self.member(before.found, address)

    def member(self, task: FoundTask, address: str, *, lapsed: bool = True) -> Member:
        """Return a task that has answered as a member, at which the session is not open yet."""
        return Member(task, address, self._cluster.links.worker(task.task, task.incarnation), lapsed)

    def replace(self, tasks: Iterable[str], members: dict[str, Member], changes: Changes = _NO_CHANGES) -> None:
        """Replace the members, and the devices by those of all tasks of the session; tell the owner of changes."""
        # Updated in place: the session's graphs and steps hold this dict. The worker of a task that left
        # stays in it, because it may still be asked to drop its state.
        self.workers.update({task: member.worker for task, member in members.items()})
        for task, member in self.by_task.items():
            if members.get(task) is not member:
                unwatch(member)
        for member in members.values():
            if member.unwatch is None and not member.lapsed:
                self._watch(member)
        self.by_task = members
        self.devices = self._cluster.devices_of(tasks, members)
        if changes:
            self._owner.take(changes)
        self._owner.use_devices()

    async def begin(
        self, members: dict[str, Member], peers: Mapping[str, str], needed: Collection[str], deadline: Deadline
    ) -> dict[str, str]:
        """Open the session at workers and remove from ``members`` those that are not needed and unreachable.

        Returns:
            For each removed task a text that describes the failure.

        Raises:
            DeadlineExceededError: if needed workers gave no answer in time; names all of them.
            OpError: if another worker refused; then the session is open at none of them.
        """
        soon = grace(deadline)
        asks = [self._enter(member, peers, deadline if task in needed else soon) for task, member in members.items()]
        try:
            outcomes = await asyncio.gather(*asks, return_exceptions=True)
            errors = {
                task: from_exception(outcome)
                for task, outcome in zip(members, outcomes, strict=True)
                if isinstance(outcome, Exception)
            }
            away = {t: e for t, e in errors.items() if t not in needed and isinstance(e, AWAY)}
            error = error_of_all({t: e for t, e in errors.items() if t not in away}, peers)
            if error is not None:
                raise error
        except BaseException:
            given_back = [self._children.start(self._give_back(m), name="drop a session") for m in members.values()]
            if given_back:
                await asyncio.wait(given_back, timeout=deadline.within(GRACE).time_left)
            raise
        for task in away:
            del members[task]
        members.update({o.found.task: o for o in outcomes if isinstance(o, Member)})
        return {task: f"{task} at {peers[task]} ({e.message})" for task, e in away.items()}

    @asynccontextmanager
    async def held(self, task: str, deadline: Deadline) -> AsyncIterator[None]:
        """Hold the lock of a task in ``opening``.

        Raises:
            DeadlineExceededError: if others held it until the deadline, because the task does not answer them either.
        """
        lock = self.opening[task]
        await deadline.wait(lock.acquire(), what=f"another attempt to open the session at {task} to end")
        try:
            yield
        finally:
            lock.release()

    async def _give_back(self, member: Member) -> None:
        """End the session at a worker at which it was opened in vain, unless somebody has taken it from there."""
        task = member.found.task
        async with self.opening[task]:
            if self.unconfirmed.get(task) is member:
                member.lapsed = True  # before it is asked: nobody takes what is being dropped
                await self.drop([member])

    async def _enter(self, member: Member, peers: Mapping[str, str], deadline: Deadline) -> Member:
        """Open the session at a worker, unless a step has done so meanwhile, and return the current member.

        Args:
            member: the task and its worker.
            peers: the addresses of all tasks.
            deadline: the deadline of the call.
        """
        async with self.held(member.found.task, deadline):
            there = self.by_task.get(member.found.task)
            known = None if there is None or there.lapsed else there.found.incarnation
            if there is not None and known == member.found.incarnation:
                return there
            # Whoever had the lock may have asked it in vain.
            begun = there is not None or member.found.task in self.unconfirmed
            self.unconfirmed[member.found.task] = member
            await self._open(member.found.task, member, peers, deadline, begun=begun)
        return member

    async def open_again(self, task: FoundTask, address: str, deadline: Deadline) -> Member:
        """Open the session at a worker that may have opened it before; its lock in ``opening`` is held."""
        opened = self._take_opened(task.task, task.incarnation)
        if opened is not None:
            return opened
        member = self.unconfirmed[task.task] = self.member(task, address)
        await self._open(task.task, member, self._cluster.wanted(), deadline)
        return member

    def _take_opened(self, task: str, incarnation: int) -> Member | None:
        """Return a task at which ``begin`` has opened the session, and which it does not drop any more.

        It is no member yet while others are waited for. Were the session opened there once more, the steps that begin
        meanwhile would lose it.
        """
        member = self.unconfirmed.get(task)
        if member is None or member.lapsed or member.found.incarnation != incarnation:
            return None
        return self.unconfirmed.pop(task)

    async def renew(self, task: str, deadline: Deadline) -> None:
        """Open the session at a task again, if the worker's side of it was lost with the link.

        A network failure loses no shared state, because that belongs to the task. Only state private to the
        session is lost.

        Raises:
            WorkerRestartedError: if the state there was private to the session, until ``reattach``; or if the
                task has restarted.
            OpError: if the task refused or cannot be reached.
        """
        async with self.held(task, deadline):
            member = self.by_task.get(task)
            if member is None or not member.lapsed:
                return
            if self._cluster.is_private:
                raise WorkerRestartedError(
                    f"the link to {task} was lost, and what this session had there for itself went with it; "
                    "session.reattach() goes on without",
                    task=task,
                )
            if self._take_opened(task, member.found.incarnation) is None:
                await self._open(task, member, self._cluster.wanted(), deadline)
            else:
                self._note_opened(member)
            await self.send_updates()

    async def _open(
        self, task: str, member: Member, peers: Mapping[str, str], deadline: Deadline, *, begun: bool = True
    ) -> None:
        """Open the session at one worker, which may have opened it before if that was ``begun``."""
        if begun:
            # The worker may not have noticed yet that the former link is lost.
            drop = DeleteWorkerSession(session_handle=self._handle)
            await member.worker.ask(drop, deadline)
        message = CreateWorkerSession(
            session_handle=self._handle,
            master_task=self._cluster.master_name,
            master_incarnation=self._cluster.env.incarnation,
            isolate_session_state=self._cluster.is_private,
            peers=dict(peers),
            task="" if self._cluster.own is None else task,
        )
        await member.worker.ask(message, deadline)
        self._note_opened(member)

    def _note_opened(self, member: Member) -> None:
        member.lapsed = False
        self._watch(member)

    def _watch(self, member: Member) -> None:
        """Register the callback for the loss of the link to a task."""
        unwatch(member)
        task = member.found.task
        if task != self._cluster.task:

            def lapse() -> None:
                member.lapsed = True
                if self.by_task.get(task) is member:
                    self._owner.forget_task(task)

            member.unwatch = self._cluster.links.watch(task, lapse)

    async def send_updates(
        self, moved: Mapping[str, str] | None = None, changes: Changes = _NO_CHANGES, deadline: Deadline = NEVER
    ) -> None:
        """Send the workers that stay the new addresses of tasks, and which tasks have left.

        Where the session shares its devices, all its workers get those as well.
        """
        shared = self.devices.devices if self._cluster.config.shares_cluster_devices else ()
        stay = [
            member
            for task, member in self.by_task.items()
            if not member.lapsed and (shared or task not in changes.added)
        ]
        if not stay or not (moved or changes.removed or shared):
            return
        message = UpdateWorkerSession(
            session_handle=self._handle,
            peers=dict(moved or {}),
            removed=list(changes.removed),
            cluster_device_attributes=[device.to_wire() for device in shared],
        )
        # The link to a worker delivers this before any step that is planned with it. A silent worker is not
        # waited for beyond ``GRACE``.
        updates = [self._children.start(self._send_update(m, message), name="send changes of the tasks") for m in stay]
        await asyncio.wait(updates, timeout=deadline.within(GRACE).time_left)

    async def _send_update(self, member: Member, message: UpdateWorkerSession) -> None:
        try:
            await ask_without_withdrawing(member.worker, message, CONNECT_TIMEOUT)
        except OpError as error:
            # The session has lost this worker too; the next step that needs it reports that.
            _log.warning("session %s: %s: %s", self._handle, member.worker.name, error)

    async def drop(self, members: Iterable[Member], deadline: Deadline = NEVER) -> None:
        """End the session at some workers, in bounded time, until a deadline at most."""
        message = DeleteWorkerSession(session_handle=self._handle)
        await asyncio.gather(*[ask_to_drop(member.worker, message, deadline) for member in members])

    async def leave(self) -> None:
        """End the session at every worker, in bounded time."""
        for member in self.by_task.values():
            unwatch(member)
        await self.drop({**self.by_task, **self.unconfirmed}.values())
        await self._children.stop()

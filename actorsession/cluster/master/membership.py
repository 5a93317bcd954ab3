"""How the tasks of one session change: they join, leave, move, or come back from a restart.

A session begins with the tasks that answer. The devices of the others are taken from the description of the
cluster: an absent task counts as one CPU, until the task reports its devices. A step that needs an absent
task waits for it; other steps do not.

``follow`` applies the changes of the cluster between two steps: it opens the session at new workers, notifies
the others and returns which plans are stale. Owned by the plans of a ``MasterSession``; imports the members.

Invariant: A task either is a member, or is absent with a text that describes the attempts to reach it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from actorsession.actors.deadline import Deadline
from actorsession.cluster.master.absent_tasks import AbsentTasks
from actorsession.cluster.master.device_discovery import AWAY, GRACE, RETRY, FoundTask, look_for_tasks, sooner
from actorsession.cluster.master.env import Changes, ClusterMembership, Member
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, NotFoundError, OpError
from actorsession.messages.worker import GetStatus
from actorsession.runtime.device_filters import DeviceFilters

__all__ = ["Membership"]

_log = logging.getLogger("actorsession.cluster")
# Seconds between looks at whether a task that was lost is still to be started again.
_LOOK = 1.0
_NONE: Mapping[str, Member] = MappingProxyType({})


class Membership:
    """The changes of the tasks of one session.

    Args:
        cluster: the cluster of the session.
        members: its members, which nothing else replaces.

    Attributes:
        cluster: the cluster.
        members: the members.
        version: that of the cluster as of the last ``follow``.
        view: has the version of the cluster; with a cluster of the session's own, which does not change, it is this
            object. What each step asks compares the two without a call, as ``changed`` does.
    """

    def __init__(self, cluster: SessionCluster, members: SessionMembers) -> None:
        self.cluster, self._handle = cluster, cluster.handle
        self.members = members
        self._absent = AbsentTasks(cluster, self._admit)
        self._changing = asyncio.Lock()
        self.version = -1
        self.view: ClusterMembership | Membership = cluster.env.cluster if cluster.own is None else self
        self._tasks: Mapping[str, str] = {}  # the session's tasks, as of the last ``follow``

    @property
    def changed(self) -> bool:
        """Whether the cluster has changed since the last ``follow``."""
        return self.view.version != self.version

    @property
    def missing(self) -> Mapping[str, str]:
        """For each task that has not answered yet, a text that describes the attempts."""
        return self._absent.reasons

    def explained(self, error: InvalidArgumentError) -> InvalidArgumentError:
        """Add the absent tasks, which might have the device, to the error of a node that cannot be placed."""
        if not self.missing:
            return error
        missing = "; ".join(self.missing.values())
        return InvalidArgumentError(
            f"{error.message}. In the cluster, but without an answer: {missing}", node=error.node, source=error.source
        )

    async def join(self, deadline: Deadline) -> None:
        """Open the session at the tasks that answer, or at all tasks if the session waits for all.

        Raises:
            DeadlineExceededError: if the session waits for all tasks; names every task that did not answer.
            OpError: if a worker refused or could not be reached.
        """
        self.cluster.connect()
        await self.cluster.links.refresh_addresses(deadline)
        version, addresses = self.cluster.env.cluster.version, self.cluster.wanted()
        needed = addresses if self.cluster.config.wait_for_all_tasks else {self.cluster.task}
        tasks, reasons = await look_for_tasks(addresses, self.cluster.links.worker, deadline, needed)
        addresses = self._with_current_addresses(addresses)
        fresh = {f.task: self.members.member(f, addresses[f.task]) for f in tasks}
        self.cluster.devices_of(addresses, fresh)  # invalid devices raise before any session is opened
        away = await self.members.begin(fresh, addresses, needed, deadline)
        self._commit(addresses, fresh, {**reasons, **away}, version)
        await self.members.send_updates()
        for reason in self.missing.values():
            _log.warning("session %s begins without %s", self._handle, reason)

    async def follow(self, deadline: Deadline) -> Changes:
        """Apply the changes of the cluster since the session last looked.

        Raises:
            OpError: if a worker refused.
        """
        async with self._changing:
            version, addresses = self.cluster.env.cluster.version, self.cluster.wanted()
            if version == self.version:
                return Changes()
            new = {t: a for t, a in addresses.items() if t not in self.members.by_task}
            tasks, reasons = await look_for_tasks(new, self.cluster.links.worker, deadline, ())
            for reason in reasons.values():
                _log.warning("session %s goes on without %s", self._handle, reason)
            returned = {t.task: m for t in tasks if (m := self.members.returned(t, addresses[t.task])) is not None}
            fresh = [t for t in tasks if t.task not in returned]
            return await self._change(fresh, reasons, addresses, (), version, deadline, returned)

    async def reattach(self, used: Collection[str], deadline: Deadline) -> Changes:
        """Ask all tasks for their status again, which finds those that have restarted.

        Args:
            used: the tasks that the session's graph uses; they are waited for.
            deadline: the deadline of the call.

        Raises:
            DeadlineExceededError: names every task in use that did not answer.
            OpError: if a worker refused or could not be reached.
        """
        limit = sooner(deadline)
        for_all, own = self.cluster.config.wait_for_all_tasks, self.cluster.task
        while True:
            await self.cluster.links.refresh_addresses(limit)
            version, addresses = self.cluster.env.cluster.version, self.cluster.wanted()
            needed = {t for t in addresses if for_all or t in used or t == own}
            # Without the lock: steps that need none of these follow the cluster meanwhile.
            tasks, reasons = await look_for_tasks(addresses, self.cluster.links.worker, limit, needed)
            async with self._changing:
                if version == self.cluster.env.cluster.version:
                    return await self._change(tasks, reasons, addresses, needed, version, limit)

    async def present(self, chosen: DeviceFilters, deadline: Deadline) -> tuple[list[str], Mapping[str, str]]:
        """Ask some tasks, also those that answered before, and admit those that had not.

        Returns:
            The chosen tasks that answer, in the order of the cluster; and for each other chosen task a text
            that describes the attempts.
        """
        tasks = {task: a for task, a in self.cluster.wanted().items() if chosen.allows(task)}
        asked = {t: a for t, a in tasks.items() if t != self.cluster.task}
        soon = Deadline.after(GRACE).earliest(deadline)
        answered, absent = await look_for_tasks(asked, self.cluster.links.worker, deadline, (), soon)
        for task in answered:
            with contextlib.suppress(*AWAY, NotFoundError):  # lost again, or it has left; its next status says so
                await self._admit(task, GRACE)
        return [task for task in tasks if task not in absent], absent

    async def retry_absent(self, deadline: Deadline, needed: Collection[str] = ()) -> None:
        """Ask the absent tasks again and admit those that answer.

        Args:
            deadline: the deadline of the call.
            needed: the tasks that are waited for; the others are asked once.
        """
        asked = {t: a for t, a in self.cluster.wanted().items() if t in self.missing and t not in needed}

        async def ask_once() -> None:
            tasks, reasons = await look_for_tasks(asked, self.cluster.links.worker, deadline, ())
            self._absent.reasons.update({t: w for t, w in reasons.items() if t in self.missing})
            for task in tasks:
                try:
                    await self._admit(task, GRACE)
                except OpError as error:
                    _log.warning("session %s goes on without %s: %s", self._handle, task.task, error)

        async def wait_for_needed() -> None:
            try:
                await self.bring_in(needed, deadline)
            except OpError as error:
                _log.info("session %s: %s", self._handle, error)

        await asyncio.gather(ask_once(), wait_for_needed())

    async def bring_in(self, tasks: Iterable[str], deadline: Deadline) -> bool:
        """Wait for those of ``tasks`` that have not answered yet.

        Returns:
            Whether there were any. If so, more is known about their devices by now.

        Raises:
            DeadlineExceededError: names the tasks that did not answer.
            OpError: if a worker refused.
        """
        chosen = set(tasks)
        absent = [task for task in self.missing if task in chosen]
        if absent:
            await self._absent.wait_for(absent, deadline)
        return bool(absent)

    async def _admit(self, answered: FoundTask, limit: float = CONNECT_TIMEOUT) -> None:
        """Make a formerly absent task a member, within ``limit`` seconds."""
        task = answered.task
        deadline = Deadline.after(limit)
        async with self.members.held(task, deadline):
            if task not in self.missing:
                return
            # The worker may have opened the session when it was asked before, or have left the cluster since.
            address = self.cluster.wanted().get(task)
            if address is None:
                raise NotFoundError(f"{task} has left the cluster", task=task)
            member = self.members.returned(answered, address)
            if member is None:
                member = await self.members.open_again(answered, address, deadline)
            known = self._tasks.get(task)
            if not self._add(member):
                await self.members.drop([member])
                return
        _log.info("session %s: %s has answered", self._handle, task)
        moved = {} if known == member.address else {task: member.address}
        await self.members.send_updates(moved, Changes(added=(task,)))

    async def comes_back(self, task: str, deadline: Deadline) -> bool:
        """Wait for a task that was lost, where lost tasks are started again; return whether it answers."""
        while not deadline.expired and self.cluster.may_come_back(task):
            # Before each attempt: a task that answers and is lost again must not be asked in a tight loop.
            await asyncio.sleep(RETRY)
            try:
                await self._absent.wait_for([task], Deadline.after(_LOOK).earliest(deadline))
                return True
            except DeadlineExceededError:
                continue
            except OpError:
                return False
        return False

    async def rejoin(self, task: str, deadline: Deadline) -> None:
        """Continue with the current incarnation of a task on which the session had no state.

        Raises:
            OpError: if the task refused or cannot be reached.
        """
        async with self.members.held(task, deadline):
            old = self.members.by_task.get(task)
            if old is None:
                return
            answered = FoundTask(task, await self.cluster.links.worker(task).ask(GetStatus(), deadline))
            if answered.incarnation == old.found.incarnation and not old.lapsed:
                return
            if self._add(await self.members.open_again(answered, old.address, deadline)):
                _log.info("session %s goes on with another life of %s", self._handle, task)
                await self.members.send_updates()

    def _add(self, member: Member) -> bool:
        """Add one member, if it is one of the session's tasks, and return whether it is."""
        task = member.found.task
        if task not in self._tasks:
            return False
        self._tasks = {**self._tasks, task: member.address}
        members = {**self.members.by_task, task: member}
        self._absent.reasons.pop(task, None)
        self.members.unconfirmed.pop(task, None)
        self.members.replace(self._tasks, {t: members[t] for t in self._tasks if t in members})
        return True

    async def _change(
        self,
        tasks: Sequence[FoundTask],
        reasons: Mapping[str, str],
        addresses: Mapping[str, str],
        needed: Collection[str],
        version: int,
        deadline: Deadline,
        returned: Mapping[str, Member] = _NONE,
    ) -> Changes:
        addresses = self._with_current_addresses(addresses)
        fresh: dict[str, Member] = {}
        for task in tasks:
            old = self.members.by_task.get(task.task)
            if old is None or old.lapsed or old.found.incarnation != task.incarnation:
                fresh[task.task] = self.members.member(task, addresses[task.task])
        self.cluster.devices_of(addresses, {**self.members.by_task, **fresh})
        away = await self.members.begin(fresh, addresses, needed, deadline)
        changes, moved = self._commit(addresses, {**fresh, **returned}, {**reasons, **away}, version)
        if changes:
            _log.info("session %s: %s", self._handle, changes)
        await self.members.send_updates(moved, changes, deadline)
        await self.members.drop(changes.left, deadline)
        return changes

    def _commit(
        self, addresses: Mapping[str, str], fresh: Mapping[str, Member], reasons: Mapping[str, str], version: int
    ) -> tuple[Changes, dict[str, str]]:
        """Apply a change: new members, and tasks that have moved or left.

        Returns:
            The changes, and the addresses to send to the other workers.
        """
        before = self.members.by_task
        members: dict[str, Member] = {}
        for task, address in addresses.items():
            member = fresh.get(task) or before.get(task)
            if member is not None and member.address != address:
                # The task has moved or restarted; the steps that need it report which.
                member = self.members.member(member.found, address, lapsed=member.lapsed)
            if member is not None:
                members[task] = member
        former = {**self.members.departed, **before}
        changes = Changes(
            added=tuple(t for t in fresh if t not in before),
            removed=tuple(t for t in before if t not in members),
            restarted=tuple(t for t, m in fresh.items() if t in former and self.members.lost_state(former[t], m.found)),
            left=tuple(m for t, m in before.items() if t not in members),
        )
        self.members.departed = {t: m for t, m in former.items() if t not in members}
        moved = {task: a for task, a in addresses.items() if self._tasks.get(task) != a}
        for task in fresh:
            self.members.unconfirmed.pop(task, None)
        known = {**self.missing, **reasons}
        self._absent.reasons = {t: known.get(t, t) for t in addresses if t not in members}
        self._tasks, self.version = addresses, version
        self.members.replace(addresses, members, changes)
        return changes, moved

    def _with_current_addresses(self, tasks: Mapping[str, str]) -> dict[str, str]:
        """Return the tasks with their current addresses; a task that was dialled may have been found
        elsewhere.
        """
        now = self.cluster.wanted()
        return {task: now.get(task, address) for task, address in tasks.items()}

    async def leave(self) -> None:
        """End the session at every worker, in bounded time."""
        try:
            await self._absent.aclose()
            await self.members.leave()
        finally:
            self.cluster.release()

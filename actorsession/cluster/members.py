"""The members of one session: its tasks, their workers and devices, and how all that changes.

A session begins when every task that it may use has answered. Later its cluster may change: tasks join,
leave, move, or come back from a restart with another incarnation. ``follow`` takes that in between two
steps: new workers get their side of the session, the others are told, and the caller learns which plans are
of no use any more. Owned by a MasterSession; it imports refs and the device finder.

Invariants: a change is taken in whole or not at all; a task that has joined and does not answer is left out
until it does, and fails nothing that does not need it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.client_graphs import ask_to_drop
from actorsession.cluster.device_finder import FoundTask, find_tasks, look_for_tasks
from actorsession.cluster.member import Changes, Home, Member, brought_along, unwatch
from actorsession.cluster.session_mgr import peer_key
from actorsession.config import ConfigProto
from actorsession.errors import (
    InvalidArgumentError,
    OpError,
    WorkerRestartedError,
    first_error,
    from_exception,
)
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.worker import (
    CreateWorkerSession,
    DeleteWorkerSession,
    GetStatus,
    UpdateWorkerSession,
)  # fmt: skip
from actorsession.plan.device_set import DeviceSet
from actorsession.runtime.device_filters import DeviceFilters

__all__ = ["Members"]

_log = logging.getLogger("actorsession.cluster")
# Seconds that a step waits for a task that has joined the cluster; it listens before it is announced.
_JOIN = 2.0
# Seconds for a task that has restarted to say what it came back with; an error waits for it.
_ASK = 1.0


class Members:
    """The tasks of one session.

    Args:
        handle: the session.
        config: its settings: device filters, isolation, a cluster of its own.
        home: the master.
        target: the address that the client connected to, as it wrote it.

    Attributes:
        workers: the worker of each task.
        devices: what the session may use.
        missing: for each task that has joined and does not answer what was tried, in words.
        on_lapse: called with a task whose side of the session is lost with the link to it.

    Raises:
        InvalidArgumentError: for a malformed device filter, or a cluster of the session's own of which
            the target is not exactly one task.
    """

    def __init__(self, handle: str, config: ConfigProto, home: Home, target: str) -> None:
        self._handle = handle
        self._home = home
        self._filters = DeviceFilters(config.device_filters)
        self._waits_for_all = config.wait_for_all_tasks
        self._isolated = config.isolate_session_state
        self._own = brought_along(config, home, target)
        self._members: dict[str, Member] = {}
        self._lock = asyncio.Lock()
        self._version = -1
        self.workers: dict[str, Ref] = {}
        self.devices: DeviceSet
        self.missing: Mapping[str, str] = {}
        self.on_lapse: Callable[[str], None] | None = None

    @property
    def task(self) -> str:
        """The master's own task, as the session calls it."""
        return self._home.task if self._own is None else self._own.task

    @property
    def changed(self) -> bool:
        """Whether the cluster has changed since the session last looked."""
        return self._own is None and self._home.version() != self._version

    async def join(self, deadline: Deadline) -> None:
        """Begins the session at every task once all of them have answered, or at those that soon do.

        Raises:
            DeadlineExceededError: naming every task that did not answer.
            OpError: why a worker refused, or could not be asked.
        """
        await self._home.look(deadline)
        version, wanted = self._home.version(), self._wanted()
        if self._waits_for_all:
            found = await find_tasks(wanted, self._any_worker, deadline)
        else:
            found = await self._look(wanted, deadline)
        wanted = self._located(wanted)
        members = {f.task: self._member(f, wanted) for f in found}
        self._devices_of(members)  # what is wrong with them is told before anything has begun
        await self._begin(members, wanted, deadline)
        self._take(members, version)

    async def follow(self, deadline: Deadline, *, everybody: bool = False) -> Changes:
        """Takes in how the cluster has changed.

        Args:
            deadline: until when it may take.
            everybody: whether to ask all tasks anew, which finds those that have restarted, and to fail
                if one of them does not answer.

        Raises:
            DeadlineExceededError: naming every task that did not answer.
            OpError: why a worker refused, or could not be asked.
        """
        async with self._lock:
            if everybody:
                await self._home.look(deadline)
            version, wanted = self._home.version(), self._wanted()
            if not everybody and version == self._version and not self.missing:
                return Changes()
            kept = {t: m for t, m in self._members.items() if wanted.get(t) == m.address}
            asked = wanted if everybody else {t: a for t, a in wanted.items() if t not in kept}
            if everybody:
                found = await find_tasks(asked, self._any_worker, deadline)
                self.missing = {}
            else:
                found = await self._look(asked, deadline)
            wanted = self._located(wanted)
            return await self._change(kept, found, wanted, version, deadline, everybody)

    async def _look(self, tasks: Mapping[str, str], deadline: Deadline) -> Sequence[FoundTask]:
        """The tasks that answer soon; the others are noted as missing."""
        soon = Deadline.after(_JOIN).earliest(deadline)
        found, self.missing = await look_for_tasks(tasks, self._any_worker, soon)
        for words in self.missing.values():
            _log.warning("session %s goes on without %s", self._handle, words)
        return found

    async def _change(
        self, kept: dict[str, Member], found: Sequence[FoundTask], wanted: Mapping[str, str],
        version: int, deadline: Deadline, everybody: bool,
    ) -> Changes:  # fmt: skip
        before = self._members
        fresh: dict[str, Member] = {}
        for task in found:
            old = before.get(task.task)
            if old is None or (everybody and old.found.incarnation != task.incarnation):
                fresh[task.task] = self._member(task, wanted)
            elif everybody and old.lapsed:
                fresh[task.task] = self._member(task, wanted, lapsed=True)
            elif old.address != wanted[task.task]:
                # Elsewhere, or back from a restart: steps that need it say so until ``reattach``.
                kept[task.task] = self._member(old.found, wanted, lapsed=old.lapsed)
            else:
                kept[task.task] = old
        members = {t: fresh.get(t) or kept[t] for t in wanted if t in fresh or t in kept}
        changes = Changes(
            added=tuple(t for t in fresh if t not in before),
            removed=tuple(t for t in before if t not in members),
            restarted=tuple(t for t, m in fresh.items() if t in before and self._is_bare(m)),
        )
        self._devices_of(members)
        await self._begin(fresh, wanted, deadline)
        await self._tell(members, fresh, changes, deadline)
        if changes:
            _log.info("session %s: %s", self._handle, changes)
        self._take(members, version)
        return changes

    def restored(self, task: str) -> Mapping[str, Any] | None:
        """The snapshot that a task came back with, in wire form, if it did."""
        member = self._members.get(task)
        return None if member is None or self._private else member.found.restored

    async def ask_restored(self, task: str) -> Mapping[str, Any] | None:
        """``restored`` of the life of a task that is there now; ``None`` if it does not say in time."""
        if self._private:
            return None  # what is kept is the state that sessions share
        try:
            status = await self._any_worker(task).ask(GetStatus(), Deadline.after(_ASK))
        except OpError:
            return None
        found: Mapping[str, Any] | None = status.restored
        return found

    def explained(self, error: InvalidArgumentError) -> InvalidArgumentError:
        """The error of a node that cannot be placed, with the tasks that might have its device."""
        if not self.missing:
            return error
        missing = "; ".join(self.missing.values())
        return InvalidArgumentError(
            f"{error.message}. In the cluster, but without an answer: {missing}",
            node=error.node, source=error.source,
        )  # fmt: skip

    async def renew(self, task: str, deadline: Deadline) -> None:
        """Opens the session at a task again, if its side was lost with the link to it.

        A network that was cut takes no state along, because that belongs to the task; only what is the
        session's own is gone.

        Raises:
            WorkerRestartedError: if the state there was the session's own, until ``reattach``; or if the task
                has restarted.
            OpError: why the task refused, or cannot be asked.
        """
        async with self._lock:
            member = self._members.get(task)
            if member is None or not member.lapsed:
                return
            if self._private:
                raise WorkerRestartedError(
                    f"the link to {task} was lost, and what this session had there for itself went with it; "
                    "session.reattach() goes on without",
                    task=task,
                )
            await self._open(task, member, self._addresses(), deadline)

    async def leave(self) -> None:
        """Ends the session at every worker; bounded in time."""
        for member in self._members.values():
            unwatch(member)
        await self._drop(self._members.values())

    @property
    def _private(self) -> bool:
        """Whether the session's variables are its own."""
        return self._isolated or self._own is not None

    def _is_bare(self, member: Member) -> bool:
        """Whether a task that was there before begins without the session's variables."""
        before = self._members[member.found.task].found
        return self._private or before.incarnation != member.found.incarnation

    # -- steps of a change ---------------------------------------------------------------------

    def _wanted(self) -> dict[str, str]:
        """The address of each task that the session may use."""
        tasks = self._home.addresses() if self._own is None else self._own.tasks
        # The master's own task is always part of its sessions.
        return {t: a for t, a in tasks.items() if t == self.task or self._filters.allows(t)}

    def _located(self, tasks: Mapping[str, str]) -> dict[str, str]:
        """The same tasks where they are now: one that was dialled may have been found elsewhere."""
        now = self._wanted()
        return {task: now.get(task, address) for task, address in tasks.items()}

    def _any_worker(self, task: str) -> Ref:
        return self._worker(task, None)

    def _worker(self, task: str, incarnation: int | None, address: str = "") -> Ref:
        return self._home.worker(self._key(task, address), incarnation)

    def _key(self, task: str, address: str) -> str:
        """What the links of this server are kept under for a task."""
        if task == self.task:
            return self._home.task
        return task if self._own is None else peer_key(task, address or self._own.tasks[task])

    def _member(
        self, found: FoundTask, wanted: Mapping[str, str], *, lapsed: bool = False
    ) -> Member:
        address = wanted[found.task]
        worker = self._worker(found.task, found.incarnation, address)
        return Member(found, address, worker, lapsed)

    def _addresses(self) -> dict[str, str]:
        return {task: member.address for task, member in self._members.items()}

    async def _begin(
        self, members: Mapping[str, Member], peers: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Opens the session at workers, at all or at none."""
        asks = [self._open(task, member, peers, deadline) for task, member in members.items()]
        try:
            outcomes = await asyncio.gather(*asks, return_exceptions=True)
            error = first_error([from_exception(o) for o in outcomes if isinstance(o, Exception)])
            if error is not None:
                raise error
        except BaseException:
            await self._drop(members.values())
            raise

    async def _open(
        self, task: str, member: Member, peers: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Opens the session at one worker."""
        if member.lapsed:
            # The worker may not have noticed yet that the former link is gone.
            drop = DeleteWorkerSession(session_handle=self._handle)
            await member.worker.ask(drop, deadline)
        message = CreateWorkerSession(
            session_handle=self._handle,
            master_task=self.task,
            master_incarnation=self._home.incarnation,
            isolate_session_state=self._isolated,
            peers=dict(peers),
            task="" if self._own is None else task,
        )
        await member.worker.ask(message, deadline)
        member.lapsed = False
        self._watch(member)

    def _watch(self, member: Member) -> None:
        """Sees to it that the loss of the link to a task is known."""
        unwatch(member)
        task = member.found.task
        if task != self.task:

            def lapse() -> None:
                member.lapsed = True
                if self._members.get(task) is member and self.on_lapse is not None:
                    self.on_lapse(task)

            member.unwatch = self._home.watch(self._key(task, member.address), lapse)

    async def _tell(
        self, members: Mapping[str, Member], fresh: Mapping[str, Member], changes: Changes,
        deadline: Deadline,
    ) -> None:  # fmt: skip
        """Tells the workers that stay, and ends the session at those that have left."""
        news = {
            task: member.address
            for task, member in members.items()
            if task in fresh or member.address != self._members[task].address
        }
        if not news and not changes.removed:
            return
        message = UpdateWorkerSession(
            session_handle=self._handle, peers=news, removed=list(changes.removed)
        )
        stay = [m.worker for t, m in members.items() if t not in fresh]
        # One that cannot be told is lost to the session too, which the next step that needs it says.
        outcomes = await asyncio.gather(
            *[worker.ask(message, deadline) for worker in stay], return_exceptions=True
        )
        for worker, outcome in zip(stay, outcomes, strict=True):
            if isinstance(outcome, Exception):
                _log.warning("session %s: %s: %s", self._handle, worker.name, outcome)
        await self._drop([self._members[task] for task in changes.removed])

    async def _drop(self, members: Iterable[Member]) -> None:
        message = DeleteWorkerSession(session_handle=self._handle)
        await asyncio.gather(*[ask_to_drop(member.worker, message) for member in members])

    def _devices_of(self, members: Mapping[str, Member]) -> DeviceSet:
        allowed = [d for t, m in members.items() for d in self._allowed(t, m.found.devices)]
        own = members[self.task].found.devices
        return DeviceSet(allowed, next(d.name for d in own if d.device_type == "CPU"))

    def _take(self, members: dict[str, Member], version: int) -> None:
        self.devices = self._devices_of(members)
        # The same dict, which the session's graphs and steps know; one that left is of no use, but may
        # still be told to drop what it has.
        self.workers.update({task: member.worker for task, member in members.items()})
        for task, member in self._members.items():
            if members.get(task) is not member:
                unwatch(member)
        for member in members.values():
            if member.unwatch is None and not member.lapsed:
                self._watch(member)
        self._members = members
        self._version = version

    def _allowed(self, task: str, devices: Sequence[DeviceAttributes]) -> list[DeviceAttributes]:
        return [d for d in devices if task == self.task or self._filters.allows(d.name)]

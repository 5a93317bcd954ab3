"""The members of one session: its tasks, their workers and devices, and how they change.

A session begins with the tasks that answer. The devices of the others are taken from the description of the
cluster: an absent task counts as one CPU, until the task reports its devices. A step that needs an absent
task waits for it; other steps do not.

Later the cluster may change: tasks join, leave, move, or come back from a restart with another incarnation.
``follow`` applies such changes between two steps: it opens the session at new workers, notifies the others
and returns which plans are stale. Owned by a ``MasterSession``; imports refs and the device finder.

Invariants: A task either is a member, or is absent with a text that describes the attempts to reach it.
Members and devices change together, without an ``await`` in between. Nothing waits longer than ``GRACE`` for
a task that it does not need.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.master.absent_tasks import AbsentTasks
from actorsession.cluster.master.client_graphs import ask_to_drop
from actorsession.cluster.master.device_discovery import (
    GRACE,
    RETRY,
    FoundTask,
    look_for_tasks,
    sooner,
)
from actorsession.cluster.master.env import (
    Changes,
    MasterEnv,
    Member,
    brought_along,
    described_devices,
    unwatch,
)
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    WorkerRestartedError,
    first_error,
    from_exception,
)
from actorsession.graph.device import DeviceAttributes, DeviceSpec
from actorsession.messages.worker import (
    CreateWorkerSession,
    DeleteWorkerSession,
    GetStatus,
    UpdateWorkerSession,
)  # fmt: skip
from actorsession.plan.device_set import DeviceSet
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.device_filters import DeviceFilters

__all__ = ["SessionMembers"]

_log = logging.getLogger("actorsession.cluster")
# Seconds for a restarted task to report its snapshot; an error message waits for this.
_ASK = 1.0
# Seconds between looks at whether a task that was lost is still to be started again.
_LOOK = 1.0
# Errors of a task that is not there, or not there any more.
_AWAY = (UnavailableError, DeadlineExceededError)
_NO_CHANGES = Changes()


class SessionMembers:
    """The tasks of one session.

    Args:
        handle: the handle of the session.
        config: the session's settings: device filters, isolation, a cluster of its own.
        env: the environment of the master.
        target: the address that the client connected to, as the client wrote it.
        on_lapse: called with a task when the worker's side of the session is lost with the link to it.
        on_devices: called when ``devices`` has been replaced.

    Attributes:
        workers: the worker of each task.
        devices: the devices that the session may use; before ``join`` those that the cluster describes.

    Raises:
        InvalidArgumentError: for a malformed device filter, or if the session has a cluster of its own and
            the target is not exactly one task of it.
    """

    def __init__(
        self, handle: str, config: ConfigProto, env: MasterEnv, target: str,
        on_lapse: Callable[[str], None], on_devices: Callable[[], None],
    ) -> None:  # fmt: skip
        self._handle = handle
        self._env = env
        self._filters = DeviceFilters(config.device_filters)
        self._waits_for_all = config.wait_for_all_tasks
        self._shares_devices = config.shares_cluster_devices
        self._own = brought_along(config, env, target)
        shared = config.experimental.share_session_state_in_clusterspec_propagation
        # Whether the session's variables are private to it.
        self._private = not shared and (config.isolate_session_state or self._own is not None)
        self._cache = env.workers  # with a cluster of the session's own, ``join`` takes one for it
        self._members: dict[str, Member] = {}
        self._absent = AbsentTasks(handle, self._worker, self._wanted, self._admit)
        self._children = Children(f"members of session {handle}")
        self._changing = asyncio.Lock()
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._unconfirmed: dict[
            str, Member
        ] = {}  # members that may have opened the session, but gave no answer
        self._version = -1
        self._tasks: Mapping[str, str] = {}  # the session's tasks, as of the last ``follow``
        self.workers: dict[str, Ref] = {}
        self.devices = self._devices_of(self._wanted(), {})
        self._on_lapse = on_lapse
        self._on_devices = on_devices

    @property
    def task(self) -> str:
        """The master's own task, by its name in this session."""
        return self._env.task if self._own is None else self._own.task

    @property
    def _master_name(self) -> str:
        """The name by which workers tell masters apart; two clusters of clients may use one task name."""
        own = self._own
        return self.task if own is None else f"{own.task} at {own.tasks[own.task]}"

    @property
    def threads(self) -> dict[str, int]:
        """The threads of the kernel pool of each task that has answered and was not lost since."""
        return {t: m.found.threads for t, m in self._members.items() if not m.lapsed}

    @property
    def changed(self) -> bool:
        """Whether the cluster has changed since the last ``follow``."""
        return self._own is None and self._env.cluster.version != self._version

    @property
    def missing(self) -> Mapping[str, str]:
        """For each task that has not answered yet, a text that describes the attempts."""
        return self._absent.reasons

    # -- changes -------------------------------------------------------------------------------

    async def join(self, deadline: Deadline) -> None:
        """Open the session at the tasks that answer, or at all tasks if the session waits for all.

        Raises:
            DeadlineExceededError: if the session waits for all tasks; names every task that did not answer.
            OpError: if a worker refused or could not be reached.
        """
        if self._own is not None:
            own = self._own
            self._cache = self._env.workers.for_session(self._handle, own.task, own.tasks)
        await self._cache.refresh_addresses(deadline)
        version, wanted = self._env.cluster.version, self._wanted()
        needed = wanted if self._waits_for_all else {self.task}
        found, reasons = await look_for_tasks(wanted, self._worker, deadline, needed)
        wanted = self._with_current_addresses(wanted)
        fresh = {f.task: self._member(f, wanted) for f in found}
        self._devices_of(wanted, fresh)  # invalid devices raise before any session is opened
        away = await self._begin(fresh, wanted, needed, deadline)
        self._commit(wanted, fresh, {**reasons, **away}, version)
        await self._send_updates()
        for reason in self.missing.values():
            _log.warning("session %s begins without %s", self._handle, reason)

    async def follow(self, deadline: Deadline) -> Changes:
        """Apply the changes of the cluster since the session last looked.

        Raises:
            OpError: if a worker refused.
        """
        async with self._changing:
            version, wanted = self._env.cluster.version, self._wanted()
            if version == self._version:
                return Changes()
            new = {t: a for t, a in wanted.items() if t not in self._members}
            found, reasons = await look_for_tasks(new, self._worker, deadline, ())
            for reason in reasons.values():
                _log.warning("session %s goes on without %s", self._handle, reason)
            return await self._change(found, reasons, wanted, (), version, deadline)

    async def reattach(self, used: Collection[str], deadline: Deadline) -> Changes:
        """Ask all tasks for their status again, which finds those that have restarted.

        Args:
            used: the tasks that the session's graph uses; they are waited for.
            deadline: the deadline of the call.

        Raises:
            DeadlineExceededError: names every task in use that did not answer.
            OpError: if a worker refused or could not be reached.
        """
        async with self._changing:
            await self._cache.refresh_addresses(deadline)
            version, wanted = self._env.cluster.version, self._wanted()
            needed = {t for t in wanted if self._waits_for_all or t in used or t == self.task}
            limit = sooner(deadline)
            found, reasons = await look_for_tasks(wanted, self._worker, limit, needed)
            return await self._change(found, reasons, wanted, needed, version, deadline)

    async def refresh_addresses(self, deadline: Deadline) -> None:
        """Ask for the current addresses of the tasks, if the cluster has a resolver."""
        await self._cache.refresh_addresses(deadline)

    async def present(
        self, chosen: DeviceFilters, deadline: Deadline
    ) -> tuple[list[str], Mapping[str, str]]:
        """Ask some tasks, also those that answered before, and admit those that had not.

        Returns:
            The chosen tasks that answer, in the order of the cluster; and for each other chosen task a text
            that describes the attempts.
        """
        tasks = {task: a for task, a in self._wanted().items() if chosen.allows(task)}
        asked = {t: a for t, a in tasks.items() if t != self.task}
        found, absent = await look_for_tasks(asked, self._worker, deadline, ())
        for task in found:
            with contextlib.suppress(*_AWAY):  # lost again; its next status says so
                await self._admit(task, GRACE)
        return [task for task in tasks if task not in absent], absent

    async def retry_absent(self, deadline: Deadline, needed: Collection[str] = ()) -> None:
        """Ask the absent tasks again and admit those that answer.

        Args:
            deadline: the deadline of the call.
            needed: the tasks that are waited for; the others are asked once.
        """
        asked = {t: a for t, a in self._wanted().items() if t in self.missing and t not in needed}

        async def ask_once() -> None:
            found, reasons = await look_for_tasks(asked, self._worker, deadline, ())
            self._absent.reasons.update({t: w for t, w in reasons.items() if t in self.missing})
            for task in found:
                try:
                    await self._admit(task, GRACE)
                except OpError as error:
                    _log.warning("session %s goes on without %s: %s", self._handle, task, error)

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
        absent = [task for task in tasks if task in self.missing]
        if absent:
            await self._absent.wait_for(absent, deadline)
        return bool(absent)

    async def _admit(self, found: FoundTask, limit: float = CONNECT_TIMEOUT) -> None:
        """Make a formerly absent task a member, within ``limit`` seconds."""
        task = found.task
        async with self._opening[task]:
            if task not in self.missing:
                return
            # The worker may have opened the session when it was asked before.
            member = self._unconfirmed[task] = self._member(found, self._wanted(), lapsed=True)
            await self._open(task, member, self._wanted(), Deadline.after(limit))
            known = self._tasks.get(task)
            if not self._add(member):
                await self._drop([member])
                return
        _log.info("session %s: %s has answered", self._handle, task)
        moved = {} if known == member.address else {task: member.address}
        await self._send_updates(moved, Changes(added=(task,)))

    async def comes_back(self, task: str, deadline: Deadline) -> bool:
        """Wait for a task that was lost, where lost tasks are started again; return whether it answers."""
        while not deadline.expired and self._may_come_back(task):
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

    def _may_come_back(self, task: str) -> bool:
        cluster = self._env.cluster
        return self._own is None and task in cluster.tasks() and task not in cluster.given_up

    async def rejoin(self, task: str, deadline: Deadline) -> None:
        """Continue with the current incarnation of a task on which the session had no state.

        Raises:
            OpError: if the task refused or cannot be reached.
        """
        async with self._opening[task]:
            old = self._members.get(task)
            if old is None:
                return
            found = FoundTask(task, await self._worker(task).ask(GetStatus(), deadline))
            if found.incarnation == old.found.incarnation and not old.lapsed:
                return
            member = self._member(found, {task: old.address}, lapsed=True)
            self._unconfirmed[task] = member
            await self._open(task, member, self._wanted(), deadline)
            if self._add(member):
                _log.info("session %s goes on with another life of %s", self._handle, task)
                await self._send_updates()

    def _add(self, member: Member) -> bool:
        """Add one member, if it is one of the session's tasks, and return whether it is."""
        task = member.found.task
        if task not in self._tasks:
            return False
        self._tasks = {**self._tasks, task: member.address}
        members = {**self._members, task: member}
        self._absent.reasons.pop(task, None)
        self._unconfirmed.pop(task, None)
        self._replace(
            self._tasks, {t: members[t] for t in self._tasks if t in members}, self._version
        )
        return True

    async def _change(
        self, found: Sequence[FoundTask], reasons: Mapping[str, str], wanted: Mapping[str, str],
        needed: Collection[str], version: int, deadline: Deadline,
    ) -> Changes:  # fmt: skip
        wanted = self._with_current_addresses(wanted)
        fresh: dict[str, Member] = {}
        for task in found:
            old = self._members.get(task.task)
            if old is None or old.lapsed or old.found.incarnation != task.incarnation:
                begun = old is not None or task.task in self._unconfirmed
                fresh[task.task] = self._member(task, wanted, lapsed=begun)
        self._devices_of(wanted, {**self._members, **fresh})
        away = await self._begin(fresh, wanted, needed, deadline)
        changes, moved = self._commit(wanted, fresh, {**reasons, **away}, version)
        if changes:
            _log.info("session %s: %s", self._handle, changes)
        await self._send_updates(moved, changes)
        await self._drop(changes.left)
        return changes

    def _commit(
        self, wanted: Mapping[str, str], fresh: Mapping[str, Member], reasons: Mapping[str, str],
        version: int,
    ) -> tuple[Changes, dict[str, str]]:  # fmt: skip
        """Apply a change: new members, and tasks that have moved or left.

        Returns:
            The changes, and the addresses to send to the other workers.
        """
        before = self._members
        members: dict[str, Member] = {}
        for task, address in wanted.items():
            member = fresh.get(task) or before.get(task)
            if member is not None and member.address != address:
                # The task has moved or restarted; the steps that need it report which.
                member = self._member(member.found, wanted, lapsed=member.lapsed)
            if member is not None:
                members[task] = member
        changes = Changes(
            added=tuple(t for t in fresh if t not in before),
            removed=tuple(t for t in before if t not in members),
            restarted=tuple(t for t, m in fresh.items() if t in before and self._lost_state(m)),
            left=tuple(m for t, m in before.items() if t not in members),
        )
        moved = {task: a for task, a in wanted.items() if self._tasks.get(task) != a}
        for task in fresh:
            self._unconfirmed.pop(task, None)
        known = {**self.missing, **reasons}
        self._absent.reasons = {t: known.get(t, t) for t in wanted if t not in members}
        self._replace(wanted, members, version)
        return changes, moved

    def _replace(self, tasks: Mapping[str, str], members: dict[str, Member], version: int) -> None:
        # Updated in place: the session's graphs and steps hold this dict. The worker of a task that left
        # stays in it, because it may still be asked to drop its state.
        self.workers.update({task: member.worker for task, member in members.items()})
        for task, member in self._members.items():
            if members.get(task) is not member:
                unwatch(member)
        for member in members.values():
            if member.unwatch is None and not member.lapsed:
                self._watch(member)
        self._tasks, self._members, self._version = tasks, members, version
        self.devices = self._devices_of(tasks, members)
        self._on_devices()

    # -- questions -----------------------------------------------------------------------------

    def restored(self, task: str) -> Mapping[str, Any] | None:
        """Return the snapshot that a task was restored from, in wire form, or ``None``."""
        member = self._members.get(task)
        return None if member is None or self._private else member.found.restored

    async def ask_restored(self, task: str) -> Mapping[str, Any] | None:
        """Return ``restored`` of the current incarnation of a task; ``None`` without a timely answer."""
        if self._private:
            return None  # a snapshot holds only the state that sessions share
        try:
            status = await self._worker(task).ask(GetStatus(), Deadline.after(_ASK))
        except OpError:
            return None
        found: Mapping[str, Any] | None = status.restored
        return found

    def explained(self, error: InvalidArgumentError) -> InvalidArgumentError:
        """Add the absent tasks, which might have the device, to the error of a node that cannot be placed."""
        if not self.missing:
            return error
        missing = "; ".join(self.missing.values())
        return InvalidArgumentError(
            f"{error.message}. In the cluster, but without an answer: {missing}",
            node=error.node, source=error.source,
        )  # fmt: skip

    async def renew(self, task: str, deadline: Deadline) -> None:
        """Open the session at a task again, if the worker's side of it was lost with the link.

        A network failure loses no shared state, because that belongs to the task. Only state private to the
        session is lost.

        Raises:
            WorkerRestartedError: if the state there was private to the session, until ``reattach``; or if the
                task has restarted.
            OpError: if the task refused or cannot be reached.
        """
        async with self._opening[task]:
            member = self._members.get(task)
            if member is None or not member.lapsed:
                return
            if self._private:
                raise WorkerRestartedError(
                    f"the link to {task} was lost, and what this session had there for itself went with it; "
                    "session.reattach() goes on without",
                    task=task,
                )
            await self._open(task, member, self._wanted(), deadline)
            await self._send_updates()

    async def leave(self) -> None:
        """End the session at every worker, in bounded time."""
        try:
            await self._absent.aclose()
            for member in self._members.values():
                unwatch(member)
            await self._drop({**self._members, **self._unconfirmed}.values())
            await self._children.stop()
        finally:
            if self._cache is not self._env.workers:
                self._cache.release()

    def _lost_state(self, member: Member) -> bool:
        """Return whether a former member begins without the session's variables."""
        before = self._members[member.found.task].found
        return self._private or before.incarnation != member.found.incarnation

    def group_leader(self, wanted: str) -> str:
        """Return the task that leads the groups in which steps of several sessions meet.

        Args:
            wanted: the task that the settings name; "" for the first task of the cluster. Device filters do
                not apply to it.

        Raises:
            InvalidArgumentError: for a malformed name, or if the cluster has no such task.
        """
        tasks = self._cluster_tasks()
        if not wanted:
            return next(iter(tasks))
        try:
            spec = DeviceSpec.parse(wanted)
        except ValueError as exc:
            raise InvalidArgumentError(f"collective_group_leader: {exc}") from exc
        found = f"/job:{spec.job}/replica:{spec.replica or 0}/task:{spec.task or 0}"
        if found not in tasks:
            raise InvalidArgumentError(
                f"collective_group_leader={wanted!r} is no task of the cluster, which has {', '.join(tasks)}"
            )
        return found

    # -- steps of a change ---------------------------------------------------------------------

    def _cluster_tasks(self) -> Mapping[str, str]:
        return self._env.cluster.tasks() if self._own is None else self._own.tasks

    def _wanted(self) -> dict[str, str]:
        """Return the address of each task that the session may use."""
        tasks = self._cluster_tasks()
        # The device filters never exclude the master's own task.
        return {t: a for t, a in tasks.items() if t == self.task or self._filters.allows(t)}

    def _with_current_addresses(self, tasks: Mapping[str, str]) -> dict[str, str]:
        """Return the tasks with their current addresses; a task that was dialled may have been found
        elsewhere.
        """
        now = self._wanted()
        return {task: now.get(task, address) for task, address in tasks.items()}

    def step_calls(self, task: str) -> StepCalls | None:
        """Return the step frames of the link to the incarnation of a task that the session knows."""
        member = self._members.get(task)
        if member is None or member.lapsed:
            return None
        return self._cache.step_calls(task, member.found.incarnation)

    def _worker(self, task: str, incarnation: int | None = None) -> Ref:
        return self._cache.worker(task, incarnation)

    def _member(
        self, found: FoundTask, wanted: Mapping[str, str], *, lapsed: bool = False
    ) -> Member:
        address = wanted[found.task]
        worker = self._worker(found.task, found.incarnation)
        return Member(found, address, worker, lapsed)

    async def _begin(
        self, members: dict[str, Member], peers: Mapping[str, str], needed: Collection[str],
        deadline: Deadline,
    ) -> dict[str, str]:  # fmt: skip
        """Open the session at workers and remove from ``members`` those that are not needed and unreachable.

        Returns:
            For each removed task a text that describes the failure.

        Raises:
            OpError: if another worker refused; then the session is open at none of them.
        """
        soon = Deadline.after(GRACE).earliest(deadline)
        begun: list[Member] = []
        asks = [
            self._enter(member, peers, deadline if task in needed else soon, begun)
            for task, member in members.items()
        ]
        try:
            outcomes = await asyncio.gather(*asks, return_exceptions=True)
            errors = {
                task: from_exception(outcome)
                for task, outcome in zip(members, outcomes, strict=True)
                if isinstance(outcome, Exception)
            }
            away = {t: e for t, e in errors.items() if t not in needed and isinstance(e, _AWAY)}
            error = first_error([e for t, e in errors.items() if t not in away])
            if error is not None:
                raise error
        except BaseException:
            await self._drop(begun)
            raise
        self._unconfirmed.update({task: members.pop(task) for task in away})
        members.update({o.found.task: o for o in outcomes if isinstance(o, Member)})
        return {task: f"{task} at {peers[task]} ({e.message})" for task, e in away.items()}

    async def _enter(
        self, member: Member, peers: Mapping[str, str], deadline: Deadline, begun: list[Member]
    ) -> Member:
        """Open the session at a worker, unless a step has done so meanwhile, and return the current member.

        Args:
            member: the task and its worker.
            peers: the addresses of all tasks.
            deadline: the deadline of the call.
            begun: ``member`` is appended to it before the worker is asked.
        """
        async with self._opening[member.found.task]:
            there = self._members.get(member.found.task)
            known = None if there is None or there.lapsed else there.found.incarnation
            if there is not None and known == member.found.incarnation:
                return there
            begun.append(member)
            await self._open(member.found.task, member, peers, deadline)
        return member

    async def _open(
        self, task: str, member: Member, peers: Mapping[str, str], deadline: Deadline
    ) -> None:
        """Open the session at one worker."""
        if member.lapsed:
            # The worker may not have noticed yet that the former link is lost.
            drop = DeleteWorkerSession(session_handle=self._handle)
            await member.worker.ask(drop, deadline)
        message = CreateWorkerSession(
            session_handle=self._handle,
            master_task=self._master_name,
            master_incarnation=self._env.incarnation,
            isolate_session_state=self._private,
            peers=dict(peers),
            task="" if self._own is None else task,
        )
        await member.worker.ask(message, deadline)
        member.lapsed = False
        self._watch(member)

    def _watch(self, member: Member) -> None:
        """Register the callback for the loss of the link to a task."""
        unwatch(member)
        task = member.found.task
        if task != self.task:

            def lapse() -> None:
                member.lapsed = True
                if self._members.get(task) is member:
                    self._on_lapse(task)

            member.unwatch = self._cache.watch(task, lapse)

    async def _send_updates(
        self, moved: Mapping[str, str] | None = None, changes: Changes = _NO_CHANGES
    ) -> None:
        """Send the workers that stay the new addresses of tasks, and which tasks have left.

        Where the session shares its devices, all its workers get those as well.
        """
        shared = self.devices.devices if self._shares_devices else ()
        stay = [
            member
            for task, member in self._members.items()
            if not member.lapsed and (shared or task not in changes.added)
        ]
        if not stay or not (moved or changes.removed or shared):
            return
        message = UpdateWorkerSession(
            session_handle=self._handle, peers=dict(moved or {}), removed=list(changes.removed),
            cluster_device_attributes=[device.to_wire() for device in shared],
        )  # fmt: skip
        # The link to a worker delivers this before any step that is planned with it. A silent worker is not
        # waited for beyond ``GRACE``.
        updates = [
            self._children.start(self._send_update(m, message), name="send changes of the tasks")
            for m in stay
        ]
        await asyncio.wait(updates, timeout=GRACE)

    async def _send_update(self, member: Member, message: UpdateWorkerSession) -> None:
        try:
            await member.worker.ask(message, Deadline.after(CONNECT_TIMEOUT))
        except OpError as error:
            # The session has lost this worker too; the next step that needs it reports that.
            _log.warning("session %s: %s: %s", self._handle, member.worker.name, error)

    async def _drop(self, members: Iterable[Member]) -> None:
        message = DeleteWorkerSession(session_handle=self._handle)
        await asyncio.gather(*[ask_to_drop(member.worker, message) for member in members])

    def _devices_of(self, wanted: Iterable[str], members: Mapping[str, Member]) -> DeviceSet:
        """Return the devices of all tasks, members or absent, in the order of the cluster."""
        known = {
            task: members[task].found.devices if task in members else described_devices(task)
            for task in wanted
        }
        allowed = [d for task, devices in known.items() for d in self._allowed(task, devices)]
        return DeviceSet(allowed, next(d.name for d in known[self.task] if d.device_type == "CPU"))

    def _allowed(self, task: str, devices: Sequence[DeviceAttributes]) -> list[DeviceAttributes]:
        return [d for d in devices if task == self.task or self._filters.allows(d.name)]

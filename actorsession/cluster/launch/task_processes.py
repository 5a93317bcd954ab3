"""The processes of the tasks of a cluster: which there are, and what each is told of the others.

Starts and ends them, sends each the addresses of all, and reports their ends to sessions. Which tasks there
are is decided by ``ManagedCluster``, which owns this; ``TaskRestarts`` decides which are started again.
Imports processes by their interface only.

Invariant: a task whose process runs has received the current tasks of the cluster, or a call or a child is
sending them to it. Whoever changes the tasks may be refused, or give up; the change stays, so somebody has to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.life_cycle import LifeCycle, State
from actorsession.actors.supervision import Children
from actorsession.cluster.admin.admin_client import ToldTasks, note_restart, read_statistics, send_cluster
from actorsession.cluster.launch.cluster_interface import TaskProcess
from actorsession.cluster.launch.cluster_settings import ClusterSettings
from actorsession.cluster.launch.spawner import Spawner
from actorsession.cluster.launch.task_restarts import TaskRestarts
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.errors import DataLossError, OpError, UnavailableError
from actorsession.graph.device import task_name
from actorsession.rpc import exit_reports
from transports.host import current_host

__all__ = ["TaskProcesses", "raise_losses"]

P = TypeVar("P", bound=TaskProcess)

_log = logging.getLogger("actorsession.cluster")
# Seconds for each further attempt to tell a task of a change, and between two. Once a task that was cut off is reached
# again, the SYN of an attempt is sent again within that time, or the next attempt begins.
_ATTEMPT, _PAUSE = 5.0, 0.5


class TaskProcesses(Generic[P]):
    """The processes of one cluster.

    Args:
        spawner: makes and starts them.
        life: the life cycle of the cluster.
        settings: of the cluster.

    Attributes:
        restarts: starts tasks again.
        by_task: the process of each task, by task name.
        starting: those that are started and that no task has yet.
    """

    def __init__(self, spawner: Spawner[P], life: LifeCycle, settings: ClusterSettings) -> None:
        self._spawner = spawner
        self._life = life
        self._settings = settings
        self.restarts = TaskRestarts(settings.restart, self, settings.on_end)
        self.by_task: dict[str, P] = {}
        self.starting: dict[P, None] = {}
        self._restarted: Counter[str] = Counter()  # by whatever reason, also at the request of the user
        self._children = Children("processes of a cluster")
        self._behind: set[P] = set()  # those that a child tells of the cluster

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their real addresses."""
        return ClusterSpec.of_tasks({p.task: p.address for p in self.by_task.values()})

    def find(self, job: str, index: int) -> P:
        """Return the process of a task.

        Raises:
            ValueError: for an unknown task.
        """
        process = self.by_task.get(task_name(job, index))
        if process is None:
            raise ValueError(f"no task {index} in job {job!r}; there are {sorted(self.by_task)}")
        return process

    # -- start ---------------------------------------------------------------------------------

    async def start_all(self, jobs: Mapping[str, int]) -> None:
        """Start the processes of all tasks, and wait until each has the addresses of the others."""
        together = sum(jobs.values())
        for job, count in jobs.items():
            for index in range(count):
                process = self._spawner.new_process(job, index, together)
                self.by_task[process.task] = process
        processes, deadline = list(self.by_task.values()), Deadline.after(self._settings.start_timeout)
        await self._spawner.prepare(processes, deadline)
        await deadline.wait(self._bring_up(jobs, processes), what="the processes of the cluster")

    async def _bring_up(self, jobs: Mapping[str, int], processes: Sequence[P]) -> None:
        new_address = self._spawner.new_address
        placeholder = {job: [new_address(job, index) for index in range(n)] for job, n in jobs.items() if n}
        for process in processes:
            if self._life.state is State.STARTING:  # else all are being ended
                await self._spawner.spawn(process, placeholder)
        for process in processes:
            await process.announced()
        await asyncio.gather(*[process.tell_cluster(self._now(process)) for process in processes])
        for process in processes:
            self._report_end_of(process)

    def free_index(self, job: str) -> int:
        """Return the lowest index of a job that no task has."""
        taken = {*self.by_task, *(process.task for process in self.starting)}
        index = 0
        while task_name(job, index) in taken:
            index += 1
        return index

    async def begin(self, job: str, index: int, address: str | None = None) -> P:
        """Start one more process for a task, which knows all others when this returns.

        Args:
            job: the job of the task.
            index: its index in the job.
            address: where it is to listen if it can; by default at an address of its own.
        """
        self._life.check()
        together = len({*self.by_task, task_name(job, index)})
        process = self._spawner.new_process(job, index, together)
        address = self._spawner.new_address(job, index) if address is None else address
        cluster = ClusterSpec.of_tasks({**self.spec.tasks(), process.task: address}).as_dict()
        self.starting[process] = None
        try:
            await self._spawner.spawn(process, cluster)
            deadline = Deadline.after(self._settings.start_timeout)
            await deadline.wait(process.announced(), what=f"the process of {process.task}")
            await self._introduce(process, deadline)
            self._life.check()  # otherwise no later call would end the process
        except BaseException:
            await process.stop(0.0)
            raise
        finally:
            del self.starting[process]
        self.by_task[process.task] = process
        self._report_end_of(process)
        return process

    async def _introduce(self, process: P, deadline: Deadline) -> None:
        """Send a new process the tasks of the cluster, until it has those that there are by then."""
        now = self._now(process)
        told = await deadline.wait(process.tell_cluster(now), what=f"the process of {process.task}")
        while told != now():
            told = await self._send(process, deadline)

    def _now(self, process: P) -> Callable[[], ToldTasks]:
        """Return what tells the tasks as they are, with one that may not be among them yet, or any more."""
        return lambda: ({**self.spec.tasks(), process.task: process.address}, self.restarts.given_up)

    async def _send(self, process: P, deadline: Deadline | None) -> ToldTasks:
        settings = self._settings
        return await send_cluster(
            process.address, self._now(process), deadline=deadline, token=settings.token, security=settings.security
        )

    async def begin_again(self, former: P) -> P:
        """Start the task of a process again, at its address if it can; kill the process if it runs."""
        await former.stop(0.0)
        self.restarts.record_end(former)
        process = await self.begin(former.job, former.index, former.address)
        await self._note_restart(process, former)
        if process.address != former.address:
            exit_reports.unregister_exit_reporter(former.address)
            await self.tell_or_log(but=process)
        return process

    async def _note_restart(self, process: P, former: P) -> None:
        """Tell a new process how the one before has ended, for those who ask the task later."""
        task, settings = process.task, self._settings
        self._restarted[task] += 1
        to = {"task": task, "token": settings.token, "security": settings.security}
        with contextlib.suppress(OpError):  # it ends now, too
            await note_restart(process.address, self._restarted[task], former.fate, **to)

    # -- what each is told ---------------------------------------------------------------------

    async def tell(self, *, but: P | None = None, deadline: Deadline | None = None) -> None:
        """Send all tasks that are alive the tasks of the cluster; by default within 10 s.

        Those that have not received them by then, or when the call is cancelled, do so as soon as they answer.

        Args:
            but: the process of one that knows them.
            deadline: the time until which to wait.

        Raises:
            UnavailableError: if tasks could not be told; names those tasks.
        """
        alive = [p for p in self.by_task.values() if p.alive and p is not but]
        behind = dict.fromkeys(alive)

        async def send(process: P) -> None:
            await self._send(process, deadline)
            del behind[process]

        try:
            outcomes = await asyncio.gather(*map(send, alive), return_exceptions=True)
        finally:
            for process in behind:
                self._tell_later(process)
        faults = [f"{p.task}: {o}" for p, o in zip(alive, outcomes, strict=True) if o is not None]
        if faults:
            raise UnavailableError(f"could not be told of the change: {'; '.join(faults)}")

    def _tell_later(self, process: P) -> None:
        """Send a task the tasks of the cluster as soon as it answers."""
        if process not in self._behind and self._is_ours(process):
            self._behind.add(process)
            _ = self._children.start(self._tell_until_told(process), name=f"tell {process.task} of its cluster")

    async def _tell_until_told(self, process: P) -> None:
        now = self._now(process)
        while self._is_ours(process):
            try:
                if await self._send(process, Deadline.after(_ATTEMPT)) == now():
                    break  # without an ``await`` until no child is here: whoever changes the tasks next starts one
            except OpError as error:
                _log.debug("%s is still behind its cluster: %s", process.task, error.message)
                await asyncio.sleep(_PAUSE)
        self._behind.discard(process)

    def _is_ours(self, process: P) -> bool:
        """Return whether a process is that of a task of a cluster that goes on."""
        goes_on = self._life.state in (State.STARTING, State.RUNNING)
        return goes_on and process.alive and self.by_task.get(process.task) is process

    async def tell_or_log(self, *, but: P | None = None) -> None:
        """Do the same for a change that no caller waits for."""
        # A task that is merely busy is waited for, and is no news.
        try:
            await self.tell(but=but, deadline=Deadline.after(self._settings.start_timeout))
        except OpError as error:  # a task that ends now, too
            _log.info("%s", error.message)

    async def statistics(self) -> dict[str, ServerStatistics]:
        """Return the counters of every task whose process runs; see ``ManagedCluster.statistics``."""
        alive, settings = [p for p in self.by_task.values() if p.alive], self._settings
        asking = [read_statistics(p.address, token=settings.token, security=settings.security) for p in alive]
        counters = await asyncio.gather(*asking)
        return {process.task: each for process, each in zip(alive, counters, strict=True)}

    # -- ends ----------------------------------------------------------------------------------

    def _report_end_of(self, process: P) -> None:
        task, restarts = process.task, self.restarts
        exit_reports.register_exit_reporter(
            process.address, functools.partial(self._fate_of, task), lambda: task in restarts.given_up
        )

    async def _fate_of(self, own: str, task: str | None) -> str:
        """Return how the process of a task ended, for errors of sessions opened at another task."""
        task = task or own
        process = self.by_task.get(task)
        words = "" if process is None else await process.last_words()
        if not words and (former := self.restarts.recently_ended(task)) is not None:
            words = await former.last_words()
        return words

    async def remove(self, process: P, grace: float) -> None:
        """Remove the task of a process: tell all others, then end the process.

        Raises:
            UnavailableError: if tasks could not be told; the process has ended nevertheless.
            DataLossError: if it could not write its last snapshot; says what is lost.
        """
        del self.by_task[process.task]
        self.restarts.forget(process.task)
        how = f"{process.task} was removed from its cluster by process {current_host().processes.getpid()}"
        exit_reports.retire(process.address, how)
        try:
            await self.tell()
        finally:
            await process.stop(grace)
            exit_reports.retire(process.address, how)  # again: until now it may have answered
        raise_losses([process])

    async def stop(self, grace: float) -> None:
        """End all processes at once, and give back what they had."""
        await self._children.stop()
        async with asyncio.TaskGroup() as group:
            for process in self.by_task.values():
                group.create_task(process.stop(grace), name=f"stop {process.task}")
            for process in self.starting:  # those of ``restart`` and ``add``, which fail then
                group.create_task(process.stop(0.0), name=f"stop {process.task}")
        for process in self.by_task.values():
            exit_reports.retire(
                process.address, f"its cluster was stopped in order by process {current_host().processes.getpid()}"
            )
        await self._spawner.release()

    def kill_now(self) -> None:
        """Kill all processes without waiting, and give back what they had."""
        for process in [*self.by_task.values(), *self.starting]:
            process.kill_now()
        self._spawner.release_now()


def raise_losses(processes: Iterable[TaskProcess]) -> None:
    """Raise a ``DataLossError`` that says what was lost with processes, if anything was."""
    lost = [process.lost for process in processes if process.lost]
    if lost:
        raise DataLossError(" | ".join(lost))

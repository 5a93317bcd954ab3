"""What all clusters have in common that this process starts and ends: their tasks, and what changes them.

``ManagedCluster`` is the base class of ``LocalCluster`` and of the clusters on engines. A subclass makes the
process of a task (``_new_process``, ``_spawn``) and knows where it may listen (``_new_address``). The base
starts all of them, tells each task of the others, starts tasks again (``task_restarts``, and ``restart`` by
hand), adds and removes tasks, reports their ends to sessions, and runs all that in a thread for a program
without an event loop. Imports processes by their interface only.

Invariants: whoever starts or ends the process of a task holds the lock of the task or is its only watch, so
no two processes are at one address. The end of the whole cluster ends all of them. The table of ``LifeCycle``
says what each call does before the start, during it and after the end. A forked child ends nothing, because
all processes are its parent's.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import re
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import NoneType, TracebackType
from typing import Any, Generic, Self, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.life_cycle import Call, LifeCycle, State
from actorsession.actors.loops import in_thread
from actorsession.cluster.admin.admin_client import read_statistics, update_cluster
from actorsession.cluster.launch.cluster_interface import TaskProcess, TaskStatus
from actorsession.cluster.launch.restart_limit import checked_restart
from actorsession.cluster.launch.task_restarts import TaskEnd, TaskRestarts
from actorsession.cluster.server.snapshots import stored_cluster_id
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.durations import checked_seconds
from actorsession.errors import DataLossError, FailedPreconditionError, OpError, UnavailableError
from actorsession.graph.device import task_name
from actorsession.process_bound import ProcessBound
from actorsession.rpc import exit_reports
from actorsession.runtime.loop_thread import LoopThread
from actorsession.standard_streams import open_standard_descriptors
from transports import SecurityConfig

__all__ = ["GRACE", "ManagedCluster", "checked_imports"]

P = TypeVar("P", bound=TaskProcess)
T = TypeVar("T")

GRACE = 5.0
"""Seconds that processes have to end by themselves."""

_log = logging.getLogger("actorsession.cluster")
# Seconds for processes of a program that has ended to end, too, and between two looks.
_ENDING, _LOOK = 5.0, 0.1
_ID_BYTES = 8
_GENERATED = re.compile(rf"[0-9a-f]{{{2 * _ID_BYTES}}}")


class ManagedCluster(ProcessBound, Generic[P]):
    """Processes that are started and ended together, one for each task.

    Args:
        jobs: number of tasks of each job.
        start_timeout: seconds for all processes to come up.
        security: TLS files of all processes and of this one.
        token: the secret that all processes and this one share, if they need one.
        restart: how often a task is started again within 60 s; see ``LocalCluster``.
        on_end: called on the cluster's loop with the end of each process; see ``LocalCluster``.
        cluster_id: the id of the cluster; see ``LocalCluster``.
        snapshot_dir: where all tasks keep snapshots, if they do.

    Attributes:
        processes: the process of each task, by task name.

    Raises:
        ValueError: for no task at all, or a number below 0.
        TypeError: for a number of restarts that is no integer, or an id that is no text.
        InvalidArgumentError: for a duration out of range.
    """

    instead = "send its target() or its spec, and make a session with that"

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        start_timeout: float,
        security: SecurityConfig | None,
        token: str | None,
        restart: int,
        on_end: Callable[[TaskEnd], object] | None,
        cluster_id: str | None,
        snapshot_dir: str | os.PathLike[str] | None,
    ) -> None:
        if not jobs or min(jobs.values()) < 0 or not sum(jobs.values()):
            raise ValueError(f"a cluster has at least one task, got {dict(jobs)}")
        self._jobs = dict(jobs)
        self._start_timeout = checked_seconds("start_timeout", start_timeout)
        self._security = security
        self._token = token
        self._restarts = TaskRestarts(checked_restart(restart), self._start_again, on_end, self._tell_given_up)
        self._changing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting: set[P] = set()  # those that no task has yet
        if not isinstance(cluster_id, (str, NoneType)):
            raise TypeError(f"a cluster id is a string, got {cluster_id!r:.100}")
        self._snapshots_of = snapshot_dir if cluster_id is None else None  # who goes on with whose?
        self._cluster_id = secrets.token_hex(_ID_BYTES) if cluster_id is None else cluster_id
        self._life = LifeCycle("cluster", "the cluster", self._cut)
        self._loop_thread: LoopThread | None = None
        self._entering = threading.Lock()
        self.processes: dict[str, P] = {}

    # -- what a subclass decides ---------------------------------------------------------------

    async def _prepare(self, deadline: Deadline) -> None:
        """Do what comes before the first process; ``processes`` has all, none of which is started."""

    def _new_process(self, job: str, index: int, together: int) -> P:
        """Return the process of a task, not started; ``together`` is the number of all processes."""
        raise NotImplementedError

    def _new_address(self, job: str, index: int) -> str:
        """Return the address at which a new task is to listen, which may have port 0."""
        raise NotImplementedError

    async def _spawn(self, process: P, cluster: Mapping[str, Any]) -> None:
        """Begin to start a process, with the addresses that are known; ``announced`` waits for its own."""
        raise NotImplementedError

    async def _release(self) -> None:
        """Give back what ``_prepare`` has taken, after the end of all processes; may be called twice."""

    def _release_now(self) -> None:
        """Do the same without waiting."""

    # -- start ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start all processes and wait until each has received the addresses of the others.

        If the call fails or is cancelled, no process is left, and the cluster counts as stopped.

        Raises:
            UnavailableError: if a process does not come up; the message has its last lines.
            DeadlineExceededError: if that takes too long.
            ResourceExhaustedError: if there is no place for them.
            FailedPreconditionError: if the cluster was started before, or is stopped meanwhile.
        """
        await self._life.start(self._start, lambda: self._end(0.0))

    async def _start(self) -> None:
        open_standard_descriptors()  # the loop may be the caller's own
        together = sum(self._jobs.values())
        if self._snapshots_of is not None:
            self._cluster_id = await _stored_id(self._snapshots_of) or self._cluster_id
        for job, count in self._jobs.items():
            for index in range(count):
                process = self._new_process(job, index, together)
                self.processes[process.task] = process
        deadline = Deadline.after(self._start_timeout)
        await self._prepare(deadline)
        await deadline.wait(self._bring_up(), what="the processes of the cluster")
        if self._life.state is State.STARTING:
            self._restarts.watch(self.processes.values())

    async def _bring_up(self) -> None:
        placeholder = {
            job: [self._new_address(job, index) for index in range(count)] for job, count in self._jobs.items() if count
        }
        processes = list(self.processes.values())
        for process in processes:
            if self._life.state is State.STARTING:  # else all are being ended
                await self._spawn(process, placeholder)
        for process in processes:
            await process.announced()
        cluster = self.spec.as_dict()
        await asyncio.gather(*[process.tell_cluster(cluster) for process in processes])
        for process in processes:
            self._report_end_of(process)

    @property
    def cluster_id(self) -> str:
        """The cluster id of its servers and of its state on disk, once it has started.

        Needed by a server outside that is to be their master.
        """
        return self._cluster_id

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their real addresses."""
        return ClusterSpec.of_tasks({p.task: p.address for p in self.processes.values()})

    def target(self, job: str, index: int = 0) -> str:
        """Return the address of a task, for sessions that use it as their master.

        Raises:
            ValueError: for an unknown task.
        """
        return self.process(job, index).address

    def process(self, job: str, index: int = 0) -> P:
        """Return the process of a task.

        Raises:
            ValueError: for an unknown task.
        """
        process = self.processes.get(task_name(job, index))
        if process is None:
            raise ValueError(f"no task {index} in job {job!r}; there are {sorted(self.processes)}")
        return process

    @property
    def restarts(self) -> dict[str, int]:
        """How often each task was started again because its process had ended by itself, by task name."""
        return {task: self._restarts.counts[task] for task in self.processes}

    # -- changes -------------------------------------------------------------------------------

    async def restart(self, job: str, index: int = 0) -> P:
        """Start a task again at its address, with another incarnation; kill its process if it runs.

        The task's state is lost, unless it keeps snapshots. Afterwards ``processes`` has the new process, and
        the task has all of its own restarts again. If the call fails, the task stays dead.

        Returns:
            The new process.

        Raises:
            ValueError: for an unknown task.
            FailedPreconditionError: if the cluster was not started, or was stopped.
            UnavailableError: if it does not come up; the message has its last lines.
            DeadlineExceededError: if that takes too long.
        """
        self._life.check()
        task = self.process(job, index).task
        async with self._changing[task]:
            await self._restarts.release(task)
            given_up = self._restarts.given_up
            try:
                process = await self._start_again(self.process(job, index))
                self._restarts.watch([process])
            except BaseException:
                self._restarts.give_up(task)
                raise
            finally:
                if given_up != self._restarts.given_up:
                    await self._tell_given_up()
        return process

    async def _start_again(self, former: P) -> P:
        """Start the task of a process again, at its address if it can; kill the process if it runs."""
        await former.stop(0.0)
        self._restarts.record_end(former)
        process = await self._begin(former.job, former.index, former.address)
        if process.address != former.address:
            exit_reports.unregister_exit_reporter(former.address)
            await self._tell_or_log(p for p in self.processes.values() if p is not process)
        return process

    async def add(self, job: str) -> P:
        """Start one more task of a job and notify all others; sessions can use it from their next plan on.

        Its index is the lowest that is free; the job may be a new one.

        Returns:
            The new process.

        Raises:
            FailedPreconditionError: if the cluster was not started, or was stopped.
            UnavailableError: if it does not come up, or if tasks could not be notified; names those tasks.
            DeadlineExceededError: if coming up takes too long.
        """
        self._life.check()
        taken = {*self.processes, *(process.task for process in self._starting)}
        index = 0
        while task_name(job, index) in taken:
            index += 1
        process = await self._begin(job, index, self._new_address(job, index))
        self._restarts.watch([process])
        await self._tell(p for p in self.processes.values() if p is not process)
        return process

    async def scale(self, job: str, count: int) -> None:
        """Start or end tasks of a job until it has ``count``; sessions follow between two steps.

        Free indices are taken from the lowest on, and the tasks with the highest indices end.

        Args:
            job: the job, which may be a new one.
            count: the number of tasks that it is to have.

        Raises:
            ValueError: for a number below 0, or if no task at all would be left.
            FailedPreconditionError: if the cluster was not started, or was stopped.
            UnavailableError: if a task does not come up, or if tasks could not be notified; those that came
                up stay.
            DeadlineExceededError: if coming up takes too long.
        """
        self._life.check()
        if count < 0:
            raise ValueError(f"a job has 0 tasks or more, got {count} for {job!r}")
        spec = self.spec
        indices = spec.task_indices(job) if job in spec.jobs else []
        for index in reversed(indices[count:]):
            await self.remove(job, index)
        adding = [self.add(job) for _ in range(count - len(indices))]
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def remove(self, job: str, index: int = 0, *, grace: float = GRACE) -> None:
        """Remove a task from the cluster: notify all others, then end its process.

        Args:
            job: its job.
            index: its index in the job.
            grace: seconds for the process to end by itself, besides the time to write a last snapshot.

        Raises:
            ValueError: for an unknown task, or the last one.
            FailedPreconditionError: if the cluster was not started, or was stopped.
            UnavailableError: if tasks could not be notified; names those tasks. The task is removed
                nevertheless.
            DataLossError: if it could not write its last snapshot; says what is lost.
        """
        _ = checked_seconds("grace", grace)
        self._life.check()
        task = self.process(job, index).task
        async with self._changing[task]:
            if len(self.processes) == 1:
                raise ValueError(f"{task} is the last task; stop the cluster instead")
            await self._restarts.release(task)
            process = self.process(job, index)
            del self.processes[task]
            self._restarts.forget(task)
            how = f"{task} was removed from its cluster by process {os.getpid()}"
            exit_reports.retire(process.address, how)
            try:
                await self._tell(self.processes.values())
            finally:
                await process.stop(grace)
        _tell_losses([process])

    async def _begin(self, job: str, index: int, address: str) -> P:
        """Start one more process, for a task at the given address."""
        self._life.check()
        together = len({*self.processes, task_name(job, index)})
        process = self._new_process(job, index, together)
        cluster = ClusterSpec.of_tasks({**self.spec.tasks(), process.task: address}).as_dict()
        self._starting.add(process)
        try:
            await self._spawn(process, cluster)
            deadline = Deadline.after(self._start_timeout)
            await deadline.wait(process.announced(), what=f"the process of {process.task}")
            await self._introduce(process, deadline)
            self._life.check()  # otherwise no later call would end the process
        except BaseException:
            await process.stop(0.0)
            raise
        finally:
            self._starting.discard(process)
        self.processes[process.task] = process
        self._report_end_of(process)
        return process

    async def _introduce(self, process: P, deadline: Deadline) -> None:
        """Send a new process the tasks of the cluster, until it has those that there are by then."""
        told = tasks = {**self.spec.tasks(), process.task: process.address}
        telling = process.tell_cluster(ClusterSpec.of_tasks(tasks).as_dict())
        await deadline.wait(telling, what=f"the process of {process.task}")
        while (tasks := {**self.spec.tasks(), process.task: process.address}) != told:
            await update_cluster(process.address, tasks, deadline=deadline, token=self._token, security=self._security)
            told = tasks

    def _report_end_of(self, process: P) -> None:
        task, restarts = process.task, self._restarts
        exit_reports.register_exit_reporter(
            process.address, functools.partial(self._fate_of, task), lambda: task in restarts.given_up
        )

    async def _fate_of(self, own: str, task: str | None) -> str:
        """Return how the process of a task ended, for errors of sessions opened at another task."""
        task = task or own
        process = self.processes.get(task)
        words = "" if process is None else await process.last_words()
        if not words and (former := self._restarts.recently_ended(task)) is not None:
            words = await former.last_words()
        return words

    async def _tell(self, processes: Iterable[P], deadline: Deadline | None = None) -> None:
        """Send the tasks of the cluster to those of ``processes`` that are alive; by default within 10 s."""
        alive = [p for p in processes if p.alive]
        tasks, given_up = self.spec.tasks(), self._restarts.given_up
        telling = [
            update_cluster(
                p.address, tasks, given_up=given_up, token=self._token, security=self._security, deadline=deadline
            )
            for p in alive
        ]
        outcomes = await asyncio.gather(*telling, return_exceptions=True)
        faults = [f"{p.task}: {o}" for p, o in zip(alive, outcomes, strict=True) if o is not None]
        if faults:
            raise UnavailableError(f"could not be told of the change: {'; '.join(faults)}")

    async def _tell_given_up(self) -> None:
        """Send all tasks those that are not started again, for which steps need not wait."""
        await self._tell_or_log(self.processes.values())

    async def _tell_or_log(self, processes: Iterable[P]) -> None:
        # Nobody else tells a task that is merely busy.
        deadline = Deadline.after(self._start_timeout)
        try:
            await self._tell(processes, deadline)
        except OpError as error:  # a task that ends now, too
            _log.info("%s", error.message)

    def status(self) -> dict[str, TaskStatus]:
        """Return the state of each task's process, by task name; asks no process."""
        counts = self._restarts.counts
        return {
            task: TaskStatus(
                task=task,
                address=process.address,
                node=process.node,
                alive=process.alive,
                restarts=counts[task],
                fate=process.fate,
            )
            for task, process in self.processes.items()
        }

    async def logs(self, job: str, index: int = 0) -> Sequence[str]:
        """Return the last lines that the process of a task wrote, at most 40, also after its end.

        Raises:
            ValueError: for an unknown task.
        """
        self._life.owner.check_process()
        return await self.process(job, index).log()

    async def statistics(self) -> dict[str, ServerStatistics]:
        """Return the counters of every task whose process runs, by task name.

        Raises:
            UnavailableError: if a process runs and does not answer.
            DeadlineExceededError: if that takes too long.
        """
        self._life.owner.check_process()
        alive = [p for p in self.processes.values() if p.alive]
        asking = [read_statistics(p.address, token=self._token, security=self._security) for p in alive]
        answers = await asyncio.gather(*asking)
        return {process.task: counters for process, counters in zip(alive, answers, strict=True)}

    async def stop(self, grace: float = GRACE) -> None:
        """End all processes concurrently; may be called twice, and while they are started or ended.

        A call that is cancelled kills those that are left and gives back what the cluster holds, before its
        cancellation goes on. In a forked child it does nothing.

        Args:
            grace: seconds for processes to end by themselves. Those that keep snapshots get the time to write
                the last one besides.

        Raises:
            DataLossError: if a task could not write its last snapshot; says what is lost. All processes have
                ended nevertheless.
        """
        _ = checked_seconds("grace", grace)
        await self._life.stop(lambda: self._stop(grace))

    async def _stop(self, grace: float) -> None:
        await self._restarts.stop()
        await self._end(grace)
        _tell_losses(self.processes.values())

    async def _end(self, grace: float) -> None:
        async with asyncio.TaskGroup() as group:
            for process in self.processes.values():
                group.create_task(process.stop(grace), name=f"stop {process.task}")
            for process in self._starting:  # those of ``restart`` and ``add``, which fail then
                group.create_task(process.stop(0.0), name=f"stop {process.task}")
        for process in self.processes.values():
            exit_reports.retire(process.address, f"its cluster was stopped in order by process {os.getpid()}")
        await self._release()

    def kill_now(self) -> None:
        """Kill all processes without waiting, for a program that ends at once; none is started afterwards.

        In a forked child it does nothing.
        """
        self._life.cut()

    def _cut(self) -> None:
        for process in [*self.processes.values(), *self._starting]:
            process.kill_now()
        self._release_now()

    # -- programs without a loop ---------------------------------------------------------------

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of a cluster that was entered by a plain ``with``, such as ``restart``, to its end.

        Callable from any thread. Ctrl-C cancels the coroutine.

        Raises:
            FailedPreconditionError: if the cluster was not entered so.
            RuntimeError: in a forked child.
        """
        thread = self._loop_thread
        try:
            self._life.owner.check_process()
            if thread is None:
                raise FailedPreconditionError(
                    "do() is for a cluster that was entered by a plain `with`; in a coroutine await the call itself"
                )
        except BaseException:
            work.close()
            raise
        return thread.wait(work)

    def __enter__(self) -> Self:
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "a plain `with` blocks and must not be used inside a running event loop: use "
                f"`async with {type(self).__name__}(...)` there"
            )
        self._life.owner.check_process()
        with self._entering:
            # Before the thread is made, which must not take the place of that of a cluster that is open.
            if self._loop_thread is not None or self._life.state is not State.NEW:
                self._life.check(Call.START)
                raise FailedPreconditionError("the cluster is being started")
            self._loop_thread = LoopThread("actorsession-cluster-loop")
        try:
            self.do(self.start())
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        with _after(exc):
            self.close()

    def close(self) -> None:
        """End a cluster that was entered by a plain ``with``; a coroutine awaits ``stop``.

        Callable from any thread, and twice. In a forked child it does nothing.

        Raises:
            DataLossError: see ``stop``.
        """
        if self._life.owner.is_forked:
            return
        with self._entering:  # one call ends the cluster, and the others return after it
            if self._loop_thread is None:
                return
            try:
                self.do(self.stop())
            finally:
                self._end_loop()

    def _end_loop(self) -> None:
        thread, self._loop_thread = self._loop_thread, None
        if thread is not None:
            thread.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        with _after(exc):
            await self.stop()

    def __repr__(self) -> str:
        alive = sum(p.alive for p in self.processes.values())
        return f"<{type(self).__name__} {self._jobs}, {alive} of {len(self.processes)} processes alive>"


async def _stored_id(snapshot_dir: str | os.PathLike[str]) -> str | None:
    """Return the generated id of the cluster whose variables are in a folder, if there is one.

    Processes whose program has ended a moment ago, and which may be writing their last snapshots, are waited
    for. An id that somebody has chosen is only used by those who give it.
    """
    deadline = Deadline.after(_ENDING)
    while True:
        try:
            stored = await in_thread(stored_cluster_id, snapshot_dir)
        except UnavailableError:
            if deadline.expired:
                return None  # its tasks are refused, with both names
            await asyncio.sleep(_LOOK)
        else:
            return stored if stored and _GENERATED.fullmatch(stored) else None


def _tell_losses(processes: Iterable[TaskProcess]) -> None:
    """Raise a ``DataLossError`` that says what was lost with processes, if anything was."""
    lost = [process.lost for process in processes if process.lost]
    if lost:
        raise DataLossError(" | ".join(lost))


@contextlib.contextmanager
def _after(error: BaseException | None) -> Iterator[None]:
    """Add what is lost at the end of a block to the error of the block, if that has failed."""
    try:
        yield
    except DataLossError as lost:
        if error is None:
            raise
        error.add_note(lost.message)


def checked_imports(imports: Sequence[str]) -> tuple[str, ...]:
    """Return the names of modules that processes are to import.

    Raises:
        TypeError: if they are not given as a sequence of names.
    """
    names = tuple(imports)
    if isinstance(imports, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"imports is a sequence of names of modules, got {imports!r:.100}")
    return names

"""What all clusters have in common that this process starts and ends: their tasks, and what changes them.

``ManagedCluster`` is the base class of ``LocalCluster`` and of the clusters on engines, which give it a
``Spawner``. It starts and ends all tasks, starts them again by hand, adds and removes them.
``TaskProcesses`` has the processes and tells each task of the others, ``TaskRestarts`` starts tasks again
whose processes have ended, and ``ClusterThread`` runs all that for a program without an event loop.

Invariants: whoever starts or ends the process of a task holds the lock of the task or is its only watch, so
no two processes are at one address. The end of the whole cluster ends all of them. The table of ``LifeCycle``
says what each call does before the start, during it and after the end. A forked child ends nothing, because
all processes are its parent's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Coroutine, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.life_cycle import LifeCycle, State
from actorsession.actors.loops import in_thread
from actorsession.cluster.launch.cluster_interface import TaskProcess, TaskStatus
from actorsession.cluster.launch.cluster_settings import ClusterSettings
from actorsession.cluster.launch.cluster_thread import ClusterThread
from actorsession.cluster.launch.dashboard_process import DashboardProcess
from actorsession.cluster.launch.spawner import Spawner
from actorsession.cluster.launch.task_processes import TaskProcesses, raise_losses
from actorsession.cluster.server.snapshots import stored_cluster_id
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.drawing.shown import Shown
from actorsession.durations import checked_seconds
from actorsession.errors import DataLossError, UnavailableError
from actorsession.process_bound import ProcessBound
from actorsession.progress import shown_while
from actorsession.standard_streams import open_standard_descriptors
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["GRACE", "Closing", "ManagedCluster", "checked_imports", "device_counts"]

P = TypeVar("P", bound=TaskProcess)
T = TypeVar("T")

GRACE = 5.0
"""Seconds that processes have to end by themselves."""

# Seconds for processes of a program that has ended to end, too, and between two looks.
_ENDING, _LOOK = 5.0, 0.1
_ID_BYTES = 8
_GENERATED = re.compile(rf"[0-9a-f]{{{2 * _ID_BYTES}}}")


class ManagedCluster(Shown, ProcessBound, Generic[P]):
    """Processes that are started and ended together, one for each task.

    Args:
        jobs: number of tasks of each job.
        spawner: makes and starts their processes.
        settings: of the cluster.

    Attributes:
        processes: the process of each task, by task name.

    Raises:
        ValueError: for no task at all, or a number below 0.
    """

    instead = "send its target() or its spec, and make a session with that"

    def __init__(self, jobs: Mapping[str, int], spawner: Spawner[P], settings: ClusterSettings) -> None:
        if not jobs or min(jobs.values()) < 0 or not sum(jobs.values()):
            raise ValueError(f"a cluster has at least one task, got {dict(jobs)}")
        self._jobs = dict(jobs)
        self._spawner = spawner
        cluster_id = settings.cluster_id
        self._snapshots_of = settings.snapshot_dir if cluster_id is None else None  # who goes on with whose?
        spawner.cluster_id = current_host().entropy.token_hex(_ID_BYTES) if cluster_id is None else cluster_id
        self._life = LifeCycle("cluster", "the cluster", self._kill_all)
        self._tasks = TaskProcesses(spawner, self._life, settings)
        self._restarts = self._tasks.restarts
        self._page = DashboardProcess(token=settings.token, security=settings.security) if settings.dashboard else None
        self._changing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._thread = ClusterThread(self._life)
        self.processes = self._tasks.by_task

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
        await self._life.start(self._start, self._end)

    async def _start(self) -> None:
        open_standard_descriptors()  # the loop may be the caller's own
        if self._snapshots_of is not None:
            self._spawner.cluster_id = await _stored_id(self._snapshots_of) or self._spawner.cluster_id
        with shown_while("starting the tasks of the cluster", lambda: (_up(self), sum(self._jobs.values()))):
            await self._tasks.start_all(self._jobs)
        if self._life.state is State.STARTING:
            self._restarts.watch(self.processes.values())
        if self._page is not None and self._life.state is State.STARTING:
            await in_thread(self._page.start, next(iter(self.processes.values())).address)
            self._page.announce("cluster")

    async def _end(self, grace: float = 0.0) -> None:
        await self._restarts.stop()
        if self._page is not None:
            await in_thread(self._page.close)
        await self._tasks.stop(grace)

    def _kill_all(self) -> None:
        if self._page is not None:
            self._page.kill_now()
        self._tasks.kill_now()

    @property
    def dashboard_link(self) -> str:
        """The address of the page of the cluster, with the token that opens it; "" without ``dashboard=True``."""
        return "" if self._page is None else self._page.link

    @property
    def cluster_id(self) -> str:
        """The cluster id of its servers and of its state on disk, once it has started.

        Needed by a server outside that is to be their master.
        """
        return self._spawner.cluster_id

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their real addresses."""
        return self._tasks.spec

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
        return self._tasks.find(job, index)

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
                process = await self._tasks.begin_again(self.process(job, index))
                self._restarts.watch([process])
            except BaseException:
                self._restarts.give_up(task)
                raise
            finally:
                if given_up != self._restarts.given_up:
                    await self._tasks.tell_or_log()
        return process

    async def add(self, job: str) -> P:
        """Start one more task of a job and notify all others; sessions can use it from their next plan on.

        Its index is the lowest that is free; the job may be a new one.

        Returns:
            The new process.

        Raises:
            FailedPreconditionError: if the cluster was not started, or was stopped.
            UnavailableError: if it does not come up, or if tasks could not be notified; names those tasks, which
                hear of it when they answer.
            DeadlineExceededError: if coming up takes too long.
        """
        self._life.check()
        process = await self._tasks.begin(job, self._tasks.free_index(job))
        self._restarts.watch([process])
        await self._tasks.tell(but=process)
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
            UnavailableError: if a task does not come up, or if tasks could not be notified, see ``add``; those
                that came up stay.
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
            UnavailableError: if tasks could not be notified; names those tasks, which hear of it when they
                answer. The task is removed nevertheless.
            DataLossError: if it could not write its last snapshot; says what is lost.
        """
        _ = checked_seconds("grace", grace)
        self._life.check()
        task = self.process(job, index).task
        async with self._changing[task]:
            if len(self.processes) == 1:
                raise ValueError(f"{task} is the last task; stop the cluster instead")
            await self._restarts.release(task)
            await self._tasks.remove(self.process(job, index), grace)

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
        return await self._tasks.statistics()

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
        await self._end(grace)
        raise_losses(self.processes.values())

    def kill_now(self) -> None:
        """Kill all processes without waiting, for a program that ends at once; none is started afterwards.

        In a forked child it does nothing.
        """
        self._life.cut()

    # -- programs without a loop ---------------------------------------------------------------

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of a cluster that was entered by a plain ``with``, such as ``restart``, to its end.

        Callable from any thread. Ctrl-C cancels the coroutine.

        Raises:
            FailedPreconditionError: if the cluster was not entered so.
            RuntimeError: in a forked child.
        """
        return self._thread.do(work)

    def __enter__(self) -> Self:
        self._thread.enter(type(self).__name__, self.start)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        with _after(exc):
            self._thread.close(self.stop)

    def close(self) -> Closing:
        """End a cluster that was entered by a plain ``with``; in the loop of the cluster ``await`` it, as ``stop``.

        Callable from any thread, and twice. In a forked child it does nothing.

        Returns:
            What a coroutine of the cluster's loop awaits; for a plain ``with`` everything has been done.

        Raises:
            DataLossError: see ``stop``.
        """
        loop = asyncio._get_running_loop()
        if loop is not None and loop is self._life.owner.loop:
            return Closing(self.stop())
        self._thread.close(self.stop)
        return Closing(None)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        with _after(exc):
            await self.stop()

    def _sheet(self) -> Sheet:
        from actorsession.drawing.sheet import Sheet, Table

        states = self.status().values()
        rows = [(one.task, one.address, one.node, one.fate.partition("\n")[0], one.restarts) for one in states]
        headings = ("task", "address", "node", "state", "restarts")
        facts = {"processes": f"{_running(self)} of {len(rows)} alive"}
        return Sheet(type(self).__name__, facts, [Table("tasks", headings, rows, 4)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._jobs}, {_running(self)} of {len(self.processes)} processes alive>"


def _up(cluster: ManagedCluster[Any]) -> int:
    """Return how many processes have said where they listen; another thread may ask."""
    return sum(bool(process.address) for process in list(cluster.processes.values()))


def _running(cluster: ManagedCluster[Any]) -> int:
    """Return how many processes run; another thread may ask."""
    return sum(process.alive for process in list(cluster.processes.values()))


class Closing:
    """The end of a cluster, which a coroutine awaits.

    Args:
        rest: what is left to do, if there is anything.
    """

    def __init__(self, rest: Coroutine[Any, Any, None] | None) -> None:
        self._rest = rest

    def __await__(self) -> Generator[Any, Any, None]:
        if self._rest is not None:
            yield from self._rest.__await__()


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


@contextlib.contextmanager
def _after(error: BaseException | None) -> Iterator[None]:
    """Add what is lost at the end of a block to the error of the block, if that has failed."""
    try:
        yield
    except DataLossError as lost:
        if error is None:
            raise
        error.add_note(lost.message)


def device_counts(devices: int | Mapping[str, int]) -> Mapping[str, int]:
    """Return how many devices of each type a task has; a number alone is that of its CPUs.

    Raises:
        TypeError: if they are neither.
        InvalidArgumentError: for a negative number.
    """
    return ConfigProto(device_count=devices if isinstance(devices, Mapping) else {"CPU": devices}).device_count


def checked_imports(imports: Sequence[str]) -> tuple[str, ...]:
    """Return the names of modules that processes are to import.

    Raises:
        TypeError: if they are not given as a sequence of names.
    """
    names = tuple(imports)
    if isinstance(imports, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"imports is a sequence of names of modules, got {imports!r:.100}")
    return names

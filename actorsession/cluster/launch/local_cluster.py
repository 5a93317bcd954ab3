"""A cluster of processes on this machine.

``LocalCluster`` spawns ``python -m actorsession worker`` children (so no main guard is needed), lets each
bind to an address of its own, and then sends the addresses of all tasks to all of them. By default they
communicate through sockets in a folder that only their user may enter. Children end with their parent, also
when it is killed, because their standard input ends. When a child has ended, its exit code or signal and the
last lines that it wrote are available.

A task whose child has died may be started again: ``task_restarts`` does so, and ``restart`` by hand.
Invariant: whoever starts or ends the process of a task holds the lock of the task or is its only watch, so no
two processes are at one address. The end of the whole cluster ends all of them.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import secrets
import sys
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.cluster.admin.admin_client import read_statistics, update_cluster
from actorsession.cluster.launch.restart_limit import checked_restart
from actorsession.cluster.launch.socket_folder import SocketFolder
from actorsession.cluster.launch.task_restarts import TaskEnd, TaskRestarts
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import FailedPreconditionError, OpError, UnavailableError
from actorsession.graph.device import task_name
from actorsession.rpc import exit_reports
from actorsession.rpc.security import shared_security
from actorsession.runtime.loop_thread import LoopThread
from transports import SecurityConfig

__all__ = ["LocalCluster"]

T = TypeVar("T")
_GRACE = 5.0
_log = logging.getLogger("actorsession.cluster")


class LocalCluster:
    """Worker processes on this machine, started and ended together.

    ``async with`` starts them in a coroutine, and a plain ``with`` in a program without an event loop, which
    uses the synchronous ``Session``; the other coroutines are for ``do`` then.

    Args:
        jobs: number of tasks of each job, such as ``{"ps": 1, "worker": 2}``.
        devices: CPU devices per task.
        start_timeout: seconds for all processes to come up.
        security: CA, certificate and key, for ``tls://`` between all processes and with sessions; the
            certificate must be valid for 127.0.0.1. By default those of the environment, if it names any.
        protocol: ``unix``, for sockets in a private folder, or ``tcp`` or ``tls``, for free ports of
            loopback. If left out ``tls`` where TLS files are given, else ``unix``.
        snapshot_dir: where all tasks keep snapshots of their variables, which a restarted task restores;
            ``None`` for no snapshots.
        snapshot_every: seconds between two snapshots.
        file_roots: folders in which operations may open files; all that the user may open if left out.
        imports: modules that each process imports before it serves, such as those that register operation
            types. Processes then search modules where this one does.
        log_file: the file to which all tasks append their logs; by default they are kept in memory, the last
            lines of each process.
        restart: how often each task is started again within 60 s if its process ends by itself: it is killed
            or crashes. A process that ends with exit code 0 or by SIGTERM, SIGINT, SIGHUP or SIGPIPE was
            asked to end and is not started again. Each attempt counts, also one that does not come up; the
            pauses before the attempts grow. At the limit the task stays dead, until ``restart`` is called.
        on_end: called on the cluster's loop with the end of each process that was not ended by this object,
            and with each attempt to start it again that fails.

    Raises:
        ValueError: for no task at all, a number below 0, or another protocol.
        TypeError: for modules that are not given as a sequence of names, or a number of restarts that is no
            integer.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        devices: int = 1,
        start_timeout: float = CONNECT_TIMEOUT,
        security: SecurityConfig | None = None,
        protocol: str | None = None,
        snapshot_dir: str | os.PathLike[str] | None = None,
        snapshot_every: float = 60.0,
        file_roots: Sequence[str | os.PathLike[str]] = (),
        imports: Sequence[str] = (),
        log_file: str | os.PathLike[str] | None = None,
        restart: int = 0,
        on_end: Callable[[TaskEnd], object] | None = None,
    ) -> None:
        if not jobs or min(jobs.values()) < 0 or not sum(jobs.values()):
            raise ValueError(f"a cluster has at least one task, got {dict(jobs)}")
        self._jobs = dict(jobs)
        self._devices = devices
        self._start_timeout = start_timeout
        self._security = security
        if protocol not in (None, "unix", "tcp", "tls"):
            raise ValueError(
                f"a local cluster's protocol is unix, tcp or tls, got {protocol!r:.100}"
            )
        self._protocol = protocol
        self._folder: SocketFolder | None = None
        self._more: tuple[str, ...] = ()
        if snapshot_dir is not None:
            every = str(snapshot_every)
            self._more = ("--snapshot-dir", os.fspath(snapshot_dir), "--snapshot-every", every)
        for root in file_roots:
            self._more += ("--file-root", os.path.abspath(root))
        self._imports = tuple(imports)
        if isinstance(imports, str) or not all(isinstance(name, str) for name in self._imports):
            raise TypeError(f"imports is a sequence of names of modules, got {imports!r:.100}")
        for name in self._imports:
            self._more += ("--import", name)
        if log_file is not None:
            self._more += ("--log-file", os.path.abspath(log_file))
        most = checked_restart(restart)
        if most:
            self._more += ("--restart-wait", str(CONNECT_TIMEOUT))
        self._restarts = TaskRestarts(most, self._start_again, on_end, self._tell_given_up)
        self._changing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting: set[WorkerProcess] = set()  # those that no task has yet
        self._cluster_id = secrets.token_hex(8)
        self._stopped = False
        self._loop_thread: LoopThread | None = None
        self.processes: dict[str, WorkerProcess] = {}

    async def start(self) -> None:
        """Start all processes and wait until each has received the addresses of the others.

        Raises:
            UnavailableError: if a process does not come up; the message has its last lines.
            DeadlineExceededError: if that takes too long.
            ResourceExhaustedError: if there is no place for its sockets.
        """
        if self._protocol is None:
            self._protocol = "tls" if self._security or shared_security() else "unix"
        if self._protocol == "unix":
            self._folder = SocketFolder()
        placeholder = {
            job: [self._new_address(job, index) for index in range(count)]
            for job, count in self._jobs.items()
            if count
        }
        together = sum(self._jobs.values())
        for job, count in self._jobs.items():
            for index in range(count):
                process = self._new_process(job, index, together)
                self.processes[process.task] = process
        deadline = Deadline.after(self._start_timeout)
        try:
            await deadline.wait(self._bring_up(placeholder), what="the processes of the cluster")
        except BaseException:
            await self.stop(0.0)
            raise
        self._restarts.watch(self.processes.values())

    def _new_process(self, job: str, index: int, together: int) -> WorkerProcess:
        searches = sys.path if self._imports else ()
        return WorkerProcess(job, index, self._security, together, searches)

    def _new_address(self, job: str, index: int) -> str:
        """Return the address at which a new task is to listen."""
        if self._folder is not None:
            return self._folder.address(f"{job}-{index}")
        return f"{self._protocol}://127.0.0.1:0"

    async def _bring_up(self, placeholder: Mapping[str, Any]) -> None:
        processes = list(self.processes.values())
        for process in processes:
            await process.start(placeholder, self._cluster_id, self._devices, self._more)
        for process in processes:
            await process.announced()
        cluster = self.spec.as_dict()
        await asyncio.gather(*[process.tell_cluster(cluster) for process in processes])
        for process in processes:
            self._report_end_of(process)

    @property
    def cluster_id(self) -> str:
        """The cluster id of its servers; needed by a server outside that is to be their master."""
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

    def process(self, job: str, index: int = 0) -> WorkerProcess:
        """Return the process of a task.

        Raises:
            ValueError: for an unknown task.
        """
        found = self.processes.get(task_name(job, index))
        if found is None:
            raise ValueError(f"no task {index} in job {job!r}; there are {sorted(self.processes)}")
        return found

    @property
    def restarts(self) -> dict[str, int]:
        """How often each task was started again because its process had ended by itself, by task name."""
        return {task: self._restarts.counts[task] for task in self.processes}

    # -- changes -------------------------------------------------------------------------------

    async def restart(self, job: str, index: int = 0) -> WorkerProcess:
        """Start a task again at its address, with another incarnation; kill its process if it runs.

        The task's state is lost, unless it keeps snapshots. Afterwards ``processes`` has the new process, and
        the task has all of its own restarts again. If the call fails, the task stays dead.

        Returns:
            The new process.

        Raises:
            ValueError: for an unknown task.
            FailedPreconditionError: if the cluster was stopped.
            UnavailableError: if it does not come up; the message has its last lines.
            DeadlineExceededError: if that takes too long.
        """
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

    async def _start_again(self, former: WorkerProcess) -> WorkerProcess:
        """Start the task of a process again at its address; kill the process if it runs."""
        await former.stop(0.0)
        return await self._begin(former.job, former.index, former.address)

    async def add(self, job: str) -> WorkerProcess:
        """Start one more task of a job and notify all others; sessions can use it from their next plan on.

        Its index is the lowest that is free; the job may be a new one.

        Returns:
            The new process.

        Raises:
            FailedPreconditionError: if the cluster was stopped.
            UnavailableError: if it does not come up, or if tasks could not be notified; names those tasks.
            DeadlineExceededError: if coming up takes too long.
        """
        taken = {*self.processes, *(process.task for process in self._starting)}
        index = 0
        while task_name(job, index) in taken:
            index += 1
        process = await self._begin(job, index, self._new_address(job, index))
        self._restarts.watch([process])
        await self._tell(p for p in self.processes.values() if p is not process)
        return process

    async def remove(self, job: str, index: int = 0, *, grace: float = _GRACE) -> None:
        """Remove a task from the cluster: notify all others, then end its process.

        Args:
            job: its job.
            index: its index in the job.
            grace: seconds for the process to end by itself, besides the time to write a last snapshot.

        Raises:
            ValueError: for an unknown task, or the last one.
            UnavailableError: if tasks could not be notified; names those tasks. The task is removed
                nevertheless.
        """
        task = self.process(job, index).task
        async with self._changing[task]:
            if len(self.processes) == 1:
                raise ValueError(f"{task} is the last task; stop the cluster instead")
            await self._restarts.release(task)
            process = self.process(job, index)
            del self.processes[task]
            self._restarts.forget(task)
            exit_reports.unregister_exit_reporter(process.address)
            try:
                await self._tell(self.processes.values())
            finally:
                await process.stop(grace)

    async def _begin(self, job: str, index: int, address: str) -> WorkerProcess:
        """Start one more process, for a task at the given address."""
        self._check_not_stopped()
        together = len({*self.processes, task_name(job, index)})
        process = self._new_process(job, index, together)
        cluster = ClusterSpec.of_tasks({**self.spec.tasks(), process.task: address}).as_dict()
        self._starting.add(process)
        try:
            await process.start(cluster, self._cluster_id, self._devices, self._more)
            deadline = Deadline.after(self._start_timeout)
            await deadline.wait(process.announced(), what=f"the process of {process.task}")
            await self._introduce(process, deadline)
            self._check_not_stopped()  # otherwise no later call would end the process
        except BaseException:
            await process.stop(0.0)
            raise
        finally:
            self._starting.discard(process)
        self.processes[process.task] = process
        self._report_end_of(process)
        return process

    async def _introduce(self, process: WorkerProcess, deadline: Deadline) -> None:
        """Send a new process the tasks of the cluster, until it has those that there are by then."""
        told = tasks = {**self.spec.tasks(), process.task: process.address}
        telling = process.tell_cluster(ClusterSpec.of_tasks(tasks).as_dict())
        await deadline.wait(telling, what=f"the process of {process.task}")
        while (tasks := {**self.spec.tasks(), process.task: process.address}) != told:
            await update_cluster(process.address, tasks, deadline=deadline, security=self._security)
            told = tasks

    def _report_end_of(self, process: WorkerProcess) -> None:
        task, restarts = process.task, self._restarts
        exit_reports.register_exit_reporter(
            process.address, functools.partial(self._fate_of, task),
            lambda: task in restarts.given_up,
        )  # fmt: skip

    async def _fate_of(self, own: str, task: str | None) -> str:
        """Return how the process of a task ended, for errors of sessions opened at another task."""
        task = task or own
        process = self.processes.get(task)
        words = "" if process is None else await process.last_words()
        if not words and (former := self._restarts.recently_ended(task)) is not None:
            words = await former.last_words()
        return words

    def _check_not_stopped(self) -> None:
        if self._stopped:
            raise FailedPreconditionError(
                "the cluster was stopped; it starts no processes any more"
            )

    async def _tell(self, processes: Iterable[WorkerProcess]) -> None:
        """Send the tasks of the cluster to those of ``processes`` that are alive."""
        alive = [p for p in processes if p.alive]
        tasks, given_up = self.spec.tasks(), self._restarts.given_up
        telling = [
            update_cluster(p.address, tasks, given_up=given_up, security=self._security)
            for p in alive
        ]
        outcomes = await asyncio.gather(*telling, return_exceptions=True)
        faults = [f"{p.task}: {o}" for p, o in zip(alive, outcomes, strict=True) if o is not None]
        if faults:
            raise UnavailableError(f"could not be told of the change: {'; '.join(faults)}")

    async def _tell_given_up(self) -> None:
        """Send all tasks those that are not started again, for which steps need not wait."""
        try:
            await self._tell(self.processes.values())
        except OpError as error:  # a task that ends now, too
            _log.info("%s", error.message)

    async def statistics(self) -> dict[str, ServerStatistics]:
        """Return the counters of every task whose process runs, by task name.

        Raises:
            UnavailableError: if a process runs and does not answer.
            DeadlineExceededError: if that takes too long.
        """
        alive = [p for p in self.processes.values() if p.alive]
        asking = [read_statistics(p.address, security=self._security) for p in alive]
        found = await asyncio.gather(*asking)
        return {process.task: counters for process, counters in zip(alive, found, strict=True)}

    async def stop(self, grace: float = _GRACE) -> None:
        """End all processes concurrently; may be called twice.

        Args:
            grace: seconds for processes to end by themselves. Those that keep snapshots get the time to write
                the last one besides.
        """
        self._stopped = True
        await self._restarts.stop()
        async with asyncio.TaskGroup() as group:
            for process in self.processes.values():
                group.create_task(process.stop(grace), name=f"stop {process.task}")
            for process in self._starting:  # those of ``restart`` and ``add``, which fail then
                group.create_task(process.stop(0.0), name=f"stop {process.task}")
        for process in self.processes.values():
            exit_reports.unregister_exit_reporter(process.address)
        if self._folder is not None:
            self._folder.remove()

    def kill_now(self) -> None:
        """Kill all processes without waiting, for a program that ends at once; none is started afterwards."""
        self._stopped = True
        for process in [*self.processes.values(), *self._starting]:
            process.kill_now()
        if self._folder is not None:
            self._folder.remove()

    # -- programs without a loop ---------------------------------------------------------------

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of a cluster that was entered by a plain ``with``, such as ``restart``, to its end.

        Callable from any thread. Ctrl-C cancels the coroutine.

        Raises:
            FailedPreconditionError: if the cluster was not entered so.
        """
        if self._loop_thread is None:
            work.close()
            raise FailedPreconditionError(
                "do() is for a cluster that was entered by a plain `with`; in a coroutine await the call "
                "itself"
            )
        return self._loop_thread.wait(work)

    def __enter__(self) -> LocalCluster:
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "a plain `with` blocks and must not be used inside a running event loop: use "
                "`async with LocalCluster(...)` there"
            )
        self._loop_thread = LoopThread("actorsession-cluster-loop")
        try:
            self.do(self.start())
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            self.do(self.stop())
        finally:
            self._end_loop()

    def _end_loop(self) -> None:
        thread, self._loop_thread = self._loop_thread, None
        if thread is not None:
            thread.stop()

    async def __aenter__(self) -> LocalCluster:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.stop()

    def __repr__(self) -> str:
        alive = sum(p.alive for p in self.processes.values())
        return f"<LocalCluster {self._jobs}, {alive} of {len(self.processes)} processes alive>"

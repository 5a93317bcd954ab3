"""The restarts of the tasks of a cluster whose processes end by themselves.

One child of the cluster's loop watches the process of each task, and starts the task again within its limit.
Whoever changes a task otherwise (``restart``, ``remove``, ``stop``) first calls ``release``, which ends that
child and whatever it was starting: so there is never more than one process for a task. Imports processes and
the limit.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from actorsession.actors.supervision import Children
from actorsession.cluster.launch.cluster_interface import TaskProcess
from actorsession.cluster.launch.restart_limit import WINDOW, RestartLimit
from actorsession.errors import FailedPreconditionError, OpError
from actorsession.records import dataclass
from actorsession.rpc.exit_reports import LAST_LINES
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.cluster.launch.task_processes import TaskProcesses

__all__ = ["TaskEnd", "TaskRestarts"]

P = TypeVar("P", bound=TaskProcess)

_log = logging.getLogger("actorsession.cluster")
# The signals by which processes are asked to end; systemd's Restart=on-failure excepts the same.
_ORDERLY = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE})
# Seconds for which errors name the end of a process whose task runs again: a step that was lost with it
# fails within that time.
_RECENT = 10.0


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of a process of a cluster, or an attempt to start one again that has failed.

    Attributes:
        task: its task name.
        message: how it ended, or why it did not come up; what the cluster does about it; its last lines.
        clean: whether its exit code was 0.
        restarts: whether the task is started again.
    """

    task: str
    message: str
    clean: bool
    restarts: bool


class TaskRestarts(Generic[P]):
    """The watches over the processes of one cluster.

    Args:
        most: how often a task may be started again within ``WINDOW`` seconds; see ``RestartLimit``.
        processes: the processes.
        on_end: called with each end, on the cluster's loop.

    Attributes:
        counts: the number of attempts for each task that has ever been started again.
    """

    def __init__(self, most: int, processes: TaskProcesses[P], on_end: Callable[[TaskEnd], object] | None) -> None:
        self._most = most
        self._processes = processes
        self._on_end = on_end
        self._children = Children("restarts of a cluster")
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()  # those that were cancelled
        self._stopped = False
        self._former: dict[str, tuple[P, float]] = {}
        self._given_up: set[str] = set()
        self.counts: Counter[str] = Counter()

    @property
    def given_up(self) -> frozenset[str]:
        """The tasks whose processes have ended and which are not started again."""
        return frozenset(self._given_up)

    def watch(self, processes: Iterable[P]) -> None:
        """Watch new processes; none of their tasks has used any of its restarts."""
        if self._stopped or not (self._most or self._on_end):
            return
        for process in processes:
            self._given_up.discard(process.task)
            self._watches[process.task] = self._children.start(self._watch(process), name=f"restarts of {process.task}")

    async def release(self, task: str) -> None:
        """Stop watching a task, and end the process that is being started for it, if there is one."""
        watch = self._watches.get(task)
        if watch is None:
            return
        if watch not in self._ending:  # a second cancellation would interrupt the end of a process
            self._ending.add(watch)
            watch.cancel()
        await asyncio.wait({watch})
        self._ending.discard(watch)
        if self._watches.get(task) is watch:
            del self._watches[task]

    def give_up(self, task: str) -> None:
        """Record that a task has ended and is not started again; without restarts that is no news."""
        if self._most:
            self._given_up.add(task)

    def forget(self, task: str) -> None:
        """Forget a task that has left the cluster, after its release."""
        self.counts.pop(task, None)
        self._former.pop(task, None)
        self._given_up.discard(task)

    async def stop(self) -> None:
        """Release all tasks, and watch no process from now on."""
        self._stopped = True
        await asyncio.gather(*[self.release(task) for task in list(self._watches)])

    def record_end(self, process: P) -> None:
        """Remember a process that has ended, for the errors of sessions that it had."""
        self._former[process.task] = (process, current_host().clock.monotonic())

    def recently_ended(self, task: str) -> P | None:
        """Return the former process of a task, if it has ended within the last ten seconds."""
        process, ended = self._former.get(task, (None, 0.0))
        return process if current_host().clock.monotonic() - ended < _RECENT else None

    async def _watch(self, process: P) -> None:
        """Start a task again whenever its process ends, until it ends in order or reaches the limit."""
        limit = RestartLimit(self._most)
        while True:
            code = await process.wait_ended()
            _ = await process.last_words()  # which waits for its last lines
            self.record_end(process)
            again = await self._bring_back(process, limit, asked=not code or -code in _ORDERLY)
            if again is None:
                self.give_up(process.task)
                if self._most:
                    await self._processes.tell_or_log()
                return
            process.sequel = "it was started again"
            process = again

    async def _bring_back(self, process: P, limit: RestartLimit, *, asked: bool) -> P | None:
        """Start a task again, unless its process was asked to end.

        Returns:
            Its new process; ``None`` if it is not started again.
        """
        failure = ""
        while True:
            pause = None if asked else limit.pause(current_host().clock.monotonic())
            then = _sequel(limit, pause) if self._most and not asked else ""
            if then:
                process.sequel = then if pause is not None else then + _latest(failure)
            self._report(process, failure, then, restarts=pause is not None)
            if pause is None:
                return None
            await asyncio.sleep(pause)
            limit.record(current_host().clock.monotonic())
            self.counts[process.task] += 1
            try:
                return await self._processes.begin_again(process)
            except FailedPreconditionError:  # the cluster is stopped
                return None
            except (OpError, OSError) as error:
                failure = error.message if isinstance(error, OpError) else str(error)

    def _report(self, process: P, failure: str, then: str, *, restarts: bool) -> None:
        message = f"{process.task} has ended: {process.fate}"
        if failure:
            how, mark, lines = failure.partition(LAST_LINES)
            message = f"{process.task} could not be started: {how}; {then}{mark}{lines}"
        _log.info("%s", message)
        if self._on_end is not None:
            clean = process.exit_code == 0
            try:
                self._on_end(TaskEnd(process.task, message, clean=clean, restarts=restarts))
            except Exception:  # which must not keep the task from coming back
                _log.exception("the callback for the end of %s has failed", process.task)


def _sequel(limit: RestartLimit, pause: float | None) -> str:
    """Return what becomes of a task whose process has ended or did not come up."""
    if pause is not None:
        return f"it is started again ({limit.counted + 1} of {limit.most} times in {WINDOW:g} s)"
    times = "once" if limit.most == 1 else f"{limit.most} times"
    return f"it was started again {times} in {WINDOW:g} s, the limit"


def _latest(failure: str) -> str:
    """Return the end of a sentence on restarts: why the latest has failed, if it has."""
    return f", the last time without success: {failure.partition(LAST_LINES)[0]}" if failure else ""

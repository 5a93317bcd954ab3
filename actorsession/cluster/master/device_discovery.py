"""Discovery of the devices of a cluster: asks tasks for their status, and retries those that are needed.

All tasks are asked at the same time. A needed task is waited for until the deadline; the error then names
each missing task with address, number of attempts and last error. Any other task is asked once: if nothing
listens at its address it is absent at once; if it is silent, because it is stopped or its host is lost, it is
given a short time. Called by the members of a session; imports refs and messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError, first_error
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.worker import GetStatus, WorkerStatus

__all__ = [
    "AWAY",
    "GRACE",
    "RETRY",
    "FoundTask",
    "TaskSearch",
    "did_not_answer",
    "error_of_all",
    "find_tasks",
    "grace",
    "look_for_tasks",
    "sooner",
    "too_few_answer",
]

GRACE = 2.0
"""Seconds that a task may take to answer if it is not needed yet: a busy one takes some tenths of a second.
"""

RETRY = 0.1
"""Seconds between attempts: a process that is starting is found soon after it listens."""

AWAY = (UnavailableError, DeadlineExceededError)
"""Errors of a task that is not there, or not there any more."""

# Seconds of a client's limit that are reserved for sending it the reason for a failure.
_TELL_MARGIN = 1.0
# Seconds for one attempt, so that a task that hangs is tried (and counted) more than once.
_ATTEMPT = 5.0


class FoundTask:
    """A task that answered.

    Attributes:
        task: its name in this session. In a cluster that a client brought along, this need not be the name
            that the task was started with, nor that of its devices.
        incarnation: its current incarnation.
        devices: its devices, by their names in this session.
        restored: the snapshot that its variables were restored from, in wire form, or ``None``.
        threads: the threads of its kernel pool.
    """

    __slots__ = ("devices", "incarnation", "restored", "task", "threads")

    def __init__(self, task: str, status: WorkerStatus) -> None:
        self.task = task
        self.incarnation = status.incarnation
        self.restored = status.restored
        threads = status.statistics.get("pool_threads")
        self.threads = threads if isinstance(threads, int) else 0
        self.devices = [DeviceAttributes.from_wire(d).renamed(task) for d in status.devices]


class TaskSearch:
    """The attempts to reach one task.

    Args:
        task: the name of the task.
        worker: the worker of the task.

    Attributes:
        attempts: the number of attempts so far.
        last: the error of the last attempt.
    """

    def __init__(self, task: str, worker: Ref) -> None:
        self.task = task
        self._worker = worker
        self.attempts = 0
        self.last = "no answer yet"

    async def run(self, deadline: Deadline, *, again: bool = True) -> FoundTask | None:
        """Ask the task for its status.

        Args:
            deadline: the deadline of the search.
            again: whether to retry after a failed attempt.

        Returns:
            The task that was found; ``None`` if it did not answer.
        """
        said = False
        while True:
            self.attempts += 1
            attempt = Deadline.after(_ATTEMPT).earliest(deadline)
            try:
                return FoundTask(self.task, await self._worker.ask(GetStatus(), attempt))
            except OpError as exc:
                cut_short = isinstance(exc, DeadlineExceededError) and attempt.at == deadline.at
                # That the last attempt was cut short is less informative than the error before it.
                if not (cut_short and said):
                    self.last, said = exc.message, True
                if cut_short or not again:
                    return None
            left = deadline.time_left
            if left == 0.0:
                return None
            await asyncio.sleep(RETRY if left is None else min(RETRY, left))

    def failed(self, address: str) -> str:
        """Return a text that describes the attempts."""
        plural = "s" * (self.attempts > 1)
        return f"{self.task} at {address} ({self.attempts} attempt{plural}, last: {self.last})"


def did_not_answer(missing: Mapping[str, str], tasks: int) -> DeadlineExceededError:
    """Return the error that names needed tasks which did not answer.

    Args:
        missing: for each missing task a text that describes the attempts.
        tasks: the number of all tasks.
    """
    return DeadlineExceededError(
        f"{len(missing)} of {tasks} tasks did not answer in time: {'; '.join(missing.values())}",
        task=next(iter(missing)),
    )


def error_of_all(errors: Mapping[str, OpError], addresses: Mapping[str, str]) -> OpError | None:
    """Return the error of a request to several tasks, which names all that did not answer if it is of one of those.

    Args:
        errors: the error of each task that has failed.
        addresses: the addresses of all tasks.
    """
    error = first_error(list(errors.values()))
    if not isinstance(error, DeadlineExceededError):
        return error
    late = {task: e.message for task, e in errors.items() if isinstance(e, DeadlineExceededError)}
    missing = {task: f"{task} at {addresses.get(task, 'no address any more')} ({e})" for task, e in late.items()}
    return did_not_answer(missing, len(addresses))


def too_few_answer(
    chosen: str, needed: int, present: Sequence[str], absent: Mapping[str, str]
) -> DeadlineExceededError:
    """Return the error of a wait for tasks of which too few answer.

    Args:
        chosen: the partial device name that selects them.
        needed: how many have to answer.
        present: those that answer.
        absent: for each other one a text that describes the attempts.
    """
    silent = "; ".join(absent.values()) or "the cluster has no others"
    return DeadlineExceededError(
        f"{len(present)} of {needed} tasks of {chosen} answer in time: {', '.join(present) or 'none'}. "
        f"Without an answer: {silent}",
        task=next(iter(absent), None),
    )


async def find_tasks(
    addresses: Mapping[str, str], worker: Callable[[str], Ref], deadline: Deadline
) -> Sequence[FoundTask]:
    """Ask all tasks for their status; all of them are needed.

    Args:
        addresses: address by task; read again for the error, so it may change meanwhile.
        worker: maps a task to the ref of its worker.
        deadline: the deadline of the search.

    Returns:
        One entry per task, in order.

    Raises:
        DeadlineExceededError: if some task did not answer; names each with address, attempts and last error.
    """
    tasks, _ = await look_for_tasks(addresses, worker, deadline, addresses)
    return tasks


async def look_for_tasks(
    addresses: Mapping[str, str],
    worker: Callable[[str], Ref],
    deadline: Deadline,
    needed: Collection[str],
    soon: Deadline | None = None,
) -> tuple[Sequence[FoundTask], Mapping[str, str]]:
    """Ask all tasks for their status; only some of them are needed.

    Args:
        addresses: address by task; read again for the texts, so it may change meanwhile.
        worker: maps a task to the ref of its worker.
        deadline: the deadline of the search.
        needed: the tasks to be waited for.
        soon: the end of the wait for the others; ``grace(deadline)`` if left out.

    Returns:
        The tasks that answered, in order; and for each other task a text that describes the attempts.

    Raises:
        DeadlineExceededError: if a needed task did not answer.
    """
    soon = soon or grace(deadline)
    searches = [TaskSearch(task, worker(task)) for task in addresses]
    async with asyncio.TaskGroup() as group:
        asking = [
            group.create_task(s.run(deadline) if s.task in needed else s.run(soon, again=False), name=f"find {s.task}")
            for s in searches
        ]
    outcomes = [asked.result() for asked in asking]
    missing = {
        search.task: search.failed(addresses[search.task])
        for search, outcome in zip(searches, outcomes, strict=True)
        if outcome is None
    }
    lacking = {task: words for task, words in missing.items() if task in needed}
    if lacking:
        raise did_not_answer(lacking, len(addresses))
    return [outcome for outcome in outcomes if outcome is not None], missing


def grace(deadline: Deadline) -> Deadline:
    """Return the end of the wait for tasks that are not needed, in time for the call to go on without them."""
    left = deadline.time_left
    return Deadline.after(GRACE if left is None else min(GRACE, left / 2))


def sooner(deadline: Deadline) -> Deadline:
    """Return a moment before the client's deadline, so that the client still receives the names of missing
    tasks.
    """
    left = deadline.time_left
    return deadline if left is None else Deadline.after(left - min(_TELL_MARGIN, left / 4))

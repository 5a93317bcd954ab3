"""Finds the devices of a cluster: asks tasks who they are, again and again those that are needed.

All tasks are asked at the same time. One that is needed is waited for until the deadline; who is missing then
is named with address, number of attempts and last error. Any other is asked once: where nobody listens it is
absent at once, and one that is silent, because it is stopped or its host is lost, is given a short time.
Called by the members of a session; it imports refs and messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.errors import DeadlineExceededError, OpError
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.worker import GetStatus, WorkerStatus

__all__ = [
    "GRACE", "RETRY", "FoundTask", "TaskSearch", "did_not_answer", "find_tasks", "look_for_tasks", "sooner",
]  # fmt: skip

GRACE = 2.0
"""Seconds that a task may take to answer which nobody needs yet: a busy one takes some tenths."""

RETRY = 0.1
"""Seconds between attempts: a process that is being started is found soon after it listens."""

# Seconds kept back of a client's limit to tell it why nothing came of its call.
_TELL_MARGIN = 1.0
# Seconds for one attempt, so that a task that hangs is tried (and counted) more than once.
_ATTEMPT = 5.0


class FoundTask:
    """A task that answered.

    Attributes:
        task: what it is called here; in a cluster that a client brought along that need not be the name
            that it was started with, nor that of its devices.
        incarnation: of its present life.
        devices: what it has, by the names that they have here.
        restored: the snapshot that its variables come from, in wire form, if they do.
    """

    __slots__ = ("devices", "incarnation", "restored", "task")

    def __init__(self, task: str, status: WorkerStatus) -> None:
        self.task = task
        self.incarnation = status.incarnation
        self.restored = status.restored
        self.devices = [DeviceAttributes.from_wire(d).renamed(task) for d in status.devices]


class TaskSearch:
    """The attempts to reach one task.

    Args:
        task: its name.
        worker: its worker.

    Attributes:
        attempts: how many there were.
        last: what the last one has failed with.
    """

    def __init__(self, task: str, worker: Ref) -> None:
        self.task = task
        self._worker = worker
        self.attempts = 0
        self.last = "no answer yet"

    async def run(self, deadline: Deadline, *, again: bool = True) -> FoundTask | None:
        """Ask the task who it is.

        Args:
            deadline: until when.
            again: whether to go on after an attempt that has failed.

        Returns:
            What it said; ``None`` if it did not.
        """
        said = False
        while True:
            self.attempts += 1
            attempt = Deadline.after(_ATTEMPT).earliest(deadline)
            try:
                return FoundTask(self.task, await self._worker.ask(GetStatus(), attempt))
            except OpError as exc:
                cut_short = isinstance(exc, DeadlineExceededError) and attempt.at == deadline.at
                # That the last attempt was cut short says less than the error before it.
                if not (cut_short and said):
                    self.last, said = exc.message, True
                if cut_short or not again:
                    return None
            left = deadline.time_left
            if left == 0.0:
                return None
            await asyncio.sleep(RETRY if left is None else min(RETRY, left))

    def failed(self, address: str) -> str:
        """Return what was tried, in words."""
        plural = "s" * (self.attempts > 1)
        return f"{self.task} at {address} ({self.attempts} attempt{plural}, last: {self.last})"


def did_not_answer(missing: Mapping[str, str], tasks: int) -> DeadlineExceededError:
    """Return the error that names tasks which are needed and did not answer.

    Args:
        missing: for each of them what was tried, in words.
        tasks: of how many.
    """
    return DeadlineExceededError(
        f"{len(missing)} of {tasks} tasks did not answer in time: {'; '.join(missing.values())}",
        task=next(iter(missing)),
    )


async def find_tasks(
    addresses: Mapping[str, str], worker: Callable[[str], Ref], deadline: Deadline
) -> Sequence[FoundTask]:
    """Ask all tasks for their status, and needs them all.

    Args:
        addresses: by task; read again for the error, so it may change meanwhile.
        worker: from a task to its worker's ref.
        deadline: how long to go on trying.

    Returns:
        One entry per task, in order.

    Raises:
        DeadlineExceededError: if some task did not answer; names each with address, attempts and last
            error.
    """
    found, _ = await look_for_tasks(addresses, worker, deadline, addresses)
    return found


async def look_for_tasks(
    addresses: Mapping[str, str], worker: Callable[[str], Ref], deadline: Deadline,
    needed: Collection[str],
) -> tuple[Sequence[FoundTask], Mapping[str, str]]:  # fmt: skip
    """``find_tasks`` for those who need some of the tasks only.

    Args:
        addresses: by task; read again for words, so it may change meanwhile.
        worker: from a task to its worker's ref.
        deadline: how long to go on trying.
        needed: the tasks to be waited for.

    Returns:
        The tasks that answered, in order; and for each other one what was tried, in words.

    Raises:
        DeadlineExceededError: if some task that is needed did not answer.
    """
    soon = Deadline.after(GRACE).earliest(deadline)
    searches = [TaskSearch(task, worker(task)) for task in addresses]
    async with asyncio.TaskGroup() as group:
        asking = [
            group.create_task(
                s.run(deadline) if s.task in needed else s.run(soon, again=False),
                name=f"find {s.task}",
            )
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


def sooner(deadline: Deadline) -> Deadline:
    """A moment before the client stops listening, so that it still hears who is missing."""
    left = deadline.time_left
    return deadline if left is None else Deadline.after(left - min(_TELL_MARGIN, left / 4))

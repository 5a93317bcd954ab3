"""Finds the devices of a cluster: asks every task who it is, again and again until all have answered.

A session starts only when all of its tasks answer; who is missing when time runs out is named with
address, number of attempts and last error. Called by the master; it imports refs and messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.errors import DeadlineExceededError, OpError
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.worker import GetStatus, WorkerStatus

__all__ = ["FoundTask", "find_tasks", "look_for_tasks"]

# Seconds between attempts: a process that is being started is found soon after it listens.
_RETRY = 0.1
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


class _Search:
    """The attempts to reach one task."""

    def __init__(self, task: str, worker: Ref) -> None:
        self.task = task
        self.worker = worker
        self.attempts = 0
        self.last = ""
        self.found: FoundTask | None = None

    async def run(self, deadline: Deadline) -> None:
        while True:
            self.attempts += 1
            attempt = Deadline.after(_ATTEMPT).earliest(deadline)
            try:
                self.found = FoundTask(self.task, await self.worker.ask(GetStatus(), attempt))
                return
            except DeadlineExceededError as exc:
                if attempt.at == deadline.at:
                    # That the last attempt was cut short says less than the error before it.
                    self.last = self.last or exc.message
                    return
                self.last = exc.message
            except OpError as exc:
                self.last = exc.message
            left = deadline.time_left
            if left == 0.0:
                return
            await asyncio.sleep(_RETRY if left is None else min(_RETRY, left))


async def find_tasks(
    addresses: Mapping[str, str], worker: Callable[[str], Ref], deadline: Deadline
) -> Sequence[FoundTask]:
    """Asks all tasks for their status.

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
    found, missing = await look_for_tasks(addresses, worker, deadline)
    if missing:
        raise DeadlineExceededError(
            f"{len(missing)} of {len(addresses)} tasks did not answer in time: "
            f"{'; '.join(missing.values())}",
            task=next(iter(missing)),
        )
    return found


async def look_for_tasks(
    addresses: Mapping[str, str], worker: Callable[[str], Ref], deadline: Deadline
) -> tuple[Sequence[FoundTask], Mapping[str, str]]:
    """``find_tasks`` for those who go on with the tasks that answer.

    Returns:
        The tasks that answered, in order; and for each other one what was tried, in words.
    """
    searches = [_Search(task, worker(task)) for task in addresses]
    async with asyncio.TaskGroup() as group:
        for search in searches:
            group.create_task(search.run(deadline), name=f"find {search.task}")
    missing = {
        s.task: f"{s.task} at {addresses[s.task]} ({s.attempts} attempt{'s' * (s.attempts > 1)}, "
        f"last: {s.last})"
        for s in searches
        if s.found is None
    }
    return [s.found for s in searches if s.found is not None], missing

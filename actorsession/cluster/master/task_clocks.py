"""The clocks of the tasks of one session, compared with that of its master for traced steps.

Before a traced step the clocks are read that were not read for a minute: a few round trips to each task, all
tasks at once, of which the quickest counts. The run of a part and its answer are a round trip, too.

Owned by a ``SessionSteps``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.errors import OpError
from actorsession.messages.worker import ClockRead, ReadClock
from actorsession.rpc.clock_offset import ClockOffset
from transports.host import current_host

__all__ = ["TaskClocks"]

# Seconds after which clocks are read again: they part by a few milliseconds in that time at most.
_KEPT = 60.0
# Round trips to a task, and the seconds after which no other begins: one is enough over a long way.
_TRIPS, _ENOUGH = 5, 0.02
# Seconds that a traced step waits for the clocks at most; a task that does not answer fails it by itself.
_PATIENCE = 2.0


class TaskClocks:
    """The clocks of the other tasks.

    Args:
        task: the master's own task.

    Attributes:
        task: the argument ``task``.
        offsets: how far the clock of each task is from that of the master.
    """

    def __init__(self, task: str) -> None:
        self.task = task
        self.offsets: dict[str, ClockOffset] = defaultdict(ClockOffset)
        self._read: dict[str, float] = {}  # when each was read, by the monotonic clock

    def unread(self, tasks: Iterable[str]) -> list[str]:
        """Return those of some tasks whose clocks have to be read before a traced step."""
        since = current_host().clock.monotonic() - _KEPT
        return [task for task in tasks if task != self.task and self._read.get(task, 0.0) <= since]

    async def read(self, tasks: Iterable[str], workers: Mapping[str, Ref]) -> None:
        """Compare the clocks of some tasks with that of the master.

        Args:
            tasks: the tasks.
            workers: the worker of each task.
        """
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                self._read[task] = current_host().clock.monotonic()
                if (worker := workers.get(task)) is not None:  # else it has left, and the step is planned anew
                    group.create_task(self._compare(worker, self.offsets[task]), name=f"clock of {task}")

    async def _compare(self, worker: Ref, offset: ClockOffset) -> None:
        begin = current_host().clock.monotonic()
        deadline = Deadline.after(_PATIENCE)
        try:
            for _ in range(_TRIPS):
                sent = current_host().clock.time()
                answer = await worker.ask(ReadClock(), deadline)
                if isinstance(answer, ClockRead):
                    offset.learn(sent, answer.now, answer.now, current_host().clock.time())
                if current_host().clock.monotonic() - begin > _ENOUGH:
                    return
        except OpError:  # the step will say so
            return

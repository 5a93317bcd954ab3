"""The debugged steps of one session at its master, until the client has taken what was watched.

The workers keep the watched values. The client asks for them when it has the answer of the step, be it an
error, and between the calls of a partial run; so a step that fails shows what was seen before, and the error
of a step waits for no task. Owned by a ``SessionSteps``; imports refs and messages.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping

from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.errors import OpError
from actorsession.messages.session import StepValues, TakeStepValues
from actorsession.messages.worker import TakeWatchedValues, WatchedValues
from actorsession.records import dataclass

__all__ = ["DebugRuns"]

# Seconds for a task to answer; it only copies references. A task that does not is named to the client.
_LIMIT = 2.0
# Bytes that all tasks together return at a time: far below the limit of a message's header (64 MiB), which
# contains small values.
_MOST = 16 * 2**20
# What each of many tasks returns at least.
_LEAST = 2**16
# Steps that are kept for clients which do not ask for their values.
MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class _Entry:
    """A debugged step: its number, its graph, and whether it is over."""

    step_id: int
    graph: ClientGraph
    is_over: Callable[[], bool]


class DebugRuns:
    """The debugged steps and partial runs of one session.

    Args:
        session_handle: the handle of the session.
        workers: the worker of each task.
    """

    def __init__(self, session_handle: str, workers: Mapping[str, Ref]) -> None:
        self._handle = session_handle
        self._workers = workers
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of runs whose values the client has not taken."""
        return len(self._entries)

    def add(self, run: str, step_id: int, graph: ClientGraph, is_over: Callable[[], bool]) -> None:
        """Keep a step for ``take``.

        Args:
            run: the request id of the step, or the handle of the partial run.
            step_id: the number of the step.
            graph: its client graph.
            is_over: returns whether it has ended.
        """
        self._entries[run] = _Entry(step_id, graph, is_over)
        if len(self._entries) > MOST_KEPT:
            self._entries.popitem(last=False)

    async def take(self, message: TakeStepValues) -> StepValues:
        """Take the watched values of a run from its tasks, at most some MiB at a time."""
        entry = self._entries.get(message.run)
        if entry is None or entry.graph.survey is None:
            return StepValues(tasks={}, lost={}, not_run=[], refused=[], over=True)
        over, survey = entry.is_over(), entry.graph.survey
        last = message.last or over
        tasks = [part.task for part in entry.graph.parts]
        asked = TakeWatchedValues(
            session_handle=self._handle, step_id=entry.step_id, last=last, most=max(_LEAST, _MOST // max(1, len(tasks)))
        )
        answers = await asyncio.gather(*[self._ask(task, asked) for task in tasks])
        taken = {t: f for t, f in zip(tasks, answers, strict=True) if isinstance(f, WatchedValues)}
        if last and not any(values.more for values in taken.values()):
            self._entries.pop(message.run, None)
        return StepValues(
            tasks={task: [v.graphs, v.values, v.counts, v.last_failure, v.more] for task, v in taken.items()},
            lost={t: f for t, f in zip(tasks, answers, strict=True) if isinstance(f, str)},
            not_run=list(survey.not_run),
            refused=list(survey.refused),
            over=over,
        )

    async def _ask(self, task: str, message: TakeWatchedValues) -> WatchedValues | str:
        """Return the answer of a task, or why there is none."""
        worker = self._workers.get(task)
        if worker is None:
            return "it has left the cluster"
        try:
            answer: WatchedValues = await worker.ask(message, Deadline.after(_LIMIT))
        except OpError as error:
            return error.message
        return answer

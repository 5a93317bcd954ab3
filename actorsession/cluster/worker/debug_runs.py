"""The debugged steps of one session at one worker, until the client has taken what was watched in them.

Owned by a worker session, on its event loop; a run itself is told of values by the threads of kernels.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.messages.worker import TakeWatchedValues, WatchedValues
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.debug.task_debugger import TaskDebugPlan, TaskDebugRun
from actorsession.runtime.debug.watched_step import DebugRunDef

__all__ = ["TaskDebugRuns"]

# Ended steps that are kept for clients which do not ask for their values, such as those that have died while
# their session lives on.
MOST_KEPT = 64


class TaskDebugRuns:
    """The debugged steps of a session at a worker, by step id.

    Attributes:
        store: counts the bytes that the session writes on this host.
    """

    def __init__(self) -> None:
        self.store = DumpStore()
        self._runs: OrderedDict[int, TaskDebugRun] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of steps that run or whose values were not taken."""
        return len(self._runs)

    def begin(self, plan: TaskDebugPlan, step_id: int, debug_run: list[Any] | None) -> TaskDebugRun:
        """Begin the debugged run of a step, given in wire form.

        Raises:
            InvalidArgumentError: if nothing says to which run it belongs.
            OpError: the error of a file, if the run has ``raise_sink_errors``.
        """
        if debug_run is None:
            raise InvalidArgumentError("the graph was registered with debug options: its steps need a debug_run")
        run = TaskDebugRun(plan, DebugRunDef.from_wire(debug_run), self.store)
        self._runs[step_id] = run
        self._drop_oldest()
        run.begin()
        return run

    def _drop_oldest(self) -> None:
        if len(self._runs) > MOST_KEPT:
            oldest = next((i for i, run in self._runs.items() if run.ended), None)
            if oldest is not None:
                del self._runs[oldest]

    def take(self, message: TakeWatchedValues) -> WatchedValues:
        """Return what a step has left that was not taken yet."""
        run = self._runs.get(message.step_id)
        if run is None:
            return WatchedValues(graphs=[], values=[], counts=[], last_failure="", more=False)
        values = run.take(message.most)
        if message.last and not values.more:
            del self._runs[message.step_id]
        return WatchedValues(
            graphs=values.graphs,
            values=values.values,
            counts=values.counts,
            last_failure=values.last_failure,
            more=values.more,
        )

"""Step programs at a master: the plans that a client runs, each with its client graph bound.

``MasterProgram`` is that of runs, ``PartialProgram`` that of partial runs.

The first run of a plan brings its names along. From then on a run is a number, values and an answer: the
feeds of other tasks are passed on as they came, the partitions of the master's own task run by a direct call,
and their values and those of the other tasks go back in one frame.

A run waits in a child of the session where it cannot begin at once: for its plan, for a task that has
restarted, for its turn. All others need neither an asyncio task nor a future.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from actorsession.actors.deadline import Deadline
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.step_parts import BoundPart, bind_parts
from actorsession.errors import AbortedError, DeadlineExceededError, InvalidArgumentError, from_exception
from actorsession.plan.signature import DebugSignature, RunSignature
from actorsession.rpc.local_calls import ClientRun

if TYPE_CHECKING:
    from actorsession.cluster.master.session_steps import SessionSteps

__all__ = ["Program"]


class Program:
    """A plan of a client, the base of those of runs and of partial runs.

    Args:
        session: the steps of the session.
        graphs: the client graphs of plans of its kind.
        signature: its names, in the order in which runs bring and get values.

    Attributes:
        graph: the client graph, while it is bound.
        parts: the parts of that.
    """

    def __init__(self, session: SessionSteps, graphs: ClientGraphs, signature: RunSignature) -> None:
        self.session = session
        self.signature = signature
        self.graph: ClientGraph | None = None
        self.parts: tuple[BoundPart, ...] = ()
        self._graphs = graphs
        self._count = len(signature.feeds)
        self._is_debugged = isinstance(signature, DebugSignature)

    def begin(self, run: ClientRun) -> None:
        """Begin a run; see ``StepProgram.begin``."""
        raise NotImplementedError

    def bind(self) -> ClientGraph | None:
        """Bind and return the client graph, if it is registered at all its tasks."""
        graph = self._graphs.ready(self.signature)
        if graph is None:
            return None
        parts = bind_parts(self.session, graph, self._feeds(graph))
        if parts is None:
            return None
        self._bound(graph, parts)
        self.graph, self.parts = graph, parts
        graph.programs.append(self)
        return graph

    def unbind(self) -> None:
        """Release the client graph, which was dropped."""
        self.graph, self.parts = None, ()

    def _feeds(self, graph: ClientGraph) -> list[int]:
        """Return, for each feed of a graph, its position among the values of a run."""
        raise NotImplementedError

    def _bound(self, graph: ClientGraph, parts: tuple[BoundPart, ...]) -> None:
        """Note what a derived class needs of a graph that is about to be bound."""

    def _check(self, run: ClientRun, count: int) -> None:
        """Check what a run brings.

        Raises:
            InvalidArgumentError: for another number of values, or a debugged run of a plan that watches
                nothing, or the reverse.
        """
        if len(run.values) != count:
            raise InvalidArgumentError(f"a run of {self.signature} brings {count} values, got {len(run.values)}")
        asked = run.asked
        debug_run = None if asked is None else asked.debug_run
        if (debug_run is not None) != self._is_debugged:
            raise InvalidArgumentError(
                "a step has debug_options and a debug_run, or neither of them, got "
                f"{getattr(self.signature, 'debug_options', None)!r:.100} and {debug_run!r:.100}"
            )

    # -- runs that cannot begin at once --------------------------------------------------------

    def begin_later(self, run: ClientRun) -> None:
        """Begin a run in a child of the session, which answers it if it fails before.

        Raises:
            AbortedError: if the session is closed.
        """
        if self.session.over is not None:
            raise self.session.over
        waiting = self.session.start(self._wait(run), "a step waits for its plan, or its turn")
        self.session.preparing += 1
        waiting.add_done_callback(partial(self._waited, run))
        run.on_cancel = partial(_cancel, waiting)

    def _waited(self, run: ClientRun, waiting: asyncio.Task[None]) -> None:
        """Answer a run whose wait has failed, or was cancelled by the end of the session."""
        self.session.preparing -= 1
        self.session.use()
        if waiting.cancelled():
            words = "the session was closed while the step waited to begin"
            run.fail(self.session.over or AbortedError(words))
        elif (error := waiting.exception()) is not None:
            self.session.errors.note(error, session=self.session.handle)
            run.fail(from_exception(error))

    async def _wait(self, run: ClientRun) -> None:
        session = self.session
        deadline = session.deadline_of(run)
        while True:
            graph = await session.acquire(self._graphs, self.signature, deadline)
            try:
                if await self._begin_with(graph, run, deadline):
                    return
            finally:
                self._graphs.release(graph)
            if deadline.expired:
                raise DeadlineExceededError(f"{self.signature} could not begin within {deadline.whose}")
            await asyncio.sleep(0)

    async def _begin_with(self, graph: ClientGraph, run: ClientRun, deadline: Deadline) -> bool:
        """Begin a run, whose graph was registered; return False if that is gone again."""
        raise NotImplementedError


def _cancel(waiting: asyncio.Task[None]) -> None:
    waiting.cancel()

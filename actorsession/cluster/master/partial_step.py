"""The step of a partial run over the workers of a master session.

All parts are begun without feeds, as those of any step. Feeds and fetches pass through the rendezvous of the
step on the master's own task: a feed is sent there under its key, and pushed on if its reader is on another
task; a fetch arrives there from the task that computes it. A ``PartialRunDriver`` drives the step, as in a
session of one process.

Invariants: The first error of any task ends the run on all tasks. A run that is over leaves nothing on any
task. Owned by ``partial_runs``; imports the parts of a step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from actorsession.actors.context import LOCAL_TELL
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import LocalRef
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.step_parts import BoundPart, PartsOwner, StepParts
from actorsession.cluster.worker.worker_rendezvous import WorkerRendezvous
from actorsession.cluster.worker.worker_session import BindRendezvous
from actorsession.errors import CancelledError, OpError, error_to_wire
from actorsession.graph.device import device_task
from actorsession.messages.step_frames import GraphRequest, WireValues
from actorsession.messages.worker import CleanupGraph
from actorsession.records import dataclass
from actorsession.runtime.partial.driver import PartialRunDriver
from actorsession.runtime.partial.run_state import Call, Phase

__all__ = ["MasterPartialStep", "MasterRun", "OwnTask", "confirm"]

_NO_FEEDS = WireValues([])


@dataclass(frozen=True, slots=True, eq=False)
class OwnTask:
    """The master's own task.

    Attributes:
        task: its name.
        worker: its worker; the two share a process.
        hold: opens the rendezvous of a step there.
    """

    task: str
    worker: LocalRef
    hold: Callable[[int], WorkerRendezvous]

    @classmethod
    def of(cls, session: PartsOwner, client_device: str) -> OwnTask:
        """Return the task of a session's client device.

        Raises:
            OpError: if the session there is gone.
        """
        task = device_task(client_device)
        worker = session.workers[task]
        assert isinstance(worker, LocalRef)
        return cls(task, worker, worker.submit(BindRendezvous(session.handle), LOCAL_TELL))


class MasterPartialStep(StepParts):
    """A step of a client graph over workers, in the form in which a ``PartialRunDriver`` uses steps.

    Args:
        session: the session.
        graph: the client graph, which is held for the step.
        parts: its parts.
        own: the master's own task.
        release: called with the graph when the run is over.
        asked: see ``StepParts``.

    Attributes:
        graph: the client graph.
        rendezvous: the rendezvous of the step on the master's own task.
        unconfirmed: the number of calls that were answered but not yet confirmed by the client.

    Raises:
        OpError: if the session at the master's own task is gone.
    """

    # Values are encoded, or copied by the client.
    shares_memory = False

    def __init__(
        self,
        session: PartsOwner,
        graph: ClientGraph,
        parts: Sequence[BoundPart],
        own: OwnTask,
        release: Callable[[ClientGraph], None],
        asked: GraphRequest | None = None,
    ) -> None:
        super().__init__(session, graph, parts, asked)
        self.graph = graph
        self.unconfirmed = 0
        self._release = release
        self._on_end: Callable[[OpError | None], object] | None = None
        self._failed = self._cleaned = self._ran = self._settled = False
        self._own = own
        self.rendezvous = own.hold(self.step_id)
        # Be it by this task's partitions or by a push that could not be delivered.
        self.rendezvous.on_abort = self._aborted

    def start(self, on_end: Callable[[OpError | None], None]) -> None:
        """Begin all parts without feeds; see ``PartialStep.start``."""
        loop = asyncio.get_running_loop()
        self._on_end = lambda error: loop.call_soon(on_end, error)  # not before this returns
        self.begin_here(_NO_FEEDS)
        self.begin_there(_NO_FEEDS)
        self._on_end = on_end

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values, and push those that other tasks read; what can run here at once has run on return."""
        rendezvous = self.rendezvous
        try:
            for key, value in values:
                rendezvous.send(key, value)
            rendezvous.flush()
        except OpError:
            if rendezvous.aborted is None:
                raise  # else a kernel that an earlier feed made ready has failed

    def limit(self, deadline: Deadline) -> None:
        """Do nothing: the master waits for each call with a deadline, and its partitions have none."""

    # -- the end -------------------------------------------------------------------------------

    def _succeed(self) -> None:
        self._ended(None)

    def fail(self, error: OpError) -> None:
        """End the step with an error of a part; see ``StepParts.fail``."""
        self._ended(error)

    def _aborted(self, error: OpError) -> None:
        # Derived: another task has failed, which the calls to the tasks report.
        if not error.derived:
            self._ended(error.locate(task=self._own.task))

    def _ended(self, error: OpError | None) -> None:
        """Handle the end of all partitions, or the failure of one."""
        if self._failed or self._on_end is None:
            return
        self._ran = error is None
        if error is not None:
            self._failed = True
            self.abort(error)
        self._on_end(error)

    def abort(self, error: OpError) -> None:
        """End what is left of the step on all tasks."""
        if self._cleaned:
            return
        self._cleaned = self._settled = True
        if self._ran:
            self.settle(error, ran=True)
        else:
            self.abort_parts(error)
        message = CleanupGraph(
            step_id=self.step_id, error=error_to_wire(error), settles=False, handed_out=sorted(self.handed_out)
        )
        # Only a worker that is being stopped refuses; it ends its steps itself.
        with suppress(OpError):
            self._own.worker.tell(message)

    def roll_back(self, error: OpError) -> None:
        """Have the tasks put back what they took and the client did not receive, unless it is settled."""
        if not self._settled:
            self._settled = True
            self.settle(error, ran=True)

    def accept(self) -> None:
        """Tell the tasks that the client has received all values, if the step has run and is not settled."""
        if self._ran and not (self._settled or self.unconfirmed):
            self.settle(None, ran=True)

    def close(self) -> None:
        """Drop the rendezvous, and release the client graph.

        The values of the last call are not settled yet: the client has to confirm them.
        """
        if not self._cleaned:  # all tasks have succeeded
            self._cleaned = True
            self.rendezvous.release()
        self._release(self.graph)


MasterRun: TypeAlias = PartialRunDriver[MasterPartialStep]
"""A partial run over the workers of a master session."""


def confirm(run: MasterRun, call: Call, *, received: bool) -> None:
    """Record whether the values of an answered call have reached the client's caller."""
    step = run.step
    step.unconfirmed -= 1
    if received:
        step.handed_out.update(call.fetches)
    else:
        run.abort(CancelledError("a call was given up while its answer was on its way"))
    if run.state.phase is Phase.OVER:
        step.accept()

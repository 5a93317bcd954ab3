"""The partial runs of one session at its master: steps whose feeds come later.

The setup of a partial run is a run of its plan: it begins the parts without feeds, as those of any step, and
its answer is the handle. A call is a frame of feeds, and the fetches that are ready come back as they are. The
client graphs are kept apart from those of ordinary runs, because their feeds and fetches are transferred
differently.

Feeds and fetches pass through the rendezvous of the step on the master's own task: a feed is sent there under
its key, and pushed on if its reader is on another task; a fetch arrives there from the task that computes it.

Invariants: A run holds its client graph until it is over. The first error of any task ends the run on all
tasks. A run that is over leaves nothing on any task. Owned by a ``SessionSteps``, which holds the runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from actorsession.actors.context import LOCAL_TELL
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import LocalRef
from actorsession.actors.timer_wheel import Alarm
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.program import Program
from actorsession.cluster.master.step_parts import BoundPart, PartsOwner, StepParts
from actorsession.cluster.unsent import unsent_fetch
from actorsession.cluster.worker.worker_rendezvous import WorkerRendezvous
from actorsession.cluster.worker.worker_session import BindRendezvous
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    error_to_wire,
    from_exception,
)
from actorsession.graph.device import device_task
from actorsession.messages.step_frames import GraphRequest, WireValues
from actorsession.messages.worker import CleanupGraph
from actorsession.plan.partial import PartialParts, check_signature
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.rpc.local_calls import ClientRun
from actorsession.rpc.step_calls import ServedRun, encode_apart
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.partial.run_state import Call, Phase, RunState
from actorsession.runtime.step_log import error_text

if TYPE_CHECKING:
    from actorsession.cluster.master.session_steps import SessionSteps

__all__ = ["MasterRun", "PartialProgram"]

_NO_FEEDS = WireValues([])


class PartialProgram(Program):
    """The plan of partial runs; a run of it sets one up.

    Args:
        session: the steps of the session.
        graphs: the client graphs of partial runs.
        signature: its names.
        runs: the open partial runs of the session.

    Raises:
        InvalidArgumentError: if the signature is not valid for a partial run.
    """

    def __init__(
        self, session: SessionSteps, graphs: ClientGraphs, signature: RunSignature, runs: PartialRunMgr[MasterRun]
    ) -> None:
        check_signature(signature)
        super().__init__(session, graphs, signature)
        self._runs = runs

    def _feeds(self, graph: ClientGraph) -> list[int]:
        return []  # they come with calls

    def _bound(self, graph: ClientGraph, parts: tuple[BoundPart, ...]) -> None:
        self._label = str(graph.signature)
        self._own = OwnTask.of(self.session, self.session.plans.members.devices.client_device)

    def begin(self, run: ClientRun) -> None:
        """Set up a partial run, and answer with its handle; see ``StepProgram.begin``."""
        if run.asked is not None or self._is_debugged or run.values:
            self._check(run, 0)
        session, graph = self.session, self.graph or self.bind()
        members = session.plans.membership
        if graph is None or session.over is not None or members.view.version != members.version:
            self.begin_later(run)
            return
        plan, debug_run = graph.partial, None if run.asked is None else run.asked.debug_run
        assert plan is not None  # it was built for this
        graph.users += 1
        graph.last_used = session.last_used = session.now()
        try:
            asks = None if debug_run is None else GraphRequest(False, debug_run)
            step = MasterPartialStep(session, graph, self.parts, self._own, self._graphs.drop, asks)
        except BaseException:
            self._graphs.release(graph)
            raise
        handle = f"{self._label};{next(self._runs.numbers)}"
        opened = MasterRun(handle, plan, step, self._runs, self._runs.clock.monotonic(), session)
        opened.close_calls = run.open(opened)
        try:
            self._runs.begin(opened)
        except BaseException as exc:
            opened.abort(from_exception(exc) if isinstance(exc, Exception) else _unknown())
            raise
        session.tally.partial_runs += 1
        if graph.survey is not None:
            session.debug_runs.add(handle, step.step_id, graph, lambda: handle not in self._runs)
        run.done(run.fetched((), ()), run.extra(handle))

    async def _begin_with(self, graph: ClientGraph, run: ClientRun, deadline: Deadline) -> bool:
        if (self.graph or self.bind()) is None or self.session.must_prepare:
            return False
        self.begin(run)  # at once, as nothing has changed meanwhile
        return True


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
    """The step of a partial run: a client graph over workers.

    Args:
        session: the session.
        graph: the client graph, which is held for the step.
        parts: its parts.
        own: the master's own task.
        drop: called with the graph when the run is over, if it is the last of a graph that was dropped.
        asked: see ``StepParts``.

    Attributes:
        graph: the client graph.
        rendezvous: the rendezvous of the step on the master's own task.
        on_end: called when all parts have ended, and with an error if one fails.
        error: the error with which it was ended; ``None`` if all tasks have succeeded.

    Raises:
        OpError: if the session at the master's own task is gone.
    """

    def __init__(
        self,
        session: PartsOwner,
        graph: ClientGraph,
        parts: Sequence[BoundPart],
        own: OwnTask,
        drop: Callable[[ClientGraph], None],
        asked: GraphRequest | None = None,
    ) -> None:
        super().__init__(session, graph, parts, asked)
        self.graph = graph
        self._drop = drop
        self.on_end: Callable[[OpError | None], object] | None = None
        self._failed = self._cleaned = self._ran = self._settled = False
        self._own = own
        self.error: OpError | None = None
        self.rendezvous = own.hold(self.step_id)
        # Be it by this task's partitions or by a push that could not be delivered.
        self.rendezvous.on_abort = self._aborted

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values, and push those that other tasks read; what can run here at once has run on return."""
        rendezvous = self.rendezvous
        try:
            for key, value in values:
                rendezvous.send(key, value)
            if rendezvous.gathered:
                rendezvous.flush()
        except OpError:
            if rendezvous.aborted is None:
                raise  # else a kernel that an earlier feed made ready has failed

    def limit(self, deadline: Deadline) -> None:
        """Do nothing: the master waits for each call with a deadline, and its partitions have none."""

    # -- the end -------------------------------------------------------------------------------

    def _succeed(self) -> None:
        if not self._failed and self.on_end is not None:
            self._ran = True
            self.on_end(None)

    def fail(self, error: OpError) -> None:
        """End the step with an error of a part; see ``StepParts.fail``."""
        if not self._failed and self.on_end is not None:
            self._failed, self._ran = True, False
            self.abort(error)
            self.on_end(error)

    def _aborted(self, error: OpError) -> None:
        # Derived: another task has failed, which the calls to the tasks report.
        if not error.derived:
            self.fail(error.locate(task=self._own.task))

    def abort(self, error: OpError) -> None:
        """End what is left of the step on all tasks; may be called again."""
        if self._cleaned:
            return
        self._cleaned = self._settled = True
        self.error = error
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
        if self._ran and not self._settled:
            self.settle(None, ran=True)

    def close(self) -> None:
        """Drop the rendezvous, and release the client graph.

        The values of the last call are not settled yet: the client has to confirm them.
        """
        if not self._cleaned:  # all tasks have succeeded
            self._cleaned = True
            self.rendezvous.release()
        graph = self.graph
        graph.users -= 1  # as ``ClientGraphs.release``, without a call
        if graph.dropped and not graph.users:
            self._drop(graph)


class MasterRun(RunState[MasterPartialStep]):
    """A partial run over the workers of a session; to its client it is what a program is: each run of it is a call.

    Args:
        handle: see ``RunState``.
        plan: likewise.
        step: likewise.
        runs: likewise.
        now: likewise.
        session: the steps of the session.

    Attributes:
        close_calls: ends the calls of the client; set before the run begins.
        since: when it was set up, by the monotonic clock.
    """

    # Values are encoded, or copied by the client, so the step shares no memory with it.
    __slots__ = ("_session", "_unconfirmed", "close_calls", "since")
    close_calls: Callable[[], object]

    def __init__(
        self,
        handle: str,
        plan: PartialParts,
        step: MasterPartialStep,
        runs: PartialRunMgr[MasterRun],
        now: float,
        session: SessionSteps,
    ) -> None:
        super().__init__(handle, plan, step, runs, now)
        self._session = session
        self.since = session.now()
        self._unconfirmed = 0  # calls that were answered and that the client has not confirmed yet

    def _start_step(self) -> None:
        step, loop = self.step, asyncio.get_running_loop()
        step.on_end = lambda error: loop.call_soon(self.ended, error)  # not before this returns
        step.begin_here(_NO_FEEDS)
        step.begin_there(_NO_FEEDS)
        step.on_end = self.ended

    def _end_step(self, error: OpError) -> None:
        self.step.abort(error)

    def _roll_back(self, error: OpError) -> None:
        self.step.roll_back(error)

    def _release(self) -> None:
        step, session = self.step, self._session
        log, error = session.step_log, step.error
        if log is not None:
            text = "" if error is None else error_text(error)
            names, now, handle, step_id = step.graph.signature, session.now(), session.handle, step.step_id
            feeds, fetches, targets = names.feeds, names.fetches, names.targets
            log.wholes.append((step_id, handle, "partial", feeds, fetches, targets, self.since, now, text, "", ""))
            if len(log.wholes) >= log.full:
                log.trim()
        if error is not None:
            session.errors.note(error, session=session.handle, step_id=step.step_id)
        step.close()
        self.close_calls()

    # -- the client ----------------------------------------------------------------------------

    def abandon(self) -> None:
        """See ``ServedSetup.abandon``."""
        self.abort(_unknown())

    def begin(self, run: ClientRun) -> None:
        """Feed and fetch; answered at once if nothing has to be waited for.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
            OpError: that of the session, if it is closed.
        """
        session, asked, values = self._session, run.asked, run.values.read_all()
        if session.over is not None:
            raise session.over
        session.last_used = session.now()
        if len(values) != len(asked.feeds):
            raise InvalidArgumentError(
                f"a call that feeds {len(asked.feeds)} tensors brings as many values, got {len(values)}"
            )
        call = self.call(asked.feeds, values, asked.fetches, self._runs.clock.monotonic())
        if call.done:
            self._reply(run, call)
            return
        seconds = session.limit if run.seconds is None else run.seconds
        alarm = session.wheel.add(seconds, partial(self._late, run, call))
        run.on_cancel = self._cancelled
        call.on_done = partial(self._reply, run, call, alarm)

    def _late(self, run: ClientRun, call: Call) -> None:
        if call.done:  # it has taken effect
            return
        tasks = ", ".join(sorted(self.step.unfinished))
        more = f"; parts that have not ended: {tasks}" if tasks else ""
        whose = self._session.whose_limit(run.seconds)
        self.abort(DeadlineExceededError(f"a call of partial run {self.handle!r} exceeded {whose}{more}"))

    def _cancelled(self) -> None:
        self.abort(CancelledError(f"partial run {self.handle!r} was cancelled by its caller"))

    def _reply(
        self, run: ClientRun, call: Call, alarm: Alarm | None = None, encoded: Sequence[Any] | None = None
    ) -> None:
        """Answer a run whose call is done.

        Args:
            run: the run.
            call: its call.
            alarm: the deadline of a call that has waited.
            encoded: the values of the call, if they were encoded in a thread.
        """
        if alarm is not None:
            call.on_done = None
            self._session.wheel.discard(alarm)
        if call.error is not None:
            run.fail(call.error)
            return
        values, graph = call.values if encoded is None else encoded, self.step.graph
        if encoded is None and type(run) is ServedRun and encode_apart(values, partial(self._reply, run, call, None)):
            return
        try:
            out = run.fetched((values,), zip(repeat(0), range(len(values))))
        except Exception as exc:
            run.fail(unsent_fetch(graph.partitions, call.fetches, values, from_exception(exc)))
            return
        if not graph.takes:
            run.done(out)
            return
        self._unconfirmed += 1
        run.done(out, run.extra(None, True), self._session.deliveries.add(partial(self._confirmed, call)))

    def _confirmed(self, call: Call, received: bool) -> None:
        """Record whether the values of an answered call have reached the client's caller."""
        self._unconfirmed -= 1
        if received:
            self.step.handed_out.update(call.fetches)
        else:
            self.abort(CancelledError("a call was given up while its answer was on its way"))
        if self.phase is Phase.OVER and not self._unconfirmed:
            self.step.accept()


def _unknown() -> CancelledError:
    return CancelledError("the setup was cancelled, and nobody knows the handle")

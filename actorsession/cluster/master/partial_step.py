"""A partial run at its master: its state joined to the parts on the workers.

All parts are begun by ``RunGraph`` with nothing fed, as a ``MasterStep`` without a limit in time. Feeds and
fetches go by the meeting place of the step on the master's own task: a feed is sent there under its key,
and pushed on if its reader is elsewhere; a fetch arrives there from whichever task computes it. What is done
when is decided by ``RunState``, as in a session of one process; this carries its instructions out.

Invariants: the first error of any part ends the run, everywhere; a run that is over leaves nothing on any
task. Owned by ``partial_runs``; it imports the step of a master.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from actorsession.actors.context import LOCAL_TELL
from actorsession.actors.deadline import NEVER
from actorsession.actors.ref import LocalRef, Ref
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.master_step import MasterStep
from actorsession.cluster.worker.worker_rendezvous import WorkerRendezvous
from actorsession.cluster.worker.worker_session import OpenStepRendezvous
from actorsession.errors import (
    CancelledError,
    InternalError,
    OpError,
    error_to_wire,
    from_exception,
)
from actorsession.messages.worker import CleanupGraph
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partial import CallShape, PartialParts
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime.partial.run_state import (
    Abort,
    Answer,
    Call,
    Instruction,
    Phase,
    Receive,
    Refuse,
    RunState,
    Send,
)
from actorsession.runtime.rendezvous import Arrival

__all__ = ["MasterPartialStep"]


class MasterPartialStep:
    """A partial run: its state, its step, and what carries the instructions out.

    Args:
        state: the bookkeeping.
        graph: registered at all its workers.
        workers: the worker of each task.
        session_handle: the session.
        devices: of the session.
        on_delete: called once when the run is over.

    Raises:
        OpError: if the master's own task has no session any more.
    """

    def __init__(
        self,
        state: RunState,
        graph: ClientGraph,
        workers: Mapping[str, Ref],
        session_handle: str,
        devices: DeviceSet,
        on_delete: Callable[[MasterPartialStep], None],
    ) -> None:
        assert graph.partial is not None
        self.state = state
        self.graph = graph
        self._plan: PartialParts = graph.partial
        self._step = MasterStep(graph, workers, session_handle, (), trace=False, deadline=NEVER)
        self._on_delete = on_delete
        self._child: asyncio.Task[None] | None = None
        self._failed = self._cleaned = self._ran = self._given_up = False
        # Calls that were answered, and of which the client has yet to say whether it has the values.
        self.unconfirmed = 0
        client = devices.client_device
        self._task = client.rpartition("/device:")[0]
        own = workers[self._task]
        assert isinstance(own, LocalRef)  # a master and the worker of its task share a process
        self._own = own
        hold = OpenStepRendezvous(session_handle, self._step.step_id)
        self._meeting: WorkerRendezvous = own.submit(hold, LOCAL_TELL)
        # Nobody sends under this key: what ends the waiting is the end of the meeting place, be it by the
        # part of this task or by a push that could not be delivered.
        never = build_key(client, devices.by_name[client].incarnation, client, "never")
        self._meeting.recv_async(never, self._aborted)

    def shape(self, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> CallShape:
        """Return what a call of these names is in this run."""
        return self._plan.shape(feeds, fetches)

    def begin(self, children: Children) -> None:
        """Start all parts with nothing fed, soon.

        Args:
            children: own the calls of the parts.
        """
        if self.graph.failure is not None:
            # A copy for each run: an error that is raised holds on to what raised it.
            self._ended(copy.copy(self.graph.failure))
            return
        name = f"partial run {self.state.handle}"
        self._child = children.start(self._run(children), name=name)

    async def _run(self, children: Children) -> None:
        try:
            await self._step.run(children)
        except Exception as exc:
            self._ended(from_exception(exc))
        else:
            self._ended(None)

    def call(self, shape: CallShape, values: Sequence[Any], now: float) -> Call:
        """Feeds and fetches; what can run here at once has run when it returns.

        Args:
            shape: what, by position.
            values: of the feeds; never changed by anybody.
            now: the time.

        Raises:
            InvalidArgumentError: for a wrong call, which has changed nothing.
        """
        call, instructions = self.state.call(shape, values, now)
        self._perform(instructions)
        return call

    def give_up(self, error: OpError) -> None:
        """End the run on all tasks; of one that is over only what it has taken and nobody has goes back."""
        self._perform(self.state.give_up(error))
        if not self._given_up:
            self._given_up = True
            self._step.settle(error, ran=True)

    def delivered(self, call: Call, *, received: bool) -> None:
        """Hear whether the values of an answered call have reached the caller."""
        self.unconfirmed -= 1
        if received:
            self._step.handed_out.update(call.fetches)
        else:
            self.give_up(CancelledError("a call was given up while its answer was on its way"))
        over = self.state.phase is Phase.OVER and self._ran and not self._given_up
        if over and not self.unconfirmed:
            self._step.settle(None, ran=True)

    @property
    def step_id(self) -> int:
        """The step that it is."""
        return self._step.step_id

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The tasks whose part has not ended."""
        return self._step.unfinished

    # -- the end -------------------------------------------------------------------------------

    def _aborted(self, outcome: Arrival | OpError) -> None:
        # Derived: another part has failed, which the calls of the parts tell.
        if isinstance(outcome, OpError) and not outcome.derived:
            self._ended(outcome.locate(task=self._task))

    def _ended(self, error: OpError | None) -> None:
        """All parts have ended, or one has failed."""
        if self._failed:
            return
        self._ran = error is None
        if error is not None:
            self._failed = True
            self._clean_up(error)
        self._perform(self.state.ended(error))

    def _clean_up(self, error: OpError | None) -> None:
        """End what is left of the step, on all tasks if parts of it still run."""
        if self._cleaned:
            return
        self._cleaned = True
        if self._child is not None and self._child is not asyncio.current_task():
            self._child.cancel()
        if error is not None:
            self._given_up = True
            self._step.settle(error, ran=self._ran)
        # Of a run that went well the client has yet to say that it has the values of the last call.
        message = CleanupGraph(
            step_id=self._step.step_id, error=None if error is None else error_to_wire(error),
            settles=False, handed_out=sorted(self._step.handed_out),
        )  # fmt: skip
        # Only a worker that is being stopped refuses, which ends its steps itself.
        with suppress(OpError):
            self._own.tell(message)

    # -- instructions --------------------------------------------------------------------------

    def _perform(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Receive):
                self._receive(instruction.call)
            elif isinstance(instruction, Send):
                self._send(instruction.call)
            elif isinstance(instruction, Answer):
                instruction.call.end(None)
            elif isinstance(instruction, Refuse):
                instruction.call.end(instruction.error)
            elif isinstance(instruction, Abort):
                self._clean_up(instruction.error)
            else:
                self._clean_up(None)
                self._on_delete(self)

    def _receive(self, call: Call) -> None:
        for index, position in enumerate(call.fetches):
            key = self._plan.fetch_keys[position]
            self._meeting.recv_async(key, partial(self._arrived, call, index))

    def _arrived(self, call: Call, index: int, outcome: Arrival | OpError) -> None:
        if isinstance(outcome, OpError):
            return  # the end of the run tells it to every call that waits
        if outcome.dead:
            name = self._plan.signature.fetches[call.fetches[index]]
            self.give_up(InternalError(f"{name} is on a branch that was not taken"))
            return
        self._perform(self.state.arrived(call, index, outcome.value))

    def _send(self, call: Call) -> None:
        keys = [(key, value) for i, value in call.feeds for key in self._plan.feed_keys[i]]
        for key, value in keys:
            if self._meeting.aborted is not None:
                break  # a kernel that a feed before has made ready has failed
            self._meeting.send(key, value)
        if self._meeting.aborted is None:
            self._meeting.flush()
        self._perform(self.state.sent(call))

"""A partial run at its master: its state, joined to the partitions on the workers.

``RunGraph`` starts all partitions without feeds, as a ``MasterStep`` without a deadline. Feeds and fetches
pass through the rendezvous of the step on the master's own task: a feed is sent there under its key, and
pushed on if its reader is on another task; a fetch arrives there from the task that computes it. ``RunState``
decides what is done when, as in a session of one process; this module executes its instructions.

Invariants: The first error of any task ends the run on all tasks. A run that is over leaves nothing on any
task. Owned by ``partial_runs``; imports the step of a master.
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
    """A partial run: its state, its step, and the execution of its instructions.

    Args:
        state: the state of the run.
        graph: the client graph; it must be registered at all its workers.
        workers: the worker of each task.
        session_handle: the handle of the session.
        devices: the devices of the session.
        on_delete: called once when the run is over.

    Raises:
        OpError: if the session at the master's own task is gone.
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
        # Calls that were answered but not yet confirmed by the client.
        self.unconfirmed = 0
        client = devices.client_device
        self._task = client.rpartition("/device:")[0]
        own = workers[self._task]
        assert isinstance(own, LocalRef)  # a master and the worker of its task share a process
        self._own = own
        hold = OpenStepRendezvous(session_handle, self._step.step_id)
        self._meeting: WorkerRendezvous = own.submit(hold, LOCAL_TELL)
        # Nothing is sent under this key. The receive ends when the rendezvous is aborted, be it by this
        # task's partitions or by a push that could not be delivered.
        never = build_key(client, devices.by_name[client].incarnation, client, "never")
        self._meeting.recv_async(never, self._aborted)

    def shape(self, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> CallShape:
        """Return the shape of a call with these feeds and fetches."""
        return self._plan.shape(feeds, fetches)

    def begin(self, children: Children) -> None:
        """Schedule the start of all partitions, without feeds.

        Args:
            children: own the calls to the tasks.
        """
        if self.graph.failure is not None:
            # A copy for each run: an exception that was raised keeps the frames that raised it alive.
            self._ended(copy.copy(self.graph.failure))
            return
        name = f"partial run {self.state.handle}"
        self._child = children.start(self._run(children), name=name)

    async def _run(self, children: Children) -> None:
        try:
            await self._step.run()
        except Exception as exc:
            self._ended(from_exception(exc))
        else:
            self._ended(None)

    def call(self, shape: CallShape, values: Sequence[Any], now: float) -> Call:
        """Feed and fetch; what can run here at once has run when this returns.

        Args:
            shape: the feeds and fetches, by position.
            values: the values of the feeds; never mutated.
            now: the current time.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
        """
        call, instructions = self.state.call(shape, values, now)
        self._perform(instructions)
        return call

    def give_up(self, error: OpError) -> None:
        """Cancel the run on all tasks; if it is over, put back what it took and no caller received."""
        self._perform(self.state.give_up(error))
        if not self._given_up:
            self._given_up = True
            self._step.settle(error, ran=True)

    def delivered(self, call: Call, *, received: bool) -> None:
        """Record whether the values of an answered call have reached the caller."""
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
        """The id of the run's step."""
        return self._step.step_id

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The tasks whose partitions have not ended."""
        return self._step.unfinished

    # -- the end -------------------------------------------------------------------------------

    def _aborted(self, outcome: Arrival | OpError) -> None:
        # Derived: another task has failed, which the calls to the tasks report.
        if isinstance(outcome, OpError) and not outcome.derived:
            self._ended(outcome.locate(task=self._task))

    def _ended(self, error: OpError | None) -> None:
        """Handle the end of all partitions, or the failure of one."""
        if self._failed:
            return
        self._ran = error is None
        if error is not None:
            self._failed = True
            self._clean_up(error)
        self._perform(self.state.ended(error))

    def _clean_up(self, error: OpError | None) -> None:
        """End what is left of the step, on all tasks if partitions of it still run."""
        if self._cleaned:
            return
        self._cleaned = True
        if self._child is not None and self._child is not asyncio.current_task():
            self._child.cancel()
        if error is not None:
            self._given_up = True
            self._step.settle(error, ran=self._ran)
        # If the run succeeded, the client has yet to confirm the values of the last call.
        message = CleanupGraph(
            step_id=self._step.step_id, error=None if error is None else error_to_wire(error),
            settles=False, handed_out=sorted(self._step.handed_out),
        )  # fmt: skip
        # Only a worker that is being stopped refuses; it ends its steps itself.
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
            return  # the end of the run reports it to every waiting call
        if outcome.dead:
            name = self._plan.signature.fetches[call.fetches[index]]
            self.give_up(InternalError(f"{name} is on a branch that was not taken"))
            return
        self._perform(self.state.arrived(call, index, outcome.value))

    def _send(self, call: Call) -> None:
        keys = [(key, value) for i, value in call.feeds for key in self._plan.feed_keys[i]]
        for key, value in keys:
            if self._meeting.aborted is not None:
                break  # a kernel that an earlier feed made ready has failed
            self._meeting.send(key, value)
        if self._meeting.aborted is None:
            self._meeting.flush()
        self._perform(self.state.sent(call))

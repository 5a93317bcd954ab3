"""The driver of a partial run: carries out the instructions of its ``RunState`` on its step.

A partial run is the same for a direct session and for a master session: feeds are sent and fetches received
under the rendezvous keys of the plan; arrivals and the end of the step are reported to the state. What
differs is the step itself. A driver gets it as a ``PartialStep``: ``LocalPartialStep`` runs in this process,
``cluster.master.partial_step.MasterPartialStep`` runs on the workers of a session.

A driver belongs to one thread, that of its event loop, or to the thread that has entered it: see
``thread_runs``. The module imports the rendezvous and no engine.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.errors import CancelledError, InvalidArgumentError, OpError
from actorsession.graph.held_arrays import kept_feed
from actorsession.plan.partial import PartialParts
from actorsession.runtime.partial.run_state import Abort, Answer, Call, Instruction, Receive, Refuse, RunState, Send
from actorsession.runtime.rendezvous import Arrival, Rendezvous

__all__ = ["PartialRunDriver", "PartialStep"]

_log = logging.getLogger("actorsession.runtime")


class PartialStep(Protocol):
    """The step of a partial run."""

    @property
    def step_id(self) -> int:
        """The id of the step."""

    @property
    def rendezvous(self) -> Rendezvous:
        """The rendezvous where the fetches of the run arrive."""

    @property
    def handed_out(self) -> set[int]:
        """The positions of the fetches whose values the caller has received."""

    @property
    def shares_memory(self) -> bool:
        """Whether arrays of the caller enter the step, and arrays of the step leave it, as they are.

        The driver then copies those that the other side could change.
        """

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The other tasks whose partitions have not ended, for the error of a call that is too late."""

    def start(self, on_end: Callable[[OpError | None], None]) -> None:
        """Start all partitions without feeds.

        Args:
            on_end: called when all partitions have ended, and with an error whenever one fails.
        """

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values, as pairs of rendezvous key and value; what they make ready may run in this call."""

    def limit(self, deadline: Deadline) -> None:
        """Limit what runs in the calls of ``feed`` from now on, as far as nothing else does."""

    def abort(self, error: OpError) -> None:
        """End the step if it has not ended, and drop what is in its rendezvous; may be called again."""

    def roll_back(self, error: OpError) -> None:
        """Put back what a step that has ended took out of queues and the like and did not deliver."""

    def close(self) -> None:
        """Release the step; called once, when the run is over."""


S = TypeVar("S", bound=PartialStep)


class PartialRunDriver(Generic[S]):
    """A partial run: its state, its step, and the execution of the state's instructions.

    Args:
        state: the bookkeeping of the run.
        plan: the rendezvous keys.
        step: the step, not started; owned by the driver from now on.
        on_delete: called once with the driver when the run is over.
    """

    __slots__ = ("_on_delete", "_plan", "state", "step")

    def __init__(self, state: RunState, plan: PartialParts, step: S, on_delete: Callable[[Any], None]) -> None:
        self.state = state
        self.step = step
        self._plan = plan
        self._on_delete = on_delete

    def begin(self) -> None:
        """Start all partitions without any feed; a plan that cannot succeed fails the first call."""
        if self._plan.failure is None:
            self.step.start(self._ended)
            return
        # A copy for each run: an exception that was raised keeps the frames that raised it alive.
        failure = copy.copy(self._plan.failure)
        self.step.abort(failure)
        self._ended(failure)

    def call(
        self,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        now: float,
        deadline: Deadline = NEVER,
    ) -> Call:
        """Send feeds and request fetches; everything that can run here at once has run on return.

        Args:
            feeds: names of the feeds.
            values: values of the feeds; arrays that the caller could change later are copied.
            fetches: names of the fetches.
            now: the time.
            deadline: the time limit of what runs before this returns.

        Returns:
            The call, which may not be done yet.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
        """
        step = self.step
        if step.shares_memory:
            values = [kept_feed(value) for value in values]
        call, instructions = self.state.call(self._plan.shape(feeds, fetches), values, now)
        if deadline.at is None:
            self._perform(instructions)
            return call
        step.limit(deadline)
        self._perform(instructions)
        step.limit(NEVER)
        return call

    def deliver(self, call: Call) -> list[Any]:
        """Return the values of an answered call; they count as received by the caller.

        Raises:
            OpError: the error with which the call ended.
        """
        values = call.result()
        self.step.handed_out.update(call.fetches)
        return values

    def abort(self, error: OpError) -> None:
        """Abort the run; for a run that is over, only put back what it has taken and not delivered."""
        self._abort(error)

    def abort_if_idle(self, now: float, limit: float) -> None:
        """Abort the run if no call waits and none was made for ``limit`` seconds."""
        if self.state.is_idle(now, limit):
            what = f"partial run {self.state.handle!r} was idle for {limit:g} s"
            _log.info("%s and is aborted", what)
            self._abort(CancelledError(what))

    # -- inside --------------------------------------------------------------------------------

    def _abort(self, error: OpError) -> None:
        self._perform(self.state.abort(error))
        self.step.roll_back(error)

    def _ended(self, error: OpError | None) -> None:
        self._perform(self.state.ended(error))

    def _perform(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            # ``type`` takes a third of the time of ``isinstance``, and a run has a dozen instructions.
            if type(instruction) is Receive:
                self._receive(instruction.call)
            elif type(instruction) is Send:
                self._send(instruction.call)
            elif type(instruction) is Answer:
                instruction.call.end(None)
            elif isinstance(instruction, Refuse):
                instruction.call.end(instruction.error)
            elif isinstance(instruction, Abort):
                self.step.abort(instruction.error)
            else:
                self.step.close()
                self._on_delete(self)

    def _receive(self, call: Call) -> None:
        keys, recv = self._plan.fetch_keys, self.step.rendezvous.recv_async
        for index, position in enumerate(call.fetches):
            recv(keys[position], partial(self._arrived, call, index, position))

    def _arrived(self, call: Call, index: int, position: int, outcome: Arrival | OpError) -> None:
        if isinstance(outcome, OpError):
            return  # the end of the step reports it to every waiting call
        if outcome.dead:
            name = self._plan.signature.fetches[position]
            text = f"the fetched tensor {name!r} is on a way that was not taken"
            self._abort(InvalidArgumentError(text))
            return
        value = outcome.value
        if self.step.shares_memory and isinstance(value, np.ndarray):
            owned = self._plan.owned[position]
            value = value[()] if not value.ndim else value if owned else value.copy()
        instructions = self.state.arrived(call, index, value)
        if instructions:
            self._perform(instructions)

    def _send(self, call: Call) -> None:
        if call.feeds:
            keys = self._plan.feed_keys
            self.step.feed([(key, value) for i, value in call.feeds for key in keys[i]])
        instructions = self.state.sent(call)
        if instructions:
            self._perform(instructions)

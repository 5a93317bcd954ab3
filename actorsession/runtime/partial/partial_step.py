"""A partial run in this process: its state joined to a step, and the actor for all runs of a session.

``PartialStep`` carries out the instructions of ``RunState`` in the thread of the step. It sends feeds and
receives fetches under the rendezvous keys of the plan, and reports to the state what has arrived and how the
step ended. On an event loop the actor ``RunStates`` holds the partial runs of a session. A synchronous
session calls ``PartialStep`` in its callers' threads, one at a time, between ``enter`` and ``leave``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
)  # fmt: skip
from actorsession.plan.partial import CallShape, PartialParts
from actorsession.records import dataclass
from actorsession.runtime.engine.step import Step
from actorsession.runtime.interruptible import acquire
from actorsession.runtime.kept_feeds import kept_feed
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
    no_such_run,
)
from actorsession.runtime.rendezvous import Arrival

__all__ = ["BeginRun", "ContinueRun", "GiveUpAll", "GiveUpRun", "PartialStep", "RunStates"]


class PartialStep:
    """A partial run: its state, its step, and the execution of the state's instructions.

    Everything except ``enter``, ``enter_nowait``, ``leave``, ``end`` and ``end_if_idle`` belongs to the
    thread
    of the step: that of its event loop, or the thread that has entered it.

    Args:
        state: the bookkeeping of the run.
        step: the step; not begun yet.
        plan: the rendezvous keys.
        on_delete: called once when the run is over.
        loop_driven: whether the step may continue in a kernel pool between two calls.
    """

    __slots__ = (
        "_holder", "_lock", "_loop_driven", "_on_delete", "_plan", "_unwanted", "state", "step",
    )  # fmt: skip

    def __init__(
        self,
        state: RunState,
        step: Step,
        plan: PartialParts,
        on_delete: Callable[[PartialStep], None],
        *,
        loop_driven: bool,
    ) -> None:
        self.state = state
        self.step = step
        self._plan = plan
        self._on_delete = on_delete
        self._loop_driven = loop_driven
        self._lock = threading.Lock()
        self._holder: int | None = None  # the thread that has entered
        self._unwanted: OpError | None = (
            None  # the error with which the current thread must end the run
        )

    @property
    def loop_driven(self) -> bool:
        """Whether an event loop drives it, and not the threads of its callers."""
        return self._loop_driven

    def shape(self, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> CallShape:
        """Return the shape of a call with these names in this run."""
        return self._plan.shape(feeds, fetches)

    def begin(self, start: Callable[[], None], error: OpError | None = None) -> None:
        """Start all partitions without any feed.

        Args:
            start: starts them.
            error: why they cannot be started; raised by the first call.
        """
        if error is not None:
            self._perform(self.state.ended(error))
            return
        start()
        self.step.on_done(lambda: self._perform(self.state.ended(self.step.error)))

    def call(
        self, shape: CallShape, values: Sequence[Any], now: float, deadline: Deadline = NEVER
    ) -> Call:
        """Send feeds and request fetches; everything that can run at once has run on return.

        Args:
            shape: the feeds and fetches, by position.
            values: values of the feeds; arrays that the caller could change later are copied.
            now: the time.
            deadline: the time limit of work in the calling thread.

        Raises:
            InvalidArgumentError: for a wrong call, which has changed nothing.
        """
        call, instructions = self.state.call(shape, [kept_feed(v) for v in values], now)
        if deadline.at is not None:
            self.step.limit(deadline)
        self._perform(instructions)
        if deadline.at is not None:
            self.step.limit(NEVER)
        if not call.done and not self._loop_driven:
            keys = self.step.waiting()
            self.give_up(InternalError(f"{self.state!r} waits for {keys} with nobody to send it"))
        return call

    def give_up(self, error: OpError) -> None:
        """Abort the run; for a run that is over, only put back what it has taken and not delivered."""
        self._perform(self.state.give_up(error))
        self.step.give_back()

    def hand_out(self, call: Call) -> list[Any]:
        """Return the values of an answered call, which are delivered to the caller by that.

        Raises:
            OpError: the error with which the call ended.
        """
        values = call.result()
        self.step.handed_out.update(call.fetches)
        return values

    # -- from threads ----------------------------------------------------------------------------

    def enter_nowait(self) -> bool:
        """Enter the run if no thread is in it; return whether that was possible."""
        if not self._lock.acquire(blocking=False):
            return False
        self._holder = threading.get_ident()
        return True

    def enter(self, deadline: Deadline = NEVER) -> None:
        """Wait until no other thread is in the run.

        Raises:
            FailedPreconditionError: if the calling thread is in it, through a function of its step.
            DeadlineExceededError: if the other threads took too long.
        """
        here = threading.get_ident()
        if self._holder == here:
            raise FailedPreconditionError(
                f"a function inside partial run {self.state.handle!r} continues that very run, whose "
                "thread it holds: continue another run in it, or use AsyncSession, where functions have "
                "threads of their own"
            )
        left = deadline.time_left
        if not acquire(self._lock, left):
            raise DeadlineExceededError(
                f"waited {left:.3g} s for another thread's call of partial run {self.state.handle!r}"
            )
        self._holder = here

    def leave(self) -> None:
        """Leave the run, so that the next thread may enter."""
        self._holder = None
        self._lock.release()
        self._end_if_unwanted()

    def end(self, error: OpError) -> None:
        """End the run, from any thread; a thread in it ends it between two nodes."""
        self._unwanted = error
        self.step.cancel(error)
        self._end_if_unwanted()

    def end_if_idle(self, now: float, limit: float, error: OpError) -> None:
        """End the run, from any thread, if it is idle and no other thread is in it."""
        if self._lock.acquire(blocking=False):
            try:
                # A thread may have made a call before this one entered.
                if self.state.is_idle(now, limit):
                    self.give_up(error)
            finally:
                self.leave()

    def _end_if_unwanted(self) -> None:
        # One thread leaves and then checks here; the other one sets the error and then tries to enter.
        # Whichever comes second finds what the first one did.
        while (
            self._unwanted is not None
            and self.state.phase is not Phase.OVER
            and self._lock.acquire(blocking=False)
        ):
            try:
                self.give_up(self._unwanted)
            finally:
                self._lock.release()

    # -- inside ----------------------------------------------------------------------------------

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
                self.step.fail(instruction.error)
                # A step whose partitions have all ended may still hold values that were not fetched.
                self.step.rendezvous.abort(instruction.error)
            else:
                self._on_delete(self)

    def _receive(self, call: Call) -> None:
        keys, recv = self._plan.fetch_keys, self.step.rendezvous.recv_async
        for index, position in enumerate(call.fetches):
            recv(keys[position], partial(self._arrived, call, index, self._plan.owned[position]))

    def _arrived(self, call: Call, index: int, owned: bool, outcome: Arrival | OpError) -> None:
        if isinstance(outcome, OpError):
            return  # the end of the step reports it to every waiting call
        if outcome.dead:
            name = self._plan.signature.fetches[call.fetches[index]]
            self.step.fail(
                InvalidArgumentError(f"the fetched tensor {name!r} is on a way that was not taken")
            )
            return
        value = outcome.value
        if isinstance(value, np.ndarray):
            value = value[()] if not value.ndim else value if owned else value.copy()
        self._perform(self.state.arrived(call, index, value))

    def _send(self, call: Call) -> None:
        keys = self._plan.feed_keys
        if call.feeds:
            self.step.feed([(key, value) for i, value in call.feeds for key in keys[i]])
        self._perform(self.state.sent(call))


@dataclass(frozen=True, slots=True)
class BeginRun:
    """The request to begin a partial run; a message within one process, never sent.

    Attributes:
        run: the run.
        start: starts its partitions.
        error: why they cannot be started, if they cannot.
    """

    run: PartialStep
    start: Callable[[], None]
    error: OpError | None


@dataclass(frozen=True, slots=True)
class ContinueRun:
    """The request to continue a partial run; answered with its ``Call``, which may not be done yet.

    Attributes:
        handle: handle of the run.
        feeds: names of the feeds.
        values: values of the feeds.
        fetches: names of the fetches.
        now: the time.
        deadline: the time limit of work before the answer.
    """

    handle: str
    feeds: tuple[str, ...]
    values: Sequence[Any]
    fetches: tuple[str, ...]
    now: float
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class GiveUpRun:
    """The request to abort a partial run that is still open.

    Attributes:
        handle: handle of the run.
        error: the error for waiting calls.
    """

    handle: str
    error: OpError


@dataclass(frozen=True, slots=True)
class GiveUpAll:
    """The request to abort every partial run of a session that the loop drives.

    Attributes:
        error: the error for waiting calls.
    """

    error: OpError


class RunStates(Actor):
    """The actor of the partial runs of one session on an event loop; never waits.

    Args:
        runs: the session's runs by handle; those driven by threads are left alone.
    """

    def __init__(self, runs: dict[str, PartialStep]) -> None:
        super().__init__("partial runs")
        self._runs = runs

    @handles(BeginRun)
    def on_begin(self, message: BeginRun, call: CallContext) -> None:
        """Register a run and start its partitions."""
        self._runs[message.run.state.handle] = message.run
        message.run.begin(message.start, message.error)

    @handles(ContinueRun)
    def on_continue(self, message: ContinueRun, call: CallContext) -> Call:
        """Continue a run with feeds and fetches."""
        run = self._runs.get(message.handle)
        if run is None:
            raise no_such_run(message.handle)
        shape = run.shape(message.feeds, message.fetches)
        return run.call(shape, message.values, message.now, message.deadline)

    @handles(GiveUpRun)
    def on_give_up(self, message: GiveUpRun, call: CallContext) -> None:
        """Abort a run."""
        run = self._runs.get(message.handle)
        if run is not None:
            run.give_up(message.error)

    @handles(GiveUpAll)
    def on_give_up_all(self, message: GiveUpAll, call: CallContext) -> None:
        """Abort all runs that the loop drives."""
        for run in list(self._runs.values()):
            if run.loop_driven:
                run.give_up(message.error)

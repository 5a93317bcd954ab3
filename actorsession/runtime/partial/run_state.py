"""One partial run: the feeds and fetches that are left, the calls that wait, and what its step is told.

``RunState`` is plain synchronous code: calls, arrivals and the end of the step are its events, and what it
decides it does by direct calls on its step. It is the same for a direct session and for a master session:
feeds are sent and fetches received under the rendezvous keys of the plan. How a step begins and ends is the
part of derived classes: ``local_runs.LocalRun`` has a step of this process, and
``cluster.master.partial_runs.MasterRun`` one over the workers of a session.

A call is checked completely before anything is marked: first feeds, then fetches, then whether the fetches
can be computed from the feeds given so far. All is marked before the step is told anything, because what it
is told may come back as an event at once. A call is answered when all its fetches have arrived; the call that
completes the run also waits for the end of the step. An error of the step ends every waiting call, or else
the next call, and then the run is over.

A run belongs to one thread, that of its event loop, or to the thread that has entered it: see
``thread_runs``. The module imports the rendezvous and no engine.
"""

from __future__ import annotations

import copy
import enum
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.errors import CancelledError, InvalidArgumentError, OpError
from actorsession.graph.held_arrays import kept_feed
from actorsession.plan.partial import CallShape, PartialParts
from actorsession.runtime.rendezvous import Arrival, Rendezvous

if TYPE_CHECKING:
    from actorsession.runtime.partial.manager import PartialRunMgr

__all__ = ["Call", "PartialStep", "Phase", "RunState", "no_such_run"]

_log = logging.getLogger("actorsession.runtime")


class Phase(enum.Enum):
    """The phase of a partial run."""

    OPEN = "open"
    # Everything is fed and requested; calls may still wait for values and for the end of the step.
    COMPLETE = "complete"
    # The step has ended with an error that no call has raised yet.
    FAILED = "failed"
    OVER = "over"


class Call:
    """One call of a partial run.

    Args:
        fetches: positions of the fetches.

    Attributes:
        fetches: the argument ``fetches``.
        values: values of the fetches, once ``done``.
        error: the error that ended the call, if any.
        done: whether it was answered.
        last: whether it completes the run and so waits for the end of the step.
        left: how many fetches have not arrived, plus one while its feeds are being sent.
        on_done: called once when the call is done.
    """

    __slots__ = ("done", "error", "fetches", "last", "left", "on_done", "values")

    def __init__(self, fetches: Sequence[int]) -> None:
        self.fetches = fetches
        self.values: list[Any] = [None] * len(fetches)
        self.error: OpError | None = None
        self.done = False
        self.last = False
        self.left = len(fetches) + 1
        self.on_done: Callable[[], None] | None = None

    def result(self) -> list[Any]:
        """Return the values of a call that is done.

        Raises:
            OpError: the error that ended it.
        """
        if self.error is not None:
            raise self.error
        return self.values


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

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values, as pairs of rendezvous key and value; what they make ready may run in this call."""

    def limit(self, deadline: Deadline) -> None:
        """Limit what runs in the calls of ``feed`` from now on, as far as nothing else does."""


S = TypeVar("S", bound=PartialStep)


class RunState(ABC, Generic[S]):
    """The state of one partial run.

    Args:
        handle: handle of the run.
        plan: the possible feeds and fetches, the feeds that each fetch needs, and the rendezvous keys.
        step: the step, not started; owned by the run from now on.
        runs: those of the session; told when the run is over.
        now: the time, in seconds of any clock.

    Attributes:
        handle: the argument ``handle``.
        step: the argument ``step``.
        phase: the phase.
        last_use: when a call was made last, or the run was set up.
        calls: how many calls were made so far.
    """

    __slots__ = (
        "_all_fed",
        "_all_fetched",
        "_begun",
        "_calls",
        "_ended",
        "_error",
        "_fed",
        "_fetched",
        "_made",
        "_plan",
        "_runs",
        "calls",
        "handle",
        "last_use",
        "phase",
        "step",
    )

    shares_memory: ClassVar[bool] = False
    """Whether arrays of the caller enter the step, and arrays of the step leave it, as they are: those that the
    other side could change are copied then."""

    def __init__(self, handle: str, plan: PartialParts, step: S, runs: PartialRunMgr[Any], now: float) -> None:
        signature = plan.signature
        self.handle = handle
        self.step = step
        self.phase = Phase.OPEN if signature.feeds or signature.fetches else Phase.COMPLETE
        self.last_use = self._begun = now
        self.calls = 0
        self._made: list[tuple[float, int, int]] = []  # of each call its time, and its feeds and fetches as bits
        self._plan = plan
        self._runs = runs
        self._fed = self._fetched = 0  # bits by position
        self._all_fed = (1 << len(signature.feeds)) - 1
        self._all_fetched = (1 << len(signature.fetches)) - 1
        self._calls: list[Call] = []  # those not answered
        self._ended = False  # the step
        self._error: OpError | None = None

    # -- what it holds -------------------------------------------------------------------------

    @property
    def pending_inputs(self) -> tuple[str, ...]:
        """The feeds that were not given yet."""
        return _unmarked(self._plan.signature.feeds, self._fed)

    @property
    def pending_outputs(self) -> tuple[str, ...]:
        """The fetches that were not requested yet."""
        return _unmarked(self._plan.signature.fetches, self._fetched)

    @property
    def given(self) -> dict[str, float]:
        """The feeds that were given, each with the seconds from the set-up of the run to its call."""
        feeds = self._plan.signature.feeds
        return {name: when - self._begun for when, fed, _ in [*self._made] for name in _marked(feeds, fed)}

    @property
    def requested(self) -> dict[str, float]:
        """The fetches that were requested, likewise."""
        fetches = self._plan.signature.fetches
        return {name: when - self._begun for when, _, fetched in [*self._made] for name in _marked(fetches, fetched)}

    @property
    def waiting(self) -> int:
        """How many calls wait for an answer."""
        return len(self._calls)

    def is_idle(self, now: float, limit: float) -> bool:
        """Return whether no call waits and none was made for ``limit`` seconds."""
        return not self._calls and self.phase is not Phase.OVER and now - self.last_use >= limit

    # -- events --------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all partitions without any feed; a plan that cannot succeed fails the first call."""
        if self._plan.failure is None:
            self._start_step()
            return
        # A copy for each run: an exception that was raised keeps the frames that raised it alive.
        failure = copy.copy(self._plan.failure)
        self._end_step(failure)
        self.ended(failure)

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
            InvalidArgumentError: for a run that is over, or an invalid call, which has changed nothing.
        """
        plan, step = self._plan, self.step
        shape = plan.shapes.get((feeds, fetches))
        if shape is None:
            shape = plan.shape(feeds, fetches)
        if (
            shape.unknown
            or shape.fed & self._fed
            or shape.fetched & self._fetched
            or shape.needs & ~(self._fed | shape.fed)
            or self.phase is Phase.OVER
        ):
            raise self._refusal(shape)
        self.last_use = now
        self.calls += 1
        self._made.append((now, shape.fed, shape.fetched))
        call = Call(shape.fetches)
        if self.phase is Phase.FAILED:
            assert self._error is not None
            self.phase = Phase.OVER
            self._end_calls([call], self._error)
            return call
        self._fed |= shape.fed
        self._fetched |= shape.fetched
        if self._fed == self._all_fed and self._fetched == self._all_fetched:
            self.phase = Phase.COMPLETE
            call.last = True
        self._calls.append(call)
        # Receivers first: a value with a receiver need not be kept.
        for index, position in enumerate(shape.fetches):
            step.rendezvous.recv_async(plan.fetch_keys[position], partial(self._arrived, call, index, position))
        if shape.feeds:
            sent = []
            for position, value in zip(shape.feeds, values, strict=True):
                if self.shares_memory and isinstance(value, np.ndarray):
                    value = kept_feed(value)
                for key in plan.feed_keys[position]:
                    sent.append((key, value))  # noqa: PERF401 - the frame of a comprehension takes as long
            if deadline.at is None:
                step.feed(sent)
            else:
                step.limit(deadline)
                step.feed(sent)
                step.limit(NEVER)
        call.left -= 1
        if not call.left:
            if call.last or call.done or self._ended:
                self._answer(call)
            else:  # most calls: what _answer() does, without a call
                self._calls.remove(call)
                call.done = True
        return call

    def deliver(self, call: Call) -> list[Any]:
        """Return the values of an answered call; they count as received by the caller.

        Raises:
            OpError: the error with which the call ended.
        """
        if call.error is not None:
            raise call.error
        self.step.handed_out.update(call.fetches)
        return call.values

    def ended(self, error: OpError | None) -> None:
        """Handle the end of the step; without an error all its segments have run."""
        self._ended = True
        if self.phase is Phase.OVER:
            return
        waiting = self._calls
        if error is None:
            for call in [*waiting]:
                if not call.left:
                    self._answer(call)
        elif waiting:
            self.phase, self._calls = Phase.OVER, []
            self._end_calls(waiting, error)
        else:
            self.phase, self._error = Phase.FAILED, error

    def abort(self, error: OpError) -> None:
        """Abort the run, because of its caller, a time limit or the end of the session.

        Of a run that is over, put back what it has taken and not delivered.
        """
        self._abort(error)

    def abort_if_idle(self, now: float, limit: float) -> None:
        """Abort the run if no call waits and none was made for ``limit`` seconds."""
        if self.is_idle(now, limit):
            what = f"partial run {self.handle!r} was idle for {limit:g} s"
            _log.info("%s and is aborted", what)
            self._abort(CancelledError(what))

    # -- the step, in derived classes ----------------------------------------------------------

    @abstractmethod
    def _start_step(self) -> None:
        """Start all partitions without feeds; ``ended`` hears when all have ended, and of the first error."""

    @abstractmethod
    def _end_step(self, error: OpError) -> None:
        """End the step if it has not ended, and drop what is in its rendezvous; may be called again."""

    @abstractmethod
    def _roll_back(self, error: OpError) -> None:
        """Put back what a step that has ended took out of queues and the like and did not deliver."""

    @abstractmethod
    def _release(self) -> None:
        """Release the step; called once, when the run is over."""

    # -- inside --------------------------------------------------------------------------------

    def _abort(self, error: OpError) -> None:
        if self.phase is not Phase.OVER:
            self.phase = Phase.OVER
            waiting, self._calls = self._calls, []
            self._end_step(error)
            self._end_calls(waiting, error)
        self._roll_back(error)

    def _arrived(self, call: Call, index: int, position: int, outcome: Arrival | OpError) -> None:
        """Take what has arrived for a fetch of a call: the fetch at a position, and at an index among those."""
        if isinstance(outcome, OpError):
            return  # the end of the step reports it to every waiting call
        if outcome.dead:
            name = self._plan.signature.fetches[position]
            text = f"the fetched tensor {name!r} is on a way that was not taken"
            self._abort(InvalidArgumentError(text))
            return
        value = outcome.value
        if self.shares_memory and isinstance(value, np.ndarray):
            owned = self._plan.owned[position]
            value = value[()] if not value.ndim else value if owned else value.copy()
        call.values[index] = value
        call.left -= 1
        if not call.left:
            self._answer(call)

    def _answer(self, call: Call) -> None:
        """Answer a call that has all its values, unless it waits for the end of the step, or was ended.

        The last answer after the end of the step ends the run.
        """
        if (call.last and not self._ended) or call not in self._calls:
            return
        self._calls.remove(call)
        over = self._ended and self.phase is Phase.COMPLETE and not self._calls
        if over:
            self.phase = Phase.OVER
        call.done = True
        if call.on_done is not None:
            call.on_done()
        if over:
            self._release()
            self._runs.delete(self)

    def _end_calls(self, calls: Iterable[Call], error: OpError) -> None:
        """End calls of a run that is over with an error, and drop the run."""
        for call in calls:
            call.error, call.done = error, True
            if call.on_done is not None:
                call.on_done()
        self._release()
        self._runs.delete(self)

    def _refusal(self, shape: CallShape) -> InvalidArgumentError:
        """Return what is wrong with a call."""
        signature = self._plan.signature
        if self.phase is Phase.OVER:
            return no_such_run(self.handle)
        if shape.unknown_feeds:
            return InvalidArgumentError(
                f"Feeds of {self.handle!r} are {', '.join(signature.feeds) or 'none'}; the feed "
                f"{shape.unknown_feeds[0]} was not specified in partial_run_setup."
            )
        for i in shape.feeds:
            if self._fed >> i & 1:
                return InvalidArgumentError(
                    f"Still to be fed in {self.handle!r}: {', '.join(self.pending_inputs) or 'none'}; "
                    f"the feed {signature.feeds[i]} has already been fed."
                )
        if shape.unknown_fetches:
            return InvalidArgumentError(
                f"Fetches of {self.handle!r} are {', '.join(signature.fetches) or 'none'}; the fetch "
                f"{shape.unknown_fetches[0]} was not specified in partial_run_setup."
            )
        for i in shape.fetches:
            if self._fetched >> i & 1:
                return InvalidArgumentError(
                    f"Still to be fetched in {self.handle!r}: {', '.join(self.pending_outputs) or 'none'}; "
                    f"the fetch {signature.fetches[i]} has already been fetched."
                )
        given, needs = self._fed | shape.fed, self._plan.needs
        early = next(i for i in shape.fetches if needs[i] & ~given)
        return InvalidArgumentError(
            f"Fetch {signature.fetches[early]} can't be computed from the feeds that have been fed "
            f"so far: it also needs {', '.join(_unmarked(signature.feeds, given | ~needs[early]))}"
        )

    def __repr__(self) -> str:
        return (
            f"<RunState {self.handle!r} {self.phase.value}, to feed {self.pending_inputs}, to fetch "
            f"{self.pending_outputs}, {len(self._calls)} waiting>"
        )


def _unmarked(names: Sequence[str], marks: int) -> tuple[str, ...]:
    return tuple([name for i, name in enumerate(names) if not marks >> i & 1])


def _marked(names: Sequence[str], marks: int) -> tuple[str, ...]:
    return tuple([name for i, name in enumerate(names) if marks >> i & 1])


def no_such_run(handle: str) -> InvalidArgumentError:
    """Return the error for a handle that is unknown or finished."""
    return InvalidArgumentError(
        f"Must run 'setup' before performing partial runs! No partial run of this session has the handle "
        f"{handle!r}: it was never set up, or is complete, failed, or given up"
    )

"""The state of a partial run: the feeds and fetches that are left, and the calls that wait.

``RunState`` is the bookkeeping: plain synchronous code, with events as input and instructions as output. The
``PartialRunDriver`` of a run, in ``driver``, carries out the instructions on its step.

A call is checked completely before anything is marked: first feeds, then fetches, then whether the fetches
can be computed from the feeds given so far. Its feeds are sent and its fetches received under the rendezvous
keys of the plan. It is answered when all its fetches have arrived; the call that completes the run also waits
for the end of the step. An error of the step ends every waiting call, or else the next call, and then the run
is over.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.plan.partial import CallShape, PartialParts

__all__ = [
    "Abort",
    "Answer",
    "Call",
    "Delete",
    "Instruction",
    "Phase",
    "Receive",
    "Refuse",
    "RunState",
    "Send",
    "no_such_run",
]


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

    Attributes:
        feeds: pairs of position and value.
        fetches: positions of the fetches.
        values: values of the fetches, once ``done``.
        error: the error that ended the call, if any.
        done: whether it was answered.
        last: whether it completes the run and so waits for the end of the step.
        on_done: called once when the call is done.
    """

    __slots__ = ("done", "error", "feeds", "fetches", "last", "left", "on_done", "values")

    def __init__(self, feeds: Sequence[tuple[int, Any]], fetches: Sequence[int]) -> None:
        self.feeds = feeds
        self.fetches = fetches
        self.values: list[Any] = [None] * len(fetches)
        self.error: OpError | None = None
        self.done = False
        self.last = False
        self.on_done: Callable[[], None] | None = None
        self.left = len(fetches) + 1  # arrivals to wait for, plus one for sending the feeds

    def end(self, error: OpError | None) -> None:
        """Answer the call, with its values or an error."""
        self.error = error
        self.done = True
        if self.on_done is not None:
            self.on_done()

    def result(self) -> list[Any]:
        """Return the values of a call that is done.

        Raises:
            OpError: the error that ended it.
        """
        if self.error is not None:
            raise self.error
        return self.values


class Receive(NamedTuple):
    """Receive the fetches of a call."""

    call: Call


class Send(NamedTuple):
    """Send the feeds of a call, then report ``sent``."""

    call: Call


class Answer(NamedTuple):
    """Answer a call with its values."""

    call: Call


class Refuse(NamedTuple):
    """End a call with an error."""

    call: Call
    error: OpError


class Abort(NamedTuple):
    """End the step and drop what is in its rendezvous."""

    error: OpError


class Delete(NamedTuple):
    """Drop the run; no further instructions follow."""


_new = tuple.__new__
_DELETE = Delete()
Instruction: TypeAlias = Receive | Send | Answer | Refuse | Abort | Delete


class RunState:
    """The bookkeeping of one partial run.

    Args:
        handle: handle of the run.
        plan: the possible feeds and fetches, and the feeds that each fetch needs.
        now: the time, in seconds of any clock.
    """

    __slots__ = (
        "_all_fed",
        "_all_fetched",
        "_calls",
        "_ended",
        "_error",
        "_fed",
        "_fetched",
        "_plan",
        "calls",
        "handle",
        "last_use",
        "phase",
    )

    def __init__(self, handle: str, plan: PartialParts, now: float) -> None:
        self.handle = handle
        self.phase = Phase.OPEN
        self.last_use = now
        self.calls = 0  # made so far
        self._plan = plan
        self._fed = self._fetched = 0
        self._all_fed = (1 << len(plan.signature.feeds)) - 1
        self._all_fetched = (1 << len(plan.signature.fetches)) - 1
        self._calls: list[Call] = []  # the waiting calls
        self._ended = False
        self._error: OpError | None = None
        self._mark(0, 0)

    @property
    def pending_inputs(self) -> tuple[str, ...]:
        """The feeds that were not given yet."""
        return _unmarked(self._plan.signature.feeds, self._fed)

    @property
    def pending_outputs(self) -> tuple[str, ...]:
        """The fetches that were not requested yet."""
        return _unmarked(self._plan.signature.fetches, self._fetched)

    @property
    def waiting(self) -> int:
        """The number of calls that wait for an answer."""
        return len(self._calls)

    def is_idle(self, now: float, limit: float) -> bool:
        """Return whether no call waits and none was made for ``limit`` seconds."""
        return self.phase is not Phase.OVER and not self._calls and now - self.last_use >= limit

    # -- events --------------------------------------------------------------------------------

    def call(self, shape: CallShape, values: Sequence[Any], now: float) -> tuple[Call, list[Instruction]]:
        """Handle a call with feeds and fetches.

        Args:
            shape: the feeds and fetches, by position.
            values: values of the feeds, in the order of ``shape.feeds``.
            now: the time.

        Raises:
            InvalidArgumentError: if the run is over, a feed or fetch was not named at setup or was used
                before, or a fetch needs missing feeds; nothing has changed then.
        """
        if self.phase is Phase.OVER:
            raise no_such_run(self.handle)
        if (
            shape.unknown_feeds
            or shape.unknown_fetches
            or shape.fed & self._fed
            or shape.fetched & self._fetched
            or shape.needs & ~(self._fed | shape.fed)
        ):
            self._refuse(shape)
        self.last_use = now
        self.calls += 1
        call = Call(list(zip(shape.feeds, values, strict=True)), shape.fetches)
        if self.phase is Phase.FAILED:
            assert self._error is not None
            self.phase = Phase.OVER
            return call, [Refuse(call, self._error), _DELETE]
        self._mark(shape.fed, shape.fetched)
        call.last = self.phase is Phase.COMPLETE
        self._calls.append(call)
        # Receivers first: a value with a receiver need not be kept.
        send = _new(Send, (call,))  # without a call
        return call, [_new(Receive, (call,)), send] if call.fetches else [send]

    def sent(self, call: Call) -> list[Instruction]:
        """Handle that the feeds of a call were sent; the segments they made ready have run or are pooled."""
        return self._arrivals(call)

    def arrived(self, call: Call, index: int, value: Any) -> list[Instruction]:
        """Handle the arrival of a fetch of a call.

        Args:
            call: the call.
            index: index among its fetches.
            value: the value, owned by the caller from now on.
        """
        call.values[index] = value
        return self._arrivals(call)

    def ended(self, error: OpError | None) -> list[Instruction]:
        """Handle the end of the step; without an error all its segments have run."""
        self._ended = True
        if self.phase is Phase.OVER:
            return []
        if error is None:
            instructions: list[Instruction] = []
            for call in [*self._calls]:
                if not call.left:
                    instructions += self._answer(call)
            return instructions
        waiting, self._calls = self._calls, []
        if waiting:
            self.phase = Phase.OVER
            return [*[Refuse(call, error) for call in waiting], _DELETE]
        self.phase, self._error = Phase.FAILED, error
        return []

    def abort(self, error: OpError) -> list[Instruction]:
        """Handle an abort by the caller, the time limit, or the end of the session."""
        if self.phase is Phase.OVER:
            return []
        self.phase = Phase.OVER
        waiting, self._calls = self._calls, []
        return [Abort(error), *[Refuse(call, error) for call in waiting], _DELETE]

    # -- inside --------------------------------------------------------------------------------

    def _arrivals(self, call: Call) -> list[Instruction]:
        call.left -= 1
        if call.left or (call.last and not self._ended) or call not in self._calls:
            return []
        return self._answer(call)

    def _answer(self, call: Call) -> list[Instruction]:
        """Answer a call that has all its values; the last answer after the end of the step ends the run."""
        self._calls.remove(call)
        if self._ended and self.phase is Phase.COMPLETE and not self._calls:
            self.phase = Phase.OVER
            return [_new(Answer, (call,)), _DELETE]
        return [_new(Answer, (call,))]

    def _mark(self, fed: int, fetched: int) -> None:
        self._fed |= fed
        self._fetched |= fetched
        if self._fed == self._all_fed and self._fetched == self._all_fetched:
            self.phase = Phase.COMPLETE

    def _refuse(self, shape: CallShape) -> None:
        signature = self._plan.signature
        if shape.unknown_feeds:
            raise InvalidArgumentError(
                f"Feeds of {self.handle!r} are {', '.join(signature.feeds) or 'none'}; the feed "
                f"{shape.unknown_feeds[0]} was not specified in partial_run_setup."
            )
        for i in shape.feeds:
            if self._fed >> i & 1:
                raise InvalidArgumentError(
                    f"Still to be fed in {self.handle!r}: {', '.join(self.pending_inputs) or 'none'}; "
                    f"the feed {signature.feeds[i]} has already been fed."
                )
        if shape.unknown_fetches:
            raise InvalidArgumentError(
                f"Fetches of {self.handle!r} are {', '.join(signature.fetches) or 'none'}; the fetch "
                f"{shape.unknown_fetches[0]} was not specified in partial_run_setup."
            )
        for i in shape.fetches:
            if self._fetched >> i & 1:
                raise InvalidArgumentError(
                    f"Still to be fetched in {self.handle!r}: {', '.join(self.pending_outputs) or 'none'}; "
                    f"the fetch {signature.fetches[i]} has already been fetched."
                )
        self._refuse_early(shape)

    def _refuse_early(self, shape: CallShape) -> None:
        signature, given = self._plan.signature, self._fed | shape.fed
        for i in shape.fetches:
            missing = _unmarked(signature.feeds, given | ~self._plan.needs[i])
            if missing:
                raise InvalidArgumentError(
                    f"Fetch {signature.fetches[i]} can't be computed from the feeds that have been fed "
                    f"so far: it also needs {', '.join(missing)}"
                )

    def __repr__(self) -> str:
        return (
            f"<RunState {self.handle!r} {self.phase.value}, to feed {self.pending_inputs}, to fetch "
            f"{self.pending_outputs}, {len(self._calls)} waiting>"
        )


def _unmarked(names: Sequence[str], marks: int) -> tuple[str, ...]:
    return tuple([name for i, name in enumerate(names) if not marks >> i & 1])


def no_such_run(handle: str) -> InvalidArgumentError:
    """Return the error for a handle that is unknown or finished."""
    return InvalidArgumentError(
        f"Must run 'setup' before performing partial runs! No partial run of this session has the handle "
        f"{handle!r}: it was never set up, or is complete, failed, or given up"
    )

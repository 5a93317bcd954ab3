"""Plans that run as a single call, without a step, and the gates that end such calls.

A session has a ``Gate``, which is closed with the session; a run with a time limit has a ``TimedGate`` of
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import Deadline
from actorsession.errors import DeadlineExceededError, OpError
from actorsession.plan.codegen.segment_context import ControlFlowContext, PendingValues
from actorsession.runtime.engine.segment_engine import RAISED, locate_error
from actorsession.runtime.float_errors import FLOAT_ERRORS, IGNORED
from actorsession.runtime.interruptible import wait_for
from actorsession.runtime.watchdog import HOLD_LIMIT, watchdog

if TYPE_CHECKING:
    from actorsession.runtime.engine.executor import LoadedPartition

__all__ = ["Gate", "InlineRun", "TimedGate"]


class Gate(ControlFlowContext):
    """The open or closed state of a session: the context of generated code that has no step.

    Closing it from another thread ends such code between two nodes.

    Attributes:
        error: the error with which it was closed, if it was.
    """

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: OpError | None = None

    def check(self) -> None:
        """Raise if the gate was closed.

        Raises:
            OpError: the error with which the gate was closed.
        """
        if self.error is not None:
            raise type(self.error)(self.error.message)

    def wait_for(self, pending: PendingValues) -> Any:
        """See ``SegmentContext.wait_for``."""
        return wait_for(pending, self.check)

    def close(self, error: OpError) -> bool:
        """Close the gate; return whether it was open."""
        if self.error is not None:
            return False
        self.error = error
        return True


class TimedGate(Gate):
    """A session's gate for one run with a time limit, in the thread that runs it.

    Args:
        gate: the session's.
        deadline: the time limit of the run.
    """

    __slots__ = ("_deadline", "of_session")

    def __init__(self, gate: Gate, deadline: Deadline) -> None:
        super().__init__()
        self.of_session = gate
        self._deadline = deadline

    def check(self) -> None:
        """Raise if the session's gate was closed or the time limit is over.

        Raises:
            OpError: DeadlineExceededError, or the error with which the gate was closed.
        """
        self.of_session.check()
        if self._deadline.expired:
            raise DeadlineExceededError(f"the step exceeded {self._deadline.whose}")


class InlineRun:
    """A plan of one segment, run as one call of its generated function.

    Args:
        part: its only partition, of one segment that neither sends nor suspends.
    """

    __slots__ = ("_in_order", "_order", "_policy", "bound", "part", "places", "segment")

    def __init__(self, part: LoadedPartition) -> None:
        self.part = part
        self.bound = part.bound
        (self.segment,) = part.bound.segments
        self._policy = part.executor.policy
        compiled = part.bound.compiled
        position_of = dict(compiled.feeds)
        # The position in the feeds of each argument of the segment.
        self.places = tuple(position_of[slot] for slot in self.segment.segment.arguments)
        slot_order = list(self.segment.segment.results)
        self._order = tuple(slot_order.index(slot) for _, slot in compiled.fetches)
        # Most plans need no reordering of results; checking once here saves it in every run.
        self._in_order = self._order == tuple(range(len(slot_order)))

    def is_expensive(self, feeds: Sequence[Any]) -> bool:
        """Return whether the segment, with these feeds, should not run on an event loop."""
        segment = self.segment
        return not segment.is_short and self._policy.is_expensive(segment, feeds, self.places)

    def run(self, feeds: Sequence[Any], gate: Gate) -> Sequence[Any]:
        """Run the step in the calling thread.

        Args:
            feeds: values in the signature's order.
            gate: ends the run between two nodes when it is closed.

        Returns:
            The fetched values in the signature's order.

        Raises:
            OpError: the error, with node and source line.
        """
        if gate.error is not None or type(gate) is not Gate:  # without a call where there is nothing to check
            gate.check()
        segment, policy = self.segment, self._policy
        now = policy.now
        begin = now()
        before = FLOAT_ERRORS.set(IGNORED)
        try:
            results = segment.function(gate, *map(feeds.__getitem__, self.places))
        except RAISED as exc:
            error = locate_error(exc, self.bound, segment)
            if error is exc:
                raise
            raise error from exc
        finally:
            FLOAT_ERRORS.reset(before)
        seconds = now() - begin
        if seconds > HOLD_LIMIT:
            watchdog().ran_inline(self.bound, segment, seconds)
        if segment.is_short and segment.seconds <= seconds <= policy.offload_above:
            # Most runs: what record() does with one that says nothing new, without a call.
            policy.runs += 1
            policy.seconds += seconds
        else:
            policy.record(segment, seconds, feeds, self.places)
        return results if self._in_order else [results[i] for i in self._order]

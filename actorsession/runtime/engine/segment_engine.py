"""The segment engine: what has arrived for a partition, which segments become ready, and running them.

Generated code gets a ``SegmentEngine`` as its context, or a ``PooledSegment`` in a pool thread, which calls ``execute``
as well. Everything else belongs to the thread of the step, but for what ``Engine`` excepts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorsession.errors import OpError, UnimplementedError
from actorsession.graph.completion import Completion
from actorsession.plan.codegen.segment_context import PendingValues, SegmentContext, SegmentFunction
from actorsession.runtime.engine.engine import Engine, OffloadedWork
from actorsession.runtime.engine.node_errors import node_error
from actorsession.runtime.engine.suspended_nodes import SuspendedNodes
from actorsession.runtime.engine.takes import Taken
from actorsession.runtime.interruptible import cancel_pending
from actorsession.runtime.step_stats_collector import Recorder
from actorsession.runtime.watchdog import HOLD_LIMIT, watchdog

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
    from actorsession.runtime.engine.executor import Executor
    from actorsession.runtime.engine.step import Step

__all__ = ["RAISED", "PooledSegment", "SegmentEngine", "locate_error"]

RAISED = (Exception, asyncio.CancelledError)
"""What a kernel may raise: the error of a cancelled task of asyncio is one of the kernel, too."""

_new = tuple.__new__


class SegmentEngine(Engine):
    """One partition of segments in one step.

    Args:
        executor: the executor of the partition's device.
        bound: the partition.
        step: the step.
        feeds: values of all feeds of the signature, in its order; borrowed.
    """

    __slots__ = ("_begun_at", "_is_observed", "_policy", "_ran", "_readers", "_scheduled")

    waits: list[int]

    def __init__(self, executor: Executor, bound: BoundPartition, step: Step, feeds: Sequence[Any]) -> None:
        compiled = bound.compiled
        self.executor = executor
        self.bound = bound
        self.step = step
        self._policy = executor.policy
        self._is_observed = step.collector is not None or step.debug is not None
        self.slots: list[Any] = [None] * compiled.slots
        for slot, position in compiled.feeds:
            self.slots[slot] = feeds[position]
        self.waits = bound.waits.copy()
        self._readers = list(compiled.readers)
        self.remaining = len(bound.segments) + len(compiled.suspensions)
        self._suspended: SuspendedNodes | None = None  # made with the first node
        # Numbers of the segments that have run and, as -1 minus their number, of nodes that were suspended;
        # tracked only where values are taken.
        self._ran: set[int] | None = set() if compiled.takes else None
        # For a trace: when each segment became ready, and when each suspended node began.
        self._scheduled: list[int] = []
        self._begun_at: dict[int, int] = {}
        if step.collector is not None:
            self._scheduled = [step.collector.nanos()] * len(bound.segments)
        if step.error is None:  # as in _advance()
            for index in bound.initial:
                step.queue.append((self, index))
        if bound.slot_of:
            step.rendezvous.expect(bound.slot_of, self)
        if not self.waits:
            step.unfinished -= 1

    # -- Engine --------------------------------------------------------------------------------

    def run(self, index: int) -> None:
        """Run a segment, or offload it if it is expensive."""
        step, segment = self.step, self.bound.segments[index]
        if step.pool is not None and (
            # Debug sinks may write files or be user functions.
            step.debug is not None or (not segment.is_short and self._is_expensive(segment))
        ):
            # A segment that was never measured may be short, so it need not queue behind long ones.
            first = None if segment.seconds else segment
            step.offload(PooledSegment(self, index), blocks=segment.blocks, first=first)
            return
        if self._is_observed:
            results, error = self.execute(index, self)
            if error is not None:
                step.fail(error)
                return
        else:  # what execute() does, with a call less for each segment of each step
            slots, places, policy = self.slots, segment.places, self._policy
            now = policy.now
            begin = now()
            try:
                results = segment.function(self, *map(slots.__getitem__, places))
            except RAISED as exc:
                step.fail(step.abort_error or locate_error(exc, self.bound, segment))
                return
            seconds = now() - begin
            if seconds > HOLD_LIMIT:
                watchdog().ran_inline(self.bound, segment, seconds)
            if segment.is_short and segment.seconds <= seconds <= policy.offload_above:
                # Most runs: what record() does with one that says nothing new, without a call.
                policy.runs += 1
                policy.seconds += seconds
            else:
                policy.record(segment, seconds, slots, places)
        if step.error is None:
            self.store(index, results)

    def _is_expensive(self, segment: BoundSegment) -> bool:
        return self._policy.is_expensive(segment, self.slots, segment.places)

    def delivered(self, number: int, completion: Completion) -> None:
        """See ``Engine.delivered``."""
        step, bound, error = self.step, self.bound, completion.error
        suspension, values = bound.compiled.suspensions[number], completion.values
        if error is None:
            ran = self._ran
            if ran is not None:
                uses = bound.compiled.takes.get(number)
                if uses is not None:
                    stored_by = uses.stored_by
                    step.takes.add(_new(Taken, (completion, uses.uses, lambda: not stored_by.isdisjoint(ran))))
                ran.add(-1 - number)
            try:
                values = (values,) if len(suspension.slots) == 1 else values or ()
                for slot, value in zip(suspension.slots, values, strict=True):
                    self.slots[slot] = value
            except Exception as exc:  # such as for another number of values than the node has outputs
                error = exc
        if error is not None:
            step.fail(self.located(number, error))
            return
        if step.collector is not None:
            step.collector.add_suspended(bound, suspension.node, self._begun_at.pop(number), values)
        woken = bound.woken_by[suspension.arrival]
        if woken:
            self._advance(woken)
        self.remaining -= 1
        if not self.remaining:
            step.unfinished -= 1

    def located(self, number: int, exc: BaseException) -> OpError:
        """See ``Engine.located``."""
        return node_error(exc, self.bound, self.bound.compiled.suspensions[number].node)

    # -- segments ------------------------------------------------------------------------------

    def received(self, key: str, value: Any, dead: bool) -> None:
        """Store a value of another device, and queue the segments that waited for it; see ``Receiver``."""
        step, bound = self.step, self.bound
        if dead:
            step.fail(UnimplementedError(f"a dead tensor arrived under {key!r}"))
            return
        if step.collector is not None:
            step.collector.add_transfer("recv", key, bound.device, value)
        slot = bound.slot_of[key]
        self.slots[slot] = value
        waits = self.waits
        for index in bound.woken_by[slot]:  # what _advance() does, without a call
            waits[index] = left = waits[index] - 1
            if not left:
                if step.collector is not None:
                    self._scheduled[index] = step.collector.nanos()
                if step.error is None:
                    step.queue.append((self, index))

    def aborted(self, error: OpError) -> None:
        """Fail the step, because the values that it waits for will not come; see ``Receiver``."""
        self.step.fail(error)

    def _advance(self, waiting: Sequence[int]) -> None:
        """Queue those of some segments, which have waited for what has come, that wait for nothing else."""
        waits, step = self.waits, self.step
        for index in waiting:
            waits[index] = left = waits[index] - 1
            if not left:
                if step.collector is not None:
                    self._scheduled[index] = step.collector.nanos()
                if step.error is None:
                    step.queue.append((self, index))

    def execute(self, index: int, context: SegmentContext) -> tuple[Sequence[Any], OpError | None]:
        """Run a segment in the calling thread; return errors of kernels and never raise them."""
        segment = self.bound.segments[index]
        slots, places = self.slots, segment.places
        function, called_with, recorder = segment.function, context, None
        if self._is_observed:
            function, called_with, recorder = self._observed(index, context)
        now = self._policy.now
        begin = now()
        try:
            results = function(called_with, *map(slots.__getitem__, places))
        except RAISED as exc:
            return (), self.step.abort_error or locate_error(exc, self.bound, segment)
        seconds = now() - begin
        if recorder is not None:  # recording is no cost of later runs
            seconds = recorder.nanos * 1e-9
        if seconds > HOLD_LIMIT:
            if context is self:
                watchdog().ran_inline(self.bound, segment, seconds)
            else:
                watchdog().ran_in_pool(self.bound, segment, begin, begin + seconds)
        self._policy.record(segment, seconds, slots, places)
        return results, None

    def _observed(self, index: int, context: SegmentContext) -> tuple[SegmentFunction, SegmentContext, Recorder | None]:
        """Return the function, the context and the recorder of a segment that is traced or debugged."""
        step, recorder = self.step, None
        function = self.bound.segments[index].function
        if step.collector is not None:
            function = self.bound.traced(index)
            scheduled = self._scheduled[index]
            context = recorder = Recorder(context, step.collector, self.bound, scheduled)
        if step.debug is not None:
            function = step.debug.shown(function)
        return function, context, recorder

    def store(self, index: int, results: Sequence[Any]) -> None:
        """Store the results of a segment, and queue the segments that waited for it."""
        bound, slots, readers = self.bound, self.slots, self._readers
        segment = bound.segments[index]
        if self._ran is not None:
            self._ran.add(index)
        for slot in segment.places:
            readers[slot] = left = readers[slot] - 1
            if not left:
                slots[slot] = None
        if results:
            for slot, value in zip(segment.segment.results, results, strict=True):
                slots[slot] = value
        followers = bound.followers[index]
        if followers:
            self._advance(followers)
        self.remaining -= 1
        if not self.remaining:
            self.step.unfinished -= 1

    # -- SegmentContext ------------------------------------------------------------------------

    def send(self, number: int, value: Any) -> None:
        """See ``SegmentContext.send``."""
        step, key = self.step, self.bound.compiled.sends[number]
        if step.collector is not None:
            step.collector.add_transfer("send", key, self.bound.device, value)
        step.rendezvous.send(key, value)

    def begin(self, number: int, pending: PendingValues) -> None:
        """See ``SegmentContext.begin``; the node is cancelled if the step fails."""
        if self.step.collector is not None:
            self._begun_at[number] = self.step.collector.nanos()
        if isinstance(pending, Completion) and pending.done and self.step.error is None:
            self.delivered(number, pending)
            return
        if self._suspended is None:
            self._suspended = SuspendedNodes()
        self._suspended.add(self, number, pending)

    def note(self, number: int, start: Any, value: Any) -> None:
        """Do nothing: traced code gets a ``Recorder``."""


class PooledSegment(OffloadedWork, SegmentContext):
    """A segment that runs in the pool; it holds sends and suspended nodes back for the step's thread.

    Args:
        engine: the engine of its partition.
        index: its number there.
    """

    __slots__ = ("_pending", "_results", "_sent")

    engine: SegmentEngine

    def __init__(self, engine: SegmentEngine, index: int) -> None:
        super().__init__(engine, index)
        self._results: Sequence[Any] = ()
        self._sent: list[tuple[int, Any]] = []
        self._pending: list[tuple[int, PendingValues]] = []

    # -- OffloadedWork -------------------------------------------------------------------------

    def execute(self) -> OpError | None:
        """See ``OffloadedWork.execute``."""
        self._results, error = self.engine.execute(self.index, self)
        return error

    def complete(self) -> None:
        """Send and register what was held back, then store the results."""
        for number, value in self._sent:
            self.engine.send(number, value)
        for number, pending in self._pending:
            self.engine.begin(number, pending)
        if self.engine.step.error is None:
            self.engine.store(self.index, self._results)

    def discard(self) -> None:
        """Cancel the nodes that were held back."""
        for _, pending in self._pending:
            cancel_pending(pending)

    # -- SegmentContext ------------------------------------------------------------------------

    def send(self, number: int, value: Any) -> None:
        """Hold a tensor back, to be sent when the segment has returned."""
        self._sent.append((number, value))

    def begin(self, number: int, pending: PendingValues) -> None:
        """Hold back a node that suspends, to be registered when the segment has returned."""
        self._pending.append((number, pending))

    def wait_for(self, pending: PendingValues) -> Any:
        """See ``SegmentContext.wait_for``; waits in the pool thread."""
        return self.engine.wait_for(pending)

    def check(self) -> None:
        """See ``SegmentContext.check``."""
        self.engine.check()

    def note(self, number: int, start: Any, value: Any) -> None:
        """Do nothing: traced code gets a ``Recorder``."""


def locate_error(exc: BaseException, bound: BoundPartition, segment: BoundSegment) -> OpError:
    """Return the error of a kernel as an ``OpError`` that names the node and the user's line."""
    names = (segment.filename, segment.traced_filename)
    frame = exc.__traceback__
    while frame is not None:
        filename = frame.tb_frame.f_code.co_filename
        if filename in names:
            number = segment.node_at(filename, frame.tb_lineno)
            if number is not None:  # a line without a node calls a piece of a long function; see ``outline``
                return node_error(exc, bound, number, frame.tb_frame.f_locals)
        frame = frame.tb_next
    return node_error(exc, bound, None)

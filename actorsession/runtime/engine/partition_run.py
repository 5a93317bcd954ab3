"""One partition in one step: what has arrived, which segments become ready, and running them.

Generated code gets a ``PartitionRun`` as ``C``, or a ``PooledSegmentContext`` in a pool thread. Owned by a
``Step``, which decides when a segment runs. All but ``execute`` and ``PooledSegmentContext`` belongs to the
step's thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.errors import CancelledError, OpError, UnimplementedError, from_exception
from actorsession.graph.take import Take
from actorsession.runtime.engine.takes import Taken
from actorsession.runtime.interruptible import Begun, drop, wait_for
from actorsession.runtime.offload import took
from actorsession.runtime.rendezvous import Arrival
from actorsession.runtime.step_stats_collector import Recorder
from actorsession.runtime.watchdog import HELD, WATCHDOG

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
    from actorsession.runtime.engine.step import Step

__all__ = ["PartitionRun", "PooledSegmentContext", "locate_error"]


class PartitionRun:
    """One partition in one step; passed to generated code as ``C``."""

    __slots__ = (
        "begun", "left", "linked", "ran", "readers", "scheduled", "slots", "step", "waits",
    )  # fmt: skip

    def __init__(self, step: Step, linked: BoundPartition, feeds: Sequence[Any]) -> None:
        compiled = linked.compiled
        self.step = step
        self.linked = linked
        self.slots: list[Any] = [None] * compiled.slots
        for slot, position in compiled.feeds:
            self.slots[slot] = feeds[position]
        self.waits = list(linked.waits)
        self.readers = list(compiled.readers)
        self.left = len(linked.segments) + len(compiled.suspensions)
        # Numbers of the segments that have run and, as -1 minus their number, of nodes that were suspended;
        # tracked only where values are taken.
        self.ran: set[int] | None = set() if compiled.takes else None
        # The time at which each segment became ready, for a trace.
        self.scheduled: list[int] | None = None
        # The time at which each node that suspends was begun, for a trace.
        self.begun: dict[int, int] = {}
        if step.collector is not None:
            self.scheduled = [0] * len(linked.segments)

    def start(self) -> None:
        """Queue the segments that can run at once, and request the values that must arrive."""
        for index, count in enumerate(self.waits):
            if not count:
                self.step.ready(self, index)
        for slot, key in self.linked.compiled.recvs:
            self.step.rendezvous.recv_async(key, partial(self._arrived, slot, key))
        if not self.linked.segments:
            self.step.ended()

    def _arrived(self, slot: int, key: str, outcome: Arrival | OpError) -> None:
        if isinstance(outcome, OpError):
            self.step.fail(outcome)
            return
        if outcome.dead:
            self.step.fail(UnimplementedError(f"a dead tensor arrived under {key!r}"))
            return
        if self.step.collector is not None:
            self.step.collector.add_transfer("recv", key, self.linked.device, outcome.value)
        self.slots[slot] = outcome.value
        for index in self.linked.woken_by[slot]:
            self._count_down(index)
        self.step.drain()

    def _count_down(self, index: int) -> None:
        self.waits[index] -= 1
        if not self.waits[index]:
            self.step.ready(self, index)

    def execute(
        self, index: int, context: PooledSegmentContext | None = None
    ) -> tuple[Sequence[Any], OpError | None]:
        """Run a segment in the calling thread; return errors of kernels and never raise them."""
        linked = self.linked.segments[index]
        slots = self.slots
        recorder: Recorder | None = None
        function = linked.function
        called_with: Any = context or self
        if self.step.collector is not None:
            recorder = self._recorder(index, called_with)
            function, called_with = self.linked.traced(index), recorder
        if self.step.debug is not None:
            function = self.step.debug.shown(function)
        begin = time.perf_counter()
        try:
            results = function(called_with, *[slots[i] for i in linked.segment.arguments])
        except Exception as exc:
            if self.step.given_up:
                return (), self.step.error or self.step._given_up
            return (), locate_error(exc, self.linked, linked)
        # Traced, a segment counts as long as its nodes: recording is no cost of later runs.
        seconds = recorder.nanos * 1e-9 if recorder else time.perf_counter() - begin
        if seconds > HELD:
            if context is None:
                WATCHDOG.ran_inline(self.linked, linked, seconds)
            else:
                WATCHDOG.ran_in_pool(self.linked, linked, begin, begin + seconds)
        took(linked, seconds, slots, linked.segment.arguments)
        return results, None

    def _recorder(self, index: int, context: PooledSegmentContext | PartitionRun) -> Recorder:
        assert self.step.collector is not None
        assert self.scheduled is not None
        return Recorder(context, self.step.collector, self.linked, self.scheduled[index])

    def finished(self, index: int, results: Sequence[Any]) -> None:
        """Store a segment's results and queue the segments that waited for it."""
        segment = self.linked.segments[index].segment
        if self.ran is not None:
            self.ran.add(index)
        for slot in segment.arguments:
            self.readers[slot] -= 1
            if not self.readers[slot]:
                self.slots[slot] = None
        for slot, value in zip(segment.results, results, strict=True):
            self.slots[slot] = value
        for follower in self.linked.followers[index]:
            self._count_down(follower)
        self._one_less()

    def _one_less(self) -> None:
        self.left -= 1
        if not self.left:
            for position, slot in self.linked.compiled.fetches:
                self.step.outputs[position] = self.slots[slot]
            self.step.ended()

    def delivered(self, number: int, values: Any) -> None:
        """Store the values of a node that was suspended, and queue the segments that waited for them.

        Args:
            number: the number of the node among those that suspend.
            values: the values as a kernel returns them.
        """
        suspension = self.linked.compiled.suspensions[number]
        if self.ran is not None:
            self.ran.add(-1 - number)
        several = (values,) if len(suspension.slots) == 1 else values or ()
        for slot, value in zip(suspension.slots, several, strict=True):
            self.slots[slot] = value
        if self.step.collector is not None:
            begin = self.begun.pop(number)
            self.step.collector.add_suspended(self.linked, suspension.node, begin, several)
        for index in self.linked.woken_by[suspension.arrival]:
            self._count_down(index)
        self._one_less()

    def took(self, number: int, take: Take) -> None:
        """Record what a suspended node has taken, before ``delivered`` is called for it."""
        plan, ran = self.linked.compiled.takes.get(number), self.ran
        if plan is not None and ran is not None:
            stored_by = plan.stored_by
            self.step.takes.add(Taken(take, plan.uses, lambda: not stored_by.isdisjoint(ran)))

    def took_inside(self, begun: Begun) -> None:
        """Record what a node in a loop or branch has taken, if anything; callable from any thread."""
        uses = self.linked.compiled.taken_inside
        if isinstance(begun, Take) and uses is not None:
            # It is not tracked which iteration of the loop has stored the value.
            self.step.takes.add(Taken(begun, uses, lambda: uses.stored))

    def located(self, number: int, exc: BaseException) -> OpError:
        """Return the error of a node that was suspended, as an ``OpError`` that names the node."""
        node = self.linked.compiled.nodes[self.linked.compiled.suspensions[number].node]
        error = from_exception(exc)
        error.locate(node=node.name, device=self.linked.device, source=node.source)
        return error

    # -- called by generated code ---------------------------------------------------------------

    def send(self, number: int, value: Any) -> None:
        """Send a tensor under the partition's ``number``-th key."""
        key = self.linked.compiled.sends[number]
        if self.step.collector is not None:
            self.step.collector.add_transfer("send", key, self.linked.device, value)
        self.step.rendezvous.send(key, value)

    def begin(self, number: int, begun: Begun) -> None:
        """Register a node that suspends; the step continues without its values until they arrive."""
        if self.step.collector is not None:
            self.begun[number] = time.perf_counter_ns()
        self.step.suspend(self, number, begun)

    def wait_for(self, begun: Begun) -> Any:
        """Wait for a node that suspends inside a loop or branch, and return its values."""
        values = wait_for(begun, self.check, self.step.loop)
        self.took_inside(begun)
        return values

    def check(self) -> None:
        """Raise if the step has been cancelled, so that the segment ends."""
        if self.step.given_up:
            raise CancelledError("the step was given up", derived=True)


class PooledSegmentContext:
    """The context ``C`` of generated code in a pool thread; it holds sends back for the loop's thread.

    Args:
        run: the partition.
        index: number of the segment that runs in the pool.

    Attributes:
        since: when it was handed to the pool, by the monotonic clock.
    """

    __slots__ = ("_begun", "_held", "index", "run", "since")

    def __init__(self, run: PartitionRun, index: int) -> None:
        self.run = run
        self.index = index
        self.since = time.monotonic()
        self._held: list[tuple[int, Any]] = []
        self._begun: list[tuple[int, Begun]] = []

    @property
    def node(self) -> int | None:
        """The number of the node, if a single node runs in the pool; ``None`` for a segment."""
        return None

    @property
    def runs(self) -> bool:
        """Whether it is registered as running; for a segment the stacks of the threads are searched."""
        return False

    def send(self, number: int, value: Any) -> None:
        """Hold a tensor back, to be sent when the segment has returned."""
        self._held.append((number, value))

    def begin(self, number: int, begun: Begun) -> None:
        """Hold back a node that suspends, to be registered when the segment has returned."""
        self._begun.append((number, begun))

    def wait_for(self, begun: Begun) -> Any:
        """Wait in this thread for a node that suspends inside a loop or branch, and return its values."""
        values = wait_for(begun, self.check, self.run.step.loop)
        self.run.took_inside(begun)
        return values

    def release(self) -> None:
        """Send and begin what was held back; called from the loop's thread."""
        for number, value in self._held:
            self.run.send(number, value)
        for number, begun in self._begun:
            self.run.begin(number, begun)

    def drop(self) -> None:
        """Cancel the nodes that were held back, because the step has failed."""
        for _, begun in self._begun:
            drop(begun)

    def check(self) -> None:
        """Raise if the step has been cancelled, so that the segment ends."""
        self.run.check()


def locate_error(exc: Exception, linked: BoundPartition, segment: BoundSegment) -> OpError:
    """Return the error of a kernel as an ``OpError`` that names the node and the user's line."""
    error = from_exception(exc)
    names = (segment.filename, segment.traced_filename)
    frame = exc.__traceback__
    while frame is not None:
        filename = frame.tb_frame.f_code.co_filename
        if filename in names:
            number = segment.node_at(filename, frame.tb_lineno)
            if number is not None:
                node = linked.compiled.nodes[number]
                error.locate(node=node.name, device=linked.device, source=node.source)
                break  # a line without a node calls a piece of a long function; see ``outline``
        frame = frame.tb_next
    return error

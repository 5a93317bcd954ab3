"""One step in one process: which segments may run, what has arrived, and how it ends.

Plain synchronous code: arrivals and finished segments come in, segments to run go out to a queue that
``drain`` empties. The queue spans all partitions of the process, so a value handed from one device to
another never nests calls. Ready segments run inline, or in the kernel pool when they are dear.

The first error wins: it aborts the rendezvous once, what is ready is dropped, and the step is over when
the segments that are still in the pool have come back. Everything belongs to one thread (the event loop's,
or the caller's where there is no loop) but what ``HeldSends`` and ``execute`` do in the pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import StepStats
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InternalError,
    OpError,
    UnimplementedError,
    from_exception,
)
from actorsession.runtime.collector import Recorder, StepStatsCollector
from actorsession.runtime.kernel_pool import OFFLOAD_ABOVE, KernelPool
from actorsession.runtime.rendezvous import Arrival, Rendezvous

if TYPE_CHECKING:
    from actorsession.plan.link import LinkedPartition, LinkedSegment
    from actorsession.runtime.debugger import DebugRun

__all__ = ["PartitionRun", "Step", "locate_error"]

# Weight of the newest measurement in a segment's moving average.
_EMA = 0.25


class Step:
    """The state of one step in this process.

    Args:
        step_id: the step's number, the same in every process.
        rendezvous: where its tensors meet.
        fetches: how many values the step hands back from here.
        partitions: how many will be started here; the step is not done before all have ended.
        pool: where dear segments run; ``None`` to run everything in the caller's thread.
        loop: the event loop to come back to from the pool; needed with ``pool``.
        trace: whether to record when nodes ran.
        deadline: until when it may take, for segments that no timer can end because they hold its
            thread.
        sync_on_finish: whether a failed step is over only when its kernels are back from the pool.
        debug: the debugged run that this is the step of.
    """

    def __init__(
        self,
        step_id: int,
        rendezvous: Rendezvous,
        fetches: int,
        *,
        partitions: int = 1,
        pool: KernelPool | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        trace: bool = False,
        deadline: Deadline = NEVER,
        sync_on_finish: bool = True,
        debug: DebugRun | None = None,
    ) -> None:
        self.step_id = step_id
        self.debug = debug
        self.rendezvous = rendezvous
        self.outputs: list[Any] = [None] * fetches
        self.error: OpError | None = None
        self.collector = StepStatsCollector(step_id) if trace else None
        self._pool = pool
        self._loop = loop
        self._ready: deque[tuple[PartitionRun, int]] = deque()
        self._draining = False
        self._unfinished = partitions
        self._in_pool = 0
        self._on_done: list[Callable[[], None]] = []
        self._given_up: OpError | None = None  # from another thread, or because time is over
        self._deadline = None if deadline.at is None else deadline
        self._sync_on_finish = sync_on_finish

    # -- life ----------------------------------------------------------------------------------

    def start(self, linked: LinkedPartition, feeds: Sequence[Any]) -> None:
        """Begins to run a partition; its errors become the step's.

        Args:
            linked: the partition.
            feeds: values of all feeds of the signature, in its order; borrowed.
        """
        if self.error is None:
            PartitionRun(self, linked, feeds).start()

    @property
    def done(self) -> bool:
        """Whether everything that was started has ended, well or not."""
        if self.error is not None:
            return not (self._in_pool and self._sync_on_finish)
        return not self._unfinished

    def on_done(self, callback: Callable[[], None]) -> None:
        """Calls ``callback`` once when the step is done; at once if it is."""
        if self.done:
            callback()
        else:
            self._on_done.append(callback)

    async def wait(self) -> None:
        """Waits until the step is done; cancelling the wait does not cancel the step."""
        if self.done:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_done(lambda: None if future.done() else future.set_result(None))
        await future

    def fail(self, error: OpError) -> None:
        """Ends the step with an error; the first one wins."""
        if self.error is not None or not self._unfinished:
            return
        self.error = error
        self._ready.clear()
        self.rendezvous.abort(error)
        self._settle()

    def give_up(self, error: OpError) -> None:
        """``fail`` from any thread: takes effect between two nodes, in the thread of the step."""
        self._given_up = error
        if self._loop is not None:
            # The loop may be closed already; then nobody runs the step any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.fail, error)

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Sends values into the step from outside, and runs what they make ready.

        Args:
            values: (rendezvous key, value).
        """
        if self.error is None:
            was_draining, self._draining = self._draining, True  # run when all are there
            try:
                for key, value in values:
                    self.rendezvous.send(key, value)
            finally:
                self._draining = was_draining
        self.drain()

    def limit(self, deadline: Deadline) -> None:
        """Sets until when the step may take from now on, where nothing else would end it."""
        self._deadline = None if deadline.at is None else deadline

    @property
    def given_up(self) -> bool:
        """Whether the step's values are wanted no more."""
        if self.error is not None or self._given_up is not None:
            return True
        return self._deadline is not None and self._is_late()

    def _is_late(self) -> bool:
        assert self._deadline is not None
        if self._deadline.expired:
            self._given_up = DeadlineExceededError(f"step {self.step_id} took longer than it may")
        return self._given_up is not None

    def result(self) -> list[Any]:
        """The fetched values of a step that is done.

        Raises:
            OpError: the step's first error.
        """
        if self.error is not None:
            raise self.error
        if self._unfinished:
            raise InternalError(f"step {self.step_id} is not done: it waits for {self.waiting()}")
        if self._deadline and self._is_late() and self._given_up is not None:
            raise self._given_up
        return self.outputs

    def waiting(self) -> tuple[str, ...]:
        """The rendezvous keys that the step waits for."""
        return self.rendezvous.waiting_keys()

    def _settle(self) -> None:
        if self.done:
            callbacks, self._on_done = self._on_done, []
            for callback in callbacks:
                callback()

    @property
    def stats(self) -> StepStats | None:
        """What a traced step has recorded; the first look ends the recording."""
        return None if self.collector is None else self.collector.finalise()

    # -- running -------------------------------------------------------------------------------

    def ready(self, run: PartitionRun, index: int) -> None:
        """Queues a segment whose inputs are all there."""
        if self.error is None:
            self._ready.append((run, index))
            if run.scheduled is not None:
                run.scheduled[index] = time.perf_counter_ns()

    def drain(self) -> None:
        """Runs what is ready until nothing is; a call from inside returns at once."""
        if self._draining:
            return
        if not self._ready:  # the error state of numpy costs more to enter than all the rest
            self.rendezvous.flush()
            self._settle()
            return
        self._draining = True
        try:
            with np.errstate(all="ignore"):
                while self._ready:
                    if self._given_up is not None or (self._deadline and self._is_late()):
                        assert self._given_up is not None
                        self.fail(self._given_up)
                        break
                    run, index = self._ready.popleft()
                    if self._is_dear(run.linked.segments[index]):
                        self._submit(run, index)
                    else:
                        self.finished(run, index, *run.execute(index))
        finally:
            self._draining = False
        self.rendezvous.flush()
        self._settle()

    def _is_dear(self, linked: LinkedSegment) -> bool:
        if self._pool is None:
            return False
        if linked.blocks or self.debug is not None:
            return True  # what takes in watched values may write files, or be anybody's function
        if linked.seconds:
            return linked.seconds > OFFLOAD_ABOVE
        segment = linked.segment
        # Unknown shapes: the first run goes to the pool unless it is cheap whatever they are.
        return segment.cost * 1e-6 > OFFLOAD_ABOVE or not (segment.cost_known or segment.is_light)

    def _submit(self, run: PartitionRun, index: int) -> None:
        assert self._pool is not None
        assert self._loop is not None
        self._in_pool += 1
        try:
            blocks = run.linked.segments[index].blocks
            self._pool.submit(self._work, run, index, blocks=blocks)
        except RuntimeError as exc:
            self._in_pool -= 1
            error = CancelledError(f"the step was cancelled: {exc}")
            error.__cause__ = exc
            self.fail(error)

    def _work(self, run: PartitionRun, index: int) -> None:
        """Runs a segment in a pool thread and comes back to the loop."""
        held = HeldSends(run)
        with np.errstate(all="ignore"):
            results, error = run.execute(index, held)
        assert self._loop is not None
        # The loop may be closed under a running kernel; then nobody waits for the result any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._returned, held, index, results, error)

    def _returned(
        self, held: HeldSends, index: int, results: Sequence[Any], error: OpError | None
    ) -> None:
        self._in_pool -= 1
        if error is None and self.error is None:
            held.release()
        self.finished(held.run, index, results, error)
        if self.error is not None:
            self._settle()
        self.drain()

    def finished(
        self, run: PartitionRun, index: int, results: Sequence[Any], error: OpError | None
    ) -> None:
        """Takes in the outcome of a segment."""
        if error is not None:
            self.fail(error)
        elif self.error is None:
            run.finished(index, results)

    def ended(self) -> None:
        """Counts a partition that has run to its end."""
        self._unfinished -= 1


class PartitionRun:
    """One partition in one step; generated code knows it as ``C``."""

    __slots__ = (
        "left", "linked", "readers", "scheduled", "slots", "step", "waits",
    )  # fmt: skip

    def __init__(self, step: Step, linked: LinkedPartition, feeds: Sequence[Any]) -> None:
        compiled = linked.compiled
        self.step = step
        self.linked = linked
        self.slots: list[Any] = [None] * compiled.slots
        for slot, position in compiled.feeds:
            self.slots[slot] = feeds[position]
        self.waits = list(linked.waits)
        self.readers = list(compiled.readers)
        self.left = len(linked.segments)
        # When each segment became ready, for a trace.
        self.scheduled: list[int] | None = None
        if step.collector is not None:
            self.scheduled = [0] * self.left

    def start(self) -> None:
        """Queues what can run at once and asks for what must arrive."""
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
        self, index: int, context: HeldSends | None = None
    ) -> tuple[Sequence[Any], OpError | None]:
        """Runs a segment in the calling thread; never raises what a kernel raised."""
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
        # A traced segment took as long as its nodes: the notes are not what it will cost later.
        seconds = recorder.nanos * 1e-9 if recorder else time.perf_counter() - begin
        linked.seconds = (
            linked.seconds + _EMA * (seconds - linked.seconds) if linked.seconds else seconds
        )
        return results, None

    def _recorder(self, index: int, context: HeldSends | PartitionRun) -> Recorder:
        assert self.step.collector is not None
        assert self.scheduled is not None
        return Recorder(context, self.step.collector, self.linked, self.scheduled[index])

    def finished(self, index: int, results: Sequence[Any]) -> None:
        """Stores a segment's results and queues what waited for it."""
        segment = self.linked.segments[index].segment
        for slot in segment.arguments:
            self.readers[slot] -= 1
            if not self.readers[slot]:
                self.slots[slot] = None
        for slot, value in zip(segment.results, results, strict=True):
            self.slots[slot] = value
        for follower in self.linked.followers[index]:
            self._count_down(follower)
        self.left -= 1
        if not self.left:
            for position, slot in self.linked.compiled.fetches:
                self.step.outputs[position] = self.slots[slot]
            self.step.ended()

    # -- called by generated code ---------------------------------------------------------------

    def send(self, number: int, value: Any) -> None:
        """Sends a tensor under the partition's ``number``-th key."""
        key = self.linked.compiled.sends[number]
        if self.step.collector is not None:
            self.step.collector.add_transfer("send", key, self.linked.device, value)
        self.step.rendezvous.send(key, value)

    def check(self) -> None:
        """Ends the segment if the step has been given up."""
        if self.step.given_up:
            raise CancelledError("the step was given up", derived=True)


class HeldSends:
    """What generated code knows as ``C`` in a pool thread: sends wait there for the loop's thread."""

    __slots__ = ("_held", "run")

    def __init__(self, run: PartitionRun) -> None:
        self.run = run
        self._held: list[tuple[int, Any]] = []

    def send(self, number: int, value: Any) -> None:
        """Keeps a tensor to be sent when the segment has come back."""
        self._held.append((number, value))

    def release(self) -> None:
        """Sends what was kept, from the loop's thread."""
        for number, value in self._held:
            self.run.send(number, value)

    def check(self) -> None:
        """Ends the segment if the step has been given up."""
        self.run.check()


def locate_error(exc: Exception, linked: LinkedPartition, segment: LinkedSegment) -> OpError:
    """Turns what a kernel raised into one of our errors that names the node and the user's line."""
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
            break
        frame = frame.tb_next
    return error

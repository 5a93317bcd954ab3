"""One step in one process: which segments may run, what has arrived, and how the step ends.

Plain synchronous code: arrivals and finished segments come in, and segments to run go to a queue that
``drain`` empties. The queue spans all partitions of the process, so a value passed from one device to another
never nests calls. Ready segments run inline, or in the kernel pool when they are expensive.

The first error wins. It aborts the rendezvous once, ready segments are dropped, and the step is over when the
segments in the pool have returned. Everything belongs to one thread (the event loop's, or the caller's where
there is no loop), except what ``partition_run`` does in the pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
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
)
from actorsession.plan.control_flow.dataflow_partition import BoundDataflow
from actorsession.runtime.engine.dataflow import DataflowRun
from actorsession.runtime.engine.partition_run import PartitionRun, PooledSegmentContext
from actorsession.runtime.engine.suspended_nodes import Suspended, SuspendedNodes
from actorsession.runtime.engine.takes import Takes, ended_from_outside
from actorsession.runtime.interruptible import Begun, drop
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.offload import is_dear
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.step_stats_collector import StepStatsCollector

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition
    from actorsession.runtime.debug.debugger import DebugRun

__all__ = ["Step"]

_log = logging.getLogger("actorsession.runtime")

# Seconds that a cancelled step waits for kernels in the middle of a node, which may be user code and wait for
# anything.
_SETTLE = 5.0


class Step:
    """The state of one step in this process.

    Args:
        step_id: the step's number, the same in every process.
        rendezvous: the rendezvous of its tensors.
        fetches: how many values the step returns from this process.
        partitions: how many will be started here; the step is not done before all have ended.
        pool: where expensive segments run; ``None`` to run everything in the caller's thread.
        loop: the event loop to which pool threads return; needed with ``pool``, and for nodes that suspend.
        trace: whether to record when nodes ran.
        deadline: the time limit, for segments that no timer can end because they hold its thread.
        sync_on_finish: whether a failed step is over only when its kernels have returned from the pool.
        debug: the debugged run to which this step belongs.

    Attributes:
        since: when the step was made, by the monotonic clock.
        pooled: segments that run in the pool or wait for one of its threads.
        loop: the argument ``loop``.
        takes: what the step has taken out of queues and the like.
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
        self.loop = loop
        self._ready: deque[tuple[PartitionRun, int]] = deque()
        self._draining = False
        self._unfinished = partitions
        self._in_pool = 0
        # Segments handed to the pool that have not returned, for reports on why the step hangs.
        self.pooled: set[PooledSegmentContext] = set()
        self._suspended: SuspendedNodes | None = (
            None  # made with the first node; most steps have none
        )
        self.takes = Takes()
        # Positions of a partial run's fetches whose values the caller has received.
        self.handed_out: set[int] = set()
        self.since = time.monotonic()
        self._on_done: list[Callable[[], None]] = []
        self._given_up: OpError | None = None  # from another thread, or because time is over
        self._deadline = None if deadline.at is None else deadline
        self._sync_on_finish = sync_on_finish

    # -- lifecycle -----------------------------------------------------------------------------

    def start(self, linked: BoundPartition, feeds: Sequence[Any]) -> None:
        """Begin to run a partition; its errors become errors of the step.

        Args:
            linked: the partition.
            feeds: values of all feeds of the signature, in its order; borrowed.
        """
        if self.error is None:
            if isinstance(linked, BoundDataflow):
                self._start_dataflow(linked, feeds)
            else:
                PartitionRun(self, linked, feeds).start()

    def _start_dataflow(self, linked: BoundDataflow, feeds: Sequence[Any]) -> None:
        if self.debug is not None:
            raise UnimplementedError(
                "a run cannot be debugged whose graph holds control flow of single operations "
                "(Switch, Merge, Enter); build it with cond and while_loop"
            )
        DataflowRun(self, linked, feeds).start()

    @property
    def done(self) -> bool:
        """Whether everything that was started has ended, successfully or not."""
        if self.error is not None:
            return not (self._in_pool and self._sync_on_finish)
        return not self._unfinished

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the step is done; at once if it is done already."""
        if self.done:
            callback()
        else:
            self._on_done.append(callback)

    async def wait(self) -> None:
        """Wait until the step is done; cancelling the wait does not cancel the step."""
        if self.done:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_done(lambda: None if future.done() else future.set_result(None))
        await future

    def fail(self, error: OpError) -> None:
        """End the step with an error; the first one wins."""
        if self.error is not None or not self._unfinished:
            return
        self.error = error
        self._ready.clear()
        if self._suspended is not None:
            self._suspended.cancel()
        self.rendezvous.abort(error)
        self._settle()

    def give_up(self, error: OpError) -> None:
        """Fail the step from any thread; takes effect between two nodes, in the thread of the step.

        The step waits for kernels that are still in the pool, for 5 s at most.
        """
        self._given_up = error
        if self.loop is not None:
            # A closed loop does not run the step any more.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._abandon, error)

    def _abandon(self, error: OpError) -> None:
        self.fail(error)
        if not self.done:
            assert self.loop is not None
            left = self.loop.call_later(_SETTLE, self._leave_kernels)
            self.on_done(left.cancel)

    async def settled(self) -> None:
        """Wait for the kernels of a cancelled step, which end between two nodes.

        A kernel that does not reach another node within 5 s is abandoned, with a warning.
        """
        if self.done:
            return
        try:
            await Deadline.after(_SETTLE).wait(
                self.wait(), what="kernels of a step that was given up"
            )
        except DeadlineExceededError as exc:
            _log.warning("step %d: %s", self.step_id, exc)

    def _leave_kernels(self) -> None:
        _log.warning(
            "step %d: %d kernels did not end within %g s of being given up and are left to themselves",
            self.step_id, self._in_pool, _SETTLE,
        )  # fmt: skip
        self._sync_on_finish = False
        self._settle()

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values into the step from outside, and run the segments that they make ready.

        Args:
            values: pairs of rendezvous key and value.
        """
        if self.error is None:
            was_draining, self._draining = self._draining, True  # run only when all values are sent
            try:
                for key, value in values:
                    self.rendezvous.send(key, value)
            finally:
                self._draining = was_draining
        self.drain()

    def limit(self, deadline: Deadline) -> None:
        """Set the time limit from now on, where nothing else would end the step."""
        self._deadline = None if deadline.at is None else deadline

    @property
    def given_up(self) -> bool:
        """Whether the step has failed, was cancelled or is late, so that its values are not needed."""
        if self.error is not None or self._given_up is not None:
            return True
        return self._deadline is not None and self._is_late()

    def _is_late(self) -> bool:
        deadline = self._deadline  # a pool thread may read it while the step's own thread sets it
        if deadline is not None and deadline.expired:
            self._given_up = DeadlineExceededError(f"step {self.step_id} took longer than it may")
        return self._given_up is not None

    def result(self) -> list[Any]:
        """Return the fetched values of a step that is done.

        Raises:
            OpError: the step's first error.
        """
        if self.error is not None:
            raise self.error
        if self._unfinished:
            raise InternalError(f"step {self.step_id} is not done: it waits for {self.waiting()}")
        # A late step that has finished keeps its result. A cancelled one must not deliver its values.
        if self._given_up is not None and not isinstance(self._given_up, DeadlineExceededError):
            self.give_back()
            raise self._given_up
        return self.outputs

    def give_back(self) -> None:
        """Put back what a finished step has taken, because its values do not reach the caller."""
        if self.error is None and self.done:
            self.takes.roll_back(ran=True, handed_out=self.handed_out)

    def settle(self, *, received: bool) -> None:
        """Put back what a finished step has taken, unless its values have reached the caller."""
        if not received:
            self.give_back()

    def waiting(self) -> tuple[str, ...]:
        """Return the rendezvous keys that the step waits for."""
        return self.rendezvous.waiting_keys()

    @property
    def queued(self) -> Sequence[tuple[PartitionRun, int]]:
        """The segments that run next, in the thread of the step."""
        return self._ready

    @property
    def suspended(self) -> Sequence[Suspended]:
        """The nodes that are suspended at present; callable from any thread."""
        return () if self._suspended is None else self._suspended.now()

    def _settle(self) -> None:
        if self.done:
            if self.error is not None and ended_from_outside(self.error):
                self.takes.roll_back(handed_out=self.handed_out)
            callbacks, self._on_done = self._on_done, []
            for callback in callbacks:
                callback()

    @property
    def stats(self) -> StepStats | None:
        """The recorded statistics of a traced step; the first access ends the recording."""
        return None if self.collector is None else self.collector.finalise()

    # -- running -------------------------------------------------------------------------------

    def ready(self, run: PartitionRun, index: int) -> None:
        """Queue a segment whose inputs are all available."""
        if self.error is None:
            self._ready.append((run, index))
            if run.scheduled is not None:
                run.scheduled[index] = time.perf_counter_ns()

    def drain(self) -> None:
        """Run ready segments until none is left; a nested call returns at once."""
        if self._draining:
            return
        if not self._ready:  # entering numpy's error state costs more than all the rest
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
                    segment = run.linked.segments[index]
                    if self._pool is not None and (
                        self.debug is not None
                        or is_dear(segment, run.slots, segment.segment.arguments)
                    ):
                        # Debug sinks may write files or be user functions.
                        first = None if segment.seconds else segment
                        self.offload(
                            PooledSegmentContext(run, index), blocks=segment.blocks, first=first
                        )
                    else:
                        self.finished(run, index, *run.execute(index))
        finally:
            self._draining = False
        self.rendezvous.flush()
        self._settle()

    @property
    def has_pool(self) -> bool:
        """Whether the step has a kernel pool."""
        return self._pool is not None

    def offload(self, held: PooledSegmentContext, *, blocks: bool, first: object = None) -> None:
        """Run something in the kernel pool.

        Args:
            held: the work. Its partition's ``execute`` gets it in the pool, and ``finished`` gets the outcome
                in the thread of the step.
            blocks: whether it may take any time.
            first: the segment or node itself if it was never measured; see ``PoolThreads.submit``.
        """
        assert self._pool is not None
        assert self.loop is not None
        self._in_pool += 1
        self.pooled.add(held)
        try:
            self._pool.submit(self._work, held, blocks=blocks, first=first)
        except RuntimeError as exc:
            self._in_pool -= 1
            self.pooled.discard(held)
            error = CancelledError(f"the step was cancelled: {exc}")
            error.__cause__ = exc
            self.fail(error)

    def _work(self, held: PooledSegmentContext) -> None:
        """Run a segment in a pool thread and return its results to the loop."""
        with np.errstate(all="ignore"):
            results, error = held.run.execute(held.index, held)
        assert self.loop is not None
        # The loop may be closed while a kernel runs; then the result has no waiter.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._returned, held, results, error)

    def _returned(
        self, held: PooledSegmentContext, results: Sequence[Any], error: OpError | None
    ) -> None:
        self._in_pool -= 1
        self.pooled.discard(held)
        if error is None and self.error is None:
            held.release()
        else:
            held.drop()
        self.finished(held.run, held.index, results, error)
        if self.error is not None:
            self._settle()
        self.drain()

    # -- nodes that suspend ----------------------------------------------------------------------

    def suspend(self, run: PartitionRun, number: int, begun: Begun) -> None:
        """Wait for the values of a node, while the rest of the step goes on.

        Args:
            run: the partition of the node.
            number: the number of the node among those that suspend.
            begun: the result of its kernel; cancelled if the step fails.
        """
        if self.error is not None:
            drop(begun)
            return
        if self._suspended is None:
            self._suspended = SuspendedNodes(self.loop)
        self._suspended.add(run, number, begun)

    def finished(
        self, run: PartitionRun, index: int, results: Sequence[Any], error: OpError | None
    ) -> None:
        """Handle the outcome of a segment."""
        if error is not None:
            self.fail(error)
        elif self.error is None:
            run.finished(index, results)

    def ended(self) -> None:
        """Count a partition that has run to its end."""
        self._unfinished -= 1

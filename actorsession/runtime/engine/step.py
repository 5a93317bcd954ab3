"""One step in one process: the queue of what may run, and how the step ends.

Plain synchronous code. Each partition of the step here has an ``Engine``, which puts into the queue what
has become ready; ``drain`` lets the engines run it. The queue spans all partitions of the process, so a
value passed from one device to another never nests calls.

The first error wins. It aborts the rendezvous once, ready segments are dropped, and the step is over when the
segments in the pool have returned (see ``PooledWork``). Everything belongs to one thread: the event loop's,
or the caller's where there is no loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.loops import call_in
from actorsession.config import StepStats
from actorsession.errors import CancelledError, DeadlineExceededError, InternalError, OpError, from_exception
from actorsession.graph.collective_call import CollectiveCall
from actorsession.graph.device import DeviceAttributes
from actorsession.runtime.collective.executor import CollectiveExecutor
from actorsession.runtime.collective.groups import GroupResolver
from actorsession.runtime.engine.engine import Engine, OffloadedWork
from actorsession.runtime.engine.pooled_work import NO_WORK, PooledWork
from actorsession.runtime.engine.suspended_nodes import Suspended
from actorsession.runtime.engine.takes import Takes, ended_from_outside
from actorsession.runtime.float_errors import FLOAT_ERRORS, IGNORED
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.step_stats_collector import StepStatsCollector
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.runtime.debug.watched_step import WatchedStep
    from actorsession.runtime.engine.executor import Executor, LoadedPartition

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
        groups: finds the members of the groups of its collectives.

    Attributes:
        done: whether everything that was started has ended, successfully or not.
        error: the error with which the step has ended, if it has failed.
        cancelled: the error with which it was cancelled from another thread, or is late; it fails between two nodes.
        engines: the engines of its partitions that were begun here, until the step is done.
        since: when the step was made, by the monotonic clock.
        pooled: what runs in the pool or waits for one of its threads, for reports on why the step hangs.
        pool: the argument ``pool``.
        loop: the argument ``loop``.
        queue: the engines and segments that run next, in the thread of the step; nothing may be added once
            the step has failed.
        context: the context variables that functions of the user see; ``None`` if the step calls none.
        takes: what the step has taken out of queues and the like.
        unfinished: how many of its partitions have not run to their ends; each counts itself down.
        collectives: what executes the calls of its collectives; ``None`` before the first.
    """

    __slots__ = (
        "__weakref__", "_deadline", "_draining", "_executors", "_groups", "_on_done", "_sync_on_finish", "_unbegun",
        "_waiting", "cancelled", "collectives", "collector", "context", "debug", "done", "engines",
        "error", "handed_out", "loop", "outputs", "pool", "pooled", "queue", "rendezvous", "since", "step_id", "takes",
        "unfinished",
    )  # fmt: skip

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
        debug: WatchedStep | None = None,
        groups: GroupResolver | None = None,
    ) -> None:
        self.step_id = step_id
        self.debug = debug
        self.rendezvous = rendezvous
        self.outputs: list[Any] = [None] * fetches
        self.error: OpError | None = None
        self.collector = StepStatsCollector(step_id) if trace else None
        self.pool = pool
        self.loop = loop
        self.engines: list[Engine] = []
        self._executors: list[Executor] = []
        self.done = not partitions
        self.queue: deque[tuple[Engine, int]] = deque()
        self._draining = False
        self.unfinished = partitions
        self.pooled = NO_WORK
        self.context: Context | None = None
        self.takes = Takes()
        # Positions of a partial run's fetches whose values the caller has received.
        self.handed_out: set[int] = set()
        self.since = current_host().clock.monotonic()
        self._on_done: list[Callable[[], None]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self.cancelled: OpError | None = None
        self._deadline = None if deadline.at is None else deadline
        self._sync_on_finish = sync_on_finish
        self._groups = groups
        self.collectives: CollectiveExecutor | None = None
        self._unbegun: list[tuple[CollectiveCall, DeviceAttributes]] = []

    # -- lifecycle -----------------------------------------------------------------------------

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the step is done; at once if it is done already."""
        if self.done:
            callback()
        else:
            self._on_done.append(callback)

    def wait(self) -> asyncio.Future[None]:
        """Return a future of the moment when the step is done; cancelling it does not cancel the step."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.done:
            future.set_result(None)
        else:
            self._waiting.append(future)
        return future

    def fail(self, error: OpError) -> None:
        """End the step with an error; the first one wins."""
        if self.error is not None or not self.unfinished:
            return
        if type(error) is CancelledError and error.node is None and not error.derived:
            error = self._naming_waits(error)
        self.error = error
        self.queue.clear()
        for engine in self.engines:
            engine.cancel()
        self.rendezvous.abort(error)
        if self.collectives is not None:
            self.collectives.step_failed(error)
        self.settle_failed()

    def _naming_waits(self, error: CancelledError) -> OpError:
        """Return the error of a cancelled step with the first node that waits, if one does."""
        for engine in self.engines:
            for waiting in engine.suspended:
                return engine.located(waiting.number, CancelledError(error.message, task=error.task))
        return error

    def cancel(self, error: OpError) -> None:
        """Fail the step from any thread; takes effect between two nodes, in the thread of the step.

        The step waits for kernels that are still in the pool, for 5 s at most.
        """
        self.cancelled = error
        if self.loop is not None:
            # A closed loop does not run the step any more.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self.abort, error)

    def abort(self, error: OpError) -> None:
        """Fail the step; abandon kernels in the pool that do not reach another node within 5 s."""
        self.fail(error)
        if not self.done:
            assert self.loop is not None
            left = self.loop.call_later(_SETTLE, self._leave_kernels)
            self.on_done(left.cancel)

    async def settled(self) -> None:
        """Wait for the kernels of a failed step, which end between two nodes.

        A kernel that does not reach another node within 5 s is abandoned, with a warning.
        """
        if self.done:
            return
        try:
            await Deadline.after(_SETTLE).wait(self.wait(), what="kernels of a cancelled step")
        except DeadlineExceededError as exc:
            _log.warning("step %d: %s", self.step_id, exc)

    def _leave_kernels(self) -> None:
        _log.warning(
            "step %d: %d kernels did not end within %g s of its cancellation and are left to themselves",
            self.step_id,
            len(self.pooled),
            _SETTLE,
        )
        self._sync_on_finish = False
        self.settle_failed()

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        """Send values into the step from outside, and run the segments that they make ready.

        Args:
            values: pairs of rendezvous key and value.
        """
        if self.context is not None:  # a call of a partial run
            self.context = copy_context()
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
    def abort_error(self) -> OpError | None:
        """The error for which running code should end: the step has failed, was cancelled or is late."""
        if self.error is None and self.cancelled is None and self._deadline is not None:
            self._check_deadline()
        return self.error or self.cancelled

    def _check_deadline(self) -> None:
        deadline = self._deadline  # a pool thread may read it while the step's own thread sets it
        if deadline is not None and deadline.expired:
            self.cancelled = DeadlineExceededError(f"step {self.step_id} exceeded {deadline.whose}")

    def result(self) -> list[Any]:
        """Return the fetched values of a step that is done.

        Raises:
            OpError: the step's first error.
        """
        if self.error is not None:
            raise self.error
        if self.unfinished:  # a failed step may have left kernels running, and has its error
            raise InternalError(
                f"step {self.step_id} waits for {self.rendezvous.waiting_keys()} with nobody to send it"
            )
        # A late step that has finished keeps its result. A cancelled one must not deliver its values.
        if self.cancelled is not None and not isinstance(self.cancelled, DeadlineExceededError):
            self.give_back()
            raise self.cancelled
        return self.outputs

    def give_back(self) -> None:
        """Put back what a finished step has taken, because its values do not reach the caller."""
        if self.error is None and self.done:
            self.takes.roll_back(ran=True, handed_out=self.handed_out)

    def settle(self, *, received: bool) -> None:
        """Put back what a finished step has taken, unless its values have reached the caller."""
        if not received:
            self.give_back()

    @property
    def suspended(self) -> Sequence[Suspended]:
        """The nodes that are suspended at present; callable from any thread."""
        return [node for engine in tuple(self.engines) for node in engine.suspended]

    def settle_failed(self) -> None:
        """End the step if it has failed and its kernels have returned from the pool."""
        if not (self.pooled and self._sync_on_finish):
            self._settle()

    def _settle(self) -> None:
        """End the step: collect its values, release its engines, and call those who wait for its end."""
        self.done = True
        if self.error is None:
            for engine in self.engines:
                for position, slot in engine.bound.compiled.fetches:
                    self.outputs[position] = engine.slots[slot]
        elif ended_from_outside(self.error):
            self.takes.roll_back(handed_out=self.handed_out)
        self.takes.is_ended = True
        if self.takes.has_loans:
            self.takes.return_loans()
        for executor in self._executors:
            executor.running.pop(self, None)
        self.engines = []
        while self._waiting:
            future = self._waiting.pop()
            if not future.done():
                future.set_result(None)
        callbacks, self._on_done = self._on_done, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                _log.exception("step %d: what follows its end has failed", self.step_id)

    @property
    def stats(self) -> StepStats | None:
        """The recorded statistics of a traced step; the first access ends the recording."""
        return None if self.collector is None else self.collector.finalise()

    # -- running -------------------------------------------------------------------------------

    def begin(self, parts: Sequence[LoadedPartition], feeds: Sequence[Any]) -> None:
        """Begin partitions in the calling thread, which is that of the step, and run what is ready.

        One that cannot begin, such as at an executor that was closed, fails the step.

        Args:
            parts: the partitions, each at another executor.
            feeds: values of all feeds of the signature.
        """
        was_draining, self._draining = self._draining, True  # nothing runs until all have begun
        try:
            for part in parts:
                executor = part.executor
                with executor.lock:
                    if executor.closed is not None:
                        raise type(executor.closed)(executor.closed.message)
                    executor.running[self] = None
                    executor.begun += 1
                self._executors.append(executor)
                if part.calls_python and self.context is None:
                    self.context = copy_context()
                engine = part.new_engine(self, feeds)
                if self.error is not None:
                    break
                self.engines.append(engine)
        except Exception as exc:
            self.fail(from_exception(exc))
        self._draining = was_draining
        self.drain()

    def drain(self) -> None:
        """Run ready segments until none is left; a nested call returns at once."""
        if self._draining:
            return
        if self.queue:
            self._draining = True
            before = FLOAT_ERRORS.set(IGNORED)
            try:
                while self.queue:
                    if self._deadline is not None and self.cancelled is None:
                        self._check_deadline()
                    if self.cancelled is not None:
                        self.fail(self.cancelled)
                        break
                    engine, index = self.queue.popleft()
                    engine.run(index)
            except Exception as exc:  # of no kernel, but whoever waits for the step must not wait for ever
                self.broke(exc)
            finally:
                self._draining = False
                FLOAT_ERRORS.reset(before)
        try:
            while self._unbegun:
                self._begin_collective(*self._unbegun.pop(0))
            if self.rendezvous.gathered:
                self.rendezvous.flush()
        except Exception as exc:
            self.broke(exc)
        if self.done or not self.unfinished:
            self._settle()

    def broke(self, exc: Exception) -> None:
        """Fail the step because of an exception outside its kernels, also if its partitions have run."""
        error = from_exception(exc)
        if error is not exc:
            _log.error("step %d: our own mistake", self.step_id, exc_info=exc)
        if self.unfinished:
            self.fail(error)
        elif self.error is None:
            self.error = error

    # -- collectives ---------------------------------------------------------------------------

    def begin_collective(self, call: CollectiveCall, device: DeviceAttributes) -> None:
        """Begin a node's call in the thread of the step; callable from a pool thread, too.

        A call of a segment that ``drain`` runs begins after it: the segment's measured time would otherwise
        include the sending of the values.
        """
        if self._draining and self.loop is not None and asyncio._get_running_loop() is self.loop:
            self._unbegun.append((call, device))
        else:
            call_in(self.loop, self._begin_collective, call, device)

    def _begin_collective(self, call: CollectiveCall, device: DeviceAttributes) -> None:
        if call.done:  # the step has failed
            return
        try:
            if self.collectives is None:
                assert self._groups is not None
                self.collectives = CollectiveExecutor(self.rendezvous, self._groups, self.loop)
            self.collectives.begin(call, device)
        except Exception as exc:
            call.fail(from_exception(exc))

    # -- the kernel pool -----------------------------------------------------------------------

    def offload(self, work: OffloadedWork, *, blocks: bool, first: object = None) -> None:
        """Run something in the kernel pool.

        Args:
            work: the work.
            blocks: whether it may take any time.
            first: the segment or node itself if it was never measured; see ``PoolThreads.submit``.
        """
        executor = work.engine.executor
        with executor.lock:
            executor.offloaded += 1
        if self.pooled is NO_WORK:
            self.pooled = PooledWork()
        self.pooled.submit(work, blocks=blocks, first=first)

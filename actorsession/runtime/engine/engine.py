"""What all engines have in common: how a step runs one partition, and what it runs in the kernel pool.

A step makes one engine per partition; which class is chosen once, when the partition is loaded (see
``Executor.load``). A ``SegmentEngine`` calls generated functions, a ``DataflowEngine`` runs nodes one by one. As it is
made, an engine puts what can run at once into ``Step.queue`` and requests the values that must arrive. It calls
``Step.offload`` and ``Step.fail``, and at its end counts ``Step.unfinished`` down, whoever calls it draining the step
then; the step calls nothing of it but what ``Engine`` declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorsession.errors import CancelledError, OpError
from actorsession.graph.collective_call import CollectiveCall
from actorsession.graph.completion import Completion
from actorsession.plan.codegen.segment_context import PendingValues, SegmentContext
from actorsession.runtime.engine.suspended_nodes import Suspended, SuspendedNodes
from actorsession.runtime.engine.takes import Taken
from actorsession.runtime.interruptible import wait_for
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition
    from actorsession.runtime.engine.executor import Executor
    from actorsession.runtime.engine.step import Step

__all__ = ["Engine", "OffloadedWork"]


class Engine(SegmentContext):
    """One partition in one step, and the context of its code.

    All but the context's methods ``wait_for`` and ``check`` belongs to the thread of the step.

    Attributes:
        step: the step.
        bound: the partition.
        executor: the executor of its device.
        remaining: how many of its segments and suspended nodes have not ended.
        slots: the values of a partition of segments; those of ``CompiledPartition.fetches`` are read when it has ended.
        waits: for each segment, the number of arrivals and segments that it still waits for.
    """

    __slots__ = ("_suspended", "bound", "executor", "remaining", "slots", "step", "waits")

    bound: BoundPartition
    executor: Executor
    remaining: int
    slots: list[Any]
    step: Step
    waits: Sequence[int]
    _suspended: SuspendedNodes | None

    @property
    def suspended(self) -> Sequence[Suspended]:
        """Its nodes that are suspended now; callable from any thread."""
        return () if self._suspended is None else tuple(self._suspended.values())

    def run(self, index: int) -> None:
        """Run what was queued, or offload it."""
        raise NotImplementedError

    def delivered(self, number: int, completion: Completion) -> None:
        """Continue with the values of a suspended node, or fail the step with its error.

        Args:
            number: the number of the node among those that suspend.
            completion: is done; what the step has taken, if the node takes.
        """
        raise NotImplementedError

    def located(self, number: int, exc: BaseException) -> OpError:
        """Return the error of a suspended node, as an ``OpError`` that names the node."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Abandon the nodes that are suspended, because the step has failed."""
        if self._suspended is not None:
            self._suspended.abandon()

    # -- SegmentContext ------------------------------------------------------------------------

    def wait_for(self, pending: PendingValues) -> Any:
        """Wait in this thread for a node in a loop or branch, record what it has taken, and return its values."""
        if isinstance(pending, CollectiveCall):
            self.step.begin_collective(pending, self.executor.device.attributes)
        values = wait_for(pending, self.check, self.step.loop)
        uses = self.bound.compiled.taken_inside
        if isinstance(pending, Completion) and uses is not None:
            # It is not tracked which iteration of the loop has stored the value.
            self.step.takes.add(Taken(pending, uses, lambda: uses.stored))
        return values

    def check(self) -> None:
        """Raise if the step is over.

        Raises:
            CancelledError: if it is; derived, because the step has its error.
        """
        if self.step.abort_error is not None:
            raise CancelledError("the step is over", derived=True)


class OffloadedWork:
    """A segment or node that runs in the kernel pool.

    Args:
        engine: the engine that it belongs to.
        index: the number of the segment; 0 for a node of the dataflow engine.
        node: the number of the node, if a single node runs; ``None`` for a segment.

    Attributes:
        is_running: whether it is registered as running; for a segment the stacks of the threads are searched.
        since: when it was offloaded, by the monotonic clock.
    """

    __slots__ = ("engine", "index", "is_running", "node", "since")

    def __init__(self, engine: Engine, index: int = 0, node: int | None = None) -> None:
        self.engine = engine
        self.index = index
        self.node = node
        self.is_running = False
        self.since = current_host().clock.monotonic()

    def execute(self) -> OpError | None:
        """Run in a pool thread; return errors of kernels and never raise them."""
        raise NotImplementedError

    def complete(self) -> None:
        """Pass the results to the engine, in the thread of the step."""
        raise NotImplementedError

    def discard(self) -> None:
        """Discard the results, because the step has failed; in the thread of the step."""

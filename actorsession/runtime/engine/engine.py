"""The interface of an engine: how a step runs one partition.

A step makes one engine per partition; which class is chosen once, when the partition is
loaded (see ``Executor.load``). A ``SegmentEngine`` calls generated functions, a ``DataflowEngine`` runs
nodes one by one. An engine puts what can run at once into ``Step.queue`` and requests the values that must arrive as it
is made. It calls ``Step.offload``,
``Step.ended`` and ``Step.fail``; the step calls nothing of it but what ``Engine`` declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from actorsession.errors import OpError
from actorsession.graph.completion import Completion

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition
    from actorsession.runtime.engine.executor import Executor
    from actorsession.runtime.engine.step import Step
    from actorsession.runtime.engine.suspended_nodes import Suspended

__all__ = ["Engine", "OffloadedWork"]


class Engine(Protocol):
    """One partition in one step. Everything belongs to the thread of the step."""

    @property
    def step(self) -> Step:
        """The step."""

    @property
    def bound(self) -> BoundPartition:
        """The partition."""

    @property
    def executor(self) -> Executor:
        """The executor of its device."""

    @property
    def remaining(self) -> int:
        """How many of its segments and suspended nodes have not ended."""

    @property
    def waits(self) -> Sequence[int]:
        """For each segment, the number of arrivals and segments that it still waits for."""

    @property
    def suspended(self) -> Sequence[Suspended]:
        """Its nodes that are suspended now; callable from any thread."""

    def run(self, index: int) -> None:
        """Run what was queued, or offload it."""

    def delivered(self, number: int, completion: Completion) -> None:
        """Continue with the values of a suspended node, or fail the step with its error.

        Args:
            number: the number of the node among those that suspend.
            completion: is done; what the step has taken, if the node takes.
        """

    def located(self, number: int, exc: BaseException) -> OpError:
        """Return the error of a suspended node, as an ``OpError`` that names the node."""

    def cancel(self) -> None:
        """Cancel the nodes that are suspended, because the step has failed."""


class OffloadedWork(Protocol):
    """A segment or node that runs in the kernel pool."""

    @property
    def engine(self) -> Engine:
        """The engine that it belongs to."""

    @property
    def index(self) -> int:
        """The number of the segment; 0 for a node of the dataflow engine."""

    @property
    def node(self) -> int | None:
        """The number of the node, if a single node runs; ``None`` for a segment."""

    @property
    def is_running(self) -> bool:
        """Whether it is registered as running; for a segment the stacks of the threads are searched."""

    @property
    def since(self) -> float:
        """When it was offloaded, by the monotonic clock."""

    def execute(self) -> OpError | None:
        """Run in a pool thread; return errors of kernels and never raise them."""

    def complete(self) -> None:
        """Pass the results to the engine, in the thread of the step."""

    def discard(self) -> None:
        """Discard the results, because the step has failed; in the thread of the step."""

"""The context ``C`` of generated code: what a segment may ask of the step in which it runs.

Generated code calls nothing else that belongs to a step. The engines of ``runtime.engine`` and whatever
calls a segment without a step implement the protocol; tests of generated code do too.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Concatenate, Protocol, TypeAlias

from actorsession.errors import InternalError
from actorsession.graph.completion import Completion

__all__ = ["ControlFlowContext", "PendingValues", "SegmentContext", "SegmentFunction"]

PendingValues: TypeAlias = "Completion | Future[Any] | Coroutine[Any, Any, Any]"
"""What the kernel of a node that suspends returns at once: its values are there later."""


class SegmentContext(Protocol):
    """The step of a segment, as generated code sees it."""

    __slots__ = ()

    def send(self, number: int, value: Any) -> None:
        """Send a tensor under the partition's ``number``-th key."""

    def begin(self, number: int, pending: PendingValues) -> None:
        """Register the partition's ``number``-th node that suspends; its values arrive later."""

    def wait_for(self, pending: PendingValues) -> Any:
        """Wait for a node that suspends inside a loop or branch, and return its values."""

    def check(self) -> None:
        """Raise if the step is over, so that the segment ends between two nodes.

        Raises:
            OpError: why it is over.
        """

    def note(self, number: int, start: Any, value: Any) -> None:
        """Record that a node has run; only called by code that is traced.

        Args:
            number: position of the node in the partition.
            start: what ``BoundPartition.start`` gave when it began.
            value: its output, an array of the device; a tuple if there are several.
        """


SegmentFunction: TypeAlias = Callable[Concatenate[SegmentContext, ...], Any]
"""A generated function; it returns a tuple of its results."""


class ControlFlowContext(SegmentContext):
    """The base of contexts of code that neither sends, begins nor is traced.

    Such code is a plan that is one call, or a loop or branch between two nodes of the dataflow engine.
    """

    __slots__ = ()

    def send(self, number: int, value: Any) -> None:
        """Refuse: the code was compiled without sends."""
        raise InternalError("code that runs by itself cannot send a tensor")

    def begin(self, number: int, pending: PendingValues) -> None:
        """Refuse: the nodes that suspend in such code are waited for."""
        raise InternalError("code that runs by itself cannot continue without the values of a node")

    def note(self, number: int, start: Any, value: Any) -> None:
        """Refuse: such code is not traced."""
        raise InternalError("code that runs by itself is not traced")

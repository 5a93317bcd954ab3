"""The offload policy: which segments and nodes run in the kernel pool, and which on the event loop.

An executor has one ``OffloadPolicy`` for its device. Engines query it before they run something, and
report how long it took. Before the first measurement the types of the nodes decide, and where they are
insufficient, the values at hand. A measured time holds for inputs of about the same size: a short time
for a short string says nothing about a long string.

Estimates and measurements are kept with the segment or node they belong to (``BoundSegment.seconds``,
``NodePlan.seconds``), and end with its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundSegment
    from actorsession.plan.control_flow.dataflow_partition import NodePlan

__all__ = ["LARGE", "OFFLOAD_ABOVE", "OffloadPolicy"]

OFFLOAD_ABOVE = 1e-3
"""Seconds above which something goes to the pool. Handing work to a thread and back costs about 60 us
(measured, 2 cores), so below a few hundred it is a loss; the loop should not be held above 5 ms.
"""

LARGE = 1 << 20
"""Bytes above which a node of unknown cost goes to the pool before it has been measured."""

# Weight of a measurement that is slower than the estimate, and how many times ``offload_above`` it counts at
# most: so much that it takes two in a row until something inexpensive goes to the pool.
_SLOWER = 0.25
_MOST = 3.0
# Bytes of arguments up to which a light segment is inexpensive, measured or not.
_SMALL = 4096
# Most strings of one array whose bytes are summed, which takes half a millisecond; more count as any size.
_COUNTED = 1 << 14
_ANY_SIZE = 1 << 62


class OffloadPolicy:
    """The decisions and measurements of one device; callable from any thread.

    Attributes:
        offload_above: ``OFFLOAD_ABOVE``.
        runs: segments and nodes that were measured so far. Like ``seconds`` it is changed without a lock.
        seconds: the total of their times.
        now: reads the clock by which they are measured.
        nanos: reads it in nanoseconds.
    """

    __slots__ = ("nanos", "now", "offload_above", "runs", "seconds")

    def __init__(self) -> None:
        self.offload_above = OFFLOAD_ABOVE
        self.runs = 0
        self.seconds = 0.0
        clock = current_host().clock
        self.now, self.nanos = clock.perf_counter, clock.perf_counter_ns

    # -- segments ------------------------------------------------------------------------------

    def is_expensive(self, bound: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
        """Return whether a segment belongs in the kernel pool.

        Args:
            bound: the segment.
            values: the values from which its arguments are taken.
            places: the index of each argument in ``values``.
        """
        if bound.is_short:
            return False
        if bound.unpredictable:
            return True
        segment = bound.segment
        if bound.seconds:
            if bound.seconds > self.offload_above:
                return True
        elif segment.cost * 1e-6 > self.offload_above:
            # Ops whose size depends on a value have such a high cost that no estimate is made below.
            return True
        elif not (segment.cost_known or segment.is_light):
            return self._exceeds_with(bound, values, places)
        if not segment.unsized:
            return False
        return _size(bound, values, places) > max(2 * bound.largest, _SMALL)

    def record(self, bound: BoundSegment, seconds: float, values: Sequence[Any], places: Sequence[int]) -> None:
        """Record how long a segment took; arguments as for ``is_expensive``.

        A run that is short, as the segment is known to be, and not the shortest, need only be counted.
        """
        self.runs += 1
        self.seconds += seconds
        estimate, before = seconds, bound.seconds
        if seconds > before > 0:
            estimate = _estimate(before, seconds, self.offload_above)
        bound.seconds = estimate
        if not bound.unsized:
            bound.is_short = 0 < estimate <= self.offload_above and not bound.unpredictable
            return
        size = _size(bound, values, places)
        if seconds <= self.offload_above:
            bound.largest = max(bound.largest, size)
        elif size <= 2 * bound.largest:
            bound.largest = size // 4  # this size was too large

    def _exceeds_with(self, bound: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
        """Return whether a segment of unknown shapes that was not measured yet is, or may be, expensive with
        these values."""
        if bound.segment.fed_cost is None:
            return True
        micros = bound.segment.fed_cost.micros([values[k] for k in places])
        return micros is None or micros * 1e-6 > self.offload_above

    # -- nodes of the dataflow engine ----------------------------------------------------------

    def is_expensive_node(self, plan: NodePlan, values: Sequence[Any]) -> bool:
        """Return whether a node belongs in the kernel pool by itself, with these inputs.

        Need not be called while ``plan.may_be_expensive`` is not set.
        """
        if plan.blocks or plan.varies or plan.seconds > self.offload_above:
            return True
        if plan.is_unsized:
            return sum([_bytes(value) for value in values]) > LARGE
        plan.may_be_expensive = False
        return False

    def record_node(self, plan: NodePlan, seconds: float) -> None:
        """Record how long a node took; on the loop only needed above ``offload_above``."""
        before = plan.seconds
        if seconds > before > 0:
            seconds = _estimate(before, seconds, self.offload_above)
        plan.seconds = seconds
        plan.may_be_expensive = True

    def count(self, runs: int, seconds: float) -> None:
        """Count nodes that have run, and their time."""
        self.runs += runs
        self.seconds += seconds


def _estimate(before: float, seconds: float, offload_above: float) -> float:
    """Return the estimate after a measurement that is slower than the one before.

    The clock goes on while other programs, or other threads, hold the processor. The shortest time is
    therefore the nearest to the work; a longer one counts little, as it may be such an interruption.
    """
    most = _MOST * offload_above
    if seconds > most:
        seconds = max(before, most)
    return before + _SLOWER * (seconds - before)


def _size(bound: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> int:
    """Return the bytes of the arguments whose size their types do not determine."""
    return sum([_bytes(values[places[k]]) for k in bound.segment.unsized])


def _bytes(value: Any) -> int:
    """Return the bytes of a value, including the bytes of strings."""
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.nbytes
        if value.size > _COUNTED:
            return _ANY_SIZE
        return sum([len(x) if isinstance(x, (bytes, str)) else 8 for x in value.flat])
    return len(value) if isinstance(value, bytes) else getattr(value, "nbytes", 8)  # that of a device has bytes, too

"""The offload policy: the observed cost of a segment, and whether it may run on an event loop.

Executors query it before they run a segment, and report how long the segment took. A measured time holds for
inputs of about the same size: a short time for a short string says nothing about a long string. Before the
first measurement the types of the nodes decide, and where they are insufficient, the values at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.runtime.kernel_pool import OFFLOAD_ABOVE

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundSegment

__all__ = ["LARGE", "bytes_of", "is_dear", "took"]

LARGE = 1 << 20
"""Bytes above which a node of unknown cost goes to the pool before it has been measured."""

# Weight of the newest measurement in a segment's moving average.
_EMA = 0.25
# Bytes of arguments up to which a light segment is cheap, measured or not.
_SMALL = 4096
# Most strings of one array whose bytes are summed, which takes half a millisecond; more count as any size.
_COUNTED = 1 << 14
_ANY_SIZE = 1 << 62


def is_dear(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Return whether a segment belongs in the kernel pool.

    Args:
        linked: the segment.
        values: the values from which its arguments are taken.
        places: the index of each argument in ``values``.
    """
    if linked.unpredictable:
        return True
    segment = linked.segment
    if linked.seconds:
        if linked.seconds > OFFLOAD_ABOVE:
            return True
    elif segment.cost * 1e-6 > OFFLOAD_ABOVE:
        # Ops whose size depends on a value have such a high cost that no estimate is made below.
        return True
    elif not (segment.cost_known or segment.is_light):
        return _is_dear_with(linked, values, places)
    if not segment.unsized:
        return False
    return _size(linked, values, places) > max(2 * linked.largest, _SMALL)


def _is_dear_with(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Return whether a segment of unknown shapes that was not measured yet is, or may be, expensive with
    these values."""
    if linked.segment.fed_cost is None:
        return True
    micros = linked.segment.fed_cost.micros([values[k] for k in places])
    return micros is None or micros * 1e-6 > OFFLOAD_ABOVE


def took(
    linked: BoundSegment, seconds: float, values: Sequence[Any], places: Sequence[int]
) -> None:
    """Record how long a segment took; arguments as for ``is_dear``."""
    before = linked.seconds
    linked.seconds = before + _EMA * (seconds - before) if before else seconds
    if not linked.segment.unsized:
        return
    size = _size(linked, values, places)
    if seconds <= OFFLOAD_ABOVE:
        linked.largest = max(linked.largest, size)
    elif size <= 2 * linked.largest:
        linked.largest = size // 4  # this size was too large


def _size(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> int:
    """Return the bytes of the arguments whose size their types do not determine."""
    return bytes_of([values[places[k]] for k in linked.segment.unsized])


def bytes_of(values: Sequence[Any]) -> int:
    """Return the bytes of values, including the bytes of strings."""
    return sum([_bytes(value) for value in values])


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.nbytes
        return sum(map(len, value.flat)) if value.size <= _COUNTED else _ANY_SIZE
    return len(value) if isinstance(value, bytes) else 8

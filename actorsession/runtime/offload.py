"""The offload policy: what a segment was seen to cost, and whether it may run on an event loop.

Executors ask before they run a segment, and tell how long it took. A time that was measured stands for inputs
of about the size that it was measured with: one that was short for a short string says nothing of a long one.
Before anything was measured, what the types of its nodes say decides, and where they do not say enough, what
the values at hand do.
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
"""Bytes with which a node of unknown cost goes to the pool before it has been measured."""

# Weight of the newest measurement in a segment's moving average.
_EMA = 0.25
# Bytes of arguments with which a segment that is light is cheap, measured or not.
_SMALL = 4096
# Strings of one array that are counted, which takes half a millisecond; more are as many bytes as may be.
_COUNTED = 1 << 14
_ANY_SIZE = 1 << 62


def is_dear(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Return whether a segment belongs in the kernel pool.

    Args:
        linked: the segment.
        values: what its arguments are taken from.
        places: where among them each argument is.
    """
    if linked.unpredictable:
        return True
    segment = linked.segment
    if linked.seconds:
        if linked.seconds > OFFLOAD_ABOVE:
            return True
    elif segment.cost * 1e-6 > OFFLOAD_ABOVE:
        # Among others, what is as large as a value says counts so much that no estimate is asked below.
        return True
    elif not (segment.cost_known or segment.is_light):
        return _is_dear_with(linked, values, places)
    if not segment.unsized:
        return False
    return _size(linked, values, places) > max(2 * linked.largest, _SMALL)


def _is_dear_with(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Return whether a segment of open shapes that was not measured yet is dear with these values, or may
    be."""
    if linked.segment.fed_cost is None:
        return True
    micros = linked.segment.fed_cost.micros([values[k] for k in places])
    return micros is None or micros * 1e-6 > OFFLOAD_ABOVE


def took(
    linked: BoundSegment, seconds: float, values: Sequence[Any], places: Sequence[int]
) -> None:
    """Take in how long a segment took; arguments as for ``is_dear``."""
    before = linked.seconds
    linked.seconds = before + _EMA * (seconds - before) if before else seconds
    if not linked.segment.unsized:
        return
    size = _size(linked, values, places)
    if seconds <= OFFLOAD_ABOVE:
        linked.largest = max(linked.largest, size)
    elif size <= 2 * linked.largest:
        linked.largest = size // 4  # as large as this was too large


def _size(linked: BoundSegment, values: Sequence[Any], places: Sequence[int]) -> int:
    """Return the bytes of the arguments whose types do not say them."""
    return bytes_of([values[places[k]] for k in linked.segment.unsized])


def bytes_of(values: Sequence[Any]) -> int:
    """Return the bytes of values, those of their strings included."""
    return sum([_bytes(value) for value in values])


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.nbytes
        return sum(map(len, value.flat)) if value.size <= _COUNTED else _ANY_SIZE
    return len(value) if isinstance(value, bytes) else 8

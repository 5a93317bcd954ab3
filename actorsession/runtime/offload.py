"""The offload policy: whether a segment may run on an event loop.

Executors ask before they run a segment. What was measured decides; before that what the types of its nodes
say, and where they do not say enough, what the values at hand do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorsession.runtime.kernel_pool import OFFLOAD_ABOVE

if TYPE_CHECKING:
    from actorsession.plan.link import LinkedSegment

__all__ = ["is_dear"]


def is_dear(linked: LinkedSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Whether a segment belongs in the kernel pool.

    Args:
        linked: the segment.
        values: what its arguments are taken from.
        places: where among them each argument is.
    """
    if linked.unpredictable:
        return True
    if linked.seconds:
        return linked.seconds > OFFLOAD_ABOVE
    return is_dear_at_first(linked, values, places)


def is_dear_at_first(linked: LinkedSegment, values: Sequence[Any], places: Sequence[int]) -> bool:
    """Whether a segment that was not measured yet belongs in the kernel pool; as ``is_dear``."""
    segment = linked.segment
    if segment.cost * 1e-6 > OFFLOAD_ABOVE:
        return True
    if segment.cost_known or segment.is_light:
        return False
    if segment.fed_cost is None:
        return True
    micros = segment.fed_cost.micros([values[k] for k in places])
    return micros is None or micros * 1e-6 > OFFLOAD_ABOVE

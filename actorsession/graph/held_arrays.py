"""Arrays that a run holds: how large they are, and whether they can change while it holds them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.codec import INLINE_LIMIT

__all__ = ["LARGE", "bytes_held", "kept_feed", "large_arrays", "may_change", "total_bytes"]

LARGE = 1 << 20
"""Bytes above which arrays are copied in a thread: copying takes 0.2 ms, a thread and back 0.1 ms."""


def bytes_held(values: Iterable[Any]) -> int:
    """Return the bytes of arrays that a run holds; 0 if they fit into a header.

    The number of runs with 0 is limited separately, which bounds what they hold together.

    Args:
        values: arrays, and anything else, which does not count.
    """
    total = 0
    for value in values:
        total += getattr(value, "nbytes", 0)
    return total if total > INLINE_LIMIT else 0


def total_bytes(values: Iterable[Any]) -> int:
    """Return the bytes of arrays and strings, also of those in tuples and the like; anything else does not count."""
    total = 0
    for value in values:
        if isinstance(value, (tuple, list, deque, Mapping)):
            total += total_bytes(value.values() if isinstance(value, Mapping) else value)
        elif isinstance(value, bytes):
            total += len(value)
        elif isinstance(value, np.ndarray) and value.dtype.hasobject:
            total += total_bytes(value.flat)
        else:
            total += getattr(value, "nbytes", 0)
    return total


def kept_feed(value: Any) -> Any:
    """Return a feed in a form that cannot change while a step is suspended.

    Args:
        value: the feed.

    Returns:
        The value itself if it cannot change, else a copy. A read-only array may be a view of a writable one,
        so it is used as it is only if it owns its memory.
    """
    if type(value) is not np.ndarray and not isinstance(value, np.ndarray):
        return value
    return value.copy() if value.flags.writeable or value.base is not None else value


def may_change(value: Any) -> bool:
    """Return whether a feed is an array that can change while a step is suspended; see ``kept_feed``."""
    return isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None)


def large_arrays(values: Sequence[Any]) -> bool:
    """Return whether any value is an array so large that an event loop should not process it."""
    for value in values:  # noqa: SIM110 - called in each run, and a generator costs more than the rest
        if type(value) is np.ndarray and value.nbytes > LARGE:
            return True
    return False

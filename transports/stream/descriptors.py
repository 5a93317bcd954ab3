"""The descriptors of this process, and how many of them connections may take.

A process has a limit (``ulimit -n``), and whatever opens a file needs one. Accepted connections take three
quarters of the limit at most, of which strangers at one listener have a third, so that a quarter is left for
the process itself: its files, and the connections that it opens. ``listener`` calls this module for each
accepted stream. It imports nothing.

A new descriptor gets the lowest free number, which therefore says how many are taken without counting them.
"""

from __future__ import annotations

import os
import sys

if sys.platform != "win32":
    import resource

# No more is kept for the process itself; what is left of a high limit is the connections'.
_MOST_KEPT = 1024


def descriptor_limit() -> int:
    """Return the number of descriptors that this process may have open."""
    if sys.platform == "win32":
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def strangers_share() -> int:
    """Return how many strangers one listener may hold."""
    return max(descriptor_limit() // 4, 1)


def kept_from() -> int:
    """Return the number from which on descriptors are kept for the process itself."""
    limit = descriptor_limit()
    return limit - min(limit // 4, _MOST_KEPT)


def lowest_free(descriptor: int) -> int:
    """Return the number that the next descriptor gets.

    Args:
        descriptor: An open one; -1, of a socket that is closed or has none, gets -1.
    """
    if descriptor < 0:
        return descriptor
    try:
        copy = os.dup(descriptor)
    except OSError:  # none is left
        return descriptor_limit()
    os.close(copy)
    return copy

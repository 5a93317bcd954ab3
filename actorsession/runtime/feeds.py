"""Fed values that a step may hold for longer than its caller's call lasts."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["kept_feed"]


def kept_feed(value: Any) -> Any:
    """A fed value that nobody changes while a step is suspended.

    Args:
        value: what is fed.

    Returns:
        The value itself if it cannot change; else a copy. An array that is read-only may be a view of one
        that is not, so it must own its memory to be taken as it is.
    """
    if not isinstance(value, np.ndarray):
        return value
    return value.copy() if value.flags.writeable or value.base is not None else value

"""Paths that match patterns, found while a graph is built."""

from __future__ import annotations

import glob
from typing import Any

__all__ = ["local_paths"]


def local_paths(patterns: Any) -> list[str]:
    """Return the sorted paths that match a pattern or any of several."""
    listed = [patterns] if isinstance(patterns, (str, bytes)) else list(patterns)
    texts = [text.decode() if isinstance(text, bytes) else str(text) for text in listed]
    return sorted({path for text in texts for path in glob.glob(text)})

"""What a session keeps behind tensor handles."""

from __future__ import annotations

from typing import Any

__all__ = ["stored"]


def stored(face: Any) -> int:
    """How many values a session keeps."""
    count: int = face.session.statistics().tensor_handles
    return count

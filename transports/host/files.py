"""The files of a host."""

from __future__ import annotations

__all__ = ["Files"]


class Files:
    """The file systems of this machine; a derived class is a disk that can fail."""

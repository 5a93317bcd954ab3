"""The lock under which a graph changes, and its end: a finalized graph changes no more.

A graph has one, which it passes to its parts, so that a change of several parts is one change.
"""

from __future__ import annotations

import threading

from actorsession.graph.source_location import user_line

__all__ = ["GraphLock"]


class GraphLock:
    """The reentrant lock of a graph, and whether the graph is finalized.

    Attributes:
        mutex: held for every change, and by readers of a graph that other threads extend.
    """

    __slots__ = ("_finalized_at", "mutex")

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self._finalized_at: str | None = None

    @property
    def finalized(self) -> bool:
        """Whether the graph refuses changes."""
        return self._finalized_at is not None

    def finalize(self) -> None:
        """Refuse any further change; the user's line is kept for the error message."""
        with self.mutex:
            if self._finalized_at is None:
                self._finalized_at = user_line()

    def unfinalize(self) -> None:
        """Allow changes again."""
        with self.mutex:
            self._finalized_at = None

    def check_open(self, what: str) -> None:
        """Refuse a change of a finalized graph; called with the mutex held.

        Args:
            what: the change, for the message.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        if self._finalized_at is not None:
            raise RuntimeError(
                f"Graph is finalized and cannot be modified: {what}, finalize() was called at "
                f"{self._finalized_at or 'an unknown line'}. Build everything before that, or "
                "leave the graph open: running sessions accept a graph that grows"
            )

"""The checkpoints that a saver keeps: the latest few, and one every few hours permanently.

Owns the list and its rules, which are TensorFlow's. Calls may come from several threads and from concurrent
coroutines. The ``checkpoint`` file is written under the same lock as the list, so that both agree.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence

from actorsession.errors import OpError
from actorsession.train.checkpoint_state import remove_checkpoint

__all__ = ["CheckpointRetention"]

_log = logging.getLogger("actorsession.train")


class CheckpointRetention:
    """The checkpoints of one saver.

    Args:
        count: number of the latest checkpoints to keep; 0 keeps all, without a list of them.
        every_n_hours: interval in hours at which a checkpoint is kept permanently.
    """

    def __init__(self, count: int, every_n_hours: float) -> None:
        self.count = count
        self.every_n_hours = every_n_hours
        self._lock = threading.Lock()
        self._latest: list[tuple[str, float]] = []
        self._next_permanent = time.time() + every_n_hours * 3600

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of the checkpoints that are kept temporarily, the oldest first."""
        return [prefix for prefix, _ in self._latest]

    def set(self, checkpoints: Sequence[tuple[str, float]]) -> None:
        """Replace the list of checkpoints by earlier ones.

        Args:
            checkpoints: prefix and seconds since 1970 of each, the oldest first.
        """
        with self._lock:
            self._latest = [(os.fspath(prefix), float(when)) for prefix, when in checkpoints]

    def add(self, prefix: str, meta_graph_suffix: str, on_change: Callable[[Sequence[str]], None]) -> None:
        """Add a checkpoint as the latest, and remove the oldest one if there are too many.

        Args:
            prefix: prefix of the checkpoint.
            meta_graph_suffix: suffix of the files with the graphs of checkpoints.
            on_change: called with the prefixes that are kept, before anything is removed.
        """
        with self._lock:
            oldest = self._record(prefix)
            on_change(self.prefixes)
            if oldest is not None:
                self._remove(*oldest, meta_graph_suffix)

    def _record(self, prefix: str) -> tuple[str, float] | None:
        if not self.count:
            return None
        self._latest = [item for item in self._latest if item[0] != prefix]
        self._latest.append((prefix, time.time()))
        # With a negative count only the latest checkpoint is kept.
        return self._latest.pop(0) if len(self._latest) > max(self.count, 1) else None

    def _remove(self, prefix: str, written: float, meta_graph_suffix: str) -> None:
        if written > self._next_permanent:
            self._next_permanent += self.every_n_hours * 3600
            return
        try:
            remove_checkpoint(prefix, meta_graph_suffix=meta_graph_suffix)
        except OpError as exc:
            # The new checkpoint exists: training should not end because an old one cannot be removed.
            _log.warning("cannot remove the old checkpoint %r: %s", prefix, exc)

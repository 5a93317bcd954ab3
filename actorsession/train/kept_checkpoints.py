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

__all__ = ["KeptCheckpoints"]

_log = logging.getLogger("actorsession.train")


class KeptCheckpoints:
    """The checkpoints of one saver.

    Args:
        count: number of the latest checkpoints to keep; 0 keeps all, without a list of them.
        every_n_hours: interval in hours at which a checkpoint is kept permanently.
    """

    def __init__(self, count: int, every_n_hours: float) -> None:
        self.count = count
        self.every_n_hours = every_n_hours
        self._lock = threading.Lock()
        self._last: list[tuple[str, float]] = []
        self._next_for_good = time.time() + every_n_hours * 3600

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of the checkpoints that are kept temporarily, the oldest first."""
        return [prefix for prefix, _ in self._last]

    def set(self, checkpoints: Sequence[tuple[str, float]]) -> None:
        """Replace the list of checkpoints by earlier ones.

        Args:
            checkpoints: prefix and seconds since 1970 of each, the oldest first.
        """
        with self._lock:
            self._last = [(os.fspath(prefix), float(when)) for prefix, when in checkpoints]

    def enter(
        self, prefix: str, meta_graph_suffix: str, tell: Callable[[Sequence[str]], None]
    ) -> None:
        """Enter a checkpoint as the latest, and remove the oldest one if there are too many.

        Args:
            prefix: prefix of the checkpoint.
            meta_graph_suffix: suffix of the files with the graphs of checkpoints.
            tell: called with the prefixes that are kept, before anything is removed.
        """
        with self._lock:
            leaving = self._record(prefix)
            tell(self.prefixes)
            if leaving is not None:
                self._let_go(*leaving, meta_graph_suffix)

    def _record(self, prefix: str) -> tuple[str, float] | None:
        if not self.count:
            return None
        self._last = [item for item in self._last if item[0] != prefix]
        self._last.append((prefix, time.time()))
        # With a negative count only the latest checkpoint is kept.
        return self._last.pop(0) if len(self._last) > max(self.count, 1) else None

    def _let_go(self, prefix: str, written: float, meta_graph_suffix: str) -> None:
        if written > self._next_for_good:
            self._next_for_good += self.every_n_hours * 3600
            return
        try:
            remove_checkpoint(prefix, meta_graph_suffix=meta_graph_suffix)
        except OpError as exc:
            # The new checkpoint exists: training should not end because an old one cannot be removed.
            _log.warning("cannot remove the old checkpoint %r: %s", prefix, exc)

"""``tf.train.CheckpointManager``: the latest checkpoints of some objects in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from actorsession.compat.v1.train.checkpoints.checkpoint import session_of
from actorsession.compat.v1.train.checkpoints.management import (
    checkpoint_exists,
    get_checkpoint_state,
    remove_checkpoint,
)
from actorsession.config.file_roots import path_text
from actorsession.process_bound import ProcessBound
from actorsession.train.checkpoint_state import write_state

__all__ = ["CheckpointManager"]


class CheckpointManager(ProcessBound):
    """Keeps the latest checkpoints of some objects, and removes older ones.

    A new manager of a folder takes over the checkpoints of an earlier one.

    Args:
        checkpoint: the ``tf.train.Checkpoint``.
        directory: the folder.
        max_to_keep: how many checkpoints are kept; all for ``None``.
        keep_checkpoint_every_n_hours: hours after which a checkpoint is kept for ever.
        checkpoint_name: the beginning of the names of their files.
        step_counter: the variable with the number of the step.
        checkpoint_interval: the steps from one checkpoint to the next; ``save`` writes none before.
        init_fn: is called by ``restore_or_initialize`` if there is no checkpoint.
        last_checkpoint_step: the step of the last checkpoint of an earlier manager.

    Raises:
        ValueError: for a number that is not positive, or an interval without a variable.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._step, self._interval = step_counter, checkpoint_interval
        self._init_fn, self._last_step = init_fn, last_checkpoint_step
        directory = path_text(directory, "directory")
        self._checkpoint, self._directory = checkpoint, directory
        self._max_to_keep, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(directory, checkpoint_name)
        self._kept: dict[str, float] = {}
        self._latest: str | None = None
        now = time.time()
        self._last_preserved = now
        state = get_checkpoint_state(directory)
        if state is None:
            return
        self._latest = state.model_checkpoint_path
        times = list(state.all_model_checkpoint_timestamps) or [now] * len(state.all_model_checkpoint_paths)
        if state.last_preserved_timestamp:
            self._last_preserved = state.last_preserved_timestamp
        for path, when in zip(state.all_model_checkpoint_paths, times, strict=False):
            # A clock that was set back must not keep everything.
            self._kept[path] = min(when, now)

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the latest checkpoint; ``None`` if there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that may be removed later, the oldest first."""
        return list(self._kept)

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Any:
        """The ``tf.train.Checkpoint``."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The steps from one checkpoint to the next; ``None`` if each call writes one."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True) -> str | None:
        """Write a checkpoint in the default session, and remove the oldest ones.

        Args:
            checkpoint_number: its number; the count of the ``Checkpoint`` if left out.
            check_interval: whether nothing is written before the interval is over.

        Returns:
            Its prefix; ``None`` if none was due.
        """
        session = session_of(None)
        if self._interval is not None:
            step, last = int(session.run(self._step)), self._last_step
            due = last is None or (step != last and step >= last + self._interval)
            if not due and (check_interval or step == last):
                return None
            self._last_step = step
        if checkpoint_number is None:
            number = self._checkpoint.next_number(session)
        elif isinstance(checkpoint_number, int):
            number = checkpoint_number
        else:
            number = int(session.run(checkpoint_number))
        path: str = self._checkpoint.write(f"{self._prefix}-{number}", session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        # Recorded before anything is removed, and again without what was.
        self._record()
        self._sweep()
        self._record()
        return path

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint in the default session, or call ``init_fn`` if there is none.

        Returns:
            The prefix of the checkpoint, if there was one.
        """
        if self._latest is None:
            if self._init_fn is not None:
                self._init_fn()
            return None
        self._checkpoint.restore(self._latest).run_restore_ops()
        if self._interval is not None:
            self._last_step = int(session_of(None).run(self._step))
        return self._latest

    def _record(self) -> None:
        write_state(
            self._directory, self._latest or "", list(self._kept), None, list(self._kept.values()), self._last_preserved
        )

    def _sweep(self) -> None:
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path, when = next(iter(self._kept.items()))
            del self._kept[path]
            if self._hours and when - self._hours * 3600 >= self._last_preserved:
                self._last_preserved = when
            elif checkpoint_exists(path):
                remove_checkpoint(path)

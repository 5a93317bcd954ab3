"""Hooks for steps: their speed, their number, and their profiles.

``monitored_session`` adds the first one to training sessions.
"""

from __future__ import annotations

import os
import time
from typing import Any

from actorsession.checkpoints import write_whole
from actorsession.compat.v1 import logging
from actorsession.compat.v1.internals.timeline import Timeline
from actorsession.compat.v1.summary.writers import FileWriterCache
from actorsession.compat.v1.train.hooks.basic import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    step_after,
    step_of,
)
from actorsession.config import RunOptions
from actorsession.durations import checked_seconds
from actorsession.errors import DeadlineExceededError
from actorsession.interop.event_protos import Summary

__all__ = ["GlobalStepWaiterHook", "ProfilerHook", "StepCounterHook"]


_MOST_STALE = 20  # as in TensorFlow


class StepCounterHook(SessionRunHook):
    """A hook that logs the number of steps per second, and writes it as a summary.

    Args:
        every_n_steps: steps between two log lines.
        every_n_secs: seconds between two log lines.
        output_dir: folder of the summaries; none are written without it and ``summary_writer``.
        summary_writer: writer of the summaries; that of the folder if omitted.

    Raises:
        ValueError: for both or neither of the intervals.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir = output_dir
        self._summary_writer = summary_writer
        self._steps_per_run = 1
        # The number that the last run has seen, and how many runs in a row have seen the same.
        self._last_seen: int | None = None
        self._stale = 0

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set by how much one run increases the global step."""
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        """Find the global step and the writer."""
        self._step = step_of(self)
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._tag = f"{self._step.op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the speed if a line is due."""
        # A fetch within the step may return the old number, so it is read again, but only if a line may be
        # due.
        seen = int(run_values.results)
        self._warn_of_same(seen)
        if not self._timer.should_trigger_for_step(seen + self._steps_per_run):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps is not None:
                self._log_and_record(steps, seconds, step)

    def _warn_of_same(self, seen: int) -> None:
        """Say that the global step stays the same, once every 20 runs: some optimisers do not increase it."""
        self._stale = self._stale + 1 if seen == self._last_seen else 0
        self._last_seen = seen
        if self._stale == _MOST_STALE:
            self._stale = 0
            logging.log_first_n(
                logging.WARN,
                "The global step is %d and has not been increased by the last %d runs: pass "
                "tf.train.get_global_step() to apply_gradients or minimize",
                5,
                seen,
                _MOST_STALE,
            )

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        speed = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=speed)
            self._summary_writer.add_summary(Summary(value=[value]), global_step)
        logging.info("%s: %g", self._tag, speed)


class GlobalStepWaiterHook(SessionRunHook):
    """A hook that delays the first step of a task until others have made a number of steps.

    Args:
        wait_until_step: the global step to wait for.
        max_wait_secs: the maximal time to wait in seconds.
    """

    def __init__(self, wait_until_step: int, max_wait_secs: float = 7200) -> None:
        self._wait_until_step = wait_until_step
        self._limit = checked_seconds("max_wait_secs", max_wait_secs)
        self._coord: Any = None
        self._begun = wait_until_step <= 0

    def begin(self) -> None:
        """Find the global step."""
        self._step = step_of(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Keep the coordinator, whose stop request ends the wait."""
        self._coord = coord

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait before the first step.

        Raises:
            DeadlineExceededError: if the wait takes too long.
        """
        if self._begun:
            return
        logging.info("waiting for step %d before training begins", self._wait_until_step)
        end = time.monotonic() + self._limit
        while (step := int(run_context.session.run(self._step))) < self._wait_until_step:
            if time.monotonic() >= end:
                raise DeadlineExceededError(
                    f"after {self._limit:g} s the global step is {step} instead of {self._wait_until_step}"
                )
            # TensorFlow polls at the same interval.
            if self._coord is None:
                time.sleep(0.5)
            elif self._coord.wait_for_stop(min(0.5, self._limit)):
                return
        self._begun = True


class ProfilerHook(SessionRunHook):
    """A hook that writes traces of steps as ``timeline-STEP.json`` for Perfetto or ``chrome://tracing``.

    Their metadata go to the event file of the folder as well.

    Args:
        save_steps: steps between two traces.
        save_secs: seconds between two traces.
        output_dir: the folder, created if it does not exist.
        show_dataflow: whether to draw arrows from producers to consumers of tensors.
        show_memory: whether to draw the lifetime of each tensor.

    Raises:
        ValueError: for both or neither of the intervals.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder = output_dir
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._next_step: int | None = None
        self._due = False

    def begin(self) -> None:
        """Find the global step and the writer."""
        self._step = step_of(self)
        self._next_step = None
        self._writer = FileWriterCache.get(self._folder) if self._folder else None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Request statistics if a trace is due; never for the first step, which has extra work."""
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace if it was requested."""
        fetched = run_values.results
        if self._due or self._next_step is None:
            fetched = step = int(run_context.session.run(self._step))
        if self._next_step is None:  # the time begins before the first step
            self._timer.update_last_triggered_step(step - 1)
        if self._due:
            self._timer.update_last_triggered_step(step)
            self._draw(step, run_values.run_metadata.step_stats)
            if self._writer is not None:
                self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}", step)
        self._next_step = step_after(run_context, self._timer, self._step, fetched)

    def _draw(self, step: int, statistics: Any) -> None:
        path = os.path.join(self._folder, f"timeline-{step}.json")
        logging.info("writing the timeline of step %d to %s", step, path)
        drawn = Timeline(statistics).generate_chrome_trace_format(
            show_dataflow=self._show_dataflow, show_memory=self._show_memory
        )
        # Whole, should another program write traces to the same folder.
        write_whole(path, lambda file: file.write(drawn.encode()))

"""Hooks that look at steps: how fast they are, how far they are, what they did.

``monitored`` adds the first to training sessions.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from actorsession.compat.v1.gfile import GFile, MakeDirs
from actorsession.compat.v1.hooks import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    step_of,
)
from actorsession.config import RunOptions
from actorsession.errors import DeadlineExceededError, UnimplementedError
from actorsession.observe.timeline import Timeline

__all__ = ["GlobalStepWaiterHook", "ProfilerHook", "StepCounterHook"]

_log = logging.getLogger("actorsession.compat")


class StepCounterHook(SessionRunHook):
    """Logs how many steps are made in a second.

    Args:
        every_n_steps: steps from one line to the next.
        every_n_secs: seconds likewise.
        output_dir: accepted for TensorFlow's sake, which writes a summary there beside the log.
        summary_writer: ``None``.

    Raises:
        ValueError: for both or neither of the intervals.
        UnimplementedError: for a writer of summaries.
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
        if summary_writer is not None:
            raise UnimplementedError(
                f"there are no summaries here, so summary_writer is None, got {summary_writer!r:.100}"
            )
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)

    def begin(self) -> None:
        """Find the global step."""
        self._step = step_of(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the number of the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log if it is time."""
        # What is fetched with a step may be the number before; only when that may do is it read again.
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps is not None:
                _log.info("%s/sec: %g", self._step.op.name, steps / seconds)


class GlobalStepWaiterHook(SessionRunHook):
    """Lets a task begin only when others have made so many steps.

    Args:
        wait_until_step: how many.
        max_wait_secs: seconds to wait at most.
    """

    def __init__(self, wait_until_step: int, max_wait_secs: float = 7200) -> None:
        self._wait_until_step = wait_until_step
        self._limit = max_wait_secs
        self._coord: Any = None
        self._begun = wait_until_step <= 0

    def begin(self) -> None:
        """Find the global step."""
        self._step = step_of(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Hear who says when to stop, which ends the wait."""
        self._coord = coord

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait, before the first step.

        Raises:
            DeadlineExceededError: if that takes too long.
        """
        if self._begun:
            return
        _log.info("waiting for step %d before training begins", self._wait_until_step)
        end = time.monotonic() + self._limit
        while (step := int(run_context.session.run(self._step))) < self._wait_until_step:
            if time.monotonic() >= end:
                raise DeadlineExceededError(
                    f"after {self._limit:g} s the global step is {step}, and {self._wait_until_step} was "
                    "waited for"
                )
            # TensorFlow looks as often.
            if self._coord.wait_for_stop(min(0.5, self._limit)):
                return
        self._begun = True


class ProfilerHook(SessionRunHook):
    """Draws some steps, as ``timeline-STEP.json`` for Perfetto or ``chrome://tracing``.

    Args:
        save_steps: steps from one drawing to the next.
        save_secs: seconds likewise.
        output_dir: the folder, made if it does not exist.
        show_dataflow: whether to draw arrows from producers to consumers of tensors.
        show_memory: whether to draw the life of each tensor.

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
        """Find the global step."""
        self._step = step_of(self)
        self._next_step = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for statistics if it is time; not of the first step, which does more than others."""
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Draw what was asked for."""
        before = int(run_values.results)
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            self._draw(step, run_values.run_metadata.step_stats)
        self._next_step = step + 1

    def _draw(self, step: int, statistics: Any) -> None:
        path = os.path.join(self._folder, f"timeline-{step}.json")
        _log.info("drawing step %d to %s", step, path)
        if self._folder:
            MakeDirs(self._folder)
        with GFile(path, "w") as file:
            file.write(
                Timeline(statistics).generate_chrome_trace_format(
                    show_dataflow=self._show_dataflow, show_memory=self._show_memory
                )
            )

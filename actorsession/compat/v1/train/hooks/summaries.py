"""``SummarySaverHook``: a hook that writes summaries at intervals.

``monitored_session`` adds it to training sessions.
"""

from __future__ import annotations

from typing import Any

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
from actorsession.interop.event_protos import SessionLog

__all__ = ["SummarySaverHook"]


class SummarySaverHook(SessionRunHook):
    """A hook that writes summaries of the first step, and of steps at intervals.

    Args:
        save_steps: steps between two summaries.
        save_secs: seconds between two summaries.
        output_dir: the folder of the event file.
        summary_writer: the writer; that of the folder if omitted.
        scaffold: the scaffold that provides the summary.
        summary_op: a summary, or a list of them.

    Raises:
        ValueError: for both or neither of scaffold and summary, or of the intervals.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._next_step: int | None = None
        self._due = False

    def begin(self) -> None:
        """Find the global step and the writer."""
        self._next_step = None
        self._step = step_of(self)
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step, and the summary if it is due."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches = {"global_step": self._step}
        if self._due and (summary := self._summaries()):
            fetches["summary"] = summary
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summary if it was due."""
        writer = self._summary_writer
        if writer is None:
            return
        fetched = run_values.results["global_step"]
        if self._due:
            fetched = step = int(run_context.session.run(self._step))
            if self._next_step is None:
                writer.add_session_log(SessionLog(status=SessionLog.START), step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                writer.add_summary(summary, step)
        self._next_step = step_after(run_context, self._timer, self._step, fetched)

    def end(self, session: Any) -> None:
        """Write what waits to disk."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        summary = self._scaffold.summary_op if self._summary_op is None else self._summary_op
        if summary is None:
            return []
        return list(summary) if isinstance(summary, (list, tuple)) else [summary]

"""The hook that saves checkpoints, and its listeners.

``monitored_session`` adds the hook to training sessions. The hook writes the graph once, in the text form of
TensorFlow; the saver writes the graph next to each checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from actorsession.compat.v1 import logging
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.summary.writers import FileWriterCache, write_whole_graph
from actorsession.compat.v1.train.hooks.basic import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    step_of,
)
from actorsession.interop import write_graph
from actorsession.interop.event_protos import SessionLog
from actorsession.ops import GraphKeys

__all__ = ["CheckpointSaverHook", "CheckpointSaverListener", "write_graph_text"]


class CheckpointSaverListener:
    """A listener for checkpoints that does nothing; subclasses override methods."""

    def begin(self) -> None:
        """Add nodes to the graph; called once, before the session is created."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Prepare for a checkpoint; called before each one."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Handle a new checkpoint, and return whether to stop training; called after each one."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Finish; called once at the end."""


class CheckpointSaverHook(SessionRunHook):
    """A hook that saves checkpoints of the first step, the last step, and steps in between.

    Args:
        checkpoint_dir: the folder.
        save_secs: seconds from one checkpoint to the next.
        save_steps: steps from one checkpoint to the next.
        saver: the saver; that of the scaffold, or else of the graph's collection, if omitted.
        checkpoint_basename: the prefix of the file names.
        scaffold: the scaffold that provides the saver.
        listeners: objects to notify of checkpoints; see ``CheckpointSaverListener``.
        save_graph_def: whether to write the graph as well.

    Raises:
        ValueError: for both or neither of the intervals, or both a saver and a scaffold.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[Any] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._folder = checkpoint_dir
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver = saver
        self._scaffold = scaffold
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set by how much one run increases the global step."""
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        """Find the global step, and the writer that notes checkpoints."""
        self._step = step_of(self)
        self._summary_writer = FileWriterCache.get(self._folder)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Save the initial state of the session."""
        step = int(session.run(self._step))
        if self._save_graph_def:
            write_graph_text(get_default_graph(), self._folder)
        write_whole_graph(self._summary_writer, get_default_graph(), self._chosen_saver())
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save a checkpoint if one is due."""
        # A fetch within the step may return the old number, so it is read again, but only if a checkpoint may
        # be due.
        if not self._timer.should_trigger_for_step(int(run_values.results) + self._steps_per_run):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save the last step, unless it is saved already."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        self._summary_writer.flush()

    def _save(self, session: Any, step: int) -> bool:
        """Save a checkpoint and return whether a listener requests to stop."""
        saver = self._chosen_saver()
        for listener in self._listeners:
            listener.before_save(session, step)
        saver.save(session, self._path, global_step=step, write_meta_graph=self._save_graph_def)
        self._summary_writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path), step)
        stops = [listener.after_save(session, step) for listener in self._listeners]
        return any(stops)

    def _chosen_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        there = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(there) != 1:
            raise RuntimeError(
                f"{'No items' if not there else 'More than one item'} in collection "
                f"{GraphKeys.SAVERS}; pass a saver or a scaffold to the hook"
            )
        return there[0]


def write_graph_text(graph: Any, folder: str) -> None:
    """Write a graph as ``graph.pbtxt``; log a warning for a graph without a TensorFlow form.

    Args:
        graph: the graph.
        folder: the folder, created if it does not exist.
    """
    try:
        write_graph(graph, folder, "graph.pbtxt")
    except ValueError as exc:
        # Training and checkpoints need no such file.
        logging.warning("cannot write the graph to %r: %s", folder, exc)

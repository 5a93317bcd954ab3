"""Hooks: what is done before and after each step of a monitored session.

``monitored`` calls them. A hook adds its nodes in ``begin``, for the graph is finalized after that.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.train import get_global_step

__all__ = [
    "CheckpointSaverHook", "FeedFnHook", "FinalOpsHook", "LoggingTensorHook",
    "NanLossDuringTrainingError", "NanTensorHook", "SecondOrStepTimer", "SessionRunArgs",
    "SessionRunContext", "SessionRunHook", "SessionRunValues", "StopAtStepHook",
]  # fmt: skip

_log = logging.getLogger("actorsession.compat")


class SessionRunArgs(NamedTuple):
    """What a hook wants to have run beside the program's own fetches.

    Attributes:
        fetches: anything that ``Session.run`` fetches.
        feed_dict: what is fed for it.
        options: how the step is made; only if the program says nothing of it.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What came out for a hook.

    Attributes:
        results: the values of what it fetched.
        options: how the step was made.
        run_metadata: what the step reported, if the program asked for that.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One step, as hooks see it.

    Args:
        original_args: what the program asked for.
        session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for further steps without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants the program to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes ``should_stop()`` of the monitored session true."""
        self._stop_requested = True


class SessionRunHook:
    """A hook that does nothing; others override what they need."""

    def begin(self) -> None:
        """Called once, before the session is made; nodes are added here."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session was made, and again if it was lost and made anew."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each step; says what is to be run with it."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each step that did not fail."""

    def end(self, session: Any) -> None:
        """Called once at the end, unless that is an error."""


class SecondOrStepTimer:
    """Says when it is time again: after so many seconds, or so many steps.

    Args:
        every_secs: seconds from one time to the next.
        every_steps: steps likewise.

    Raises:
        ValueError: for both or neither.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of every_secs and every_steps should be provided.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self._step: int | None = None
        self._time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time at that step; always at the first one."""
        if self._step is None:
            return True
        if step == self._step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._time + self._every_secs
        assert self._every_steps is not None
        return step >= self._step + self._every_steps

    def update_last_triggered_step(self, step: int) -> None:
        """Notes that what was to be done was done at that step."""
        self._step, self._time = step, time.monotonic()

    def last_triggered_step(self) -> int | None:
        """The step of the last time, if there was one."""
        return self._step


def _global_step(hook: Any) -> Any:
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return found


class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps.

    Args:
        num_steps: how many steps, counted from where the session began.
        last_step: the global step to stop at.

    Raises:
        ValueError: for both or neither.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps or last_step must be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Finds the global step."""
        self._step = _global_step(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Counts from where the session begins."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Reads the step when it is done, as what is fetched with it may be the number before."""
        assert self._last_step is not None
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class CheckpointSaverHook(SessionRunHook):
    """Saves the first step, the last one, and some between.

    Args:
        checkpoint_dir: the folder.
        save_secs: seconds from one checkpoint to the next.
        save_steps: steps likewise.
        saver: saves; that of the scaffold if left out.
        checkpoint_basename: what the files begin with.
        scaffold: has the saver.
        listeners: objects with ``begin``, ``before_save``, ``after_save`` and ``end``.
        save_graph_def: whether the graph is written as well.

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
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver = saver
        self._scaffold = scaffold
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Finds the global step."""
        self._step = _global_step(self)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Saves what the session begins with."""
        step = int(session.run(self._step))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves if it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Saves the last step, if that was not done."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Saves; whether a listener wants the program to stop."""
        saver = self._saver if self._saver is not None else self._scaffold.saver
        for listener in self._listeners:
            listener.before_save(session, step)
        saver.save(session, self._path, global_step=step, write_meta_graph=self._save_graph_def)
        wanted = [listener.after_save(session, step) for listener in self._listeners]
        return any(wanted)


class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors every so often.

    Args:
        tensors: tensors, or names of some; a mapping from what they are called in the log, or a list.
        every_n_iter: steps from one line to the next.
        every_n_secs: seconds likewise.
        at_end: whether they are logged at the end, and then only if no interval is given.
        formatter: makes the line of a mapping from what they are called to values.

    Raises:
        ValueError: for both intervals, or nothing that says when.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = tensors if isinstance(tensors, Mapping) else {_named(t): t for t in tensors}
        self._tensors = dict(named)
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end
        self._formatter = formatter
        self._count = 0
        self._due = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors if it is time."""
        timer = self._timer
        self._due = timer is not None and timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs what was fetched."""
        if self._due and self._timer is not None:
            self._write(run_values.results)
            self._timer.update_last_triggered_step(self._count)
        self._count += 1

    def end(self, session: Any) -> None:
        """Logs the last values, if that is wanted."""
        if self._at_end:
            self._write(session.run(self._tensors))

    def _write(self, values: Mapping[str, Any]) -> None:
        line = (
            ", ".join(f"{name} = {value}" for name, value in values.items())
            if self._formatter is None
            else self._formatter(values)
        )
        _log.info("%s", line)


def _named(tensor: Any) -> str:
    return tensor if isinstance(tensor, str) else str(tensor.name)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops when a loss is not a number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: whether that is an error, NanLossDuringTrainingError.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if np.isnan(run_values.results):
            if self._fails:
                raise NanLossDuringTrainingError
            _log.warning("the loss is not a number: training stops")
            run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Fetches something at the end.

    Args:
        final_ops: what.
        final_ops_feed_dict: what is fed for it.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, after the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Fetches it."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function says.

    Args:
        feed_fn: gives the feeds of each step.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Feeds it."""
        return SessionRunArgs(None, self.feed_fn())
